//! GitHub: security alerts, advisories and security settings.

use super::EventKind;
use super::github::{COMMON, kind};

pub(super) static KINDS: &[&EventKind] = kinds! {
    "dependabot_alert" ["action", "alert"] at ["alert.updated_at"]
    reads [COMMON] {
        "alert.number" Number,
        "alert.state" State,
        "alert.security_advisory.severity" Severity,
        "alert.security_advisory.summary" Title,
        "alert.dependency.package.name" Name,
    }
    rows {
        row "created": DependabotAlert [Create Fire Add Post];
        row "fixed": DependabotAlert [Fix Resolve Close];
        row "dismissed": DependabotAlert [Dismiss];
        row "reopened": DependabotAlert [Reopen];
        row "reintroduced": DependabotAlert [Regress];
        row "created": SecurityAlert [Create Fire Add];
        row "auto_dismissed": DependabotAlert [Dismiss];
        row "auto_reopened": DependabotAlert [Reopen];
        row "assignees_changed": DependabotAlert [Assign Reassign];
        row "dismissed": SecurityAlert [Dismiss];
        row "fixed": SecurityAlert [Fix Resolve Close];
        row "reopened": SecurityAlert [Reopen];
    }

    "secret_scanning_alert" ["action", "alert"] at ["alert.updated_at"]
    reads [COMMON] {
        "alert.number" Number,
        "alert.secret_type" Name,
        "alert.resolution" StateReason,
    }
    rows {
        row "created": SecretAlert [Create Fire Add Post];
        row "resolved": SecretAlert [Resolve Fix Close Dismiss];
        row "reopened": SecretAlert [Reopen];
        row "created": SecurityAlert [Create Fire Add];
        row "publicly_leaked": SecretAlert [Leak];
        row "validated": SecretAlert [Validate];
        row "assigned": SecretAlert [Assign];
        row "unassigned": SecretAlert [Unassign];
        row "resolved": SecurityAlert [Fix Resolve Close];
        row "reopened": SecurityAlert [Reopen];
    }

    "code_scanning_alert" ["action", "alert"] at ["alert.updated_at"]
    reads [COMMON] {
        "alert.number" Number,
        "alert.state" State,
        "alert.rule.severity" Severity,
        "alert.rule.security_severity_level" Severity,
        "alert.rule.description" Title,
        "alert.tool.name" Name,
        "ref" Ref,
    }
    rows {
        row "created": CodeScanningAlert [Create Fire Add Post];
        row "fixed": CodeScanningAlert [Fix Resolve Close];
        row "reopened": CodeScanningAlert [Reopen];
        row "closed_by_user": CodeScanningAlert [Dismiss];
        row "created": SecurityAlert [Create Fire Add];
        row "reopened_by_user": CodeScanningAlert [Reopen];
        row "appeared_in_branch": CodeScanningAlert [AppearInBranch];
        row "updated_assignment": CodeScanningAlert [Assign Reassign];
        row "closed_by_user": CodeScanningAlert [Close];
        row "closed_by_user": SecurityAlert [Dismiss];
        row "fixed": SecurityAlert [Fix Resolve Close];
        row "reopened": SecurityAlert [Reopen];
    }

    "repository_vulnerability_alert" ["action", "alert"] at ["alert.created_at"]
    reads [COMMON] {
        "alert.number" Number,
        "alert.affected_package_name" Name,
        "alert.severity" Severity,
        "alert.state" State,
    }
    rows {
        row "create": VulnerabilityAlert [Create Fire Add];
        row "resolve": VulnerabilityAlert [Resolve Fix Close];
        row "dismiss": VulnerabilityAlert [Dismiss];
        row "reopen": VulnerabilityAlert [Reopen];
    }

    "secret_scanning_alert_location" ["alert", "location"] at []
    reads [COMMON] {
        "alert.number" Number,
        "alert.secret_type" Name,
        "location.details.path" ChangedFiles,
        "location.type" Subtype,
    }
    rows {
        row "created": SecretLocation [Create Add];
    }

    "secret_scanning_scan" ["action"] at ["completed_at"]
    reads [COMMON] {
        "type" Subtype,
        "source" Name,
    }
    rows {
        row "completed": SecretScan [Complete Succeed];
    }

    "security_advisory" ["action", "security_advisory"] at ["security_advisory.updated_at"]
    reads [COMMON] {
        "security_advisory.ghsa_id" Key,
        "security_advisory.summary" Title,
        "security_advisory.description" Body,
        "security_advisory.severity" Severity,
        "security_advisory.vulnerabilities[].package.name" Name,
    }
    rows {
        row "published": SecurityAdvisory [Publish Create];
        row "updated": SecurityAdvisory [Update Change Edit];
        row "withdrawn": SecurityAdvisory [Withdraw];
    }

    "repository_advisory" ["action", "repository_advisory"] at ["repository_advisory.updated_at"]
    reads [COMMON] {
        "repository_advisory.ghsa_id" Key,
        "repository_advisory.summary" Title,
        "repository_advisory.description" Body,
        "repository_advisory.severity" Severity,
        "repository_advisory.vulnerabilities[].package.name" Name,
        "repository_advisory.author.login" Author,
    }
    rows {
        row "published": RepositoryAdvisory [Publish];
        row "reported": RepositoryAdvisory [Create];
        row "reported": VulnerabilityReport [Create Post];
    }

    "security_and_analysis" ["changes"] at []
    reads [COMMON] {
        "changes.from.security_and_analysis.*" Changed,
    }
    rows {
        plain: SecuritySetting [Change Update Edit Enable Disable];
    }

    "branch_protection_rule" ["action", "rule"] at ["rule.updated_at"]
    reads [COMMON] {
        "rule.name" Name,
        "changes.*" Changed,
    }
    rows {
        row "created": BranchProtection [Create Add];
        row "edited": BranchProtection [Edit Update Change];
        row "deleted": BranchProtection [Delete Remove];
    }

    "branch_protection_configuration" ["action"] at []
    reads [COMMON]
    rows {
        row "enabled": BranchProtection [Enable];
        row "disabled": BranchProtection [Disable];
    }

    "repository_ruleset" ["action", "repository_ruleset"] at ["repository_ruleset.updated_at"]
    reads [COMMON] {
        "repository_ruleset.name" Name,
        "repository_ruleset.enforcement" State,
        "changes.*" Changed,
    }
    rows {
        row "created": Ruleset [Create Add];
        row "edited": Ruleset [Edit Update Change];
        row "deleted": Ruleset [Delete Remove];
    }

    "deploy_key" ["action", "key"] at ["key.created_at"]
    reads [COMMON] {
        "key.title" Name,
    }
    rows {
        row "created": DeployKey [Create Add];
        row "deleted": DeployKey [Delete Remove];
    }

    "personal_access_token_request" ["action", "personal_access_token_request"] at ["personal_access_token_request.created_at"]
    reads [COMMON] {
        "personal_access_token_request.owner.login" Author,
        "personal_access_token_request.token_name" Name,
    }
    rows {
        row "created": TokenRequest [Create Post];
        row "approved": TokenRequest [Approve Accept];
        row "denied": TokenRequest [Reject];
        row "cancelled": TokenRequest [Cancel Withdraw];
    }
};
