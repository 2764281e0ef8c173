//! Guards with a subject of their own, and how far they reach.

use daemon_watch::interpret;
use expect_test::expect;

/// The status, each clause's actions with its filters, and what is left over, on one line.
fn read(line: &str) -> String {
    let meaning = interpret(line);
    let mut said = vec![meaning.status.as_str().to_owned()];
    for clause in &meaning.clauses {
        let events: Vec<String> = clause
            .events
            .iter()
            .map(|event| format!("{}.{}", event.kind, event.action.unwrap_or("*")))
            .collect();
        let filters: Vec<String> = clause
            .filters
            .iter()
            .map(|index| meaning.filters[*index].test.to_string())
            .collect();
        said.push(format!("{} [{}]", events.join(" "), filters.join("; ")));
    }
    for span in &meaning.remainder {
        said.push(format!("left over: {}", span.of(line)));
    }
    said.join(" / ")
}

fn table(lines: &[&str]) -> String {
    let rows: Vec<String> = lines
        .iter()
        .map(|line| format!("{line}\n    {}", read(line)))
        .collect();
    rows.join("\n")
}

#[test]
fn an_exception_about_the_subject_is_excluded() {
    expect![[r#"
        when a pull request is opened, unless it is a draft
            mapped / pull_request.opened [draft is false]
        when a pull request is opened, unless a bot opened it
            mapped / pull_request.opened [author_kind is_not bot]
        when a pull request is opened unless its author is a bot
            mapped / pull_request.opened [author_kind is_not bot]
        when a pull request is opened, except when it touches docs/
            mapped / pull_request.opened [changed_files none_of docs/]
        when a pull request is opened, but not if it only touches docs/
            mapped / pull_request.opened [changed_files any_of ** | !docs/]
        when a pull request is opened, but not when its title contains "WIP"
            mapped / pull_request.opened [title lacks WIP]
        when a pull request is opened unless it carries the 'dependencies' label
            mapped / pull_request.opened [labels is_not dependencies]
        when a GitHub issue is labeled, unless the label is "bug"
            mapped / issues.labeled [label_added is_not bug]
        when a pull request is opened, unless it is a draft or its title contains "WIP"
            mapped / pull_request.opened [draft is false; title lacks WIP]
        when a pull request is opened, unless the PR targets main
            mapped / pull_request.opened [base is_not main]
        when a Sentry issue is created, unless its level is warning
            mapped / issue.created [level is_not warning]"#]]
    .assert_eq(&table(&[
        "when a pull request is opened, unless it is a draft",
        "when a pull request is opened, unless a bot opened it",
        "when a pull request is opened unless its author is a bot",
        "when a pull request is opened, except when it touches docs/",
        "when a pull request is opened, but not if it only touches docs/",
        "when a pull request is opened, but not when its title contains \"WIP\"",
        "when a pull request is opened unless it carries the 'dependencies' label",
        "when a GitHub issue is labeled, unless the label is \"bug\"",
        "when a pull request is opened, unless it is a draft or its title contains \"WIP\"",
        "when a pull request is opened, unless the PR targets main",
        "when a Sentry issue is created, unless its level is warning",
    ]));
}

#[test]
fn an_exception_that_cannot_be_a_list_of_filters_is_left_over_whole() {
    expect![[r#"
        when a pull request is opened, unless it smells funny
            partial / pull_request.opened [] / left over: unless it smells funny
        when a pull request is opened, unless it is a draft or it smells funny
            partial / pull_request.opened [draft is false] / left over: it smells funny
        when a pull request is merged although its checks are failing
            partial / pull_request.closed merge.* [merged is true] / left over: although its checks are failing"#]].assert_eq(&table(&[
        "when a pull request is opened, unless it smells funny",
        "when a pull request is opened, unless it is a draft or it smells funny",
        "when a pull request is merged although its checks are failing",
    ]));
}

#[test]
fn a_guard_that_repeats_its_subject_narrows_the_event() {
    expect![[r#"
        when a pull request is opened and it is not a draft
            mapped / pull_request.opened [draft is false]
        when a pull request is opened, provided it's non-draft and touches src/**
            mapped / pull_request.opened [draft is false; changed_files any_of src/**]
        when needs-review is added to a PR, and the PR is not a draft
            mapped / pull_request.labeled [label_added is needs-review; draft is false]
        when a pull request is opened and its author is a bot
            mapped / pull_request.opened [author_kind is bot]
        when a pull request is opened and its title does not include "WIP"
            mapped / pull_request.opened [title lacks WIP]
        when a pull request is opened that touches src/ but does not touch docs/
            mapped / pull_request.opened [changed_files any_of src/; changed_files none_of docs/]"#]].assert_eq(&table(&[
        "when a pull request is opened and it is not a draft",
        "when a pull request is opened, provided it's non-draft and touches src/**",
        "when needs-review is added to a PR, and the PR is not a draft",
        "when a pull request is opened and its author is a bot",
        "when a pull request is opened and its title does not include \"WIP\"",
        "when a pull request is opened that touches src/ but does not touch docs/",
    ]));
}

#[test]
fn modifiers_joined_by_or_are_alternatives() {
    expect![[r#"
        when a Linear issue that is urgent or labelled Bug is created
            mapped / Issue.create [priority is urgent] / Issue.create [labels is Bug]
        when a Sentry issue with level fatal or in project lamp-api is created
            mapped / issue.created [level is fatal] / issue.created [project is lamp-api]"#]]
    .assert_eq(&table(&[
        "when a Linear issue that is urgent or labelled Bug is created",
        "when a Sentry issue with level fatal or in project lamp-api is created",
    ]));
}

#[test]
fn a_second_predicate_keeps_the_subject_and_its_guards_to_itself() {
    expect![[r#"
        when a pull request is opened, reopened or synchronized while it is non-draft, or is edited by a human other than tess-quill
            mapped / pull_request.opened [draft is false] / pull_request.reopened [draft is false] / pull_request.synchronize [draft is false] / pull_request.edited [actor_kind is human; actor is_not tess-quill]
        when a Linear issue is created or changes status
            mapped / Issue.create [] / Issue.update [changed is state]
        when a Linear issue is created, or its status changes
            mapped / Issue.create [] / Issue.update [changed is state]
        when a Linear issue gets the Bug label, or is created with it
            mapped / Issue.update [label_added present; label_added is Bug] / Issue.create [labels is Bug]
        when a Linear issue moves to Done or is canceled
            mapped / Issue.update [changed is state; state is Done] / Issue.update [changed is state; state_type is canceled]
        when somebody starts a discussion or comments on one
            mapped / discussion.created [] / discussion_comment.created []
        when somebody adds a reaction to a Slack message or removes one
            mapped / reaction_added.* [] / reaction_removed.* []
        when a pull request is approved, or someone labels it "ready to merge"
            mapped / pull_request_review.submitted [review_state is approved] / pull_request.labeled [label_added is "ready to merge"]
        when a release is published, or Sentry creates a fatal issue
            mapped / release.published [] / issue.created [level is fatal]"#]].assert_eq(&table(&[
        "when a pull request is opened, reopened or synchronized while it is non-draft, or is edited by a human other than tess-quill",
        "when a Linear issue is created or changes status",
        "when a Linear issue is created, or its status changes",
        "when a Linear issue gets the Bug label, or is created with it",
        "when a Linear issue moves to Done or is canceled",
        "when somebody starts a discussion or comments on one",
        "when somebody adds a reaction to a Slack message or removes one",
        "when a pull request is approved, or someone labels it \"ready to merge\"",
        "when a release is published, or Sentry creates a fatal issue",
    ]));
}

#[test]
fn a_guard_set_apart_holds_for_every_clause_before_it() {
    expect![[r#"
        when a pull request against main is opened or gets new commits, and it is not a draft
            mapped / pull_request.opened [base is main; draft is false] / pull_request.synchronize [base is main; draft is false]
        when a release is published or a tag is created, unless by a bot
            mapped / release.published [actor_kind is_not bot] / create.* create.* [ref_type is tag; actor_kind is_not bot]
        when a Linear issue is created or assigned to Lumen, unless it has the bug label
            mapped / Issue.create [labels is_not bug] / Issue.update [changed is assignee; assignee present; assignee is Lumen; labels is_not bug]"#]].assert_eq(&table(&[
        "when a pull request against main is opened or gets new commits, and it is not a draft",
        "when a release is published or a tag is created, unless by a bot",
        "when a Linear issue is created or assigned to Lumen, unless it has the bug label",
    ]));
}

#[test]
fn words_before_one_of_two_nouns_do_not_narrow_the_other() {
    expect![[r#"
        when a secret scanning alert or a critical Dependabot alert is created
            mapped / secret_scanning_alert.created [] / dependabot_alert.created [severity is critical]
        when a critical Dependabot alert or a secret scanning alert is created
            mapped / dependabot_alert.created [severity is critical] / secret_scanning_alert.created []
        when an urgent Linear issue or a Linear project is created
            mapped / Issue.create [priority is urgent] / Project.create []
        when a non-draft pull request or a GitHub issue is opened by a human
            mapped / pull_request.opened [draft is false; author_kind is human] / issues.opened [author_kind is human]"#]].assert_eq(&table(&[
        "when a secret scanning alert or a critical Dependabot alert is created",
        "when a critical Dependabot alert or a secret scanning alert is created",
        "when an urgent Linear issue or a Linear project is created",
        "when a non-draft pull request or a GitHub issue is opened by a human",
    ]));
}

#[test]
fn places_behind_their_nouns_are_read() {
    expect![[r#"
        when a Sentry issue is created in project lamp-api
            mapped / issue.created [project is lamp-api]
        when a fatal Sentry issue is created in the project checkout-web
            mapped / issue.created [level is fatal; project is checkout-web]
        when a Linear issue's status changes, unless it becomes Canceled
            mapped / Issue.update [changed is state; state is_not Canceled]
        on main, the "CI" workflow run fails
            mapped / workflow_run.completed [conclusion is failure | timed_out; workflow is CI; branch is main]
        when a comment is added to a Linear issue asking about GitHub work
            partial / Comment.create [comment_on is issue] / left over: asking about GitHub work"#]].assert_eq(&table(&[
        "when a Sentry issue is created in project lamp-api",
        "when a fatal Sentry issue is created in the project checkout-web",
        "when a Linear issue's status changes, unless it becomes Canceled",
        "on main, the \"CI\" workflow run fails",
        "when a comment is added to a Linear issue asking about GitHub work",
    ]));
}

#[test]
fn words_after_the_object_belong_to_the_verb() {
    expect![[r#"
        when someone labels a Linear issue as Bug
            mapped / Issue.update [label_added present; label_added is Bug]
        when a Linear issue is marked as done
            mapped / Issue.update [changed is state; state is Done]
        when a Linear issue is raised to urgent
            mapped / Issue.update [changed is priority; priority is urgent]
        when a Linear issue in Backlog is assigned to Lumen
            mapped / Issue.update [changed is assignee; assignee present; state is Backlog; assignee is Lumen]
        when a new initiative is started in Linear
            mapped / Initiative.create []
        when someone reacts in Linear
            mapped / Reaction.create []
        when a Sentry error is created
            mapped / error.created []
        when a Sentry metric alert reaches warning level
            mapped / metric_alert.warning []
        when a deployment fails anywhere but production
            mapped / deployment_status.created [conclusion is failure | error; environment is_not production]"#]].assert_eq(&table(&[
        "when someone labels a Linear issue as Bug",
        "when a Linear issue is marked as done",
        "when a Linear issue is raised to urgent",
        "when a Linear issue in Backlog is assigned to Lumen",
        "when a new initiative is started in Linear",
        "when someone reacts in Linear",
        "when a Sentry error is created",
        "when a Sentry metric alert reaches warning level",
        "when a deployment fails anywhere but production",
    ]));
}

#[test]
fn what_is_said_against_a_kind_or_of_one_verb_alone_stays_there() {
    expect![[r#"
        when there is a non-inline comment on a PR
            mapped / issue_comment.created [comment_on is pull_request]
        when a pull request is added to zqaa or removed from the merge queue
            vague / left over: when a pull request is added to zqaa or removed from the merge queue
        when a Linear issue is now In Progress
            mapped / Issue.update [changed is state; state is "In Progress"]
        when mira-holt's review is requested on a pull request
            mapped / pull_request.review_requested [reviewer is mira-holt]
        when someone creates a repository label
            mapped / label.created []
        on a pull request, a maintainer comments "/daemon help"
            mapped / pull_request_review_comment.created issue_comment.created [comment_on is pull_request; comment command "/daemon help"; author_association is OWNER | MEMBER | COLLABORATOR]"#]].assert_eq(&table(&[
        "when there is a non-inline comment on a PR",
        "when a pull request is added to zqaa or removed from the merge queue",
        "when a Linear issue is now In Progress",
        "when mira-holt's review is requested on a pull request",
        "when someone creates a repository label",
        "on a pull request, a maintainer comments \"/daemon help\"",
    ]));
}
