use expect_test::{Expect, expect};
use proptest::prelude::{any, proptest};

use super::{MAX_BODY_CHARS, MAX_PROPOSAL_BYTES, Proposal, ProposalError};

fn check(line: &str, expected: Expect) {
    let read = match Proposal::parse(line) {
        Ok(proposal) => format!("{proposal:?}"),
        Err(error) => format!("refused: {error}"),
    };
    expected.assert_eq(&read);
}

#[test]
fn the_verbs_served_here_are_read() {
    check(
        r#"{"v":1,"verb":"push_branch"}"#,
        expect!["PushBranch { message: None }"],
    );
    check(
        r#"{"v":1,"verb":"push_branch","body":"mend\n\nthe pump"}"#,
        expect![[r#"PushBranch { message: Some("mend\n\nthe pump") }"#]],
    );
    check(
        r#"{"v":1,"verb":"state","set":{"b":[1, 2],"a":"x"},"remove":["c"]}"#,
        expect![[
            r#"State([Set { key: "a", json: "\"x\"" }, Set { key: "b", json: "[1,2]" }, Remove { key: "c" }])"#
        ]],
    );
    check(
        r#"{"v":1,"verb":"no_op","reason":"nothing stale","extra":{}}"#,
        expect![[r#"NoOp { reason: "nothing stale" }"#]],
    );
    check(
        r#"{"v":1,"verb":"no_op"}"#,
        expect![[r#"NoOp { reason: "" }"#]],
    );
}

#[test]
fn what_is_not_served_says_why() {
    check(
        "",
        expect!["refused: not a proposal: EOF while parsing a value at line 1 column 0"],
    );
    check(
        r#"{"v":1,"verb":"no_op"} x"#,
        expect!["refused: not a proposal: trailing characters at line 1 column 24"],
    );
    check(
        r#"{"v":1}"#,
        expect!["refused: not a proposal: missing field `verb` at line 1 column 7"],
    );
    check(
        r#"{"v":2,"verb":"no_op"}"#,
        expect!["refused: version 2 of the proposal form is not served, 1 is"],
    );
    check(
        r#"{"v":1,"verb":"merge"}"#,
        expect!["refused: no surface here serves the verb `merge`"],
    );
}

#[test]
fn limits_count_bytes_of_lines_and_characters_of_bodies() {
    let body = |n| {
        format!(
            r#"{{"v":1,"verb":"push_branch","body":"{}"}}"#,
            "é".repeat(n)
        )
    };
    assert!(Proposal::parse(&body(MAX_BODY_CHARS)).is_ok());
    assert_eq!(
        Proposal::parse(&body(MAX_BODY_CHARS + 1)),
        Err(ProposalError::Body {
            found: MAX_BODY_CHARS + 1
        })
    );
    let padded = |n: usize| {
        let line = r#"{"v":1,"verb":"no_op"}"#;
        format!("{line}{}", " ".repeat(n - line.len()))
    };
    assert!(Proposal::parse(&padded(MAX_PROPOSAL_BYTES)).is_ok());
    assert_eq!(
        Proposal::parse(&padded(MAX_PROPOSAL_BYTES + 1)),
        Err(ProposalError::Long {
            found: MAX_PROPOSAL_BYTES + 1
        })
    );
}

proptest! {
    #[test]
    fn any_line_is_read_or_refused(line in any::<String>()) {
        drop(Proposal::parse(&line));
    }

    #[test]
    fn every_reason_is_read_back(reason in any::<String>()) {
        let line = serde_json::json!({"v": 1, "verb": "no_op", "reason": reason}).to_string();
        if line.len() <= MAX_PROPOSAL_BYTES {
            assert_eq!(Proposal::parse(&line), Ok(Proposal::NoOp { reason }));
        }
    }
}
