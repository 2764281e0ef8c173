//! What lines mean, in whole.

use daemon_watch::{TimeKind, interpret};
use expect_test::{Expect, expect};

fn read(line: &str) -> String {
    let meaning = interpret(line);
    let mut lines = vec![meaning.status.as_str().to_owned()];
    for clause in &meaning.clauses {
        lines.push(crate::table::clause(&meaning, clause, |test| test));
    }
    lines.extend(
        meaning
            .remainder
            .iter()
            .map(|span| format!("left over: {}", span.of(line))),
    );
    lines.extend(meaning.notes.iter().map(|note| format!("note: {note}")));
    lines.join("\n")
}

fn check(line: &str, expected: &Expect) {
    expected.assert_eq(&read(line));
}

#[test]
fn the_phrasings_of_the_format_are_mapped() {
    let lines = [
        "when a pull request is opened",
        "when a pull request is updated / synchronized",
        "when a pull request is merged",
        "when a PR comment is created",
        "when an issue is created / updated / labeled",
        "when files matching docs/**/*.md are changed",
        "when a Sentry alert fires",
        "when a commit is pushed to main",
        "when a pull request is synchronized",
        "when a check run or status check changes on a pull request",
        "when a commit is pushed to master",
        "when a pull request is merged into the default branch",
        "when a Linear issue is created with the bug label",
        "when the bug label is added to a Linear issue",
    ];
    let readings: Vec<String> = lines
        .iter()
        .map(|line| format!("# {line}\n{}", read(line)))
        .collect();
    expect![[r#"
        # when a pull request is opened
        mapped
        github:pull_request.opened []
        # when a pull request is updated / synchronized
        mapped
        github:pull_request.edited github:pull_request.synchronize []
        github:pull_request.synchronize []
        # when a pull request is merged
        mapped
        github:pull_request.closed git:merge.* [merged is true]
        note: a merge that git shows on the default branch counts as well
        # when a PR comment is created
        mapped
        github:pull_request_review_comment.created github:issue_comment.created [comment_on is pull_request]
        # when an issue is created / updated / labeled
        mapped
        github:issues.opened linear:Issue.create []
        github:issues.edited linear:Issue.update []
        github:issues.labeled []
        linear:Issue.update [label_added present]
        note: `issue` is read as an issue of GitHub or Linear
        # when files matching docs/**/*.md are changed
        mapped
        github:pull_request.opened github:pull_request.synchronize github:pull_request.reopened [changed_files any_of docs/**/*.md]
        github:push.* git:push.* [deleted is false; ref_type is branch; changed_files any_of docs/**/*.md; on_default_branch is true]
        note: changed files are met on the default branch and in pull requests
        # when a Sentry alert fires
        mapped
        sentry:event_alert.triggered sentry:metric_alert.critical sentry:metric_alert.warning sentry:activity_alert.triggered []
        # when a commit is pushed to main
        mapped
        github:push.* git:push.* [deleted is false; ref_type is branch; branch is main]
        # when a pull request is synchronized
        mapped
        github:pull_request.synchronize []
        # when a check run or status check changes on a pull request
        mapped
        github:check_run.completed github:check_run.created github:check_run.rerequested [pull_requests present]
        github:status.* [pull_requests present]
        # when a commit is pushed to master
        mapped
        github:push.* git:push.* [deleted is false; ref_type is branch; branch is master]
        # when a pull request is merged into the default branch
        mapped
        github:pull_request.closed git:merge.* [merged is true; on_default_branch is true]
        note: a merge that git shows on the default branch counts as well
        # when a Linear issue is created with the bug label
        mapped
        linear:Issue.create [labels is bug]
        # when the bug label is added to a Linear issue
        mapped
        linear:Issue.update [label_added present; label_added is bug]"#]].assert_eq(&readings.join("\n"));
}

#[test]
fn several_guards_in_one_line_all_become_filters() {
    check(
        "when a non-draft pull request into main is opened or reopened by someone other than dependabot and it changes src/**, except src/generated/**",
        &expect![[r#"
            mapped
            github:pull_request.opened [draft is false; base is main; author is_not dependabot; changed_files any_of src/** | !src/generated/**]
            github:pull_request.reopened [draft is false; base is main; actor is_not dependabot; changed_files any_of src/** | !src/generated/**]"#]],
    );
    check(
        "whenever a pull request opened by a first-time contributor, with the docs label, touches Cargo.toml",
        &expect![[r#"
            mapped
            github:pull_request.opened github:pull_request.synchronize github:pull_request.reopened [author_association is FIRST_TIME_CONTRIBUTOR | FIRST_TIMER; labels is docs; changed_files any_of Cargo.toml]"#]],
    );
}

#[test]
fn what_is_excluded_is_never_read_as_what_is_wanted() {
    let filters = |line: &str| -> Vec<String> {
        interpret(line)
            .filters
            .iter()
            .map(|filter| filter.test.to_string())
            .collect()
    };
    let cases = [
        ("when a PR isn't from a fork and is opened", "fork is false"),
        (
            "when a check run other than lint fails",
            "check is_not lint",
        ),
        (
            "when code is pushed to any branch except main or develop",
            "branch is_not main | develop",
        ),
        (
            "when a PR that is not labeled wip is opened",
            "labels is_not wip",
        ),
        (
            "when a PR without the wip label is opened",
            "labels is_not wip",
        ),
        (
            "when anyone but a bot comments on a PR",
            "author_kind is_not bot",
        ),
        (
            "when a PR is opened by anybody except kit-1 or a bot",
            "author is_not kit-1",
        ),
        (
            "when a release that isn't a prerelease is published",
            "prerelease is false",
        ),
        (
            "when a PR is labeled with anything other than bug",
            "label_added is_not bug",
        ),
        (
            "when a PR is opened unless its title contains \"WIP\"",
            "title lacks WIP",
        ),
        (
            "when a PR that does not touch docs/ is merged",
            "changed_files none_of docs/",
        ),
        (
            "when files outside docs/ change",
            "changed_files any_of ** | !docs/",
        ),
    ];
    for (line, expected) in cases {
        let filters = filters(line);
        assert!(
            filters.iter().any(|filter| filter == expected),
            "{line}: {filters:?}"
        );
    }
}

#[test]
fn the_remainder_has_the_authors_words() {
    check(
        "when a large pull request is opened",
        &expect![[r#"
            partial
            github:pull_request.opened []
            left over: large pull request"#]],
    );
    check(
        "when a PR gets its second approval",
        &expect![[r#"
        partial
        github:pull_request_review.submitted [review_state is approved]
        left over: its second approval"#]],
    );
    check(
        "when a PR is opened, or when a Jira ticket is updated",
        &expect![[r#"
            partial
            github:pull_request.opened []
            left over: when a Jira ticket is updated"#]],
    );
    check(
        "when a PR is merged and the deploy afterwards succeeds",
        &expect![[r#"
            partial
            github:pull_request.closed git:merge.* [merged is true]
            left over: the deploy afterwards succeeds
            note: a merge that git shows on the default branch counts as well"#]],
    );
}

#[test]
fn typos_are_corrected_with_a_note() {
    check(
        "when a pull reqeust is opned",
        &expect![[r#"
            mapped
            github:pull_request.opened []
            note: read `reqeust` as `request`
            note: read `opned` as `opened`"#]],
    );
}

#[test]
fn times_suggest_their_schedule() {
    let schedule = |line: &str| match interpret(line).time {
        Some(TimeKind::Schedule(cron)) => cron.unwrap_or_else(|| "a schedule".to_owned()),
        Some(TimeKind::Elapsed) => "elapsed".to_owned(),
        None => "an event".to_owned(),
    };
    let cases = [
        ("every morning", "0 9 * * *"),
        ("every 15 minutes", "*/15 * * * *"),
        ("every weekday at 14:30", "30 14 * * 1-5"),
        ("weekly on Fridays", "0 9 * * 5"),
        ("on Mondays and Thursdays at 8am", "0 8 * * 1,4"),
        ("at midnight", "0 0 * * *"),
        ("once a month", "0 9 1 * *"),
        ("at the end of each sprint", "a schedule"),
        ("when a pull request has been idle for 3 days", "elapsed"),
        ("when an issue is older than two weeks", "elapsed"),
        ("every time a pull request is opened", "an event"),
        (
            "when the \"every morning\" label is added to an issue",
            "an event",
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(schedule(line), expected, "{line}");
    }
}

/// Returns the two parts of a line that no event can satisfy together.
fn contradiction(line: &str) -> Option<[&str; 2]> {
    let parts = interpret(line).contradiction();
    parts.map(|parts| parts.map(|span| span.of(line)))
}

#[test]
fn parts_that_exclude_each_other_are_a_contradiction() {
    let lines = [
        "when a draft pull request that is not a draft is opened",
        "when a draft non-draft pull request is opened",
        "when a pull request is opened by a bot and not by a bot",
        "when a pull request targeting main and not targeting main is opened",
        "when a merged pull request is opened",
        "when a PR without the bug label is labeled bug",
        "when files in docs/ but not in docs/ are changed",
        "when a closed issue is opened on GitHub",
        "when a Slack message is posted in #dev but not in #dev",
        "when a commit is pushed to main but not to main",
        "when a release that is a prerelease and not a prerelease is published",
    ];
    let told: Vec<String> = lines
        .iter()
        .map(|line| format!("{line} => {:?}", contradiction(line)))
        .collect();
    expect![[r##"
        when a draft pull request that is not a draft is opened => Some(["draft", "draft"])
        when a draft non-draft pull request is opened => Some(["draft", "non-draft"])
        when a pull request is opened by a bot and not by a bot => Some(["bot", "bot"])
        when a pull request targeting main and not targeting main is opened => Some(["main", "main"])
        when a merged pull request is opened => Some(["merged", "a merged pull request is opened"])
        when a PR without the bug label is labeled bug => None
        when files in docs/ but not in docs/ are changed => Some(["files in docs/ but not in docs/", "files in docs/ but not in docs/"])
        when a closed issue is opened on GitHub => Some(["closed", "a closed issue is opened on GitHub"])
        when a Slack message is posted in #dev but not in #dev => Some(["#dev", "#dev"])
        when a commit is pushed to main but not to main => Some(["main", "main"])
        when a release that is a prerelease and not a prerelease is published => Some(["prerelease", "prerelease"])"##]].assert_eq(&told.join("\n"));
}

#[test]
fn a_line_with_a_way_to_be_met_is_no_contradiction() {
    for line in [
        "when a draft pull request is opened by a human",
        "when a pull request labeled bug is labeled docs",
        "when a draft pull request that is not a draft is opened, or when an issue is created",
        "when a pull request is merged into main or closed",
        "when a draft pull request is marked ready for review",
        "when a closed pull request is reopened",
    ] {
        assert_eq!(contradiction(line), None, "{line}");
    }
}

#[test]
fn the_same_meaning_in_other_words_is_seen_as_the_same() {
    let same = |a: &str, b: &str| interpret(a).means_the_same_as(&interpret(b));
    for (a, b) in [
        (
            "when a PR is merged into main",
            "after a pull request lands on main",
        ),
        (
            "when a bot opens a pull request",
            "when a PR is opened by a bot",
        ),
        (
            "when a pull request is opened by a human",
            "when a non-bot opens a pull request",
        ),
        (
            "when a pull request is opened or reopened",
            "when a PR is reopened or opened",
        ),
        (
            "when a PR is opened, or when it is reopened",
            "when a pull request is reopened or opened",
        ),
        (
            "when files in docs/ are changed",
            "when files matching docs/** are changed",
        ),
        (
            "when an issue labeled bug or docs is closed",
            "when an issue labeled docs or bug is closed",
        ),
        (
            "when a GitHub issue is labeled \"Bug\"",
            "when the bug label is added to an issue on GitHub",
        ),
        ("on pull_request.opened", "when a pull request is created"),
        (
            "when a PR is opened by a human that is no bot",
            "when a person opens a PR",
        ),
    ] {
        assert!(same(a, b) && same(b, a), "{a}; {b}");
    }
    for (a, b) in [
        (
            "when a PR is merged into main",
            "when a PR is merged into master",
        ),
        ("when a PR is merged into main", "when a PR is merged"),
        ("when a PR is opened or reopened", "when a PR is opened"),
        ("when an issue is closed", "when a GitHub issue is closed"),
        (
            "when files in docs/ are changed",
            "when files in docs/ or src/ are changed",
        ),
        ("when a large PR is opened", "when a PR is opened"),
    ] {
        assert!(!same(a, b) && !same(b, a), "{a}; {b}");
    }
}

#[test]
fn a_line_whose_beginning_is_understood_wakes_on_that_and_leaves_the_rest_over() {
    check(
        "when a pull request is merged late in the sprint",
        &expect![[r#"
            partial
            github:pull_request.closed git:merge.* [merged is true]
            left over: late in the sprint
            note: a merge that git shows on the default branch counts as well"#]],
    );
    check(
        "when someone pushes to main skipping the review process",
        &expect![[r#"
            partial
            github:push.* git:push.* [deleted is false; ref_type is branch; branch is main]
            left over: skipping the review process"#]],
    );
    check(
        "when a PR gets merge conflicts",
        &expect![[r#"
            unmapped
            left over: when a PR gets merge conflicts"#]],
    );
    check(
        "when an approved PR is merged",
        &expect![[r#"
            partial
            github:pull_request.closed git:merge.* [merged is true]
            left over: approved
            note: a merge that git shows on the default branch counts as well"#]],
    );
    check(
        "when a PR is approved, then merged",
        &expect![[r#"
            partial
            github:pull_request_review.submitted [review_state is approved]
            left over: then merged"#]],
    );
    check(
        "when a release is published manually",
        &expect![[r#"
        partial
        github:release.published []
        left over: manually"#]],
    );
    check(
        "when a Sentry issue stays unresolved for 7 days",
        &expect![[r#"
            time-based
            note: elapsed time, not an event; a `schedule` and a routine that checks say it"#]],
    );
}
