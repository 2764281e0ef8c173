//! `demo`: wakes a daemon on a real commit in a scratch repository, with real parts and no model.

mod branches;
mod scratch;
mod services;
mod tour;

use daemon_host::config::Config;
use daemon_host::serve::Ready;
use serde_json::{Map, Value, json};

use self::services::DemoServices;
use crate::cli::{DemoArgs, GlobalArgs};
use crate::failure::CommandFailure;
use crate::out::Out;
use crate::place::Place;
use crate::scratch::Scratch;

/// One step of the tour.
#[derive(Debug)]
pub(crate) struct TourStep {
    name: &'static str,
    is_ok: bool,
    detail: String,
    ids: Value,
}

/// Runs the tour, and returns whether every step succeeded.
pub(crate) async fn run(
    args: &DemoArgs,
    global: &GlobalArgs,
    place: &Place,
    out: Out,
) -> Result<bool, CommandFailure> {
    let scratch = scratch::make(place)?;
    // Boxed, since the future is too large for the stack.
    let steps = Box::pin(tour::walk(&scratch, place, out)).await?;
    let ok = steps.iter().all(|step| step.is_ok);
    if out.is_json() {
        let objects: Vec<Value> = steps
            .iter()
            .map(|step| json!({"name": step.name, "ok": step.is_ok, "detail": step.detail, "ids": step.ids}))
            .collect();
        let mut map = Map::new();
        map.insert("ok".to_owned(), json!(ok));
        map.insert("dir".to_owned(), json!(scratch.dir().display().to_string()));
        map.insert("steps".to_owned(), Value::Array(objects));
        out.envelope(map)?;
    }
    if args.serve {
        serve(&scratch, global, place, out).await?;
    }
    if args.keep {
        out.note(&format!("kept: {}", scratch.keep().display()));
    }
    Ok(ok)
}

/// Serves the scratch repository with a GitHub around it until the process is stopped.
async fn serve(
    scratch: &Scratch,
    global: &GlobalArgs,
    place: &Place,
    out: Out,
) -> Result<(), CommandFailure> {
    let args = crate::cli::ServeArgs {
        repo: vec![scratch.repository()],
        listen: Some("127.0.0.1:0".to_owned()),
        store: None,
        hold: false,
    };
    let services = DemoServices::start(scratch)?;
    let mut begun = None;
    let on_ready = |ready: &Ready, _: &Config| {
        begun = Some(services.begin(ready, out)?);
        out.note("stop with ctrl-c");
        Ok(())
    };
    let place = scratch.place(place);
    super::serve::run_with(&args, global, &place, out, on_ready).await?;
    // It waits only for the host, which has ended.
    if begun.is_some_and(|thread| thread.join().is_err()) {
        return Err(CommandFailure::bug("the demonstration panicked".to_owned()));
    }
    Ok(())
}
