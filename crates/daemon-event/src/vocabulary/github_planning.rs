//! GitHub: projects, relations between issues.

use super::EventKind;
use super::github::{COMMON, kind};

pub(super) static KINDS: &[&EventKind] = kinds! {
    "projects_v2_item" ["action", "projects_v2_item"] at ["projects_v2_item.updated_at"]
    reads [COMMON] {
        "changes.*" Changed,
    }
    rows {
        row "created": ProjectItem [Create Add];
        row "edited": ProjectItem [Edit Update Change Move];
        row "archived": ProjectItem [Archive];
        row "deleted": ProjectItem [Delete Remove];
        row "restored": ProjectItem [Unarchive];
        row "converted": ProjectItem [Convert];
        row "reordered": ProjectItem [Reorder];
    }

    "projects_v2" ["action", "projects_v2"] at ["projects_v2.updated_at"]
    reads [COMMON] {
        "projects_v2.title" Title,
        "projects_v2.number" Number,
        "projects_v2.description" Body,
        "projects_v2.creator.login" Author,
        "changes.*" Changed,
    }
    rows {
        row "created": GithubProject [Create Add];
        row "edited": GithubProject [Edit Update Change Rename];
        row "closed": GithubProject [Close Complete];
        row "reopened": GithubProject [Reopen];
        row "deleted": GithubProject [Delete Remove];
    }

    "projects_v2_status_update" ["action", "projects_v2_status_update"] at ["projects_v2_status_update.updated_at"]
    reads [COMMON] {
        "projects_v2_status_update.body" Body,
        "projects_v2_status_update.status" Health,
        "projects_v2_status_update.creator.login" Author,
        "changes.*" Changed,
    }
    rows {
        row "created": ProjectStatusUpdate [Create Post Add Publish];
        row "edited": ProjectStatusUpdate [Edit Update Change];
        row "deleted": ProjectStatusUpdate [Delete Remove];
    }

    "project" ["action", "project"] at ["project.updated_at"]
    reads [COMMON] {
        "project.name" Title,
        "project.number" Number,
        "project.body" Body,
        "project.state" State,
        "project.creator.login" Author,
    }
    rows {
        row "created": ClassicProject [Create Add];
        row "edited": ClassicProject [Edit Update Change Rename];
        row "closed": ClassicProject [Close Complete];
        row "reopened": ClassicProject [Reopen];
        row "deleted": ClassicProject [Delete Remove];
    }

    "project_card" ["action", "project_card"] at ["project_card.updated_at"]
    reads [COMMON] {
        "project_card.note" Body,
        "project_card.creator.login" Author,
    }
    rows {
        row "created": ProjectCard [Create Add];
        row "edited": ProjectCard [Edit Update Change];
        row "moved": ProjectCard [Move Reorder];
        row "converted": ProjectCard [Convert];
        row "deleted": ProjectCard [Delete Remove];
    }

    "project_column" ["action", "project_column"] at ["project_column.updated_at"]
    reads [COMMON] {
        "project_column.name" Name,
    }
    rows {
        row "created": ProjectColumn [Create Add];
        row "edited": ProjectColumn [Edit Update Change Rename];
        row "moved": ProjectColumn [Move Reorder];
        row "deleted": ProjectColumn [Delete Remove];
    }

    "sub_issues" ["action"] at []
    reads [COMMON] {
        "sub_issue.number" Number,
        "sub_issue.title" Title,
        "sub_issue.state" State,
        "sub_issue.labels[].name" Labels,
        "sub_issue.user.login" Author,
    }
    rows {
        row "sub_issue_added": SubIssue [Add Create];
        row "sub_issue_removed": SubIssue [Remove Delete];
        row "parent_issue_added": ParentIssue [Add Create];
        row "parent_issue_removed": ParentIssue [Remove Delete];
    }

    "issue_dependencies" ["action"] at []
    reads [COMMON] {
        "blocked_issue.number" Number,
        "blocked_issue.title" Title,
        "blocked_issue.state" State,
    }
    rows {
        row "blocked_by_added": BlockedBy [Add Create];
        row "blocked_by_removed": BlockedBy [Remove Delete];
        row "blocking_added": Blocking [Add Create];
        row "blocking_removed": Blocking [Remove Delete];
        row "blocked_by_added": Issue [Block];
        row "blocked_by_removed": Issue [Unblock];
        row "blocked_by_added": IssueDependency [Add Create];
        row "blocked_by_removed": IssueDependency [Remove Delete];
    }
};
