//! Tests of the public API.
#![expect(clippy::unwrap_used, reason = "an error fails the test")]

mod accept;
mod notes;
mod oracle;
mod peers;
mod reject;
mod zones;

use daemon_cron::CronExpr;
use jiff::Timestamp;

fn expr(text: &str) -> CronExpr {
    text.parse()
        .unwrap_or_else(|error| panic!("`{text}`: {error}"))
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}
