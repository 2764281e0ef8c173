//! Random matches of events, also on a host with nothing else to do: stores may lease their activations at once.

use daemon_engine::ActivationState;
use daemon_event::TriggerKey;

use super::content::show;
use super::{DAEMONS, Dice, World, wanted};
use crate::conformance::scene::{event_id, first, new_event, trigger};
use crate::listing::MAX_PAGE;
use crate::rows::{Matched, Query, Rates};
use crate::traits::Store;

impl World {
    pub(super) async fn matches(&self, store: &dyn Store, dice: &mut Dice) -> String {
        let waiting = store
            .unmatched(0, u32::try_from(1 + dice.below(4)).expect("small"))
            .await
            .expect("reads");
        let mut matched = Vec::new();
        for (place, row) in (0_u64..).zip(&waiting) {
            let mut triggers = Vec::new();
            for (index, id) in (0_u64..).zip(DAEMONS) {
                if dice.below(3) == 0 {
                    let key = TriggerKey::Event(row.event.id.clone());
                    let n = self.n * 100 + place * 10 + index;
                    triggers.push(self.about(trigger(id, n, key, self.now), dice));
                }
            }
            matched.push(Matched {
                n_later: row.later_reports.len(),
                event: row.event.id.clone(),
                wanted: wanted(dice),
                triggers,
            });
        }
        if dice.below(20) == 0 {
            matched.push(Matched {
                n_later: 0,
                event: event_id(u64::from(u32::MAX) + self.n),
                wanted: Vec::new(),
                triggers: Vec::new(),
            });
        }
        let admitted = match dice.below(3) {
            0 => show(&store.match_and_claim(&self.request(dice), matched).await),
            _ => show(&store.commit_matches(matched, self.now).await),
        };
        format!("{waiting:?} {admitted}")
    }

    /// Cancels what waits, and matches one event that wakes one daemon.
    pub(super) async fn match_while_idle(&self, store: &dyn Store, dice: &mut Dice) -> String {
        let waiting = Query {
            state: Some(ActivationState::Pending.as_str().to_owned()),
            ..first(MAX_PAGE)
        };
        for one in store.activations(&waiting).await.expect("lists").rows {
            let cancelled = store.cancel(&one.id, "idle", self.now).await;
            cancelled.expect("what waits can be cancelled");
        }
        let new = new_event(self.n * 10, &format!("idle:{}", self.n));
        let id = new.event.id.clone();
        store.accept(vec![new]).await.expect("accepts");
        let key = TriggerKey::Event(id.clone());
        let trigger = trigger(dice.daemon(), self.n * 100 + 97, key, self.now);
        let matched = Matched {
            n_later: 0,
            event: id,
            wanted: Vec::new(),
            triggers: vec![self.about(trigger, dice)],
        };
        let mut request = self.request(dice);
        if dice.below(2) == 0 {
            // The other limits are reached before this one.
            request.rates = Rates {
                subject: Some(1),
                daemon: None,
                host: None,
            };
            request.day_usd = None;
        }
        show(&store.match_and_claim(&request, vec![matched]).await)
    }
}
