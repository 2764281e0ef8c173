//! The rows of the catalogue of bad input for frames (F), YAML (Y) and cron (C).
//!
//! Rows about conditions and the support tree are in `conditions` and `support`.

use daemon_spec::{Severity, parse};
use daemon_validate::{Profile, Subject, registrable, validate};

use super::{CLEAN, completed};

/// A row of the catalogue, its bytes, and codes of which one must be reported. Without codes the file
/// must be registrable.
type Row = (&'static str, Vec<u8>, &'static [&'static str]);

fn text(row: &'static str, text: impl Into<String>, codes: &'static [&'static str]) -> Row {
    (row, text.into().into_bytes(), codes)
}

fn part(row: &'static str, part: &str, codes: &'static [&'static str]) -> Row {
    text(row, completed(part), codes)
}

fn fences() -> Vec<Row> {
    vec![
        text("F1 empty", "", &["D003"]),
        text("F2 only a fence", "---", &["D005"]),
        text("F3 unclosed", "---\nid: a\n", &["D005"]),
        text("F4 no front matter", "# A\n", &["D003"]),
        text(
            "F5 fence with blanks",
            CLEAN.replacen("---\n", "--- \t\n", 2),
            &[],
        ),
        text(
            "F5 four dashes",
            CLEAN.replacen("---\n", "----\n", 1),
            &["D003", "D004"],
        ),
        text("F6 fence on line 2", format!("\n{CLEAN}"), &["D004"]),
        text("F7 byte order mark", format!("\u{feff}{CLEAN}"), &["D006"]),
    ]
}

fn encodings_and_sizes() -> Vec<Row> {
    let utf16: Vec<u8> = CLEAN.encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        ("F8 UTF-16", utf16, &["D001"]),
        (
            "F9 Latin-1",
            CLEAN
                .replace("Keeps", "Ké")
                .chars()
                .map(|c| c as u8)
                .collect(),
            &["D001"],
        ),
        (
            "F10 overlong",
            [CLEAN.as_bytes(), b"\xc0\xaf"].concat(),
            &["D001"],
        ),
        text("F11 NUL", CLEAN.replace("small", "sm\0ll"), &["D001"]),
        text("F12 CRLF", CLEAN.replace('\n', "\r\n"), &[]),
        text("F12 CR", CLEAN.replace('\n', "\r"), &[]),
        text("F12 mixed", CLEAN.replacen('\n', "\r\n", 3), &[]),
        text(
            "F13 256 KiB + 1",
            CLEAN.to_owned() + &"x".repeat(256 * 1024 + 1 - CLEAN.len()),
            &["D002"],
        ),
        text(
            "F13 256 KiB",
            CLEAN.to_owned() + &"x".repeat(256 * 1024 - CLEAN.len()),
            &[],
        ),
        text(
            "F15 10 MB line",
            CLEAN.to_owned() + &"x".repeat(10_000_000),
            &["D002"],
        ),
    ]
}

fn other_content() -> Vec<Row> {
    vec![
        text(
            "F16 fence in the body",
            format!("{CLEAN}---\nmore\n---\n"),
            &[],
        ),
        text(
            "F17 second document",
            CLEAN.replacen("deny:", "--- # two\ndeny:", 1),
            &["D010"],
        ),
        text("F18 TOML", "+++\nid = 'a'\n+++\n", &["D003"]),
        text("F18 JSON", "{\"id\": \"a\"}\n", &["D003"]),
        part("F19 tabs", "deny:\n\t- merge pull requests", &["D010"]),
        part("F20 bidi in id", "id: pr-\u{202e}helper", &["D702"]),
        part("F20 zero width in id", "id: pr-\u{200b}helper", &["D111"]),
        text(
            "F25 LFS pointer",
            "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n",
            &["D003"],
        ),
    ]
}

fn yaml_syntax() -> Vec<Row> {
    let bomb = (0..9).fold("a0: &a0 [x, x, x, x, x, x, x, x]".to_owned(), |acc, n| {
        let refs = vec![format!("*a{n}"); 8].join(", ");
        format!("{acc}\na{}: &a{} [{refs}]", n + 1, n + 1)
    });
    let entries = "  - x\n".repeat(9_000);
    let anchors: String = (0..6_000).map(|n| format!("&a{n} x, ")).collect();
    let deep = (0..50)
        .map(|n| format!("{}k{n}:\n", " ".repeat(n)))
        .collect::<String>()
        + &" ".repeat(50)
        + "x: y";
    vec![
        part("Y1 alias bomb", &bomb, &["D002"]),
        part("Y2 self-alias", "deny: &a [*a]", &["D002", "D012"]),
        part(
            "Y3 merge chain",
            "a: &a {x: y}\nb: &b\n  <<: *a\nc:\n  <<: *b",
            &["D016"],
        ),
        part(
            "Y4 100,000 brackets",
            &format!("deny: {}", "[".repeat(60_000)),
            &["D002"],
        ),
        part("Y5 many entries", &format!("deny:\n{entries}"), &["D002"]),
        part(
            "Y6 10,000 anchors",
            &format!("deny: [{anchors}y]"),
            &["D002"],
        ),
        part("Y7 duplicate key", "deny: [a b]\ndeny: [c d]", &["D014"]),
        part("Y7 case twin", "deny: [a b]\nDeny: [c d]", &["D100"]),
        part(
            "Y8 python tag",
            "deny: !!python/object:os.system [x]",
            &["D016"],
        ),
        part("Y8 include", "deny: !include rules.yml", &["D016"]),
        part("Y8 binary", "purpose: !!binary aGk=", &["D016"]),
        part("Y18 unknown keys 50 deep", &deep, &["D002", "D100"]),
        part("Y19 complex key", "? [a, b]\n: c", &["D015", "D010"]),
        part("Y20 bad escape", "purpose: \"a\\qb\"", &["D010"]),
        part("Y20 unclosed quote", "purpose: \"a", &["D010"]),
        text(
            "Y24 %YAML",
            CLEAN.replacen("---\n", "---\n%YAML 1.2\n", 1),
            &["D010", "D012"],
        ),
        text(
            "Y24 %TAG",
            CLEAN.replacen("---\n", "---\n%TAG ! tag:x\n", 1),
            &["D010", "D012"],
        ),
        part("Y25 merge of a list", "<<: [a, b]", &["D010"]),
        part("Y27 unquoted star", "schedule: */5 * * * *", &["D012"]),
    ]
}

fn lists() -> Vec<Row> {
    vec![
        part("Y9 watch as text", "watch: when x", &["D130"]),
        part("Y9 watch as mapping", "watch: {a: b}", &["D130"]),
        part("Y9 watch as null", "watch: null", &["D130"]),
        part("Y9 watch empty", "watch: []", &["D134"]),
        part("Y10 entry null", "deny: [~, a b]", &["D132"]),
        part("Y10 entry number", "deny: [1, a b]", &["D131"]),
        part("Y10 entry mapping", "deny: [{a: b}]", &["D131"]),
        part("Y10 entry blank", "deny: ['  ', a b]", &["D132"]),
        part("Y11 no routine", "routines: []", &["D400"]),
    ]
}

fn values() -> Vec<Row> {
    let mut rows = Vec::new();
    for id in ["123", "null", "yes", "1e3", "2026-01-31", "''"] {
        rows.push(part(
            "Y12 id of another type",
            &format!("id: {id}"),
            &["D110"],
        ));
    }
    for id in [
        "../x",
        "a/b",
        "'..'",
        "-rf",
        "con",
        "\"a\\nb\"",
        "cafe\u{301}",
    ] {
        rows.push(part(
            "Y13 id that is not a name",
            &format!("id: {id}"),
            &["D111"],
        ));
    }
    rows.extend([
        part(
            "Y13 long id",
            &format!("id: {}", "a".repeat(1_000)),
            &["D112"],
        ),
        part("Y14 id and directory", "id: other", &["D111"]),
        part("Y15 purpose list", "purpose: [a]", &["D120"]),
        part(
            "Y15 purpose 100 kB",
            &format!("purpose: {}", "a".repeat(100_000)),
            &["D002"],
        ),
        part("Y16 deny as text", "deny: merge pull requests", &["D130"]),
        text(
            "Y17 neither trigger",
            CLEAN.replace("watch:\n  - when a pull request is opened\n", ""),
            &["D134"],
        ),
        part("Y21 when: x", "watch:\n  - when: x", &["D131"]),
        part("Y22 no", "deny: [no]", &["D131"]),
        part(
            "Y23 long folded text",
            &format!("purpose: >\n{}", "  words\n".repeat(7_000)),
            &["D002"],
        ),
        part("Y26 .inf", "deny: [.inf]", &["D131"]),
        part("Y26 1_000", "id: 1_000", &["D110"]),
    ]);
    rows
}

fn cron() -> Vec<Row> {
    let rows: &[(&'static str, &str, &'static [&'static str])] = &[
        ("C1 blank", "  ", &["D201"]),
        ("C2 four", "0 9 * *", &["D201"]),
        ("C2 six", "0 0 9 * * *", &["D201"]),
        ("C2 seven", "0 0 9 * * * 2026", &["D201"]),
        ("C3 minute", "60 * * * *", &["D203"]),
        ("C3 hour", "0 24 * * *", &["D203"]),
        ("C3 day", "0 0 32 * *", &["D203"]),
        ("C3 month", "0 0 * 13 *", &["D203"]),
        ("C3 weekday", "0 0 * * 8", &["D203"]),
        ("C4 step zero", "*/0 * * * *", &["D205"]),
        ("C4 negative step", "*/-1 * * * *", &["D204"]),
        ("C4 20 digits", "*/12345678901234567890 * * * *", &["D204"]),
        ("C5 descends", "5-1 * * * *", &["D206"]),
        ("C5 open range", "1- * * * *", &["D204"]),
        ("C5 two dashes", "1--2 * * * *", &["D204"]),
        ("C5 two commas", "1,,2 * * * *", &["D204"]),
        ("C6 macro", "@daily", &["D202"]),
        ("C6 every", "@every 5m", &["D202"]),
        ("C7 ?", "0 0 ? * 1", &["D204"]),
        ("C7 L", "0 0 L * *", &["D204"]),
        ("C7 W", "0 0 15W * *", &["D204"]),
        ("C7 #", "0 0 * * 1#2", &["D204"]),
        ("C7 H", "H 0 * * *", &["D204"]),
        ("C8 never", "0 0 31 2 *", &["D210"]),
        ("C9 names", "0 0 * JAN MON", &["D207"]),
        ("C9 febr", "0 0 * febr *", &["D204"]),
        ("C10 NBSP", "0\u{a0}9 * * *", &["D204"]),
        ("C10 full-width", "0 ９ * * *", &["D204"]),
        ("C10 zone", "CRON_TZ=UTC 0 9 * * *", &["D208"]),
        ("C10 percent", "0 9 * * %", &["D204"]),
        ("C12 every minute", "* * * * *", &["D211"]),
        ("C13 both days", "0 0 1 * 1", &["D212"]),
        ("tabs are blanks", "0\\t9 * * *", &[]),
    ];
    let mut acc: Vec<Row> = rows
        .iter()
        .map(|(row, expression, codes)| part(row, &format!("schedule: \"{expression}\""), codes))
        .collect();
    let list = vec!["1"; 2_500].join(",");
    acc.push(part(
        "C11 a long list",
        &format!("schedule: \"{list} 9 * * *\""),
        &["D204"],
    ));
    acc
}

#[test]
fn each_row_of_bad_input_has_one_of_its_codes() {
    let mut wrong = Vec::new();
    for (row, bytes, codes) in [
        fences(),
        encodings_and_sizes(),
        other_content(),
        yaml_syntax(),
        lists(),
        values(),
        cron(),
    ]
    .concat()
    {
        let parse = parse(bytes);
        let found = validate(
            &Subject::new(&parse).in_directory("pr-helper"),
            Profile::Spec,
        );
        let named: Vec<String> = found.iter().map(|one| one.code.to_string()).collect();
        if codes.is_empty() {
            let is_calm = found.iter().all(|one| one.severity == Severity::Advice);
            if !is_calm || !registrable(&found) {
                wrong.push(format!("{row}: {found:#?}"));
            }
        } else {
            let is_found = named.iter().any(|code| codes.contains(&code.as_str()));
            if !is_found {
                wrong.push(format!("{row}: {named:?}, not {codes:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn missing_fields_are_not_reported_for_a_file_that_was_partly_read() {
    let no_mapping = text("a list", "---\n- id\n---\nText.\n", &["D015"]);
    let frames = [fences(), encodings_and_sizes(), other_content()].concat();
    for (row, bytes, _) in frames.into_iter().chain([no_mapping]) {
        let parse = parse(bytes);
        let found = validate(&Subject::new(&parse), Profile::Spec);
        let codes: Vec<u16> = found.iter().map(|one| one.code.number()).collect();
        if codes.iter().any(|code| matches!(code, 1..=5 | 15)) {
            assert!(
                codes.iter().all(|code| *code < 100 || *code >= 600),
                "{row}: {found:#?}"
            );
        }
    }
}
