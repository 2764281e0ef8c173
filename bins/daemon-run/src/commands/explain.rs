//! `explain`: how conditions are read, and what they say of an event.

use daemon_event::Event;
use daemon_host::driver::Checked;
use daemon_host::explain::{Decided, Standing, daemon_json, event_json};
use serde_json::{Map, Value, json};

use super::{corpus, reading};
use crate::cli::Explain;
use crate::event_input;
use crate::failure::Failure;
use crate::local::{self, LocalDaemon};
use crate::out::Out;
use crate::place::Place;

/// Whether something wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakes {
    /// It does.
    Yes,
    /// Nothing does.
    No,
}

impl From<bool> for Wakes {
    fn from(wakes: bool) -> Self {
        if wakes { Self::Yes } else { Self::No }
    }
}

/// Explains a condition, a daemon, all daemons, or scores a corpus.
///
/// Returns whether something wakes.
pub(crate) async fn run(args: &Explain, place: &Place, out: Out) -> Result<Wakes, Failure> {
    if let (Some(corpus), Some(payloads)) = (&args.corpus, &args.payloads) {
        let (corpus, payloads) = (place.directory.join(corpus), place.directory.join(payloads));
        let answers = args
            .answers
            .as_ref()
            .map(|answers| place.directory.join(answers));
        corpus::run(&corpus, &payloads, answers.as_deref(), out)?;
        return Ok(Wakes::Yes);
    }
    let event = event(args, place).await?;
    match &args.condition {
        Some(condition) => one_condition(condition, event.as_ref(), out),
        None => daemons(args, place, event.as_ref(), out),
    }
}

/// Reads the event: a payload, or the id of a stored event.
async fn event(args: &Explain, place: &Place) -> Result<Option<Event>, Failure> {
    if let Some(id) = &args.event.event
        && let Some(id) = id
            .to_str()
            .filter(|id| id.parse::<daemon_event::EventId>().is_ok())
        && !place.directory.join(id).exists()
    {
        return Ok(Some(super::stored_event(id, place).await?));
    }
    match event_input::read(&args.event, place)? {
        Some(fired) => Ok(Some(fired.event(daemon_host::random::now())?)),
        None => Ok(None),
    }
}

fn one_condition(condition: &str, event: Option<&Event>, out: Out) -> Result<Wakes, Failure> {
    let decided = Decided::new(condition, event);
    let Value::Object(mut object) = decided.to_json() else {
        return Err(Failure::bug("an interpretation cannot be written"));
    };
    if out.is_json() {
        // The envelope bears the same version.
        object.remove("schema_version");
        out.envelope(object)?;
    } else {
        object.insert("condition".to_owned(), json!(condition));
        out.text(&reading::condition_text(&Value::Object(object), event))?;
    }
    Ok(decided.wakes().into())
}

fn daemons(
    args: &Explain,
    place: &Place,
    event: Option<&Event>,
    out: Out,
) -> Result<Wakes, Failure> {
    let root = local::root(place, args.repo.as_deref())?;
    let all = local::judged(&root, &|_| "UTC".to_owned())?;
    if let Some(id) = &args.id {
        local::find(&root, &all, id)?;
    }
    let chosen = all.iter().filter(|(daemon, _)| {
        let asked = args.id.as_deref();
        args.all_daemons || asked.is_none_or(|id| daemon.is_named(id))
    });
    let mut objects = Vec::new();
    let mut any = false;
    for (daemon, checked) in chosen {
        let object = explained(daemon, checked, event);
        any |= object["wakes"] == true;
        objects.push(object);
    }
    if out.is_json() {
        let mut map = Map::new();
        map.insert("event".to_owned(), event.map_or(Value::Null, event_json));
        map.insert("daemons".to_owned(), Value::Array(objects));
        out.envelope(map)?;
    } else {
        out.text(&reading::daemons_text(&objects, event))?;
        if objects.is_empty() {
            out.note(&format!("no daemons in `{}`", root.display()));
        }
        if let Some(id) = &args.id {
            out.note(&format!("next: daemon-run fire {id} --dry-run"));
        }
    }
    Ok(any.into())
}

/// Says what one daemon of the working tree makes of an event.
fn explained(daemon: &LocalDaemon, checked: &Checked, event: Option<&Event>) -> Value {
    let standing = Standing {
        id: daemon.id(),
        path: &daemon.source.path(),
        is_valid: checked.is_registrable,
    };
    daemon_json(standing, &Decided::all(&checked.watch, event), event)
}
