//! What lines that name a time, a state or nothing known are read as.

use expect_test::expect;

use crate::table::table;

#[test]
fn lines_without_an_event_have_different_statuses() {
    expect![[r#"
        0 9 * * 1-5
            time-based
        look over the open issues weekly
            time-based
        as the quarter ends
            time-based
        weekday afternoons
            time-based
        on the 1st and the 15th
            time-based
        when an approved PR has been left unmerged for three days
            time-based
        if nobody has commented on a GitHub issue for a week
            time-based
        when a deployment has been running for over an hour
            time-based
        when a tweet mentions the weather
            unmapped
            left over: when a tweet mentions the weather
        when a pull request has merge conflicts
            unmapped
            left over: when a pull request has merge conflicts
        when a Google Doc is commented on
            unmapped
            left over: when a Google Doc is commented on
        when the build feels slow
            vague
            left over: when the build feels slow
        when the "daily-sync" workflow fails
            mapped
            github:workflow_run.completed [conclusion is failure | timed_out; workflow is daily-sync]
        when a message containing "every day" is posted in #general
            mapped
            slack:message.* [message_kind is posted; comment contains "every day"; channel is general]"#]].assert_eq(&table(&[
        "0 9 * * 1-5",
        "look over the open issues weekly",
        "as the quarter ends",
        "weekday afternoons",
        "on the 1st and the 15th",
        "when an approved PR has been left unmerged for three days",
        "if nobody has commented on a GitHub issue for a week",
        "when a deployment has been running for over an hour",
        "when a tweet mentions the weather",
        "when a pull request has merge conflicts",
        "when a Google Doc is commented on",
        "when the build feels slow",
        "when the \"daily-sync\" workflow fails",
        "when a message containing \"every day\" is posted in #general",
    ]));
}
