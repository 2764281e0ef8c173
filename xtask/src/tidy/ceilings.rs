//! Limits that part of the repository does not meet yet: each with its present count, which may only fall.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};

use super::tree::{RepositoryFiles, TidyFinding};

pub(crate) const FILE: &str = "xtask/tidy/ceilings.toml";

/// What a ceiling is set for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Measure {
    /// Functions that are too long.
    Functions,
    /// Words that prose does not use.
    Words,
}

impl Measure {
    const ALL: [Self; 2] = [Self::Functions, Self::Words];

    fn key(self) -> &'static str {
        match self {
            Self::Functions => "functions",
            Self::Words => "words",
        }
    }
}

/// The ceilings by crate, folder or document.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Ceilings {
    by_unit: BTreeMap<String, BTreeMap<String, usize>>,
}

/// What was counted: the places by measure and by crate, folder or document.
pub(crate) type CountedPlaces<'a> = BTreeMap<(Measure, &'a str), Vec<TidyFinding>>;

impl Ceilings {
    /// Reads the ceilings of the repository.
    ///
    /// # Errors
    /// When the file is missing or is no table of tables of numbers.
    pub(crate) fn read(tree: &RepositoryFiles) -> Result<Self> {
        let text = tree
            .text(FILE)
            .with_context(|| format!("`{FILE}` is missing"))?;
        let by_unit = toml::from_str(text).with_context(|| format!("failed to read `{FILE}`"))?;
        Ok(Self { by_unit })
    }

    fn of(&self, measure: Measure, unit: &str) -> usize {
        let of_unit = self.by_unit.get(unit);
        of_unit
            .and_then(|it| it.get(measure.key()))
            .copied()
            .unwrap_or(0)
    }

    /// Fails for each unit that is over its ceiling, and for each that is under one: a ceiling follows what was reached.
    pub(crate) fn check(&self, counts: &CountedPlaces<'_>) -> Vec<TidyFinding> {
        let mut acc = Vec::new();
        for (&(measure, unit), places) in counts {
            let (n_places, ceiling, key) = (places.len(), self.of(measure, unit), measure.key());
            if n_places > ceiling {
                // Which of the places are new is not known, so all are listed.
                acc.extend(places.iter().cloned());
                if ceiling > 0 {
                    let message = format!(
                        "`{unit}` has {n_places} {key}, its ceiling is {ceiling}: correct what you added (all places are listed \
                         here), or move the ceiling along with what moved here from another crate"
                    );
                    acc.push(TidyFinding::new(FILE, 1, message));
                }
            }
        }
        for (unit, key, ceiling) in self.entries() {
            let n_places = Measure::ALL
                .iter()
                .find(|measure| measure.key() == key)
                .map(|&measure| counts.get(&(measure, unit)).map_or(0, Vec::len));
            match n_places {
                None => acc.push(TidyFinding::new(FILE, 1, format!("`{key}` of `{unit}` is not a measure"))),
                Some(n_places) if n_places < ceiling => acc.push(TidyFinding::new(
                    FILE,
                    1,
                    format!(
                        "`{unit}` has only {n_places} {key}: write `{key} = {n_places}` under `[{unit}]` instead of {ceiling} \
                         (no entry for 0), or run `cargo xtask tidy --lower`, which does it for all"
                    ),
                )),
                Some(_) => {}
            }
        }
        acc
    }

    fn entries(&self) -> impl Iterator<Item = (&str, &str, usize)> {
        self.by_unit.iter().flat_map(|(unit, of_unit)| {
            of_unit
                .iter()
                .map(|(key, &ceiling)| (unit.as_str(), key.as_str(), ceiling))
        })
    }

    /// Returns the ceilings lowered to what was counted; none is raised.
    pub(crate) fn lowered(&self, counts: &CountedPlaces<'_>) -> Self {
        let mut by_unit: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
        for (&(measure, unit), places) in counts {
            let ceiling = self.of(measure, unit).min(places.len());
            if ceiling > 0 {
                by_unit
                    .entry(unit.to_owned())
                    .or_default()
                    .insert(measure.key().to_owned(), ceiling);
            }
        }
        Self { by_unit }
    }

    /// Prints the file.
    pub(crate) fn to_toml(&self) -> String {
        let mut acc = String::from(
            "# Ceilings of crates, folders and documents that do not meet a limit yet: how many functions are too long, and how many\n\
             # words prose does not use. Tidy fails over a ceiling and under it; `cargo xtask tidy --lower` lowers them to what is reached.\n",
        );
        for (unit, of_unit) in &self.by_unit {
            // A section each, with a blank line before it, so that changes of several branches merge.
            writeln!(acc, "\n[\"{unit}\"]").expect("writing to a string cannot fail");
            for (key, ceiling) in of_unit {
                writeln!(acc, "{key} = {ceiling}").expect("writing to a string cannot fail");
            }
        }
        acc
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceilings(text: &str) -> Ceilings {
        Ceilings::read(&RepositoryFiles::from([(FILE, text)])).unwrap()
    }

    fn counts(of: &[(Measure, &'static str, usize)]) -> CountedPlaces<'static> {
        let places = |n_places| {
            (1..=n_places)
                .map(|line| TidyFinding::new("a.rs", line, "bad"))
                .collect()
        };
        of.iter()
            .map(|&(measure, unit, n_places)| ((measure, unit), places(n_places)))
            .collect()
    }

    fn shown(problems: Vec<TidyFinding>) -> Vec<String> {
        problems.into_iter().map(|it| it.to_string()).collect()
    }

    #[test]
    fn without_a_ceiling_every_place_fails() {
        let problems = Ceilings::default().check(&counts(&[(Measure::Words, "a", 2)]));
        assert_eq!(
            shown(problems),
            ["a.rs:1: error: bad", "a.rs:2: error: bad"]
        );
    }

    #[test]
    fn at_its_ceiling_a_crate_passes_and_over_it_every_place_is_listed() {
        let ceilings = ceilings("[a]\nwords = 1\nfunctions = 1\n");
        let at = [(Measure::Functions, "a", 1), (Measure::Words, "a", 1)];
        assert_eq!(ceilings.check(&counts(&at)), []);
        let over = [(Measure::Functions, "a", 1), (Measure::Words, "a", 2)];
        let problems = shown(ceilings.check(&counts(&over)));
        assert_eq!(problems[..2], ["a.rs:1: error: bad", "a.rs:2: error: bad"]);
        assert!(
            problems[2].contains("`a` has 2 words, its ceiling is 1"),
            "{}",
            problems[2]
        );
        assert_eq!(problems.len(), 3);
    }

    #[test]
    fn under_its_ceiling_the_number_to_write_is_named() {
        let ceilings = ceilings("[a]\nwords = 3\n\n[\"gone.md\"]\nwords = 1\n\n[c]\nlines = 1\n");
        let problems = shown(ceilings.check(&counts(&[(Measure::Words, "a", 2)])));
        assert!(
            problems[0].contains("write `words = 2` under `[a]` instead of 3"),
            "{}",
            problems[0]
        );
        assert!(
            problems[1].contains("`lines` of `c` is not a measure"),
            "{}",
            problems[1]
        );
        assert!(
            problems[2].contains("write `words = 0` under `[gone.md]`"),
            "{}",
            problems[2]
        );
        assert_eq!(problems.len(), 3);
    }

    #[test]
    fn lowering_follows_the_counts_and_never_raises() {
        let ceilings = ceilings(
            "[a]\nwords = 3\nfunctions = 2\n\n[b]\nwords = 1\n\n[\"docs/c.md\"]\nwords = 4\n",
        );
        let lowered = ceilings.lowered(&counts(&[
            (Measure::Words, "a", 5),
            (Measure::Functions, "a", 1),
            (Measure::Words, "docs/c.md", 4),
            (Measure::Words, "d", 1),
        ]));
        let text = lowered.to_toml();
        assert!(
            text.ends_with("\n\n[\"a\"]\nfunctions = 1\nwords = 3\n\n[\"docs/c.md\"]\nwords = 4\n"),
            "{text}"
        );
        assert_eq!(
            Ceilings::read(&RepositoryFiles::from([(FILE, text.as_str())])).unwrap(),
            lowered
        );
    }
}
