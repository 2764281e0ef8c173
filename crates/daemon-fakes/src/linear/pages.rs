//! Pages of issues.

use std::fmt::Write as _;

use super::state::{LinearIssue, LinearState};
use crate::clock::to_seconds_text;
use crate::html::{badges, document, entry, escape, markdown};
use crate::http::decode;

const PRIORITIES: [&str; 5] = ["No priority", "Urgent", "High", "Medium", "Low"];

/// Returns the page at a path; `None` if the path names nothing.
pub(crate) fn page(state: &LinearState, path: &str) -> Option<String> {
    match path.strip_prefix("/linear") {
        None if path == "/" => Some(list(state)),
        None => None,
        Some("" | "/") => Some(list(state)),
        Some(rest) => Some(issue(state, state.issue(&decode(rest.strip_prefix('/')?))?)),
    }
}

fn list(state: &LinearState) -> String {
    let row = |issue: &LinearIssue| {
        let identifier = escape(&state.identifier(issue));
        format!(
            "<li><span class=quiet>{identifier}</span> <a href=\"/linear/{identifier}\">{}</a> {}</li>",
            escape(&issue.title),
            badges("state", [&state.name_of(&issue.state)])
        )
    };
    let rows: String = state.issues.iter().rev().map(row).collect();
    document(
        "linear",
        &state.team,
        &format!("<h1>{}</h1><ul>{rows}</ul>", escape(&state.team)),
    )
}

fn issue(state: &LinearState, issue: &LinearIssue) -> String {
    let identifier = state.identifier(issue);
    let name = |id: &String| {
        let user = state.users.iter().find(|user| user.id == *id);
        user.map_or_else(String::new, |user| user.name.clone())
    };
    let priority = usize::try_from(issue.priority)
        .ok()
        .and_then(|at| PRIORITIES.get(at));
    let labels: Vec<String> = issue.labels.iter().map(|id| state.name_of(id)).collect();
    let mut acc = format!(
        "<p class=quiet><a href=\"/linear\">{}</a> {}</p><h1>{}</h1><p>{}{}{}{}</p>",
        escape(&state.team),
        escape(&identifier),
        escape(&issue.title),
        badges("state", [&state.name_of(&issue.state)]),
        badges("priority", [&(*priority.unwrap_or(&"")).to_owned()]),
        badges("assignee", issue.assignee.as_ref().map(name).iter()),
        badges("label", &labels)
    );
    acc.push_str(&markdown(&issue.description));
    acc.push_str("<h2>Activity</h2>");
    for comment in state.comments.iter().filter(|it| it.issue == issue.id) {
        let time = to_seconds_text(comment.created_at).replace('T', " ");
        let html = entry(&name(&comment.user), "", &time, &markdown(&comment.body));
        write!(acc, "<a id=\"comment-{}\"></a>{html}", escape(&comment.id))
            .expect("writing to a string cannot fail");
    }
    document("linear", &format!("{identifier} {}", issue.title), &acc)
}

impl LinearState {
    /// Returns the name of a state or a label.
    fn name_of(&self, id: &str) -> String {
        let all = self.states.iter().chain(&self.labels);
        let mut found = all.filter(|it| it.id == id);
        found.next().map_or_else(String::new, |it| it.name.clone())
    }
}
