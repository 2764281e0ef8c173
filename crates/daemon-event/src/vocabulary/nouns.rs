//! Nouns: the subjects of events, and the phrases that name them.

/// Declares the nouns with the phrases that name them, singular and in lower case.
macro_rules! nouns {
    ($($(#[$doc:meta])* $name:ident = [$first:literal $(, $phrase:literal)* $(,)?]),+ $(,)?) => {
        /// The subject of an event. Each variant lists the phrases that name it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Noun {
            $(
                #[doc = concat!("`", $first, "`" $(, ", `", $phrase, "`")*)]
                ///
                $(#[$doc])*
                $name,
            )+
        }

        impl Noun {
            /// Every noun.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the phrases that name it, the usual one first.
            pub fn phrases(self) -> &'static [&'static str] {
                match self { $(Self::$name => &[$first $(, $phrase)*],)+ }
            }
        }
    };
}

nouns! {
    PullRequest = ["pull request", "pr", "pull-request", "pullrequest", "merge request", "mr", "pull_request", "change request", "pull"],
    /// An issue of GitHub, Linear or Sentry.
    Issue = ["issue", "ticket", "bug report", "bug ticket"],
    Comment = ["comment", "remark", "issue_comment"],
    ReviewComment = ["review comment", "inline comment", "inline review comment", "line comment", "diff comment",
        "code comment", "code review comment", "pull_request_review_comment"],
    CommitComment = ["commit comment", "commit_comment"],
    DiscussionComment = ["discussion comment", "discussion_comment"],
    Review = ["review", "code review", "pull_request_review"],
    ReviewThread = ["review thread", "review conversation", "review comment thread", "comment thread"],
    /// Commits that arrive on a branch.
    Commit = ["commit", "push", "code", "changeset"],
    Branch = ["branch", "git branch"],
    Tag = ["tag", "git tag", "version tag", "release tag"],
    Release = ["release", "version"],
    File = ["file"],
    /// A check run or a commit status.
    Check = ["check", "ci check"],
    CheckRun = ["check run", "check_run", "check-run"],
    CheckSuite = ["check suite", "check_suite", "suite of checks"],
    Status = ["commit status", "status check", "commit status check", "status context"],
    Workflow = ["workflow", "workflow run", "github actions workflow", "actions workflow", "github actions run", "github actions workflow run", "actions workflow run",
        "actions run", "workflow_run", "github action", "github actions"],
    Job = ["workflow job", "github actions job", "actions job", "job", "ci job", "workflow_job", "build job"],
    /// Continuous integration of any provider.
    Ci = ["ci", "build", "ci run", "ci build", "ci pipeline", "continuous integration", "pipeline"],
    Deployment = ["deployment", "deploy", "deploying"],
    DeploymentStatus = ["deployment status", "deployment_status"],
    Discussion = ["discussion", "discussion thread"],
    Milestone = ["milestone"],
    /// The definition of a label, not its presence on an issue.
    RepositoryLabel = ["repository label", "repo label", "label definition"],
    Repository = ["repository", "repo"],
    Wiki = ["wiki", "wiki page"],
    Star = ["star", "stargazer"],
    Fork = ["fork"],
    Collaborator = ["repository collaborator", "repo collaborator"],
    Package = ["package", "container image", "registry package"],
    MergeGroup = ["merge group", "merge_group", "merge queue"],
    /// An item of a GitHub project.
    ProjectItem = ["project item", "github project item", "project card", "project board item", "github project card", "projects_v2_item"],
    DependabotAlert = ["dependabot alert", "dependabot security alert", "dependabot_alert", "vulnerability alert"],
    SecretAlert = ["secret scanning alert", "secret-scanning alert", "leaked secret alert", "secret alert", "secret",
        "secret_scanning_alert", "secret scanning"],
    CodeScanningAlert = ["code scanning alert", "code-scanning alert", "codeql alert", "code_scanning_alert",
        "code scanning"],
    SecurityAlert = ["security alert", "security scanning alert"],
    BranchProtection = ["branch protection rule", "branch protection", "branch_protection_rule"],
    /// A message in a channel.
    Message = ["message", "post", "chat message", "channel message"],
    /// A message in a thread.
    Reply = ["thread reply", "threaded reply", "reply", "thread response", "reply in a thread", "thread message", "thread"],
    Mention = ["mention", "app mention", "app_mention", "@mention", "@-mention"],
    DirectMessage = ["direct message", "dm", "private message"],
    Reaction = ["reaction", "emoji reaction", "reacji"],
    Channel = ["channel"],
    Emoji = ["custom emoji", "emoji"],
    Pin = ["pin", "pinned message", "pinned item"],
    SharedFile = ["shared file", "file upload", "uploaded file"],
    Workspace = ["workspace"],
    Project = ["project"],
    ProjectUpdate = ["project update", "project status update"],
    Cycle = ["cycle"],
    Document = ["document"],
    Initiative = ["initiative"],
    Sla = ["sla", "service level agreement"],
    Attachment = ["attachment", "link"],
    Answer = ["accepted answer", "answer"],
    /// A label of a Linear workspace.
    IssueLabel = ["issue label"],
    /// An alert of Sentry, of any kind.
    Alert = ["alert", "alert rule"],
    IssueAlert = ["issue alert", "event alert", "event_alert", "error alert"],
    MetricAlert = ["metric alert", "metric_alert"],
    ErrorEvent = ["error event", "error", "exception"],
    /// GitHub's former alert, replaced by Dependabot alerts.
    VulnerabilityAlert = ["repository vulnerability alert", "vulnerability alert", "repository_vulnerability_alert"],
    SecretLocation = ["secret scanning alert location", "secret location", "secret scanning location",
        "secret_scanning_alert_location"],
    SecretScan = ["secret scan", "secret scanning scan", "secret_scanning_scan"],
    SecurityAdvisory = ["security advisory", "github security advisory", "advisory", "security_advisory"],
    RepositoryAdvisory = ["repository advisory", "repository security advisory", "security advisory", "advisory",
        "repository_advisory"],
    VulnerabilityReport = ["vulnerability report", "private vulnerability report", "security vulnerability report"],
    SecuritySetting = ["security setting", "code security setting", "security and analysis setting",
        "code security and analysis setting", "security_and_analysis"],
    Ruleset = ["ruleset", "repository ruleset", "branch ruleset", "tag ruleset", "repository_ruleset"],
    DeployKey = ["deploy key", "deployment key", "deploy_key"],
    TokenRequest = ["personal access token request", "access token request", "pat request",
        "fine-grained personal access token request", "personal_access_token_request"],
    Team = ["github team", "organization team", "org team"],
    /// A person's membership in a team.
    TeamMember = ["team membership", "github team member", "membership"],
    Organization = ["github organization", "github org"],
    /// A person's membership in the organization.
    OrganizationMember = ["organization membership", "github organization member", "github org member"],
    Installation = ["app installation", "github app installation", "sentry integration", "integration installation",
        "sentry app installation", "github app"],
    InstallationRepository = ["installation repository", "installed repository", "app repository",
        "installation_repositories"],
    AppAuthorization = ["app authorization", "github app authorization", "oauth app", "oauth application",
        "oauth authorization", "github_app_authorization"],
    Sponsorship = ["sponsorship", "github sponsorship", "github sponsor", "sponsor"],
    SponsorshipTier = ["sponsorship tier", "sponsor tier"],
    MarketplacePurchase = ["marketplace purchase", "marketplace plan", "marketplace subscription",
        "github marketplace purchase", "marketplace_purchase"],
    Webhook = ["webhook"],
    CustomProperty = ["custom property", "custom repository property", "custom_property"],
    CustomPropertyValue = ["custom property value", "custom_property_values"],
    PageBuild = ["page build", "pages build", "github pages build", "github pages site build", "github pages site",
        "page_build"],
    RepositoryDispatch = ["repository dispatch", "repository_dispatch"],
    RepositoryImport = ["repository import", "repo import", "repository_import"],
    DeploymentReview = ["deployment review", "deployment approval", "deployment_review", "pending deployment"],
    DeploymentProtection = ["deployment protection rule", "deployment protection rule check",
        "deployment_protection_rule"],
    WorkflowDispatch = ["workflow dispatch", "workflow_dispatch", "manual workflow run"],
    GithubProject = ["github project", "github project board", "project board", "projects_v2"],
    ProjectStatusUpdate = ["github project update", "github project status update", "project status update",
        "projects_v2_status_update"],
    /// A GitHub project of the former kind.
    ClassicProject = ["classic project", "classic project board", "project (classic)"],
    ProjectCard = ["project card", "project board card", "project_card"],
    ProjectColumn = ["project column", "project board column", "project_column"],
    SubIssue = ["sub-issue", "sub issue", "subissue", "child issue", "sub_issues"],
    ParentIssue = ["parent issue"],
    /// The relation to an issue that must be done first.
    BlockedBy = ["blocked-by relation", "blocked-by relationship"],
    /// The relation to an issue that waits for this one.
    Blocking = ["blocking relation", "blocking relationship"],
    IssueDependency = ["issue dependency", "issue_dependencies"],
    /// A customer record in Linear.
    Customer = ["linear customer"],
    /// A request of a customer in Linear.
    CustomerNeed = ["customer request", "customer need"],
    InitiativeUpdate = ["initiative update", "initiative status update"],
    ProjectLabel = ["project label"],
    WorkspaceMember = ["workspace member", "workspace user", "linear user", "linear member", "slack user",
        "slack member"],
    AuditEntry = ["audit entry", "audit log entry"],
    TeamAccess = ["team access"],
    Notification = ["inbox notification", "linear notification"],
    AgentSession = ["agent session", "linear agent session"],
    ActivityAlert = ["activity alert", "issue activity alert", "activity_alert"],
    RootCause = ["root cause analysis", "root-cause analysis"],
    SeerSolution = ["seer solution", "autofix solution"],
    SeerCoding = ["seer coding", "autofix coding", "seer code change", "seer fix", "autofix"],
    SeerPullRequest = ["seer pull request", "seer pr", "autofix pull request", "autofix pr"],
    ChannelTopic = ["channel topic", "topic"],
    ChannelPurpose = ["channel purpose", "channel description"],
    ChannelId = ["channel id"],
    PrivateChannel = ["private channel"],
    ChannelHistory = ["channel history", "conversation history"],
    DirectMessageChannel = ["direct message conversation", "dm conversation", "direct message channel", "dm channel"],
    Huddle = ["huddle", "slack huddle"],
    Canvas = ["canvas", "channel canvas"],
    Reminder = ["reminder"],
    SlackApp = ["slack app"],
    UploadedFile = ["slack file"],
    MessageMetadata = ["message metadata"],
    UserGroup = ["user group", "usergroup", "slack user group", "subteam"],
    UserGroupMember = ["user group member", "user group membership", "member of a user group",
        "members of a user group"],
    UserProfile = ["user profile", "slack profile", "profile"],
    UserStatus = ["user status", "slack status", "status message", "status emoji"],
    UserConnection = ["user connection"],
    DoNotDisturb = ["do not disturb", "do-not-disturb", "do not disturb setting", "dnd"],
    WorkspaceDomain = ["workspace domain", "workspace url", "slack domain", "slack url"],
    /// The domain of the workspace's email addresses.
    EmailDomain = ["email domain"],
    WorkspaceAccess = ["workspace access"],
    WorkspaceInvite = ["workspace invite", "workspace invitation", "slack invite", "slack invitation"],
    AppHome = ["app home", "home tab", "app home tab"],
    AppToken = ["slack token", "app token"],
    AppScope = ["app scope", "slack scope"],
    AppResource = ["app resource", "slack resource"],
    AssistantThread = ["assistant thread", "ai assistant thread"],
    ChannelInvite = ["shared channel invite", "shared channel invitation", "slack connect invite",
        "slack connect invitation", "channel invitation", "channel invite"],
    SlackCall = ["slack call"],
    SlackFunction = ["slack function", "app function"],
    SlackWorkflow = ["slack workflow"],
    WorkflowStep = ["workflow step"],
    GridMigration = ["grid migration", "enterprise grid migration"],
}
