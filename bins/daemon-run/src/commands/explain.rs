//! `explain`: how conditions are read, and whether an event meets them.

use daemon_api::explain::{DaemonSummary, Decided, daemon_json, event_json};
use daemon_event::{Event, Need};
use daemon_host::driver::Checked;
use serde_json::{Map, Value, json};

use super::{corpus, reading};
use crate::cli::ExplainArgs;
use crate::event_input;
use crate::failure::CommandFailure;
use crate::known::KnownEvent;
use crate::local::{self, LocalDaemon};
use crate::out::{Out, plain};
use crate::place::Place;

/// Whether at least one daemon wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakes {
    /// At least one does.
    Yes,
    /// None does.
    No,
}

impl From<bool> for Wakes {
    fn from(wakes: bool) -> Self {
        if wakes { Self::Yes } else { Self::No }
    }
}

/// Explains a condition, a daemon, all daemons, or scores a corpus.
///
/// Returns whether at least one daemon wakes.
pub(crate) async fn run(
    args: &ExplainArgs,
    place: &Place,
    out: Out,
) -> Result<Wakes, CommandFailure> {
    if let (Some(corpus), Some(payloads)) = (&args.corpus, &args.payloads) {
        let (corpus, payloads) = (place.directory.join(corpus), place.directory.join(payloads));
        let answers = args
            .answers
            .as_ref()
            .map(|answers| place.directory.join(answers));
        corpus::run(&corpus, &payloads, answers.as_deref(), out)?;
        return Ok(Wakes::Yes);
    }
    let answer = answer(args, place).await?;
    let wakes = answer.wakes;
    if out.is_json() {
        out.envelope(answer.members)?;
    } else {
        print(args, place, answer, out)?;
    }
    Ok(wakes)
}

/// The explanation of a condition, or of daemons.
pub(crate) struct ExplainAnswer {
    /// The members of the JSON object.
    pub(crate) members: Map<String, Value>,
    pub(crate) wakes: Wakes,
    event: Option<Event>,
}

/// Explains a condition, a daemon or all daemons.
pub(crate) async fn answer(
    args: &ExplainArgs,
    place: &Place,
) -> Result<ExplainAnswer, CommandFailure> {
    let known = event(args, place).await?;
    let Some(condition) = &args.condition else {
        return daemons(args, place, known);
    };
    let mut answer = one_condition(condition, known)?;
    let parse = daemon_watch::parse(condition);
    answer
        .members
        .extend(parse.map(|parse| ("parse".to_owned(), json!(parse))));
    Ok(answer)
}

fn print(
    args: &ExplainArgs,
    place: &Place,
    answer: ExplainAnswer,
    out: Out,
) -> Result<(), CommandFailure> {
    let ExplainAnswer {
        mut members, event, ..
    } = answer;
    let facts = reading::facts_text(&members["facts"]);
    if let Some(condition) = &args.condition {
        members.insert("condition".to_owned(), json!(condition));
        let text = reading::condition_text(&Value::Object(members), event.as_ref());
        return out.text(&(text + &facts));
    }
    let objects = members["daemons"].as_array().cloned().unwrap_or_default();
    let chain = reading::chain_text(&members["event"]["chain"]);
    out.text(&(reading::daemons_text(&objects, event.as_ref()) + &chain + &facts))?;
    if objects.is_empty() {
        let root = local::root(place, args.repo.as_deref())?;
        out.note(&format!("no daemons in `{}`", root.display()));
    }
    let invalid = objects.first().filter(|one| one["diagnostics"].is_array());
    match (&args.id, invalid.and_then(|one| one["path"].as_str())) {
        (Some(_), Some(path)) => out.note(&format!("next: daemon-run lint {}", plain(path))),
        (Some(id), None) => out.note(&format!("next: daemon-run fire {id} --dry-run")),
        (None, _) => {}
    }
    Ok(())
}

/// Reads the event from a payload, or by the id of a stored event.
async fn event(args: &ExplainArgs, place: &Place) -> Result<Option<KnownEvent>, CommandFailure> {
    if let Some(stored) = super::stored_event(&args.event, place).await? {
        return Ok(Some(KnownEvent::stored(stored)));
    }
    let Some(mut fired) = event_input::read(&args.event, place)? else {
        return Ok(None);
    };
    let root = match (&args.condition, &args.repo) {
        // A single condition belongs to no repository, so git is not asked for changed files.
        (Some(_), None) => None,
        (Some(_) | None, repo) => Some(local::root(place, repo.as_deref())?),
    };
    Ok(Some(KnownEvent::read(&mut fired, root.as_deref(), place)?))
}

fn one_condition(
    condition: &str,
    mut known: Option<KnownEvent>,
) -> Result<ExplainAnswer, CommandFailure> {
    let decided = Decided::new(condition, known.as_ref().map(|known| &known.event));
    note_missing(&mut known, [&decided]);
    let Value::Object(mut members) = decided.to_json() else {
        return Err(CommandFailure::bug("an interpretation cannot be written"));
    };
    // The envelope of the output has the same member.
    members.remove("schema_version");
    members.insert("facts".to_owned(), facts(known.as_ref()));
    Ok(ExplainAnswer {
        members,
        wakes: decided.wakes().into(),
        event: known.map(|known| known.event),
    })
}

fn daemons(
    args: &ExplainArgs,
    place: &Place,
    mut known: Option<KnownEvent>,
) -> Result<ExplainAnswer, CommandFailure> {
    let root = local::root(place, args.repo.as_deref())?;
    // The zone affects schedules only, and this command explains conditions.
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
        let event = known.as_ref().map(|known| &known.event);
        let decided = Decided::all(&checked.watch, event);
        let object = explained(daemon, checked, (&decided, event));
        note_missing(&mut known, &decided);
        any |= object["wakes"] == true;
        objects.push(object);
    }
    let event = known.as_ref().map(|known| &known.event);
    let mut members = Map::new();
    members.insert("facts".to_owned(), facts(known.as_ref()));
    let mut described = event.map_or(Value::Null, event_json);
    if let Some(known) = known.as_ref().filter(|known| known.chain.is_object()) {
        described["chain"] = known.chain.clone();
    }
    members.insert("event".to_owned(), described);
    members.insert("daemons".to_owned(), Value::Array(objects));
    Ok(ExplainAnswer {
        members,
        wakes: any.into(),
        event: known.map(|known| known.event),
    })
}

/// Explains one daemon of the working tree.
fn explained(
    daemon: &LocalDaemon,
    checked: &Checked,
    (decided, event): (&[Decided<'_>], Option<&Event>),
) -> Value {
    let summary = DaemonSummary {
        id: daemon.id(),
        path: &daemon.source.path(),
        is_valid: checked.is_registrable,
    };
    let mut object = daemon_json(summary, decided, event);
    if !summary.is_valid {
        object["path"] = json!(summary.path);
        object["diagnostics"] = checked.diagnostics.clone();
    }
    object
}

/// Records which facts the conditions need that the event does not have.
fn note_missing<'d>(
    known: &mut Option<KnownEvent>,
    decided: impl IntoIterator<Item = &'d Decided<'d>>,
) {
    if let Some(known) = known {
        let decided = decided.into_iter();
        let needs: Vec<Need> = decided
            .flat_map(|one| one.reading.missing(&known.event))
            .collect();
        known.miss(needs);
    }
}

fn facts(known: Option<&KnownEvent>) -> Value {
    known.map_or(Value::Null, |known| Value::Array(known.facts.clone()))
}
