//! `next`: the due times of schedules.

use daemon_api::ops::Operation;
use std::path::Path;

use daemon_cron::{CronExpr, Schedule, Zone, notes};
use daemon_event::RepoName;
use daemon_host::config::Config;
use daemon_host::serve::Compose as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::preview::named;
use crate::cli::NextArgs;
use crate::compose::{Composer, Overrides};
use crate::failure::{CommandFailure, ExitKind};
use crate::local;
use crate::out::{Out, put};
use crate::place::Place;
use crate::session::{CommandSession, Intent, has_store, parameter};

/// How many past ticks are printed in addition to the next ones.
const LAST_TICKS: u32 = 3;
/// The most instants of one result.
const MAX_TIMES: u32 = 10_000;

/// A schedule and its next due times.
struct DueTimes {
    expression: String,
    schedule: Schedule,
    times: Vec<Timestamp>,
    is_never: bool,
}

/// Prints the next due times of an expression, of one daemon or of all daemons of a repository.
pub(crate) async fn run(args: &NextArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let found = DueSchedules::read(args, place)?;
    for problem in &found.problems {
        out.warn(problem);
    }
    if out.is_json() {
        return out.envelope(found.members());
    }
    let shown = found.answers.iter().map(|(id, answer)| match id {
        Some(id) if found.is_all => format!("{id}  {}", text(answer, found.from)),
        _ => text(answer, found.from),
    });
    let shown: String = shown.collect();
    if shown.is_empty() {
        let root = local::root(place, args.repo.as_deref())?;
        out.note(&format!("no daemon in `{}` has a schedule", root.display()));
    }
    out.text(&shown)?;
    match &found.answers[..] {
        [(Some(id), answer)] if !found.is_all => {
            last_ticks(id, answer.schedule.zone(), place, out).await
        }
        _ => Ok(()),
    }
}

/// Returns the members of the JSON object.
pub(crate) fn answer(args: &NextArgs, place: &Place) -> Result<Map<String, Value>, CommandFailure> {
    DueSchedules::read(args, place).map(|found| found.members())
}

/// The due times of the requested schedules.
struct DueSchedules {
    from: Timestamp,
    answers: Vec<(Option<String>, DueTimes)>,
    /// Whether all schedules of a repository were requested.
    is_all: bool,
    /// Errors of schedules that are left out.
    problems: Vec<String>,
}

impl DueSchedules {
    fn read(args: &NextArgs, place: &Place) -> Result<Self, CommandFailure> {
        if args.count > MAX_TIMES {
            return Err(CommandFailure::usage(format!(
                "-n is {}, but at most {MAX_TIMES} are printed",
                args.count
            )));
        }
        let from = match &args.from {
            None => daemon_records::clock::now(),
            Some(text) => instant(text)?,
        };
        let mut found = Self {
            from,
            answers: Vec::new(),
            is_all: false,
            problems: Vec::new(),
        };
        if let Some(expression) = &args.cron {
            let zone = zone(args.tz.as_deref().unwrap_or("UTC"))?;
            let answer = due(expression, &zone, from, args.count)?;
            found.answers.push((None, answer));
            return Ok(found);
        }
        let root = local::root(place, args.repo.as_deref())?;
        let zones = ScheduleZones::read(args, &root, place)?;
        match &args.id {
            Some(id) => found.one(id, &root, &zones, args.count)?,
            None => found.all(&root, &zones, args.count)?,
        }
        Ok(found)
    }

    fn one(
        &mut self,
        id: &str,
        root: &Path,
        zones: &ScheduleZones,
        count: u32,
    ) -> Result<(), CommandFailure> {
        let all = local::judged(root, &|_| "UTC".to_owned())?;
        let (daemon, checked) = local::find(root, &all, id)?;
        let zone = zones.of(id)?;
        let Some(expression) = daemon.schedule() else {
            // Whether it has one is unknown in a file with errors.
            local::refuse_invalid(daemon, checked)?;
            let message = format!("`{id}` has no `schedule`; it wakes on events");
            return Err(CommandFailure::new(
                ExitKind::NoInput,
                "no-schedule",
                message,
            ));
        };
        let answer = due(expression, &zone, self.from, count)?;
        if let Err(failure) = local::refuse_invalid(daemon, checked) {
            self.problems
                .push(format!("it does not wake: {}", failure.message));
        }
        self.answers.push((Some(id.to_owned()), answer));
        Ok(())
    }

    fn all(
        &mut self,
        root: &Path,
        zones: &ScheduleZones,
        count: u32,
    ) -> Result<(), CommandFailure> {
        self.is_all = true;
        for daemon in local::daemons(root)? {
            let Some(expression) = daemon.schedule() else {
                continue;
            };
            let id = daemon.id().to_owned();
            match due(expression, &zones.of(&id)?, self.from, count) {
                Ok(answer) => self.answers.push((Some(id), answer)),
                // One invalid schedule must not hide the others.
                Err(failure) => self.problems.push(format!("{id}: {}", failure.message)),
            }
        }
        Ok(())
    }

    fn members(&self) -> Map<String, Value> {
        let mut objects = self.answers.iter().map(|(id, answer)| {
            let mut map = members(answer);
            if let Some(id) = id {
                map.insert("daemon_id".to_owned(), json!(id));
            }
            map
        });
        if !self.is_all {
            return objects.next().unwrap_or_default();
        }
        let objects = objects.map(Value::Object).collect();
        Map::from_iter([("daemons".to_owned(), Value::Array(objects))])
    }
}

/// The zones of the schedules: one for all, else the configured ones.
pub(crate) enum ScheduleZones {
    One(Zone),
    Configured {
        config: Box<Config>,
        repo: RepoName,
        zone: Option<String>,
    },
}

impl ScheduleZones {
    fn read(args: &NextArgs, root: &Path, place: &Place) -> Result<Self, CommandFailure> {
        if let Some(name) = &args.tz {
            return Ok(Self::One(zone(name)?));
        }
        Self::configured(root, place)
    }

    /// Returns the zones that the configuration of the home gives to the daemons of a repository.
    pub(crate) fn configured(root: &Path, place: &Place) -> Result<Self, CommandFailure> {
        let config = Composer::new(place, Overrides::default()).load()?;
        let (repo, zone) = named(root, &config, place);
        let zone = zone.map(str::to_owned);
        Ok(Self::Configured {
            config: Box::new(config),
            repo,
            zone,
        })
    }

    pub(crate) fn of(&self, daemon: &str) -> Result<Zone, CommandFailure> {
        match self {
            Self::One(zone) => Ok(zone.clone()),
            Self::Configured {
                config,
                repo,
                zone: of_repo,
            } => zone(config.zone_of(repo, daemon, of_repo.as_deref())),
        }
    }
}

/// Prints the last ticks of a daemon if the home has a store.
async fn last_ticks(id: &str, zone: &Zone, place: &Place, out: Out) -> Result<(), CommandFailure> {
    if out.is_json() || place.home.is_none() || !has_store(place)? {
        return Ok(());
    }
    let mut session = CommandSession::open(place, Intent::Look).await?;
    let mut params = parameter("daemon", id);
    params.insert("limit".to_owned(), json!(LAST_TICKS));
    let answer = session.call(Operation::TickList, params).await?;
    let mut text = String::new();
    for tick in answer["ticks"].as_array().into_iter().flatten() {
        put!(text, "  last  {}\n", last_tick(tick, zone));
    }
    out.text(&text)
}

/// Formats the outcome of a tick, or of a range of ticks.
fn last_tick(tick: &Value, zone: &Zone) -> String {
    let text_of = |name: &str| tick[name].as_str().unwrap_or_default();
    let instant = |name: &str| text_of(name).parse::<Timestamp>().ok();
    let scheduled = instant("scheduled_at");
    let at = scheduled.map_or_else(String::new, |at| moment(at, zone));
    let mut text = format!("{at}  {}", text_of("outcome"));
    if let Some(first) = instant("first") {
        let since = first.strftime("%Y-%m-%d %H:%M UTC");
        put!(text, "  {} ticks since {since}", tick["count"]);
    }
    if let Some(activation) = tick["activation_id"].as_str() {
        put!(text, "  {activation}");
    }
    if let (Some(scheduled), Some(recorded)) = (scheduled, instant("recorded_at")) {
        let minutes = recorded.duration_since(scheduled).as_mins();
        if minutes > 0 {
            put!(text, "  recorded {minutes} min late");
        }
    }
    text
}

/// Parses an instant of the command line.
pub(crate) fn instant(text: &str) -> Result<Timestamp, CommandFailure> {
    text.parse().map_err(|error| {
        let failure = CommandFailure::usage(format!("`{text}` is not an instant: {error}"));
        failure.help("RFC 3339, such as 2026-11-23T14:30:00Z")
    })
}

/// Finds a time zone by name.
pub(crate) fn zone(name: &str) -> Result<Zone, CommandFailure> {
    match TimeZone::get(name) {
        Ok(zone) => Ok(Zone::new(zone)),
        Err(_) => {
            let failure = CommandFailure::usage(format!("`{name}` is not a time zone"));
            Err(failure.help("name a zone of the IANA database, such as `Europe/Berlin`"))
        }
    }
}

fn due(
    expression: &str,
    zone: &Zone,
    from: Timestamp,
    count: u32,
) -> Result<DueTimes, CommandFailure> {
    let parsed: CronExpr = expression
        .parse()
        .map_err(|error: daemon_cron::Error| refused(expression, &error))?;
    let schedule = Schedule::new(parsed, zone.clone());
    let times: Vec<Timestamp> =
        std::iter::successors(schedule.next_after(from), |at| schedule.next_after(*at))
            .take(usize::try_from(count).expect("a count fits"))
            .collect();
    // Not derived from `times`, which are empty with `-n 0`, too.
    let is_never = schedule.next_after(from).is_none();
    Ok(DueTimes {
        expression: expression.trim().to_owned(),
        schedule,
        times,
        is_never,
    })
}

fn refused(expression: &str, error: &daemon_cron::Error) -> CommandFailure {
    let Some(first) = error.problems().first() else {
        return CommandFailure::bug(format!("`{expression}` was rejected without a problem"));
    };
    let messages: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    CommandFailure::new(ExitKind::Invalid, first.code(), messages.join("; "))
        .help(first.help.to_string())
}

fn members(answer: &DueTimes) -> Map<String, Value> {
    let times: Vec<String> = answer.times.iter().map(ToString::to_string).collect();
    let mut map = Map::new();
    map.insert("expression".to_owned(), json!(answer.expression));
    map.insert("zone".to_owned(), json!(answer.schedule.zone().name()));
    map.insert("times".to_owned(), json!(times));
    map.insert("never".to_owned(), json!(answer.is_never));
    map
}

fn text(answer: &DueTimes, from: Timestamp) -> String {
    let zone = answer.schedule.zone();
    let mut text = format!(
        "{}  {} ({})\n",
        answer.expression,
        answer.schedule.expr().describe(),
        zone.name()
    );
    if answer.is_never {
        text.push_str("  never: no such date\n");
    }
    for at in &answer.times {
        put!(text, "  {}\n", moment(*at, zone));
    }
    for note in notes(&answer.expression, zone, from).unwrap_or_default() {
        put!(text, "  note[{}]: {note}", note.code());
        if !note.help.is_empty() {
            put!(text, "; {}", note.help);
        }
        text.push('\n');
    }
    text
}

/// Formats an instant in UTC and in the zone.
fn moment(at: Timestamp, zone: &Zone) -> String {
    let utc = at.strftime("%Y-%m-%d %H:%M UTC");
    if zone.name() == "UTC" {
        return format!("{utc}  {}", at.strftime("%a"));
    }
    let local = at.to_zoned(zone.time_zone().clone());
    let local = local.strftime("%a %Y-%m-%d %H:%M %:z");
    format!("{utc}  {local} {}", zone.name())
}

#[cfg(test)]
mod tests {
    use daemon_cron::Zone;
    use jiff::tz::TimeZone;
    use serde_json::json;

    use super::last_tick;

    #[test]
    fn a_past_tick_is_printed_in_its_zone_with_its_outcome() {
        let zone = Zone::new(TimeZone::get("America/New_York").unwrap());
        let one = json!({"scheduled_at": "2026-11-01T05:30:00Z", "recorded_at": "2026-11-01T05:30:00.4Z", "first": null,
            "count": 1, "outcome": "enqueued", "activation_id": "01M7"});
        assert_eq!(
            last_tick(&one, &zone),
            "2026-11-01 05:30 UTC  Sun 2026-11-01 01:30 -04:00 America/New_York  enqueued  01M7"
        );
        let range = json!({"scheduled_at": "2026-11-01T05:30:00Z", "recorded_at": "2026-11-01T07:30:00Z",
            "first": "2026-10-30T05:30:00Z", "count": 3, "outcome": "missed_window", "activation_id": null});
        assert_eq!(
            last_tick(&range, &Zone::utc()),
            "2026-11-01 05:30 UTC  Sun  missed_window  3 ticks since 2026-10-30 05:30 UTC  recorded 120 min late"
        );
    }
}
