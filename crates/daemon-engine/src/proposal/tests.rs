use daemon_validate::without_unseen;
use expect_test::{Expect, expect};
use proptest::prelude::{any, proptest};
use serde_json::Value;

use super::{
    Act, MAX_BODY_CHARS, MAX_PROPOSAL_BYTES, OutputVerb, Proposal, ProposalError, VERBS,
    output_schema,
};

fn check(line: &str, expected: Expect) {
    let read = match Proposal::parse(line) {
        Ok(Proposal::Act(act)) => sorted(&act.to_json()),
        Ok(proposal) => format!("{proposal:?}"),
        Err(error) => format!("refused: {error}"),
    };
    expected.assert_eq(&read);
}

/// Returns the members of an object in the order of their names.
fn sorted(value: &Value) -> String {
    let members = value.as_object().expect("an act is an object").iter();
    let members: std::collections::BTreeMap<&String, &Value> = members.collect();
    serde_json::to_string(&members).expect("a map with text keys is JSON")
}

/// The examples of acts, each as its row has it and as a value.
fn examples() -> impl Iterator<Item = (&'static str, Value)> {
    let rows = VERBS.iter().filter(|row| !row.targets.is_empty());
    rows.map(|row| {
        let value = serde_json::from_str(row.example).expect("an example is JSON");
        (row.example, value)
    })
}

#[test]
fn the_example_of_each_verb_is_a_proposal_with_it() {
    for row in VERBS {
        assert_eq!(row.verb.row().name, row.name);
        assert_eq!(row.name.parse(), Ok(row.verb));
        match Proposal::parse(row.example) {
            Ok(Proposal::Act(act)) => assert_eq!(act.verb, row.verb),
            Ok(Proposal::State(_)) => assert_eq!(row.verb, OutputVerb::State),
            Ok(Proposal::NoOp { .. }) => assert_eq!(row.verb, OutputVerb::NoOp),
            Err(error) => panic!("{}: {error}", row.example),
        }
    }
}

#[test]
fn acts_print_and_parse() {
    for (line, value) in examples() {
        let act = Act::of_json(value.clone()).unwrap();
        assert_eq!(act.to_json(), value, "{line}");
    }
}

#[test]
fn every_required_field_is_missed_and_no_unknown_one_is_taken() {
    for (line, value) in examples() {
        let parse = |value: Value| Proposal::parse(&value.to_string());
        let members = value.as_object().unwrap();
        let row = Proposal::parse(line).map(|proposal| match proposal {
            Proposal::Act(act) => act.verb.row(),
            Proposal::State(_) | Proposal::NoOp { .. } => panic!("{line}"),
        });
        for field in row.unwrap().fields.iter().filter(|field| field.is_required) {
            let mut less = members.clone();
            less.remove(field.name);
            let error = parse(less.into()).unwrap_err().to_string();
            assert!(error.contains("is missing"), "{line}: {error}");
            assert!(error.contains(field.name), "{line}: {error}");
        }
        let mut more = members.clone();
        more.insert("force".to_owned(), true.into());
        let error = parse(more.into()).unwrap_err().to_string();
        assert!(error.contains("`force` is unknown"), "{line}: {error}");
    }
}

#[test]
fn state_and_no_op_have_no_effect_on_a_surface() {
    check(
        r#"{"v":1,"verb":"state","set":{"b":[1, 2],"a":"x"},"remove":["c"]}"#,
        expect![[
            r#"State([Set { key: "a", json: "\"x\"" }, Set { key: "b", json: "[1,2]" }, Remove { key: "c" }])"#
        ]],
    );
    check(
        r#"{"v":1,"verb":"no_op","reason":"nothing stale"}"#,
        expect![[r#"NoOp { reason: "nothing stale" }"#]],
    );
    check(
        r#"{"v":1,"verb":"no_op"}"#,
        expect![[r#"NoOp { reason: "" }"#]],
    );
}

#[test]
fn a_message_of_a_branch_has_two_names() {
    check(
        r#"{"v":1,"verb":"push_branch","body":"mend\n\nthe pump"}"#,
        expect![[r#"{"message":"mend\n\nthe pump","v":1,"verb":"push_branch"}"#]],
    );
    check(
        r#"{"v":1,"verb":"push_branch"}"#,
        expect![[r#"{"v":1,"verb":"push_branch"}"#]],
    );
}

#[test]
fn what_is_no_proposal_says_why() {
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
        expect!["refused: not a proposal: the field `verb` is missing"],
    );
    check(
        r#"{"v":2,"verb":"no_op"}"#,
        expect!["refused: version 2 of the proposal form is not served, 1 is"],
    );
    check(
        r#"{"v":1,"verb":"merge"}"#,
        expect![
            "refused: there is no verb `merge`; there are push_branch, push_pull_request, open_pull_request, edit_pull_request, open_issue, comment, edit_comment, review, review_comment, label, assign, check_run, retry_check, edit_issue, message, reply, state, no_op"
        ],
    );
    check(
        r#"{"v":1,"verb":"comment","target":"slack:C12","body":"x"}"#,
        expect![
            "refused: `comment` has a target of the form `github:OWNER/NAME#NUMBER` or `linear:KEY-NUMBER`: `slack:C12` is not"
        ],
    );
    check(
        r#"{"v":1,"verb":"no_op","target":"github:o/r"}"#,
        expect!["refused: `no_op` has no target"],
    );
    check(
        r#"{"v":1,"verb":"label","add":null}"#,
        expect!["refused: `label` changes nothing without a field"],
    );
}

#[test]
fn a_field_of_the_wrong_form_is_named_with_its_place() {
    check(
        r#"{"v":1,"verb":"review","body":"x","event":"approve"}"#,
        expect!["refused: `review`: `event` is not one of `comment`, `request_changes`"],
    );
    check(
        r#"{"v":1,"verb":"review","body":"x","event":"comment","comments":[{"path":"a","line":1,"body":"x"},{"path":"../a","line":1,"body":"x"}]}"#,
        expect![
            "refused: `review`: `comments[1].path` is not a path relative to the root of the repository"
        ],
    );
    check(
        r#"{"v":1,"verb":"open_pull_request","title":"x","body":"x","base":"-o x"}"#,
        expect!["refused: `open_pull_request`: `base` is not the name of a branch"],
    );
    check(
        r#"{"v":1,"verb":"comment","body":" "}"#,
        expect![[r#"refused: `comment`: `body` is not text of at most 65536 characters"#]],
    );
    check(
        r#"{"v":1,"verb":"edit_issue","priority":5}"#,
        expect!["refused: `edit_issue`: `priority` is not a whole number from 0 to 4"],
    );
}

#[test]
fn names_that_git_or_a_file_system_reads_otherwise_are_refused() {
    let base = |name: &str| {
        let line = serde_json::json!({"v": 1, "verb": "open_pull_request", "title": "x", "body": "x", "base": name});
        Proposal::parse(&line.to_string()).is_ok()
    };
    for name in ["main", "release/1.2", "a-b_c", "é"] {
        assert!(base(name), "{name}");
    }
    for name in [
        "", "-x", "a..b", "a b", "a:b", "a~1", "a^", "/a", "a/", "a//b", ".a", "a/.b", "a.lock",
        "a.", "@", "a@{1}", "a\\b", "a\nb",
    ] {
        // An empty name is an absent one.
        assert_eq!(base(name), name.is_empty(), "{name}");
    }
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
    assert!(Proposal::parse(&body(MAX_BODY_CHARS + 1)).is_err());
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

#[test]
fn the_schema_has_the_served_verbs() {
    let schema = output_schema(|row| matches!(row.verb, OutputVerb::Comment | OutputVerb::NoOp));
    let names: Vec<&Value> = schema["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|verb| &verb["properties"]["verb"]["const"])
        .collect();
    assert_eq!(names, ["comment", "no_op"]);
    let comment = &schema["oneOf"][0];
    assert_eq!(
        comment["required"],
        serde_json::json!(["v", "verb", "body"])
    );
    let fields = comment["properties"].as_object().unwrap().keys();
    let fields: std::collections::BTreeSet<&str> = fields.map(String::as_str).collect();
    assert_eq!(
        fields,
        ["body", "slot", "target", "v", "verb"].into(),
        "{comment}"
    );
}

proptest! {
    #[test]
    fn any_line_is_read_or_refused(line in any::<String>()) {
        drop(Proposal::parse(&line));
    }

    #[test]
    fn every_reason_is_read_back_as_it_is_shown(reason in "[^\\x00]*[^\\x00\\s][^\\x00]*") {
        let line = serde_json::json!({"v": 1, "verb": "no_op", "reason": reason}).to_string();
        let reason = without_unseen(&reason);
        if line.len() <= MAX_PROPOSAL_BYTES && !reason.trim().is_empty() {
            assert_eq!(Proposal::parse(&line), Ok(Proposal::NoOp { reason }));
        }
    }
}
