//! `fire --dry-run`: what would happen.

use std::path::Path;

use daemon_host::random;
use daemon_host::serve::Compose as _;
use daemon_host::wire::ActivationObject;
use serde_json::{Value, json};

use super::{empty, unknown_provider};
use crate::cli::Fire;
use crate::commands::context::measured;
use crate::commands::imagined::{Candidate, Why};
use crate::compose::{Composer, Overrides, Reach, sandbox};
use crate::failure::{Exit, Failure};
use crate::place::Place;

/// Parses, matches, builds the context and resolves policy; starts and writes nothing.
pub(super) fn dry_run(
    args: &Fire,
    root: &Path,
    why: &Why,
    place: &Place,
) -> Result<Value, Failure> {
    let config = Composer::new(place, Overrides::default()).load()?;
    let candidate = Candidate::read(root, &args.id, &config, place)?;
    let imagined = candidate.imagine(why, args.provider.as_deref(), random::now())?;
    let policy = &imagined.policy;
    let is_known =
        policy.provider == "builtin" || config.provider.named.contains_key(&policy.provider);
    if !is_known {
        return Err(unknown_provider(&policy.provider));
    }
    let sandbox = sandbox(&config, Reach::of(&config, &policy.provider));
    if let Some(reason) = policy.sandbox_refusal(&sandbox) {
        return Err(Failure::new(Exit::Refused, "sandbox", reason));
    }
    let trigger = ActivationObject::new(&imagined.activation, &[]).trigger;
    let mut answer = empty(true);
    answer["wakes"] = json!(imagined.wakes);
    answer["plan"] = json!({
        "daemon_id": args.id,
        "rev": imagined.activation.rev,
        "trigger": trigger,
        "conditions": trigger.conditions,
        "provider": policy.provider,
        "capability": policy.capability.as_str(),
        "sandbox": sandbox.0,
        "budget": {"activation_usd": config.budget.activation_usd},
        "context": measured(&imagined.built),
    });
    Ok(answer)
}
