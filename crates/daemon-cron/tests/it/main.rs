//! The public contract of the crate.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod accept;
mod oracle;
mod peers;
mod refuse;
mod remarks;
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
