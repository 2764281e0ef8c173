//! What a daemon did since the beginning of the day and of the week in its zone, so that it can follow limits such as three
//! pull requests a day.

use std::collections::BTreeMap;

use daemon_engine::proposal::OutputVerb;
use daemon_engine::{Activation, Output, OutputState};
use daemon_event::ActivationId;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _, Zoned};
use serde_json::{Value, json};

/// When the day and the week of an instant began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Periods {
    day: Timestamp,
    /// On a Monday.
    pub(crate) week: Timestamp,
}

impl Periods {
    /// Returns those of an instant in a zone; in UTC if the time zone database does not have the zone any more.
    pub(crate) fn of(now: Timestamp, zone: &str) -> Self {
        let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
        let now = now.to_zoned(zone);
        let begin = |day: &Zoned| {
            day.start_of_day()
                .map_or(now.timestamp(), |at| at.timestamp())
        };
        let since_monday = now.weekday().since(Weekday::Monday);
        let monday = now.checked_sub(i64::from(since_monday).days());
        Self {
            day: begin(&now),
            week: monday.map_or(now.timestamp(), |monday| begin(&monday)),
        }
    }
}

/// The counts of one period.
#[derive(Clone, Debug, Default, PartialEq)]
struct Tally {
    activations: u64,
    tokens: u64,
    cost_usd: f64,
    outputs: BTreeMap<&'static str, u64>,
}

/// The counts of the day and of the week, and the outputs of each activation of the week.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tallies {
    day: Tally,
    week: Tally,
    outputs: BTreeMap<ActivationId, Vec<String>>,
}

impl Tallies {
    /// Counts what is in the periods. An output counts unless it was refused or given up; it is counted from its proposal on.
    pub(crate) fn count(
        periods: Periods,
        activations: &[Activation],
        outputs: &[(Output, Option<OutputVerb>)],
    ) -> Self {
        let mut acc = Self::default();
        for activation in activations {
            // One whose process has not started yet, such as that of this run, begins today.
            let begins = activation.state.is_leased().then_some(periods.day);
            let began = activation.started_at.or(begins);
            for tally in acc.periods_of(periods, began) {
                tally.activations += 1;
                tally.tokens += activation.tokens.unwrap_or_default();
                tally.cost_usd += activation.cost_usd.unwrap_or_default();
            }
        }
        for (output, verb) in outputs {
            let name = verb.map_or("output", |verb| verb.row().name);
            let is_done = !matches!(output.state, OutputState::Refused | OutputState::GaveUp);
            for tally in acc.periods_of(periods, is_done.then_some(output.created_at)) {
                *tally.outputs.entry(name).or_default() += 1;
            }
            let shown = format!("{name} on {} {}", output.target, output.state.as_str());
            let of_activation = acc.outputs.entry(output.activation.clone());
            of_activation.or_default().push(shown);
        }
        acc
    }

    fn periods_of(
        &mut self,
        periods: Periods,
        at: Option<Timestamp>,
    ) -> impl Iterator<Item = &mut Tally> {
        let day = at.is_some_and(|at| at >= periods.day);
        let week = at.is_some_and(|at| at >= periods.week);
        let both = [(day, &mut self.day), (week, &mut self.week)];
        both.into_iter()
            .filter_map(|(is_in, tally)| is_in.then_some(tally))
    }

    /// Returns the counts with their names.
    pub(super) fn counters(&self) -> Vec<(String, u64)> {
        let mut acc = Vec::new();
        for (tally, period) in [(&self.day, "today"), (&self.week, "this week")] {
            acc.push((
                format!("activations {period}, this one included"),
                tally.activations,
            ));
            let outputs = tally.outputs.iter();
            acc.extend(outputs.map(|(verb, n)| (format!("`{verb}` proposed {period}"), *n)));
            acc.push((format!("tokens {period}"), tally.tokens));
            acc.push((
                format!("cost {period} in US cents, rounded up"),
                tally.cents(),
            ));
        }
        acc
    }

    /// Returns the outputs of an activation of this week.
    pub(super) fn outputs_of(&self, activation: &ActivationId) -> Vec<&str> {
        let outputs = self.outputs.get(activation).into_iter().flatten();
        outputs.map(String::as_str).collect()
    }

    /// Returns the counts as `state.json` and the tool `state_get` have them.
    pub(crate) fn to_json(&self) -> Value {
        json!({"today": self.day.to_json(), "week": self.week.to_json()})
    }
}

impl Tally {
    fn cents(&self) -> u64 {
        let cents = (self.cost_usd * 100.0 - 1e-9).ceil().max(0.0);
        // No daemon spends more cents than fit; the conversion saturates.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is not negative, and a larger value saturates"
        )]
        let cents = cents as u64;
        cents
    }

    fn to_json(&self) -> Value {
        json!({
            "activations": self.activations,
            "outputs": self.outputs,
            "tokens": self.tokens,
            "cost_usd": self.cost_usd,
        })
    }
}

#[cfg(test)]
mod tests;
