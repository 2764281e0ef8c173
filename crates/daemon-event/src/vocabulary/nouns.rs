//! What events are about, and the words for it.

/// Declares the nouns with the phrases that name them, singular and in lower case.
macro_rules! nouns {
    ($($(#[$doc:meta])* $name:ident = [$($phrase:literal),+ $(,)?]),+ $(,)?) => {
        /// What an event is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Noun {
            $($(#[$doc])* $name,)+
        }

        impl Noun {
            /// Every noun.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the phrases that name it, the usual one first.
            pub fn phrases(self) -> &'static [&'static str] {
                match self { $(Self::$name => &[$($phrase),+],)+ }
            }
        }
    };
}

nouns! {
    /// A pull request.
    PullRequest = ["pull request", "pr", "pull-request", "pullrequest", "merge request", "mr", "pull_request"],
    /// An issue of GitHub, Linear or Sentry.
    Issue = ["issue", "ticket", "bug report", "bug ticket"],
    /// A comment in a conversation.
    Comment = ["comment", "remark", "issue_comment"],
    /// An inline comment on a diff.
    ReviewComment = ["review comment", "inline comment", "inline review comment", "line comment", "diff comment",
        "code comment", "pull_request_review_comment"],
    /// A comment on a commit.
    CommitComment = ["commit comment", "commit_comment"],
    /// A comment in a discussion.
    DiscussionComment = ["discussion comment", "discussion_comment"],
    /// A review of a pull request.
    Review = ["review", "code review", "pull_request_review"],
    /// A thread of review comments.
    ReviewThread = ["review thread", "review conversation", "review comment thread", "comment thread"],
    /// Commits that arrive on a branch.
    Commit = ["commit", "push", "code", "new code", "changeset"],
    /// A branch.
    Branch = ["branch", "git branch"],
    /// A tag.
    Tag = ["tag", "git tag", "version tag", "release tag"],
    /// A release.
    Release = ["release", "version"],
    /// Files of the repository.
    File = ["file"],
    /// A check run or a commit status.
    Check = ["check", "ci check"],
    /// A check run.
    CheckRun = ["check run", "check_run", "check-run"],
    /// A check suite.
    CheckSuite = ["check suite", "check_suite", "suite of checks"],
    /// A commit status.
    Status = ["commit status", "status check", "commit status check", "status context"],
    /// A workflow run.
    Workflow = ["workflow", "workflow run", "github actions workflow", "actions workflow", "github actions run", "github actions workflow run", "actions workflow run",
        "actions run", "workflow_run", "github action", "github actions"],
    /// A job of a workflow.
    Job = ["workflow job", "github actions job", "actions job", "job", "ci job", "workflow_job", "build job"],
    /// Continuous integration, whatever runs it.
    Ci = ["ci", "build", "ci run", "ci build", "ci pipeline", "continuous integration", "pipeline"],
    /// A deployment.
    Deployment = ["deployment", "deploy"],
    /// A status of a deployment.
    DeploymentStatus = ["deployment status", "deployment_status"],
    /// A discussion.
    Discussion = ["discussion"],
    /// A milestone.
    Milestone = ["milestone"],
    /// A label itself, not its presence on something.
    RepositoryLabel = ["repository label", "repo label", "label definition"],
    /// The repository.
    Repository = ["repository", "repo"],
    /// The wiki.
    Wiki = ["wiki", "wiki page"],
    /// A star.
    Star = ["star", "stargazer"],
    /// A fork.
    Fork = ["fork"],
    /// A collaborator of the repository.
    Collaborator = ["repository collaborator", "repo collaborator"],
    /// A package.
    Package = ["package", "container image", "registry package"],
    /// A merge group of the merge queue.
    MergeGroup = ["merge group", "merge_group", "merge queue"],
    /// An item of a GitHub project.
    ProjectItem = ["project item", "github project item", "project card", "project board item"],
    /// A Dependabot alert.
    DependabotAlert = ["dependabot alert", "dependabot security alert", "dependabot_alert", "vulnerability alert"],
    /// A secret scanning alert.
    SecretAlert = ["secret scanning alert", "secret-scanning alert", "leaked secret alert", "secret alert", "secret",
        "secret_scanning_alert", "secret scanning"],
    /// A code scanning alert.
    CodeScanningAlert = ["code scanning alert", "code-scanning alert", "codeql alert", "code_scanning_alert",
        "code scanning"],
    /// Any of the security alerts.
    SecurityAlert = ["security alert", "security scanning alert"],
    /// A branch protection rule.
    BranchProtection = ["branch protection rule", "branch protection", "branch_protection_rule"],
    /// A message in a channel.
    Message = ["message", "post", "chat message", "channel message"],
    /// A message in a thread.
    Reply = ["thread reply", "threaded reply", "reply", "thread response", "reply in a thread", "thread message", "thread"],
    /// A mention of the app.
    Mention = ["mention", "app mention", "app_mention", "@mention", "@-mention"],
    /// A direct message.
    DirectMessage = ["direct message", "dm", "private message"],
    /// An emoji reaction.
    Reaction = ["reaction", "emoji reaction", "reacji"],
    /// A channel.
    Channel = ["channel"],
    /// A custom emoji.
    Emoji = ["custom emoji", "emoji"],
    /// A pinned message.
    Pin = ["pin", "pinned message", "pinned item"],
    /// A file shared in a channel.
    SharedFile = ["shared file", "file upload", "uploaded file"],
    /// The Slack workspace.
    Workspace = ["workspace"],
    /// A Linear project.
    Project = ["project"],
    /// An update posted on a Linear project.
    ProjectUpdate = ["project update", "project status update"],
    /// A cycle.
    Cycle = ["cycle"],
    /// A document.
    Document = ["document"],
    /// An initiative.
    Initiative = ["initiative"],
    /// A service level agreement.
    Sla = ["sla", "service level agreement"],
    /// An attachment.
    Attachment = ["attachment", "link"],
    /// A label of a Linear workspace.
    IssueLabel = ["issue label"],
    /// An alert of Sentry, of any sort.
    Alert = ["alert", "alert rule"],
    /// An issue alert.
    IssueAlert = ["issue alert", "event alert", "event_alert", "error alert"],
    /// A metric alert.
    MetricAlert = ["metric alert", "metric_alert"],
    /// One occurrence of an error.
    ErrorEvent = ["error event", "error", "exception"],
}
