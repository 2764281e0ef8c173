//! The JSON report. Its fields are a contract with programs that read it.

use std::io::{self, Write};

use daemon_spec::{Diagnostic, Edit, Fix, SourceText};
use daemon_watch::InterpretationWire;
use serde::Serialize;

use super::{LintReport, Summary};
use crate::lint::Linted;
use crate::suggestions::{Suggestion, Suggestions, UnclearCondition};

// The structs below exist only for the report, so that a change of a domain type cannot change it.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct ReportWire<'a> {
    schema_version: u32,
    ok: bool,
    files: Vec<FileWire<'a>>,
    summary: SummaryWire,
    #[serde(flatten)]
    suggestions: Option<SuggestionsWire<'a>>,
}

/// The fields that a report has only if suggestions were requested.
#[derive(Serialize)]
pub(super) struct SuggestionsWire<'a> {
    suggestions: Vec<SuggestionWire<'a>>,
    error: Option<ErrorWire<'a>>,
}

#[derive(Serialize)]
struct SuggestionWire<'a> {
    path: &'a str,
    daemon_id: Option<&'a str>,
    line: usize,
    column: usize,
    condition: &'a str,
    status: &'static str,
    wordings: Vec<WordingWire<'a>>,
}

#[derive(Serialize)]
struct WordingWire<'a> {
    text: &'a str,
    reading: InterpretationWire,
}

#[derive(Serialize)]
struct FileWire<'a> {
    path: &'a str,
    daemon_id: Option<&'a str>,
    ok: bool,
    diagnostics: Vec<DiagnosticWire<'a>>,
}

#[derive(Serialize)]
struct DiagnosticWire<'a> {
    code: String,
    severity: &'static str,
    message: &'a str,
    start: PlaceWire,
    end: PlaceWire,
    help: Option<&'a str>,
    fix: Option<FixWire<'a>>,
}

#[derive(Serialize)]
struct PlaceWire {
    line: usize,
    column: usize,
    byte: usize,
}

#[derive(Serialize)]
struct FixWire<'a> {
    title: &'a str,
    edits: Vec<EditWire<'a>>,
}

#[derive(Serialize)]
struct EditWire<'a> {
    start: usize,
    end: usize,
    text: &'a str,
}

#[derive(Serialize)]
struct SummaryWire {
    files: usize,
    daemons: usize,
    errors: usize,
    warnings: usize,
    advice: usize,
    fixable: usize,
    fixed: usize,
    suppressed: usize,
}

#[derive(Serialize)]
struct FailureWire<'a> {
    schema_version: u32,
    ok: bool,
    error: ErrorWire<'a>,
}

#[derive(Serialize)]
struct ErrorWire<'a> {
    code: &'a str,
    message: &'a str,
    help: Option<&'a str>,
}

pub(super) fn print(report: &LintReport<'_>, out: &mut dyn Write) -> io::Result<()> {
    let wire = ReportWire {
        schema_version: SCHEMA_VERSION,
        ok: report.exit() == 0,
        files: report
            .files
            .iter()
            .map(|linted| file(report, linted))
            .collect(),
        summary: report.summary().into(),
        suggestions: report.suggestions.map(suggestions),
    };
    serde_json::to_writer(&mut *out, &wire)?;
    out.write_all(b"\n")
}

/// Returns the suggestions of a provider and the error that ended them.
pub(super) fn suggestions(given: &Suggestions) -> SuggestionsWire<'_> {
    SuggestionsWire {
        suggestions: given.given.iter().map(suggestion).collect(),
        error: given.failure.as_ref().map(|failure| ErrorWire {
            code: &failure.code,
            message: &failure.message,
            help: failure.help.as_deref(),
        }),
    }
}

fn suggestion(given: &Suggestion) -> SuggestionWire<'_> {
    let UnclearCondition {
        path,
        daemon_id,
        line,
        column,
        condition,
        meaning,
    } = &given.unclear;
    let wordings = given.wordings().iter().map(|wording| WordingWire {
        text: wording.text(),
        reading: InterpretationWire::new(wording.text(), wording.meaning(), None),
    });
    SuggestionWire {
        path,
        daemon_id: daemon_id.as_deref(),
        line: *line,
        column: *column,
        condition,
        status: meaning.status.as_str(),
        wordings: wordings.collect(),
    }
}

/// Returns the JSON object of a command that failed.
pub(crate) fn failure(code: &str, message: &str, help: Option<&str>) -> String {
    let wire = FailureWire {
        schema_version: SCHEMA_VERSION,
        ok: false,
        error: ErrorWire {
            code,
            message,
            help,
        },
    };
    serde_json::to_string(&wire).expect("strings and numbers have a JSON form")
}

/// Returns the diagnostics of a file as in a report.
pub(crate) fn findings(source: &SourceText, diagnostics: &[Diagnostic]) -> serde_json::Value {
    let wires: Vec<DiagnosticWire<'_>> = diagnostics
        .iter()
        .map(|found| diagnostic(found, Some(source)))
        .collect();
    serde_json::to_value(&wires).expect("strings and numbers have a JSON form")
}

fn file<'a>(report: &LintReport<'_>, linted: &'a Linted) -> FileWire<'a> {
    FileWire {
        path: &linted.path,
        daemon_id: linted.daemon_id(),
        ok: report.is_file_ok(linted),
        diagnostics: linted
            .diagnostics
            .iter()
            .map(|found| diagnostic(found, linted.source()))
            .collect(),
    }
}

fn diagnostic<'a>(found: &'a Diagnostic, source: Option<&SourceText>) -> DiagnosticWire<'a> {
    DiagnosticWire {
        code: found.code.to_string(),
        severity: found.severity.as_str(),
        message: &found.message,
        start: place(source, found.span.start),
        end: place(source, found.span.end),
        help: found.help.as_deref(),
        fix: found.fix.as_ref().map(fix),
    }
}

fn place(source: Option<&SourceText>, byte: usize) -> PlaceWire {
    // A file that was not read has no lines, but readers of the report expect a position.
    let Some(place) = source.map(|source| source.position(byte)) else {
        return PlaceWire {
            line: 1,
            column: 1,
            byte: 0,
        };
    };
    PlaceWire {
        line: place.line,
        column: place.column,
        byte: place.byte,
    }
}

fn fix(fix: &Fix) -> FixWire<'_> {
    FixWire {
        title: &fix.title,
        edits: fix.edits.iter().map(edit).collect(),
    }
}

fn edit(edit: &Edit) -> EditWire<'_> {
    EditWire {
        start: edit.span.start,
        end: edit.span.end,
        text: &edit.text,
    }
}

impl From<Summary> for SummaryWire {
    fn from(summary: Summary) -> Self {
        let Summary {
            files,
            daemons,
            errors,
            warnings,
            advice,
            fixable,
            fixed,
            suppressed,
        } = summary;
        Self {
            files,
            daemons,
            errors,
            warnings,
            advice,
            fixable,
            fixed,
            suppressed,
        }
    }
}
