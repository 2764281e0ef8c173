//! `import`: copies the store of the home into a database that hosts share.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use daemon_host::home::Home;
use daemon_host::serve::Compose as _;
use serde_json::json;

use crate::cli::ImportArgs;
use crate::commands::serve::check_store;
use crate::compose::{Composer, Overrides};
use crate::failure::CommandFailure;
use crate::out::Out;
use crate::place::Place;
use crate::session::own;

/// How long an import runs before its progress is shown, and how often it is.
const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// Imports the store, or gives up an import that is not finished.
pub(crate) async fn run(args: &ImportArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    check_store(args.store.as_deref())?;
    let overrides = Overrides {
        store: args.store.clone(),
        ..Overrides::default()
    };
    let host = Composer::new(place, overrides).load()?.host;
    let home = Home::named(place.home()?);
    daemon_home_store::check_importable(&home)?;
    let _owner = own(&home)?;
    if args.abandon {
        daemon_home_store::abandon_import(&home, &host).await?;
        let text = "the import is given up: `daemon-run serve` can start on the old store\n";
        return out.either(json!({"abandoned": true}), text);
    }
    let is_shown = std::io::stderr().is_terminal() && !place.environment.contains_key("CI");
    let mut shown = Instant::now();
    let mut progress = |table: &str, n_rows: u64| {
        if is_shown && shown.elapsed() >= SHOWN_EVERY {
            shown = Instant::now();
            out.note(&format!("{table}: {n_rows} rows"));
        }
    };
    let imported = daemon_home_store::import(&home, &host, &mut progress).await?;
    out.either(imported.json(), &imported.to_string())
}
