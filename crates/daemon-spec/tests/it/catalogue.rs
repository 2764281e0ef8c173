//! The diagnostics of bad input, with one row for each input.
//!
//! The rows are those of the reliability catalogue for frames (F) and YAML (Y) that the parser covers.
//! A row without diagnostics is covered by the rules of `daemon-validate`.

use daemon_spec::{Field, ListEntry, Shape, parse};

/// Lists `code line:column` for each finding about `input`.
fn findings(input: &[u8]) -> Vec<String> {
    let parsed = parse(input.to_vec());
    let source = parsed.file.source();
    assert_eq!(
        source.as_bytes(),
        input,
        "the bytes come back as they went in"
    );
    let place = |at| {
        let place = source.position(at);
        format!("{}:{}", place.line, place.column)
    };
    parsed
        .diagnostics
        .iter()
        .map(|found| format!("{} {}", found.code, place(found.span.start)))
        .collect()
}

/// Checks a table of (row, input, findings).
fn check_rows(rows: &[(&str, &[u8], &[&str])]) {
    for (row, input, expected) in rows {
        assert_eq!(
            findings(input),
            *expected,
            "row {row}: {:?}",
            String::from_utf8_lossy(input)
        );
    }
}

/// Puts `yaml` between fences.
fn fenced(yaml: &str) -> Vec<u8> {
    format!("---\n{yaml}\n---\nbody\n").into_bytes()
}

/// Checks a table of (row, front matter, findings).
fn check_yaml(rows: &[(&str, &str, &[&str])]) {
    for (row, yaml, expected) in rows {
        assert_eq!(findings(&fenced(yaml)), *expected, "row {row}: {yaml}");
    }
}

#[test]
fn every_broken_field_of_a_file_is_reported_in_one_pass() {
    let yaml = "id: x\npurpose: Fix: now\nwatch:\n  - when a\n  - *.md changes\n  - posted to #alerts\n\
                schedule: */5 * * * *\ndeny: [a, b";
    assert_eq!(
        findings(&fenced(yaml)),
        [
            "D011 3:10",
            "D012 6:5",
            "D013 7:15",
            "D012 8:11",
            "D010 9:7"
        ]
    );
}

#[test]
fn a_file_with_wrong_fences_is_rejected_at_a_position() {
    check_rows(&[
        ("F1 empty", b"", &["D003 1:1"]),
        ("F1 blank", b"\n \n", &["D003 1:1"]),
        ("F2 only a fence", b"---", &["D005 1:1"]),
        ("F2 only a fence line", b"---\n", &["D005 1:1"]),
        ("F3 unclosed", b"---\nid: x\n\n# Body\n", &["D005 1:1"]),
        (
            "F3 dots do not close",
            b"---\nid: x\n...\nbody\n",
            &["D005 1:1"],
        ),
        ("F4 no front matter", b"# A title\n\ntext\n", &["D003 1:1"]),
        (
            "F4 a horizontal rule in the body",
            b"# A title\n\n---\n\ntext\n---\n",
            &["D003 1:1"],
        ),
        (
            "F5 blanks after a fence",
            b"--- \t\nid: x\n---\t \nbody\n",
            &[],
        ),
        ("F5 four dashes", b"----\nid: x\n----\n", &["D003 1:1"]),
        (
            "F5 four dashes do not close",
            b"---\nid: x\n----\n",
            &["D005 1:1"],
        ),
        ("F5 an indented fence", b" ---\nid: x\n---\n", &["D003 1:1"]),
        ("F6 fence on line 2", b"\n---\nid: x\n---\n", &["D004 1:1"]),
        (
            "F6 text before the fence",
            b"# Title\n---\nid: x\n---\n",
            &["D004 1:1"],
        ),
    ]);
}

#[test]
fn encodings_and_line_ends_are_accepted_or_rejected_at_a_position() {
    let utf16: Vec<u8> = "\u{FEFF}---\nid: x\n---\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    check_rows(&[
        (
            "F7 byte order mark",
            b"\xEF\xBB\xBF---\nid: x\n---\n",
            &["D006 1:1"],
        ),
        (
            "F7 mark and blank line",
            b"\xEF\xBB\xBF\n---\nid: x\n---\n",
            &["D006 1:1", "D004 1:2"],
        ),
        ("F8 UTF-16", &utf16, &["D001 1:1"]),
        ("F9 Latin-1", b"---\nid: caf\xE9\n---\n", &["D001 2:8"]),
        ("F10 overlong", b"---\nid: \xC0\xAF\n---\n", &["D001 2:5"]),
        ("F11 NUL", b"---\nid: a\0b\n---\n", &["D001 2:6"]),
        (
            "F11 NUL in the body",
            b"---\nid: a: b\n---\na\0b\n",
            &["D011 2:5", "D001 4:2"],
        ),
        ("F12 CR", b"---\rid: x\r---\rbody\r", &[]),
        (
            "F12 CRLF",
            b"---\r\nid: x: y\r\n---\r\nbody\r\n",
            &["D011 2:5"],
        ),
        (
            "F12 mixed",
            b"---\rid: x\nwatch:\r\n- a: b: c\r---\nbody",
            &["D011 4:3"],
        ),
    ]);
}

#[test]
fn fences_in_the_body_are_ignored_and_other_formats_are_rejected() {
    check_rows(&[
        (
            "F16 dashes in the body",
            b"---\nid: x\n---\na\n---\nid: y: z\n---\n",
            &[],
        ),
        (
            "F17 second document",
            b"---\nid: x\n---\n---\nid: y\n---\n",
            &[],
        ),
        ("F18 TOML", b"+++\nid = \"x\"\n+++\n", &["D003 1:1"]),
        ("F18 JSON", b"{\"id\": \"x\"}\n", &["D003 1:1"]),
        (
            "F18 JSON between fences",
            b"---\n{\"id\": \"x\"}\n---\n",
            &[],
        ),
        ("F19 tabs", b"---\nwatch:\n\t- a\n---\n", &["D010 3:2"]),
        (
            "F20 bidi in id",
            "---\nid: a\u{202E}b\n---\n".as_bytes(),
            &[],
        ),
        (
            "F25 LFS pointer",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
            &["D003 1:1"],
        ),
    ]);
}

#[test]
fn files_above_the_limits_are_rejected_and_not_truncated() {
    let of_size = |bytes: usize| {
        let head = b"---\nid: x\n---\n".to_vec();
        let fill = vec![b'a'; bytes - head.len()];
        [head, fill].concat()
    };
    let line = vec![b'a'; 10_000_000];
    let front_matter = fenced(&format!("id: x # {}", "a".repeat(65_536)));
    check_rows(&[
        ("F13 256 KiB", &of_size(262_144), &[]),
        ("F13 256 KiB + 1", &of_size(262_145), &["D002 1:1"]),
        ("F15 a 10 MB line", &line, &["D002 1:1"]),
        ("front matter over 64 KiB", &front_matter, &["D002 1:1"]),
    ]);
}

#[test]
fn yaml_above_the_limits_is_rejected_at_the_first_node_above() {
    let bomb = (1..10).fold("a0: &a0 [x,x,x,x,x,x,x,x,x,x]".to_owned(), |acc, n| {
        format!(
            "{acc}\na{n}: &a{n} [{}]",
            vec![format!("*a{}", n - 1); 10].join(",")
        )
    });
    let only_size = |input: &str| {
        let found = findings(&fenced(input));
        found
            .into_iter()
            .filter(|found| found.starts_with("D002"))
            .collect::<Vec<_>>()
    };
    assert_eq!(only_size(&bomb), ["D002 5:22"], "Y1 alias bomb");
    assert_eq!(only_size("a: &a [*a]"), ["D002 2:8"], "Y2 self-alias");
    let merges = (1..20).fold("m0: &m0 {a: b}".to_owned(), |acc, n| {
        format!("{acc}\nm{n}: &m{n} {{<<: [*m{}, *m{}]}}", n - 1, n - 1)
    });
    assert_eq!(only_size(&merges), ["D002 11:20"], "Y3 merge chain");
    assert_eq!(
        only_size(&format!("a: {}", "[".repeat(60_000))),
        ["D002 2:20"],
        "Y4 brackets"
    );
    assert_eq!(
        only_size(&format!("watch:\n{}", "- a\n".repeat(257))),
        ["D002 3:1"],
        "Y5 entries"
    );
    assert_eq!(
        only_size(&"- a\n".repeat(16_000)),
        ["D002 2:1", "D002 5001:3"],
        "Y5 more entries"
    );
    assert_eq!(
        only_size(&"- &a a\n".repeat(9_000)),
        ["D002 2:1", "D002 5001:6"],
        "Y6 anchors"
    );
    let deep = (0..50).fold("x:".to_owned(), |acc, n| {
        format!("{acc}\n{}x:", " ".repeat(n + 1))
    });
    assert_eq!(only_size(&deep), ["D002 18:17"], "Y18 unknown keys 50 deep");
    assert_eq!(
        only_size(&format!("purpose: {}", "a".repeat(8_193))),
        ["D002 2:10"],
        "Y15 long text"
    );
    assert_eq!(
        only_size(&format!("purpose: >\n{}", "  word word\n".repeat(1_000))),
        ["D002 3:3"],
        "Y23"
    );
}

#[test]
fn duplicate_keys_tags_and_merges_are_reported() {
    check_yaml(&[
        (
            "Y7 duplicate key",
            "id: a\nwatch: [a]\nwatch: [b]",
            &["D014 4:1"],
        ),
        ("Y7 case twin", "id: a\nID: b", &[]),
        (
            "Y8 tags",
            "a: !!python/object x\nb: !include y\nc: !!binary eA==",
            &["D016 2:4", "D016 3:4", "D016 4:4"],
        ),
        ("Y19 complex key", "id: a\n? [b]\n: c", &["D015 3:3"]),
        ("Y20 bad escape", "purpose: \"a \\q b\"", &["D010 2:10"]),
        ("Y20 unclosed quote", "purpose: \"a\nid: b", &["D010 2:10"]),
        (
            "Y20 text after the quote",
            "purpose: \"a\" b",
            &["D012 2:10"],
        ),
        ("Y21 mapping entry", "watch:\n- when: x", &[]),
        ("Y22 no", "id: no", &[]),
        ("Y24 directive", "%YAML 1.2\nid: x", &["D010 2:1"]),
        (
            "Y24 tag directive",
            "%TAG ! tag:x,2000:\nid: x",
            &["D010 2:1"],
        ),
        (
            "Y25 merge of a list",
            "id: x\n<<: [a]",
            &["D016 3:1", "D010 3:5"],
        ),
        (
            "Y25 merge of text",
            "id: x\n<<: a",
            &["D016 3:1", "D010 3:5"],
        ),
    ]);
}

#[test]
fn values_that_need_quotes_are_reported_with_their_cause() {
    check_yaml(&[
        (
            "Y27 unquoted schedule",
            "schedule: */5 * * * *",
            &["D012 2:11"],
        ),
        (
            "unquoted indicators",
            "watch:\n- `a` b\n- @team asks\n- '/x' is said\n- [WIP] goes\n- %x\n- > 5 errors",
            &[
                "D012 3:3", "D012 4:3", "D012 5:3", "D012 6:3", "D012 7:3", "D012 8:3",
            ],
        ),
        ("an unknown alias", "purpose: *urgent", &["D012 2:10"]),
        (
            "lost to a comment",
            "purpose: ask #ops\nwatch:\n- #alerts is used\n- a # comment\n- b  #todo",
            &["D013 2:14", "D013 4:3"],
        ),
        (
            "colon at the end",
            "purpose: a: b\ndeny:\n- c: d:",
            &["D011 2:10", "D011 4:3"],
        ),
    ]);
}

#[test]
fn front_matter_that_is_not_a_mapping_and_broken_lines_are_reported() {
    check_yaml(&[
        ("text is not a mapping", "just text", &["D015 2:1"]),
        ("a list is not a mapping", "- id: x", &["D015 2:1"]),
        ("an empty block is not a mapping", "", &["D015 1:1"]),
        ("comments are not a mapping", "# nothing", &["D015 1:1"]),
        ("second document inside", "id: x\n...\nid: y", &["D010 4:1"]),
        (
            "tabs in a list, after another error",
            "id: a: b\nwatch:\n\t- a\nroutines: [c]",
            &["D011 2:5", "D010 4:2"],
        ),
        (
            "a broken line before the first entry",
            "watch:\n\t'a\n- b",
            &["D010 3:2"],
        ),
        ("stray line", "id: x\nstray\nwatch: [a]", &["D010 3:1"]),
    ]);
}

/// Returns the type of the field `id`.
fn id_shape(yaml: &str) -> Shape {
    match parse(fenced(yaml)).file.id() {
        Field::Present { .. } => Shape::Text,
        Field::Mistyped { value, .. } => value.shape,
        Field::Absent => panic!("no `id` in {yaml}"),
    }
}

#[test]
fn a_mistyped_value_has_its_actual_type() {
    let rows = [
        ("123", Shape::Number),
        ("1e3", Shape::Number),
        (".inf", Shape::Number),
        ("1_000", Shape::Number),
        ("0x1F", Shape::Number),
        ("-.5", Shape::Number),
        ("+12", Shape::Number),
        (".nan", Shape::Number),
        ("null", Shape::Null),
        ("~", Shape::Null),
        ("", Shape::Null),
        ("# c", Shape::Null),
        ("yes", Shape::Boolean),
        ("No", Shape::Boolean),
        ("TRUE", Shape::Boolean),
        ("off", Shape::Boolean),
        ("2026-11-20", Shape::Date),
        ("2026-11-20T09:00:00Z", Shape::Date),
        ("[a]", Shape::List),
        ("{a: b}", Shape::Mapping),
        ("!x a", Shape::Tagged),
        ("!!int a", Shape::Number),
        ("!!str 123", Shape::Text),
        ("'123'", Shape::Text),
        ("\"\"", Shape::Text),
        ("1.2.3", Shape::Text),
        ("nope", Shape::Text),
        ("12-ab", Shape::Text),
        ("e3", Shape::Text),
        ("_1", Shape::Text),
        ("2026-11-20-fix", Shape::Text),
        ("../x", Shape::Text),
        ("-rf", Shape::Text),
        ("tRUE", Shape::Text),
    ];
    for (value, shape) in rows {
        assert_eq!(
            id_shape(&format!("id: {value}")),
            shape,
            "Y12, Y13, Y26: {value}"
        );
    }
}

#[test]
fn mistyped_lists_and_mistyped_entries_are_distinguished() {
    let shape = |yaml: &str| match parse(fenced(yaml)).file.watch() {
        Field::Present { value, .. } => value
            .entries
            .iter()
            .map(ListEntry::shape)
            .collect::<Vec<_>>(),
        Field::Mistyped { value, .. } => vec![Shape::Unreadable, value.shape],
        Field::Absent => Vec::new(),
    };
    let rows: [(&str, &[Shape]); 8] = [
        ("watch: when a", &[Shape::Unreadable, Shape::Text]),
        ("watch: {a: b}", &[Shape::Unreadable, Shape::Mapping]),
        ("watch: null", &[Shape::Unreadable, Shape::Null]),
        ("watch:", &[Shape::Unreadable, Shape::Null]),
        ("watch: []", &[]),
        (
            "watch: [null, 1, {a: b}, '', a]",
            &[
                Shape::Null,
                Shape::Number,
                Shape::Mapping,
                Shape::Text,
                Shape::Text,
            ],
        ),
        (
            "watch:\n- \n- when: x\n- [a]\n- no\n-",
            &[
                Shape::Null,
                Shape::Mapping,
                Shape::List,
                Shape::Boolean,
                Shape::Null,
            ],
        ),
        ("<<: {watch: [a, 1]}", &[Shape::Text, Shape::Number]),
    ];
    for (yaml, expected) in rows {
        assert_eq!(shape(yaml), expected, "Y9, Y10, Y11: {yaml}");
    }
}

#[test]
fn hostile_input_of_the_maximum_size_is_parsed() {
    let parts = [
        "[",
        "{",
        "- ",
        "? ",
        "a: ",
        "&a ",
        "*a ",
        "!x ",
        "\"",
        "a:\n",
        "- a: b: c\n",
        "x: *y z\n",
        "- `\n",
        "- #a\n",
        "\r",
        "|\n",
        "- [\n",
        "\t",
        "---x\n",
        "...\n",
        "é: ü: ß\n",
        "<<: *a\n",
    ];
    for part in parts {
        for head in ["", "id: x\nwatch:\n", "a: [\n"] {
            let yaml = format!("{head}{}", part.repeat(60_000 / part.len()));
            let closed = parse(fenced(&yaml));
            let unclosed =
                parse(format!("---\n{}", part.repeat(200_000 / part.len())).into_bytes());
            assert_eq!(closed.file.body_text(), "body\n", "{head:?} and {part:?}");
            assert!(
                unclosed
                    .diagnostics
                    .iter()
                    .any(|found| found.code.number() == 5),
                "{part:?}"
            );
        }
    }
}
