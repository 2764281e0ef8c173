//! `next`: when schedules are due.

use daemon_host::ops::Operation;
use std::path::Path;

use daemon_cron::{CronExpr, Schedule, Zone, notes};
use daemon_event::RepoName;
use daemon_host::config::Config;
use daemon_host::home::Home;
use daemon_host::serve::Compose as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::imagined::named;
use crate::cli::Next;
use crate::compose::{Composer, Overrides};
use crate::failure::{Exit, Failure};
use crate::local;
use crate::out::{Out, put};
use crate::place::Place;
use crate::session::{Intent, Session, parameter};

/// How many past ticks are told beside the next ones.
const LAST_TICKS: u32 = 3;
/// The most instants of one answer.
const MAX_TIMES: u32 = 10_000;

/// A schedule and what was asked about it.
struct Answer {
    expression: String,
    schedule: Schedule,
    times: Vec<Timestamp>,
    is_never: bool,
}

/// Prints when an expression, one daemon or all of a repository are due next.
pub(crate) async fn run(args: &Next, place: &Place, out: Out) -> Result<(), Failure> {
    let told = Told::read(args, place)?;
    for problem in &told.problems {
        out.tell(problem);
    }
    if out.is_json() {
        return out.envelope(told.members());
    }
    let texts = told.answers.iter().map(|(id, answer)| match id {
        Some(id) if told.is_all => format!("{id}  {}", text(answer, told.from)),
        _ => text(answer, told.from),
    });
    let texts: String = texts.collect();
    if texts.is_empty() {
        let root = local::root(place, args.repo.as_deref())?;
        out.note(&format!("no daemon in `{}` has a schedule", root.display()));
    }
    out.text(&texts)?;
    match &told.answers[..] {
        [(Some(id), answer)] if !told.is_all => {
            last_ticks(id, answer.schedule.zone(), place, out).await
        }
        _ => Ok(()),
    }
}

/// Returns the members of the object that programs get.
pub(crate) fn answer(args: &Next, place: &Place) -> Result<Map<String, Value>, Failure> {
    Told::read(args, place).map(|told| told.members())
}

/// The schedules that were asked about.
struct Told {
    from: Timestamp,
    answers: Vec<(Option<String>, Answer)>,
    /// Whether all schedules of a repository were asked for.
    is_all: bool,
    /// What is wrong with others.
    problems: Vec<String>,
}

impl Told {
    fn read(args: &Next, place: &Place) -> Result<Self, Failure> {
        if args.count > MAX_TIMES {
            return Err(Failure::usage(format!(
                "-n is {}, at most {MAX_TIMES} are told",
                args.count
            )));
        }
        let from = match &args.from {
            None => daemon_host::random::now(),
            Some(text) => instant(text)?,
        };
        let mut told = Self {
            from,
            answers: Vec::new(),
            is_all: false,
            problems: Vec::new(),
        };
        if let Some(expression) = &args.cron {
            let zone = zone(args.tz.as_deref().unwrap_or("UTC"))?;
            let answer = due(expression, &zone, from, args.count)?;
            told.answers.push((None, answer));
            return Ok(told);
        }
        let root = local::root(place, args.repo.as_deref())?;
        let zones = Zones::read(args, &root, place)?;
        match &args.id {
            Some(id) => told.one(id, &root, &zones, args.count)?,
            None => told.all(&root, &zones, args.count)?,
        }
        Ok(told)
    }

    fn one(&mut self, id: &str, root: &Path, zones: &Zones, count: u32) -> Result<(), Failure> {
        let daemon = local::daemon(root, id)?;
        let zone = zones.of(id)?;
        let Some(expression) = daemon.schedule() else {
            let message = format!("`{id}` has no `schedule`; it wakes on events");
            return Err(Failure::new(Exit::NoInput, "no-schedule", message));
        };
        let answer = due(expression, &zone, self.from, count)?;
        self.answers.push((Some(id.to_owned()), answer));
        Ok(())
    }

    fn all(&mut self, root: &Path, zones: &Zones, count: u32) -> Result<(), Failure> {
        self.is_all = true;
        for daemon in local::daemons(root)? {
            let Some(expression) = daemon.schedule() else {
                continue;
            };
            let id = daemon.id().to_owned();
            match due(expression, &zones.of(&id)?, self.from, count) {
                Ok(answer) => self.answers.push((Some(id), answer)),
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

/// The zones that daemons' schedules are read in: one for all, else the configured ones.
enum Zones {
    One(Zone),
    Configured {
        config: Box<Config>,
        repo: RepoName,
        zone: Option<String>,
    },
}

impl Zones {
    fn read(args: &Next, root: &Path, place: &Place) -> Result<Self, Failure> {
        if let Some(name) = &args.tz {
            return Ok(Self::One(zone(name)?));
        }
        let config = Composer::new(place, Overrides::default()).load()?;
        let (repo, zone) = named(root, &config, place);
        let zone = zone.map(str::to_owned);
        Ok(Self::Configured {
            config: Box::new(config),
            repo,
            zone,
        })
    }

    fn of(&self, daemon: &str) -> Result<Zone, Failure> {
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

/// Tells a person the last ticks of a daemon, where a home has recorded some.
async fn last_ticks(id: &str, zone: &Zone, place: &Place, out: Out) -> Result<(), Failure> {
    let has_store = place
        .home
        .as_deref()
        .is_some_and(|home| Home::existing(home).is_some());
    if out.is_json() || !has_store {
        return Ok(());
    }
    let mut session = Session::open(place, Intent::Look).await?;
    let mut params = parameter("daemon", id);
    params.insert("limit".to_owned(), json!(LAST_TICKS));
    let answer = session.call(Operation::TickList, params).await?;
    let mut text = String::new();
    for tick in answer["ticks"].as_array().into_iter().flatten() {
        put!(text, "  last  {}\n", last_tick(tick, zone));
    }
    out.text(&text)
}

/// Tells what became of a tick, or of the ticks of a range.
fn last_tick(tick: &Value, zone: &Zone) -> String {
    let told = |name: &str| tick[name].as_str().unwrap_or_default();
    let instant = |name: &str| told(name).parse::<Timestamp>().ok();
    let scheduled = instant("scheduled_at");
    let at = scheduled.map_or_else(String::new, |at| moment(at, zone));
    let mut text = format!("{at}  {}", told("outcome"));
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

/// Reads an instant as the command line gives it.
pub(crate) fn instant(text: &str) -> Result<Timestamp, Failure> {
    text.parse().map_err(|error| {
        let failure = Failure::usage(format!("`{text}` is not an instant: {error}"));
        failure.help("RFC 3339, such as 2026-11-23T14:30:00Z")
    })
}

/// Looks a zone up.
pub(crate) fn zone(name: &str) -> Result<Zone, Failure> {
    match TimeZone::get(name) {
        Ok(zone) => Ok(Zone::new(zone)),
        Err(_) => {
            let failure = Failure::usage(format!("`{name}` is not a time zone"));
            Err(failure.help("name a zone of the IANA database, such as `Europe/Berlin`"))
        }
    }
}

fn due(expression: &str, zone: &Zone, from: Timestamp, count: u32) -> Result<Answer, Failure> {
    let parsed: CronExpr = expression
        .parse()
        .map_err(|error: daemon_cron::Error| refused(expression, &error))?;
    let schedule = Schedule::new(parsed, zone.clone());
    let times: Vec<Timestamp> =
        std::iter::successors(schedule.next_after(from), |at| schedule.next_after(*at))
            .take(usize::try_from(count).expect("a count fits"))
            .collect();
    let is_never = schedule.next_after(from).is_none();
    Ok(Answer {
        expression: expression.trim().to_owned(),
        schedule,
        times,
        is_never,
    })
}

fn refused(expression: &str, error: &daemon_cron::Error) -> Failure {
    let Some(first) = error.problems().first() else {
        return Failure::bug(format!("`{expression}` was refused without a problem"));
    };
    let messages: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    Failure::new(Exit::Invalid, first.code(), messages.join("; ")).help(first.help.to_string())
}

fn members(answer: &Answer) -> Map<String, Value> {
    let times: Vec<String> = answer.times.iter().map(ToString::to_string).collect();
    let mut map = Map::new();
    map.insert("expression".to_owned(), json!(answer.expression));
    map.insert("zone".to_owned(), json!(answer.schedule.zone().name()));
    map.insert("times".to_owned(), json!(times));
    map.insert("never".to_owned(), json!(answer.is_never));
    map
}

fn text(answer: &Answer, from: Timestamp) -> String {
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

/// Writes an instant in UTC and as clocks of the zone show it.
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
    fn a_past_tick_is_told_by_the_clocks_of_its_zone_with_what_became_of_it() {
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
