//! `fire --dry-run`: previews an activation.

use std::path::Path;

use daemon_api::wire::ActivationObject;
use daemon_host::serve::Compose as _;
use daemon_provider::MicroUsd;
use daemon_records::clock;
use serde_json::{Value, json};

use super::{empty, unknown_provider};
use crate::cli::FireArgs;
use crate::commands::context::measured;
use crate::commands::preview::{PreviewDaemon, WakeCause};
use crate::compose::{Composer, Overrides};
use crate::failure::{CommandFailure, ExitKind};
use crate::place::Place;
use crate::sandboxes::sandbox;

/// Parses, matches, builds the context and resolves policy; starts and writes nothing.
pub(super) fn dry_run(
    args: &FireArgs,
    root: &Path,
    cause: &WakeCause,
    place: &Place,
) -> Result<Value, CommandFailure> {
    let config = Composer::new(place, Overrides::default()).load()?;
    let candidate = PreviewDaemon::read(root, &args.id, &config, place)?;
    let preview = candidate.preview(cause, args.provider.as_deref(), clock::now())?;
    let policy = &preview.policy;
    let is_known =
        policy.provider == "builtin" || config.provider.named.contains_key(&policy.provider);
    if !is_known {
        return Err(unknown_provider(&policy.provider));
    }
    let sandbox = sandbox(&config, &policy.provider);
    if let Some(reason) = policy.sandbox_refusal(&sandbox) {
        return Err(CommandFailure::new(ExitKind::Refused, "sandbox", reason));
    }
    let trigger = ActivationObject::new(&preview.activation, &[]).trigger;
    let mut answer = empty(true);
    answer["wakes"] = json!(preview.wakes);
    answer["plan"] = json!({
        "daemon_id": args.id,
        "rev": preview.activation.rev,
        "trigger": trigger,
        "conditions": trigger.conditions,
        "provider": policy.provider,
        "capability": policy.permissions.as_str(),
        "sandbox": sandbox.level,
        "budget": {"activation_usd": policy.limits.budget.map(MicroUsd::as_usd)},
        "context": measured(&preview.built),
    });
    Ok(answer)
}
