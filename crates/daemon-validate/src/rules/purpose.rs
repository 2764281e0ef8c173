//! D120 and D121: the `purpose`.

use daemon_spec::{Diagnostic, Field, Shape, Span};

use crate::Subject;
use crate::prose::sentences;
use crate::report::report;

pub(crate) fn missing(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let file = subject.file();
    let (span, message) = match file.purpose() {
        Field::Absent if !subject.knows_all_fields() => return,
        Field::Absent => (Span::at(0), "`purpose` is missing".to_owned()),
        Field::Mistyped { value, .. } if value.shape == Shape::Unreadable => return,
        Field::Mistyped { key, value } => {
            let span = if value.span.is_empty() {
                *key
            } else {
                value.span
            };
            (
                span,
                format!("`purpose` is {}, not a string", value.shape.describe()),
            )
        }
        Field::Present { key, value } if value.value.trim().is_empty() => (
            if value.token.is_empty() {
                *key
            } else {
                value.token
            },
            "`purpose` is empty".to_owned(),
        ),
        Field::Present { .. } => return,
    };
    acc.push(
        report(120, span, message)
            .with_help("write one sentence that names the outcome of the daemon"),
    );
}

pub(crate) fn length(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let Some(purpose) = subject.file().purpose().value() else {
        return;
    };
    let n_sentences = sentences(&purpose.value);
    if n_sentences > 1 {
        acc.push(
            report(
                121,
                purpose.span,
                format!("`purpose` has {n_sentences} sentences"),
            )
            .with_help("keep one sentence of intent and move the rest to the body"),
        );
    }
}
