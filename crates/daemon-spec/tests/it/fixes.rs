//! A fix removes its diagnostic and changes nothing else.

use daemon_spec::{Code, Edit, Fix, Severity, Span, apply_fixes, parse};

use crate::kit::parsed;

/// Applies every fix of `input` and returns the result.
fn fixed(input: &str) -> String {
    let parsed = parsed(input);
    let fixes: Vec<_> = parsed
        .diagnostics
        .iter()
        .filter_map(|found| found.fix.as_ref())
        .collect();
    let result = apply_fixes(input.as_bytes(), fixes.iter().copied());
    assert_eq!(
        result.applied,
        fixes.len(),
        "the fixes of a file do not conflict"
    );
    String::from_utf8(result.bytes).expect("edits keep the text UTF-8")
}

#[test]
fn each_fix_removes_its_diagnostic_and_keeps_the_words() {
    let rows = [
        ("\n\t\n---\nid: x\n---\n", "---\nid: x\n---\n"),
        ("\u{FEFF}---\nid: x\n---\n", "---\nid: x\n---\n"),
        ("\u{FEFF}\n---\nid: x\n---\n", "---\nid: x\n---\n"),
        (
            "---\npurpose: Fix: now # soon\n---\nb: c: d\n",
            "---\npurpose: \"Fix: now\" # soon\n---\nb: c: d\n",
        ),
        (
            "---\npurpose: say \"hi\": it's\n  so: y\n---\n",
            "---\npurpose: 'say \"hi\": it''s\n  so: y'\n---\n",
        ),
        (
            "---\nschedule: */5 * * * *\r\n---\n",
            "---\nschedule: \"*/5 * * * *\"\r\n---\n",
        ),
        (
            "---\nwatch:\n- \"/x\" is said\n---\n",
            "---\nwatch:\n- '\"/x\" is said'\n---\n",
        ),
        (
            "---\nwatch:\n- a #ops b\n- #ops\n---\n",
            "---\nwatch:\n- \"a #ops b\"\n- \"#ops\"\n---\n",
        ),
        (
            "---\npurpose: *urgent\n---\n",
            "---\npurpose: \"*urgent\"\n---\n",
        ),
    ];
    for (input, expected) in rows {
        let output = fixed(input);
        assert_eq!(output, expected);
        assert_eq!(
            parsed(&output).diagnostics,
            [],
            "after the fixes of {input:?}"
        );
    }
}

#[test]
fn a_value_before_its_fix_equals_the_value_after_it() {
    let broken = parse(b"---\nwatch:\n- a: b: c\n- `d` e\n- f: g\n    h: i\n---\n".to_vec());
    let after = fixed(broken.file.source().text().unwrap());
    let repaired = parsed(&after);
    let words = |parsed: &daemon_spec::Parse| -> Vec<String> {
        parsed
            .file
            .watch()
            .value()
            .unwrap()
            .texts()
            .map(|text| text.value.clone())
            .collect()
    };
    assert_eq!(words(&broken), ["a: b: c", "`d` e", "f: g h: i"]);
    assert_eq!(words(&broken), words(&repaired));
}

#[test]
fn a_value_whose_lines_are_not_indented_enough_for_quotes_has_no_fix() {
    let rows = [
        "---\nroutines:\n  - lists: broken\n links\n---\n",
        "---\nroutines:\n  - lists: broken\n  links\n---\n",
        "---\nroutines:\r\n    - `x` lists broken\r\n  links\r\n---\n",
        "---\nroutines:\n- lists: broken\nlinks\n---\n",
        "---\npurpose: lists: broken\nlinks\n---\n",
    ];
    for input in rows {
        let found = parsed(input).diagnostics;
        let shown: Vec<_> = found
            .iter()
            .map(|one| (one.code.number(), one.fix.is_some()))
            .collect();
        assert_eq!(shown, [(10, false)], "{input:?}");
    }
}

#[test]
fn a_value_whose_lines_are_indented_enough_is_quoted() {
    for indent in ["   ", "    ", "   \t"] {
        let input = format!("---\nroutines:\n  - lists: broken\n{indent}links\n---\n");
        let output = fixed(&input);
        let expected = format!("---\nroutines:\n  - 'lists: broken\n{indent}links'\n---\n");
        assert_eq!(output, expected);
        assert_eq!(parsed(&output).diagnostics, [], "{input:?}");
    }
}

#[test]
fn fixes_that_conflict_with_an_earlier_one_are_not_applied() {
    let fix = |edits: &[(usize, usize, &str)]| Fix {
        title: "edit".to_owned(),
        edits: edits
            .iter()
            .map(|&(start, end, text)| Edit {
                span: Span::new(start, end),
                text: text.to_owned(),
            })
            .collect(),
    };
    let fixes = [
        fix(&[(0, 1, "A"), (3, 3, "-")]),
        fix(&[(1, 2, "B"), (2, 4, "never")]),
        fix(&[(4, 9, "beyond")]),
        fix(&[]),
        fix(&[(4, 5, "E")]),
    ];
    let result = apply_fixes(b"abcde", &fixes);
    assert_eq!(
        (result.bytes.as_slice(), result.applied),
        (b"Abc-dE".as_slice(), 2)
    );
}

#[test]
fn codes_print_and_parse() {
    assert_eq!("D007".parse::<Code>().unwrap(), Code::new(7));
    assert_eq!(Code::new(201).to_string(), "D201");
    for text in ["", "D", "D1", "D0001", "201", "D+12", "D１２３"] {
        let message = format!("`{text}` is not a diagnostic code: expected `D` and three digits");
        assert_eq!(text.parse::<Code>().unwrap_err().to_string(), message);
    }
    assert!(Severity::Error > Severity::Warning && Severity::Warning > Severity::Advice);
}
