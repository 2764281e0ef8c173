//! What lines about events of GitHub mean, other than those of pull requests.

use expect_test::expect;

use crate::table::table;

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
            github:status.* [conclusion is failure | error; check is security/snyk; pull_requests present]
        when the lint check or the ci/kiln-build status passes on a pull request
            mapped
            github:check_run.completed github:status.* [conclusion is success; check is lint; pull_requests present]
            github:status.* [conclusion is success; check is ci/kiln-build; pull_requests present]
        when a workflow that is not "CI" fails
            mapped
            github:workflow_run.completed [conclusion is failure | timed_out; workflow is_not CI]
        when any check run but lint fails on a non-draft PR
            mapped
            github:check_run.completed [conclusion is failure | timed_out; check is_not lint; pull_requests present; draft is false]
        when a workflow run times out
            mapped
            github:workflow_run.completed [conclusion is timed_out]
        when a production deployment does not succeed
            mapped
            github:deployment_status.created [conclusion is failure | error; environment is production; conclusion is_not success]
        when the "CI" workflow or the "Deploy docs" workflow fails on main
            mapped
            github:workflow_run.completed [conclusion is failure | timed_out; workflow is CI; branch is main]
            github:workflow_run.completed [conclusion is failure | timed_out; workflow is "Deploy docs"; branch is main]
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
            mapped
            github:workflow_dispatch.* [workflow matches **/deploy.yml]
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
            left over: same check
            left over: twice
            left over: in a row
        when a scheduled workflow run fails
            partial
            github:workflow_run.completed [conclusion is failure | timed_out]
            left over: scheduled workflow run"#]]
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
fn other_events_of_github_are_read() {
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
            github:discussion_comment.created [category is Help; author_association is_not OWNER | MEMBER | COLLABORATOR]
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
