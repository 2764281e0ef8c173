//! The parse that won, and the next one of another meaning, for those who ask why a line is read as it is.

use serde::Serialize;

use super::chart::{Chart, Leaving, Words};
use super::{GRAMMAR, Interpretation, MOST_TOKENS, aside, interpret, meaning, spoken};
use crate::instruction::instruction;
use crate::meaning::spoken::Spoken;
use crate::normalise::{Token, tokens};
use crate::span::Span;
use crate::wire::InterpretationWire;

/// A parse of another meaning is near if it costs at most this much more.
const NEAR: u32 = 5;

/// The parse of a line that its interpretation was made of.
#[derive(Clone, Debug, Serialize)]
pub struct WinningParse {
    /// The sum of the costs of its rules and words; the cheapest parse that the vocabulary accepts wins.
    pub cost: u32,
    /// Its edges, each before those that it consists of.
    pub edges: Vec<ParseEdge>,
    /// The next parse of another meaning, if it costs little more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<RunnerUp>,
}

/// One edge of a parse.
#[derive(Clone, Debug, Serialize)]
pub struct ParseEdge {
    /// How many edges it is inside.
    pub depth: usize,
    /// The category of the grammar: `NP`, `v.act.f`.
    pub category: String,
    /// The rule that made it, as the grammar has it; `None` for a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The bytes of the line, first and behind the last.
    pub span: [usize; 2],
    /// The author's words.
    pub text: String,
    /// The cost of the edge with all that it consists of.
    pub cost: u32,
}

/// A parse of another meaning.
#[derive(Clone, Debug, Serialize)]
pub struct RunnerUp {
    /// Its cost.
    pub cost: u32,
    /// What the line would mean.
    pub reading: InterpretationWire,
}

/// Returns the parse that the interpretation of a line was made of; `None` for a line without an event.
///
/// # Examples
/// ```
/// let parse = daemon_watch::parse("when a pull request is opened").ok_or("it is read")?;
/// assert_eq!(parse.edges[0].category, "Line");
/// assert!(parse.runner_up.is_none());
/// # Ok::<(), &str>(())
/// ```
pub fn parse(line: &str) -> Option<WinningParse> {
    let found = interpret(line);
    if !found.status.can_wake() {
        return None;
    }
    let words = tokens(line);
    let order = instruction(line);
    let is_order = |token: &Token| order.is_some_and(|order| token.span.end > order.start);
    let n_before = words.iter().position(is_order).unwrap_or(words.len());
    let mut condition = &words[..n_before];
    while let (Some(_), [before @ .., last]) = (order, condition)
        && GRAMMAR.lexicon.joins(&last.text)
    {
        condition = before;
    }
    let aside = aside::aside(&GRAMMAR, condition);
    let without = aside.map(|at| &condition[..at]);
    let mut tried = [Some(condition), without].into_iter().flatten();
    tried.find_map(|words| parse_of(line, words, &found))
}

/// Returns the parse of the words that means what was found.
fn parse_of(line: &str, words: &[Token], found: &Interpretation) -> Option<WinningParse> {
    let tokens = spoken(&GRAMMAR, words);
    if tokens.is_empty() || tokens.len() > MOST_TOKENS {
        return None;
    }
    let words = Words::of(&GRAMMAR, line, &tokens);
    [Leaving::Nothing, Leaving::Some]
        .into_iter()
        .find_map(|leaving| {
            let most = usize::MAX;
            let mut chart = Chart::new(&GRAMMAR, line, &tokens, &words, leaving, most);
            let goal = std::iter::from_fn(|| {
                chart
                    .next_goal()
                    .map(|goal| (goal, meaning(&chart, goal, line, &tokens)))
            })
            .find(|(_, meaning)| {
                let same = |meaning: &Interpretation| {
                    (&meaning.clauses, &meaning.filters) == (&found.clauses, &found.filters)
                };
                meaning.as_ref().is_some_and(same)
            })
            .map(|(goal, _)| goal)?;
            let spoken = Spoken { tokens: &tokens };
            let cost = chart.cost(goal);
            let edges = chart.edges_of(goal).into_iter().map(|edge| {
                let Span { start, end } = spoken.span(&edge.range);
                ParseEdge {
                    depth: edge.depth,
                    category: edge.category.to_owned(),
                    rule: edge.rule.map(str::to_owned),
                    span: [start, end],
                    text: line.get(start..end).unwrap_or_default().to_owned(),
                    cost: edge.cost,
                }
            });
            let edges = edges.collect();
            Some(WinningParse {
                cost,
                edges,
                runner_up: runner_up(&mut chart, line, &tokens, (cost, found)),
            })
        })
}

/// Returns the next parse of another meaning that is near.
fn runner_up(
    chart: &mut Chart<'_>,
    line: &str,
    tokens: &[Token],
    (cost, found): (u32, &Interpretation),
) -> Option<RunnerUp> {
    while let Some(goal) = chart.next_goal() {
        let other = chart.cost(goal);
        if other > cost + NEAR {
            return None;
        }
        let meaning = meaning(chart, goal, line, tokens);
        if let Some(meaning) = meaning.filter(|meaning| !meaning.means_the_same_as(found)) {
            return Some(RunnerUp {
                cost: other,
                reading: InterpretationWire::new(line, &meaning, None),
            });
        }
    }
    None
}
