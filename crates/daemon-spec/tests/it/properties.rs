//! Properties of parsing, over generated input.

use daemon_spec::limits::MAX_FILE_BYTES;
use daemon_spec::{
    Completeness, DocumentNode, Field, ListEntry, NodeValue, Parse, Span, YamlDocument,
    apply_fixes, parse, quoted,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::kit::{file, parsed};

/// Generates text that resembles front matter often enough to reach every branch.
fn yaml_like() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("---\n"),
        Just("id: "),
        Just("purpose: "),
        Just("watch:\n"),
        Just("routines: "),
        Just("schedule: "),
        Just("- "),
        Just("  - "),
        Just("\n"),
        Just("\r\n"),
        Just("\r"),
        Just(": "),
        Just(" #a"),
        Just("# b\n"),
        Just("*a "),
        Just("&a "),
        Just("<<: "),
        Just("!t "),
        Just("["),
        Just("]"),
        Just("{"),
        Just("}"),
        Just(","),
        Just("\""),
        Just("'"),
        Just("|\n"),
        Just(">-\n  "),
        Just("\\"),
        Just("é"),
        Just("🙂"),
        Just("word "),
        Just("\t"),
        Just("..."),
        Just("? "),
        Just("`"),
        Just("@x"),
        Just("1"),
        Just("no"),
        Just("\u{FEFF}"),
        Just("\0"),
    ];
    vec(part, 0..60).prop_map(|parts| parts.concat())
}

/// Appends the spans of a value and of all values inside it.
fn walk(node: DocumentNode<'_>, acc: &mut Vec<Span>) {
    acc.push(node.span());
    match node.value() {
        NodeValue::Scalar { .. } => {}
        NodeValue::List(entries) => entries.into_iter().for_each(|entry| walk(entry, acc)),
        NodeValue::Mapping(pairs) => {
            for (key, value) in pairs {
                walk(key, acc);
                walk(value, acc);
            }
        }
    }
}

proptest! {
    #[test]
    fn every_span_of_a_document_is_on_character_boundaries(text in prop_oneof![yaml_like(), any::<String>()]) {
        let mut spans = Vec::new();
        match YamlDocument::read(&text) {
            Ok(document) => {
                if let Some(root) = document.root() {
                    walk(root, &mut spans);
                }
            }
            Err(error) => spans.push(error.span),
        }
        for span in spans {
            prop_assert!(text.get(span.range()).is_some(), "{span:?} of {text:?}");
        }
    }
}

fn inner_spans(parsed: &Parse) -> Vec<Span> {
    let file = &parsed.file;
    let mut acc = vec![file.body()];
    acc.extend(file.front_matter());
    acc.extend(
        file.members()
            .iter()
            .flat_map(|member| [member.key, member.value]),
    );
    for list in [file.watch(), file.routines(), file.deny()]
        .into_iter()
        .filter_map(Field::value)
    {
        acc.push(list.span);
        acc.extend(
            list.entries
                .iter()
                .flat_map(|entry| [entry.span(), entry.token()]),
        );
    }
    for found in &parsed.diagnostics {
        acc.push(found.span);
        acc.extend(
            found
                .fix
                .iter()
                .flat_map(|fix| &fix.edits)
                .map(|edit| edit.span),
        );
    }
    acc
}

/// Checks the properties of every input.
fn check_any(input: &[u8]) -> Result<(), TestCaseError> {
    let parsed = parse(input.to_vec());
    prop_assert_eq!(parsed.file.source().as_bytes(), input);
    prop_assert_eq!(
        &parse(input.to_vec()),
        &parsed,
        "the same bytes give the same result"
    );
    for span in inner_spans(&parsed) {
        prop_assert!(
            span.start <= span.end && span.end <= input.len(),
            "{:?}",
            span
        );
        if let Some(text) = parsed.file.source().text() {
            prop_assert!(
                text.get(span.range()).is_some(),
                "{:?} is on character boundaries",
                span
            );
        }
    }
    let is_readable = parsed.file.completeness() == Completeness::Whole;
    prop_assert!(
        is_readable || !parsed.diagnostics.is_empty(),
        "a part that was not read is reported"
    );
    Ok(())
}

/// Checks that each fix removes its diagnostic and does not change the body.
fn check_fixes(input: &str) -> Result<(), TestCaseError> {
    let parsed = parsed(input);
    for found in parsed
        .diagnostics
        .iter()
        .filter(|found| found.fix.is_some())
    {
        let result = apply_fixes(input.as_bytes(), &found.fix);
        prop_assert_eq!(result.applied, 1);
        let after = parse(result.bytes);
        let count = |parsed: &Parse| {
            parsed
                .diagnostics
                .iter()
                .filter(|other| other.code == found.code)
                .count()
        };
        prop_assert!(
            count(&after) < count(&parsed),
            "{:?} is removed from {:?}",
            found,
            after.file.source().text()
        );
        prop_assert_eq!(after.file.body_text(), parsed.file.body_text());
    }
    Ok(())
}

/// Generates words of an author: printable characters with spaces inside.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{1,40}",
        "\\PC{1,20}",
        "[a-z]{1,8}( [a-z#:*&@`\"'\\[\\]{}|>%!,-]{1,6}){0,4}",
    ]
}

/// Generates any text without NUL, which makes a file unreadable.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,20}", "[\\x01-\\x7F]{0,20}", ".{0,20}"]
        .prop_map(|text| text.replace('\0', ""))
}

proptest! {
    #[test]
    fn parsing_any_bytes_keeps_them(input in vec(any::<u8>(), 0..400)) {
        check_any(&input)?;
    }

    #[test]
    fn parsing_text_that_resembles_front_matter_keeps_it(input in yaml_like()) {
        check_any(input.as_bytes())?;
        check_any(format!("---\n{input}\n---\nbody").as_bytes())?;
    }

    #[test]
    fn every_fix_removes_its_diagnostic(value in words(), entry in words()) {
        let line_break = |text: &str| text.contains(['\n', '\r']);
        prop_assume!(!line_break(&value) && !line_break(&entry));
        check_fixes(&format!("---\nid: x\npurpose: {value}\nwatch:\n  - {entry}\n---\nbody: a: b\n"))?;
    }

    #[test]
    fn every_fix_of_a_folded_value_removes_its_diagnostic(
        value in words(),
        entry in words(),
        more in words(),
        indent in "[ ]{0,5}\t?",
        ending in prop_oneof![Just("\n"), Just("\r\n")],
    ) {
        let input = format!(
            "---\nid: x\npurpose: {value}\n{indent}{more}\nwatch:\n  - {entry}\n{indent}{more}\n  - {more}\n---\nbody: a: b\n"
        );
        check_fixes(&input.replace('\n', ending))?;
    }

    #[test]
    fn a_quoted_string_parses_to_its_text(purpose in text(), entries in vec(text(), 1..4), body in text()) {
        let list: String = entries.iter().map(|entry| format!("  - {}\n", quoted(entry))).collect();
        let input = format!("---\npurpose: {}\nwatch:\n{list}---\n{body}", quoted(&purpose));
        let parsed = parsed(&input);
        prop_assert_eq!(&parsed.diagnostics, &[]);
        prop_assert_eq!(parsed.file.purpose().value().map(|text| text.value.clone()), Some(purpose));
        let read = parsed.file.watch().value().map(|list| list.entries.clone()).unwrap_or_default();
        let read: Vec<_> = read.iter().filter_map(ListEntry::text).map(|text| text.value.clone()).collect();
        prop_assert_eq!(read, entries);
        prop_assert_eq!(parsed.file.body_text(), body);
    }

    #[test]
    fn each_character_of_a_quoted_string_maps_to_its_source(value in "[ -~é🙂]{1,20}", escape in 0usize..20) {
        let written: String = value.char_indices().map(|(at, c)| match c {
            '"' | '\\' => format!("\\{c}"),
            c if at == escape => format!("\\U{:08x}", u32::from(c)),
            c => c.to_string(),
        }).collect();
        let file = file(&format!("schedule: \"{written}\""));
        let text = file.schedule().value().cloned().unwrap();
        prop_assert_eq!(&text.value, &value);
        let mut acc = String::new();
        for (at, c) in value.char_indices() {
            acc += file.source().slice(text.place(file.source(), at..at + c.len_utf8()));
        }
        prop_assert_eq!(acc, written, "the ranges cover the string in order and without gaps");
    }
}

#[test]
fn bytes_are_unchanged_with_any_line_break_mark_emoji_and_size() {
    let heads = [
        "---\r\nid: x\r\n---\r\n",
        "\u{FEFF}---\nid: 🙂\n---\n",
        "---\rid: x\r---\r",
        "---\nid: x\n---\n",
    ];
    for head in heads {
        let fill = "🙂 line\r\n \t\r\u{2028}".repeat(MAX_FILE_BYTES / 19);
        let mut input = format!("{head}{fill}");
        input.extend(std::iter::repeat_n('x', MAX_FILE_BYTES - input.len()));
        let parsed = parsed(&input);
        assert_eq!(parsed.file.completeness(), Completeness::Whole, "{head:?}");
        assert_eq!(parsed.file.body_text(), &input[head.len()..]);
        assert_eq!(parsed.file.into_source().into_bytes(), input.into_bytes());
    }
}
