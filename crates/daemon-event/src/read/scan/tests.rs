use proptest::prelude::*;
use serde_json::{Value, json};

use super::scan;
use crate::read::tree::{PathTree, parse};

const PATHS: &[&str] = &[
    "a",
    "a.b",
    "list[].a",
    "list[]",
    "grid[][]",
    "b.*",
    "text",
    "a.list[].text",
    "number",
    "é",
];

fn tree() -> PathTree {
    let mut tree = PathTree::default();
    for (leaf, path) in PATHS.iter().enumerate() {
        tree.insert(path, leaf);
    }
    tree
}

/// Asserts that the parser agrees with what the scanner reads; returns whether the scanner reads it.
fn agrees(body: &str) -> bool {
    let tree = tree();
    let Some(found) = scan(&tree, body) else {
        return false;
    };
    match parse(&tree, body) {
        Ok(parsed) => assert_eq!(found, parsed, "{body}"),
        Err(error) => panic!("the parser refuses `{body}`: {error}"),
    }
    true
}

#[test]
fn what_services_send_is_scanned() {
    for body in [
        "{}",
        r#"{"a":{"b":1,"c":[]},"list":[{"a":"x"},{"a":null},[]],"grid":[[1],[],[2,3]],"b":{"k":1,"":2}}"#,
        r#"{"text":"a \"quoted\" \\ \u00e9\ud83d\ude00 line\n","other":"\ud800 skipped","é":"é"}"#,
        r#"{"text":"\b\f\r\t\/é\\n\"","a":"\t\u0009\t"}"#,
        r#" { "a" : true , "number" : 0 , "list" : [ ] , "skipped" : [ 1 , -2.5e+3 , 0.1 , 1E9 ] } "#,
        r#"{"number":18446744073709551615,"a":1234567890123456789}"#,
        r#"{"a":"0123456789abcdef0123456789abcdef","0123456789abcdef0123456789abcdef":""}"#,
    ] {
        let is_scanned = agrees(body);
        // Twenty digits may not fit into a number, so that they are left to the parser.
        assert_eq!(is_scanned, !body.contains("18446744073709551615"), "{body}");
    }
}

#[test]
fn what_is_not_json_is_left_to_the_parser() {
    for body in [
        "",
        "{",
        "}",
        "[]",
        "1",
        "\"\"",
        "{}{}",
        "{} x",
        "{,}",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        r#"{"a" 1}"#,
        r#"{"a":1 "b":2}"#,
        r#"{a:1}"#,
        r#"{"list":[1,]}"#,
        r#"{"list":[1 2]}"#,
        r#"{"list":[,1]}"#,
        r#"{"list":[1}"#,
        r#"{"x":01}"#,
        r#"{"x":-}"#,
        r#"{"x":1.}"#,
        r#"{"x":.5}"#,
        r#"{"x":1e}"#,
        r#"{"x":+1}"#,
        r#"{"x":-01}"#,
        r#"{"x":tru}"#,
        r#"{"x":truee}"#,
        r#"{"x":nul"#,
        r#"{"x":"\x"}"#,
        r#"{"x":"\u12g4"}"#,
        r#"{"x":"\u12"}"#,
        r#"{"x":"\"#,
        r#"{"x":"open}"#,
        r#"{"text":"\ud800"}"#,
        "{\"x\":\"a\nb\"}",
        "{\u{a0}}",
        r#"{"a":1]"#,
    ] {
        assert!(!agrees(body), "{body}");
        assert!(parse(&tree(), body).is_err(), "{body}");
    }
}

#[test]
fn deep_nesting_is_left_to_the_parser() {
    let nested = |depth| format!(r#"{{"x":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert!(agrees(&nested(127)));
    assert!(!agrees(&nested(128)));
    assert!(!agrees(&nested(100_000)));
}

/// Objects with the names of the paths and others.
fn values() -> impl Strategy<Value = Value> {
    let name = "a|b|c|list|grid|text|number|é|[a-z\\\\\"é ]{0,20}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,40}".prop_map(Value::from),
        "[\\\\\"\n\té]{0,9}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        let list = prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from);
        let object = prop::collection::vec((name, inner), 0..6)
            .prop_map(|entries| Value::Object(entries.into_iter().collect()));
        prop_oneof![list, object]
    })
}

proptest! {
    #[test]
    fn the_parser_agrees_about_what_is_valid(value in values(), other in values()) {
        agrees(&json!({"a": value, "list": [other.clone()], "x": other}).to_string());
    }

    #[test]
    fn the_parser_agrees_about_what_is_changed(
        value in values(),
        at in any::<prop::sample::Index>(),
        byte in prop::sample::select(&b"\"\\{}[],: 0159-+.eEtfnu\n\x1f\x7fa"[..]),
        length in 0..3_usize,
    ) {
        let mut body = json!({"a": value.clone(), "list": [value.clone()], "x": value}).to_string().into_bytes();
        let place = at.index(body.len());
        body.splice(place..(place + length).min(body.len()), [byte]);
        if let Ok(body) = String::from_utf8(body) {
            agrees(&body);
        }
    }
}
