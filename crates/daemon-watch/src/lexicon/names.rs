//! Proper names: services, accounts, branches, states, and value words.

use daemon_event::Source;

/// Value words, for every attribute.
pub(crate) const VALUES: &str = "urgent | high | medium | low | no priority | critical | fatal | error | warning | info | \
    debug | moderate | production | staging | prod | preview | at risk | at-risk | on track | \
    off track | failure | timed_out | timed out | action required | action_required | neutral | \
    skipped | success | errored | cancellation | cancelled | canceled | time-out | timeout | \
    dismissed | stale | startup_failure | pending | warnings | queued";

/// Well-known accounts of programs.
pub(crate) const KNOWN_BOTS: &str = "dependabot | renovate | github-actions | copilot | snyk-bot | greenkeeper | mergify | \
    codecov | pre-commit-ci | allcontributors | renovate-bot | dependabot-preview | \
    github-advanced-security | imgbot | sweep-ai";

/// Services that are no source of events here.
pub(crate) const FOREIGN: &str = "jira | gitlab | bitbucket | pagerduty | datadog | grafana | azure devops | azure | shortcut | \
    bugsnag | rollbar | stripe | zendesk | intercom | terraform | kubernetes | k8s | perforce | \
    mercurial | jenkins | circleci | circle ci | travis | travis ci | notion | asana | trello | \
    discord | teams message | teams messages | teams channel | microsoft teams | ms teams | opsgenie | new relic | newrelic | npm | crates.io | \
    pypi | docker hub | dockerhub | confluence | hubspot | salesforce | twilio | aws | s3 | \
    lambda | gcp | cloudflare | vercel | netlify | heroku | figma | airtable | monday.com | \
    clickup | gmail | outlook | twitter | telegram | whatsapp | statuspage | splunk | prometheus | \
    honeycomb | sonarqube | sonarcloud | snyk | codecov | launchdarkly | gitea | gerrit | \
    phabricator | freshdesk | servicenow | buildkite | teamcity | argo | argocd | helm | ansible | \
    pulumi | email | rss | webex | zoom | google calendar | google docs | google doc | google sheet | google sheets | google drive | dropbox | \
    mailchimp | sendgrid | segment | amplitude | mixpanel | pivotal tracker | youtrack | \
    basecamp | redmine | bugzilla | svn | subversion | codeberg | forgejo | sourcehut | nagios | \
    zabbix | cloudwatch | elastic | kibana | logstash | raygun | airbrake | victorops | \
    incident.io | firehydrant | hacker news | reddit | stack overflow | discourse | mattermost | \
    rocket.chat | sms | shopify | paypal | plaid | rubygems | maven central | homebrew | docker | \
    quay | artifactory | launchpad | woodpecker | drone | appveyor | linkedin | facebook | \
    instagram | youtube | twitch | productboard | height | wrike | smartsheet | coda | miro | \
    loom | calendly | freshservice | kafka | rabbitmq | redis | postgres | mysql | mongodb | \
    snowflake | bigquery | dbt | airflow | temporal | merge conflict | merge conflicts";

/// Branches that authors name without the word `branch`.
pub(crate) const KNOWN_BRANCHES: &[&str] = &[
    "main",
    "master",
    "develop",
    "dev",
    "development",
    "trunk",
    "release",
    "next",
    "stable",
    "gh-pages",
    "canary",
    "nightly",
    "beta",
    "alpha",
    "mainline",
    "integration",
    "edge",
];

/// States that Linear's workflows usually have.
pub(crate) const WORKFLOW_STATES: &[&str] = &[
    "in progress",
    "in review",
    "done",
    "todo",
    "to do",
    "backlog",
    "triage",
    "canceled",
    "cancelled",
    "duplicate",
    "completed",
    "started",
    "ready",
    "blocked",
    "in qa",
    "qa",
    "ready to deploy",
    "ready for qa",
    "icebox",
    "planned",
    "deployed",
    "unstarted",
];

/// The sources, and the words for them.
pub(crate) const SOURCES: &[(Source, &str)] = &[
    (Source::Github, "github | gh | github.com"),
    (Source::Linear, "linear"),
    (Source::Slack, "slack"),
    (Source::Sentry, "sentry"),
];
