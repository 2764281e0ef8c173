//! When outputs are sent and looked up: one after the other on each surface, and side by side on different ones. How a failure
//! of the store between the steps is made good.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use daemon_engine::{
    DeliveryStep, Found, Output, OutputKey, RemoteId, Settlement, SurfaceError, SurfaceErrorKind,
    after_look_up, after_send, step,
};
use daemon_event::RepoName;
use jiff::Timestamp;

use crate::effect::HostEffect;
use crate::event::HostEvent;
use crate::now::Now;
use crate::turn::Turn;

/// How many outputs of one lane are read at once.
const BATCH: u32 = 8;
/// How many outputs are under way at most.
const MOST_LANES: usize = 8;
/// How long nothing is sent unless something wakes the dispatcher.
const IDLE: Duration = Duration::from_secs(30);
/// How long the store may take to note that an output is being sent. A host that was stopped for longer may be taken for gone, and
/// another one has looked the output up and sent it.
pub const LONGEST_BEGINNING: Duration = Duration::from_secs(20);
/// How long nothing is sent after the store failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// The outputs that are delivered one after the other: those of one surface for one repository. Branches of each repository have a
/// server of their own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Lane {
    surface: String,
    repo: RepoName,
}

impl Lane {
    fn of(output: &Output) -> Self {
        Self {
            surface: output.surface.clone(),
            repo: output.daemon.repo.clone(),
        }
    }
}

/// An output that is being worked on.
#[derive(Debug)]
struct UnderWay {
    lane: Lane,
    output: Output,
    stage: Stage,
}

/// What is done with an output.
#[derive(Debug)]
enum Stage {
    /// The store is asked to note that it is being sent, since a time after boot.
    Beginning(Duration),
    Sending,
    LookingUp,
    Settling(Settlement),
    /// The store could not take its settlement. Stores list an output that is being sent as due only after the next start of a
    /// host, so that it is kept here.
    Unsettled(Settlement),
}

#[derive(Debug)]
pub(crate) struct OutputQueue {
    /// When the store is asked for outputs, or takes what it could not take before.
    pub(crate) turn: Turn,
    /// What was due when the store was asked last, oldest first.
    due: VecDeque<Output>,
    under_way: BTreeMap<OutputKey, UnderWay>,
    /// Whether the surfaces were configured since the outputs were made due: what failed before may succeed now.
    is_reconfigured: bool,
    /// Whether the store is asked to make every output due.
    is_hastening: bool,
    /// Outputs that were under way with an earlier configuration as the others were made due.
    outdated: BTreeSet<OutputKey>,
}

impl OutputQueue {
    pub(crate) fn new(now: Now) -> Self {
        Self {
            turn: Turn::at(now.since_boot),
            due: VecDeque::new(),
            under_way: BTreeMap::new(),
            is_reconfigured: false,
            is_hastening: false,
            outdated: BTreeSet::new(),
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
        // What is known of an output is stored before anything else is sent.
        if !self.has_unsettled() {
            self.begin_due(surfaces, now, effects);
        }
        if !self.turn.is_due(now) {
            return;
        }
        self.turn.begin();
        if self.has_unsettled() {
            self.turn.rest_until(now.after(IDLE));
            return self.settle_again(effects);
        }
        if std::mem::take(&mut self.is_reconfigured) {
            self.is_hastening = true;
            self.outdated = self.under_way.keys().cloned().collect();
            return effects.push(HostEffect::HastenOutputs);
        }
        effects.push(HostEffect::FindDueOutputs { limit: BATCH });
    }

    /// Begins each due output whose lane is free, oldest first.
    fn begin_due(&mut self, surfaces: &BTreeSet<String>, now: Now, effects: &mut Vec<HostEffect>) {
        let mut busy: BTreeSet<Lane> = self.lanes().cloned().collect();
        let mut later = VecDeque::new();
        for output in std::mem::take(&mut self.due) {
            let lane = Lane::of(&output);
            let is_full = self.under_way.len() >= MOST_LANES;
            if is_full || busy.contains(&lane) || self.waits_for_branch(&output, &later) {
                // A later output of the lane does not overtake this one.
                busy.insert(lane);
                later.push_back(output);
                continue;
            }
            if let Some(stage) = begun(&output, surfaces, now, effects) {
                busy.insert(lane.clone());
                let key = output.key.clone();
                let under_way = UnderWay {
                    lane,
                    output,
                    stage,
                };
                self.under_way.insert(key, under_way);
            }
        }
        self.due = later;
    }

    fn lanes(&self) -> impl Iterator<Item = &Lane> {
        self.under_way.values().map(|one| &one.lane)
    }

    /// Reports whether an earlier branch of the same activation is on its way: a pull request is opened from it.
    fn waits_for_branch(&self, output: &Output, later: &VecDeque<Output>) -> bool {
        let under_way = self.under_way.values().map(|one| &one.output);
        under_way.chain(later).any(|other| {
            other.activation == output.activation
                && other.ordinal < output.ordinal
                && other.revision.is_some()
        })
    }

    /// Takes an event of an output or of the search for outputs; others are of other concerns.
    pub(crate) fn take(&mut self, event: HostEvent, now: Now, effects: &mut Vec<HostEffect>) {
        match event {
            HostEvent::OutputsDue(due) => self.found_due(due, effects),
            HostEvent::NextOutput(next) => self.rest(next, now),
            HostEvent::OutputsHastened => self.hastened(),
            HostEvent::SendBegun(key) => self.send_begun(&key, now, effects),
            HostEvent::Sent(key, sent, jitter) => self.sent(&key, sent, (jitter, now), effects),
            HostEvent::LookedUp(key, found, jitter) => {
                self.looked_up(&key, found, (jitter, now), effects);
            }
            HostEvent::SettledBefore(key) => self.settled(&key),
            HostEvent::OutputFailed(key) => self.interrupted(&key, now),
            _ => {}
        }
    }

    fn found_due(&mut self, due: Vec<Output>, effects: &mut Vec<HostEffect>) {
        // The store lists an output as due during its look-up.
        let is_new = |output: &Output| !self.under_way.contains_key(&output.key);
        self.due = due.into_iter().filter(is_new).collect();
        effects.push(HostEffect::FindNextOutput);
    }

    fn rest(&mut self, next: Option<Timestamp>, now: Now) {
        let longest = if self.has_unsettled() {
            AFTER_FAILURE
        } else {
            IDLE
        };
        self.turn.rest_until(now.until(next, longest));
    }

    fn send_begun(&mut self, key: &OutputKey, now: Now, effects: &mut Vec<HostEffect>) {
        let Some(one) = self.under_way.get_mut(key) else {
            return;
        };
        if let Stage::Beginning(since) = one.stage
            && now.since_boot >= since + LONGEST_BEGINNING
        {
            let late = "the host was stopped before it was sent";
            let failed = Err(SurfaceError::new(SurfaceErrorKind::Ambiguous, late));
            return one.settle(|output| after_send(output, failed, now.wall, 0), effects);
        }
        one.stage = Stage::Sending;
        effects.push(HostEffect::Send(Box::new(one.output.clone())));
    }

    fn sent(
        &mut self,
        key: &OutputKey,
        sent: Result<RemoteId, SurfaceError>,
        (jitter, now): (u32, Now),
        effects: &mut Vec<HostEffect>,
    ) {
        if let Some(one) = self.under_way.get_mut(key) {
            one.settle(|output| after_send(output, sent, now.wall, jitter), effects);
        }
    }

    fn looked_up(
        &mut self,
        key: &OutputKey,
        found: Result<Found, SurfaceError>,
        (jitter, now): (u32, Now),
        effects: &mut Vec<HostEffect>,
    ) {
        if let Some(one) = self.under_way.get_mut(key) {
            one.settle(
                |output| after_look_up(output, found, now.wall, jitter),
                effects,
            );
        }
    }

    /// Frees the lane of an output.
    pub(crate) fn settled(&mut self, key: &OutputKey) {
        // It may rest now for a reason that a new configuration ended.
        self.is_reconfigured |= self.outdated.remove(key);
        let lane = self.under_way.remove(key).map(|one| one.lane);
        let has_next = self.due.iter().any(|next| Some(Lane::of(next)) == lane);
        if !has_next || self.is_reconfigured {
            self.turn.nudge();
        }
    }

    /// Takes that every unsettled output is due.
    fn hastened(&mut self) {
        self.is_hastening = false;
        self.turn.again();
    }

    /// Takes that the store failed as it was asked for outputs, or asked to make them due.
    pub(crate) fn failed(&mut self, now: Now) {
        self.is_reconfigured |= std::mem::take(&mut self.is_hastening);
        self.pause(now);
    }

    /// Takes that a step of an output failed: what is known of it is stored later.
    fn interrupted(&mut self, key: &OutputKey, now: Now) {
        let Some(mut one) = self.under_way.remove(key) else {
            return;
        };
        let known = match one.stage {
            // Whether the store noted it is not known; that nothing was sent is.
            Stage::Beginning(_) => Some((
                SurfaceErrorKind::Retryable,
                "the store failed before it was sent",
            )),
            Stage::Sending => Some((
                SurfaceErrorKind::Ambiguous,
                "the host failed while it was sent",
            )),
            // It is due as before, and looked up again.
            Stage::LookingUp => None,
            Stage::Settling(settlement) | Stage::Unsettled(settlement) => {
                one.stage = Stage::Unsettled(settlement);
                self.under_way.insert(key.clone(), one);
                return self.pause(now);
            }
        };
        if let Some((kind, why)) = known {
            let failed = Err(SurfaceError::new(kind, why));
            one.stage = Stage::Unsettled(after_send(&one.output, failed, now.wall, 0));
            self.under_way.insert(key.clone(), one);
        }
        self.pause(now);
    }

    fn pause(&mut self, now: Now) {
        // The states that were read may be stale now; they are read again after the rest.
        self.due.clear();
        self.turn.rest_until(now.after(AFTER_FAILURE));
    }

    fn has_unsettled(&self) -> bool {
        let mut stages = self.under_way.values().map(|one| &one.stage);
        stages.any(|stage| matches!(stage, Stage::Unsettled(_)))
    }

    fn settle_again(&mut self, effects: &mut Vec<HostEffect>) {
        for (key, one) in &mut self.under_way {
            if let Stage::Unsettled(settlement) = &one.stage {
                let settlement = settlement.clone();
                effects.push(HostEffect::Settle(key.clone(), settlement.clone()));
                one.stage = Stage::Settling(settlement);
            }
        }
    }
}

impl UnderWay {
    fn settle(&mut self, after: impl FnOnce(&Output) -> Settlement, effects: &mut Vec<HostEffect>) {
        let settlement = after(&self.output);
        let key = self.output.key.clone();
        effects.push(HostEffect::Settle(key, settlement.clone()));
        self.stage = Stage::Settling(settlement);
    }
}

/// Takes the first step for an output; `None` if it is settled already.
fn begun(
    output: &Output,
    surfaces: &BTreeSet<String>,
    now: Now,
    effects: &mut Vec<HostEffect>,
) -> Option<Stage> {
    match step(output.state) {
        DeliveryStep::Rest => None,
        DeliveryStep::LookUp | DeliveryStep::Send if !surfaces.contains(&output.surface) => {
            // Refused at once: no retry could deliver it, and its activation would block its subject for a day.
            let missing = format!("no surface `{}` is configured", output.surface);
            let refused = Err(SurfaceError::new(SurfaceErrorKind::Refused, missing));
            let settlement = after_send(output, refused, now.wall, 0);
            effects.push(HostEffect::Settle(output.key.clone(), settlement.clone()));
            Some(Stage::Settling(settlement))
        }
        DeliveryStep::LookUp => {
            effects.push(HostEffect::LookUp(Box::new(output.clone())));
            Some(Stage::LookingUp)
        }
        DeliveryStep::Send => {
            effects.push(HostEffect::BeginSend(output.key.clone()));
            Some(Stage::Beginning(now.since_boot))
        }
    }
}
