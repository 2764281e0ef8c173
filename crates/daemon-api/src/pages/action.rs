//! What can be done from a page: each action is one operation, sent by a form that only the host's own pages have.
//!
//! `GET` on the path of an action shows what it affects and asks for a confirmation. `POST` performs the operation, and sends the
//! browser to a page that shows the result. Sending a form twice performs it once.

mod form;
mod sent;
mod table;

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::get;
use daemon_records::error::{OpError, OpErrorKind};
use daemon_records::random;
use serde_json::{Map, Value};

use super::frame::{self, Frame, page};
use super::login;
use crate::http::AppState;
use crate::ops::{Operation, Params};
use daemon_view::text::{encoded, short, visible};
use daemon_view::{PageCell, PageColumn};

pub(super) use form::{ActionForm, ActionLinks};
pub(super) use sent::{FORM_BYTES, SentForm, form_token, is_read_only, refused_form};
pub(super) use table::{
    ACTIVATION_ACTIONS, DAEMON_ACTIONS, EVENT_ACTIONS, ROSTER_ACTIONS, RUN_ACTIONS,
};

/// What a page is about, and what can be done with it.
pub(super) struct Subject {
    /// The route of its page, with `{id}`.
    pub(super) route: &'static str,
    /// The entry of the navigation.
    pub(super) place: &'static str,
    /// The operation that reads it.
    pub(super) operation: Operation,
    /// The word for such an object.
    pub(super) noun: &'static str,
    /// The member of the result with the object; empty if the result is the object.
    pub(super) member: &'static str,
    /// The JSON pointer of its name in the result; empty for the id.
    pub(super) headline: &'static str,
    /// What a confirmation shows of the object.
    pub(super) summary: &'static [PageColumn],
    pub(super) actions: &'static [Action],
}

/// One thing that can be done.
pub(super) struct Action {
    /// The last part of its path.
    verb: &'static str,
    /// The text of its button.
    label: &'static str,
    /// What it does, in a sentence.
    effect: &'static str,
    /// What has happened after it, in a sentence.
    done: &'static str,
    operation: Operation,
    /// The parameter that names what it is done with, and the JSON pointer of the value in the result of the subject.
    of: (&'static str, &'static str),
    /// Parameters that are always the same.
    fixed: &'static [(&'static str, &'static str)],
    inputs: &'static [Input],
    how: How,
    /// The path and the JSON pointer of the page with the result, in the answer of the operation.
    leads_to: Option<(&'static str, &'static str)>,
    /// Whether the state of the object allows it: of the object and of the whole result.
    is_possible: fn(&Value, &Value) -> bool,
}

/// How an action is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// By a form on the page itself: it ends nothing and can be taken back.
    AtOnce,
    /// By a link to its confirmation.
    Confirmed,
    /// As [`How::Confirmed`], and it ends something.
    Ends,
}

/// A field that a person fills in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    name: &'static str,
    label: &'static str,
    hint: &'static str,
    most: u32,
    is_required: bool,
}

/// The page that asks for a confirmation.
#[derive(Template)]
#[template(path = "action.html")]
struct Confirmation {
    frame: Frame,
    headline: String,
    problem: Option<(String, Option<String>)>,
    facts: Vec<PageCell>,
    form: ActionForm,
    back: String,
}

/// An action on one object, as a request names it.
struct Wanted<'a> {
    subject: &'static Subject,
    action: &'static Action,
    id: &'a str,
    query: &'a [(String, String)],
}

/// Builds the routes of the actions of a subject.
pub(super) fn router(subject: &'static Subject) -> Router<Arc<AppState>> {
    subject
        .actions
        .iter()
        .fold(Router::new(), |router, action| {
            let ask = move |state: State<Arc<AppState>>,
                            path: Result<Path<String>, PathRejection>,
                            query: Query<Vec<(String, String)>>,
                            headers: HeaderMap| {
                ask((subject, action), state, path, (query, headers))
            };
            let act = move |state: State<Arc<AppState>>,
                            path: Result<Path<String>, PathRejection>,
                            query: Query<Vec<(String, String)>>,
                            request: Request| {
                act((subject, action), state, path, (query, request))
            };
            let route = format!("{}/{}", subject.route, action.verb);
            let both = get(ask).post(act).layer(DefaultBodyLimit::max(FORM_BYTES));
            router.route(&route, both)
        })
}

/// Shows the confirmation of an action.
async fn ask(
    (subject, action): (&'static Subject, &'static Action),
    State(app): State<Arc<AppState>>,
    path: Result<Path<String>, PathRejection>,
    (Query(query), headers): (Query<Vec<(String, String)>>, HeaderMap),
) -> Response<Body> {
    if let Err(refusal) = login::admit(&app, &headers) {
        return *refusal;
    }
    let Ok(Path(id)) = path else {
        return frame::missing(subject.noun);
    };
    let Some(token) = form_token(&app, &headers) else {
        return refused_form(&app);
    };
    let wanted = Wanted {
        subject,
        action,
        id: &id,
        query: &query,
    };
    match wanted.confirmation(&app, token, None).await {
        Ok(confirmation) => page(StatusCode::OK, &confirmation),
        Err(error) => frame::op_error(&error),
    }
}

/// Performs an action.
async fn act(
    (subject, action): (&'static Subject, &'static Action),
    State(app): State<Arc<AppState>>,
    path: Result<Path<String>, PathRejection>,
    (Query(query), request): (Query<Vec<(String, String)>>, Request),
) -> Response<Body> {
    let Ok(Path(id)) = path else {
        return frame::missing(subject.noun);
    };
    let sent = match SentForm::receive(&app, request).await {
        Ok(sent) => sent,
        Err(refusal) => return *refusal,
    };
    // The roster refuses, and records, what is about it.
    if is_read_only(&app) && action.operation.roster_tool().is_none() {
        return refused_form(&app);
    }
    let wanted = Wanted {
        subject,
        action,
        id: &id,
        query: &query,
    };
    match wanted.perform(&app, &sent).await {
        Ok(members) => sent.see_other(&app, &wanted.result(&members), action.done),
        Err(error) => wanted.failed(&app, &sent, error).await,
    }
}

impl Wanted<'_> {
    /// Reads the object.
    async fn found(&self, app: &AppState) -> Result<Value, OpError> {
        let given = std::iter::once(("id".to_owned(), self.id.to_owned()));
        let given = given.chain(self.query.iter().cloned());
        let params = Params::default().with_url(given)?;
        let operation = self.subject.operation;
        let mut found = Value::Object(app.operations.call(operation, params).await?);
        app.operations.add_headline(operation, &mut found).await?;
        Ok(found)
    }

    /// Reads the object and performs the operation with it.
    async fn perform(
        &self,
        app: &AppState,
        sent: &SentForm,
    ) -> Result<Map<String, Value>, OpError> {
        let found = self.found(app).await?;
        let (name, pointer) = self.action.of;
        let of = found.pointer(pointer).and_then(Value::as_str);
        let of = of.ok_or_else(|| self.impossible())?;
        let mut given = vec![(name.to_owned(), of.to_owned())];
        let repo = found.pointer("/daemon/repo").and_then(Value::as_str);
        given.extend(repo.map(|repo| ("repo".to_owned(), repo.to_owned())));
        let fixed = self.action.fixed.iter();
        given.extend(fixed.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        // Only what the form asks for: a request cannot add parameters of the operation.
        let inputs = self.action.inputs.iter().map(|input| input.name);
        given.extend(inputs.filter_map(|name| sent.filled(name)));
        sent.perform(app, self.action.operation, given).await
    }

    fn impossible(&self) -> OpError {
        let message = format!("`{}` is not possible here any more", self.action.label);
        OpError::new(OpErrorKind::Conflict, "conflict", message)
    }

    /// Returns the confirmation: with the values of a form and the error that it ended with, or as it is before.
    async fn confirmation(
        &self,
        app: &AppState,
        token: String,
        sent: Option<(&[(String, String)], &OpError)>,
    ) -> Result<Confirmation, OpError> {
        let found = self.found(app).await?;
        let object = self.subject.object(&found);
        let problem = sent.map(|(_, error)| {
            let message = visible(&frame::sentence(&error.message));
            (message, error.help.as_deref().map(visible))
        });
        let values = sent.map(|(fields, _)| fields).unwrap_or_default();
        let headline = self.subject.name(&found, self.id);
        let label = self.action.label;
        let facts = self
            .subject
            .summary
            .iter()
            .filter(|fact| fact.is_known(object));
        Ok(Confirmation {
            frame: Frame::new(format!("{label} {headline}"), self.subject.place),
            headline,
            problem,
            facts: facts.map(|fact| fact.cell(object)).collect(),
            form: ActionForm::new(self.action, &self.back(), (token, random::hex(12)), values),
            back: self.back(),
        })
    }

    /// Returns the response after an error: the form again, with what was filled in.
    async fn failed(&self, app: &AppState, sent: &SentForm, error: OpError) -> Response<Body> {
        let status = frame::status_of(&error);
        let Some(token) = form_token(app, &sent.headers) else {
            return frame::op_error(&error);
        };
        let again = Some((sent.fields.as_slice(), &error));
        match self.confirmation(app, token, again).await {
            Ok(confirmation) => page(status, &confirmation),
            // The object is gone.
            Err(gone) => frame::op_error(&gone),
        }
    }

    /// Returns the path of the page of the object.
    fn back(&self) -> String {
        self.subject.path(self.id, self.query)
    }

    /// Returns the path of the page that shows the result.
    fn result(&self, members: &Map<String, Value>) -> String {
        let lead = self.action.leads_to.and_then(|(path, pointer)| {
            // A pointer has one member or two.
            let mut names = pointer.trim_start_matches('/').split('/');
            let mut value = members.get(names.next()?)?;
            for name in names {
                value = value.get(name)?;
            }
            Some(format!("{path}{}", encoded(value.as_str()?)))
        });
        lead.unwrap_or_else(|| self.back())
    }
}

impl Subject {
    /// Returns the object in the result of its operation.
    pub(super) fn object<'v>(&self, found: &'v Value) -> &'v Value {
        match self.member {
            "" => found,
            member => &found[member],
        }
    }

    /// Returns its name, or its id.
    pub(super) fn name(&self, found: &Value, id: &str) -> String {
        let name = found.pointer(self.headline).and_then(Value::as_str);
        let name = name.filter(|name| !self.headline.is_empty() && !name.is_empty());
        short(name.unwrap_or(id), 160)
    }

    /// Returns the path of its page.
    fn path(&self, id: &str, query: &[(String, String)]) -> String {
        let path = self.route.replace("{id}", &encoded(id));
        match query.iter().find(|(name, _)| name == "repo") {
            Some((_, repo)) => format!("{path}?repo={}", encoded(repo)),
            None => path,
        }
    }

    /// Returns the result of a form that the page of an object has to show, once.
    pub(super) fn notice(
        &self,
        (app, headers): (&AppState, &HeaderMap),
        (id, query): (&str, &[(String, String)]),
    ) -> Option<String> {
        app.access.take_notice(headers, &self.path(id, query))
    }

    /// Returns the actions that are possible with an object; none without a session or if the host is read only.
    pub(super) fn offered(
        &self,
        (app, headers): (&AppState, &HeaderMap),
        (id, query): (&str, &[(String, String)]),
        found: &Value,
    ) -> ActionLinks {
        let Some(token) = form_token(app, headers) else {
            return ActionLinks::default();
        };
        let object = self.object(found);
        let actions = self.actions.iter();
        let possible = actions.filter(|action| (action.is_possible)(object, found));
        ActionLinks::new(possible, &self.path(id, query), &token)
    }

    /// Returns the first action that is possible with a row of a listing, as a cell with a link.
    pub(super) fn in_row(&self, row: &Value) -> PageCell {
        let id = row["id"].as_str().unwrap_or_default();
        let actions = self
            .actions
            .iter()
            .filter(|action| action.how != How::AtOnce);
        let mut possible = actions.filter(|action| (action.is_possible)(row, &Value::Null));
        match possible.next() {
            Some(action) => {
                let path = format!("{}/{}", self.path(id, &[]), action.verb);
                PageCell::action(action.label, path)
            }
            None => PageCell::action("", String::new()),
        }
    }
}
