//! Draws comments at random, for reviews of the prose of the workspace.

use std::collections::BTreeMap;

use super::rust::CommentKind;
use super::survey::{Block, File, RustFiles};

const N_CRATES: usize = 10;
const N_DOCS_OF_A_CRATE: usize = 10;
const N_REASONS: usize = 50;

/// Draws ten doc comments from each of ten crates and 50 reasons from all; the same tree and seed draw the same ones.
pub(crate) fn draw(survey: &RustFiles<'_>, seed: u64) -> String {
    let mut random = Random(seed);
    let mut docs: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut reasons = Vec::new();
    for file in survey.files.iter().filter(|file| !file.is_test()) {
        for block in file.comment_blocks() {
            match block.kind {
                CommentKind::Doc => docs
                    .entry(file.package)
                    .or_default()
                    .push(shown(file, &block)),
                CommentKind::Plain | CommentKind::Trailing => reasons.push(shown(file, &block)),
            }
        }
    }
    // A crate with fewer would leave the sample short.
    docs.retain(|_, of_crate| of_crate.len() >= N_DOCS_OF_A_CRATE);
    let crates: Vec<&str> = docs.keys().copied().collect();
    let mut acc = String::new();
    for package in random.choose(N_CRATES, crates) {
        let of_crate = docs.remove(package).unwrap_or_default();
        acc.extend(["## Doc comments of ", package, "\n\n"]);
        acc.extend(random.choose(N_DOCS_OF_A_CRATE, of_crate));
    }
    acc.push_str("## Reasons\n\n");
    acc.extend(random.choose(N_REASONS, reasons));
    acc
}

fn shown(file: &File<'_>, block: &Block) -> String {
    let indented: Vec<String> = block
        .lines
        .iter()
        .map(|line| format!("    {line}").trim_end().to_owned())
        .collect();
    format!("{}:{}\n{}\n\n", file.path, block.line, indented.join("\n"))
}

/// SplitMix64, whose numbers do not change with a version of a library.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Chooses `n` of the items, each as likely as the others, in their order.
    fn choose<T>(&mut self, n: usize, items: Vec<T>) -> Vec<T> {
        let mut n_wanted = n as u64;
        let mut n_left = items.len() as u64;
        let chosen = items.into_iter().filter(|_| {
            let is_chosen = self.next() % n_left < n_wanted;
            n_left -= 1;
            n_wanted -= u64::from(is_chosen);
            is_chosen
        });
        chosen.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::rust::RustSource;
    use super::*;

    #[test]
    fn as_many_are_chosen_as_are_wanted_and_by_the_seed() {
        let choose = |seed| Random(seed).choose(5, (0..100).collect());
        assert_eq!(choose(1).len(), 5);
        assert_eq!(choose(1), choose(1));
        assert_ne!(choose(1), choose(2));
        assert_eq!(Random(1).choose(5, vec![1, 2]), [1, 2]);
    }

    #[test]
    fn every_item_is_chosen_about_as_often() {
        let mut random = Random(7);
        let mut n_chosen = [0_u32; 10];
        for _ in 0..10_000 {
            for item in random.choose(3, (0..10).collect()) {
                n_chosen[item] += 1;
            }
        }
        assert!(
            n_chosen.iter().all(|n| (2_800..3_200).contains(n)),
            "{n_chosen:?}"
        );
    }

    #[test]
    fn a_sample_has_docs_of_ten_crates_and_reasons_with_their_places() {
        let text = "/// One.\n/// Two.\nfn a() {}\n\n".repeat(12) + "// Why.\n";
        let names: Vec<String> = (0..12).map(|nth| format!("crate-{nth}")).collect();
        let files = names.iter().map(|name| File {
            path: "src/a.rs",
            package: name,
            source: RustSource::read(&text),
        });
        let sample = draw(
            &RustFiles {
                files: files.collect(),
            },
            3,
        );
        assert_eq!(sample.matches("## Doc comments of ").count(), 10);
        assert_eq!(sample.matches("    One.\n    Two.\n\n").count(), 100);
        assert_eq!(sample.matches("src/a.rs:49\n    Why.\n\n").count(), 12);
    }
}
