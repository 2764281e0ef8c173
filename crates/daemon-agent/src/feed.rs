//! What happens in all conversations, numbered, for clients that follow the host.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::watch;

use crate::bus::PublishedEvent;
use crate::conversations::Conversations;
use crate::error::AgentError;
use crate::event::AgentEvent;
use crate::name::{AgentName, Pair, Sender};

/// How many events are kept for clients that come back.
const KEPT: usize = 4_096;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedEvent {
    /// In a turn of a conversation.
    Turn(Pair, AgentEvent),
    /// An event was published.
    Published(PublishedEvent),
}

/// Something that happened, with its number since the start of the host, from 1 and without gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberedFeedEvent {
    /// The number.
    pub seq: u64,
    /// The event.
    pub event: FeedEvent,
}

/// Which events a client follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedFilter {
    /// Only those of this agent.
    pub agent: Option<AgentName>,
    /// Only those of conversations with this sender.
    pub sender: Option<Sender>,
    /// Only those of these kinds, by the names that [`FeedEvent::kind`] returns.
    pub kinds: Option<Vec<String>>,
}

impl FeedEvent {
    /// Returns the name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Turn(_, event) => event.kind(),
            Self::Published(_) => "published",
        }
    }
}

impl FeedFilter {
    fn has(&self, event: &FeedEvent) -> bool {
        let pair = match event {
            FeedEvent::Turn(pair, _) => Some(pair),
            FeedEvent::Published(_) => None,
        };
        let is_agent = |agent: &AgentName| pair.is_some_and(|pair| pair.agent == *agent);
        let is_sender = |sender: &Sender| pair.is_some_and(|pair| pair.sender == *sender);
        let is_kind = |kinds: &Vec<String>| kinds.iter().any(|kind| kind == event.kind());
        self.agent.as_ref().is_none_or(is_agent)
            && self.sender.as_ref().is_none_or(is_sender)
            && self.kinds.as_ref().is_none_or(is_kind)
    }
}

/// The newest events of a host.
#[derive(Debug)]
pub(crate) struct Feed {
    kept: Mutex<VecDeque<Arc<NumberedFeedEvent>>>,
    /// The number of the newest event.
    newest: watch::Sender<u64>,
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
            newest: watch::Sender::new(0),
        }
    }
}

impl Feed {
    fn kept(&self) -> MutexGuard<'_, VecDeque<Arc<NumberedFeedEvent>>> {
        self.kept.lock().expect("no holder panics")
    }

    /// Adds an event.
    pub(crate) fn add(&self, event: FeedEvent) {
        let mut kept = self.kept();
        let seq = *self.newest.borrow() + 1;
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(Arc::new(NumberedFeedEvent { seq, event }));
        // Under the lock, so that the numbers rise one by one.
        self.newest.send_replace(seq);
    }

    /// Follows the events behind a number, or those that are to come.
    ///
    /// # Errors
    /// If the events behind the number are no longer kept, or no event has it yet.
    pub(crate) fn follow(
        self: &Arc<Self>,
        filter: FeedFilter,
        after: Option<u64>,
    ) -> Result<FeedStream, AgentError> {
        let kept = self.kept();
        let last = *self.newest.borrow();
        let oldest = kept.front().map_or(last + 1, |event| event.seq);
        drop(kept);
        let after = after.unwrap_or(last);
        if after > last || after + 1 < oldest {
            return Err(too_old(after));
        }
        Ok(FeedStream {
            newest: self.newest.subscribe(),
            feed: Arc::clone(self),
            filter,
            after,
        })
    }
}

fn too_old(after: u64) -> AgentError {
    AgentError::NotFound {
        what: "event",
        id: after.to_string(),
    }
}

/// The events that a client follows.
#[derive(Debug)]
pub struct FeedStream {
    feed: Arc<Feed>,
    newest: watch::Receiver<u64>,
    filter: FeedFilter,
    /// The number of the last event that was read.
    after: u64,
}

impl FeedStream {
    /// Waits for the next event of the filter. Dropping the future loses no event.
    ///
    /// # Errors
    /// If the client was so slow that the next event is no longer kept.
    pub async fn next(&mut self) -> Result<Arc<NumberedFeedEvent>, AgentError> {
        loop {
            let after = self.after;
            let waited = self.newest.wait_for(|newest| *newest > after).await;
            waited.expect("this stream holds the feed that sends");
            let next = self.take()?;
            if self.filter.has(&next.event) {
                return Ok(next);
            }
        }
    }

    fn take(&mut self) -> Result<Arc<NumberedFeedEvent>, AgentError> {
        let kept = self.feed.kept();
        let oldest = kept.front().map_or(0, |event| event.seq);
        let at = (self.after + 1).checked_sub(oldest);
        let at = at.and_then(|at| usize::try_from(at).ok());
        let next = at.and_then(|at| kept.get(at).cloned());
        let next = next.ok_or_else(|| too_old(self.after))?;
        drop(kept);
        self.after += 1;
        Ok(next)
    }
}

impl Conversations {
    /// Follows what happens in all conversations, and what is published: the events behind a number, or those to come.
    ///
    /// # Errors
    /// If the events behind the number are no longer kept.
    pub fn follow_all(
        &self,
        filter: FeedFilter,
        after: Option<u64>,
    ) -> Result<FeedStream, AgentError> {
        self.feed.follow(filter, after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(n: usize) -> FeedEvent {
        FeedEvent::Published(PublishedEvent {
            event_id: n.to_string(),
            source: "s".to_owned(),
            matched: 0,
        })
    }

    #[tokio::test]
    async fn a_client_comes_back_with_its_last_number_until_the_events_are_gone() {
        let feed = Arc::<Feed>::default();
        let mut stream = feed.follow(FeedFilter::default(), None).unwrap();
        for n in 1..=KEPT + 1 {
            feed.add(published(n));
        }
        let follow = |after| feed.follow(FeedFilter::default(), Some(after));
        let next = follow(1).unwrap().next().await.unwrap();
        assert_eq!((next.seq, &next.event), (2, &published(2)));
        for after in [0, KEPT as u64 + 2] {
            let gone = follow(after).unwrap_err().to_string();
            assert_eq!(gone, format!("no event `{after}`"));
        }
        let slow = stream.next().await.unwrap_err().to_string();
        assert_eq!(slow, "no event `0`");
    }

    #[tokio::test]
    async fn a_filter_passes_over_other_events() {
        let feed = Arc::<Feed>::default();
        let pair = |agent: &str, sender: &str| Pair {
            agent: agent.parse().unwrap(),
            sender: sender.parse().unwrap(),
        };
        let filter = FeedFilter {
            agent: Some("b".parse().unwrap()),
            sender: Some("x".parse().unwrap()),
            kinds: Some(vec!["start".to_owned()]),
        };
        let mut stream = feed.follow(filter, None).unwrap();
        let text = AgentEvent::Text {
            text: "t".to_owned(),
            attempt: 1,
        };
        let start = AgentEvent::Start { turn: 1 };
        feed.add(published(1));
        feed.add(FeedEvent::Turn(pair("a", "x"), start.clone()));
        feed.add(FeedEvent::Turn(pair("b", "y"), start.clone()));
        feed.add(FeedEvent::Turn(pair("b", "x"), text));
        feed.add(FeedEvent::Turn(pair("b", "x"), start.clone()));
        let next = stream.next().await.unwrap();
        let expected = FeedEvent::Turn(pair("b", "x"), start);
        assert_eq!((next.seq, &next.event), (5, &expected));
    }
}
