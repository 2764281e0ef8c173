//! Coordination signals: work that waits until an orchestrator, or the daemon it is for, drains it.

use jiff::Timestamp;

use crate::answer::RosterAnswer;
use crate::authority::OnHold;
use crate::command::NewSignal;
use crate::id::{ClaimToken, DedupeKey, Project, ResetId, RowId, SignalId};
use crate::principal::Principal;
use crate::refusal::{ForbiddenRule, IllegalTransition, InvalidParams, RosterRefusal};
use crate::row::RosterRow;
use crate::transition::machine;
use crate::word::words;
use crate::work::UnitOfWork;

/// The most bytes that the payload, result or error of a signal may have.
pub(crate) const MAX_PAYLOAD: usize = 16 * 1024;

/// What a signal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SignalKind {
    /// Feedback on work.
    Feedback,
    /// A line for a daemon at its next wake.
    Poke,
    /// UnitOfWork to dispatch.
    AutoDispatch,
    /// A daemon is to be replaced.
    Reset,
    /// A report, also of a tool that is blocked.
    Report,
    /// A reminder.
    Nudge,
    /// UnitOfWork that is handed over.
    Handoff,
}

words!(SignalKind, "a kind of signal", {
    Feedback => "feedback",
    Poke => "poke",
    AutoDispatch => "auto_dispatch",
    Reset => "reset",
    Report => "report",
    Nudge => "nudge",
    Handoff => "handoff",
});

/// Where a signal is in its course.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignalStatus {
    /// It waits for a claim.
    Pending,
    /// A daemon works on it, under a lease.
    Claimed,
    /// It was done.
    Completed,
    /// It could not be done, or its claims expired too often.
    Failed,
    /// It was withdrawn.
    Cancelled,
}

words!(SignalStatus, "the status of a signal", {
    Pending => "pending",
    Claimed => "claimed",
    Completed => "completed",
    Failed => "failed",
    Cancelled => "cancelled",
});

machine! {
    /// The transitions of a signal.
    SIGNAL of SignalStatus named "signal",
    /// What happens to a signal.
    SignalEvent {
        Claim => "claim",
        Complete => "complete",
        Fail => "fail",
        Requeue => "requeue",
        GiveUp => "dead-letter",
        Cancel => "cancel",
        HandOver => "hand-over",
    }
    Pending + Claim => Claimed;
    Claimed + Complete => Completed;
    Claimed + Fail => Failed;
    Claimed + Requeue => Pending;
    Claimed + GiveUp => Failed;
    Pending + Cancel => Cancelled;
    Claimed + Cancel => Cancelled;
    // The hand-over of a reset completes its own signals, claimed or not.
    Pending + HandOver => Completed;
    Claimed + HandOver => Completed;
}

/// A signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoordinationSignal {
    /// Identifies it; of two signals with one priority the older one is drained first.
    pub id: SignalId,
    /// What it is about.
    pub kind: SignalKind,
    /// The project whose daemons drain it.
    pub project: Project,
    /// The row it is for; `None` for the orchestrator.
    pub target: Option<RowId>,
    /// Recognises an equal pending signal. Without a key every signal is a new one.
    pub dedupe_key: Option<DedupeKey>,
    /// 0 is drained first.
    pub priority: u8,
    /// What is requested, at most 16 KiB.
    pub payload: String,
    /// What it touches, such as a brief.
    pub reference: Option<String>,
    /// Where it is in its course.
    pub status: SignalStatus,
    /// Who queued it.
    pub requested_by: Principal,
    /// The claim it is under, or was under last.
    pub claim: Option<SignalClaim>,
    /// From 1; a claim that expires adds 1.
    pub attempts: u32,
    /// What the claimer returned.
    pub result: Option<String>,
    /// Why it failed or was cancelled.
    pub error: Option<String>,
    /// When it was completed, failed or cancelled.
    pub ended_at: Option<Timestamp>,
}

/// The claim of a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalClaim {
    /// The row that claimed it.
    pub by: RowId,
    /// Proves the claim.
    pub token: ClaimToken,
    /// Without a check-in until then the claim expires.
    pub lease_until: Timestamp,
}

impl CoordinationSignal {
    pub(crate) fn pending(
        id: SignalId,
        project: Project,
        requested_by: Principal,
        new: NewSignal,
    ) -> Self {
        Self {
            id,
            kind: new.kind,
            project,
            target: new.target,
            dedupe_key: new.dedupe_key,
            priority: new.priority,
            payload: new.payload,
            reference: new.reference,
            status: SignalStatus::Pending,
            requested_by,
            claim: None,
            attempts: 1,
            result: None,
            error: None,
            ended_at: None,
        }
    }

    /// Reports whether it can still be drained.
    pub fn is_open(&self) -> bool {
        matches!(self.status, SignalStatus::Pending | SignalStatus::Claimed)
    }

    /// Returns what open signals are sorted by: priority, then age.
    pub fn drain_order(&self) -> (u8, SignalId) {
        (self.priority, self.id.clone())
    }

    pub(crate) fn is_claimed_by(&self, row: &RowId) -> bool {
        self.status == SignalStatus::Claimed
            && self.claim.as_ref().is_some_and(|claim| claim.by == *row)
    }

    fn is_equal_request(&self, new: &NewSignal) -> bool {
        self.status == SignalStatus::Pending
            && self.kind == new.kind
            && self.target == new.target
            && new.dedupe_key.is_some()
            && self.dedupe_key == new.dedupe_key
    }
}

impl UnitOfWork<'_> {
    pub(crate) fn enqueue(&mut self, new: NewSignal) -> Result<RosterAnswer, RosterRefusal> {
        within("payload", &new.payload)?;
        within("ref", new.reference.as_deref().unwrap_or_default())?;
        let target = match &new.target {
            Some(target) => Some(self.active(target)?),
            None => None,
        };
        let project = self.signal_project(&new, target.as_ref())?;
        let equal = self.open_signals_where(&project, |signal| signal.is_equal_request(&new));
        if let Some(equal) = equal.into_iter().next() {
            return Ok(RosterAnswer::Queued {
                signal: equal.id,
                existing: true,
            });
        }
        let id = self.fresh(SignalId::new);
        let signal = CoordinationSignal::pending(id, project, self.by().clone(), new);
        let id = signal.id.clone();
        let reason = format!("{} {}", signal.kind, signal.id);
        self.audit(
            SIGNAL.name,
            signal.target.clone(),
            (None, "pending"),
            &reason,
        );
        self.put_signal(signal);
        Ok(RosterAnswer::Queued {
            signal: id,
            existing: false,
        })
    }

    /// Returns the project of a new signal; a daemon queues in its own only.
    fn signal_project(
        &self,
        new: &NewSignal,
        target: Option<&RosterRow>,
    ) -> Result<Project, RosterRefusal> {
        let of_target = target.and_then(|row| row.project.clone());
        let named = of_target.or_else(|| new.project.clone());
        let own = match self.caller()? {
            Some(caller) => caller.project,
            None => {
                let named = named.ok_or(InvalidParams::Missing("target"))?;
                if self.settings().projects.contains(&named) {
                    return Ok(named);
                }
                return Err(RosterRefusal::not_found("project", named));
            }
        };
        match (own, named) {
            (Some(own), Some(named)) if own != named => Err(ForbiddenRule::OtherProject.into()),
            (Some(own), _) => Ok(own),
            (None, _) => Err(ForbiddenRule::Role.into()),
        }
    }

    pub(crate) fn claim(&mut self, id: &SignalId) -> Result<RosterAnswer, RosterRefusal> {
        let caller = self.daemon()?;
        let mut signal = self.signal(id)?;
        if caller.project.as_ref() != Some(&signal.project) {
            return Err(ForbiddenRule::OtherProject.into());
        }
        if signal.target.as_ref() != Some(&caller.id) {
            self.orchestrator(&caller, OnHold::Held)?;
        }
        self.on_go(&caller)?;
        self.advance_signal(&mut signal, SignalEvent::Claim, "")?;
        let token = self.fresh(ClaimToken::new);
        let lease_until = self.after(self.settings().claim_lease);
        signal.claim = Some(SignalClaim {
            by: caller.id,
            token: token.clone(),
            lease_until,
        });
        self.put_signal(signal);
        Ok(RosterAnswer::Claimed { token, lease_until })
    }

    pub(crate) fn complete(
        &mut self,
        id: &SignalId,
        token: &ClaimToken,
        result: Option<String>,
    ) -> Result<RosterAnswer, RosterRefusal> {
        within("result", result.as_deref().unwrap_or_default())?;
        let set = |signal: &mut CoordinationSignal| signal.result = result;
        self.settle_signal(id, token, SignalEvent::Complete, set)
    }

    pub(crate) fn fail(
        &mut self,
        id: &SignalId,
        token: &ClaimToken,
        error: String,
    ) -> Result<RosterAnswer, RosterRefusal> {
        within("error", &error)?;
        let set = |signal: &mut CoordinationSignal| signal.error = Some(error);
        self.settle_signal(id, token, SignalEvent::Fail, set)
    }

    fn settle_signal(
        &mut self,
        id: &SignalId,
        token: &ClaimToken,
        event: SignalEvent,
        set: impl FnOnce(&mut CoordinationSignal),
    ) -> Result<RosterAnswer, RosterRefusal> {
        let caller = self.daemon()?;
        self.of_current_generation(&caller)?;
        let mut signal = self.signal(id)?;
        let claim = signal.claim.as_ref();
        let is_own = claim.is_some_and(|claim| claim.by == caller.id && claim.token == *token);
        let to = SIGNAL.next(SignalStatus::Claimed, event)?;
        // The answer to a request that was lost on the way is the same when it is repeated.
        if !(is_own && signal.status == to) {
            if !is_own {
                return Err(RosterRefusal::IllegalTransition(IllegalTransition {
                    machine: SIGNAL.name,
                    from: signal.status.as_str(),
                    event: "settle with the token of another claim",
                }));
            }
            self.advance_signal(&mut signal, event, "")?;
            set(&mut signal);
            self.put_signal(signal);
        }
        Ok(RosterAnswer::Signal(id.clone()))
    }

    pub(crate) fn cancel_signal(&mut self, id: &SignalId) -> Result<RosterAnswer, RosterRefusal> {
        let mut signal = self.signal(id)?;
        let caller = self.caller()?;
        let is_requester = match (&signal.requested_by, &caller) {
            (Principal::Daemon { row, .. }, Some(caller)) => *row == caller.id,
            _ => false,
        };
        if !is_requester && *self.by() != Principal::Operator {
            return Err(ForbiddenRule::Role.into());
        }
        self.advance_signal(&mut signal, SignalEvent::Cancel, "")?;
        self.put_signal(signal);
        Ok(RosterAnswer::Signal(id.clone()))
    }

    /// Queues a report of a tool that the harness blocked.
    pub(crate) fn report_blocked(
        &mut self,
        tool: &str,
        error: &str,
    ) -> Result<RosterAnswer, RosterRefusal> {
        let caller = self.daemon()?;
        self.enqueue(NewSignal {
            kind: SignalKind::Report,
            project: caller.project,
            target: None,
            dedupe_key: None,
            priority: NewSignal::DEFAULT_PRIORITY,
            payload: format!("the tool `{tool}` is blocked: {error}"),
            reference: None,
        })
    }

    /// Puts the claims of a row back into the queue.
    pub(crate) fn requeue_claims_of(&mut self, row: &RosterRow, reason: &str) {
        for mut signal in self.claims_of(row) {
            self.requeue(&mut signal, reason);
        }
    }

    fn requeue(&mut self, signal: &mut CoordinationSignal, reason: &str) {
        self.advance_signal(signal, SignalEvent::Requeue, reason)
            .expect("a claimed signal can be put back");
        signal.claim = None;
        self.put_signal(signal.clone());
    }

    /// Ends a claim that expired: the signal waits again, or is given up after too many claims.
    pub(crate) fn expire_claim(&mut self, mut signal: CoordinationSignal) {
        signal.attempts = signal.attempts.saturating_add(1);
        if signal.attempts <= self.settings().max_attempts {
            self.requeue(&mut signal, "the lease is over");
            return;
        }
        self.advance_signal(&mut signal, SignalEvent::GiveUp, "too many claims expired")
            .expect("a claimed signal can be given up");
        signal.error = Some("dead-letter".to_owned());
        self.put_signal(signal);
    }

    /// Extends the leases of a row that checks in.
    pub(crate) fn renew_claims_of(&mut self, row: &RosterRow) {
        let lease_until = self.after(self.settings().claim_lease);
        for mut signal in self.claims_of(row) {
            if let Some(claim) = &mut signal.claim {
                claim.lease_until = lease_until;
            }
            self.put_signal(signal);
        }
    }

    /// Ends what is open for a row that is retired: its claims wait again, and signals for it are cancelled.
    pub(crate) fn clear_signals_of(&mut self, row: &RosterRow) {
        self.requeue_claims_of(row, "the claimer is retired");
        let is_for_row = |signal: &CoordinationSignal| signal.target.as_ref() == Some(&row.id);
        for mut signal in self.signals_of(row, is_for_row) {
            let reason = "the target is retired";
            self.advance_signal(&mut signal, SignalEvent::Cancel, reason)
                .expect("an open signal can be cancelled");
            signal.error = Some(reason.to_owned());
            self.put_signal(signal);
        }
    }

    /// Ends the signals of a reset: completed by its hand-over, or cancelled with it.
    pub(crate) fn end_reset_signals(
        &mut self,
        reset: &ResetId,
        project: &Project,
        event: SignalEvent,
    ) {
        let is_of_reset = |signal: &CoordinationSignal| {
            signal.kind == SignalKind::Reset && signal.payload == reset.as_str()
        };
        for mut signal in self.open_signals_where(project, is_of_reset) {
            self.advance_signal(&mut signal, event, "")
                .expect("an open signal can be completed or cancelled");
            self.put_signal(signal);
        }
    }

    fn claims_of(&self, row: &RosterRow) -> Vec<CoordinationSignal> {
        self.signals_of(row, |signal| signal.is_claimed_by(&row.id))
    }

    fn signals_of(
        &self,
        row: &RosterRow,
        is_wanted: impl Fn(&CoordinationSignal) -> bool,
    ) -> Vec<CoordinationSignal> {
        let project = row.project.as_ref();
        project.map_or_else(Vec::new, |it| self.open_signals_where(it, is_wanted))
    }

    fn advance_signal(
        &mut self,
        signal: &mut CoordinationSignal,
        event: SignalEvent,
        reason: &str,
    ) -> Result<(), RosterRefusal> {
        let from = signal.status;
        signal.status = SIGNAL.next(from, event)?;
        if !signal.is_open() {
            signal.ended_at = Some(self.now());
        }
        let separator = if reason.is_empty() { "" } else { ": " };
        let reason = format!("{} {}{separator}{reason}", signal.kind, signal.id);
        let change = (Some(from.as_str()), signal.status.as_str());
        self.audit(SIGNAL.name, signal.target.clone(), change, &reason);
        Ok(())
    }
}

fn within(name: &'static str, text: &str) -> Result<(), RosterRefusal> {
    if text.len() <= MAX_PAYLOAD {
        return Ok(());
    }
    let value = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let expected = "at most 16384 bytes";
    Err(InvalidParams::Range {
        name,
        value,
        expected,
    }
    .into())
}
