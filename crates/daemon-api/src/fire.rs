//! Firing: wakes a daemon for a person, with an event, a tick, or neither.

use std::sync::Arc;

use daemon_engine::{Admission, Gate, Joining, NewTrigger, Occasion, Trigger};
use daemon_event::{
    ActivationId, DaemonKey, DeliveryId, Enrichment, Event, RepoName, Source, Subject, TriggerKey,
    read,
};
use daemon_records::error::{OpError, OpErrorKind};
use daemon_records::random;
use daemon_registry::{Registered, Registry};
use daemon_store::{Matching, NewEvent, Store};
use daemon_watch::corpus::EnvelopeFacts;
use jiff::Timestamp;
use serde_json::Value;

use crate::intake;
use crate::ops::Params;

/// A request to wake a daemon.
#[derive(Clone, Debug)]
pub struct Fire {
    /// The id of the daemon.
    pub daemon: String,
    /// The repository of the daemon; needed if two repositories have a daemon of this id.
    pub repo: Option<RepoName>,
    /// The trigger of the activation.
    pub trigger: FireTrigger,
    /// The name of the caller, which the trigger records.
    pub by: Option<String>,
}

/// The time of a request, and whether activations may start then.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The time of the request.
    pub now: Timestamp,
    /// The reason if no run may start, for example a full disk.
    pub pause: Option<String>,
    /// Whether the budget of the day is used up.
    pub is_over_budget: bool,
}

/// The trigger that a person chose.
#[derive(Clone, Debug)]
pub enum FireTrigger {
    /// The person alone; the request id identifies a repeated request.
    Person(String),
    /// A tick of the daemon's schedule.
    Tick(Timestamp),
    /// An event that matches one of the daemon's conditions.
    Event(Box<FiredEvent>),
}

/// An event that a person provides.
#[derive(Clone, Debug)]
pub struct FiredEvent {
    /// The service that the event is from.
    pub source: Source,
    /// The service's name for the kind, such as `pull_request`.
    pub kind: String,
    /// The payload as the service sends it.
    pub body: Vec<u8>,
    /// The service's delivery id; by default derived from a hash of the body.
    pub delivery: Option<String>,
    /// Facts that the body does not contain.
    pub enrichment: Enrichment,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    /// The activation; `None` if the event matches no condition.
    pub activation: Option<ActivationId>,
    /// Whether an earlier request made the activation.
    pub is_duplicate: bool,
}

impl FiredEvent {
    /// Parses the body.
    ///
    /// # Errors
    /// If the body is not a payload of the source and kind, or the delivery id is invalid.
    pub fn event(&self, now: Timestamp) -> Result<Event, OpError> {
        let refused =
            |message: String| OpError::new(OpErrorKind::InvalidInput, "invalid-event", message);
        let reading = read(self.source, &self.kind, &self.body, &self.enrichment)
            .map_err(|error| refused(error.to_string()))?;
        let delivery = match &self.delivery {
            Some(delivery) => delivery
                .parse()
                .map_err(|error| refused(format!("delivery id: {error}")))?,
            // The same body without an id is the same delivery, as it is for a webhook.
            None => body_delivery(&self.body),
        };
        Ok(Event {
            id: random::event_id(now),
            source: self.source,
            kind: self.kind.clone(),
            action: reading.action,
            subject: reading.subject,
            actor: reading.actor,
            repo: reading.repo,
            time: reading.time.unwrap_or(now),
            received_at: now,
            delivery,
            facts: reading.facts,
            payload: Arc::from(self.body.as_slice()),
        })
    }

    /// Reads an event from parameters.
    ///
    /// # Errors
    /// If a parameter is missing, unknown or invalid.
    pub(crate) fn take(mut params: Params) -> Result<Self, OpError> {
        let source = params.required("source")?;
        let source = source
            .parse()
            .map_err(|error| OpError::invalid(format!("`source`: {error}")))?;
        let kind = params.required("kind")?;
        let body = match params.value("payload") {
            Some(Value::String(text)) => text.into_bytes(),
            Some(value) => value.to_string().into_bytes(),
            None => return Err(OpError::invalid("`payload` is missing")),
        };
        let delivery = params.text("delivery_id")?;
        let mut enrichment: Enrichment = match params.value("enrichment") {
            None => Enrichment::default(),
            Some(value) => serde_json::from_value::<EnvelopeFacts>(value)
                .map_err(|error| OpError::invalid(format!("`enrichment`: {error}")))?
                .into(),
        };
        if let Some(value) = params.value("changed_files") {
            let files = serde_json::from_value(value)
                .map_err(|error| OpError::invalid(format!("`changed_files`: {error}")))?;
            enrichment.changed_files = Some(files);
        }
        params.finish()?;
        Ok(Self {
            source,
            kind,
            body,
            delivery,
            enrichment,
        })
    }
}

fn body_delivery(body: &[u8]) -> DeliveryId {
    format!("sha256:{}", daemon_run_folder::sha256(body))
        .parse()
        .expect("a hash is a delivery id")
}

impl FireTrigger {
    /// Reads the trigger from parameters: `event`, `tick`, or neither.
    ///
    /// # Errors
    /// If both are given, or one is invalid.
    pub(crate) fn take(params: &mut Params) -> Result<Self, OpError> {
        let tick = params.text("tick")?;
        let event = params.value("event");
        let request = params.request_id()?;
        match (event, tick) {
            (Some(_), Some(_)) => Err(OpError::invalid("`event` and `tick` exclude each other")),
            (None, Some(tick)) => {
                let at = tick
                    .parse()
                    .map_err(|error| OpError::invalid(format!("`tick`: {error}")))?;
                Self::tick(at)
            }
            (Some(Value::Object(map)), None) => {
                Ok(Self::Event(Box::new(FiredEvent::take(Params::new(map))?)))
            }
            (Some(_), None) => Err(OpError::invalid("`event` must be an object")),
            // Without a request id every request is a new one.
            (None, None) => Ok(Self::Person(request.unwrap_or_else(|| random::hex(8)))),
        }
    }

    /// Creates the trigger of a tick.
    ///
    /// # Errors
    /// If the instant is not a whole minute.
    pub fn tick(at: Timestamp) -> Result<Self, OpError> {
        // A schedule is due at whole minutes only, and the instant is part of the trigger's key.
        if at.as_second() % 60 != 0 || at.subsec_nanosecond() != 0 {
            return Err(OpError::invalid(format!(
                "a tick is on a whole minute, found {at}"
            )));
        }
        Ok(Self::Tick(at))
    }
}

/// A request whose event is parsed.
enum Request {
    Person(TriggerKey),
    Tick(Timestamp),
    Event(Box<NewEvent>),
}

impl Request {
    fn read(trigger: &FireTrigger, now: Timestamp) -> Result<Self, OpError> {
        Ok(match trigger {
            FireTrigger::Person(request) => {
                Self::Person(TriggerKey::Person(request.as_str().into()))
            }
            FireTrigger::Tick(at) => Self::Tick(*at),
            FireTrigger::Event(fired) => {
                // Only the named daemon is woken, so the matching loop must not match the event with all daemons.
                let new = intake::new_event(fired.event(now)?, Matching::Done);
                Self::Event(Box::new(new))
            }
        })
    }

    /// Returns the activation that an earlier, equal request made.
    async fn known(
        &self,
        store: &dyn Store,
        daemon: &DaemonKey,
    ) -> Result<Option<ActivationId>, OpError> {
        let key = match self {
            Self::Person(key) => key.clone(),
            Self::Tick(at) => TriggerKey::Tick(*at),
            Self::Event(new) => match store.known(new).await? {
                Some(id) => TriggerKey::Event(id),
                None => return Ok(None),
            },
        };
        Ok(store.triggered(daemon, &key).await?)
    }

    /// Stores the event of the request and returns the trigger's parts; `None` if the event matches no condition.
    async fn wake(self, store: &dyn Store, daemon: &Registered) -> Result<Option<Wake>, OpError> {
        let wake = match self {
            Self::Person(key) => Wake {
                key,
                subject: None,
                conditions: Vec::new(),
                occasion: None,
                joining: Joining::Separate,
            },
            Self::Tick(at) => {
                has_schedule(daemon)?;
                Wake {
                    key: TriggerKey::Tick(at),
                    // Ticks have their own subject, so that a tick never joins the activation of an event.
                    subject: Some(daemon_store::tick_subject()),
                    conditions: Vec::new(),
                    occasion: occasion(daemon, at).map(Arc::new),
                    joining: Joining::Separate,
                }
            }
            Self::Event(new) => {
                let conditions = daemon.met_by(&new.event);
                if conditions.is_empty() {
                    return Ok(None);
                }
                let subject = new.event.subject.clone();
                let accepted = store.accept(vec![*new]).await?;
                let stored = accepted.into_iter().next().ok_or_else(|| {
                    let message = "the store answered for no event";
                    OpError::new(OpErrorKind::Internal, "internal", message)
                })?;
                Wake {
                    key: TriggerKey::Event(stored.id),
                    subject,
                    conditions,
                    occasion: None,
                    joining: Joining::Coalesce,
                }
            }
        };
        Ok(Some(wake))
    }
}

/// The parts of a trigger that depend on its kind.
struct Wake {
    key: TriggerKey,
    subject: Option<Subject>,
    conditions: Vec<u32>,
    occasion: Option<Arc<Occasion>>,
    joining: Joining,
}

/// Enqueues the activation of a request, as events and ticks do. An equal earlier request returns its activation, even if no
/// new one could be made.
///
/// # Errors
/// If the daemon does not exist, is invalid, held or tripped, the host is held, no run may start, or a queue is full.
pub async fn submit(
    store: &dyn Store,
    registry: &Registry,
    fire: &Fire,
    moment: Moment,
) -> Result<Fired, OpError> {
    let now = moment.now;
    let daemon = registry.find(&fire.daemon, fire.repo.as_ref())?;
    let request = Request::read(&fire.trigger, now)?;
    // Before all other checks: a caller that repeats a request does not know whether the first one arrived.
    if let Some(known) = request.known(store, &daemon.row.key).await? {
        return Ok(Fired {
            activation: Some(known),
            is_duplicate: true,
        });
    }
    check_start(store, daemon, moment).await?;
    let Some(wake) = request.wake(store, daemon).await? else {
        return Ok(Fired {
            activation: None,
            is_duplicate: false,
        });
    };
    let trigger = NewTrigger {
        daemon: daemon.row.key.clone(),
        rev: daemon.row.rev.clone(),
        subject: wake.subject,
        trigger: Trigger {
            key: wake.key,
            conditions: wake.conditions,
            by: fire.by.clone(),
            occasion: wake.occasion,
            recorded_at: now,
        },
        activation_id: random::activation_id(now),
        not_before: now,
        joining: wake.joining,
        link: None,
    };
    fired(store.enqueue(trigger).await?)
}

/// Fails if a new activation of the daemon could not start.
async fn check_start(
    store: &dyn Store,
    daemon: &Registered,
    moment: Moment,
) -> Result<(), OpError> {
    may_start(daemon)?;
    if store.host_gate().await? != Gate::Open {
        let held = OpError::new(OpErrorKind::Busy, "held", "the host is held");
        return Err(held.with_help("daemon-run go"));
    }
    if let Some(why) = moment.pause {
        return Err(OpError::new(OpErrorKind::Busy, "paused", why));
    }
    match moment.is_over_budget {
        true => Err(OpError::new(
            OpErrorKind::Forbidden,
            "over-budget",
            "the budget of the day is used up",
        )
        .with_help("raise `budget.day_usd`, or fire again later: it counts the last 24 hours")),
        false => Ok(()),
    }
}

fn fired(admission: Admission) -> Result<Fired, OpError> {
    match admission {
        Admission::Enqueued(id) | Admission::Joined(id) => Ok(Fired {
            activation: Some(id),
            is_duplicate: false,
        }),
        // A request of a person begins a new chain, so `Ended` cannot occur.
        Admission::Duplicate(id) | Admission::Ended(id, _, _) => Ok(Fired {
            activation: Some(id),
            is_duplicate: true,
        }),
        Admission::Refused(limit) => Err(OpError::new(
            OpErrorKind::Busy,
            limit.as_str(),
            format!("a queue is full: {}", limit.as_str()),
        )),
    }
}

/// Returns the expression, zone and local time of a tick.
fn occasion(daemon: &Registered, at: Timestamp) -> Option<Occasion> {
    let (expression, _) = daemon.schedule_text()?;
    let zone = daemon.schedule.as_ref()?.zone();
    Some(daemon_store::occasion(
        expression.to_owned(),
        zone,
        at,
        None,
    ))
}

/// Checks that a daemon has a schedule, since a tick is an instant of a schedule.
///
/// # Errors
/// If it has no schedule.
pub fn has_schedule(daemon: &Registered) -> Result<(), OpError> {
    if daemon.row.schedule.is_some() {
        return Ok(());
    }
    let id = daemon.row.key.id.as_str();
    Err(OpError::new(
        OpErrorKind::NotFound,
        "no-schedule",
        format!("`{id}` has no `schedule`; it wakes on events"),
    ))
}

/// Fails if a daemon is invalid, held or tripped.
fn may_start(daemon: &Registered) -> Result<(), OpError> {
    let id = daemon.row.key.id.as_str();
    if !daemon.is_valid() {
        let error = OpError::new(
            OpErrorKind::InvalidInput,
            "invalid-daemon",
            format!("the file of `{id}` has errors"),
        );
        return Err(error.with_help(format!("daemon-run lint {}", daemon.row.path)));
    }
    match daemon.row.gate {
        Gate::Open => Ok(()),
        Gate::Held => Err(
            OpError::new(OpErrorKind::Busy, "held", format!("`{id}` is held"))
                .with_help(format!("daemon-run go {id}")),
        ),
        Gate::Tripped => Err(OpError::new(
            OpErrorKind::Busy,
            "tripped",
            format!("`{id}` failed too often in a row"),
        )
        .with_help(format!("fix it, then daemon-run go {id}"))),
    }
}
