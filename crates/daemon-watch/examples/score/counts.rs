//! The counts of a score, as `docs/conditions-score.md` has them.

use std::fmt;

use daemon_watch::corpus::Score;

pub(crate) struct Counts {
    exact: usize,
    lines: usize,
    mapped: usize,
    wrong_mapped: usize,
    silent: usize,
    false_wakes: usize,
    negated_false_wakes: usize,
}

impl Counts {
    pub(crate) fn of(score: &Score, mapped: usize) -> Self {
        let failures = || score.failures.iter();
        let negated = failures().filter(|failure| is_negated(&failure.condition));
        Self {
            exact: score.exact,
            lines: score.conditions,
            mapped,
            wrong_mapped: failures().filter(|failure| failure.got == "mapped").count(),
            silent: score.silent_remainders,
            false_wakes: score.false_wakes,
            negated_false_wakes: negated.map(|failure| failure.false_wakes.len()).sum(),
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (exact, lines) = (self.exact, self.lines);
        let (mapped, wrong, silent) = (self.mapped, self.wrong_mapped, self.silent);
        let (wakes, negated) = (self.false_wakes, self.negated_false_wakes);
        write!(
            f,
            "{exact} of {lines} exact, mapped {mapped}, of these wrong {wrong}, silent {silent}, false wakes {wakes}, of these negated {negated}"
        )
    }
}

fn is_negated(line: &str) -> bool {
    const NEGATORS: &[&str] = &[
        "not",
        "no",
        "without",
        "except",
        "unless",
        "other",
        "neither",
        "nor",
        "but",
        "excluding",
        "never",
        "outside",
        "only",
    ];
    line.to_lowercase()
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .any(|word| NEGATORS.contains(&word) || word.ends_with("n't"))
}
