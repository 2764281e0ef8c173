//! Words of entries and of queries, and which words of a query are used.

use super::MemoryEntry;

/// The most words of a query.
pub const MAX_WORDS: usize = 32;
/// The most entries that are ranked for a query, counted once for each word that they have: ranking without a bound takes 80 ms
/// in a memory of 100,000 entries.
pub const MAX_POSTINGS: u64 = 3_000;
/// What an occurrence counts in each of the [`indexed_columns`].
pub const COLUMN_WEIGHTS: [f64; 3] = [4.0, 4.0, 1.0];
/// The longest word, in characters. A longer one is cut, in entries and queries alike.
const MAX_WORD: usize = 64;

/// The distinct words of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecallWords(Vec<String>);

/// How a query is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecallPlan {
    /// No entry matches.
    Nothing,
    /// Entries with at least one of these words are ranked by them.
    Ranked(Vec<String>),
    /// The newest entries with at least one of these words; the newest of all without words.
    Newest(Vec<String>),
}

impl RecallWords {
    /// Reads a query. Words after the first 32 are ignored.
    pub fn parse(query: &str) -> Self {
        let mut distinct: Vec<String> = Vec::new();
        for word in words(query) {
            if distinct.len() == MAX_WORDS {
                break;
            }
            if !distinct.contains(&word) {
                distinct.push(word);
            }
        }
        Self(distinct)
    }

    /// Decides how the query is answered; `frequency` returns how many entries have a word.
    ///
    /// The rarest words are used first, as long as together they occur in at most [`MAX_POSTINGS`] entries. If even the rarest
    /// one is more frequent, the words say little, and the newest matches are as good as any.
    pub fn plan(&self, frequency: impl Fn(&str) -> u64) -> RecallPlan {
        if self.0.is_empty() {
            return RecallPlan::Newest(Vec::new());
        }
        let known = self.0.iter().map(|word| (frequency(word), word));
        let mut known: Vec<(u64, &String)> = known.filter(|(n, _)| *n > 0).collect();
        // Stable, so that words of one frequency keep the order of the query and stores add up scores in the same order.
        known.sort_by_key(|(n, _)| *n);
        let mut n_postings = 0;
        let rare = known.iter().take_while(|(n, _)| {
            n_postings += n;
            n_postings <= MAX_POSTINGS
        });
        let rare: Vec<String> = rare.map(|(_, word)| (*word).clone()).collect();
        match (rare.is_empty(), known.is_empty()) {
            (false, _) => RecallPlan::Ranked(rare),
            (true, false) => {
                RecallPlan::Newest(known.into_iter().map(|(_, word)| word.clone()).collect())
            }
            (true, true) => RecallPlan::Nothing,
        }
    }
}

/// Returns the words of the indexed columns of an entry: its name, its aliases with its kind, its content.
pub fn indexed_columns(entry: &MemoryEntry) -> [Vec<String>; 3] {
    let aliases = entry.aliases().iter().flat_map(|alias| words(alias));
    [
        words(entry.name()).collect(),
        aliases.chain(words(entry.kind())).collect(),
        words(entry.content()).collect(),
    ]
}

/// Returns the words of a string: runs of letters and digits in lower case. Scripts without spaces give a word for each character.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    let runs = text.split(|char: char| !char.is_alphanumeric());
    runs.flat_map(split_unspaced)
        .filter(|run| !run.is_empty())
        .map(|run| {
            let lower = run.chars().flat_map(char::to_lowercase);
            lower.take(MAX_WORD).collect()
        })
}

/// Splits a run so that each character of a script without spaces is a part.
fn split_unspaced(run: &str) -> impl Iterator<Item = &str> {
    let mut rest = run;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = match is_unspaced(first) {
            true => first.len_utf8(),
            false => rest.find(is_unspaced).unwrap_or(rest.len()),
        };
        let (part, after) = rest.split_at(end);
        rest = after;
        Some(part)
    })
}

/// Reports whether a character is of a script that puts no spaces between words: Thai to Khmer, kana, Han.
fn is_unspaced(char: char) -> bool {
    matches!(char,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::{MAX_POSTINGS, MAX_WORDS, RecallPlan, RecallWords, words};

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(words(text).collect::<Vec<_>>(), expected, "{text}");
        };
        check(
            "Ada's e-mail: ADA@x.org",
            &["ada", "s", "e", "mail", "ada", "x", "org"],
        );
        check("\"a\" OR (b* NEAR ^c)", &["a", "or", "b", "near", "c"]);
        check("Straße ÉTÉ 42", &["straße", "été", "42"]);
        check("v2東京へ", &["v2", "東", "京", "へ"]);
        check("\u{0} -- ", &[]);
        check(&"x".repeat(100), &["x".repeat(64).as_str()]);
    }

    #[test]
    fn the_rarest_words_are_used_up_to_a_number_of_postings() {
        let frequency = |word: &str| match word {
            "the" => 90_000,
            "of" => 80_000,
            "host" => MAX_POSTINGS - 40,
            "kernel" => 40,
            "ada" => 1,
            _ => 0,
        };
        let plan = |query: &str| RecallWords::parse(query).plan(frequency);
        let ranked = |words: &[&str]| RecallPlan::Ranked(words.iter().map(|&w| w.into()).collect());
        assert_eq!(plan("the kernel of the host"), ranked(&["kernel", "host"]));
        // One posting more than the bound.
        assert_eq!(plan("host, kernel, Ada"), ranked(&["ada", "kernel"]));
        let common = RecallPlan::Newest(vec!["of".to_owned(), "the".to_owned()]);
        assert_eq!(plan("the unknown of"), common);
        assert_eq!(plan("unknown"), RecallPlan::Nothing);
        assert_eq!(plan(" ?! "), RecallPlan::Newest(Vec::new()));
    }

    #[test]
    fn words_beyond_the_bound_of_a_query_are_ignored() {
        let query: Vec<String> = (0..=MAX_WORDS).map(|n| format!("w{n} w0")).collect();
        let plan = RecallWords::parse(&query.join(" ")).plan(|_| 1);
        let expected = (0..MAX_WORDS).map(|n| format!("w{n}")).collect();
        assert_eq!(plan, RecallPlan::Ranked(expected));
    }
}
