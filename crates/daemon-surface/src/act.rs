//! The stored form of an output that a service's API carries out, and its planning.

use std::fmt;

use daemon_engine::proposal::{Act, FieldKind, FieldRow, OutputTarget, OutputVerb, OwnOutput};
use daemon_engine::{NewOutput, Output, OutputKey, OutputState, SurfaceError, SurfaceErrorKind};
use daemon_event::{ActivationId, DaemonKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::check::check_text;
use crate::git_branch::GIT;
use crate::text::{MAX_TEXT, cut, defused};

const CONTENT_VERSION: u32 = 1;

/// The act that is planned, and what the runner knows about it.
#[derive(Clone)]
pub struct ActPlan<'a> {
    /// The daemon that the activation belongs to.
    pub daemon: &'a DaemonKey,
    /// The activation.
    pub activation: &'a ActivationId,
    /// The place among the outputs of the activation, from 0.
    pub ordinal: u32,
    /// The full name of the branch from which `open_pull_request` opens one: that of the activation's own push.
    pub head: Option<&'a str>,
    /// The remote id of the own earlier output that this one replaces: that of the slot, or the one that `edit_comment` names.
    pub edits: Option<&'a str>,
    /// Reports whether the operator allows a name to be mentioned; the name is without `@`.
    pub may_mention: &'a (dyn Fn(&str) -> bool + Sync),
    /// Reports whether a string contains a secret of the host's configuration. Strings that only look like secrets are
    /// found without it.
    pub is_secret: &'a (dyn Fn(&str) -> bool + Sync),
}

impl fmt::Debug for ActPlan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActPlan")
            .field("daemon", &self.daemon)
            .field("activation", &self.activation)
            .field("ordinal", &self.ordinal)
            .field("head", &self.head)
            .field("edits", &self.edits)
            .finish_non_exhaustive()
    }
}

/// The content of an output's row.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ActContent {
    v: u32,
    proposal: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) edits: Option<String>,
}

/// Plans the output of an admitted act, whose target is resolved: names that may not be mentioned and comments of HTML are
/// made plain text. An act with a secret, or without what its verb needs, becomes a refused output.
pub fn plan_act(act: &Act, plan: &ActPlan<'_>) -> NewOutput {
    let kind = act.target.as_ref().map(OutputTarget::kind);
    let surface = kind.map_or("", |kind| kind.surface());
    let target = act
        .target
        .as_ref()
        .map(OutputTarget::to_string)
        .unwrap_or_default();
    let key = OutputKey::derive(plan.activation, plan.ordinal, surface, &target);
    let refusal = refusal(act, plan);
    let content = match &refusal {
        // A secret is not stored.
        Some(_) => "{}".to_owned(),
        None => {
            let content = ActContent {
                v: CONTENT_VERSION,
                proposal: prepared(act.to_json(), act.verb.row().fields, surface, plan),
                head: plan.head.map(str::to_owned),
                edits: plan.edits.map(str::to_owned),
            };
            content.to_json()
        }
    };
    NewOutput {
        key,
        ordinal: plan.ordinal,
        surface: surface.to_owned(),
        target,
        content,
        revision: None,
        state: match refusal {
            Some(_) => OutputState::Refused,
            None => OutputState::Planned,
        },
        error: refusal,
    }
}

/// Returns the verb of an output; `None` for a row that cannot be read.
pub fn output_verb(output: &Output) -> Option<OutputVerb> {
    match output.surface.as_str() {
        GIT => Some(OutputVerb::PushBranch),
        _ => ActContent::read(output).ok().map(|(_, act)| act.verb),
    }
}

/// Reads what an output did that is on its surface; `None` for branches, and for rows that cannot be read.
pub fn own_output(output: &Output) -> Option<OwnOutput> {
    let remote_id = output.remote_id.clone()?;
    let (content, act) = ActContent::read(output).ok()?;
    let on = act.target.clone()?;
    // An edit has the id of what it edited, which is not the daemon's own.
    let is_new = matches!(
        act.verb,
        OutputVerb::OpenPullRequest | OutputVerb::OpenIssue
    );
    let number = remote_id.split_once(':').filter(|_| is_new);
    let made = number.zip(on.github_repo());
    let made = made.and_then(|((_, number), repo)| format!("github:{repo}#{number}").parse().ok());
    Some(OwnOutput {
        key: output.key.clone(),
        verb: act.verb,
        on,
        made,
        head: content
            .head
            .filter(|_| act.verb == OutputVerb::OpenPullRequest),
        slot: act.fields.text("slot").map(str::to_owned),
        remote_id,
    })
}

/// Returns the slot of an output; `None` if it has none.
pub fn slot(output: &Output) -> Option<String> {
    let (_, act) = ActContent::read(output).ok()?;
    act.fields.text("slot").map(str::to_owned)
}

/// Returns an output that replaces the object with this id of its surface. A row that cannot be read is unchanged.
pub fn replacing(output: &Output, remote_id: &str) -> Output {
    let mut output = output.clone();
    if let Ok((mut content, _)) = ActContent::read(&output) {
        content.edits = Some(remote_id.to_owned());
        output.content = content.to_json();
    }
    output
}

fn refusal(act: &Act, plan: &ActPlan<'_>) -> Option<String> {
    if act.target.is_none() {
        return Some(format!("`{}` needs a target", act.verb));
    }
    if act.verb == OutputVerb::OpenPullRequest && plan.head.is_none() {
        return Some("nothing changed in the worktree, so there is no branch to merge".to_owned());
    }
    if act.verb == OutputVerb::EditComment && plan.edits.is_none() {
        return Some("the comment that it edits is not known".to_owned());
    }
    act.fields.texts().into_iter().find_map(|text| {
        let looks = check_text("the proposal", text)
            .err()
            .map(|refusal| refusal.to_string());
        let is_known = || "the proposal holds what looks like a secret of this host".to_owned();
        looks.or_else(|| (plan.is_secret)(text).then(is_known))
    })
}

/// Returns the proposal with prose that mentions only allowed names and hides nothing.
fn prepared(mut value: Value, rows: &[FieldRow], surface: &str, plan: &ActPlan<'_>) -> Value {
    for row in rows {
        let Some(field) = value.get_mut(row.name) else {
            continue;
        };
        let limit = match row.kind {
            FieldKind::Text => MAX_TEXT,
            FieldKind::Line(most) => most,
            FieldKind::Rows(inner, _) => {
                let list = field.as_array_mut().into_iter().flatten();
                list.for_each(|row| *row = prepared(row.take(), inner, surface, plan));
                continue;
            }
            // Names of labels and people, paths and the like reach only the parameter that they are meant for.
            _ => continue,
        };
        if let Value::String(text) = field {
            *text = cut(&defused(text, surface, plan.may_mention), limit);
        }
    }
    value
}

impl ActContent {
    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("text and numbers are always JSON")
    }

    /// Reads the content of a stored output.
    ///
    /// # Errors
    /// `Refused`: it is of another version, or its target is not that of the row.
    pub(crate) fn read(output: &Output) -> Result<(Self, Act), SurfaceError> {
        let refused = |why: String| SurfaceError::new(SurfaceErrorKind::Refused, why);
        let content: Self = serde_json::from_str(&output.content)
            .map_err(|error| refused(format!("the stored output cannot be read: {error}")))?;
        if content.v != CONTENT_VERSION {
            return Err(refused(format!(
                "the stored output is of version {}",
                content.v
            )));
        }
        let act = Act::of_json(content.proposal.clone())
            .map_err(|error| refused(format!("the stored output cannot be read: {error}")))?;
        let target = act.target.as_ref().map(OutputTarget::to_string);
        // The key is derived from the row's target, so that a changed content cannot go to another place.
        if target.as_deref() != Some(output.target.as_str()) {
            let why = format!("the stored output is not about `{}`", output.target);
            return Err(refused(why));
        }
        Ok((content, act))
    }
}
