//! Checks of webhooks that may be lost: gaps, and the comparisons that find what was in them.

use std::collections::BTreeMap;

use daemon_event::Source;
use jiff::{SignedDuration, Timestamp};

use super::Check;
use crate::driver::gaps::{self, Gap};
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
        checks.extend(check(source, places));
        let gap = gaps.get(&source).copied();
        checks.extend(gap.and_then(|gap| gap_check(source, gap, host.now())));
    }
    checks
}

type Places = BTreeMap<String, Option<PlaceState>>;

fn check(source: Source, places: Option<Places>) -> Option<Check> {
    let name = format!("{source} comparison");
    let Some(places) = places else {
        // Others are not compared; a gap has a check of its own.
        let detail = "webhooks that do not arrive are not found, because the API is not called";
        let remedy = "set `surfaces.github`, or `sources.github.token_file`";
        return (source == Source::Github).then(|| Check::warn(name, detail, remedy));
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
    let detail = match oldest {
        Some(at) => format!(
            "compared at {at}: since the start {n_asked} deliveries asked for again, {n_made} events made"
        ),
        None => "not compared yet".to_owned(),
    };
    if problems.is_empty() {
        return Some(Check::ok(name, detail));
    }
    let remedy = "the page `docs/serving.md` lists the rights that comparisons need";
    let detail = format!("{}; {detail}", problems.join("; "));
    Some(Check::warn(name, detail, remedy))
}

fn gap_check(source: Source, gap: Gap, now: Timestamp) -> Option<Check> {
    if now.duration_since(gap.until) > SHOWN {
        return None;
    }
    let detail = format!(
        "webhooks may be missing that were sent between {} and {}",
        gap.since, gap.until
    );
    let remedy = match source {
        Source::Github => "the next complete comparison finds what is missing",
        _ => "the service repeats them for some minutes at most: look there for what happened then",
    };
    Some(Check::warn(format!("{source} gap"), detail, remedy))
}
