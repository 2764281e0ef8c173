//! The driver of the dispatcher: passes events to it and performs its effects.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use daemon_dispatch::{
    ClaimLimits, Concern, Dispatcher, HostEffect, HostEvent, Now, Retentions, Settings,
};
use daemon_engine::{Activation, RunLease};
use daemon_event::ActivationId;
use daemon_provider::StopReason;
use daemon_runner::defect::guarded;
use daemon_store::StoreError;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::effects::{Done, Performer, space_read};
use super::host::Host;
use crate::config::{Config, Retention};

/// The concerns that begin after the first readings; before, only the disk is watched.
const AFTER_READING: [Concern; 5] = [
    Concern::Claims,
    Concern::Leases,
    Concern::Matching,
    Concern::Outputs,
    Concern::Sweeps,
];

/// Runs the dispatcher of a host until the host stops and its runs have ended. Until `begin` is cancelled, the dispatcher only
/// watches the disk.
pub(super) async fn run(host: Arc<Host>, begin: CancellationToken) {
    let mut driver = Driver::new(&host, &[Concern::Disk]);
    if let Some(left) = host.claims.left() {
        driver.pause_claims(left);
    }
    driver.handle(HostEvent::Time);
    let (mut has_begun, mut is_stopping) = (false, false);
    while !driver.is_finished() {
        let signals = &host.signals;
        let event = tokio::select! {
            () = host.stop().cancelled(), if !is_stopping => {
                is_stopping = true;
                HostEvent::StopRequested
            }
            () = begin.cancelled(), if !has_begun => {
                has_begun = true;
                HostEvent::Began(AFTER_READING.to_vec())
            }
            () = signals.claims.notified() => HostEvent::Nudged(Concern::Claims),
            () = signals.matches.notified() => HostEvent::Nudged(Concern::Matching),
            () = signals.outputs.notified() => HostEvent::Nudged(Concern::Outputs),
            event = driver.next() => event,
        };
        driver.handle(event);
    }
}

/// A dispatcher and the tasks that perform its effects.
pub(crate) struct Driver {
    host: Arc<Host>,
    dispatcher: Dispatcher,
    performer: Performer,
    /// The generation of the configuration that the dispatcher has.
    generation: u64,
    /// The provider of all attempts; `None` for the configured one.
    provider: Option<String>,
    /// Results of effects that were performed at once.
    ready: VecDeque<HostEvent>,
    effects: JoinSet<Done>,
    attempts: JoinSet<(ActivationId, RunLease, Option<StoreError>)>,
    /// The newest failure of the store, for callers that do not try again.
    failure: Option<StoreError>,
}

impl Driver {
    /// Creates a driver for some concerns.
    pub(crate) fn new(host: &Arc<Host>, concerns: &[Concern]) -> Self {
        let runtime = host.runtime();
        let settings = settings(host, &runtime.config);
        Self {
            dispatcher: Dispatcher::new(settings, concerns, now(host)),
            performer: Performer::new(host),
            host: Arc::clone(host),
            generation: runtime.generation,
            provider: None,
            ready: VecDeque::new(),
            effects: JoinSet::new(),
            attempts: JoinSet::new(),
            failure: None,
        }
    }

    /// Executes all attempts with one provider; `None` keeps the configured one.
    pub(crate) fn with_provider(mut self, provider: Option<&str>) -> Self {
        self.provider = provider.map(str::to_owned);
        self
    }

    fn pause_claims(&mut self, left: Duration) {
        let until = self.host.registrations.clock.since_boot() + left;
        self.dispatcher.pause_claims(until);
    }

    /// Hands an event to the dispatcher, and begins what it decides.
    pub(crate) fn handle(&mut self, event: HostEvent) {
        let mut effects = Vec::new();
        let now = now(&self.host);
        let runtime = self.host.runtime();
        // Before the event, which is to be decided by the configuration in force.
        if runtime.generation != self.generation {
            self.generation = runtime.generation;
            let settings = Box::new(settings(&self.host, &runtime.config));
            self.dispatcher
                .handle(HostEvent::Configured(settings), now, &mut effects);
        }
        self.dispatcher.handle(event, now, &mut effects);
        for effect in effects {
            self.begin(effect);
        }
    }

    /// Waits for the next result or deadline. It can be cancelled without losing an event.
    pub(crate) async fn next(&mut self) -> HostEvent {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return event;
            }
            let wait = self.wait();
            let asleep = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                Some(done) = self.effects.join_next() => self.done(done),
                Some(ended) = self.attempts.join_next() => self.ended(ended),
                () = asleep => Some(HostEvent::Time),
            };
            if let Some(event) = event {
                return event;
            }
        }
    }

    /// Returns the time until the dispatcher's next deadline.
    pub(crate) fn wait(&self) -> Option<Duration> {
        let deadline = self.dispatcher.next_deadline()?;
        let clock = &self.host.registrations.clock;
        Some(clock.timer(deadline.saturating_sub(clock.since_boot())))
    }

    /// Handles events until no effect and no attempt is in progress.
    ///
    /// # Errors
    /// If the store failed meanwhile.
    pub(crate) async fn until_quiet(&mut self) -> Result<(), StoreError> {
        while self.is_busy() {
            let event = self.next().await;
            self.handle(event);
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    fn is_busy(&self) -> bool {
        !(self.ready.is_empty() && self.effects.is_empty() && self.attempts.is_empty())
    }

    fn is_finished(&self) -> bool {
        self.dispatcher.is_finished() && !self.is_busy()
    }

    fn begin(&mut self, effect: HostEffect) {
        match effect {
            // Not spawned, because `statvfs` takes a microsecond.
            HostEffect::ReadDisk => self.ready.push_back(space_read(&self.performer)),
            HostEffect::Execute(activation) => self.execute(*activation),
            HostEffect::StopUnleased(id) => self.host.runs().stop(&id, StopReason::LostLease),
            HostEffect::StopRuns => self.host.runs().context.stop_all(StopReason::AgentStop),
            HostEffect::AbandonRuns => {
                tracing::warn!("runs did not end in time; the next start takes them back");
                self.attempts.abort_all();
            }
            HostEffect::GiveUp => self.host.failures.broken.cancel(),
            HostEffect::NoteBacklog(waiting) => self.host.matcher.backlog.set(waiting),
            HostEffect::Reserve(reserve) => self.performer.keep_reserve(reserve),
            HostEffect::SpaceChanged(_) => self.performer.space_changed(),
            effect => {
                let performer = self.performer.clone();
                self.effects.spawn(performer.perform(effect));
            }
        }
    }

    fn execute(&mut self, activation: Activation) {
        let (host, provider) = (Arc::clone(&self.host), self.provider.clone());
        self.attempts.spawn(async move {
            let runs = &host.runs().context;
            let (id, lease) = (activation.id.clone(), activation.run_lease);
            let work = daemon_runner::attempt::attempt(runs, activation, provider.as_deref());
            let failure = match guarded(Box::pin(work)).await {
                Ok(Ok(_)) => None,
                Ok(Err(error)) => {
                    let chain = daemon_records::error::chain(&error);
                    tracing::error!(activation = %id, error = %chain, "an attempt could not be ended");
                    Some(error)
                }
                // What panics outside of the work of an attempt cannot commit its end.
                Err(defect) => {
                    tracing::error!(activation = %id, %defect, "the end of an attempt panicked; its lease will expire");
                    None
                }
            };
            runs.lifetime.ended.notify_waiters();
            (id, lease, failure)
        });
    }

    fn done(&mut self, done: Result<Done, JoinError>) -> Option<HostEvent> {
        // An effect catches its own panics, and none is ever aborted.
        let Done { event, failure } = done.expect("an effect reports its result");
        self.failure = failure.or(self.failure.take());
        if let HostEvent::Settled(output) = &event {
            self.host.trace(&output.activation);
        }
        Some(event)
    }

    fn ended(
        &mut self,
        ended: Result<(ActivationId, RunLease, Option<StoreError>), JoinError>,
    ) -> Option<HostEvent> {
        // An abandoned attempt is taken back by the next host.
        let (id, lease, failure) = ended.ok()?;
        self.host.trace(&id);
        self.failure = failure.or(self.failure.take());
        Some(HostEvent::AttemptEnded(id, lease))
    }
}

fn now(host: &Host) -> Now {
    Now {
        wall: host.registrations.clock.now(),
        since_boot: host.registrations.clock.since_boot(),
    }
}

/// Returns the settings of a dispatcher from the configuration.
pub(super) fn settings(host: &Host, config: &Config) -> Settings {
    let kept = |retention: Retention| match retention {
        Retention::For(period) => Some(period.signed()),
        Retention::Forever => None,
    };
    Settings {
        epoch: host.upkeep.epoch,
        limits: ClaimLimits {
            host_slots: config.limits.host,
            daemon_slots: config.limits.daemon,
            rates: config.limits.rates(),
            day_usd: config.budget.day_usd,
        },
        drain: config.host.drain.unsigned(),
        kept: Retentions {
            payloads: kept(config.retain.payloads),
            ticks: kept(config.retain.ticks),
            runs: kept(config.retain.runs),
        },
        surfaces: host.runtime().parts.surfaces.keys().cloned().collect(),
    }
}
