//! What every memory of an agent must do.

use std::future::Future;
use std::pin::Pin;

use jiff::Timestamp;

use super::random::Dice;
use super::scene::at;
use crate::agent_memory::{
    AgentMemory, MAX_POSTINGS, MemoryEntry, RecallWords, Remembered, StoredEntry,
};

/// A case as it runs.
type Running<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// One behaviour that every memory must show, on an empty one.
#[derive(Clone, Copy, Debug)]
pub struct MemoryCase {
    /// The behaviour, as a sentence with underscores.
    pub name: &'static str,
    run: for<'a> fn(&'a dyn AgentMemory) -> Running<'a>,
}

impl MemoryCase {
    /// Runs the case on an empty memory.
    ///
    /// # Panics
    /// Where the memory departs from the contract.
    pub async fn run(&self, memory: &dyn AgentMemory) {
        (self.run)(memory).await;
    }
}

macro_rules! memory_cases {
    ($($name:ident)+) => {
        /// Every case of a memory.
        pub const MEMORY_CASES: &[MemoryCase] = &[$(MemoryCase {
            name: stringify!($name),
            run: |memory| Box::pin($name(memory)),
        },)+];
    };
}

memory_cases! {
    an_empty_memory_recalls_nothing
    an_entry_comes_back_as_it_was_given
    an_entry_replaces_the_one_with_its_kind_and_name
    entries_are_found_by_name_alias_kind_and_content
    the_rarer_word_ranks_higher
    names_count_more_than_content
    signs_of_a_query_language_are_words_or_nothing
    common_words_alone_return_the_newest_matches
    a_query_without_words_returns_the_newest
    a_forgotten_entry_is_gone_and_can_come_back
}

fn entry(kind: &str, name: &str, content: &str) -> MemoryEntry {
    MemoryEntry::new(kind, name, content, &[]).expect("an entry within its bounds")
}

async fn keep(memory: &dyn AgentMemory, entry: MemoryEntry, at: Timestamp) -> Remembered {
    memory.remember(entry, at).await.expect("it is kept")
}

/// Returns the names that a query recalls, in order.
async fn names(memory: &dyn AgentMemory, query: &str, limit: usize) -> Vec<String> {
    let query = RecallWords::parse(query);
    let found = memory.recall(&query, limit).await.expect("it is read");
    let names = found.into_iter().map(|found| found.entry.name().to_owned());
    names.collect()
}

async fn an_empty_memory_recalls_nothing(memory: &dyn AgentMemory) {
    assert_eq!(names(memory, "anything", 5).await, [""; 0]);
    assert_eq!(names(memory, "", 5).await, [""; 0]);
}

async fn an_entry_comes_back_as_it_was_given(memory: &dyn AgentMemory) {
    let aliases = ["Countess \"Ada\"".to_owned(), "L'été".to_owned()];
    let content = "First line.\n\tSecond 'line'; \u{0} NUL, 東京 \u{1f600}";
    let given = MemoryEntry::new("person", "Ada", content, &aliases).expect("within its bounds");
    assert_eq!(keep(memory, given.clone(), at(7)).await, Remembered::Added);
    let found = memory.recall(&RecallWords::parse("countess"), 5).await;
    let expected = StoredEntry {
        entry: given,
        at: at(7),
    };
    assert_eq!(found.expect("it is read"), [expected]);
}

async fn an_entry_replaces_the_one_with_its_kind_and_name(memory: &dyn AgentMemory) {
    keep(memory, entry("fact", "port", "It is eighty."), at(1)).await;
    keep(memory, entry("fact", "host", "It is small."), at(2)).await;
    let other_kind = keep(memory, entry("wish", "port", "Red wine."), at(3)).await;
    assert_eq!(other_kind, Remembered::Added);
    let again = keep(memory, entry("fact", "port", "It is ninety."), at(4)).await;
    assert_eq!(again, Remembered::Replaced);
    assert_eq!(names(memory, "eighty", 5).await, [""; 0]);
    assert_eq!(names(memory, "ninety", 5).await, ["port"]);
    assert_eq!(names(memory, "", 5).await, ["port", "port", "host"]);
}

async fn entries_are_found_by_name_alias_kind_and_content(memory: &dyn AgentMemory) {
    let aliases = ["the Enchantress".to_owned()];
    let ada = MemoryEntry::new("person", "Ada Lovelace", "Wrote about engines.", &aliases);
    keep(memory, ada.expect("within its bounds"), at(1)).await;
    keep(memory, entry("place", "London", "A town."), at(2)).await;
    for query in ["LOVELACE", "enchantress", "persons person", "engines?"] {
        assert_eq!(names(memory, query, 5).await, ["Ada Lovelace"], "{query}");
    }
}

async fn the_rarer_word_ranks_higher(memory: &dyn AgentMemory) {
    for n in 0..6 {
        let content = if n == 2 { "zebra here" } else { "horse here" };
        keep(memory, entry("note", &format!("n{n}"), content), at(n)).await;
    }
    keep(memory, entry("note", "other", "nothing of it"), at(9)).await;
    assert_eq!(names(memory, "horse zebra", 3).await, ["n2", "n5", "n4"]);
}

async fn names_count_more_than_content(memory: &dyn AgentMemory) {
    keep(memory, entry("note", "deploy", "How it is done."), at(1)).await;
    keep(memory, entry("note", "monday", "We deploy then."), at(2)).await;
    for n in 3..9 {
        keep(
            memory,
            entry("note", &format!("n{n}"), "Other text here."),
            at(n),
        )
        .await;
    }
    assert_eq!(names(memory, "deploy", 5).await, ["deploy", "monday"]);
}

async fn signs_of_a_query_language_are_words_or_nothing(memory: &dyn AgentMemory) {
    keep(memory, entry("note", "plus", "a near miss"), at(1)).await;
    for query in [
        "NEAR(",
        "\"near",
        "name:near",
        "near*",
        "^near -miss",
        "near AND NOT near",
    ] {
        assert_eq!(names(memory, query, 5).await, ["plus"], "{query}");
    }
    for query in ["nea*", "content:", "'; DROP TABLE entry; --"] {
        assert_eq!(names(memory, query, 5).await, [""; 0], "{query}");
    }
}

async fn common_words_alone_return_the_newest_matches(memory: &dyn AgentMemory) {
    let n_common = i64::try_from(MAX_POSTINGS).expect("it is small") + 1;
    for n in 0..n_common {
        // The oldest would be ranked first.
        let content = if n == 0 { "common common" } else { "common" };
        keep(memory, entry("x", &format!("n{n}"), content), at(n)).await;
    }
    keep(memory, entry("x", "other", "rare"), at(n_common)).await;
    let newest: Vec<String> = (1..4).map(|n| format!("n{}", n_common - n)).collect();
    assert_eq!(names(memory, "common", 3).await, newest);
    assert_eq!(names(memory, "common rare", 3).await, ["other"]);
}

async fn a_query_without_words_returns_the_newest(memory: &dyn AgentMemory) {
    for n in 0..4 {
        keep(memory, entry("note", &format!("n{n}"), "text"), at(n)).await;
    }
    assert_eq!(names(memory, "?!", 2).await, ["n3", "n2"]);
}

async fn a_forgotten_entry_is_gone_and_can_come_back(memory: &dyn AgentMemory) {
    keep(memory, entry("note", "a", "one text"), at(1)).await;
    keep(memory, entry("note", "b", "one text"), at(2)).await;
    memory.forget("note", "a").await.expect("it is there");
    let gone = memory.forget("note", "a").await.expect_err("it is gone");
    assert_eq!(gone.to_string(), "no such entry: `note/a`");
    let other = memory.forget("fact", "b").await;
    assert_eq!(
        other.expect_err("another kind").to_string(),
        "no such entry: `fact/b`"
    );
    assert_eq!(names(memory, "text", 5).await, ["b"]);
    let again = keep(memory, entry("note", "a", "one text"), at(3)).await;
    assert_eq!(again, Remembered::Added);
    assert_eq!(names(memory, "text", 5).await, ["a", "b"]);
}

/// Applies `n_steps` random operations drawn from `seed` to both memories.
///
/// # Panics
/// At the first operation that they answer differently, naming seed and step.
pub async fn compare_memories(
    one: &dyn AgentMemory,
    other: &dyn AgentMemory,
    seed: u64,
    n_steps: u32,
) {
    let mut dice = Dice(seed);
    for n in 0..n_steps {
        let before = dice;
        let first = step(one, &mut dice, n).await;
        dice = before;
        let second = step(other, &mut dice, n).await;
        assert_eq!(first, second, "seed {seed}, step {n}");
    }
}

async fn step(memory: &dyn AgentMemory, dice: &mut Dice, n: u32) -> String {
    let kind = if dice.below(4) == 0 { "fact" } else { "note" };
    let name = format!("{}", dice.below(30));
    match dice.below(10) {
        0..4 => {
            let aliases: Vec<String> = (0..dice.below(3)).map(|_| text(dice, 2)).collect();
            let content = text(dice, 12);
            let entry = MemoryEntry::new(kind, &name, &content, &aliases);
            let entry = entry.expect("an entry within its bounds");
            format!("{:?}", memory.remember(entry, at(i64::from(n))).await)
        }
        4 => format!(
            "{:?}",
            memory
                .forget(kind, &name)
                .await
                .map_err(|error| error.to_string())
        ),
        _ => {
            let query = RecallWords::parse(&text(dice, 4));
            format!("{:?}", memory.recall(&query, 7).await)
        }
    }
}

/// Returns up to `most` words, some of them far more often than others.
fn text(dice: &mut Dice, most: u64) -> String {
    let words = (0..=dice.below(most)).map(|_| {
        let common = 1 + dice.below(20);
        format!("w{}", dice.below(common))
    });
    words.collect::<Vec<_>>().join(" ")
}
