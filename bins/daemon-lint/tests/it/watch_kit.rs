//! Daemons with given conditions, and their diagnostics as text.

use expect_test::Expect;
use serde_json::Value;

use crate::world::{CLEAN, World};

/// Returns a daemon file with these conditions and this routine.
pub(crate) fn daemon(conditions: &[&str], routine: &str) -> String {
    let list: String = conditions
        .iter()
        .map(|condition| format!("  - {}\n", Value::from(*condition)))
        .collect();
    CLEAN
        .replace("  - when a pull request is opened\n", &list)
        .replace("list broken links in one comment", routine)
}

/// Returns the diagnostics of a daemon file.
pub(crate) fn findings(text: &str, arguments: &[&str]) -> Vec<Value> {
    let report = World::of_daemon(text).run(arguments).json();
    let found = report["files"][0]["diagnostics"].as_array();
    found.expect("a list of findings").clone()
}

/// Prints diagnostics as `severity code [words] message | help`, with the words at the span.
pub(crate) fn shown(text: &str, found: &[Value]) -> String {
    let lines = found.iter().map(|found| {
        let field = |name: &str| found[name].as_str().unwrap_or("–").to_owned();
        let byte = |end: &str| {
            let byte = found[end]["byte"].as_u64().expect("a byte");
            usize::try_from(byte).expect("it fits")
        };
        let words = &text[byte("start")..byte("end")];
        let (severity, code) = (field("severity"), field("code"));
        let (message, help) = (field("message"), field("help"));
        format!("{severity} {code} [{words}] {message} | {help}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Lints each condition together with a valid one, and compares its diagnostics.
pub(crate) fn check(conditions: &[&str], expected: &Expect) {
    let each = conditions.iter().map(|condition| {
        let text = daemon(
            &["when a pull request is opened", condition],
            "list broken links",
        );
        let found = findings(&text, &["--json"]);
        format!("# {condition}\n{}\n", shown(&text, &found))
    });
    expected.assert_eq(&each.collect::<String>());
}
