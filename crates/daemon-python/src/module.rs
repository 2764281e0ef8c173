//! The functions that Python calls.

use daemon_ffi::{ArgumentError, LintPlace, interpret_json, lint_json, next_json, parse_json};
use jiff::Timestamp;
use pyo3::prelude::*;

/// Parses the bytes of a daemon file.
#[pyfunction]
fn parse(py: Python<'_>, text: &[u8]) -> String {
    py.detach(|| parse_json(text))
}

/// Checks the bytes of a daemon file.
#[pyfunction]
fn lint(py: Python<'_>, text: &[u8], path: Option<&str>, profile: &str, zone: &str) -> String {
    py.detach(|| {
        let linted = profile
            .parse()
            .map_err(|error: daemon_validate::ProfileError| refused(&error))
            .and_then(|profile| {
                let now = Timestamp::now();
                let place = LintPlace {
                    path,
                    profile,
                    zone,
                    now,
                };
                lint_json(text, &place)
            });
        linted.unwrap_or_else(|refusal| refusal.to_json())
    })
}

/// Interprets a watch condition.
#[pyfunction]
fn interpret(py: Python<'_>, condition: &str) -> String {
    py.detach(|| interpret_json(condition))
}

/// Computes the next ticks of a schedule after an instant, by default the current time.
#[pyfunction]
fn next_fires(
    py: Python<'_>,
    expression: &str,
    zone: &str,
    after: Option<&str>,
    count: u32,
) -> String {
    py.detach(|| {
        let from = after.map_or_else(|| Ok(Timestamp::now()), str::parse);
        from.map_err(|error: jiff::Error| refused(&error))
            .and_then(|from| next_json(expression, zone, from, count))
            .unwrap_or_else(|refusal| refusal.to_json())
    })
}

fn refused(error: &dyn std::error::Error) -> ArgumentError {
    ArgumentError {
        code: "usage".to_owned(),
        message: error.to_string(),
        help: None,
        span: None,
    }
}

/// The module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(parse, module)?)?;
    module.add_function(wrap_pyfunction!(lint, module)?)?;
    module.add_function(wrap_pyfunction!(interpret, module)?)?;
    module.add_function(wrap_pyfunction!(next_fires, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
