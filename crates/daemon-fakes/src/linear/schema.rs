//! The part of Linear's schema that the fake has.

/// A field: type, name, the type of its value, the names of its arguments.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const NONE: &[&str] = &[];
const LIST: &[&str] = &["filter", "first", "after", "orderBy", "includeArchived"];

const FIELDS: &[Row] = &[
    ("Query", "viewer", "User", NONE),
    ("Query", "user", "User", &["id"]),
    ("Query", "users", "UserConnection", LIST),
    ("Query", "issue", "Issue", &["id"]),
    ("Query", "issues", "IssueConnection", LIST),
    ("Query", "comment", "Comment", &["id"]),
    ("Query", "comments", "CommentConnection", LIST),
    ("Query", "workflowStates", "WorkflowStateConnection", LIST),
    ("Query", "issueLabels", "IssueLabelConnection", LIST),
    ("Query", "teams", "TeamConnection", LIST),
    ("Mutation", "commentCreate", "CommentPayload", &["input"]),
    (
        "Mutation",
        "commentUpdate",
        "CommentPayload",
        &["id", "input"],
    ),
    ("Mutation", "issueUpdate", "IssuePayload", &["id", "input"]),
    ("CommentPayload", "success", "", NONE),
    ("CommentPayload", "lastSyncId", "", NONE),
    ("CommentPayload", "comment", "Comment", NONE),
    ("IssuePayload", "success", "", NONE),
    ("IssuePayload", "lastSyncId", "", NONE),
    ("IssuePayload", "issue", "Issue", NONE),
    ("User", "id", "", NONE),
    ("User", "name", "", NONE),
    ("User", "displayName", "", NONE),
    ("User", "email", "", NONE),
    ("User", "active", "", NONE),
    ("User", "app", "", NONE),
    ("User", "url", "", NONE),
    ("Team", "id", "", NONE),
    ("Team", "key", "", NONE),
    ("Team", "name", "", NONE),
    ("WorkflowState", "id", "", NONE),
    ("WorkflowState", "name", "", NONE),
    ("WorkflowState", "type", "", NONE),
    ("WorkflowState", "team", "Team", NONE),
    ("IssueLabel", "id", "", NONE),
    ("IssueLabel", "name", "", NONE),
    ("Issue", "id", "", NONE),
    ("Issue", "identifier", "", NONE),
    ("Issue", "number", "", NONE),
    ("Issue", "title", "", NONE),
    ("Issue", "description", "", NONE),
    ("Issue", "priority", "", NONE),
    ("Issue", "url", "", NONE),
    ("Issue", "createdAt", "", NONE),
    ("Issue", "updatedAt", "", NONE),
    ("Issue", "team", "Team", NONE),
    ("Issue", "state", "WorkflowState", NONE),
    ("Issue", "assignee", "User", NONE),
    ("Issue", "creator", "User", NONE),
    ("Issue", "labels", "IssueLabelConnection", LIST),
    ("Issue", "comments", "CommentConnection", LIST),
    ("Issue", "estimate", "", NONE),
    ("Issue", "dueDate", "", NONE),
    ("Issue", "archivedAt", "", NONE),
    ("Issue", "project", "Project", NONE),
    ("Issue", "cycle", "Cycle", NONE),
    ("Issue", "botActor", "ActorBot", NONE),
    (
        "Issue",
        "history",
        "IssueHistoryConnection",
        &["first", "after", "orderBy", "includeArchived"],
    ),
    ("IssueHistory", "id", "", NONE),
    ("IssueHistory", "createdAt", "", NONE),
    ("IssueHistory", "updatedAt", "", NONE),
    ("IssueHistory", "actor", "User", NONE),
    ("IssueHistory", "botActor", "ActorBot", NONE),
    ("IssueHistory", "updatedDescription", "", NONE),
    ("IssueHistory", "fromTitle", "", NONE),
    ("IssueHistory", "toTitle", "", NONE),
    ("IssueHistory", "fromPriority", "", NONE),
    ("IssueHistory", "toPriority", "", NONE),
    ("IssueHistory", "fromEstimate", "", NONE),
    ("IssueHistory", "toEstimate", "", NONE),
    ("IssueHistory", "fromDueDate", "", NONE),
    ("IssueHistory", "toDueDate", "", NONE),
    ("IssueHistory", "fromState", "WorkflowState", NONE),
    ("IssueHistory", "toState", "WorkflowState", NONE),
    ("IssueHistory", "fromAssignee", "User", NONE),
    ("IssueHistory", "toAssignee", "User", NONE),
    ("IssueHistory", "fromTeam", "Team", NONE),
    ("IssueHistory", "toTeam", "Team", NONE),
    ("IssueHistory", "fromProject", "Project", NONE),
    ("IssueHistory", "toProject", "Project", NONE),
    ("IssueHistory", "fromCycle", "Cycle", NONE),
    ("IssueHistory", "toCycle", "Cycle", NONE),
    ("IssueHistory", "addedLabels", "IssueLabel", NONE),
    ("IssueHistory", "removedLabels", "IssueLabel", NONE),
    ("Project", "id", "", NONE),
    ("Project", "name", "", NONE),
    ("Cycle", "id", "", NONE),
    ("Cycle", "name", "", NONE),
    ("Cycle", "number", "", NONE),
    ("ActorBot", "id", "", NONE),
    ("ActorBot", "name", "", NONE),
    ("ActorBot", "type", "", NONE),
    ("Comment", "editedAt", "", NONE),
    ("Comment", "resolvedAt", "", NONE),
    ("Comment", "parent", "Comment", NONE),
    ("Comment", "botActor", "ActorBot", NONE),
    ("Comment", "id", "", NONE),
    ("Comment", "body", "", NONE),
    ("Comment", "url", "", NONE),
    ("Comment", "createdAt", "", NONE),
    ("Comment", "updatedAt", "", NONE),
    ("Comment", "issue", "Issue", NONE),
    ("Comment", "user", "User", NONE),
    ("PageInfo", "hasNextPage", "", NONE),
    ("PageInfo", "hasPreviousPage", "", NONE),
    ("PageInfo", "startCursor", "", NONE),
    ("PageInfo", "endCursor", "", NONE),
];

/// The fields of an input: type, name.
const INPUTS: &[(&str, &str)] = &[
    ("CommentCreateInput", "id"),
    ("CommentCreateInput", "issueId"),
    ("CommentCreateInput", "body"),
    ("CommentUpdateInput", "body"),
    ("IssueUpdateInput", "title"),
    ("IssueUpdateInput", "description"),
    ("IssueUpdateInput", "priority"),
    ("IssueUpdateInput", "assigneeId"),
    ("IssueUpdateInput", "stateId"),
    ("IssueUpdateInput", "labelIds"),
    ("IssueUpdateInput", "addedLabelIds"),
    ("IssueUpdateInput", "removedLabelIds"),
];

/// Returns the type of a field, empty for a scalar, and its arguments.
pub(crate) fn field(of: &str, name: &str) -> Option<(&'static str, &'static [&'static str])> {
    // A connection is the same for every type.
    if let Some(item) = of.strip_suffix("Connection") {
        return match name {
            "pageInfo" => Some(("PageInfo", NONE)),
            "nodes" => {
                let mut types = FIELDS.iter().map(|(of, ..)| *of);
                types.find(|of| *of == item).map(|of| (of, NONE))
            }
            _ => None,
        };
    }
    let mut rows = FIELDS.iter();
    let row = rows.find(|(row_of, row_name, ..)| *row_of == of && *row_name == name);
    row.map(|(_, _, type_name, arguments)| (*type_name, *arguments))
}

/// Returns whether an input has a field.
pub(crate) fn is_input(of: &str, name: &str) -> bool {
    INPUTS.contains(&(of, name))
}

/// Returns the fields of a type and their types.
#[cfg(test)]
pub(crate) fn fields_of(of: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = FIELDS.iter().filter(move |(row_of, ..)| *row_of == of);
    rows.map(|(_, name, type_name, _)| (*name, *type_name))
}
