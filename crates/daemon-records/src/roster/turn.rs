//! Requests that are decided one after the other and committed together.

use std::future::Future;
use std::pin::Pin;

use daemon_roster::{Roster, RosterAnswer, RosterChanges, RosterDecision, RosterRequest};
use daemon_store::{RosterVersion, StoreError};
use tokio::sync::oneshot;

use super::{HeldRoster, RosterError, lock};
use crate::failpoint;

/// How often requests are decided again because another process committed first.
const ATTEMPTS: usize = 8;
/// The maximum number of requests of one commit.
const MOST: usize = 256;

/// A request with the place of its answer.
pub(super) struct Queued {
    request: RosterRequest,
    answer: oneshot::Sender<Result<RosterAnswer, RosterError>>,
}

/// What one caller at a time has.
pub(super) struct Turn {
    version: RosterVersion,
    /// The requests whose commit is under way. They are not with the caller that began it: if it is gone, the next one continues.
    group: Option<Group>,
    /// Requests of a group that failed. Each is committed alone, so that one does not fail because of another.
    alone: Vec<Queued>,
}

/// Requests that share a commit.
struct Group {
    queued: Vec<Queued>,
    /// How often another process committed first.
    n_conflicts: usize,
    /// `None` until the requests are decided over the present rows.
    decided: Option<Decided>,
}

/// The decisions of a group.
struct Decided {
    decisions: Vec<RosterDecision>,
    /// The rows after all decisions but the last; `None` for one decision.
    ahead: Option<Roster>,
    commit: Pin<Box<dyn Future<Output = Result<RosterVersion, StoreError>> + Send>>,
}

impl Queued {
    pub(super) fn new(
        request: RosterRequest,
        answer: oneshot::Sender<Result<RosterAnswer, RosterError>>,
    ) -> Self {
        Self { request, answer }
    }

    fn reply(self, answer: Result<RosterAnswer, RosterError>) {
        // The caller may be gone; what it requested is done all the same.
        self.answer.send(answer).unwrap_or_default();
    }
}

impl Turn {
    pub(super) fn new(version: RosterVersion) -> Self {
        Self {
            version,
            group: None,
            alone: Vec::new(),
        }
    }

    /// Decides the requests that wait, commits what they change, puts it in force and answers; or continues where the last caller
    /// stopped.
    pub(super) async fn advance(&mut self, held: &HeldRoster) {
        if self.group.is_none() {
            self.group = Some(Group::new(self.next(held)));
        }
        let Some(group) = &mut self.group else { return };
        if group.decided.is_none() {
            if group.n_conflicts > 0
                && let Err(error) = held.reload(&mut self.version).await
            {
                return self.fail(error);
            }
            group.decided = Some(Decided::of(held, self.version, &group.queued));
        }
        let Some(decided) = &mut group.decided else {
            return;
        };
        let committed = decided.commit.as_mut().await;
        match committed {
            Ok(version) => {
                self.version = version;
                self.finish(held);
            }
            Err(StoreError::Conflict { .. }) if group.n_conflicts + 1 < ATTEMPTS => {
                group.n_conflicts += 1;
                group.decided = None;
            }
            Err(error) => self.fail(error),
        }
    }

    /// Takes requests as a caller that is gone right after.
    #[cfg(test)]
    pub(super) fn leave(&mut self, queued: Vec<Queued>) {
        self.group = Some(Group::new(queued));
    }

    /// Takes the requests of the next commit; those whose callers are gone are left out.
    fn next(&mut self, held: &HeldRoster) -> Vec<Queued> {
        if let Some(one) = self.alone.pop() {
            return vec![one];
        }
        let mut queue = lock(&held.queue);
        queue.retain(|queued| !queued.answer.is_closed());
        let most = queue.len().min(MOST);
        queue.drain(..most).collect()
    }

    /// Puts in force what was committed.
    fn finish(&mut self, held: &HeldRoster) {
        let Some(Group {
            queued,
            decided: Some(mut decided),
            ..
        }) = self.group.take()
        else {
            return;
        };
        let mut effects = Vec::new();
        let mut answers = Vec::with_capacity(queued.len());
        for (queued, decision) in queued.iter().zip(&mut decided.decisions) {
            if !decision.changes.is_empty() {
                failpoint::hit("roster-committed");
                failpoint::hit(queued.request.command.name());
            }
            effects.append(&mut decision.effects);
            answers.push(decision.answer.clone().map_err(RosterError::from));
        }
        held.change(|roster| {
            if let Some(mut ahead) = decided.ahead {
                // They may have been replaced meanwhile.
                ahead.configure(roster.settings().clone());
                *roster = ahead;
            }
            if let Some(last) = decided.decisions.pop() {
                roster.apply(last);
            }
        });
        held.waiting().extend(effects);
        held.changed.notify_one();
        for (queued, answer) in queued.into_iter().zip(answers) {
            queued.reply(answer);
        }
    }

    /// Answers the one request of a group with an error. Several are committed again, each alone.
    fn fail(&mut self, error: StoreError) {
        let Some(Group { mut queued, .. }) = self.group.take() else {
            return;
        };
        if queued.len() == 1
            && let Some(one) = queued.pop()
        {
            return one.reply(Err(error.into()));
        }
        // The first is taken first.
        queued.reverse();
        self.alone.extend(queued);
    }
}

impl Group {
    fn new(queued: Vec<Queued>) -> Self {
        Self {
            queued,
            n_conflicts: 0,
            decided: None,
        }
    }
}

impl Decided {
    /// Decides requests, each over the rows that those before it leave, and prepares their commit.
    fn of(held: &HeldRoster, version: RosterVersion, queued: &[Queued]) -> Self {
        let view = held.view();
        let mut ahead: Option<Roster> = None;
        let mut decisions: Vec<RosterDecision> = Vec::with_capacity(queued.len());
        let mut changes = RosterChanges::default();
        for Queued { request, .. } in queued {
            if let Some(before) = decisions.last() {
                let ahead = ahead.get_or_insert_with(|| Roster::clone(&view));
                ahead.apply(before.clone());
            }
            let roster = ahead.as_ref().unwrap_or(&view);
            let decision = roster.decide(request.clone(), held.clock.now());
            changes.append(decision.changes.clone());
            decisions.push(decision);
        }
        let store = held.store.clone();
        let commit = async move {
            // The answer to a repetition changes nothing.
            match changes.is_empty() {
                true => Ok(version),
                false => store.commit_roster(version, changes).await,
            }
        };
        Self {
            decisions,
            ahead,
            commit: Box::pin(commit),
        }
    }
}
