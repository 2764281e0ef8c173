//! The part of GraphQL that this service has: the account of a token, and whether a pull request is a draft.

use serde_json::{Value, json};

use super::call::{GithubCall, GithubError};
use super::state::GithubAccess;
use crate::http::HttpResponse;
use crate::linear::graphql::{GraphqlField, parse};

type Answer = Result<HttpResponse, GithubError>;

/// An error of a field: its type and message.
type Refused = (&'static str, String);

/// Carries out a document with one field. Errors have status 200, as in the real service.
pub(crate) fn execute(call: &mut GithubCall<'_>) -> Answer {
    let query = call.text("query")?.unwrap_or_default();
    let variables = match &call.body["variables"] {
        Value::Object(_) => call.body["variables"].clone(),
        _ => json!({}),
    };
    let operation = match parse(&query, &variables) {
        Ok(operation) => operation,
        Err(message) => {
            let body = json!({"errors": [{"message": message}]});
            return Ok(HttpResponse::json(200, &body));
        }
    };
    let Some(field) = operation.fields.first() else {
        let message = "A query attribute must be specified and must be a string.";
        let body = json!({"errors": [{"message": message}]});
        return Ok(HttpResponse::json(200, &body));
    };
    let value = match (operation.root, field.name.as_str()) {
        ("Query", "viewer") => Ok(json!({"login": call.caller.login})),
        ("Mutation", "convertPullRequestToDraft") => set_draft(call, field, true),
        ("Mutation", "markPullRequestReadyForReview") => set_draft(call, field, false),
        (root, name) => Err((
            "undefinedField",
            format!("Field '{name}' doesn't exist on type '{root}'"),
        )),
    };
    let body = match value {
        Ok(value) => json!({"data": {field.alias.as_str(): value}}),
        Err((kind, message)) => json!({
            "data": {field.alias.as_str(): null},
            "errors": [{"type": kind, "path": [field.alias], "message": message}],
        }),
    };
    Ok(HttpResponse::json(200, &body))
}

fn set_draft(
    call: &mut GithubCall<'_>,
    field: &GraphqlField,
    is_draft: bool,
) -> Result<Value, Refused> {
    let id = field
        .arguments
        .get("input")
        .map(|input| &input["pullRequestId"]);
    let id = id.and_then(Value::as_str).unwrap_or_default().to_owned();
    let missing = || {
        let message = format!("Could not resolve to a node with the global id of '{id}'.");
        ("NOT_FOUND", message)
    };
    let mut found = None;
    for (at, repo) in call.state.repos.iter().enumerate() {
        let issue = repo
            .issues
            .iter()
            .find(|issue| issue.pull.is_some() && format!("PR_kw{}", issue.id) == id);
        found = found.or(issue.map(|issue| (at, repo.full_name(), issue.number)));
    }
    let (at, name, number) = found.ok_or_else(missing)?;
    let token = call.request.token().unwrap_or_default();
    let token = call.state.tokens.get(token);
    let may_write = token.is_some_and(|token| {
        let reaches = token.installation.as_ref().is_none_or(|installation| {
            let mut repos = installation.repos.iter();
            repos.any(|repo| repo.eq_ignore_ascii_case(&name))
        });
        reaches && token.access != GithubAccess::Read
    });
    if !may_write {
        let who = &call.caller.login;
        let message = format!("{who} does not have the correct permissions to execute this");
        return Err(("FORBIDDEN", message));
    }
    call.repo_at = Some(at);
    let issue = call
        .issue_mut(number)
        .map_err(|error| ("INTERNAL", error.message))?;
    if let Some(pull) = &mut issue.pull {
        pull.is_draft = is_draft;
    }
    let body = super::pulls::rendered(call, number).map_err(|error| ("INTERNAL", error.message))?;
    let action = match is_draft {
        true => "converted_to_draft",
        false => "ready_for_review",
    };
    call.emit_pull(action, &body, json!({}));
    Ok(json!({"pullRequest": {"isDraft": is_draft}}))
}
