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
    PullRequest = ["pull request", "pr", "pull-request", "pullrequest", "merge request", "mr", "pull_request", "change request", "pull"],
    /// An issue of GitHub, Linear or Sentry.
    Issue = ["issue", "ticket", "bug report", "bug ticket"],
    /// A comment in a conversation.
    Comment = ["comment", "remark", "issue_comment"],
    /// An inline comment on a diff.
    ReviewComment = ["review comment", "inline comment", "inline review comment", "line comment", "diff comment",
        "code comment", "code review comment", "pull_request_review_comment"],
    /// A comment on a commit.
    CommitComment = ["commit comment", "commit_comment"],
    /// A comment in a discussion.
    DiscussionComment = ["discussion comment", "discussion_comment"],
    /// A review of a pull request.
    Review = ["review", "code review", "pull_request_review"],
    /// A thread of review comments.
    ReviewThread = ["review thread", "review conversation", "review comment thread", "comment thread"],
    /// Commits that arrive on a branch.
    Commit = ["commit", "push", "code", "changeset"],
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
    Deployment = ["deployment", "deploy", "deploying"],
    /// A status of a deployment.
    DeploymentStatus = ["deployment status", "deployment_status"],
    /// A discussion.
    Discussion = ["discussion", "discussion thread"],
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
    ProjectItem = ["project item", "github project item", "project card", "project board item", "github project card", "projects_v2_item"],
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
    /// The answer to a discussion.
    Answer = ["accepted answer", "answer"],
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
    /// A vulnerability alert of the older kind.
    VulnerabilityAlert = ["repository vulnerability alert", "vulnerability alert", "repository_vulnerability_alert"],
    /// A place where a leaked secret was found.
    SecretLocation = ["secret scanning alert location", "secret location", "secret scanning location",
        "secret_scanning_alert_location"],
    /// A scan for secrets.
    SecretScan = ["secret scan", "secret scanning scan", "secret_scanning_scan"],
    /// An advisory on a vulnerability.
    SecurityAdvisory = ["security advisory", "github security advisory", "advisory", "security_advisory"],
    /// An advisory of the repository.
    RepositoryAdvisory = ["repository advisory", "repository security advisory", "security advisory", "advisory",
        "repository_advisory"],
    /// A vulnerability that somebody reports in private.
    VulnerabilityReport = ["vulnerability report", "private vulnerability report", "security vulnerability report"],
    /// A security setting of the repository.
    SecuritySetting = ["security setting", "code security setting", "security and analysis setting",
        "code security and analysis setting", "security_and_analysis"],
    /// A ruleset.
    Ruleset = ["ruleset", "repository ruleset", "branch ruleset", "tag ruleset", "repository_ruleset"],
    /// A deploy key.
    DeployKey = ["deploy key", "deployment key", "deploy_key"],
    /// A request for a personal access token.
    TokenRequest = ["personal access token request", "access token request", "pat request",
        "fine-grained personal access token request", "personal_access_token_request"],
    /// A team of the organization.
    Team = ["github team", "organization team", "org team"],
    /// The membership of somebody in a team.
    TeamMember = ["team membership", "github team member", "membership"],
    /// The organization.
    Organization = ["github organization", "github org"],
    /// The membership of somebody in the organization.
    OrganizationMember = ["organization membership", "github organization member", "github org member"],
    /// The installation of an application.
    Installation = ["app installation", "github app installation", "sentry integration", "integration installation",
        "sentry app installation", "github app"],
    /// A repository that an application may reach.
    InstallationRepository = ["installation repository", "installed repository", "app repository",
        "installation_repositories"],
    /// What somebody allowed an application to do.
    AppAuthorization = ["app authorization", "github app authorization", "oauth app", "oauth application",
        "oauth authorization", "github_app_authorization"],
    /// A sponsorship.
    Sponsorship = ["sponsorship", "github sponsorship", "github sponsor", "sponsor"],
    /// How much a sponsor gives.
    SponsorshipTier = ["sponsorship tier", "sponsor tier"],
    /// What somebody bought in the marketplace.
    MarketplacePurchase = ["marketplace purchase", "marketplace plan", "marketplace subscription",
        "github marketplace purchase", "marketplace_purchase"],
    /// A webhook.
    Webhook = ["webhook"],
    /// A custom property of repositories.
    CustomProperty = ["custom property", "custom repository property", "custom_property"],
    /// The value that a repository has for a custom property.
    CustomPropertyValue = ["custom property value", "custom_property_values"],
    /// A build of the pages site.
    PageBuild = ["page build", "pages build", "github pages build", "github pages site build", "github pages site",
        "page_build"],
    /// An event that somebody sends to the repository.
    RepositoryDispatch = ["repository dispatch", "repository_dispatch"],
    /// The import of a repository.
    RepositoryImport = ["repository import", "repo import", "repository_import"],
    /// A decision on a waiting deployment.
    DeploymentReview = ["deployment review", "deployment approval", "deployment_review", "pending deployment"],
    /// A custom rule that a deployment waits for.
    DeploymentProtection = ["deployment protection rule", "deployment protection rule check",
        "deployment_protection_rule"],
    /// A run of a workflow by hand.
    WorkflowDispatch = ["workflow dispatch", "workflow_dispatch", "manual workflow run"],
    /// A project of GitHub.
    GithubProject = ["github project", "github project board", "project board", "projects_v2"],
    /// A status update on a project of GitHub.
    ProjectStatusUpdate = ["github project update", "github project status update", "project status update",
        "projects_v2_status_update"],
    /// A project board of the older kind.
    ClassicProject = ["classic project", "classic project board", "project (classic)"],
    /// A card on a project board of the older kind.
    ProjectCard = ["project card", "project board card", "project_card"],
    /// A column of a project board of the older kind.
    ProjectColumn = ["project column", "project board column", "project_column"],
    /// An issue below another.
    SubIssue = ["sub-issue", "sub issue", "subissue", "child issue", "sub_issues"],
    /// The issue above another.
    ParentIssue = ["parent issue"],
    /// An issue that must be done before another.
    BlockedBy = ["blocked-by relation", "blocked-by relationship"],
    /// An issue that waits for another.
    Blocking = ["blocking relation", "blocking relationship"],
    /// A dependency between issues.
    IssueDependency = ["issue dependency", "issue_dependencies"],
    /// A customer in Linear.
    Customer = ["linear customer"],
    /// What a customer asks for.
    CustomerNeed = ["customer request", "customer need"],
    /// An update posted on an initiative.
    InitiativeUpdate = ["initiative update", "initiative status update"],
    /// A label of projects.
    ProjectLabel = ["project label"],
    /// A member of the workspace.
    WorkspaceMember = ["workspace member", "workspace user", "linear user", "linear member", "slack user",
        "slack member"],
    /// An entry of the audit log.
    AuditEntry = ["audit entry", "audit log entry"],
    /// The access of the application to teams.
    TeamAccess = ["team access"],
    /// A notification in the inbox of the application.
    Notification = ["inbox notification", "linear notification"],
    /// A session of an agent.
    AgentSession = ["agent session", "linear agent session"],
    /// An alert on what happens to an issue.
    ActivityAlert = ["activity alert", "issue activity alert", "activity_alert"],
    /// The search for the cause of an error.
    RootCause = ["root cause analysis", "root-cause analysis"],
    /// A solution that was worked out for an error.
    SeerSolution = ["seer solution", "autofix solution"],
    /// The coding of a repair.
    SeerCoding = ["seer coding", "autofix coding", "seer code change", "seer fix", "autofix"],
    /// A pull request that repairs an error.
    SeerPullRequest = ["seer pull request", "seer pr", "autofix pull request", "autofix pr"],
    /// The topic of a channel.
    ChannelTopic = ["channel topic", "topic"],
    /// The purpose of a channel.
    ChannelPurpose = ["channel purpose", "channel description"],
    /// The id of a channel.
    ChannelId = ["channel id"],
    /// A private channel.
    PrivateChannel = ["private channel"],
    /// The history of a conversation.
    ChannelHistory = ["channel history", "conversation history"],
    /// A conversation between two people.
    DirectMessageChannel = ["direct message conversation", "dm conversation", "direct message channel", "dm channel"],
    /// A talk in a channel.
    Huddle = ["huddle", "slack huddle"],
    /// A canvas.
    Canvas = ["canvas", "channel canvas"],
    /// A reminder.
    Reminder = ["reminder"],
    /// An application in the workspace.
    SlackApp = ["slack app"],
    /// A file on its way to a channel.
    UploadedFile = ["slack file"],
    /// Data that travels with a message.
    MessageMetadata = ["message metadata"],
    /// A group of users with a handle.
    UserGroup = ["user group", "usergroup", "slack user group", "subteam"],
    /// The people of a user group.
    UserGroupMember = ["user group member", "user group membership", "member of a user group",
        "members of a user group"],
    /// The profile of a person.
    UserProfile = ["user profile", "slack profile", "profile"],
    /// The status of a person.
    UserStatus = ["user status", "slack status", "status message", "status emoji"],
    /// The connection of a person's account.
    UserConnection = ["user connection"],
    /// The hours in which a person is not disturbed.
    DoNotDisturb = ["do not disturb", "do-not-disturb", "do not disturb setting", "dnd"],
    /// The address of the workspace.
    WorkspaceDomain = ["workspace domain", "workspace url", "slack domain", "slack url"],
    /// The domain of the workspace's addresses.
    EmailDomain = ["email domain"],
    /// The access of the application to a workspace.
    WorkspaceAccess = ["workspace access"],
    /// An invitation to the workspace.
    WorkspaceInvite = ["workspace invite", "workspace invitation", "slack invite", "slack invitation"],
    /// The home of the application.
    AppHome = ["app home", "home tab", "app home tab"],
    /// A token of the application.
    AppToken = ["slack token", "app token"],
    /// A permission of the application.
    AppScope = ["app scope", "slack scope"],
    /// A resource that the application may reach.
    AppResource = ["app resource", "slack resource"],
    /// A conversation with the assistant.
    AssistantThread = ["assistant thread", "ai assistant thread"],
    /// An invitation to a channel shared with another workspace.
    ChannelInvite = ["shared channel invite", "shared channel invitation", "slack connect invite",
        "slack connect invitation", "channel invitation", "channel invite"],
    /// A call.
    SlackCall = ["slack call"],
    /// A function of the application.
    SlackFunction = ["slack function", "app function"],
    /// A workflow of Slack.
    SlackWorkflow = ["slack workflow"],
    /// A step of a workflow of Slack.
    WorkflowStep = ["workflow step"],
    /// The move of a workspace to an enterprise.
    GridMigration = ["grid migration", "enterprise grid migration"],
}
