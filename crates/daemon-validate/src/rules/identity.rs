//! D110 to D113: the `id`.

use daemon_spec::{DaemonFile, Diagnostic, Field, Fix, Mistyped, Shape, Span, Style, Text, quoted};

use super::keys::legacy_name;
use crate::Subject;
use crate::report::report;

/// The maximum number of characters of a portable id.
const MAX_ID_CHARS: usize = 64;

pub(crate) fn missing(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let file = subject.file();
    let (span, message) = match file.id() {
        Field::Absent if !subject.knows_all_fields() => return,
        Field::Absent => (Span::at(0), "`id` is missing".to_owned()),
        Field::Mistyped { value, .. } if value.shape == Shape::Unreadable => return,
        Field::Mistyped { key, value } => {
            let span = if value.span.is_empty() {
                *key
            } else {
                value.span
            };
            (
                span,
                format!("`id` is {}, not a string", value.shape.describe()),
            )
        }
        Field::Present { key, value } if value.value.trim().is_empty() => (
            if value.token.is_empty() {
                *key
            } else {
                value.token
            },
            "`id` is empty".to_owned(),
        ),
        Field::Present { .. } => return,
    };
    let help = match subject.directory() {
        Some(directory) => format!("use the directory's name: `id: {directory}`"),
        None => "use the name of the daemon's directory".to_owned(),
    };
    let found = report(110, span, message).with_help(help);
    acc.push(match naming(subject) {
        Some(fix) => found.with_fix(fix),
        None => found,
    });
}

pub(crate) fn directory(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let (Some(directory), Some(id)) = (subject.directory(), id_text(subject.file())) else {
        return;
    };
    // Blanks around the id have the code D113. Comparing them here would report them twice.
    let name = id.value.trim();
    if name != directory {
        acc.push(
            report(
                111,
                id.span,
                format!("`id` is `{name}`, the directory is `{directory}`"),
            )
            .with_help("rename either, so that they agree"),
        );
    }
}

pub(crate) fn shape(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let Some(id) = id_text(subject.file()) else {
        return;
    };
    let name = id.value.trim();
    if is_kebab(name) && name.len() <= MAX_ID_CHARS {
        return;
    }
    let shown: String = name.chars().take(MAX_ID_CHARS).collect();
    let found = report(
        112,
        id.span,
        format!("`{shown}` is not lower-case kebab of at most {MAX_ID_CHARS} characters"),
    );
    let suggestion = kebab(name);
    acc.push(if suggestion.is_empty() {
        found.with_help("use lower-case letters, digits and single hyphens")
    } else {
        found.with_help(format!("for example `{suggestion}`"))
    });
}

pub(crate) fn padded(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let Some(id) = id_text(subject.file()) else {
        return;
    };
    let name = id.value.trim();
    if name.len() == id.value.len() {
        return;
    }
    let found = report(113, id.token, "blanks surround `id`").with_help(format!("write `{name}`"));
    let source = subject.file().source();
    // In a plain string the blanks are not part of the token, so a replacement would not remove them.
    let is_whole_token = match id.style {
        Style::SingleQuoted | Style::DoubleQuoted => true,
        Style::Block => source.slice(id.token).starts_with(['|', '>']),
        Style::Plain | Style::Referenced => false,
    };
    acc.push(if is_whole_token {
        found.with_fix(Fix::replace("remove the blanks", id.token, quoted(name)))
    } else {
        found
    });
}

fn id_text(file: &DaemonFile) -> Option<&Text> {
    file.id().value().filter(|id| !id.value.trim().is_empty())
}

/// Returns the fix for an `id` that is missing or not a string.
fn naming(subject: &Subject<'_>) -> Option<Fix> {
    let file = subject.file();
    match (file.id(), subject.directory()) {
        (Field::Absent, Some(directory)) => insertion(file, directory),
        (Field::Absent, None) => None,
        (Field::Present { value, .. }, directory) => {
            let is_token = value.style != Style::Referenced && value.style != Style::Block;
            directory
                .filter(|_| is_token && !value.token.is_empty())
                .map(|name| {
                    Fix::replace(
                        "use the directory's name",
                        value.token,
                        plain_or_quoted(name),
                    )
                })
        }
        (Field::Mistyped { key, value }, Some(directory)) => {
            replacement(file, *key, value, directory)
        }
        (Field::Mistyped { value, .. }, None) => {
            let text = value
                .text
                .as_ref()
                .filter(|text| text.style == Style::Plain)?;
            let is_scalar = matches!(value.shape, Shape::Number | Shape::Boolean | Shape::Date);
            is_scalar.then(|| {
                Fix::replace(
                    "quote it",
                    value.span,
                    quoted(file.source().slice(text.span)),
                )
            })
        }
    }
}

/// Returns a fix that adds the field before the first key.
fn insertion(file: &DaemonFile, directory: &str) -> Option<Fix> {
    let first = file.members().first()?;
    let has_legacy = file
        .members()
        .iter()
        .any(|member| legacy_name(&member.name) == Some("id"));
    let line = file.source().line_at(first.key.start);
    let indent = file.source().slice(Span::new(line.start, first.key.start));
    let is_block = indent.bytes().all(|byte| byte == b' ');
    // Renaming a legacy key (D101) provides the field. Both fixes together would duplicate it.
    if has_legacy || !is_block {
        return None;
    }
    let ending = line_ending(file);
    let text = format!("{indent}id: {}{ending}", plain_or_quoted(directory));
    Some(Fix::replace(
        "add the directory's name",
        Span::at(line.start),
        text,
    ))
}

fn replacement(file: &DaemonFile, key: Span, value: &Mistyped, directory: &str) -> Option<Fix> {
    let name = plain_or_quoted(directory);
    let raw = file.source().slice(value.span);
    let title = "use the directory's name";
    match value.shape {
        Shape::Null if value.span.is_empty() => {
            let after = file.source().as_bytes().get(key.end..)?;
            let colon = key.end + after.iter().take(3).position(|&byte| byte == b':')? + 1;
            Some(Fix::replace(title, Span::at(colon), format!(" {name}")))
        }
        Shape::Null | Shape::Boolean | Shape::Number | Shape::Date => {
            Some(Fix::replace(title, value.span, name))
        }
        Shape::List | Shape::Mapping if raw.starts_with(['[', '{']) && !raw.contains('\n') => {
            Some(Fix::replace(title, value.span, name))
        }
        _ => None,
    }
}

/// Returns an id as YAML, in quotes where a plain word could be read as another type.
fn plain_or_quoted(name: &str) -> String {
    // YAML 1.1 reads `y` and `n` as booleans too.
    let is_word = name.starts_with(|c: char| c.is_ascii_lowercase())
        && is_kebab(name)
        && !matches!(
            name,
            "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n"
        );
    if is_word {
        name.to_owned()
    } else {
        quoted(name)
    }
}

pub(crate) fn line_ending(file: &DaemonFile) -> &'static str {
    let first = file.source().line_at(0);
    let line = file.source().slice(first);
    if line.ends_with("\r\n") {
        "\r\n"
    } else if line.ends_with('\r') {
        "\r"
    } else {
        "\n"
    }
}

fn is_kebab(name: &str) -> bool {
    !name.is_empty()
        && name.split('-').all(|part| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
}

/// Returns a name in lower-case kebab, without the characters that it cannot contain.
fn kebab(name: &str) -> String {
    let mut acc = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            acc.push(c.to_ascii_lowercase());
        } else if !acc.is_empty() && !acc.ends_with('-') {
            acc.push('-');
        }
        if acc.len() == MAX_ID_CHARS {
            break;
        }
    }
    acc.trim_end_matches('-').to_owned()
}
