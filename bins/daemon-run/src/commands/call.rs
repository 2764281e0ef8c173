//! `call`: one method of the control protocol.

use std::io::Read as _;

use daemon_api::ops::Operation;
use serde_json::{Map, Value};

use crate::cli::CallArgs;
use crate::failure::CommandFailure;
use crate::out::Out;
use crate::place::Place;
use crate::session::{self, CommandSession, Intent, call_failure};

/// The method that asks whether the host answers.
const PING: &str = "ping";

/// Calls a method and prints the members of its result; a stream prints a line for each event first.
pub(crate) async fn run(args: &CallArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let params = params(args.params.as_deref())?;
    // It is about the connection, and not an operation.
    if args.method == PING {
        let live = session::live(place).await?;
        let mut client = live.ok_or_else(session::no_host_runs)?;
        let answer = client.request(PING, params).await;
        return out.envelope(answer.map_err(call_failure)?);
    }
    let operation: Operation =
        args.method
            .parse()
            .map_err(|error: daemon_api::ops::UnknownMethod| {
                CommandFailure::usage(error.to_string())
                    .help("`daemon-run schema protocol` lists every method")
            })?;
    let mut session = CommandSession::open(place, Intent::Change).await?;
    let answer = match &mut session {
        CommandSession::Live(client) if operation == Operation::ConversationStream => {
            let mut printed = Ok(());
            let answer = client
                .stream(operation, params, &mut |event| {
                    let line = Map::from_iter([("event".to_owned(), event)]);
                    if printed.is_ok() {
                        printed = out.envelope(line);
                    }
                })
                .await;
            printed?;
            answer.map_err(call_failure)?
        }
        session => session.call(operation, params).await?,
    };
    out.envelope(answer)
}

fn params(text: Option<&str>) -> Result<Map<String, Value>, CommandFailure> {
    let Some(text) = text else {
        return Ok(Map::new());
    };
    let text = text_or_stdin(text)?;
    serde_json::from_str(&text).map_err(|error| {
        CommandFailure::usage(format!("the parameters are not a JSON object: {error}"))
    })
}

/// Returns an argument, or standard input for `-`.
pub(crate) fn text_or_stdin(text: &str) -> Result<String, CommandFailure> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut read = String::new();
    std::io::stdin()
        .read_to_string(&mut read)
        .map_err(|error| {
            CommandFailure::unreadable(std::path::Path::new("standard input"), &error)
        })?;
    Ok(read)
}
