//! A language server over standard input and output, with UTC as the zone of every schedule.
#![expect(
    clippy::disallowed_methods,
    reason = "a program reads the clock and passes it down"
)]

use daemon_cron::Zone;
use daemon_lsp::{LspError, Workspace, serve_stdio};
use jiff::Timestamp;

fn main() -> Result<(), LspError> {
    let workspace = Workspace {
        now: &Timestamp::now,
        zone: &|_root, _id| Zone::utc(),
    };
    match serve_stdio(&workspace) {
        // The editor was closed.
        Err(LspError::Closed) => Ok(()),
        served => served,
    }
}
