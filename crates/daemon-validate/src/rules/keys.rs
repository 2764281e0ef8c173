//! D100 to D102: keys that are not fields.

use daemon_spec::{Diagnostic, FIELD_NAMES, Fix, Member};

use crate::Subject;
use crate::report::report;

/// The names that fields had before the format was published.
const LEGACY: &[(&str, &str)] = &[
    ("name", "id"),
    ("description", "purpose"),
    ("triggers", "watch"),
    ("actions", "routines"),
    ("disallowed", "deny"),
];

/// Words that mean a field but are not similar to its name.
const SYNONYMS: &[(&str, &str)] = &[
    ("title", "purpose"),
    ("goal", "purpose"),
    ("mission", "purpose"),
    ("summary", "purpose"),
    ("events", "watch"),
    ("when", "watch"),
    ("trigger", "watch"),
    ("conditions", "watch"),
    ("tasks", "routines"),
    ("steps", "routines"),
    ("instructions", "routines"),
    ("action", "routines"),
    ("denied", "deny"),
    ("forbid", "deny"),
    ("never", "deny"),
    ("disallow", "deny"),
    ("constraints", "deny"),
    ("cron", "schedule"),
    ("crontab", "schedule"),
    ("timer", "schedule"),
    ("scheduled", "schedule"),
];

/// The file format of another tool, whose files are found next to daemon files.
struct ForeignFormat {
    name: &'static str,
    /// Keys that no other format has. One of them identifies the format.
    distinctive: &'static [&'static str],
    /// Keys that several formats have. Two of them identify the format.
    shared: &'static [&'static str],
}

const FORMATS: &[ForeignFormat] = &[
    ForeignFormat {
        name: "an agent skill",
        distinctive: &[
            "allowed-tools",
            "disable-model-invocation",
            "user-invocable",
        ],
        shared: &[
            "name",
            "description",
            "license",
            "compatibility",
            "metadata",
            "version",
        ],
    },
    ForeignFormat {
        name: "an agent or command definition",
        distinctive: &[
            "argument-hint",
            "permissionMode",
            "disallowedTools",
            "subagent_type",
        ],
        shared: &[
            "name",
            "description",
            "tools",
            "model",
            "color",
            "skills",
            "hooks",
            "mcpServers",
            "temperature",
        ],
    },
    ForeignFormat {
        name: "an editor rule",
        distinctive: &["alwaysApply", "applyTo", "fileMatchPattern"],
        shared: &[
            "description",
            "globs",
            "inclusion",
            "mode",
            "tools",
            "model",
        ],
    },
    ForeignFormat {
        name: "a CI workflow",
        distinctive: &["jobs", "runs-on", "safe-outputs", "timeout-minutes"],
        shared: &[
            "name",
            "on",
            "permissions",
            "concurrency",
            "env",
            "defaults",
            "steps",
            "stages",
            "pipeline",
            "script",
        ],
    },
    ForeignFormat {
        name: "an entry of a catalogue",
        distinctive: &["readiness", "adaptations", "specializationIdeas"],
        shared: &["status", "requirements", "integrations", "title", "summary"],
    },
    ForeignFormat {
        name: "a cluster manifest",
        distinctive: &["apiVersion"],
        shared: &["kind", "metadata", "spec", "status"],
    },
    ForeignFormat {
        name: "a page of a static site",
        distinctive: &["permalink"],
        shared: &[
            "layout",
            "title",
            "date",
            "tags",
            "categories",
            "author",
            "draft",
            "slug",
        ],
    },
    ForeignFormat {
        name: "an agent crew",
        distinctive: &["backstory", "expected_output"],
        shared: &["role", "goal", "agent", "tools", "llm"],
    },
];

pub(crate) fn unknown(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let foreign: Vec<&Member> = foreign_formats(subject)
        .into_iter()
        .flat_map(|(_, members)| members)
        .collect();
    for member in subject.file().unknown() {
        let is_foreign = foreign.iter().any(|other| other.key == member.key);
        if is_foreign || legacy_name(&member.name).is_some() {
            continue;
        }
        let name = &member.name;
        let help = match nearest_field(name) {
            Some(field) => format!("did you mean `{field}`?"),
            None => "the fields are `id`, `purpose`, `watch`, `routines`, `deny` and `schedule`; \
                     move what is meant for the model to the body"
                .to_owned(),
        };
        acc.push(report(100, member.key, format!("`{name}` is not a field")).with_help(help));
    }
}

pub(crate) fn legacy(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let members = subject.file().members();
    for (index, member) in members.iter().enumerate() {
        let Some(field) = legacy_name(&member.name) else {
            continue;
        };
        let name = &member.name;
        let found = report(
            101,
            member.key,
            format!("`{name}` is a legacy name of `{field}`"),
        )
        .with_help(format!("write `{field}`"));
        // If the field exists already, renaming would make a duplicate key.
        let is_taken = members.iter().enumerate().any(|(other, member)| {
            other != index && (member.name == field || (other < index && member.name == *name))
        });
        acc.push(if is_taken {
            found
        } else {
            found.with_fix(Fix::replace(
                format!("rename it to `{field}`"),
                member.key,
                field,
            ))
        });
    }
}

pub(crate) fn other_format(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    for (format, members) in foreign_formats(subject) {
        let Some(first) = members.first() else {
            continue;
        };
        let names: Vec<String> = members
            .iter()
            .map(|member| format!("`{}`", member.name))
            .collect();
        let verb = if names.len() == 1 {
            "belongs"
        } else {
            "belong"
        };
        let message = format!(
            "{} {verb} to {}, not to a daemon file",
            names.join(", "),
            format.name
        );
        acc.push(report(102, first.key, message).with_help(
            "the fields are `id`, `purpose`, `watch`, `routines`, `deny` and `schedule`",
        ));
    }
}

/// Returns the field of a legacy name.
pub(crate) fn legacy_name(name: &str) -> Option<&'static str> {
    LEGACY
        .iter()
        .find(|(legacy, _)| *legacy == name)
        .map(|(_, field)| *field)
}

/// Returns the foreign formats that the unknown keys belong to, each with its keys.
fn foreign_formats<'a>(subject: &Subject<'a>) -> Vec<(&'static ForeignFormat, Vec<&'a Member>)> {
    let unknown: Vec<&Member> = subject.file().unknown().collect();
    let mut claimed: Vec<&Member> = Vec::new();
    let mut acc = Vec::new();
    for format in FORMATS {
        let is_of = |member: &&&Member| {
            let name = member.name.as_str();
            format.distinctive.contains(&name) || format.shared.contains(&name)
        };
        let n_of = unknown.iter().filter(is_of).count();
        let is_distinct = unknown
            .iter()
            .any(|member| format.distinctive.contains(&member.name.as_str()));
        // Legacy names have a diagnostic of their own. They count towards a format, but are not listed.
        let listed: Vec<&Member> = unknown
            .iter()
            .filter(is_of)
            .filter(|member| legacy_name(&member.name).is_none())
            .filter(|member| !claimed.iter().any(|other| other.key == member.key))
            .copied()
            .collect();
        if (is_distinct || n_of >= 2) && !listed.is_empty() {
            claimed.extend(&listed);
            acc.push((format, listed));
        }
    }
    acc
}

/// Returns the field that a misspelt key most likely means.
fn nearest_field(name: &str) -> Option<&'static str> {
    let lower: String = name.to_lowercase().chars().take(64).collect();
    if let Some((_, field)) = SYNONYMS.iter().find(|(word, _)| *word == lower) {
        return Some(field);
    }
    // Two changes of a short key are half of the word, so a match would be a guess.
    let allowed = if lower.chars().count() < 5 { 1 } else { 2 };
    FIELD_NAMES
        .into_iter()
        .map(|field| (strsim::osa_distance(&lower, field), field))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, field)| field)
}
