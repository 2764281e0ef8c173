//! D300 to D304: conditions that name no event.

use expect_test::expect;

use crate::watch_kit::check;

#[test]
fn a_line_that_names_no_event_is_d300_with_the_nearest_event() {
    check(
        &[
            "when something changes",
            "anything worth knowing",
            "whenever it makes sense",
            "code changes",
            "pull requests",
            "the team's attention is wanted",
            "as needed",
            "docs",
        ],
        &expect![[r#"
            # when something changes
            error D300 [when something changes] `when something changes` names no event | name an event, such as `when a pull request is opened`
            # anything worth knowing
            error D300 [anything worth knowing] `anything worth knowing` names no event | name an event, such as `when a pull request is opened`
            # whenever it makes sense
            error D300 [whenever it makes sense] `whenever it makes sense` names no event | name an event, such as `when a pull request is opened`
            # code changes
            error D300 [code changes] `code changes` names no event | name an event, such as `when a commit is pushed to the default branch`
            # pull requests
            error D300 [pull requests] `pull requests` names no event | name an event, such as `when a pull request is opened`
            # the team's attention is wanted
            error D300 [the team's attention is wanted] `the team's attention is wanted` names no event | name an event, such as `when a pull request is opened`
            # as needed
            error D300 [as needed] `as needed` names no event | name an event, such as `when a pull request is opened`
            # docs
            error D300 [docs] `docs` names no event | name an event, such as `when files matching docs/**/*.md are changed`
        "#]],
    );
}

#[test]
fn a_state_is_d301_with_the_event_that_changes_it() {
    check(
        &[
            "when code quality is low",
            "when the docs are out of date",
            "when the backlog is too long",
            "when tests are flaky",
            "when the build is slow",
            "when a pull request is risky",
            "when production looks unhealthy",
        ],
        &expect![[r#"
            # when code quality is low
            error D301 [when code quality is low] `when code quality is low` is a state, not an event | watch the event that changes it, such as `when a commit is pushed to the default branch`, or use `schedule`
            # when the docs are out of date
            error D301 [when the docs are out of date] `when the docs are out of date` is a state, not an event | watch the event that changes it, such as `when files matching docs/**/*.md are changed`, or use `schedule`
            # when the backlog is too long
            error D301 [when the backlog is too long] `when the backlog is too long` is a state, not an event | watch the event that changes it, such as `when an issue is created`, or use `schedule`
            # when tests are flaky
            error D301 [when tests are flaky] `when tests are flaky` is a state, not an event | watch the event that changes it, such as `when CI fails`, or use `schedule`
            # when the build is slow
            error D301 [when the build is slow] `when the build is slow` is a state, not an event | watch the event that changes it, such as `when CI fails`, or use `schedule`
            # when a pull request is risky
            error D301 [when a pull request is risky] `when a pull request is risky` is a state, not an event | watch the event that changes it, such as `when a pull request is opened`, or use `schedule`
            # when production looks unhealthy
            error D301 [when production looks unhealthy] `when production looks unhealthy` is a state, not an event | watch the event that changes it, such as `when a Sentry alert fires`, or use `schedule`
        "#]],
    );
}

#[test]
fn a_time_is_d302_with_the_schedule() {
    check(
        &[
            "every morning",
            "every weekday at 9:00",
            "on Fridays at 17:30",
            "twice an hour",
            "at the start of each sprint",
            "hourly",
            "on the first of every month",
            "every 15 minutes",
        ],
        &expect![[r##"
            # every morning
            warning D302 [every morning] `every morning` is a time, not an event | write it as `schedule: "0 9 * * *"`
            # every weekday at 9:00
            warning D302 [every weekday at 9:00] `every weekday at 9:00` is a time, not an event | write it as `schedule: "0 9 * * 1-5"`
            # on Fridays at 17:30
            warning D302 [on Fridays at 17:30] `on Fridays at 17:30` is a time, not an event | write it as `schedule: "30 17 * * 5"`
            # twice an hour
            warning D302 [twice an hour] `twice an hour` is a time, not an event | write it as five fields in `schedule`
            # at the start of each sprint
            warning D302 [at the start of each sprint] `at the start of each sprint` is a time, not an event | write it as five fields in `schedule`
            # hourly
            warning D302 [hourly] `hourly` is a time, not an event | write it as `schedule: "0 * * * *"`
            # on the first of every month
            warning D302 [on the first of every month] `on the first of every month` is a time, not an event | write it as five fields in `schedule`
            # every 15 minutes
            warning D302 [every 15 minutes] `every 15 minutes` is a time, not an event | write it as `schedule: "*/15 * * * *"`
        "##]],
    );
}

#[test]
fn elapsed_time_is_d303_with_a_schedule_and_a_checking_routine() {
    check(
        &[
            "when a pull request has been open for a week",
            "when an issue has had no reply for 48 hours",
            "when a branch is older than 30 days",
            "idle for 3 days",
            "when nobody has reviewed a PR for two days",
        ],
        &expect![[r##"
            # when a pull request has been open for a week
            warning D303 [when a pull request has been open for a week] `when a pull request has been open for a week` is elapsed time, not an event | wake on `schedule: "0 9 * * *"` and let a routine check for it
            # when an issue has had no reply for 48 hours
            warning D303 [when an issue has had no reply for 48 hours] `when an issue has had no reply for 48 hours` is elapsed time, not an event | wake on `schedule: "0 9 * * *"` and let a routine check for it
            # when a branch is older than 30 days
            warning D303 [when a branch is older than 30 days] `when a branch is older than 30 days` is elapsed time, not an event | wake on `schedule: "0 9 * * *"` and let a routine check for it
            # idle for 3 days
            warning D303 [idle for 3 days] `idle for 3 days` is elapsed time, not an event | wake on `schedule: "0 9 * * *"` and let a routine check for it
            # when nobody has reviewed a PR for two days
            warning D303 [when nobody has reviewed a PR for two days] `when nobody has reviewed a PR for two days` is elapsed time, not an event | wake on `schedule: "0 9 * * *"` and let a routine check for it
        "##]],
    );
}

#[test]
fn an_event_without_a_source_is_d304_with_the_sources() {
    check(
        &[
            "when a Jira ticket moves to done",
            "when a PagerDuty incident is triggered",
            "when a GitLab merge request is opened",
            "when a customer pays an invoice",
            "when test coverage drops",
            "when a Kubernetes pod restarts",
            "when a Zendesk ticket is escalated",
            "when a pull request is yodeled",
        ],
        &expect![[r#"
            # when a Jira ticket moves to done
            warning D304 [when a Jira ticket moves to done] no known source emits `when a Jira ticket moves to done` | the sources are GitHub, Linear, Slack, Sentry and git
            # when a PagerDuty incident is triggered
            warning D304 [when a PagerDuty incident is triggered] no known source emits `when a PagerDuty incident is triggered` | the sources are GitHub, Linear, Slack, Sentry and git
            # when a GitLab merge request is opened
            warning D304 [when a GitLab merge request is opened] no known source emits `when a GitLab merge request is opened` | the sources are GitHub, Linear, Slack, Sentry and git
            # when a customer pays an invoice
            warning D304 [when a customer pays an invoice] no known source emits `when a customer pays an invoice` | the sources are GitHub, Linear, Slack, Sentry and git
            # when test coverage drops
            warning D304 [when test coverage drops] no known source emits `when test coverage drops` | the sources are GitHub, Linear, Slack, Sentry and git; nearest is `when CI fails`
            # when a Kubernetes pod restarts
            warning D304 [when a Kubernetes pod restarts] no known source emits `when a Kubernetes pod restarts` | the sources are GitHub, Linear, Slack, Sentry and git
            # when a Zendesk ticket is escalated
            warning D304 [when a Zendesk ticket is escalated] no known source emits `when a Zendesk ticket is escalated` | the sources are GitHub, Linear, Slack, Sentry and git
            # when a pull request is yodeled
            warning D304 [when a pull request is yodeled] `when a pull request is yodeled` was not understood | reword it; nearest is `when a pull request is opened`
        "#]],
    );
}
