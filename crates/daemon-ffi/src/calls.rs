//! The calls that lint, interpret and schedule.

use daemon_cron::{CronExpr, Schedule, Zone};
use daemon_lint::{TextInput, report_text};
use daemon_validate::Profile;
use daemon_watch::{InterpretationWire, interpret};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

use crate::ArgumentError;

/// The most instants of one result, as on the command line.
pub const MAX_TIMES: u32 = 10_000;

/// What is known about the place of a file that is linted.
#[derive(Clone, Copy, Debug)]
pub struct LintPlace<'a> {
    /// The path from the repository's root, with `/` between its parts, such as `.agents/daemons/x/DAEMON.md`.
    pub path: Option<&'a str>,
    /// The profile, which sets the severities.
    pub profile: Profile,
    /// The IANA name of the zone of the schedule.
    pub zone: &'a str,
    /// The time from which the help of a diagnostic computes the next ticks.
    pub now: Timestamp,
}

/// Checks the text of a daemon file and returns the report of `daemon-lint --format json`.
///
/// # Errors
///
/// The zone is unknown.
pub fn lint_json(text: &[u8], place: &LintPlace<'_>) -> Result<String, ArgumentError> {
    let input = TextInput {
        bytes: text.to_vec(),
        path: place.path.map(str::to_owned),
        profile: place.profile,
        zone: zone(place.zone)?,
    };
    Ok(report_text(input, place.now))
}

/// Interprets a watch condition and returns its `InterpretationWire`.
#[must_use]
pub fn interpret_json(condition: &str) -> String {
    let wire = InterpretationWire::new(condition, &interpret(condition), None);
    serde_json::to_string(&wire).expect("the form has a JSON form")
}

/// Returns the next `count` ticks of an expression, strictly later than `from`.
///
/// # Errors
///
/// The expression is no five-field cron expression, the zone is unknown, or `count` is above [`MAX_TIMES`].
pub fn next_json(
    expression: &str,
    zone_name: &str,
    from: Timestamp,
    count: u32,
) -> Result<String, ArgumentError> {
    if count > MAX_TIMES {
        let message = format!("`count` is {count}, but at most {MAX_TIMES} times are returned");
        return Err(ArgumentError::usage(message));
    }
    let parsed: CronExpr = expression.parse().map_err(|error| refused(&error))?;
    let schedule = Schedule::new(parsed, zone(zone_name)?);
    let first = schedule.next_after(from);
    let times: Vec<String> = std::iter::successors(first, |at| schedule.next_after(*at))
        .take(usize::try_from(count).expect("a limited count fits"))
        .map(|at| at.to_string())
        .collect();
    let answer = json!({
        "schema_version": 1,
        "expression": expression.trim(),
        "zone": schedule.zone().name(),
        "times": times,
        "never": first.is_none(),
    });
    Ok(answer.to_string())
}

fn zone(name: &str) -> Result<Zone, ArgumentError> {
    let zone = TimeZone::get(name).map_err(|error| {
        ArgumentError::usage(format!("`{name}` is not a time zone: {error}"))
            .help("name a zone of the IANA database, such as `Europe/Berlin`")
    })?;
    Ok(Zone::new(zone))
}

/// Returns the first problem of an expression as the error, with the messages of all.
fn refused(error: &daemon_cron::Error) -> ArgumentError {
    let messages: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    let Some(first) = error.problems().first() else {
        return ArgumentError::bug("the expression was rejected without a problem");
    };
    ArgumentError {
        code: first.code().to_owned(),
        message: messages.join("; "),
        help: Some(first.help.to_string()),
        span: Some(first.span.clone()),
    }
}
