//! D200 to D214: the `schedule`, as `daemon-cron` parses it.

use std::ops::Range;
use std::sync::LazyLock;

use daemon_cron::{Error, NoteKind, Zone, notes};
use daemon_spec::{Code, DaemonFile, Diagnostic, Field, Fix, Shape, Span, Style, Text, quoted};
use jiff::Timestamp;

use crate::Subject;
use crate::report::report;

static UTC: LazyLock<Zone> = LazyLock::new(Zone::utc);

pub(crate) fn schedule_type(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let file = subject.file();
    let Field::Mistyped { key, value } = file.schedule() else {
        return;
    };
    // The parser already reported the syntax error that hides the value.
    if value.shape == Shape::Unreadable {
        return;
    }
    let span = if value.span.is_empty() {
        *key
    } else {
        value.span
    };
    let message = format!("`schedule` is {}, not a string", value.shape.describe());
    let found =
        report(200, span, message).with_help("quote five fields, such as `\"0 9 * * 1-5\"`");
    let raw = file.source().slice(value.span);
    let text = match value.shape {
        Shape::Number | Shape::Boolean | Shape::Date => Some(raw),
        Shape::List => only_entry(raw),
        _ => None,
    };
    acc.push(match text {
        Some(text) if !raw.is_empty() => {
            found.with_fix(Fix::replace("quote it", value.span, quoted(text)))
        }
        _ => found,
    });
}

/// Returns the entry of a list on one line, if it is the only one and plain text.
fn only_entry(raw: &str) -> Option<&str> {
    let inner = match raw.strip_prefix("- ") {
        Some(rest) => rest,
        None => raw.strip_prefix('[')?.strip_suffix(']')?,
    };
    let inner = inner.trim();
    let bare = ['"', '\'']
        .into_iter()
        .find_map(|quote| inner.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(inner);
    let is_one = !bare.contains(['"', '\'', '\n', '\r', '[', '{', '#', ':', '\\'])
        && (bare.len() < inner.len() || !bare.contains(','));
    (is_one && !bare.is_empty()).then_some(bare)
}

/// Returns the diagnostics of the cron expression: D201 to D214.
pub(crate) fn findings(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let file = subject.file();
    let Some(text) = file.schedule().value() else {
        return Vec::new();
    };
    let zone = subject.zone().unwrap_or(&UTC);
    // Only the next ticks depend on the current time. Without it any instant serves for the rest.
    let from = subject.now().unwrap_or(Timestamp::UNIX_EPOCH);
    let read = notes(&text.value, zone, from);
    let remarks = read.as_deref().unwrap_or_default().iter().map(|note| {
        let is_dated = note.kind == NoteKind::EitherDay && subject.now().is_none();
        let help = if is_dated {
            "keep one of the two fields and write `*` in the other"
        } else {
            &note.help
        };
        CronFinding {
            code: note.code(),
            span: note.span.clone(),
            message: note.to_string(),
            help,
            fix: note.fix.as_ref(),
        }
    });
    let problems = read.as_ref().err().map(Error::problems).unwrap_or_default();
    let refusals = problems.iter().map(|problem| CronFinding {
        code: problem.code(),
        span: problem.span.clone(),
        message: problem.to_string(),
        help: &problem.help,
        fix: problem.fix.as_ref(),
    });
    remarks
        .chain(refusals)
        .map(|found| finding(file, text, found))
        .collect()
}

/// A note or a problem of the expression.
struct CronFinding<'a> {
    code: &'static str,
    span: Range<usize>,
    message: String,
    help: &'a str,
    fix: Option<&'a daemon_cron::Replacement>,
}

fn finding(file: &DaemonFile, text: &Text, found: CronFinding<'_>) -> Diagnostic {
    let code: Code = found
        .code
        .parse()
        .expect("daemon-cron names its problems by diagnostic codes");
    let span = text.place(file.source(), found.span);
    let diagnostic = report(code.number(), span, found.message).with_help(found.help);
    match found.fix.and_then(|fix| file_fix(file, text, fix)) {
        Some(fix) => diagnostic.with_fix(fix),
        None => diagnostic,
    }
}

/// Returns the fix of the file for a replacement in the expression.
fn file_fix(file: &DaemonFile, text: &Text, fix: &daemon_cron::Replacement) -> Option<Fix> {
    let source = file.source();
    let mut value = text.value.clone();
    let old = value.get(fix.span.clone())?.to_owned();
    value.replace_range(fix.span.clone(), &fix.text);
    let span: Span = text.place(source, fix.span.clone());
    // A plain value that begins with `*` after the fix would be read as an alias.
    let needs_quotes =
        text.style == Style::Plain && !value.starts_with(|c: char| c.is_ascii_digit());
    if needs_quotes {
        return Some(Fix::replace(&*fix.title, text.token, quoted(&value)));
    }
    (source.slice(span) == old && text.style != Style::Referenced)
        .then(|| Fix::replace(&*fix.title, span, &*fix.text))
}
