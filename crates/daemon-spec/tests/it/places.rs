//! Spans, positions inside strings, and removals.

use daemon_spec::{DaemonFile, Field, Layout, ListEntry, Span, Style, Text, quoted};
use expect_test::{Expect, expect};

use crate::kit::{file, parsed};

/// Prints each field, member and entry as the text that its span covers.
fn check(yaml: &str, expected: Expect) {
    let file = file(yaml);
    let show = |span: Span| format!("{:?}", file.source().slice(span));
    let members = file.members().iter().map(|member| {
        format!(
            "{} {} = {} {:?}\n",
            member.name,
            show(member.key),
            show(member.value),
            member.shape
        )
    });
    let lists = [file.watch(), file.routines(), file.deny()]
        .into_iter()
        .filter_map(Field::value);
    let lists = lists.map(|list| {
        let entries = list.entries.iter().map(|entry| {
            format!(
                "  {:?} {} in {}\n",
                entry.shape(),
                show(entry.span()),
                show(entry.token())
            )
        });
        format!(
            "list {:?} {}\n{}",
            list.layout,
            show(list.span),
            entries.collect::<String>()
        )
    });
    let acc: String = members.chain(lists).collect();
    expected.assert_eq(&acc);
}

#[test]
fn every_key_value_and_entry_has_a_span() {
    check(
        "id: \"pr-helper\"  # name\npurpose: >-\n  One\n  line.\n\nwatch:\n  - when a PR opens\n  - 'it''s merged'\n  -\n\
         routines: [fix, \"two: three\"]\nextra: {a: [1]}\nlast:",
        expect![[r#"
            id "id" = "\"pr-helper\"" Text
            purpose "purpose" = ">-\n  One\n  line." Text
            watch "watch" = "- when a PR opens\n  - 'it''s merged'\n  -" List
            routines "routines" = "[fix, \"two: three\"]" List
            extra "extra" = "{a: [1]}" Mapping
            last "last" = "" Null
            list Block "- when a PR opens\n  - 'it''s merged'\n  -"
              Text "when a PR opens" in "when a PR opens"
              Text "it''s merged" in "'it''s merged'"
              Null "" in ""
            list Flow "[fix, \"two: three\"]"
              Text "fix" in "fix"
              Text "two: three" in "\"two: three\""
        "#]],
    );
}

#[test]
fn a_referenced_value_has_the_span_of_the_reference() {
    check(
        "base: &b\n- when é\nwatch: *b\n<<: {deny: [x]}",
        expect![[r#"
            base "base" = "- when é" List
            watch "watch" = "*b" List
            list Referenced "*b"
              Text "*b" in "*b"
            list Referenced "{deny: [x]}"
              Text "{deny: [x]}" in "{deny: [x]}"
        "#]],
    );
}

fn schedule(yaml: &str) -> (DaemonFile, Text) {
    let file = file(yaml);
    let text = file.schedule().value().cloned().expect("a schedule");
    (file, text)
}

#[test]
fn a_range_of_a_string_maps_to_the_file() {
    let rows = [
        // (front matter, word of the value, text of the file at its position)
        ("schedule: 0 75 * * *", "75", "75"),
        ("schedule: \"0 75 * * *\"", "75", "75"),
        ("schedule: '0 75 * * *'", "75", "75"),
        ("schedule: 'it''s 75'", "75", "75"),
        ("schedule: 'it''s 75'", "'", "''"),
        (r#"schedule: "a\t\u00e9\x41 75""#, "75", "75"),
        (r#"schedule: "a\t\u00e9\x41 75""#, "é", r"\u00e9"),
        (r#"schedule: "a\"b 75\\""#, "75\\", r"75\\"),
        ("schedule: é 75", "75", "75"),
        // Folded over lines: offsets of the value and the file differ.
        ("schedule: \"a\n  75\"", "75", "a\n  75"),
        ("schedule: a\n  75", "75", "a\n  75"),
        ("schedule: |\n  a 75", "75", "a 75"),
    ];
    for (yaml, word, expected) in rows {
        let (file, text) = schedule(yaml);
        let at = text.value.find(word).unwrap();
        let place = text.place(file.source(), at..at + word.len());
        assert_eq!(file.source().slice(place), expected, "{word:?} in {yaml:?}");
    }
}

#[test]
fn a_range_outside_a_string_maps_to_the_whole_string() {
    let (file, text) = schedule("schedule: '0 9 * * *'");
    assert_eq!(text.place(file.source(), 4..99), text.span);
    assert_eq!(text.place(file.source(), 9..9), Span::at(text.span.end));
    assert_eq!(text.style, Style::SingleQuoted);
}

#[test]
fn lines_and_columns_count_from_one_in_code_points() {
    let file = parsed("---\r\nid: é🙂x\rpurpose: a\n---\n").file;
    let place = |at| {
        let place = file.source().position(at);
        (place.line, place.column, place.byte)
    };
    let id = file.id().value().unwrap().span;
    assert_eq!((place(id.start), place(id.end)), ((2, 5, 9), (2, 8, 16)));
    assert_eq!(place(file.purpose().key().unwrap().start), (3, 1, 17));
    assert_eq!(place(9_999), (5, 1, 32));
}

/// Returns the file without the entry `index` of `watch`.
fn without_entry(yaml: &str, index: usize) -> String {
    let file = file(yaml);
    let list = file.watch().value().expect("a list");
    let removal = file.entry_removal(list, index).expect("an entry");
    cut(&file, removal)
}

fn cut(file: &DaemonFile, removal: Span) -> String {
    let text = file.source().text().expect("text");
    format!("{}{}", &text[..removal.start], &text[removal.end..])
}

#[test]
fn removing_an_entry_keeps_the_other_entries() {
    let rows = [
        (
            "watch:\n  - a\n  - ''  # removed\n  - b",
            1,
            "watch:\n  - a\n  - b",
        ),
        ("watch:\n- a\n-\nid: x", 1, "watch:\n- a\nid: x"),
        ("watch:\n- |\n  a\n  b\n- c", 0, "watch:\n- c"),
        ("watch: [a, '', b]", 1, "watch: [a, b]"),
        ("watch: [ '', a ]", 0, "watch: [ a ]"),
        ("watch: [a, b]", 1, "watch: [a]"),
        ("watch: ['']", 0, "watch: []"),
    ];
    for (yaml, index, expected) in rows {
        assert_eq!(
            without_entry(yaml, index),
            format!("---\n{expected}\n---\nbody\n"),
            "{yaml}"
        );
    }
    let referenced = file("a: &a [b]\nwatch: *a");
    let list = referenced.watch().value().unwrap();
    assert_eq!(
        (list.layout, referenced.entry_removal(list, 0)),
        (Layout::Referenced, None)
    );
}

#[test]
fn removing_a_member_removes_all_its_lines() {
    let rows = [
        ("id: x\ndeny: []\nwatch: [a]", "deny", "id: x\nwatch: [a]"),
        ("deny:\n  - a\n  - b\nid: x", "deny", "id: x"),
        ("id: x\ndeny:\n- a", "deny", "id: x"),
        (
            "id: x\ndeny: |\n  a\n\n  b\nwatch: [a]",
            "deny",
            "id: x\nwatch: [a]",
        ),
        ("id: x\ndeny:\nwatch: [a]", "deny", "id: x\nwatch: [a]"),
    ];
    for (yaml, name, expected) in rows {
        let file = file(yaml);
        let member = file
            .members()
            .iter()
            .find(|member| member.name == name)
            .unwrap();
        let removal = file.member_removal(member.key).unwrap();
        assert_eq!(
            cut(&file, removal),
            format!("---\n{expected}\n---\nbody\n"),
            "{yaml}"
        );
    }
    let flow = file("{id: x, deny: []}");
    assert_eq!(flow.member_removal(flow.deny().key().unwrap()), None);
}

#[test]
fn only_entries_that_are_strings_have_text() {
    let file = file("watch: [a, 1]");
    let entries = &file.watch().value().unwrap().entries;
    let texts: Vec<_> = entries
        .iter()
        .map(ListEntry::text)
        .map(|text| text.map(|text| text.value.as_str()))
        .collect();
    assert_eq!(texts, [Some("a"), None]);
}

#[test]
fn quoted_text_parses_to_the_same_text() {
    let rows = [
        ("plain", "\"plain\""),
        ("it's", "\"it's\""),
        ("say \"hi\"", "'say \"hi\"'"),
        ("it's \"hi\"", "'it''s \"hi\"'"),
        ("a\nb\t\"", "\"a\\nb\\t\\\"\""),
        ("\u{fffe}\u{7f}", "\"\\ufffe\\u007f\""),
    ];
    for (text, expected) in rows {
        assert_eq!(quoted(text), expected);
        assert_eq!(schedule(&format!("schedule: {expected}")).1.value, text);
    }
}
