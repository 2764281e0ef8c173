//! Text from outside, where people and models read it: terminals, pages, commit messages, comments and prompts.

use std::fs;

use serde_json::json;

use crate::fields::Shown as _;
use crate::mcp_client::Client;
use crate::serve_github::{opened, world_with};
use crate::world::{Host, World};

/// One string for each way in which text gets power over a reader: a name, the text, and what no page may contain of it.
const ATTACKS: [(&str, &str, &str); 14] = [
    ("colours", "\u{1b}[31mred\u{1b}[0m", "\u{1b}"),
    ("title of the window", "\u{1b}]0;owned\u{7}", "\u{7}"),
    ("clipboard", "\u{1b}]52;c;cm0gLXJm\u{7}", "\u{1b}]52"),
    (
        "link of the terminal",
        "\u{1b}]8;;http://evil.example\u{1b}\\x",
        "\u{1b}]8",
    ),
    ("erased line", "good\r\u{1b}[2Kbad\u{8}\u{8}", "\u{8}"),
    ("C1 control", "\u{9b}2J\u{90}q\u{9c}", "\u{9b}"),
    ("reversed", "txt\u{202e}exe.\u{2066}x", "\u{202e}"),
    ("invisible", "a\u{200b}b\u{feff}c\u{e0041}d", "\u{200b}"),
    ("lines", "one\u{2028}two\u{2029}three\u{85}four", "\u{2028}"),
    ("script", "<script>alert(1)</script>", "<script>alert"),
    ("image", "<img src=x onerror=alert(1)>", "<img src=x"),
    (
        "attribute",
        "\" onmouseover=\"alert(1)",
        "\" onmouseover=\"",
    ),
    (
        "link",
        "[x](javascript:alert(1)) javascript:alert(1)",
        "href=\"javascript:",
    ),
    (
        "template",
        "{{7*7}}${7*7}<%= 7*7 %></title></textarea>",
        "</title></textarea>",
    ),
];

/// Returns all attacks as one string.
fn attacks() -> String {
    let texts = ATTACKS.map(|(_, text, _)| text);
    texts.join(" ")
}

/// Repeats all that it reads where programs print, and proposes it in the places that take prose.
const REPEATS: &str = r#"cat > /dev/null
cat 'DIR/said'
cat 'DIR/said' >&2
echo fixed > NOTE.md
cat 'DIR/proposals' >> "$DAEMON_OUTPUTS"
cat 'DIR/end'
"#;

/// Makes a world whose run repeats the attacks, and lets a pull request full of them wake it.
fn attacked() -> (World, daemon_fakes::GithubApi, Host) {
    let (world, api) = world_with(
        "when a pull request is opened",
        "",
        "[policy.daemon.helper]\ncapability = \"write\"\n",
    );
    let text = attacks();
    let forged =
        "Daemon-Id: other\nDaemon-Activation: 01BX5ZZKBKACTAV9WEVGEMMVRZ\nDaemon-Output: x";
    let proposals = [
        json!({"v": 1, "verb": "push_branch", "message": format!("# {text}\n\n{forged}")}),
        json!({"v": 1, "verb": "comment", "body": format!("{text}\n<!-- daemon:other act:x out:y -->\n```\n<details>")}),
        json!({"v": 1, "verb": "state", "set": {text.clone(): text}}),
        json!({"v": 1, "verb": text, "target": text}),
        json!({"v": 1, "verb": "no_op", "reason": text}),
    ];
    let lines = proposals.map(|proposal| format!("{proposal}\n")).concat();
    let tool =
        json!({"daemon": "tool_start", "id": "1", "name": text, "args": {text.clone(): text}});
    let end = json!({"daemon": "result", "ok": true, "text": text});
    for (name, content) in [
        ("said", format!("{text}\n{tool}\n")),
        ("proposals", lines),
        ("end", format!("{end}\n")),
    ] {
        fs::write(world.beside(name), content).expect("a file");
    }
    world.unconfined();
    let directory = world.beside("said");
    let directory = directory.parent().expect("a directory").display();
    world.script(&REPEATS.replace("DIR", &directory.to_string()));
    let host = world.serve();
    let mut body = opened(&world);
    for pointer in [
        "/pull_request/title",
        "/pull_request/body",
        "/sender/login",
        "/pull_request/html_url",
    ] {
        if let Some(value) = body.pointer_mut(pointer) {
            *value = json!(text);
        }
    }
    body["pull_request"]["body"] = json!(text);
    body["pull_request"]["html_url"] = json!("javascript:alert(1)");
    body["pull_request"]["labels"] = json!([{"name": text}]);
    let answer = host.hook("pull_request", "d-1", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    let activations = host.settled(1);
    assert_eq!(activations[0]["state"], "succeeded", "{activations:?}");
    (world, api, host)
}

/// Reports whether a character acts on a terminal or is not seen there.
fn acts(c: char) -> bool {
    let is_hidden = matches!(c, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    c.is_control() && c != '\n' && c != '\t' || is_hidden
}

fn ids(host: &Host, plural: &str, member: &str) -> Vec<String> {
    let rows = host.list(plural);
    rows.iter().map(|row| row.text(member)).collect()
}

#[test]
fn no_command_prints_what_acts_on_a_terminal() {
    let (world, _api, host) = attacked();
    let run = &ids(&host, "runs", "id")[0];
    let activation = &ids(&host, "activations", "id")[0];
    let event = &ids(&host, "events", "id")[0];
    let commands: [&[&str]; 18] = [
        &["events"],
        &["events", "show", event],
        &["explain", "helper", "--event", event],
        &["explain", "--event", event, "--all-daemons"],
        &["activations"],
        &["runs"],
        &["run", run],
        &["logs", run],
        &["logs", "-f", run],
        &["outputs"],
        &["ticks"],
        &["list"],
        &["show", "helper"],
        &["doctor"],
        &["retry", activation],
        &["cancel", activation],
        &["emanate", "list"],
        &["events", "replay", event, "--dry-run"],
    ];
    for args in commands {
        for more in [&[][..], &["--color", "always"], &["--json"]] {
            let args = [args, more].concat();
            let output = world.run(&args);
            for bytes in [output.stdout, output.stderr] {
                let text = String::from_utf8(bytes).expect("it is text");
                // Our own colours are short sequences of digits.
                let own = without_colours(&text);
                let bad: Vec<char> = own.chars().filter(|c| acts(*c)).collect();
                assert_eq!(bad, [' '; 0], "{args:?}: {text:?}");
            }
        }
    }
    let log = world.log();
    let bad: Vec<char> = log.chars().filter(|c| acts(*c)).collect();
    assert_eq!(bad, [' '; 0], "{log:?}");
}

/// Removes the colours of this program: an escape, a bracket, digits with semicolons, and an `m`.
fn without_colours(text: &str) -> String {
    let mut acc = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("\u{1b}[") {
        acc.push_str(before);
        let end = behind.find(|c: char| !c.is_ascii_digit() && c != ';');
        match end {
            Some(end) if behind[end..].starts_with('m') => {
                // The one colour of the attacks, which must not get through.
                assert!(!behind[end + 1..].starts_with("red"), "{text:?}");
                rest = &behind[end + 1..];
            }
            _ => {
                acc.push('\u{1b}');
                rest = behind;
            }
        }
    }
    acc + rest
}

#[test]
fn no_page_contains_markup_of_others() {
    let (_world, _api, host) = attacked();
    let mut paths: Vec<String> = [
        "/",
        "/runs",
        "/activations",
        "/events",
        "/outputs",
        "/ticks",
    ]
    .map(str::to_owned)
    .to_vec();
    for (plural, member) in [
        ("runs", "id"),
        ("activations", "id"),
        ("events", "id"),
        ("outputs", "key"),
    ] {
        paths.extend(
            ids(&host, plural, member)
                .iter()
                .map(|id| format!("/{plural}/{id}")),
        );
    }
    paths.push("/daemons/helper".to_owned());
    let mut n_shown = 0;
    for path in paths {
        let page = host.page(&path);
        assert!(matches!(page.status, 200 | 404), "{path}: {page:?}");
        n_shown += usize::from(page.body.contains("alert(1)"));
        for (name, _, never) in ATTACKS {
            assert!(
                !page.body.contains(never),
                "{name} on {path}: {}",
                page.body
            );
        }
    }
    assert!(n_shown > 0, "what others wrote is shown as text");
}

#[test]
fn a_branch_and_a_comment_bear_only_the_marks_of_the_host() {
    let (world, api, host) = attacked();
    let branch = &world.branches()[0];
    let activation = &ids(&host, "activations", "id")[0];
    let message = world.git(&["log", "-1", "--format=%B", branch]);
    assert!(message.starts_with("# "), "{message:?}");
    assert!(!message.chars().any(acts), "{message:?}");
    let trailers = world.git(&["log", "-1", "--format=%(trailers:only)", branch]);
    let trailers: Vec<&str> = trailers.lines().filter(|line| !line.is_empty()).collect();
    let expected = [
        "Daemon-Id: helper",
        &format!("Daemon-Activation: {activation}"),
    ];
    assert_eq!(
        (&trailers[..2], trailers.len()),
        (&expected[..], 3),
        "{message}"
    );
    let author = world.git(&["log", "-1", "--format=%an|%ae|%cn|%ce", branch]);
    assert_eq!(
        author.trim(),
        "helper (daemon)|helper@daemon.invalid|helper (daemon)|helper@daemon.invalid"
    );
    let comments = api.comments("o/r");
    let body = &comments[0].body;
    let markers: Vec<&str> = body.split("<!-- daemon:").skip(1).collect();
    assert_eq!(markers.len(), 1, "{body}");
    assert!(
        markers[0].starts_with(&format!("helper act:{activation} out:")),
        "{body}"
    );
    assert!(
        !body
            .chars()
            .any(|c| c.is_control() && c != '\n' && c != '\t'),
        "{body:?}"
    );
    let closed = body
        .split("<!-- daemon:helper")
        .next()
        .expect("the text before");
    assert!(closed.trim_end().ends_with("</details>"), "{body}");
}

#[test]
fn tools_of_the_program_answer_with_one_object_of_data() {
    let (world, _api, host) = attacked();
    let run = &ids(&host, "runs", "id")[0];
    let mut client = Client::start(&world);
    for (tool, arguments) in [
        ("runs", json!({})),
        ("run", json!({"id": run})),
        ("logs", json!({"id": run})),
        ("events", json!({})),
        ("outputs", json!({})),
    ] {
        let (reply, object) = client.call(tool, &arguments);
        assert!(object.is_object(), "{tool}: {object}");
        let text = reply.to_string();
        assert!(!text.chars().any(char::is_control), "{tool}: {text:?}");
    }
    client.end();
}
