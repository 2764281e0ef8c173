//! Creation of diagnostics with the severity of the table.

use daemon_spec::{Code, Diagnostic, Span};

use crate::{Profile, rule};

/// Creates a diagnostic of the rule `number` with its severity under `spec`.
pub(crate) fn report(number: u16, span: Span, message: impl Into<String>) -> Diagnostic {
    let code = Code::new(number);
    let entry = rule(code).expect("rules report only codes that have a row in the table");
    Diagnostic::new(code, entry.severity(Profile::Spec), span, message)
}
