//! The effects of the dispatcher on stores, surfaces and the home.

use std::sync::{Arc, Mutex};

use daemon_dispatch::{Concern, HostEffect, HostEvent, LONGEST_BEGINNING, Reserve};
use daemon_engine::{
    Found, Output, OutputKey, Settlement, Surface, SurfaceError, SurfaceErrorKind,
};
use daemon_records::clock::Clock;
use daemon_records::failpoint;
use daemon_records::random;
use daemon_runner::defect::guarded;
use daemon_runner::planner::OutputPlanner;
use daemon_store::decide::STATE_KEPT;
use daemon_store::{ClaimRequest, Store, StoreError};
use jiff::Timestamp;

use super::failures::Failures;
use super::host::Host;
use super::matching::{self, Matcher, RepositoryView};
use super::origin;
use super::run_directory::SharedRuntime;
use super::sending;
use super::slots;
use super::upkeep::{self, Upkeep};
use crate::disk::{self, Space};
use crate::home::Home;

/// The result of an effect.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) event: HostEvent,
    /// The failure behind the event, if the store failed.
    pub(super) failure: Option<StoreError>,
}

/// Performs effects; its clones share what they remember.
#[derive(Clone)]
pub(super) struct Performer {
    home: Home,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    runtime: SharedRuntime,
    matcher: Matcher,
    upkeep: Upkeep,
    failures: Arc<Failures>,
    recording: Arc<tokio::sync::Mutex<()>>,
    remembered: Remembered,
}

/// The state that effects keep between two calls.
#[derive(Clone)]
struct Remembered {
    /// Which events wait for the first reading of their repository.
    view: Arc<tokio::sync::Mutex<RepositoryView>>,
    /// The newest reading of the disk.
    space: Arc<Mutex<Space>>,
}

/// Examines the disk.
pub(super) fn space_read(performer: &Performer) -> HostEvent {
    let space = Space::of(performer.home.root());
    *performer.remembered.space.lock().expect("no holder panics") = space;
    HostEvent::SpaceRead(space.word())
}

impl Performer {
    pub(super) fn new(host: &Host) -> Self {
        Self {
            home: host.home.clone(),
            store: Arc::clone(&host.store),
            clock: Arc::clone(&host.registrations.clock),
            runtime: host.registrations.runtime.clone(),
            matcher: host.matcher.clone(),
            upkeep: host.upkeep.clone(),
            failures: Arc::clone(&host.failures),
            recording: Arc::clone(&host.ticks.recording),
            remembered: Remembered {
                view: Arc::default(),
                space: Arc::new(Mutex::new(Space::Enough { free: disk::LOW })),
            },
        }
    }

    pub(super) fn keep_reserve(&self, reserve: Reserve) {
        let home = self.home.root();
        match reserve {
            Reserve::SetAside => {
                if let Err(error) = disk::set_aside(home) {
                    tracing::debug!(%error, "no reserve could be set aside");
                }
            }
            Reserve::GiveUp => disk::give_up_reserve(home),
        }
    }

    /// Wakes the loops outside the dispatcher that wait for free space.
    pub(super) fn space_changed(&self) {
        let space = *self.remembered.space.lock().expect("no holder panics");
        match space.pause(self.home.root()) {
            Some(why) => tracing::warn!("disk: {why}"),
            None => tracing::info!("the disk of the home has room again"),
        }
        self.matcher.signals.ticks.notify_one();
        self.matcher.signals.repos.notify_waiters();
    }

    /// Performs an effect, and reports a failure of the store or a panic as its result.
    pub(super) async fn perform(self, effect: HostEffect) -> Done {
        let concern = effect.concern().expect("the driver performs the others");
        let (failed, panicked) = (effect.store_failed(concern), effect.panicked(concern));
        match guarded(Box::pin(self.performed(effect))).await {
            Ok(Ok(event)) => Done {
                event,
                failure: None,
            },
            Ok(Err(error)) => self.failed(concern, failed, error),
            Err(defect) => {
                let name = name(concern);
                tracing::error!(%defect, "the loop of {name} panicked; it begins again");
                self.failures.loop_panicked(name);
                Done {
                    event: panicked,
                    failure: None,
                }
            }
        }
    }

    fn failed(&self, concern: Concern, failed: HostEvent, error: StoreError) -> Done {
        match concern {
            // They are renewed five times before one ends.
            Concern::Leases => tracing::warn!(%error, "leases could not be renewed"),
            Concern::Claims => self
                .failures
                .store_failed("claims cannot reach the store", &error),
            Concern::Matching => self
                .failures
                .store_failed("matching cannot reach the store", &error),
            Concern::Outputs => self
                .failures
                .store_failed("the outbox cannot reach the store", &error),
            Concern::Sweeps => self
                .failures
                .store_failed("upkeep cannot reach the store", &error),
            Concern::Disk => {}
        }
        let event = match error {
            StoreError::Broken { .. } => HostEvent::StoreBroken(concern),
            _ => failed,
        };
        Done {
            event,
            failure: (concern != Concern::Leases).then_some(error),
        }
    }

    async fn performed(&self, effect: HostEffect) -> Result<HostEvent, StoreError> {
        let store = &self.store;
        let now = self.clock.now();
        Ok(match effect {
            HostEffect::Claim(request) => self.claim(request).await?,
            HostEffect::FindNextClaim => HostEvent::NextClaim(store.next_claim_at(now).await?),
            HostEffect::Renew { leases, until } => HostEvent::Renewed {
                lost: store.renew(leases, until).await?,
            },
            HostEffect::Match { after, view, claim } => {
                let claim = claim.map(|request| self.upkeep.runs.within_day(request));
                let mut seen = self.remembered.view.lock().await;
                let lease = claim.as_ref().map(|request| matching::Lease {
                    request,
                    recording: &self.recording,
                });
                let done = matching::round(&self.matcher, &mut seen, after, view, lease).await?;
                HostEvent::Matched(done.batch, done.claimed.map(Box::new))
            }
            HostEffect::FindDueOutputs { limit } => {
                let due = store.due_outputs(now, limit).await?;
                let planner = self.planner();
                HostEvent::OutputsDue(slots::without_waiting(&**store, &*planner, due, now).await?)
            }
            HostEffect::FindNextOutput => HostEvent::NextOutput(store.next_output_at(now).await?),
            HostEffect::HastenOutputs => {
                store.hasten_outputs(now).await?;
                HostEvent::OutputsHastened
            }
            HostEffect::BeginSend(key) => self.begin_send(&key).await?,
            HostEffect::Send(output) => self.send(&output).await,
            HostEffect::LookUp(output) => self.look_up(&output).await,
            HostEffect::Settle(key, settlement) => self.settle(&key, settlement).await?,
            HostEffect::TakeBack(_) => HostEvent::TakenBack(upkeep::take_back(&self.upkeep).await?),
            HostEffect::ClearStrays => {
                upkeep::clear_strays(&self.upkeep).await;
                HostEvent::StraysCleared
            }
            HostEffect::Expire => self.expire().await?,
            HostEffect::Forget {
                payloads,
                identities,
                ticks,
                runs,
            } => {
                store.retain(payloads, identities, ticks).await?;
                store.prune_roster(now).await?;
                store.forget_states(now - STATE_KEPT).await?;
                self.forget_runs(runs).await?;
                HostEvent::Forgotten
            }
            other => unreachable!("the driver performs {other:?} itself"),
        })
    }

    async fn claim(&self, request: ClaimRequest) -> Result<HostEvent, StoreError> {
        // What is claimed while ticks are recorded would take the processor from them.
        drop(self.recording.lock().await);
        let request = self.upkeep.runs.within_day(request);
        // The lease begins with the claim, not with the wait for the ticks.
        let claimed = self.store.claim(&request.at(self.clock.now())).await?;
        if claimed.is_some() {
            failpoint::hit("R1");
        }
        Ok(HostEvent::Claimed(claimed.map(Box::new)))
    }

    async fn expire(&self) -> Result<HostEvent, StoreError> {
        let expired = self.store.expire(self.clock.now()).await?;
        if expired > 0 {
            tracing::warn!(expired, "activations waited for a day and expired");
        }
        Ok(HostEvent::Expired)
    }

    async fn forget_runs(&self, before: Option<Timestamp>) -> Result<(), StoreError> {
        if let Some(before) = before {
            daemon_runner::runs::forget(&self.upkeep.runs.context, before).await?;
        }
        // The first round comes soon after the repositories were read, which takes more memory than their daemons keep.
        daemon_process::return_freed_memory();
        Ok(())
    }

    async fn begin_send(&self, key: &OutputKey) -> Result<HostEvent, StoreError> {
        failpoint::hit("O1");
        match self.store.begin_send(key).await {
            Ok(()) => {
                failpoint::hit("O2");
                Ok(HostEvent::SendBegun(key.clone()))
            }
            // Its activation was cancelled since it was read.
            Err(StoreError::Conflict { .. }) => Ok(HostEvent::SettledBefore(key.clone())),
            Err(error) => Err(error),
        }
    }

    async fn send(&self, output: &Output) -> HostEvent {
        let sent = match self.runtime.surface(&output.surface) {
            Some(surface) => {
                let begun = self.clock.since_boot();
                self.note_account(&*surface).await;
                match self.filled(output).await {
                    Ok(_) if self.clock.since_boot() >= begun + LONGEST_BEGINNING => {
                        let late = "the host was stopped before it was sent";
                        Err(SurfaceError::new(SurfaceErrorKind::Ambiguous, late))
                    }
                    Ok(output) => sending::deliver(&*surface, &output).await,
                    Err(error) => Err(error),
                }
            }
            None => Err(unconfigured(output)),
        };
        failpoint::hit("O4");
        let sent = sent.map_err(|error| self.without_secrets(error));
        HostEvent::Sent(output.key.clone(), sent, random::jitter())
    }

    /// Stores the account of a surface before its outputs can cause events, by which their origin is found.
    async fn note_account(&self, surface: &dyn Surface) {
        let noted = origin::note_account(&*self.store, surface, &*self.clock).await;
        if let Err(error) = noted {
            let what = "the account of a surface could not be stored";
            self.failures.store_failed(what, &error);
        }
    }

    async fn look_up(&self, output: &Output) -> HostEvent {
        failpoint::hit("O1");
        let found = match self.runtime.surface(&output.surface) {
            Some(_) if failpoint::is_planted("resend-without-read-back") => Ok(Found::Absent),
            Some(surface) => match self.filled(output).await {
                Ok(output) => surface.find(&output).await,
                Err(error) => Err(error),
            },
            None => Err(unconfigured(output)),
        };
        let found = found.map_err(|error| self.without_secrets(error));
        HostEvent::LookedUp(output.key.clone(), found, random::jitter())
    }

    async fn filled(&self, output: &Output) -> Result<Output, SurfaceError> {
        slots::filled(&*self.store, &*self.planner(), output).await
    }

    fn planner(&self) -> Arc<dyn OutputPlanner> {
        Arc::clone(&self.runtime.get().parts.planner)
    }

    /// Removes secrets from the error of a surface, which contains words of a service and is stored.
    fn without_secrets(&self, error: SurfaceError) -> SurfaceError {
        let secrets = &self.upkeep.runs.context.secrets;
        let mut clean = error;
        clean.message = secrets.removed_from(&clean.message);
        clean
    }

    async fn settle(
        &self,
        key: &OutputKey,
        settlement: Settlement,
    ) -> Result<HostEvent, StoreError> {
        let settled = match self.store.settle(key, settlement).await {
            Ok(settled) => settled,
            // An earlier try was stored though it failed, or the activation was cancelled.
            Err(StoreError::Conflict { .. }) => return Ok(HostEvent::SettledBefore(key.clone())),
            Err(error) => return Err(error),
        };
        failpoint::hit("O5");
        log(&settled);
        if settled.state.is_settled() {
            self.upkeep.runs.context.lifetime.ended.notify_waiters();
        }
        Ok(HostEvent::Settled(Box::new(settled)))
    }
}

/// Logs the new state of an output; one that failed is a warning, so that it is logged at every level of an operator.
fn log(output: &Output) {
    let Output {
        key,
        activation,
        state,
        target,
        ..
    } = output;
    let state = state.as_str();
    match &output.error {
        None => tracing::info!(output = %key, %activation, state, target, "output"),
        Some(error) => {
            tracing::warn!(output = %key, %activation, state, target, error, "output");
        }
    }
}

/// A reload may take a surface away between the decision and the delivery.
fn unconfigured(output: &Output) -> SurfaceError {
    let message = format!("no surface `{}` is configured", output.surface);
    SurfaceError::new(SurfaceErrorKind::Refused, message)
}

/// Returns the name of a concern in readiness checks and in the log.
fn name(concern: Concern) -> &'static str {
    match concern {
        Concern::Disk => "disk",
        Concern::Claims => "claims",
        Concern::Leases => "leases",
        Concern::Matching => "matching",
        Concern::Outputs => "outbox",
        Concern::Sweeps => "upkeep",
    }
}
