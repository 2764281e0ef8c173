//! Effects of the dispatcher, performed with latency on a store, a disk and a surface that fail.

use daemon_dispatch::{Concern, DiskSpace, HostEffect, HostEvent, MatchedBatch};
use daemon_engine::{
    Activation, Found, Joining, NewTrigger, Output, RemoteId, SurfaceError, SurfaceErrorKind,
    Trigger,
};
use daemon_event::{EventId, TriggerKey};
use daemon_store::{ClaimRequest, EventRow, Matched, StoreError};

use super::{HostCanary, HostHappening, HostWorld, SECOND};

/// How many events a batch reads; few, so that a whole batch often waits for an unread repository.
const BATCH: u32 = 3;

/// What the store does with one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreFate {
    Works,
    /// Nothing happens, and that is reported.
    Fails,
    /// It happens, and a failure is reported.
    IsInDoubt,
    /// The disk failed: the store is never written again.
    Breaks,
}

impl HostWorld {
    /// Begins an effect of the dispatcher.
    pub(super) fn begin(&mut self, effect: HostEffect) {
        match effect {
            HostEffect::Execute(activation) => self.execute(&activation),
            HostEffect::StopUnleased(id) => self.stop_attempts(|attempt| attempt.id == id),
            HostEffect::StopRuns => self.stop_attempts(|_| true),
            HostEffect::AbandonRuns => self.abandon_attempts(),
            HostEffect::GiveUp => {
                self.say(|_| "the store is broken: the host ends".to_owned());
                self.die();
            }
            HostEffect::NoteBacklog(n) => self.check_backlog(n),
            HostEffect::Reserve(_) | HostEffect::SpaceChanged(_) => {}
            effect => {
                let wait = self.latency();
                let life = self.life;
                self.after(wait, HostHappening::Apply(life, Box::new(effect)));
            }
        }
    }

    /// Draws how long half of an operation takes: mostly milliseconds, now and then longer than a lease lasts.
    pub(super) fn latency(&mut self) -> u64 {
        let wait = match self.dice.below(4_000) {
            _ if self.is_calm => 5,
            0 => self.between(60 * SECOND, 90 * SECOND),
            1..20 => self.between(SECOND, 20 * SECOND),
            _ => return self.between(1, 20),
        };
        if wait >= SECOND {
            self.progress.trouble(self.real + wait);
        }
        wait
    }

    pub(super) fn store_fate(&mut self) -> StoreFate {
        if self.is_calm {
            return StoreFate::Works;
        }
        let fate = match self.dice.below(20_000) {
            _ if self.real < self.store_fails_until => StoreFate::Fails,
            0 => StoreFate::Breaks,
            1..200 => StoreFate::Fails,
            200..400 => StoreFate::IsInDoubt,
            _ if self.is_disk_full && self.dice.once_in(2) => StoreFate::Fails,
            _ => StoreFate::Works,
        };
        if fate != StoreFate::Works {
            self.tally.store_faults += 1;
            self.progress.trouble(self.real);
        }
        fate
    }

    /// Performs an effect; the host may die right before and right after.
    pub(super) fn apply(&mut self, life: u64, effect: HostEffect) {
        if life != self.life {
            return;
        }
        let is_look = matches!(effect, HostEffect::ReadDisk);
        let dies = !self.is_calm && !is_look && self.dice.once_in(600);
        if dies && self.dice.once_in(2) {
            return self.die();
        }
        let event = self.perform(&effect);
        if !is_look {
            self.say(|_| format!("{effect:?} -> {event:?}"));
        }
        if dies {
            return self.die();
        }
        let wait = self.latency();
        self.after(wait, HostHappening::Complete(life, Box::new(event)));
    }

    /// Performs an operation of a dead host that was under way, unless it was lost with it.
    pub(super) fn perform_last(&mut self, effect: &HostEffect) {
        if self.dice.once_in(2) {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: &HostEffect) -> HostEvent {
        match effect {
            HostEffect::ReadDisk => HostEvent::SpaceRead(match self.is_disk_full {
                true => DiskSpace::Full,
                false => DiskSpace::Enough,
            }),
            HostEffect::ClearStrays => HostEvent::StraysCleared,
            HostEffect::Send(output) => {
                let sent = self.send(output);
                HostEvent::Sent(output.key.clone(), sent, self.jitter())
            }
            HostEffect::LookUp(output) => {
                let found = self.look_up(output);
                HostEvent::LookedUp(output.key.clone(), found, self.jitter())
            }
            stored => self.perform_stored(stored),
        }
    }

    fn perform_stored(&mut self, effect: &HostEffect) -> HostEvent {
        let concern = effect.concern().expect("it is of a concern");
        let fate = self.store_fate();
        self.note(&[1, concern as u64, fate as u64]);
        match fate {
            StoreFate::Works => self.on_store(effect),
            StoreFate::Fails => effect.store_failed(concern),
            StoreFate::IsInDoubt => {
                self.on_store(effect);
                effect.store_failed(concern)
            }
            StoreFate::Breaks => HostEvent::StoreBroken(concern),
        }
    }

    fn on_store(&mut self, effect: &HostEffect) -> HostEvent {
        let now = self.now();
        match effect {
            HostEffect::Claim(request) => {
                self.progress.claims_were_tried();
                let claimed = self.store.claim(request);
                HostEvent::Claimed(self.granted(claimed))
            }
            HostEffect::FindNextClaim => HostEvent::NextClaim(self.store.next_claim_at(now)),
            HostEffect::Renew { leases, until } => HostEvent::Renewed {
                lost: self.store.renew(leases.clone(), *until),
            },
            HostEffect::Match { after, view, claim } => {
                let (batch, claimed) = self.match_events(*after, *view, claim.as_ref());
                HostEvent::Matched(batch, self.granted(claimed))
            }
            HostEffect::FindDueOutputs { limit } => {
                HostEvent::OutputsDue(self.store.due_outputs(now, *limit))
            }
            HostEffect::FindNextOutput => HostEvent::NextOutput(self.store.next_output_at(now)),
            HostEffect::HastenOutputs => {
                self.store.hasten_outputs(now);
                HostEvent::OutputsHastened
            }
            HostEffect::BeginSend(key) => match self.store.begin_send(key) {
                Ok(()) => HostEvent::SendBegun(key.clone()),
                Err(_) => effect.store_failed(Concern::Outputs),
            },
            HostEffect::Settle(key, settlement) => {
                match self.store.settle(key, settlement.clone()) {
                    Ok(output) => HostEvent::Settled(Box::new(output)),
                    Err(StoreError::Conflict { .. }) => HostEvent::SettledBefore(key.clone()),
                    Err(_) => effect.store_failed(Concern::Outputs),
                }
            }
            HostEffect::TakeBack(_) => HostEvent::TakenBack(self.take_back()),
            HostEffect::Expire => {
                self.store.expire(now);
                HostEvent::Expired
            }
            HostEffect::Forget {
                payloads,
                identities,
                ticks,
                ..
            } => {
                self.store.retain(*payloads, *identities, *ticks);
                HostEvent::Forgotten
            }
            other => unreachable!("{other:?} does not reach the store"),
        }
    }

    /// Ends what is left of attempts and takes them back.
    pub(super) fn take_back(&mut self) -> usize {
        let (epoch, now) = (self.epoch, self.now());
        let left = self.store.reclaimable(epoch, now);
        for activation in &left {
            self.check_lost_lease(activation);
            self.end_remains(&activation.id);
        }
        let taken = self.store.reclaim(epoch, now);
        for one in &taken {
            self.tally.taken_back += 1;
            self.oracle.taken_back(one);
        }
        taken.len()
    }

    /// Matches a batch of events as the host's driver does.
    fn match_events(
        &mut self,
        after: u64,
        view: u64,
        claim: Option<&ClaimRequest>,
    ) -> (MatchedBatch, Option<Activation>) {
        let after = if view == self.view { after } else { 0 };
        let rows = self.store.unmatched(after, BATCH);
        let mut batch = MatchedBatch {
            view: self.view,
            last: rows.last().map(|row| row.seq),
            n_read: u64::try_from(rows.len()).expect("a count fits"),
            ..MatchedBatch::default()
        };
        let mut matched = Vec::new();
        for row in &rows {
            let wakes = self.wakes[&row.event.id];
            if self.waits_for_repository(&row.event.id) {
                continue;
            }
            let daemons = (0..self.keys.len()).filter(|place| wakes >> place & 1 == 1);
            let triggers: Vec<NewTrigger> = daemons.map(|place| self.trigger(place, row)).collect();
            matched.push(Matched {
                event: row.event.id.clone(),
                n_later: row.later_reports.len(),
                triggers,
                wanted: Vec::new(),
            });
        }
        batch.n_matched = u64::try_from(matched.len()).expect("a count fits");
        let now = self.now();
        let committed = match claim {
            Some(request) => self.store.match_and_claim(&request.at(now), matched),
            None => {
                let admitted = self.store.commit_matches(matched, now);
                admitted.map(|admissions| (admissions, None))
            }
        };
        let (admissions, claimed) = committed.expect("every event is stored");
        batch.n_admitted = admissions.len();
        self.check_matching();
        (batch, claimed)
    }

    fn granted(&mut self, claimed: Option<Activation>) -> Option<Box<Activation>> {
        if let Some(activation) = &claimed {
            self.tally.claims += 1;
            self.oracle.granted(activation);
        }
        claimed.map(Box::new)
    }

    /// Reports whether an event wakes the daemon whose repository is not read yet.
    pub(super) fn waits_for_repository(&self, event: &EventId) -> bool {
        let is_unread = self.host.as_ref().is_some_and(|host| host.is_partly_unread);
        is_unread && self.wakes[event] & 0b100 != 0
    }

    fn trigger(&mut self, daemon: usize, row: &EventRow) -> NewTrigger {
        let now = self.now();
        NewTrigger {
            daemon: self.keys[daemon].clone(),
            rev: "1".to_owned(),
            subject: row.event.subject.clone(),
            trigger: Trigger {
                key: TriggerKey::Event(row.event.id.clone()),
                conditions: vec![0],
                by: None,
                occasion: None,
                recorded_at: now,
            },
            activation_id: self.activation_id(),
            not_before: now,
            joining: Joining::Coalesce,
            link: None,
        }
    }

    pub(super) fn jitter(&mut self) -> u32 {
        u32::try_from(self.dice.below(1 << 32)).expect("32 bits")
    }

    /// Delivers to the surface, which may take it and lose the answer.
    fn send(&mut self, output: &Output) -> Result<RemoteId, SurfaceError> {
        let error = |kind| Err(SurfaceError::new(kind, "the surface failed"));
        self.note(&[2]);
        match self.dice.below(20) {
            _ if self.is_calm => {}
            0 | 1 => return error(SurfaceErrorKind::Retryable),
            2 => return error(SurfaceErrorKind::Refused),
            3 => return error(SurfaceErrorKind::Ambiguous),
            4..6 => {
                self.land(output);
                return error(SurfaceErrorKind::Ambiguous);
            }
            _ => {}
        }
        self.land(output);
        Ok(remote_id(output))
    }

    fn land(&mut self, output: &Output) {
        self.tally.landed += 1;
        let n = self.landed.entry(output.key.clone()).or_default();
        *n += 1;
        if *n > 1 {
            let text = format!("P11: output {} landed {n} times", output.key);
            self.oracle.violations.push(text);
        }
    }

    fn look_up(&mut self, output: &Output) -> Result<Found, SurfaceError> {
        self.tally.look_ups += 1;
        self.note(&[3]);
        if self.setup.canary == Some(HostCanary::SendWithoutLookUp) {
            return Ok(Found::Absent);
        }
        if !self.is_calm && self.dice.once_in(8) {
            let kind = SurfaceErrorKind::Retryable;
            return Err(SurfaceError::new(kind, "the surface cannot be reached"));
        }
        Ok(match self.landed.contains_key(&output.key) {
            true => Found::At(remote_id(output)),
            false => Found::Absent,
        })
    }
}

fn remote_id(output: &Output) -> RemoteId {
    RemoteId {
        id: output.key.to_string(),
        url: None,
        revision: None,
    }
}
