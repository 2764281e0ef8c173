//! Guards as formulas: built by the grammar, expanded to lists of filters.

use std::ops::Range;

use daemon_event::{Field, FieldShape};

use crate::filter::{Op, Test};

/// The most alternatives that one formula is expanded to.
const MOST_ALTERNATIVES: usize = 24;

/// A formula over atoms.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Formula<A> {
    /// Always true.
    Always,
    Atom(A),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

impl<A: Clone> Formula<A> {
    pub(crate) fn not(self) -> Self {
        match self {
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Always, one) | (one, Self::Always) => one,
            (Self::All(mut many), Self::All(more)) => {
                many.extend(more);
                Self::All(many)
            }
            (Self::All(mut many), one) => {
                many.push(one);
                Self::All(many)
            }
            (one, Self::All(more)) => Self::All(std::iter::once(one).chain(more).collect()),
            (one, other) => Self::All(vec![one, other]),
        }
    }

    pub(crate) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Always, _) | (_, Self::Always) => Self::Always,
            (Self::Any(mut many), one) => {
                many.push(one);
                Self::Any(many)
            }
            (one, other) => Self::Any(vec![one, other]),
        }
    }

    /// Whether the formula contains an atom of a sort.
    pub(crate) fn mentions(&self, is_wanted: &impl Fn(&A) -> bool) -> bool {
        match self {
            Self::Always => false,
            Self::Atom(atom) => is_wanted(atom),
            Self::Not(inner) => inner.mentions(is_wanted),
            Self::All(many) | Self::Any(many) => many.iter().any(|one| one.mentions(is_wanted)),
        }
    }

    /// Returns the part of a conjunction whose atoms are all of a sort, negated ones included.
    pub(crate) fn part(&self, is_wanted: &impl Fn(&A) -> bool) -> Option<Self> {
        let is_other = |atom: &A| !is_wanted(atom);
        if let Self::All(many) = self {
            let parts = many.iter().filter_map(|one| one.part(is_wanted));
            return parts.reduce(Self::and);
        }
        (!self.is_always() && !self.mentions(&is_other)).then(|| self.clone())
    }

    pub(crate) fn is_always(&self) -> bool {
        matches!(self, Self::Always)
    }

    /// Replaces every atom by a formula; `with` also receives whether the atom is negated. Returns `None` if an
    /// atom has no field in the event.
    pub(crate) fn replace<B: Clone>(
        &self,
        is_negated: bool,
        with: &mut impl FnMut(&A, bool) -> Option<Formula<B>>,
    ) -> Option<Formula<B>> {
        Some(match self {
            Self::Always if is_negated => Formula::Any(Vec::new()),
            Self::Always => Formula::Always,
            Self::Atom(atom) => with(atom, is_negated)?,
            Self::Not(inner) => inner.replace(!is_negated, with)?,
            Self::All(many) | Self::Any(many) => {
                let is_all = matches!(self, Self::All(_)) != is_negated;
                let mut parts = Vec::with_capacity(many.len());
                for one in many {
                    parts.push(one.replace(is_negated, with)?);
                }
                if is_all {
                    parts.into_iter().fold(Formula::Always, Formula::and)
                } else {
                    // In `A or B`, a part that the event implies would admit everything, so only the other parts decide.
                    let is_settled = parts.iter().all(Formula::is_always);
                    parts.retain(|part| !part.is_always());
                    if is_settled {
                        Formula::Always
                    } else {
                        Formula::Any(parts)
                    }
                }
            }
        })
    }
}

/// A comparison and the tokens that say it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FilterLiteral {
    pub(crate) test: Test,
    pub(crate) range: Range<usize>,
}

/// Expands a formula to lists of comparisons of which one list must hold. Returns `None` if there are too many, or
/// if a comparison has no negation.
pub(crate) fn alternatives(formula: &Formula<FilterLiteral>) -> Option<Vec<Vec<FilterLiteral>>> {
    spread(formula, false)
}

fn spread(formula: &Formula<FilterLiteral>, negated: bool) -> Option<Vec<Vec<FilterLiteral>>> {
    match formula {
        Formula::Always if negated => Some(Vec::new()),
        Formula::Always => Some(vec![Vec::new()]),
        Formula::Atom(literal) => {
            let test = if negated {
                turned(&literal.test)?
            } else {
                literal.test.clone()
            };
            let range = literal.range.clone();
            Some(vec![vec![FilterLiteral { test, range }]])
        }
        Formula::Not(inner) => spread(inner, !negated),
        Formula::All(many) if negated => any_of(many, true),
        Formula::Any(many) if !negated => any_of(many, false),
        Formula::All(many) | Formula::Any(many) => all_of(many, negated),
    }
}

fn any_of(many: &[Formula<FilterLiteral>], negated: bool) -> Option<Vec<Vec<FilterLiteral>>> {
    let mut found: Vec<Vec<FilterLiteral>> = Vec::new();
    for one in many {
        for list in spread(one, negated)? {
            // Values of one field are one comparison, so that `main or develop` stays one alternative.
            let joined = found.iter_mut().any(|known| join(known, &list, true));
            if !joined {
                found.push(list);
            }
        }
    }
    // Beyond this the line would fill the index with entries; it is read another way.
    (found.len() <= MOST_ALTERNATIVES).then_some(found)
}

fn all_of(many: &[Formula<FilterLiteral>], negated: bool) -> Option<Vec<Vec<FilterLiteral>>> {
    let mut found: Vec<Vec<FilterLiteral>> = vec![Vec::new()];
    for one in many {
        let parts = spread(one, negated)?;
        if found.len() * parts.len() > MOST_ALTERNATIVES {
            return None;
        }
        let both = |known: &Vec<FilterLiteral>| -> Vec<Vec<FilterLiteral>> {
            parts
                .iter()
                .map(|part| {
                    let mut both = known.clone();
                    for literal in part {
                        let single = std::slice::from_ref(literal);
                        // Two excluded values of one field are one filter; two required labels stay two.
                        let is_known = both.iter().any(|other| other.test == literal.test);
                        if !is_known && !both.iter_mut().any(|one| join_one(one, single, false)) {
                            both.push(literal.clone());
                        }
                    }
                    both
                })
                .collect()
        };
        found = found.iter().flat_map(both).collect();
    }
    Some(found)
}

fn join(known: &mut [FilterLiteral], other: &[FilterLiteral], is_any: bool) -> bool {
    match known {
        [one] => join_one(one, other, is_any),
        _ => false,
    }
}

/// Adds the values of a single comparison to another one of the same field, if the meaning stays the same.
fn join_one(known: &mut FilterLiteral, other: &[FilterLiteral], is_any: bool) -> bool {
    let [other] = other else { return false };
    let joins = if is_any {
        matches!(
            // `is A or B` may be one filter, because either value passes it; `is_not A or is_not B` may not.
            known.test.op(),
            Op::Is | Op::Matches | Op::Contains | Op::Begins
        )
    } else {
        matches!(
            known.test.op(),
            Op::IsNot | Op::MatchesNot | Op::Lacks | Op::BeginsNot | Op::CommandNot
        )
    };
    let is_same = known.test.field() == other.test.field() && known.test.op() == other.test.op();
    if !joins || !is_same {
        return false;
    }
    let mut values = known.test.values().to_vec();
    let new = other.test.values().iter();
    values.extend(
        new.filter(|value| !known.test.values().contains(value))
            .cloned(),
    );
    known.test = Test::new(known.test.field(), known.test.op(), values);
    known.range = known.range.start.min(other.range.start)..known.range.end.max(other.range.end);
    true
}

/// Returns the comparison that holds for a known value exactly if this one does not.
fn turned(test: &Test) -> Option<Test> {
    let values = test.values().to_vec();
    // A flag that is unknown must not pass, so `not true` is `false`.
    if test.field().shape() == FieldShape::Flag && matches!(test.op(), Op::Is) {
        let other = |value: &String| if value == "true" { "false" } else { "true" }.to_owned();
        return Some(Test::new(
            test.field(),
            Op::Is,
            values.iter().map(other).collect(),
        ));
    }
    let op = match test.op() {
        Op::Is => Op::IsNot,
        Op::IsNot => Op::Is,
        Op::Matches => Op::MatchesNot,
        Op::MatchesNot => Op::Matches,
        Op::Contains => Op::Lacks,
        Op::Lacks => Op::Contains,
        Op::Begins => Op::BeginsNot,
        Op::BeginsNot => Op::Begins,
        Op::Any => Op::None,
        Op::None => Op::Any,
        Op::Present => Op::Absent,
        Op::Absent => Op::Present,
        // Not (only these paths) is some other path.
        Op::Only if values.iter().all(|value| !value.starts_with('!')) => {
            let mut globs = vec!["**".to_owned()];
            globs.extend(values.iter().map(|value| format!("!{value}")));
            return Some(Test::new(test.field(), Op::Any, globs));
        }
        Op::Command => Op::CommandNot,
        Op::CommandNot => Op::Command,
        Op::Only => return None,
    };
    Some(Test::new(test.field(), op, values))
}

/// A comparison of a field that is one of the values.
pub(crate) fn is(field: Field, values: &[&str]) -> Test {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    Test::new(field, Op::Is, values)
}
