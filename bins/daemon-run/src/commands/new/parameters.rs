//! The parameters of a template, and their values from the command line or a terminal.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::catalogue::Template;
use crate::commands::act::{Prompts, answer};
use crate::failure::CommandFailure;
use crate::out::Out;

const MAX_CHARS: usize = 100;

/// A value that differs between repositories.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// The meaning of the value, without a period.
    pub(crate) about: String,
    pub(crate) kind: ParameterKind,
    /// The value if none is given. Without it one must be given.
    pub(crate) default: Option<String>,
}

/// The form of a value. All are safe inside a quoted string of YAML.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ParameterKind {
    /// Five fields of cron, which the linter checks.
    Cron,
    /// A path that ends with `/`.
    Directory,
    /// An identifier of a service.
    Name,
    /// A number of days or the like.
    Number,
    /// A path or a pattern of paths.
    Path,
    /// Words of one line.
    Text,
}

impl ParameterKind {
    fn accepts(self, value: &str) -> bool {
        let all = |is_allowed: fn(char) -> bool| value.chars().all(is_allowed);
        let is_path = || all(|c| c.is_alphanumeric() || "/._-*?@+ ".contains(c));
        match self {
            Self::Cron => all(|c| c.is_ascii_alphanumeric() || "*/,- ".contains(c)),
            Self::Directory => is_path() && value.ends_with('/') && !value.contains('*'),
            Self::Name => all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)),
            Self::Number => all(|c| c.is_ascii_digit()) && !value.starts_with('0'),
            Self::Path => is_path() && !value.starts_with('/'),
            Self::Text => all(|c| c.is_alphanumeric() || " ./_-:+=,@".contains(c)),
        }
    }

    const fn describe(self) -> &'static str {
        match self {
            Self::Cron => "five fields of cron, such as `0 9 * * 1-5`",
            Self::Directory => "a directory that ends with `/`, such as `docs/`",
            Self::Name => "letters, digits, `-`, `_` and `.`",
            Self::Number => "a number from 1",
            Self::Path => "a path below the repository, or a pattern such as `docs/**/*.md`",
            Self::Text => "words of one line, without quotes",
        }
    }
}

/// The value of each placeholder of a template.
#[derive(Debug)]
pub(crate) struct Values {
    by_name: BTreeMap<String, String>,
    changed: Vec<String>,
}

impl Values {
    /// Reads `given`, asks for the rest on a terminal, and takes the defaults without one.
    pub(crate) fn read(
        template: &Template,
        given: &[String],
        prompts: Prompts,
        out: Out,
    ) -> Result<Self, CommandFailure> {
        let parameters = template.about().parameters;
        let mut by_name = BTreeMap::new();
        for pair in given {
            let Some((name, value)) = pair.split_once('=') else {
                let failure = CommandFailure::usage(format!("`{pair}` is not KEY=VALUE"));
                return Err(failure.help("such as `--set docs=handbook/`"));
            };
            let Some(parameter) = parameters.iter().find(|one| one.name == name) else {
                return Err(unknown(template, name, &parameters));
            };
            by_name.insert(name.to_owned(), parameter.checked(value)?);
        }
        let mut changed = Vec::new();
        for parameter in &parameters {
            let value = match (by_name.get(&parameter.name), &parameter.default) {
                (Some(value), _) => value.clone(),
                (None, _) if prompts == Prompts::Allowed && !out.is_json() => parameter.ask(out)?,
                (None, Some(default)) => default.clone(),
                (None, None) => return Err(parameter.missing(template)),
            };
            if parameter.default.as_ref() != Some(&value) {
                changed.push(parameter.name.clone());
            }
            by_name.insert(parameter.name.clone(), value);
        }
        Ok(Self { by_name, changed })
    }

    /// Returns `true` if the value of a parameter is not its default.
    pub(crate) fn is_changed(&self, name: &str) -> bool {
        self.changed.iter().any(|changed| changed == name)
    }

    /// Replaces the placeholders of a file.
    pub(crate) fn fill(&self, text: &str, id: &str) -> String {
        let text = text.replace("{{id}}", id);
        self.by_name.iter().fold(text, |text, (name, value)| {
            text.replace(&format!("{{{{{name}}}}}"), value)
        })
    }
}

impl Parameter {
    fn checked(&self, value: &str) -> Result<String, CommandFailure> {
        let value = value.trim();
        let is_short = (1..=MAX_CHARS).contains(&value.chars().count());
        if is_short && self.kind.accepts(value) {
            return Ok(value.to_owned());
        }
        let name = &self.name;
        let failure = CommandFailure::usage(format!("`{value}` cannot be the value of `{name}`"));
        Err(failure.help(self.kind.describe()))
    }

    /// Asks until the answer can be the value.
    fn ask(&self, out: Out) -> Result<String, CommandFailure> {
        let default = match &self.default {
            Some(default) => format!(" [{default}]"),
            None => String::new(),
        };
        loop {
            out.prompt(&format!("{}: {}{default}: ", self.name, self.about));
            let answer = answer("--set or --no-input")?;
            let checked = match (&*answer, &self.default) {
                ("", Some(default)) => return Ok(default.clone()),
                (answer, _) => self.checked(answer),
            };
            match checked {
                Ok(value) => return Ok(value),
                Err(failure) => out.failure(&failure),
            }
        }
    }

    fn missing(&self, template: &Template) -> CommandFailure {
        let (name, about) = (&self.name, &self.about);
        let failure = CommandFailure::usage(format!(
            "the template `{}` needs a value of `{name}`",
            template.name
        ));
        failure.help(format!("--set {name}=VALUE: {about}"))
    }
}

fn unknown(template: &Template, name: &str, parameters: &[Parameter]) -> CommandFailure {
    let failure = CommandFailure::usage(format!(
        "the template `{}` has no parameter `{name}`",
        template.name
    ));
    let names: Vec<String> = parameters
        .iter()
        .map(|one| format!("`{}`", one.name))
        .collect();
    failure.help(match names.is_empty() {
        true => "it has none".to_owned(),
        false => format!("it has {}", names.join(", ")),
    })
}
