//! The forms of actions, as templates show them.

use super::{Action, How};

/// The form of one action.
#[derive(Clone, Debug)]
pub(in crate::pages) struct ActionForm {
    /// Where it is sent.
    pub(in crate::pages) path: String,
    /// The text of its button.
    pub(in crate::pages) label: &'static str,
    /// What it does.
    pub(in crate::pages) effect: &'static str,
    /// Whether it ends something.
    pub(in crate::pages) is_ending: bool,
    /// The token of the session.
    pub(in crate::pages) token: String,
    /// Identifies the form, so that it takes effect once.
    pub(in crate::pages) request: String,
    pub(in crate::pages) fields: Vec<ActionField>,
}

/// A field of a form.
#[derive(Clone, Debug)]
pub(in crate::pages) struct ActionField {
    pub(in crate::pages) name: &'static str,
    pub(in crate::pages) label: &'static str,
    pub(in crate::pages) hint: &'static str,
    pub(in crate::pages) most: u32,
    pub(in crate::pages) is_required: bool,
    pub(in crate::pages) value: String,
}

/// A link to the confirmation of an action.
#[derive(Clone, Debug)]
pub(in crate::pages) struct ActionLink {
    pub(in crate::pages) path: String,
    pub(in crate::pages) label: &'static str,
    pub(in crate::pages) is_ending: bool,
}

/// What a page offers.
#[derive(Clone, Debug, Default)]
pub(in crate::pages) struct ActionLinks {
    pub(in crate::pages) links: Vec<ActionLink>,
    pub(in crate::pages) forms: Vec<ActionForm>,
}

impl ActionForm {
    /// Creates the form of an action on the object of a page; `values` are those of a form that was refused.
    pub(super) fn new(
        action: &Action,
        page: &str,
        (token, request): (String, String),
        values: &[(String, String)],
    ) -> Self {
        let value = |name: &str| {
            let found = values.iter().find(|(given, _)| given == name);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let fields = action.inputs.iter().map(|input| ActionField {
            name: input.name,
            label: input.label,
            hint: input.hint,
            most: input.most,
            is_required: input.is_required,
            value: value(input.name),
        });
        Self {
            path: below(page, action.verb),
            label: action.label,
            effect: action.effect,
            is_ending: action.how == How::Ends,
            token,
            request,
            fields: fields.collect(),
        }
    }
}

impl ActionLinks {
    /// Creates what a page offers of some actions.
    pub(super) fn new<'a>(
        actions: impl Iterator<Item = &'a Action>,
        page: &str,
        token: &str,
    ) -> Self {
        let mut acc = Self::default();
        for action in actions {
            if action.how == How::AtOnce {
                let ids = (token.to_owned(), daemon_records::random::hex(12));
                acc.forms.push(ActionForm::new(action, page, ids, &[]));
            } else {
                acc.links.push(ActionLink {
                    path: below(page, action.verb),
                    label: action.label,
                    is_ending: action.how == How::Ends,
                });
            }
        }
        acc
    }

    /// Reports whether a page offers nothing.
    pub(in crate::pages) fn is_empty(&self) -> bool {
        self.links.is_empty() && self.forms.is_empty()
    }
}

/// Returns the path of an action below that of a page, which may have a query.
fn below(page: &str, verb: &str) -> String {
    match page.split_once('?') {
        Some((path, query)) => format!("{path}/{verb}?{query}"),
        None => format!("{page}/{verb}"),
    }
}
