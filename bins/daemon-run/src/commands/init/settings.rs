//! The configuration that `init` writes.

use std::path::Path;

use super::BUILTIN;
use super::found::Found;
use crate::failure::{CommandFailure, ExitKind};
use crate::out::put;

/// Returns a commented configuration for one repository.
pub(super) fn new(root: &Path, found: &Found, provider: &str) -> Result<String, CommandFailure> {
    let mut text = format!(
        "# The configuration of daemon-run. `daemon-run schema config` lists every key; `daemon-run doctor` checks this file.\n\
         {}\n\
         # What runs daemons. `{BUILTIN}` runs no model: it finds relative links in Markdown that are broken, and with `repair` it\n\
         # corrects those that can only mean one file. Routines need a coding agent or a model API.\n\
         [provider]\ndefault = \"{provider}\"\n\n[provider.{BUILTIN}]\nrepair = true\n",
        repository(root)?
    );
    for agent in &found.agents {
        let section = format!("[provider.{}]", agent.name);
        if agent.name == provider {
            put!(
                text,
                "\n{section}\n# auth = \"login\"   # uses your own login instead of a key\n"
            );
        } else {
            put!(
                text,
                "\n# Found: remove the marks of comments, and set `default` above. Its runs cost money.\n# {section}\n\
                 # auth = \"login\"   # uses your own login instead of a key\n"
            );
        }
    }
    for (api, key) in &found.apis {
        put!(
            text,
            "\n# The key of this API is set: remove the marks of comments, name a model, and set `default` above. Its runs cost\n\
             # money.\n# [provider.{api}]\n# model = \"\"\n# key_env = \"{key}\"\n"
        );
    }
    text.push_str(
        "\n# The most that one activation, and all of one day, may cost in US dollars.\n[budget]\nactivation_usd = 1\nday_usd = 10\n",
    );
    Ok(text)
}

/// Returns a configuration with one more repository.
pub(super) fn with_repository(text: &str, root: &Path) -> Result<String, CommandFailure> {
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    Ok(format!("{text}{end}{}", repository(root)?))
}

fn repository(root: &Path) -> Result<String, CommandFailure> {
    let path = root.to_str().ok_or_else(|| {
        let message = format!(
            "`{}` is not UTF-8, so config.toml cannot name it",
            root.display()
        );
        CommandFailure::new(ExitKind::Config, "repository", message)
    })?;
    // Every JSON string is a basic string of TOML.
    let path = serde_json::Value::String(path.to_owned());
    Ok(format!(
        "\n# A repository that `daemon-run serve` watches.\n[[repo]]\npath = {path}\n"
    ))
}
