//! Issues that are opened and reported to hosts of which some are dead or paused.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::Duration;

use daemon_fakes::GithubApi;
use serde_json::json;

use crate::dice::Dice;
use crate::http::{repository, sender, try_raw_within, webhook};
use crate::serve_github::REPO;
use crate::world::SECRET;

/// How long a sender waits after an event.
const PACE: Duration = Duration::from_millis(1_500);
/// How long a sender waits for an answer: a paused host takes connections and says nothing.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a sender waits before it tries again.
pub(crate) const RETRY: Duration = Duration::from_millis(200);

/// What senders and the one who disturbs share.
pub(crate) struct Load {
    /// The addresses of the hosts that answer, by number.
    addresses: RwLock<BTreeMap<usize, String>>,
    /// The event of each acknowledged issue.
    acknowledged: Mutex<BTreeMap<u64, String>>,
    n_repeated: AtomicU32,
    is_over: AtomicBool,
}

/// Ends a load, also where a test fails.
pub(crate) struct EndOfLoad<'l>(pub(crate) &'l Load);

impl Drop for EndOfLoad<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

impl Load {
    pub(crate) fn new() -> Self {
        Self {
            addresses: RwLock::default(),
            acknowledged: Mutex::default(),
            n_repeated: AtomicU32::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    /// Sets the addresses that are sent to.
    pub(crate) fn set_addresses(&self, addresses: BTreeMap<usize, String>) {
        *self.addresses.write().expect("no holder panics") = addresses;
    }

    /// Returns the event of each acknowledged issue, and how many were acknowledged twice.
    pub(crate) fn into_acknowledged(self) -> (BTreeMap<u64, String>, u32) {
        let acknowledged = self.acknowledged.into_inner().expect("no holder panics");
        (acknowledged, self.n_repeated.into_inner())
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Opens issues and reports them until it is over, some of them twice.
    pub(crate) fn send(&self, api: &GithubApi, seed: u32) {
        let mut dice = Dice::of_seed(seed);
        while !self.is_over() {
            let issue = json!({"title": "A question", "body": "How?"});
            let (_, made) = api.act("ann", "POST", &format!("/repos/{REPO}/issues"), &issue);
            let number = made["number"].as_u64().expect("an issue has a number");
            let mut n_wanted = 1 + u32::from(dice.below(4) == 0);
            while n_wanted > 0 && !self.is_over() {
                let address = self.address(&mut dice);
                let Some(id) = address.and_then(|address| deliver(&address, number)) else {
                    std::thread::sleep(RETRY);
                    continue;
                };
                n_wanted -= 1;
                let mut acknowledged = self.acknowledged.lock().expect("no holder panics");
                if acknowledged.insert(number, id).is_some() {
                    self.n_repeated.fetch_add(1, Ordering::Relaxed);
                }
            }
            std::thread::sleep(PACE);
        }
    }

    fn address(&self, dice: &mut Dice) -> Option<String> {
        let addresses = self.addresses.read().expect("no holder panics");
        let all: Vec<&String> = addresses.values().collect();
        (!all.is_empty()).then(|| (*dice.one_of(&all)).clone())
    }
}

/// Sends one webhook, and returns the id of its event if it was acknowledged.
fn deliver(address: &str, number: u64) -> Option<String> {
    let body = json!({
        "action": "opened",
        "issue": {"number": number, "title": "A question", "state": "open", "user": sender(), "labels": []},
        "repository": repository(REPO), "sender": sender(),
    });
    let (body, delivery) = (body.to_string(), format!("d-{number}"));
    let request = webhook(address, ("issues", &delivery), SECRET, body.as_bytes());
    let answer = try_raw_within(address, &request, PATIENCE)?;
    (answer.status == 200).then_some(())?;
    answer.json()["event_ids"][0].as_str().map(str::to_owned)
}
