//! `context`: the exact bytes that a provider receives.

use daemon_host::serve::Compose as _;
use daemon_records::clock;
use daemon_runner::context::Built;
use serde_json::{Map, Value, json};

use super::preview::{PreviewDaemon, WakeCause};
use crate::cli::ContextArgs;
use crate::compose::{Composer, Overrides};
use crate::failure::CommandFailure;
use crate::local;
use crate::out::Out;
use crate::place::Place;

/// Prints the bytes, or with `--json` their size, hash and sections.
pub(crate) async fn run(args: &ContextArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let root = local::root(place, args.repo.as_deref())?;
    let cause = WakeCause::read(&args.occasion, &root, place).await?;
    let config = Composer::new(place, Overrides::default()).load()?;
    let preview = PreviewDaemon::read(&root, &args.id, &config, place)?.preview(
        &cause,
        None,
        clock::now(),
    )?;
    let built = &preview.built;
    if !out.is_json() {
        return out.bytes(&built.bytes);
    }
    let mut map = measured(built);
    map.insert(
        "daemon_file_sha256".to_owned(),
        json!(built.context.daemon_file_sha256()),
    );
    map.insert(
        "text".to_owned(),
        // JSON is Unicode; `sha256` is that of the exact bytes.
        json!(String::from_utf8_lossy(&built.bytes)),
    );
    out.envelope(map)
}

/// Returns the size, the hash and the sections of a context, as members of a JSON object.
pub(crate) fn measured(built: &Built) -> Map<String, Value> {
    let sections = built.context.sections().iter().map(|section| {
        let trusted = section.trust == daemon_context::Trust::Trusted;
        json!({"name": section.name, "bytes": section.bytes, "trusted": trusted})
    });
    let mut map = Map::new();
    map.insert("bytes".to_owned(), json!(built.bytes.len()));
    map.insert("sha256".to_owned(), json!(built.context.sha256()));
    map.insert("sections".to_owned(), Value::Array(sections.collect()));
    map
}
