//! What lines mean about everything but pull requests and what is said of them, in whole.

use daemon_watch::interpret;
use expect_test::expect;

fn table(lines: &[&str]) -> String {
    let readings: Vec<String> = lines.iter().map(|line| reading(line)).collect();
    readings.join("\n")
}

fn reading(line: &str) -> String {
    let meaning = interpret(line);
    let mut parts = vec![meaning.status.as_str().to_owned()];
    for clause in &meaning.clauses {
        parts.push(crate::told::clause(&meaning, clause, |test| test));
    }
    parts.extend(
        meaning
            .remainder
            .iter()
            .map(|span| format!("left over: {}", span.of(line))),
    );
    format!("{line}\n    {}", parts.join("\n    "))
}

#[test]
fn checks_runs_and_deployments_are_read_with_their_names_ends_and_places() {
    expect![[r#"
        when the nightly-e2e workflow run fails on main or release/*, unless it was cancelled
            mapped
            github:workflow_run.completed [conclusion is failure | timed_out; workflow is nightly-e2e; branch matches main | release/*; conclusion is_not cancelled]
        when a workflow run triggered on the default branch finishes with anything other than success
            mapped
            github:workflow_run.completed [on_default_branch is true; conclusion is_not success]
        when a workflow job called build-linux fails in the "Release" workflow
            mapped
            github:workflow_job.completed [conclusion is failure | timed_out; check is build-linux; workflow is Release]
        when a commit status with context "security/snyk" is failing on a pull request
            mapped
            github:status.* [conclusion is failure | error; pull_requests present; check is security/snyk]
        when the lint check or the ci/kiln-build status passes on a pull request
            mapped
            github:check_run.completed github:status.* [conclusion is success; pull_requests present; check is lint]
            github:status.* [conclusion is success; pull_requests present; check is ci/kiln-build]
        when a workflow that is not "CI" fails
            mapped
            github:workflow_run.completed [conclusion is failure | timed_out; workflow is_not CI]
        when any check run but lint fails on a non-draft PR
            mapped
            github:check_run.completed [conclusion is failure | timed_out; pull_requests present; check is_not lint; draft is false]
        when a workflow run times out
            mapped
            github:workflow_run.completed [conclusion is timed_out]
        when a production deployment does not succeed
            mapped
            github:deployment_status.created [conclusion is failure | error; environment is production]
        when the "CI" workflow or the "Deploy docs" workflow fails on main
            mapped
            github:workflow_run.completed [conclusion is failure | timed_out; workflow is CI | "Deploy docs"; branch is main]
        when the ci workflow succeeds on main
            mapped
            github:workflow_run.completed [conclusion is success; workflow is ci; branch is main]
        when a GitHub Actions workflow doesn't succeed
            mapped
            github:workflow_run.completed [conclusion is_not success]
        when a commit status becomes pending
            mapped
            github:status.* [conclusion is pending]
        when a run of the Deploy docs workflow has succeeded
            mapped
            github:workflow_run.completed [conclusion is success; workflow is "Deploy docs"]
        when a deployment fails in any environment except preview
            mapped
            github:deployment_status.created [conclusion is failure | error; environment is_not preview]
        when a deployment to staging succeeds, except when it was created by dependabot
            mapped
            github:deployment_status.created [conclusion is success; environment is staging; author is_not dependabot]
        once a production deployment has been approved
            mapped
            github:deployment_review.approved [environment is production]
        when somebody rejects a deployment review for production
            mapped
            github:deployment_review.rejected [environment is production]
        when someone manually triggers the deploy.yml workflow
            partial
            github:workflow_dispatch.* [workflow matches **/deploy.yml]
            left over: manually
        on main, a GitHub Actions run ends in failure
            mapped
            github:workflow_run.completed [conclusion is failure | timed_out; branch is main]
        when GitHub Pages build fails
            mapped
            github:page_build.* [conclusion is errored]
        when CI goes green on main after failing
            partial
            github:check_run.completed github:status.* github:workflow_run.completed [conclusion is success; branch is main]
            left over: after failing
        when the same check fails twice in a row
            partial
            github:check_run.completed [conclusion is failure | timed_out]
            github:status.* [conclusion is failure | error]
            left over: the same
            left over: twice in a row
        when a scheduled workflow run fails
            partial
            github:workflow_run.completed [conclusion is failure | timed_out]
            left over: a scheduled"#]]
    .assert_eq(&table(&[
        "when the nightly-e2e workflow run fails on main or release/*, unless it was cancelled",
        "when a workflow run triggered on the default branch finishes with anything other than success",
        "when a workflow job called build-linux fails in the \"Release\" workflow",
        "when a commit status with context \"security/snyk\" is failing on a pull request",
        "when the lint check or the ci/kiln-build status passes on a pull request",
        "when a workflow that is not \"CI\" fails",
        "when any check run but lint fails on a non-draft PR",
        "when a workflow run times out",
        "when a production deployment does not succeed",
        "when the \"CI\" workflow or the \"Deploy docs\" workflow fails on main",
        "when the ci workflow succeeds on main",
        "when a GitHub Actions workflow doesn't succeed",
        "when a commit status becomes pending",
        "when a run of the Deploy docs workflow has succeeded",
        "when a deployment fails in any environment except preview",
        "when a deployment to staging succeeds, except when it was created by dependabot",
        "once a production deployment has been approved",
        "when somebody rejects a deployment review for production",
        "when someone manually triggers the deploy.yml workflow",
        "on main, a GitHub Actions run ends in failure",
        "when GitHub Pages build fails",
        "when CI goes green on main after failing",
        "when the same check fails twice in a row",
        "when a scheduled workflow run fails",
    ]));
}

#[test]
fn alerts_advisories_and_settings_are_read_with_their_severity_and_tool() {
    expect![[r#"
        when Dependabot raises a critical alert
            mapped
            github:dependabot_alert.created [severity is critical]
        when a Dependabot alert is fixed or dismissed
            mapped
            github:dependabot_alert.fixed []
            github:dependabot_alert.dismissed github:dependabot_alert.auto_dismissed []
        when a Dependabot alert that is not critical is created
            mapped
            github:dependabot_alert.created [severity is_not critical]
        when a Dependabot alert for the openssl package is created
            partial
            github:dependabot_alert.created []
            left over: for the openssl package
        when a new code scanning alert appears on main
            mapped
            github:code_scanning_alert.created [branch is main]
        when a secret is found by secret scanning
            mapped
            github:secret_scanning_alert.created []
        an alert is created by Dependabot, by secret scanning or by code scanning
            mapped
            github:dependabot_alert.created []
            github:secret_scanning_alert.created []
            github:code_scanning_alert.created []
        when a security advisory is published with severity high or critical
            mapped
            github:security_advisory.published [severity is high | critical]
            github:repository_advisory.published [severity is high | critical]
        when a private vulnerability report is submitted
            mapped
            github:repository_advisory.reported []
        when somebody disables branch protection
            mapped
            github:branch_protection_configuration.disabled []
        when a ruleset is changed or deleted
            mapped
            github:repository_ruleset.edited []
            github:repository_ruleset.deleted []"#]]
    .assert_eq(&table(&[
        "when Dependabot raises a critical alert",
        "when a Dependabot alert is fixed or dismissed",
        "when a Dependabot alert that is not critical is created",
        "when a Dependabot alert for the openssl package is created",
        "when a new code scanning alert appears on main",
        "when a secret is found by secret scanning",
        "an alert is created by Dependabot, by secret scanning or by code scanning",
        "when a security advisory is published with severity high or critical",
        "when a private vulnerability report is submitted",
        "when somebody disables branch protection",
        "when a ruleset is changed or deleted",
    ]));
}

#[test]
fn what_else_github_tells_is_read() {
    expect![[r#"
        when a discussion is created in any category but Ideas
            mapped
            github:discussion.created [category is_not Ideas]
        when someone starts a discussion in Ideas
            mapped
            github:discussion.created [category is Ideas]
        when the category of a discussion changes
            mapped
            github:discussion.category_changed []
        when someone replies to a discussion
            mapped
            github:discussion_comment.created []
        when a discussion in the "Help" category gets a comment from an outsider
            mapped
            github:discussion_comment.created [author_association is_not OWNER | MEMBER | COLLABORATOR; category is Help]
        when a new label is created in the repository
            mapped
            github:label.created []
        when a label named "wontfix" is deleted
            mapped
            github:label.deleted linear:IssueLabel.remove [name is wontfix]
        when a page of the wiki is edited
            mapped
            github:gollum.* [name present]
        when the "v2.0" milestone is closed
            mapped
            github:milestone.closed [milestone is v2.0]
        when the repository is made public
            mapped
            github:repository.publicized github:public.* []
        when someone becomes a collaborator on the repo
            mapped
            github:member.added []
        when a fork of our repository is created
            mapped
            github:fork.* []
        when an item on the GitHub project board is moved
            mapped
            github:projects_v2_item.edited []
        when a GitHub issue is moved to another repository
            mapped
            github:issues.transferred []
        on a Linear `Comment` `create` event
            mapped
            linear:Comment.create []
        the GitHub issues event with actions labeled or unlabeled
            mapped
            github:issues.labeled []
            github:issues.unlabeled []
        deployment_status
            mapped
            github:deployment_status.* []"#]]
    .assert_eq(&table(&[
        "when a discussion is created in any category but Ideas",
        "when someone starts a discussion in Ideas",
        "when the category of a discussion changes",
        "when someone replies to a discussion",
        "when a discussion in the \"Help\" category gets a comment from an outsider",
        "when a new label is created in the repository",
        "when a label named \"wontfix\" is deleted",
        "when a page of the wiki is edited",
        "when the \"v2.0\" milestone is closed",
        "when the repository is made public",
        "when someone becomes a collaborator on the repo",
        "when a fork of our repository is created",
        "when an item on the GitHub project board is moved",
        "when a GitHub issue is moved to another repository",
        "on a Linear `Comment` `create` event",
        "the GitHub issues event with actions labeled or unlabeled",
        "deployment_status",
    ]));
}

#[test]
fn issues_of_linear_are_read_with_what_changed_in_them() {
    expect![[r#"
        when somebody moves an issue in Linear into In Progress
            mapped
            linear:Issue.update [changed is state; state is "In Progress"]
        when somebody (not an integration) marks a Linear issue Done
            mapped
            linear:Issue.update [changed is state; state is Done; actor_kind is_not bot]
        when a Linear issue is moved from Triage to Backlog
            partial
            linear:Issue.update [changed is state; state is Backlog]
            left over: from Triage
        when a Linear issue leaves Triage
            partial
            linear:Issue.update [changed is state]
            left over: Triage
        when a Linear issue is moved back to In Progress by Ana Silva
            mapped
            linear:Issue.update [changed is state; state is "In Progress"; actor is "Ana Silva"]
        when a Linear issue is created with the labels bug and urgent
            mapped
            linear:Issue.create [labels is bug; labels is urgent]
        when a Linear issue is created from Slack
            partial
            linear:Issue.create []
            left over: from Slack
        when someone other than the assignee completes a Linear issue
            partial
            linear:Issue.update [changed is state; state_type is completed]
            left over: someone other than the assignee
        when a Linear project's health changes to at risk
            mapped
            linear:Project.update [changed is health; health is "at risk"]
        when the priority of a Linear issue changes to anything but Low
            mapped
            linear:Issue.update [changed is priority; priority is_not low]
        when a Linear issue's priority is lowered
            partial
            linear:Issue.update [changed is priority]
            left over: is lowered
        when a Linear issue is assigned to anybody except Rowan Pike
            mapped
            linear:Issue.update [changed is assignee; assignee present; assignee is_not "Rowan Pike"]
        when someone assigns a Linear issue to Ana Silva
            mapped
            linear:Issue.update [changed is assignee; assignee present; assignee is "Ana Silva"]
        when a Linear issue is unassigned from Ana Silva
            partial
            linear:Issue.update [changed is assignee; assignee absent]
            left over: from Ana Silva
        when someone takes the "bug" label off a Linear issue
            mapped
            linear:Issue.update [label_removed_id present; label_removed is bug]
        when a Linear issue is added to the "Q3 Launch" project
            mapped
            linear:Issue.update [changed is project; project is "Q3 Launch"]
        when a Linear issue is moved to the Platform team
            mapped
            linear:Issue.update [changed is team; team is Platform]
        when a Linear issue in the Platform team is moved to Done by a human
            mapped
            linear:Issue.update [changed is state; team is Platform; state is Done; actor_kind is human]
        when an issue is filed in Linear for team KLN
            mapped
            linear:Issue.create [team is KLN]
        when a human creates a Linear issue in Triage
            mapped
            linear:Issue.create [state is Triage; author_kind is human]
        when a Linear issue is created already assigned to Rowan Pike
            mapped
            linear:Issue.create [assignees is "Rowan Pike"]
        when a Linear issue is marked as a duplicate
            mapped
            linear:Issue.update [changed is state; state is duplicate]
        when a Linear issue is reopened
            mapped
            linear:Issue.update [changed is state; changed is completed | canceled; state_type is_not completed | canceled]
        when a Linear issue's due date is set or changed
            mapped
            linear:Issue.update [changed is "due date"]
            linear:Issue.update [changed is "due date"]
        when a Linear project's target date changes
            mapped
            linear:Project.update [changed is "target date"]
        when someone posts a project update in Linear whose health is "at risk"
            mapped
            linear:ProjectUpdate.create [health is "at risk"]
        when a Linear comment thread is resolved
            mapped
            linear:Comment.update [changed is resolved; state_type is resolved]
        when someone replies to a Linear comment
            mapped
            linear:Comment.create [reply is true]
        when a customer request is created in Linear
            mapped
            linear:CustomerNeed.create []
        when a Linear label is renamed
            mapped
            linear:IssueLabel.update [changed is name]
        when a Linear issue is moved to Done or its pull request is merged
            mapped
            linear:Issue.update [changed is state; state is Done]
            github:pull_request.closed git:merge.* [merged is true]"#]].assert_eq(&table(&[
        "when somebody moves an issue in Linear into In Progress",
        "when somebody (not an integration) marks a Linear issue Done",
        "when a Linear issue is moved from Triage to Backlog",
        "when a Linear issue leaves Triage",
        "when a Linear issue is moved back to In Progress by Ana Silva",
        "when a Linear issue is created with the labels bug and urgent",
        "when a Linear issue is created from Slack",
        "when someone other than the assignee completes a Linear issue",
        "when a Linear project's health changes to at risk",
        "when the priority of a Linear issue changes to anything but Low",
        "when a Linear issue's priority is lowered",
        "when a Linear issue is assigned to anybody except Rowan Pike",
        "when someone assigns a Linear issue to Ana Silva",
        "when a Linear issue is unassigned from Ana Silva",
        "when someone takes the \"bug\" label off a Linear issue",
        "when a Linear issue is added to the \"Q3 Launch\" project",
        "when a Linear issue is moved to the Platform team",
        "when a Linear issue in the Platform team is moved to Done by a human",
        "when an issue is filed in Linear for team KLN",
        "when a human creates a Linear issue in Triage",
        "when a Linear issue is created already assigned to Rowan Pike",
        "when a Linear issue is marked as a duplicate",
        "when a Linear issue is reopened",
        "when a Linear issue's due date is set or changed",
        "when a Linear project's target date changes",
        "when someone posts a project update in Linear whose health is \"at risk\"",
        "when a Linear comment thread is resolved",
        "when someone replies to a Linear comment",
        "when a customer request is created in Linear",
        "when a Linear label is renamed",
        "when a Linear issue is moved to Done or its pull request is merged",
    ]));
}

#[test]
fn slack_is_read_with_its_channels_people_and_files() {
    expect![[r#"
        when a message in channel C0123ABCD is edited
            mapped
            slack:message.* [message_kind is edited; channel_id is C0123ABCD]
        when a Slack message that mentions "postgres" is posted outside #random
            mapped
            slack:message.* [message_kind is posted; comment contains postgres; channel is_not random]
        when a message that is not from a bot is posted in #help
            mapped
            slack:message.* [message_kind is posted; author_kind is_not bot; channel is help]
        when a bot other than @deploybot posts in #deploys
            mapped
            slack:message.* [message_kind is posted; channel is deploys; author_kind is bot; author is_not deploybot]
        when somebody's message in Slack includes "deploy failed"
            mapped
            slack:message.* [message_kind is posted; comment contains "deploy failed"]
        when someone in Slack mentions our bot
            mapped
            slack:app_mention.* []
        when someone @mentions the bot in a thread
            mapped
            slack:app_mention.* [reply is true]
        when someone messages the bot directly on Slack
            mapped
            slack:message.* [message_kind is posted | reply; channel_kind is im]
        when a :eyes: or :fire: reaction is added to a Slack message
            mapped
            slack:reaction_added.* [reaction is eyes | fire]
        when a file is shared in Slack
            mapped
            slack:message.* [subtype is file_share]
            slack:file_shared.* []
        when a file is uploaded in #design-reviews by a human
            mapped
            slack:message.* [subtype is file_share; channel is design-reviews; actor_kind is human]
            slack:file_shared.* [channel is design-reviews; actor_kind is human]
        when a channel's topic is changed in Slack
            mapped
            slack:message.* [subtype is channel_topic | group_topic]
        when the channel #eng in Slack gets a new member
            mapped
            slack:member_joined_channel.* [channel is eng]
        when a new member joins #kiln-room
            mapped
            slack:member_joined_channel.* [channel is kiln-room]
        when a user group is updated in Slack
            mapped
            slack:subteam_updated.* []
        when somebody changes their Slack status
            mapped
            slack:user_status_changed.* []
        when a huddle starts in #standup
            mapped
            slack:message.* [subtype is huddle_thread; channel is standup]
        when more than five messages are posted in #incidents in ten minutes
            partial
            slack:message.* [message_kind is posted; channel is incidents]
            left over: more than five messages
            left over: in ten minutes"#]].assert_eq(&table(&[
        "when a message in channel C0123ABCD is edited",
        "when a Slack message that mentions \"postgres\" is posted outside #random",
        "when a message that is not from a bot is posted in #help",
        "when a bot other than @deploybot posts in #deploys",
        "when somebody's message in Slack includes \"deploy failed\"",
        "when someone in Slack mentions our bot",
        "when someone @mentions the bot in a thread",
        "when someone messages the bot directly on Slack",
        "when a :eyes: or :fire: reaction is added to a Slack message",
        "when a file is shared in Slack",
        "when a file is uploaded in #design-reviews by a human",
        "when a channel's topic is changed in Slack",
        "when the channel #eng in Slack gets a new member",
        "when a new member joins #kiln-room",
        "when a user group is updated in Slack",
        "when somebody changes their Slack status",
        "when a huddle starts in #standup",
        "when more than five messages are posted in #incidents in ten minutes",
    ]));
}

#[test]
fn sentry_is_read_with_its_levels_projects_and_rules() {
    expect![[r#"
        when a new Sentry issue with level fatal appears in the checkout-web project
            mapped
            sentry:issue.created [level is fatal; project is checkout-web]
        when a Sentry issue of level error or fatal is created in a project other than kiln-core
            mapped
            sentry:issue.created [level is error | fatal; project is_not kiln-core]
        when a resolved Sentry issue comes back as a regression
            mapped
            sentry:issue.unresolved [substatus is regressed]
            sentry:issue.unresolved [substatus is regressed]
        when a Sentry issue becomes unresolved
            mapped
            sentry:issue.unresolved []
        when a Sentry issue regresses in production
            partial
            sentry:issue.unresolved [substatus is regressed]
            left over: in production
        when the "Kiln down" Sentry alert fires
            mapped
            sentry:event_alert.triggered sentry:metric_alert.critical sentry:metric_alert.warning sentry:activity_alert.triggered [name is "Kiln down"]
        when the Sentry alert rule "p95 latency" is triggered in production
            mapped
            sentry:event_alert.triggered sentry:metric_alert.critical sentry:metric_alert.warning [name is "p95 latency"; environment is production]
        when a Sentry metric alert for the checkout-web project goes critical
            mapped
            sentry:metric_alert.critical [project is checkout-web]
        when a Sentry issue is resolved or a metric alert in Sentry is
            mapped
            sentry:issue.resolved []
            sentry:metric_alert.resolved []
        when a Sentry alert fires or the pager goes off
            partial
            sentry:event_alert.triggered sentry:metric_alert.critical sentry:metric_alert.warning sentry:activity_alert.triggered []
            left over: the pager goes off"#]].assert_eq(&table(&[
        "when a new Sentry issue with level fatal appears in the checkout-web project",
        "when a Sentry issue of level error or fatal is created in a project other than kiln-core",
        "when a resolved Sentry issue comes back as a regression",
        "when a Sentry issue becomes unresolved",
        "when a Sentry issue regresses in production",
        "when the \"Kiln down\" Sentry alert fires",
        "when the Sentry alert rule \"p95 latency\" is triggered in production",
        "when a Sentry metric alert for the checkout-web project goes critical",
        "when a Sentry issue is resolved or a metric alert in Sentry is",
        "when a Sentry alert fires or the pager goes off",
    ]));
}

#[test]
fn lines_without_an_event_are_told_apart() {
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
            vague
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
