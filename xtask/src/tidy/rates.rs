//! How the prose and the comments of the crates compare with those of others.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use super::rust::CommentKind;
use super::survey::{File, RustFiles};
use super::words::Prose;

/// What is counted in a crate, a folder or a document.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProseRates {
    n_words: usize,
    n_hits: usize,
    n_code_lines: usize,
    n_reasons: usize,
}

impl AddAssign for ProseRates {
    fn add_assign(&mut self, other: Self) {
        self.n_words += other.n_words;
        self.n_hits += other.n_hits;
        self.n_code_lines += other.n_code_lines;
        self.n_reasons += other.n_reasons;
    }
}

impl fmt::Display for ProseRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of 1,000 words ({} in {}), {} comments with a reason on 100 lines of code ({} on {})",
            rate(self.n_hits, 1_000, self.n_words),
            self.n_hits,
            self.n_words,
            rate(self.n_reasons, 100, self.n_code_lines),
            self.n_reasons,
            self.n_code_lines
        )
    }
}

/// Prints `count * per / of` with two places.
fn rate(count: usize, per: usize, of: usize) -> String {
    // Integers, so that the output is the same on every machine.
    let hundredths = (count * per * 100 + of / 2).checked_div(of).unwrap_or(0);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// CountedPlaces for each crate, folder and document.
pub(crate) fn read<'a>(
    survey: &RustFiles<'a>,
    prose: &BTreeMap<&'a str, Prose>,
) -> BTreeMap<&'a str, ProseRates> {
    let mut acc: BTreeMap<&str, ProseRates> = BTreeMap::new();
    for (unit, prose) in prose {
        *acc.entry(unit).or_default() += ProseRates {
            n_words: prose.n_words,
            n_hits: prose.hits.len(),
            ..ProseRates::default()
        };
    }
    for (package, n_code_lines) in survey.code_lines() {
        *acc.entry(package).or_default() += ProseRates {
            n_code_lines,
            ..ProseRates::default()
        };
    }
    for file in survey.files.iter().filter(|file| !file.is_test()) {
        *acc.entry(file.package).or_default() += ProseRates {
            n_reasons: n_reasons(file),
            ..ProseRates::default()
        };
    }
    acc
}

/// CountedPlaces the comments that are no documentation; lines that follow each other are one.
fn n_reasons(file: &File<'_>) -> usize {
    let blocks = file.comment_blocks().into_iter();
    blocks
        .filter(|block| block.kind != CommentKind::Doc)
        .count()
}

#[cfg(test)]
mod tests {
    use super::super::rust::RustSource;
    use super::*;

    #[test]
    fn a_rate_has_two_places_and_nothing_is_divided_by_zero() {
        let rates = ProseRates {
            n_words: 3_000,
            n_hits: 7,
            n_code_lines: 0,
            n_reasons: 0,
        };
        assert_eq!(
            rates.to_string(),
            "2.33 of 1,000 words (7 in 3000), 0.00 comments with a reason on 100 lines of code (0 on 0)"
        );
    }

    #[test]
    fn reasons_are_blocks_of_plain_comment_and_comments_after_code() {
        let text = "//! Page.\n// One\n// reason.\n\n// Two.\n/// Doc.\nfn a() {} // Three.\n";
        let file = File {
            path: "crates/a/src/a.rs",
            package: "a",
            source: RustSource::read(text),
        };
        assert_eq!(n_reasons(&file), 3);
    }

    #[test]
    fn files_of_tests_count_for_words_only() {
        let file = |path| File {
            path,
            package: "a",
            source: RustSource::read("// Why.\nfn a() {}\n"),
        };
        let survey = RustFiles {
            files: vec![file("crates/a/src/a.rs"), file("crates/a/src/a/tests.rs")],
        };
        let prose = Prose {
            n_words: 2,
            hits: Vec::new(),
        };
        let rates = read(&survey, &BTreeMap::from([("a", prose)]));
        assert_eq!(
            rates["a"],
            ProseRates {
                n_words: 2,
                n_hits: 0,
                n_code_lines: 1,
                n_reasons: 1
            }
        );
    }
}
