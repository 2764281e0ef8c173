//! The audit log: one entry for each transition and each refusal.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::id::{RequestKey, RowId};
use crate::principal::Principal;

/// Within this time after a refusal its repetitions make one entry.
pub(crate) const FOLDING: SignedDuration = SignedDuration::from_secs(60);

/// One entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// When it was; for repetitions of a refusal, the newest.
    pub at: Timestamp,
    /// Who caused it.
    pub actor: Principal,
    /// The machine of a transition, or the request that was refused.
    pub kind: &'static str,
    /// The row that it is about.
    pub row: Option<RowId>,
    /// The state before, if there was one.
    pub from: Option<String>,
    /// The state after a transition. `None` for a refusal.
    pub to: Option<String>,
    /// By which rule a request was refused. `None` for a transition.
    pub rule: Option<&'static str>,
    /// The reason that the caller gave, or the message of the refusal.
    pub reason: String,
    /// The request id of the caller.
    pub request: Option<RequestKey>,
    /// How often it happened: more than 1 only for repetitions of a refusal.
    pub count: u32,
}

/// What makes two refusals repetitions of each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RefusalKey {
    actor: Principal,
    kind: &'static str,
    row: Option<RowId>,
    rule: &'static str,
}

/// Recent refusals, by which repetitions are counted instead of stored one by one.
///
/// They are kept in memory only: a crash loses the count of at most a minute, never the first refusal.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentRefusals {
    windows: BTreeMap<RefusalKey, RefusalWindow>,
}

#[derive(Clone, Debug)]
struct RefusalWindow {
    opened: Timestamp,
    /// The newest repetition, with the number of all.
    repeated: Option<AuditEntry>,
}

impl RecentRefusals {
    /// Returns the entries that a refusal causes now: itself, unless it repeats one, and what an expired window counted.
    pub(crate) fn entries(&self, refusal: &AuditEntry) -> Vec<AuditEntry> {
        match self.windows.get(&key(refusal)) {
            Some(window) if !window.is_over(refusal.at) => Vec::new(),
            Some(window) => window.repeated.iter().chain([refusal]).cloned().collect(),
            None => vec![refusal.clone()],
        }
    }

    /// Counts a refusal.
    pub(crate) fn record(&mut self, refusal: AuditEntry) {
        let key = key(&refusal);
        match self.windows.get_mut(&key) {
            Some(window) if !window.is_over(refusal.at) => {
                let before = window.repeated.as_ref().map_or(0, |entry| entry.count);
                let count = before.saturating_add(1);
                window.repeated = Some(AuditEntry { count, ..refusal });
            }
            _ => {
                let window = RefusalWindow {
                    opened: refusal.at,
                    repeated: None,
                };
                self.windows.insert(key, window);
            }
        }
    }

    /// Returns the entries of the windows that are over.
    pub(crate) fn folded(&self, now: Timestamp) -> Vec<AuditEntry> {
        let over = self.windows.values().filter(|window| window.is_over(now));
        over.filter_map(|window| window.repeated.clone()).collect()
    }

    /// Removes the windows that are over.
    pub(crate) fn remove_folded(&mut self, now: Timestamp) {
        self.windows.retain(|_, window| !window.is_over(now));
    }

    /// Returns when the first window with repetitions is over.
    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        let counting = self.windows.values().filter(|it| it.repeated.is_some());
        counting
            .filter_map(|window| window.opened.checked_add(FOLDING).ok())
            .min()
    }
}

impl RefusalWindow {
    /// A window that opened later than `now`, before the clock stepped back, is over as well.
    fn is_over(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.opened);
        age >= FOLDING || age < SignedDuration::ZERO
    }
}

fn key(refusal: &AuditEntry) -> RefusalKey {
    RefusalKey {
        actor: refusal.actor.clone(),
        kind: refusal.kind,
        row: refusal.row.clone(),
        rule: refusal.rule.unwrap_or_default(),
    }
}
