//! GitHub: security alerts, advisories and security settings.

use super::Noun as N;
use super::Verb as V;
use super::github::{COMMON, kind};
use super::{EventKind, at, plain, row};
use crate::field::Field as F;

pub(super) static KINDS: &[&EventKind] = &[
    &kind(
        "dependabot_alert",
        &["action", "alert"],
        &[
            COMMON,
            &[
                at("alert.number", F::Number),
                at("alert.state", F::State),
                at("alert.security_advisory.severity", F::Severity),
                at("alert.security_advisory.summary", F::Title),
                at("alert.dependency.package.name", F::Name),
            ],
        ],
        &["alert.updated_at"],
        &[
            row(
                "created",
                N::DependabotAlert,
                &[V::Create, V::Fire, V::Add, V::Post],
                &[],
            ),
            row(
                "fixed",
                N::DependabotAlert,
                &[V::Fix, V::Resolve, V::Close],
                &[],
            ),
            row("dismissed", N::DependabotAlert, &[V::Dismiss], &[]),
            row("reopened", N::DependabotAlert, &[V::Reopen], &[]),
            row("reintroduced", N::DependabotAlert, &[V::Regress], &[]),
            row(
                "created",
                N::SecurityAlert,
                &[V::Create, V::Fire, V::Add],
                &[],
            ),
            row("auto_dismissed", N::DependabotAlert, &[V::Dismiss], &[]),
            row("auto_reopened", N::DependabotAlert, &[V::Reopen], &[]),
            row(
                "assignees_changed",
                N::DependabotAlert,
                &[V::Assign, V::Reassign],
                &[],
            ),
            row("dismissed", N::SecurityAlert, &[V::Dismiss], &[]),
            row(
                "fixed",
                N::SecurityAlert,
                &[V::Fix, V::Resolve, V::Close],
                &[],
            ),
            row("reopened", N::SecurityAlert, &[V::Reopen], &[]),
        ],
    ),
    &kind(
        "secret_scanning_alert",
        &["action", "alert"],
        &[
            COMMON,
            &[
                at("alert.number", F::Number),
                at("alert.secret_type", F::Name),
                at("alert.resolution", F::StateReason),
            ],
        ],
        &["alert.updated_at"],
        &[
            row(
                "created",
                N::SecretAlert,
                &[V::Create, V::Fire, V::Add, V::Post],
                &[],
            ),
            row(
                "resolved",
                N::SecretAlert,
                &[V::Resolve, V::Fix, V::Close, V::Dismiss],
                &[],
            ),
            row("reopened", N::SecretAlert, &[V::Reopen], &[]),
            row(
                "created",
                N::SecurityAlert,
                &[V::Create, V::Fire, V::Add],
                &[],
            ),
            row("publicly_leaked", N::SecretAlert, &[V::Leak], &[]),
            row("validated", N::SecretAlert, &[V::Validate], &[]),
            row("assigned", N::SecretAlert, &[V::Assign], &[]),
            row("unassigned", N::SecretAlert, &[V::Unassign], &[]),
            row(
                "resolved",
                N::SecurityAlert,
                &[V::Fix, V::Resolve, V::Close],
                &[],
            ),
            row("reopened", N::SecurityAlert, &[V::Reopen], &[]),
        ],
    ),
    &kind(
        "code_scanning_alert",
        &["action", "alert"],
        &[
            COMMON,
            &[
                at("alert.number", F::Number),
                at("alert.state", F::State),
                at("alert.rule.severity", F::Severity),
                at("alert.rule.security_severity_level", F::Severity),
                at("alert.rule.description", F::Title),
                at("alert.tool.name", F::Name),
                at("ref", F::Ref),
            ],
        ],
        &["alert.updated_at"],
        &[
            row(
                "created",
                N::CodeScanningAlert,
                &[V::Create, V::Fire, V::Add, V::Post],
                &[],
            ),
            row(
                "fixed",
                N::CodeScanningAlert,
                &[V::Fix, V::Resolve, V::Close],
                &[],
            ),
            row("reopened", N::CodeScanningAlert, &[V::Reopen], &[]),
            row("closed_by_user", N::CodeScanningAlert, &[V::Dismiss], &[]),
            row(
                "created",
                N::SecurityAlert,
                &[V::Create, V::Fire, V::Add],
                &[],
            ),
            row("reopened_by_user", N::CodeScanningAlert, &[V::Reopen], &[]),
            row(
                "appeared_in_branch",
                N::CodeScanningAlert,
                &[V::AppearInBranch],
                &[],
            ),
            row(
                "updated_assignment",
                N::CodeScanningAlert,
                &[V::Assign, V::Reassign],
                &[],
            ),
            row("closed_by_user", N::CodeScanningAlert, &[V::Close], &[]),
            row("closed_by_user", N::SecurityAlert, &[V::Dismiss], &[]),
            row(
                "fixed",
                N::SecurityAlert,
                &[V::Fix, V::Resolve, V::Close],
                &[],
            ),
            row("reopened", N::SecurityAlert, &[V::Reopen], &[]),
        ],
    ),
    &kind(
        "repository_vulnerability_alert",
        &["action", "alert"],
        &[
            COMMON,
            &[
                at("alert.number", F::Number),
                at("alert.affected_package_name", F::Name),
                at("alert.severity", F::Severity),
                at("alert.state", F::State),
            ],
        ],
        &["alert.created_at"],
        &[
            row(
                "create",
                N::VulnerabilityAlert,
                &[V::Create, V::Fire, V::Add],
                &[],
            ),
            row(
                "resolve",
                N::VulnerabilityAlert,
                &[V::Resolve, V::Fix, V::Close],
                &[],
            ),
            row("dismiss", N::VulnerabilityAlert, &[V::Dismiss], &[]),
            row("reopen", N::VulnerabilityAlert, &[V::Reopen], &[]),
        ],
    ),
    &kind(
        "secret_scanning_alert_location",
        &["alert", "location"],
        &[
            COMMON,
            &[
                at("alert.number", F::Number),
                at("alert.secret_type", F::Name),
                at("location.details.path", F::ChangedFiles),
                at("location.type", F::Subtype),
            ],
        ],
        &[],
        &[row("created", N::SecretLocation, &[V::Create, V::Add], &[])],
    ),
    &kind(
        "secret_scanning_scan",
        &["action"],
        &[COMMON, &[at("type", F::Subtype), at("source", F::Name)]],
        &["completed_at"],
        &[row(
            "completed",
            N::SecretScan,
            &[V::Complete, V::Succeed],
            &[],
        )],
    ),
    &kind(
        "security_advisory",
        &["action", "security_advisory"],
        &[
            COMMON,
            &[
                at("security_advisory.ghsa_id", F::Key),
                at("security_advisory.summary", F::Title),
                at("security_advisory.description", F::Body),
                at("security_advisory.severity", F::Severity),
                at("security_advisory.vulnerabilities[].package.name", F::Name),
            ],
        ],
        &["security_advisory.updated_at"],
        &[
            row(
                "published",
                N::SecurityAdvisory,
                &[V::Publish, V::Create],
                &[],
            ),
            row(
                "updated",
                N::SecurityAdvisory,
                &[V::Update, V::Change, V::Edit],
                &[],
            ),
            row("withdrawn", N::SecurityAdvisory, &[V::Withdraw], &[]),
        ],
    ),
    &kind(
        "repository_advisory",
        &["action", "repository_advisory"],
        &[
            COMMON,
            &[
                at("repository_advisory.ghsa_id", F::Key),
                at("repository_advisory.summary", F::Title),
                at("repository_advisory.description", F::Body),
                at("repository_advisory.severity", F::Severity),
                at(
                    "repository_advisory.vulnerabilities[].package.name",
                    F::Name,
                ),
                at("repository_advisory.author.login", F::Author),
            ],
        ],
        &["repository_advisory.updated_at"],
        &[
            row("published", N::RepositoryAdvisory, &[V::Publish], &[]),
            row("reported", N::RepositoryAdvisory, &[V::Create], &[]),
            row(
                "reported",
                N::VulnerabilityReport,
                &[V::Create, V::Post],
                &[],
            ),
        ],
    ),
    &kind(
        "security_and_analysis",
        &["changes"],
        &[
            COMMON,
            &[at("changes.from.security_and_analysis.*", F::Changed)],
        ],
        &[],
        &[plain(
            N::SecuritySetting,
            &[V::Change, V::Update, V::Edit, V::Enable, V::Disable],
            &[],
        )],
    ),
    &kind(
        "branch_protection_rule",
        &["action", "rule"],
        &[
            COMMON,
            &[at("rule.name", F::Name), at("changes.*", F::Changed)],
        ],
        &["rule.updated_at"],
        &[
            row("created", N::BranchProtection, &[V::Create, V::Add], &[]),
            row(
                "edited",
                N::BranchProtection,
                &[V::Edit, V::Update, V::Change],
                &[],
            ),
            row("deleted", N::BranchProtection, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "branch_protection_configuration",
        &["action"],
        &[COMMON],
        &[],
        &[
            row("enabled", N::BranchProtection, &[V::Enable], &[]),
            row("disabled", N::BranchProtection, &[V::Disable], &[]),
        ],
    ),
    &kind(
        "repository_ruleset",
        &["action", "repository_ruleset"],
        &[
            COMMON,
            &[
                at("repository_ruleset.name", F::Name),
                at("repository_ruleset.enforcement", F::State),
                at("changes.*", F::Changed),
            ],
        ],
        &["repository_ruleset.updated_at"],
        &[
            row("created", N::Ruleset, &[V::Create, V::Add], &[]),
            row("edited", N::Ruleset, &[V::Edit, V::Update, V::Change], &[]),
            row("deleted", N::Ruleset, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "deploy_key",
        &["action", "key"],
        &[COMMON, &[at("key.title", F::Name)]],
        &["key.created_at"],
        &[
            row("created", N::DeployKey, &[V::Create, V::Add], &[]),
            row("deleted", N::DeployKey, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "personal_access_token_request",
        &["action", "personal_access_token_request"],
        &[
            COMMON,
            &[
                at("personal_access_token_request.owner.login", F::Author),
                at("personal_access_token_request.token_name", F::Name),
            ],
        ],
        &["personal_access_token_request.created_at"],
        &[
            row("created", N::TokenRequest, &[V::Create, V::Post], &[]),
            row("approved", N::TokenRequest, &[V::Approve, V::Accept], &[]),
            row("denied", N::TokenRequest, &[V::Reject], &[]),
            row("cancelled", N::TokenRequest, &[V::Cancel, V::Withdraw], &[]),
        ],
    ),
];
