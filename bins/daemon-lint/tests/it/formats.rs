//! The formats `human`, `github` and `sarif`.

use serde_json::{Value, json};
use snapbox::{assert_data_eq, str};

use crate::world::World;

const TEXT: &str = concat!(
    "\n---\nid: tidy\npurpose: Keeps the docs in order.\nschedule: \"0 30 14 * * 1-5\"\nroutines:\n",
    "  - list broken links in one comment\n  - 'list broken links in one comment'\n",
    "deny:\n  - merge pull requests\n---\n## Output format\nOne comment.\n\n## Limits\n- One.\n",
);

#[test]
fn the_human_format_has_the_line_with_the_help_at_the_span() {
    let ran = World::of_daemon(TEXT).run(&["--color", "never"]);
    assert_data_eq!(
        ran.output,
        str![[r#"
error[D004]: blank lines precede the opening `---`
 --> .agents/daemons/tidy/DAEMON.md:1:1
  |
1 |
  | ^ help: put `---` on line 1

error[D201]: `schedule` must have five fields, found six
 --> .agents/daemons/tidy/DAEMON.md:5:12
  |
5 | schedule: "0 30 14 * * 1-5"
  |            ^^^^^^^^^^^^^^^ help: remove the seconds field

warning[D133]: entry 2 of `routines` repeats entry 1
 --> .agents/daemons/tidy/DAEMON.md:8:6
  |
8 |   - 'list broken links in one comment'
  |      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ help: delete it


"#]]
    );
    assert_eq!(
        (ran.code, ran.notes.as_str()),
        (
            1,
            concat!(
                "what a code means: daemon-run rule D004\n",
                "1 file, 2 errors, 1 warning, 3 fixable with --fix\n"
            )
        )
    );
}

#[test]
fn the_concise_format_has_one_line_for_each_diagnostic() {
    let world = World::of_daemon(TEXT);
    let ran = world.run(&["--format", "concise", ".", "no\u{1b}where"]);
    assert_data_eq!(
        ran.output,
        str![[r#"
.agents/daemons/tidy/DAEMON.md:1:1: D004 error blank lines precede the opening `---`
.agents/daemons/tidy/DAEMON.md:5:12: D201 error `schedule` must have five fields, found six
.agents/daemons/tidy/DAEMON.md:8:6: D133 warning entry 2 of `routines` repeats entry 1
no⟨U+001B⟩where:1:1: D000 error cannot read the file

"#]]
    );
    assert_eq!(
        (ran.code, ran.notes.as_str()),
        (
            66,
            concat!(
                "what a code means: daemon-run rule D004\n",
                "2 files, 3 errors, 1 warning, 3 fixable with --fix\n"
            )
        )
    );
}

#[test]
fn suppressed_diagnostics_are_counted_and_not_fixed() {
    let text = TEXT
        .trim_start()
        .replace("\"0 30 14", "\"30 14")
        .replace("comment'\n", "comment' # daemon-lint: allow D133\n");
    let world = World::of_daemon(&text);
    let ran = world.run(&["--fix"]);
    assert_eq!(
        (ran.code, ran.output.as_str(), ran.notes.as_str()),
        (0, "", "1 file, clean, 1 suppressed\n")
    );
    assert_eq!(world.read(".agents/daemons/tidy/DAEMON.md"), text);
    let summary = world.run(&["--json"]).json()["summary"].clone();
    assert_eq!(
        (&summary["warnings"], &summary["suppressed"]),
        (&json!(0), &json!(1))
    );
}

#[test]
fn hidden_characters_of_a_line_are_escaped() {
    let text = TEXT.replace("Keeps", "K\u{202e}e\u{200b}e\u{e0041}p\u{feff}s\u{1b}[31m");
    for color in ["never", "always"] {
        let ran = World::of_daemon(&text).run(&["--color", color]);
        let hidden = "\u{202e}\u{200b}\u{e0041}\u{feff}";
        let found = ran.output.chars().find(|c| hidden.contains(*c));
        assert_eq!(
            (found, ran.output.contains("\u{1b}[31m the")),
            (None, false),
            "{}",
            ran.output
        );
        assert!(
            ran.output.contains("e⟨U+200B⟩e⟨U+E0041⟩p⟨U+FEFF⟩s"),
            "{}",
            ran.output
        );
    }
}

#[test]
fn colour_is_used_only_if_selected() {
    let world = World::of_daemon(TEXT);
    let plain = world.run(&["--color", "auto"]).output;
    let coloured = world.run(&["--color", "always"]).output;
    assert!(!plain.contains('\u{1b}'));
    assert!(coloured.contains("\u{1b}["));
}

#[test]
fn the_github_format_has_a_command_for_each_diagnostic() {
    let world = World::of_daemon(TEXT);
    world.write("100%,a:b.md", b"");
    let ran = world.run(&["--format", "github", ".", "100%,a:b.md"]);
    assert_data_eq!(
        ran.output,
        str![[r#"
::error file=.agents/daemons/tidy/DAEMON.md,line=1,endLine=2,title=D004::blank lines precede the opening `---`%0Ahelp: put `---` on line 1
::error file=.agents/daemons/tidy/DAEMON.md,line=5,endLine=5,col=12,endColumn=27,title=D201::`schedule` must have five fields, found six%0Ahelp: remove the seconds field
::warning file=.agents/daemons/tidy/DAEMON.md,line=8,endLine=8,col=6,endColumn=38,title=D133::entry 2 of `routines` repeats entry 1%0Ahelp: delete it
::error file=100%25%2Ca%3Ab.md,line=1,endLine=1,col=1,endColumn=1,title=D003::no `---` block at the top of the file%0Ahelp: begin the file with a block such as:%0A---%0Aid: my-daemon%0Apurpose: One sentence of intent.%0Awatch:%0A  - when a pull request is opened%0Aroutines:%0A  - one concrete operation%0A---
::warning file=100%25%2Ca%3Ab.md,line=1,endLine=1,col=1,endColumn=1,title=D115::no runtime looks for a daemon file at `100%25,a:b.md`%0Ahelp: move it to `.agents/daemons/<id>/DAEMON.md`

"#]]
    );
    assert_eq!(ran.code, 1);
}

#[test]
fn sarif_has_a_rule_for_each_code_and_results_that_refer_to_them() {
    let ran = World::of_daemon(TEXT).run(&["--format", "sarif"]);
    let log = ran.json();
    assert_eq!(
        (&log["version"], &log["runs"][0]["tool"]["driver"]["name"]),
        (&json!("2.1.0"), &json!("daemon-lint"))
    );
    let rules = log["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .unwrap();
    let mut ids: Vec<&str> = rules
        .iter()
        .map(|rule| rule["id"].as_str().unwrap())
        .collect();
    let n_rules = ids.len();
    ids.dedup();
    assert_eq!(
        (n_rules, ids.len()),
        (daemon_validate::rules().len(), n_rules)
    );

    let results = log["runs"][0]["results"].as_array().unwrap();
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(result["ruleId"], rules[index]["id"]);
    }
    let found: Vec<_> = results
        .iter()
        .map(|result| (&result["ruleId"], &result["level"]))
        .collect();
    assert_eq!(
        found,
        [
            (&json!("D004"), &json!("error")),
            (&json!("D201"), &json!("error")),
            (&json!("D133"), &json!("warning"))
        ]
    );
    let expected = json!({
        "ruleId": "D201", "ruleIndex": results[1]["ruleIndex"], "level": "error",
        "message": {"text": "`schedule` must have five fields, found six; help: remove the seconds field"},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": ".agents/daemons/tidy/DAEMON.md"},
            "region": {"startLine": 5, "startColumn": 12, "endLine": 5, "endColumn": 27, "byteOffset": 59, "byteLength": 15}}}],
        "fixes": [{"description": {"text": "remove the seconds"}, "artifactChanges": [{
            "artifactLocation": {"uri": ".agents/daemons/tidy/DAEMON.md"},
            "replacements": [{"deletedRegion": {"byteOffset": 59, "byteLength": 2}, "insertedContent": {"text": ""}}]}]}],
    });
    assert_eq!(results[1], expected);
}

#[test]
fn hidden_characters_of_a_path_are_escaped() {
    let directory =
        "b\u{1b}]0;owned\u{7}\u{9b}31m\n\u{202e}\u{200b}\u{e0041}\u{34f}\u{e0080}\u{e01f0}";
    let world = World::new("");
    world.write(
        &format!(".agents/daemons/{directory}/DAEMON.md"),
        TEXT.as_bytes(),
    );
    let shown = "b⟨U+001B⟩]0;owned⟨U+0007⟩⟨U+009B⟩31m⟨U+000A⟩⟨U+202E⟩⟨U+200B⟩⟨U+E0041⟩⟨U+034F⟩⟨U+E0080⟩⟨U+E01F0⟩";
    let place = format!("--> .agents/daemons/{shown}/DAEMON.md:5:12");
    let file = format!("file=.agents/daemons/{shown}/DAEMON.md,line=5");
    for (format, expected) in [("human", place), ("github", file)] {
        let ran = world.run(&["--color", "never", "-v", "--format", format]);
        for text in [&ran.output, &ran.notes] {
            let raw = text.chars().find(|c| {
                (c.is_control() && *c != '\n')
                    || "\u{202e}\u{200b}\u{e0041}\u{34f}\u{e0080}\u{e01f0}".contains(*c)
            });
            assert_eq!(raw, None, "{format}: {}", text.escape_debug());
        }
        assert!(ran.output.contains(&expected), "{}", ran.output);
        assert!(
            ran.notes.contains(&format!("daemons/{shown}/DAEMON.md\n")),
            "{}",
            ran.notes
        );
    }
    let path = world.run(&["--json"]).json()["files"][0]["path"].clone();
    assert_eq!(path, format!(".agents/daemons/{directory}/DAEMON.md"));
}

#[test]
fn a_path_in_sarif_is_a_uri() {
    let world = World::new("");
    world.write("späte datei.md", b"");
    let ran = world.run(&["--format", "sarif", "späte datei.md"]);
    let log: Value = ran.json();
    let uri = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
        ["uri"];
    assert_eq!(uri, "sp%C3%A4te%20datei.md");
}
