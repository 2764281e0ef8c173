//! When outputs are sent and looked up, and how a failure of the store between the steps is made good.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use daemon_engine::{
    DeliveryStep, Found, Output, OutputKey, RemoteId, Settlement, SurfaceError, SurfaceErrorKind,
    after_look_up, after_send, step,
};
use jiff::Timestamp;

use crate::effect::HostEffect;
use crate::now::Now;
use crate::turn::Turn;

/// How many outputs are read at once.
const BATCH: u32 = 32;
/// How long nothing is sent unless something wakes the dispatcher.
const IDLE: Duration = Duration::from_secs(30);
/// How long nothing is sent after the store failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// What is done with the current output.
#[derive(Debug, Default)]
enum Stage {
    /// No output is worked on.
    #[default]
    Between,
    /// The store is asked to make every output due.
    Hastening,
    /// The store is asked to note that it is being sent.
    Beginning(Box<Output>),
    Sending(Box<Output>),
    LookingUp(Box<Output>),
    Settling(OutputKey, Settlement),
}

#[derive(Debug)]
pub(crate) struct OutputQueue {
    pub(crate) turn: Turn,
    due: VecDeque<Output>,
    stage: Stage,
    /// The settlement of an output that the store could not take: stores list an output that is being sent as due only
    /// after the next start of a host.
    unsettled: Option<(OutputKey, Settlement)>,
    /// Whether the surfaces were configured since the outputs were made due: what failed before may succeed now.
    is_reconfigured: bool,
}

impl OutputQueue {
    pub(crate) fn new(now: Now) -> Self {
        Self {
            turn: Turn::at(now.since_boot),
            due: VecDeque::new(),
            stage: Stage::Between,
            unsettled: None,
            is_reconfigured: false,
        }
    }

    /// Notes that the surfaces and their repositories may be others than before.
    pub(crate) fn reconfigured(&mut self) {
        self.is_reconfigured = true;
        self.turn.nudge();
    }

    pub(crate) fn act(
        &mut self,
        surfaces: &BTreeSet<String>,
        now: Now,
        effects: &mut Vec<HostEffect>,
    ) {
        if !self.turn.is_due(now) {
            return;
        }
        self.turn.begin();
        if let Some((key, settlement)) = self.unsettled.take() {
            return self.settle(key, settlement, effects);
        }
        if std::mem::take(&mut self.is_reconfigured) {
            effects.push(HostEffect::HastenOutputs);
            self.stage = Stage::Hastening;
            return;
        }
        while let Some(output) = self.due.pop_front() {
            match step(output.state) {
                DeliveryStep::Rest => {}
                DeliveryStep::LookUp | DeliveryStep::Send
                    if !surfaces.contains(&output.surface) =>
                {
                    // Refused at once: no retry could deliver it, and its activation would block its subject for a day.
                    let missing = format!("no surface `{}` is configured", output.surface);
                    let refused = Err(SurfaceError::new(SurfaceErrorKind::Refused, missing));
                    let settlement = after_send(&output, refused, now.wall, 0);
                    return self.settle(output.key, settlement, effects);
                }
                DeliveryStep::LookUp => {
                    effects.push(HostEffect::LookUp(Box::new(output.clone())));
                    self.stage = Stage::LookingUp(Box::new(output));
                    return;
                }
                DeliveryStep::Send => {
                    effects.push(HostEffect::BeginSend(output.key.clone()));
                    self.stage = Stage::Beginning(Box::new(output));
                    return;
                }
            }
        }
        effects.push(HostEffect::FindDueOutputs { limit: BATCH });
    }

    pub(crate) fn found_due(&mut self, due: Vec<Output>, effects: &mut Vec<HostEffect>) {
        if due.is_empty() {
            return effects.push(HostEffect::FindNextOutput);
        }
        self.due = due.into();
        self.turn.again();
    }

    pub(crate) fn rest(&mut self, next: Option<Timestamp>, now: Now) {
        self.turn.rest_until(now.until(next, IDLE));
    }

    pub(crate) fn send_begun(&mut self, effects: &mut Vec<HostEffect>) {
        if let Stage::Beginning(output) = std::mem::take(&mut self.stage) {
            effects.push(HostEffect::Send(output.clone()));
            self.stage = Stage::Sending(output);
        }
    }

    pub(crate) fn sent(
        &mut self,
        sent: Result<RemoteId, SurfaceError>,
        jitter: u32,
        now: Now,
        effects: &mut Vec<HostEffect>,
    ) {
        if let Stage::Sending(output) = std::mem::take(&mut self.stage) {
            let settlement = after_send(&output, sent, now.wall, jitter);
            self.settle(output.key, settlement, effects);
        }
    }

    pub(crate) fn looked_up(
        &mut self,
        found: Result<Found, SurfaceError>,
        jitter: u32,
        now: Now,
        effects: &mut Vec<HostEffect>,
    ) {
        if let Stage::LookingUp(output) = std::mem::take(&mut self.stage) {
            let settlement = after_look_up(&output, found, now.wall, jitter);
            self.settle(output.key, settlement, effects);
        }
    }

    fn settle(&mut self, key: OutputKey, settlement: Settlement, effects: &mut Vec<HostEffect>) {
        effects.push(HostEffect::Settle(key.clone(), settlement.clone()));
        self.stage = Stage::Settling(key, settlement);
    }

    /// Passes to the next output.
    pub(crate) fn settled(&mut self) {
        self.stage = Stage::Between;
        self.turn.again();
    }

    /// Takes that the store failed, or the effect panicked: what is known of the current output is stored later.
    pub(crate) fn failed(&mut self, now: Now) {
        self.unsettled = match std::mem::take(&mut self.stage) {
            Stage::Between => None,
            Stage::Hastening => {
                self.is_reconfigured = true;
                None
            }
            // Whether the store noted it is not known; that nothing was sent is.
            Stage::Beginning(output) => Some(interrupted(
                &output,
                SurfaceErrorKind::Retryable,
                "the store failed before it was sent",
                now,
            )),
            Stage::Sending(output) => Some(interrupted(
                &output,
                SurfaceErrorKind::Ambiguous,
                "the host failed while it was sent",
                now,
            )),
            // It is due as before, and looked up again.
            Stage::LookingUp(_) => None,
            Stage::Settling(key, settlement) => Some((key, settlement)),
        };
        // The states that were read may be stale now; they are read again after the rest.
        self.due.clear();
        self.turn.rest_until(now.after(AFTER_FAILURE));
    }
}

fn interrupted(
    output: &Output,
    kind: SurfaceErrorKind,
    why: &str,
    now: Now,
) -> (OutputKey, Settlement) {
    let failed = Err(SurfaceError::new(kind, why));
    (output.key.clone(), after_send(output, failed, now.wall, 0))
}
