//! Checks of webhooks that may be lost: gaps, and the comparisons that find what was in them.

use std::collections::BTreeMap;

use daemon_event::Source;
use jiff::{SignedDuration, Timestamp};

use super::Check;
use crate::driver::gaps::{self, Gap, Unsigned};
use crate::driver::{Host, PlaceState};

/// How long a gap is shown that nothing closes.
const SHOWN: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Checks for each received service whether lost webhooks are found, and since when some may be missing.
pub(super) async fn checks(host: &Host) -> Vec<Check> {
    let runtime = host.runtime();
    let states = host.places.all();
    // A store that cannot be read is reported by another check.
    let gaps = gaps::stored(&*host.store).await.unwrap_or_default();
    let mut checks = Vec::new();
    for (source, _) in runtime.config.sources.secrets() {
        let mut reconcilers = runtime.parts.reconcilers.iter();
        let reconciler = reconcilers.find(|one| one.source() == source);
        let places = reconciler.map(|one| {
            let places = one.places().into_iter();
            let state = |name: String| (name.clone(), states.get(&name).cloned());
            places.map(|place| state(place.name)).collect()
        });
        let gap = gaps.get(&source).copied();
        let gap = gap.and_then(|gap| gap_check((source, reconciler.is_some()), gap, host.now()));
        checks.extend(check(source, places));
        checks.extend(gap);
    }
    let unsigned = |source| Some((source, host.gaps.unsigned(source)?));
    let unsigned = Source::ALL.into_iter().filter_map(unsigned);
    checks.extend(unsigned.map(|(source, unsigned)| unsigned_check(source, unsigned)));
    checks
}

/// Any sender can cause these refusals, so they are no failure of the host.
fn unsigned_check(source: Source, unsigned: Unsigned) -> Check {
    let Unsigned { count, last } = unsigned;
    let detail = format!(
        "{count} deliveries since the start were not signed with the configured secret, the last at {last}"
    );
    let remedy = format!(
        "if they are from your webhook, compare its secret with that in `{}`",
        gaps::secret_key(source)
    );
    Check::warn(format!("{source} signatures"), detail, remedy)
}

type Places = BTreeMap<String, Option<PlaceState>>;

fn check(source: Source, places: Option<Places>) -> Option<Check> {
    let name = format!("{source} comparison");
    let Some(places) = places else {
        // Others cannot be compared; a gap has a check of its own.
        let remedy = match source {
            Source::Github => "set `surfaces.github`, or `sources.github.token_file`",
            Source::Linear => "set `surfaces.linear`",
            Source::Slack | Source::Sentry | Source::Git | Source::Cloudevents => return None,
        };
        let detail = "webhooks that do not arrive are not found, because the API is not called";
        return Some(Check::warn(name, detail, remedy));
    };
    let states: Vec<&PlaceState> = places.values().flatten().collect();
    let mut problems: Vec<String> = Vec::new();
    for (place, state) in &places {
        let problem = state.as_ref().and_then(|state| state.problem.as_ref());
        problems.extend(problem.map(|problem| format!("{place}: {problem}")));
    }
    let notes = states.iter().filter_map(|state| state.note.clone());
    problems.extend(notes);
    let n_asked: usize = states.iter().map(|state| state.n_asked).sum();
    let n_made: usize = states.iter().map(|state| state.n_made).sum();
    let all = places.values();
    let oldest = all.map(|state| state.as_ref()?.compared).min().flatten();
    // Only GitHub sends a delivery again when it is asked.
    let asked = match source {
        Source::Github => format!("{n_asked} deliveries asked for again, "),
        _ => String::new(),
    };
    let detail = match oldest {
        Some(at) => format!("compared at {at}: since the start {asked}{n_made} events made"),
        None => "not compared yet".to_owned(),
    };
    if problems.is_empty() {
        return Some(Check::ok(name, detail));
    }
    let remedy = "the page `docs/webhooks.md` lists the rights that comparisons need";
    let detail = format!("{}; {detail}", problems.join("; "));
    Some(Check::warn(name, detail, remedy))
}

fn gap_check((source, is_compared): (Source, bool), gap: Gap, now: Timestamp) -> Option<Check> {
    if now.duration_since(gap.until) > SHOWN {
        return None;
    }
    let detail = format!(
        "webhooks may be missing that were sent between {} and {}",
        gap.since, gap.until
    );
    let remedy = match (is_compared, source) {
        (true, _) => "the next complete comparison finds what is missing",
        (false, Source::Linear) => {
            "Linear repeats them for six hours at most: look there for what happened then"
        }
        (false, _) => {
            "the service repeats them for some minutes at most: look there for what happened then"
        }
    };
    Some(Check::warn(format!("{source} gap"), detail, remedy))
}
