use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::redact::Redactor;

fn check_mcp(values: Value, expected: Expect) {
    let values = values.as_array().unwrap().clone();
    let told = match mcp(&values) {
        Ok(servers) => render_mcp(&servers),
        Err(faults) => faults.iter().map(|fault| format!("{fault}\n")).collect(),
    };
    expected.assert_eq(&told);
}

#[test]
fn registrations_are_shown_without_their_secrets() {
    check_mcp(
        json!([
            {"name": "docs", "command": "python", "args": ["-m", "docs", "--token", "abc123secret", "--url=https://k@h/"],
             "env": {"KEY": "v4lue-of-key", "EMPTY": ""}},
            {"name": "hub", "type": "http", "url": "https://user:pass-word@hub.example/mcp?key=qu3ry-value&plain",
             "headers": {"Authorization": "Bearer h3ader-value"}},
            {"name": "v4lue-of-key", "transport": "stdio", "command": "v4lue-of-key"},
        ]),
        expect![[r#"
            - name: docs
              transport: stdio
              command: python
              args: ["-m", "docs", "--token", "<redacted>", "--url=https://<redacted>@h/"]
              env:
                EMPTY: "<redacted>"
                KEY: "<redacted>"
            - name: hub
              transport: http
              url: "https://<redacted>@hub.example/mcp?key=<redacted>&<redacted>"
              headers:
                Authorization: "<redacted>"
            - name: v4lue-of-key
              transport: stdio
              command: v4lue-of-key
        "#]],
    );
}

#[test]
fn every_registration_that_is_wrong_is_named_with_what_is_wrong() {
    check_mcp(
        json!([
            {"command": "x"}, {"name": "  ", "command": "x"}, {"name": 5}, {"name": "a b", "command": "x"},
            {"name": "ok", "command": "x"}, {"name": "OK", "command": "x"}, {"name": "b"}, {"name": "c", "type": "http"},
            {"name": "d", "transport": "sse", "url": "http://h"}, {"name": "e", "transport": 1},
            {"name": "f", "command": ["x"]}, {"name": "g", "command": "x", "args": "y"},
            {"name": "h", "command": "x", "args": [1]}, {"name": "i", "command": "x", "env": {"A": 1}},
            {"name": "j", "command": "x", "env": {"A=B": "c"}}, {"name": "k", "type": "http", "url": "file:///x"},
            {"name": "l", "type": "http", "url": "http://h", "headers": {"A": "b\r\nC: d"}},
            "text",
        ]),
        expect![[r#"
            mcp: more than 16
            mcp[0]: name missing
            mcp[1]: name missing
            mcp[2]: name has the wrong type
            mcp[3]: name has the wrong type
            mcp[5]: duplicate name
            mcp[6]: command missing
            mcp[7]: url missing
            mcp[8]: transport has the wrong type
            mcp[9]: transport has the wrong type
            mcp[10]: command has the wrong type
            mcp[11]: args has the wrong type
            mcp[12]: args has the wrong type
            mcp[13]: env has the wrong type
            mcp[14]: env has the wrong type
            mcp[15]: url has the wrong type
            mcp[16]: headers has the wrong type
            mcp[17]: registration has the wrong type
        "#]],
    );
}

#[test]
fn every_secret_of_a_registration_is_named() {
    let servers = mcp(&[
        json!({"name": "a", "command": "x", "args": ["--password=pw-1", "-t", "--secret", "s-2", "https://u-3:p-4@h/?q=v%2D5#f-6"],
               "env": {"A": "e-7"}}),
        json!({"name": "b", "type": "http", "url": "http://h/?k=q-8", "headers": {"X": "h-9"}}),
    ])
    .unwrap();
    let all: Vec<String> = servers.iter().flat_map(McpRegistration::secrets).collect();
    for secret in [
        "pw-1", "s-2", "u-3", "p-4", "v%2D5", "v-5", "f-6", "e-7", "q-8", "h-9",
    ] {
        assert!(
            all.iter().any(|found| found == secret),
            "{secret} is not in {all:?}"
        );
    }
    let shown = format!("{servers:?}");
    assert_eq!(Redactor::of(all).text(&shown), shown);
}

fn skill(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

const GOOD: &str = "---\nname: review\ndescription: 'How: to review'\nversion: 1\n---\nBody.\n";

#[test]
fn skills_are_found_by_directory_or_file_and_counted_once() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    skill(&root, "skills/review/SKILL.md", GOOD);
    skill(
        &root,
        "deploy/SKILL.md",
        "---\r\nname: deploy\r\ndescription: Ships.\r\n---\r\n",
    );
    symlink("skills/review", root.join("link")).unwrap();
    let absolute = root.join("deploy/SKILL.md").display().to_string();
    let names = [
        "skills/review",
        "skills/../link/SKILL.md",
        "link",
        &absolute,
    ]
    .map(str::to_owned);
    let found = skills(&names, Some(&root)).unwrap();
    let expected = expect![[r#"
        - name: review
          location: ROOT/skills/review/SKILL.md
          description: "How: to review"
        - name: deploy
          location: ROOT/deploy/SKILL.md
          description: "Ships."
    "#]];
    expected.assert_eq(&render_skills(&found).replace(&root.display().to_string(), "ROOT"));
}

#[test]
fn every_skill_that_is_wrong_is_named_with_what_is_wrong() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    skill(root, "empty/other.md", GOOD);
    skill(root, "none/SKILL.md", "no front matter");
    skill(root, "open/SKILL.md", "---\nname: x\n");
    skill(root, "list/SKILL.md", "---\n- name: x\n---\n");
    skill(root, "bad/SKILL.md", "---\nname: [x\n---\n");
    skill(
        root,
        "nameless/SKILL.md",
        "---\nname: ''\ndescription: x\n---\n",
    );
    skill(
        root,
        "number/SKILL.md",
        "---\nname: 5\ndescription: x\n---\n",
    );
    skill(root, "undescribed/SKILL.md", "---\nname: x\n---\n");
    let names = [
        "gone",
        "empty",
        "empty/other.md",
        "none",
        "open",
        "list",
        "bad",
        "nameless",
        "number",
        "undescribed",
        "",
    ];
    let faults = skills(&names.map(str::to_owned), Some(root)).unwrap_err();
    let told: String = faults.iter().map(|fault| format!("{fault}\n")).collect();
    expect![[r#"
        skills[0]: not found
        skills[1]: not found
        skills[2]: not named SKILL.md
        skills[3]: invalid front matter
        skills[4]: invalid front matter
        skills[5]: invalid front matter
        skills[6]: invalid front matter
        skills[7]: name missing
        skills[8]: name missing
        skills[9]: description missing
        skills[10]: not found
    "#]]
    .assert_eq(&told);
    assert_eq!(
        skills(&["relative".to_owned()], None).unwrap_err()[0].problem,
        "not found"
    );
}

#[test]
fn a_preset_is_read_from_its_file_alone() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(root.path().join(name), text).unwrap();
    write(
        "fast.toml",
        "kind = 'openai'\nmodel = 'small'\nbase_url = 'http://h'\nkey_env = 'K'\ntools = ['file']\n",
    );
    write("odd.toml", "kind = 'openai'\nmodel = 'm'\ncommand = 'x'\n");
    let fast = Preset {
        name: "fast".to_owned(),
        kind: "openai".to_owned(),
        base_url: Some("http://h".to_owned()),
        model: "small".to_owned(),
        key_env: Some("K".to_owned()),
        key_file: None,
        tools: Some(vec!["file".to_owned()]),
    };
    assert_eq!(preset(root.path(), "fast"), Ok(Some(fast)));
    for unknown in ["slow", "../fast", "", "Fast", "a/b"] {
        assert_eq!(preset(root.path(), unknown), Ok(None), "{unknown}");
    }
    let fault = preset(root.path(), "odd").unwrap_err();
    assert!(
        fault
            .to_string()
            .starts_with("preset: invalid: unknown field `command`"),
        "{fault}"
    );
}
