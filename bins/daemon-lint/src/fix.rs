//! Fixes: withdrawing bad ones, and applying the others until none remains.

use std::collections::BTreeSet;

use daemon_spec::{Code, Completeness, Diagnostic, Fix, Fixed, Severity, apply_fixes};
use daemon_validate::MAX_PER_CODE;

use crate::lint::Linted;

// A fix can reveal another: after quoting a value has a type, and after that a rule can apply. This
// takes a few rounds. The others are for files with more diagnostics of a code than are reported at once.
const MAX_ROUNDS: usize = 100;

// Bounds the time for a file whose fixes are tried separately.
const MAX_SEPARATE: usize = 100;

// Errors about absent fields. They are reported only if the whole front matter was read, so a fix
// that makes the rest readable reveals them and does not cause them.
const ABOUT_ABSENCE: [u16; 5] = [110, 120, 134, 310, 400];

/// The result of checking a file.
#[derive(Clone, Copy)]
pub(crate) struct CheckResult<'a> {
    pub(crate) completeness: Completeness,
    pub(crate) diagnostics: &'a [Diagnostic],
}

impl<'a> CheckResult<'a> {
    /// Returns the result of a file, or `None` if it was not read.
    fn of(linted: &'a Linted) -> Option<Self> {
        Some(Self {
            completeness: linted.file.as_ref()?.completeness(),
            diagnostics: &linted.diagnostics,
        })
    }

    /// Returns `true` if the file became `after` by fixing diagnostics with these codes, and is better.
    ///
    /// As much of it must be readable as before. It must have no more errors, except for those about
    /// absent fields if more of it is readable, no new syntax error, and fewer diagnostics of each of the
    /// codes.
    pub(crate) fn is_improved_by(self, codes: &BTreeSet<Code>, after: CheckResult<'_>) -> bool {
        let is_error = |found: &&Diagnostic| found.severity == Severity::Error;
        let is_more = extent(after.completeness) > extent(self.completeness);
        let is_revealed =
            |found: &&Diagnostic| is_more && ABOUT_ABSENCE.contains(&found.code.number());
        let n_errors = |text: CheckResult<'_>| {
            let found = text.diagnostics.iter().filter(is_error);
            found.filter(|found| !is_revealed(found)).count()
        };
        let count = |text: CheckResult<'_>, code: Code| {
            let found = text.diagnostics.iter();
            found.filter(|found| found.code == code).count()
        };
        let mut syntax_errors = after
            .diagnostics
            .iter()
            .filter(|found| is_error(found) && found.code.number() < 100);
        extent(after.completeness) >= extent(self.completeness)
            && n_errors(after) <= n_errors(self)
            && syntax_errors.all(|found| count(after, found.code) <= count(self, found.code))
            && codes.iter().all(|&code| {
                // Diagnostics above the limit take the places of those that are fixed.
                count(after, code) < count(self, code) || count(self, code) >= MAX_PER_CODE
            })
    }
}

const fn extent(completeness: Completeness) -> u8 {
    match completeness {
        Completeness::Nothing => 0,
        Completeness::Parts => 1,
        Completeness::Whole => 2,
    }
}

/// A file after fixes, and the codes of the diagnostics that they repair.
struct Repair {
    fixed: Fixed,
    n_fixes: usize,
    codes: BTreeSet<Code>,
}

impl Repair {
    /// Applies the fixes of diagnostics. Returns `None` if that changes nothing.
    fn of<'a>(bytes: &[u8], found: impl Iterator<Item = &'a Diagnostic>) -> Option<Self> {
        let (codes, fixes): (BTreeSet<Code>, Vec<&Fix>) = found
            .filter_map(|found| Some((found.code, found.fix.as_ref()?)))
            .unzip();
        let n_fixes = fixes.len();
        let fixed = apply_fixes(bytes, fixes);
        (fixed.applied > 0 && fixed.bytes != bytes).then_some(Self {
            fixed,
            n_fixes,
            codes,
        })
    }
}

/// Removes the fixes after which a file of `bytes` is not better, so that only good ones are offered.
///
/// `is_better` checks a fixed file, given the codes of the diagnostics that it repairs.
pub(crate) fn withdraw_bad_ones(
    bytes: &[u8],
    diagnostics: &mut [Diagnostic],
    mut is_better: impl FnMut(Vec<u8>, &BTreeSet<Code>) -> bool,
) {
    // Usually all fixes are good, and one check shows that.
    let all = Repair::of(bytes, diagnostics.iter());
    if all.is_some_and(|all| {
        all.fixed.applied == all.n_fixes && is_better(all.fixed.bytes, &all.codes)
    }) {
        return;
    }
    let fixable = diagnostics.iter_mut().filter(|found| found.fix.is_some());
    for (index, found) in fixable.enumerate() {
        let alone = Repair::of(bytes, std::iter::once(&*found)).filter(|_| index < MAX_SEPARATE);
        if !alone.is_some_and(|alone| is_better(alone.fixed.bytes, &alone.codes)) {
            found.fix = None;
        }
    }
}

/// Applies the fixes of a file until none remains. Returns the file and the number of applied fixes.
///
/// `lint` lints the file with a new content.
pub(crate) fn settle(mut linted: Linted, lint: impl Fn(Vec<u8>) -> Linted) -> (Linted, usize) {
    let mut n_fixed = 0;
    for _ in 0..MAX_ROUNDS {
        let Some((next, applied)) = round(&linted, &lint) else {
            break;
        };
        n_fixed += applied;
        linted = next;
    }
    (linted, n_fixed)
}

/// Applies the fixes of a file once. Returns `None` if none makes the file better.
fn round(linted: &Linted, lint: &impl Fn(Vec<u8>) -> Linted) -> Option<(Linted, usize)> {
    let bytes = linted.source()?.as_bytes();
    let before = CheckResult::of(linted)?;
    let attempt = |found: &[&Diagnostic]| {
        let repair = Repair::of(bytes, found.iter().copied())?;
        let next = lint(repair.fixed.bytes);
        let is_better = before.is_improved_by(&repair.codes, CheckResult::of(&next)?);
        is_better.then_some((next, repair.fixed.applied))
    };
    let offered: Vec<&Diagnostic> = linted
        .diagnostics
        .iter()
        .filter(|found| found.fix.is_some())
        .collect();
    let all = attempt(&offered);
    if all.is_some() {
        return all;
    }
    // Good fixes can be bad together: two that each delete an entry can leave a list without entries.
    let mut kept = Vec::new();
    let mut best = None;
    for found in offered.into_iter().take(MAX_SEPARATE) {
        kept.push(found);
        match attempt(&kept).filter(|(_, applied)| *applied == kept.len()) {
            Some(better) => best = Some(better),
            None => {
                kept.pop();
            }
        }
    }
    best
}

#[cfg(test)]
mod tests;
