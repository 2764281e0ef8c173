//! The roster of a home over its store: decisions are made in memory and committed before they count.

mod turn;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use daemon_roster::{
    Idempotency, Principal, Project, Roster, RosterAnswer, RosterCommand, RosterEffect,
    RosterRefusal, RosterRequest, RosterSettings,
};
use daemon_store::{RosterVersion, Store, StoreError};
use tokio::sync::{Notify, oneshot};

use crate::clock::Clock;
use crate::random;
use turn::{Queued, Turn};

/// The one owner of a roster in a process.
///
/// [`perform`](Self::perform) decides a request over the rows in memory, commits the changes with their audit entries in one
/// transaction, and puts them in force. Requests that arrive during a commit share the next one, each decided after the one before
/// it. What is to be done after the commit waits in [`take_effects`](Self::take_effects) for the driver of the host.
pub struct HeldRoster {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// The requests that no commit has taken yet.
    queue: Mutex<Vec<Queued>>,
    /// Held while requests are decided and committed, so that each decision is made after the one before it.
    turn: tokio::sync::Mutex<Turn>,
    roster: RwLock<Arc<Roster>>,
    effects: Mutex<Vec<RosterEffect>>,
    /// Not stored: a host compares at its start.
    drifted: Mutex<BTreeSet<Project>>,
    changed: Notify,
}

impl std::fmt::Debug for HeldRoster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeldRoster").finish_non_exhaustive()
    }
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RosterError {
    /// It was refused, which is recorded in the audit log.
    #[error(transparent)]
    Refused(#[from] RosterRefusal),
    /// The store failed; nothing was changed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl HeldRoster {
    /// Loads the roster of a store. The effects that may not have been performed before a crash wait.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn load(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        settings: RosterSettings,
    ) -> Result<Self, StoreError> {
        let loaded = store.load_roster(clock.now()).await?;
        let roster = Roster::new(settings, loaded.tables);
        Ok(Self {
            store,
            clock,
            queue: Mutex::default(),
            turn: tokio::sync::Mutex::new(Turn::new(loaded.version)),
            effects: Mutex::new(roster.unfinished()),
            roster: RwLock::new(Arc::new(roster)),
            drifted: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// Returns the rows as they are now.
    pub fn view(&self) -> Arc<Roster> {
        Arc::clone(&self.roster.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the settings.
    pub fn configure(&self, settings: RosterSettings) {
        self.change(|roster| roster.configure(settings));
        self.changed.notify_one();
    }

    /// Performs a request: decides it, commits its changes with their audit entries, and puts them in force.
    ///
    /// # Errors
    /// If it is refused, or the store fails. It has no effect then.
    pub async fn perform(
        &self,
        by: Principal,
        command: RosterCommand,
        idempotency: Option<Idempotency>,
    ) -> Result<RosterAnswer, RosterError> {
        let request = RosterRequest {
            by,
            command,
            idempotency,
            random: random::ten(),
        };
        let (sender, mut answer) = oneshot::channel();
        lock(&self.queue).push(Queued::new(request, sender));
        let mut turn = self.turn.lock().await;
        loop {
            // The caller that had the turn before may have performed this request with its own.
            match answer.try_recv() {
                Ok(answer) => return answer,
                Err(_) => turn.advance(self).await,
            }
        }
    }

    async fn reload(&self, version: &mut RosterVersion) -> Result<(), StoreError> {
        let loaded = self.store.load_roster(self.clock.now()).await?;
        let roster = Roster::new(self.view().settings().clone(), loaded.tables);
        // The effects of a commit that was not applied are among them, and performing one again does no harm.
        let unfinished = roster.unfinished();
        self.change(|old| *old = roster);
        let mut waiting = self.waiting();
        for effect in unfinished {
            if !waiting.contains(&effect) {
                waiting.push(effect);
            }
        }
        *version = loaded.version;
        Ok(())
    }

    /// Returns the projects whose permissions differed from the allowlist when they were compared last.
    pub fn drifted(&self) -> BTreeSet<Project> {
        lock(&self.drifted).clone()
    }

    /// Sets the projects whose permissions differ from the allowlist.
    pub fn set_drifted(&self, projects: BTreeSet<Project>) {
        *lock(&self.drifted) = projects;
    }

    /// Returns what is to be done, and forgets it.
    pub fn take_effects(&self) -> Vec<RosterEffect> {
        std::mem::take(&mut *self.waiting())
    }

    /// Waits until a request was performed, or the settings were replaced.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<RosterEffect>> {
        lock(&self.effects)
    }

    fn change(&self, change: impl FnOnce(&mut Roster)) {
        let mut roster = self.roster.write().unwrap_or_else(PoisonError::into_inner);
        // Copies the rows only while a reader holds them.
        change(Arc::make_mut(&mut roster));
    }
}

/// Locks a list or a set. Each change of one is one call, so that it is consistent even if a holder of the lock panicked.
fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use daemon_roster::{CheckInParams, NewSignal, SignalKind, TokenHash, WakeReason};
    use daemon_store::RosterRecords as _;
    use daemon_store::memory::MemoryStore;

    use super::*;
    use crate::clock::SystemClock;

    async fn held(store: &MemoryStore) -> HeldRoster {
        let settings = RosterSettings {
            projects: ["garden".parse().unwrap()].into(),
            ..RosterSettings::default()
        };
        let store = Arc::new(store.clone());
        HeldRoster::load(store, Arc::new(SystemClock), settings)
            .await
            .unwrap()
    }

    async fn register(held: &HeldRoster, actor_ref: &str, token: u8) {
        let check_in = RosterCommand::CheckIn(CheckInParams {
            project: Some("garden".parse().unwrap()),
            actor_ref: Some(actor_ref.parse().unwrap()),
            token: Some(TokenHash([token; 32])),
            ..CheckInParams::new(WakeReason::Start)
        });
        held.perform(Principal::Unregistered, check_in, None)
            .await
            .unwrap();
    }

    fn names(held: &HeldRoster) -> Vec<String> {
        let view = held.view();
        let rows = view.tables().rows.values();
        let mut names: Vec<_> = rows.map(|row| row.name.to_string()).collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn an_owner_that_another_one_overtook_decides_again_over_its_rows() {
        let store = MemoryStore::default();
        let (one, other) = (held(&store).await, held(&store).await);
        register(&one, "digger", 1).await;
        register(&other, "poet", 2).await;
        assert_eq!(names(&other), ["digger", "poet"]);
        assert_eq!(names(&one), ["digger"]);
        register(&one, "singer", 3).await;
        assert_eq!(names(&one), ["digger", "poet", "singer"]);
        // The reference of a row that the other owner made finds that row.
        register(&other, "singer", 4).await;
        assert_eq!(names(&other), ["digger", "poet", "singer"]);
    }

    #[tokio::test]
    async fn the_answer_to_a_request_is_known_to_the_next_owner() {
        let store = MemoryStore::default();
        let one = held(&store).await;
        register(&one, "digger", 1).await;
        let by = one.view().principal(&TokenHash([1; 32])).unwrap();
        let ask = async |held: &HeldRoster, params: u8| {
            let signal = RosterCommand::Enqueue(NewSignal {
                kind: SignalKind::Feedback,
                project: None,
                target: None,
                dedupe_key: None,
                priority: NewSignal::DEFAULT_PRIORITY,
                payload: "the gate sticks".to_owned(),
                reference: None,
            });
            let idempotency = Idempotency {
                request: "r-1".parse().unwrap(),
                params: [params; 32],
            };
            held.perform(by.clone(), signal, Some(idempotency)).await
        };
        let first = ask(&one, 1).await.unwrap();
        // As after a restart: only the store knows the answer.
        let other = held(&store).await;
        assert_eq!(ask(&other, 1).await.unwrap(), first);
        assert_eq!(other.view().tables().signals.len(), 1);
        let refused = ask(&other, 2).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "a request with this id had other parameters"
        );
    }

    fn checks_in(n: u64) -> RosterCommand {
        RosterCommand::CheckIn(CheckInParams {
            project: Some("garden".parse().unwrap()),
            actor_ref: Some(format!("digger-{n}").parse().unwrap()),
            ..CheckInParams::new(WakeReason::Start)
        })
    }

    #[tokio::test]
    async fn requests_that_wait_share_a_commit_and_each_sees_the_one_before() {
        let store = MemoryStore::default();
        let one = Arc::new(held(&store).await);
        let turn = one.turn.lock().await;
        let mut asked = tokio::task::JoinSet::new();
        for n in 0..40 {
            let one = Arc::clone(&one);
            // Each registers one of four agents, or finds it.
            let ask = async move {
                one.perform(Principal::Unregistered, checks_in(n % 4), None)
                    .await
            };
            asked.spawn(ask);
        }
        while lock(&one.queue).len() < 40 {
            tokio::task::yield_now().await;
        }
        drop(turn);
        for answer in asked.join_all().await {
            answer.unwrap();
        }
        let all = ["digger-0", "digger-1", "digger-2", "digger-3"];
        assert_eq!(names(&one), all);
        let stored = store.load_roster(SystemClock.now()).await.unwrap();
        assert_eq!(stored.version, RosterVersion(1));
        assert_eq!(names(&held(&store).await), all);
        for row in one.view().tables().rows.keys() {
            assert_eq!(store.check_ins_of(row, 100).await.unwrap().len(), 10);
        }
    }

    #[tokio::test]
    async fn a_refusal_leaves_the_requests_that_share_its_commit() {
        let store = MemoryStore::default();
        let one = held(&store).await;
        let turn = one.turn.lock().await;
        let nobody = daemon_roster::RowId::new(SystemClock.now(), [0; 10]);
        let compact = RosterCommand::RequestCompaction(nobody);
        let (first, refused, last, ()) = tokio::join!(
            one.perform(Principal::Unregistered, checks_in(1), None),
            one.perform(Principal::Operator, compact, None),
            one.perform(Principal::Unregistered, checks_in(2), None),
            async { drop(turn) },
        );
        assert!(first.is_ok() && last.is_ok(), "{first:?} {last:?}");
        assert!(matches!(refused, Err(RosterError::Refused(_))));
        assert_eq!(names(&one), ["digger-1", "digger-2"]);
    }

    #[tokio::test]
    async fn what_a_caller_left_under_way_is_ended_by_the_next_one() {
        let store = MemoryStore::default();
        let one = held(&store).await;
        let (sender, receiver) = oneshot::channel();
        let request = RosterRequest {
            by: Principal::Unregistered,
            command: checks_in(1),
            idempotency: None,
            random: [1; 10],
        };
        let taken = vec![Queued::new(request, sender)];
        one.turn.lock().await.leave(taken);
        drop(receiver);
        let asked = one.perform(Principal::Unregistered, checks_in(2), None);
        asked.await.unwrap();
        assert_eq!(names(&one), ["digger-1", "digger-2"]);
        assert_eq!(names(&held(&store).await), names(&one));
    }
}
