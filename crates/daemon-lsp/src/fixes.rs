//! What was found in a document, and the edits that remove it.

use std::collections::HashMap;

use daemon_spec::{Edit, Fix, Severity, Span, apply_fixes};
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, Diagnostic, DiagnosticSeverity,
    NumberOrString, Range, TextEdit, WorkspaceEdit,
};

use crate::document::OpenDocument;

/// Returns what was found in a document.
pub(crate) fn diagnostics(document: &OpenDocument) -> Vec<Diagnostic> {
    let found = document.checked().diagnostics.iter();
    found.map(|found| diagnostic(document, found)).collect()
}

fn diagnostic(document: &OpenDocument, found: &daemon_spec::Diagnostic) -> Diagnostic {
    let mut message = daemon_validate::visible(&found.message);
    if let Some(help) = &found.help {
        message.push_str("\nhelp: ");
        message.push_str(&daemon_validate::visible(help));
    }
    Diagnostic {
        range: document.range(found.span),
        severity: Some(match found.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Advice => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(found.code.to_string())),
        source: Some("daemon-lint".to_owned()),
        message,
        ..Diagnostic::default()
    }
}

/// Returns the fixes of what was found in a range, and one of everything if there are several.
pub(crate) fn actions(document: &OpenDocument, range: Range) -> Vec<CodeActionOrCommand> {
    let found = &document.checked().diagnostics;
    let fixable = || {
        found
            .iter()
            .filter_map(|one| Some((one, one.fix.as_ref()?)))
    };
    let mut actions: Vec<CodeAction> = fixable()
        .filter(|(one, _)| touches(document.range(one.span), range))
        .map(|(one, fix)| CodeAction {
            title: fix.title.clone(),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![diagnostic(document, one)]),
            edit: Some(edit_of(document, &fix.edits)),
            is_preferred: Some(true),
            ..CodeAction::default()
        })
        .collect();
    if fixable().nth(1).is_some() {
        let fixes: Vec<&Fix> = fixable().map(|(_, fix)| fix).collect();
        actions.extend(everything(document, &fixes));
    }
    actions
        .into_iter()
        .map(CodeActionOrCommand::CodeAction)
        .collect()
}

/// Returns one action for all fixes that do not exclude each other.
fn everything(document: &OpenDocument, fixes: &[&Fix]) -> Option<CodeAction> {
    let text = document.text();
    let fixed = apply_fixes(text.as_bytes(), fixes.iter().copied());
    let whole = Edit {
        span: Span::new(0, text.len()),
        text: String::from_utf8(fixed.bytes).ok()?,
    };
    Some(CodeAction {
        title: format!("fix {} problems", fixed.applied),
        kind: Some(CodeActionKind::SOURCE_FIX_ALL),
        edit: Some(edit_of(document, &[whole])),
        ..CodeAction::default()
    })
}

fn edit_of(document: &OpenDocument, edits: &[Edit]) -> WorkspaceEdit {
    let edits = edits
        .iter()
        .map(|edit| TextEdit::new(document.range(edit.span), edit.text.clone()))
        .collect();
    WorkspaceEdit {
        changes: Some(HashMap::from([(document.uri.clone(), edits)])),
        ..WorkspaceEdit::default()
    }
}

fn touches(one: Range, other: Range) -> bool {
    one.start <= other.end && other.start <= one.end
}
