//! `events`: lists events, shows one, records them to files and replays them.

mod record;
mod replay;

use daemon_api::ops::Operation;
use serde_json::Value;

use crate::cli::{EventsArgs, EventsVerb};
use crate::commands::listings::{EVENTS, list};
use crate::commands::reading::{chain_text, facts_text};
use crate::commands::which;
use crate::failure::CommandFailure;
use crate::out::{Out, escaped_json, plain, put};
use crate::place::Place;
use crate::session::{CommandSession, Intent, parameter};
use daemon_view::Times;

/// Runs a subcommand of `events`.
pub(crate) async fn run(args: &EventsArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    match &args.verb {
        None => list(&EVENTS, &args.listing, place, out).await,
        Some(EventsVerb::Show { id }) => show(id, place, out).await,
        Some(EventsVerb::Record(args)) => record::run(args, place, out).await,
        Some(EventsVerb::Replay(args)) => replay::run(args, place, out).await,
    }
}

async fn show(id: &str, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let mut session = CommandSession::open(place, Intent::Look).await?;
    let id = which::event(id, &mut session).await?;
    let answer = session
        .call(Operation::EventGet, parameter("id", &id))
        .await?;
    if out.is_json() {
        return out.envelope(answer);
    }
    out.text(&text(&Value::Object(answer), &out.times()))?;
    out.note(&format!(
        "next: daemon-run explain --event {id}, which explains why the other daemons did not wake"
    ));
    Ok(())
}

/// Formats one event: its fields, the daemons it woke, and its payload.
fn text(event: &Value, times: &Times) -> String {
    let word = |name: &str| plain(event[name].as_str().unwrap_or("-"));
    let action = event["action"]
        .as_str()
        .map(|action| format!(".{}", plain(action)));
    let mut text = format!(
        "{}  {} {}{}\n",
        word("id"),
        word("source"),
        word("kind"),
        action.unwrap_or_default()
    );
    let at = |name: &str| times.of_text(&word(name), Times::long);
    let facts = [
        ("subject", word("subject")),
        ("actor", word("actor")),
        ("repository", word("repo")),
        ("time", at("time")),
        ("received", at("received_at")),
        ("delivery", word("delivery_id")),
    ];
    for (name, fact) in facts {
        put!(text, "  {name:<12} {fact}\n");
    }
    put!(text, "  {:<12} {}\n", "duplicates", event["duplicates"]);
    text.push_str(&chain_text(&event["chain"]));
    for verdict in event["verdicts"].as_array().into_iter().flatten() {
        let daemon = plain(verdict["daemon_id"].as_str().unwrap_or_default());
        let outcome = match (verdict["wakes"] == true, verdict["activation_id"].as_str()) {
            (true, Some(activation)) => format!("woke it: activation {activation}"),
            (true, None) => "wakes it".to_owned(),
            (false, _) => "did not wake it".to_owned(),
        };
        put!(
            text,
            "  {daemon}  watch[{}] {outcome}\n",
            verdict["condition"]
        );
    }
    text.push_str(&facts_text(&event["facts"]));
    let payload = serde_json::to_string_pretty(&event["payload"]).unwrap_or_default();
    put!(text, "{}\n", escaped_json(&payload));
    text
}
