//! The severity of each watch code under the strict profile.

use crate::watch_kit::{daemon, findings};

#[test]
fn under_strict_conditions_that_the_format_excludes_are_errors_and_others_that_are_not_understood_are_not()
 {
    let severities = |condition: &str| -> Vec<String> {
        let text = daemon(
            &["when a pull request is opened", condition],
            "list broken links",
        );
        let found = findings(&text, &["--json", "--profile", "strict"]);
        let told = found
            .iter()
            .map(|found| format!("{} {}", found["severity"], found["code"]));
        told.map(|told| told.replace('"', "")).collect()
    };
    for (condition, expected) in [
        ("when something changes", "error D300"),
        ("when code quality is low", "error D301"),
        ("every morning", "error D302"),
        ("when a PR has been open for a week", "error D303"),
        ("when a Jira ticket moves", "warning D304"),
        ("when a large pull request is opened", "warning D305"),
        (
            "when a draft non-draft pull request is opened",
            "warning D306",
        ),
        ("when a PR is opened", "warning D307"),
        ("when an issue is created and then close it", "advice D308"),
    ] {
        assert!(
            severities(condition).iter().any(|told| told == expected),
            "{condition}: {:?}",
            severities(condition)
        );
    }
}
