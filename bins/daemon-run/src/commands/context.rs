//! `context`: the exact bytes that a provider receives.

use daemon_engine::{Activation, ActivationState, DaemonState, Gate, RunLease, Trigger};
use daemon_event::{DaemonKey, TriggerKey};
use daemon_host::config::Capability;
use daemon_host::context::{Built, Ingredients, build};
use daemon_host::fire::FiredEvent;
use daemon_host::random;
use daemon_host::registry::{Definition, Registered, SupportEntry};
use daemon_provider::{Limits, MicroUsd};
use daemon_repo::{Content, DaemonSource};
use daemon_store::{DaemonRow, EventRow, Matching, Modes, ScheduleText, Validity};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::cli::Context;
use crate::event_input;
use crate::failure::{Exit, Failure};
use crate::local::{self, LocalDaemon};
use crate::out::Out;
use crate::place::Place;

/// Why a daemon would wake, as the command line says it.
pub(crate) enum Why {
    /// A person asks.
    Person,
    /// Its schedule is due.
    Tick(Timestamp),
    /// An event came.
    Event(Box<FiredEvent>),
}

impl Why {
    /// Reads the flags that say why.
    pub(crate) fn read(
        event: &crate::cli::EventArgs,
        tick: Option<&str>,
        place: &Place,
    ) -> Result<Self, Failure> {
        match (event_input::read(event, place)?, tick) {
            (Some(event), _) => Ok(Self::Event(Box::new(event))),
            (None, Some(tick)) => {
                let at = super::next::instant(tick)?;
                daemon_host::fire::FireTrigger::tick(at)?;
                Ok(Self::Tick(at))
            }
            (None, None) => Ok(Self::Person),
        }
    }
}

/// An activation that is only imagined, with what would be told of it.
pub(crate) struct Imagined {
    /// The daemon.
    pub(crate) daemon: Registered,
    /// The activation.
    pub(crate) activation: Activation,
    /// The context.
    pub(crate) built: Built,
    /// Whether the event meets a condition; true without an event.
    pub(crate) wakes: bool,
}

/// Prints the bytes, or what they are made of.
pub(crate) fn run(args: &Context, place: &Place, out: Out) -> Result<(), Failure> {
    let root = local::root(&place.directory, args.repo.as_deref());
    let daemon = local::daemon(&root, &args.id)?;
    let why = Why::read(&args.event, args.tick.as_deref(), place)?;
    let imagined = imagine(
        &local_registered(&daemon)?,
        &why,
        Capability::Propose,
        None,
        random::now(),
    )?;
    if out.is_json() {
        let mut map = Map::new();
        map.insert("bytes".to_owned(), json!(imagined.built.bytes.len()));
        map.insert("sha256".to_owned(), json!(imagined.built.context.sha256()));
        map.insert(
            "daemon_file_sha256".to_owned(),
            json!(imagined.built.context.daemon_file_sha256()),
        );
        map.insert("sections".to_owned(), sections(&imagined.built));
        map.insert(
            "text".to_owned(),
            json!(String::from_utf8_lossy(&imagined.built.bytes)),
        );
        return out.envelope(map);
    }
    out.bytes(&imagined.built.bytes)
}

/// Writes the sections of a context for programs.
pub(crate) fn sections(built: &Built) -> Value {
    let sections = built.context.sections().iter().map(|section| {
        let trusted = section.trust == daemon_context::Trust::Trusted;
        json!({"name": section.name, "bytes": section.bytes, "trusted": trusted})
    });
    Value::Array(sections.collect())
}

/// Treats a daemon of a working tree as if it were registered.
pub(crate) fn local_registered(daemon: &LocalDaemon) -> Result<Registered, Failure> {
    registered(&daemon.source, daemon, "local")
}

/// Treats a daemon as if it were registered in a repository.
pub(crate) fn registered(
    source: &DaemonSource,
    daemon: &LocalDaemon,
    repo: &str,
) -> Result<Registered, Failure> {
    if !matches!(source.content, Content::Text(_)) {
        let message = format!("`{}` cannot be read", source.path());
        return Err(Failure::new(Exit::NoInput, "unreadable", message));
    }
    let bug = |error: daemon_event::InvalidId| {
        Failure::new(Exit::Invalid, "invalid-daemon", error.to_string())
    };
    let support = source.support.files.iter().map(|file| SupportEntry {
        path: file.path.as_str().to_owned(),
        bytes: file.size,
        executable: file.executable,
    });
    let definition = Definition {
        v: 1,
        watch: daemon.watch(),
        support: support.collect(),
    };
    let schedule = daemon
        .schedule()
        .filter(|text| text.parse::<daemon_cron::CronExpr>().is_ok());
    let row = DaemonRow {
        key: DaemonKey {
            repo: repo.parse().map_err(bug)?,
            id: daemon.id().parse().map_err(bug)?,
        },
        path: source.path(),
        rev: source.rev.as_str().to_owned(),
        commit: String::new(),
        purpose: String::new(),
        validity: Validity::Valid,
        diagnostics: "[]".to_owned(),
        modes: Modes {
            watch: !definition.watch.is_empty(),
            schedule: schedule.is_some(),
        },
        definition: serde_json::to_string(&definition)
            .map_err(|error| Failure::bug(error.to_string()))?,
        schedule: schedule.map(|text| ScheduleText {
            expression: text.to_owned(),
            zone: "UTC".to_owned(),
        }),
        gate: Gate::Open,
        failures: 0,
        since_seq: 0,
        registered_at: Timestamp::UNIX_EPOCH,
    };
    Ok(Registered::new(row).with_source(source.clone()))
}

/// Imagines an activation and builds its context; nothing is written.
pub(crate) fn imagine(
    daemon: &Registered,
    why: &Why,
    capability: Capability,
    cap: Option<u64>,
    now: Timestamp,
) -> Result<Imagined, Failure> {
    let mut events = Vec::new();
    let mut conditions = Vec::new();
    let key = match why {
        Why::Person => TriggerKey::Person("dry-run".into()),
        Why::Tick(at) => TriggerKey::Tick(*at),
        Why::Event(fired) => {
            let event = fired.event(now)?;
            conditions = daemon.met_by(&event);
            let key = TriggerKey::Event(event.id.clone());
            events.push(EventRow {
                seq: 1,
                event,
                duplicates: 0,
                matching: Matching::Done,
                triggers: Vec::new(),
            });
            key
        }
    };
    let wakes = events.is_empty() || !conditions.is_empty();
    let activation = Activation {
        id: random::activation_id(now),
        daemon: daemon.row.key.clone(),
        rev: daemon.row.rev.clone(),
        subject: events.first().and_then(|row| row.event.subject.clone()),
        triggers: vec![Trigger {
            key,
            conditions,
            by: None,
            recorded_at: now,
        }],
        state: ActivationState::Pending,
        reason: None,
        attempts: 0,
        host_crashes: 0,
        run_lease: RunLease(0),
        owner: None,
        lease_until: None,
        not_before: now,
        created_at: now,
        started_at: None,
        finished_at: None,
        tokens: None,
        cost_usd: None,
        summary: None,
    };
    let file = match daemon.source.as_ref().map(|source| &source.content) {
        Some(Content::Text(bytes)) => std::sync::Arc::clone(bytes),
        _ => return Err(Failure::bug("a daemon without a file was imagined")),
    };
    let limits = Limits {
        budget: Some(MicroUsd(1_000_000)),
        ..Limits::default()
    };
    let built = build(&Ingredients {
        daemon,
        file: &file,
        activation: &activation,
        events: &events,
        state: &DaemonState::default(),
        capability,
        limits: &limits,
        cap,
        now,
    })
    .map_err(|error| Failure::new(Exit::Refused, "context-too-large", error.to_string()))?;
    Ok(Imagined {
        daemon: daemon.clone(),
        activation,
        built,
        wakes,
    })
}
