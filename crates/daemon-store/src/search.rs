//! The search over stored rows: ids by their beginning, and words in the newest rows.

use async_trait::async_trait;
use daemon_engine::OutputKey;
use daemon_event::{ActivationId, EventId};

use crate::error::StoreError;
use crate::stored::facts::title;

/// How many of the newest rows of each kind are searched for words. Ids are found among all rows.
pub const SEARCHED_ROWS: u32 = 5_000;
/// The maximum number of words; later ones are left out.
const MOST_WORDS: usize = 8;
/// The shortest beginning of an id, in characters.
const SHORTEST_ID: usize = 3;

/// What to search for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    words: Vec<String>,
    id: Option<String>,
    /// The maximum number of rows of each kind.
    pub limit: u32,
}

impl SearchQuery {
    /// Reads a search of words that all have to be met; `None` for one without words.
    pub fn new(text: &str, limit: u32) -> Option<Self> {
        let given: Vec<&str> = text.split_whitespace().take(MOST_WORDS).collect();
        let is_id = |word: &&&str| {
            word.len() >= SHORTEST_ID
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let [first, more @ ..] = given.as_slice() else {
            return None;
        };
        let id = Some(first).filter(|_| more.is_empty()).filter(is_id);
        Some(Self {
            words: given.iter().map(|word| word.to_lowercase()).collect(),
            id: id.map(|id| (*id).to_owned()),
            limit,
        })
    }

    /// Returns the beginnings of ids: as given, and in the letters of ids and of keys.
    pub fn ids(&self) -> Vec<String> {
        let Some(id) = &self.id else {
            return Vec::new();
        };
        let mut all = vec![id.clone(), id.to_uppercase(), id.to_lowercase()];
        all.sort();
        all.dedup();
        all
    }

    /// Reports whether an event is found: by its own columns, and by the title among its stored facts.
    pub fn is_met_by_event(&self, texts: &[Option<&str>], facts: Option<&str>) -> bool {
        if self.is_met_by(texts) {
            return true;
        }
        // Most facts contain none of the words, and are not parsed then.
        let may_be = facts.filter(|facts| self.is_met_by(&[texts, &[Some(*facts)]].concat()));
        let title = may_be.and_then(title);
        title.is_some_and(|title| self.is_met_by(&[texts, &[Some(title.as_str())]].concat()))
    }

    /// Reports whether a run is found: by its own columns, and by the result and the error in its stored object.
    pub fn is_met_by_run(&self, texts: &[Option<&str>], object: &str) -> bool {
        let object: serde_json::Value = serde_json::from_str(object).unwrap_or_default();
        let result = object["result_preview"].as_str();
        let error = object
            .pointer("/error/message")
            .and_then(|message| message.as_str());
        self.is_met_by(&[texts, &[result, error]].concat())
    }

    /// Reports whether each word is in one of some strings, in letters of any case.
    pub fn is_met_by(&self, texts: &[Option<&str>]) -> bool {
        let texts: Vec<String> = texts
            .iter()
            .flatten()
            .map(|text| text.to_lowercase())
            .collect();
        self.words
            .iter()
            .all(|word| texts.iter().any(|text| text.contains(word)))
    }
}

/// The rows that a search found: those whose id begins so, then the newest that contain the words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchFound {
    /// Events: by subject, actor, kind, action and title.
    pub events: Vec<EventId>,
    /// Activations: by daemon, subject, result and reason.
    pub activations: Vec<ActivationId>,
    /// Runs: by daemon, provider, result and error.
    pub runs: Vec<String>,
    /// Outputs: by daemon, target, URL and error.
    pub outputs: Vec<OutputKey>,
}

/// The search over stored rows. It reads no payload.
#[async_trait]
pub trait Search: Send + Sync {
    /// Searches for rows.
    async fn search(&self, query: &SearchQuery) -> Result<SearchFound, StoreError>;
}

/// Collects the ids of one kind, each once, until there are enough.
#[derive(Debug)]
pub struct FoundIds<T> {
    ids: Vec<T>,
    limit: usize,
}

impl<T: PartialEq> FoundIds<T> {
    /// Begins to collect for a query.
    pub fn new(query: &SearchQuery) -> Self {
        Self {
            ids: Vec::new(),
            limit: usize::try_from(query.limit).unwrap_or(usize::MAX),
        }
    }

    /// Adds an id, and reports whether there is room for more.
    pub fn add(&mut self, id: T) -> bool {
        if !self.is_full() && !self.ids.contains(&id) {
            self.ids.push(id);
        }
        !self.is_full()
    }

    /// Reports whether there are enough.
    pub fn is_full(&self) -> bool {
        self.ids.len() >= self.limit
    }

    /// Returns the ids.
    pub fn into_ids(self) -> Vec<T> {
        self.ids
    }
}

#[cfg(test)]
mod tests {
    use super::SearchQuery;

    #[test]
    fn one_word_may_be_the_beginning_of_an_id_and_all_words_have_to_be_met() {
        let ids = |text: &str| SearchQuery::new(text, 5).map(|query| query.ids());
        assert_eq!(ids("  "), None);
        assert_eq!(
            ids("01kA"),
            Some(vec![
                "01KA".to_owned(),
                "01kA".to_owned(),
                "01ka".to_owned()
            ])
        );
        for no_id in ["01", "a b", "lantern#8"] {
            assert_eq!(ids(no_id), Some(Vec::new()), "{no_id}");
        }
        let query = SearchQuery::new("Ada lantern#8", 5).unwrap();
        assert!(query.is_met_by(&[Some("github:acme/Lantern#8"), None, Some("ada")]));
        assert!(!query.is_met_by(&[Some("github:acme/lantern#8")]));
    }
}
