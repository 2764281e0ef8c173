//! The cases of each code, grouped by the part of the file.

use super::CLEAN;

/// A code, an input with a diagnostic, the words at its span, and a similar input without it. An input
/// is a whole file or a part of a front matter, to which the missing fields are added.
pub(super) type Case = (&'static str, &'static str, &'static str, &'static str);

const FRAME: &[Case] = &[
    (
        "D002",
        "deny: [[[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]]]",
        "",
        "deny: [[[[x]]]]",
    ),
    ("D003", "# Notes\n", "", CLEAN),
    ("D004", "\n\n---\nid: a\n---\n", "\n\n", "---\nid: a\n---\n"),
    ("D005", "---\nid: a\n...\n", "---", "---\nid: a\n---\n"),
    (
        "D006",
        "\u{feff}---\nid: a\n---\n",
        "\u{feff}",
        "---\nid: a\n---\n",
    ),
    (
        "D011",
        "purpose: One goal: reviews move.",
        "One goal: reviews move.",
        "purpose: One goal:reviews move.",
    ),
    (
        "D012",
        "schedule: */5 * * * *",
        "*/5 * * * *",
        "schedule: '*/5 * * * *'",
    ),
    (
        "D013",
        "deny:\n  - post in #general",
        "#general",
        "deny:\n  - post in '#general'",
    ),
    ("D014", "id: pr-helper\nid: other", "id", "id: pr-helper"),
    (
        "D015",
        "---\n- a\n- b\n---\n",
        "- a\n- b",
        "---\na: b\n---\n",
    ),
    (
        "D016",
        "deny: &rules\n  - merge pull requests",
        "&rules",
        "deny:\n  - '&rules'",
    ),
    (
        "D017",
        "colour: red # daemon-lint: allow D101",
        "D101",
        "colour: red # daemon-lint: allow D100",
    ),
];

const FIELDS: &[Case] = &[
    (
        "D100",
        "shedule: '0 9 * * *'",
        "shedule",
        "schedule: '0 9 * * *'",
    ),
    ("D100", "Watch: [x]", "Watch", "watch: [x]"),
    ("D100", "model: opus", "model", "tools: x\nmodel: opus"),
    (
        "D101",
        "triggers:\n  - when a pull request is opened",
        "triggers",
        "trigger: x",
    ),
    ("D102", "tools: Read\nmodel: opus", "tools", "model: opus"),
    (
        "D102",
        "allowed-tools: Read",
        "allowed-tools",
        "allowed: Read",
    ),
    (
        "D102",
        "globs: '*.rs'\nalwaysApply: true",
        "globs",
        "globs: '*.rs'",
    ),
    ("D102", "on: push\njobs: {}", "on", "on: push"),
    ("D110", "id:", "id", "id: pr-helper"),
    ("D110", "id: 1e3", "1e3", "id: pr-helper"),
    ("D110", "id: ''", "''", "id: pr-helper"),
    ("D110", "id: [pr-helper]", "[pr-helper]", "id: 'pr-helper'"),
    ("D111", "id: pr-helpers", "pr-helpers", "id: 'pr-helper'"),
    (
        "D111",
        "id: pr\u{2d}helpe\u{301}r",
        "pr-helpe\u{301}r",
        "id: pr-helper",
    ),
    ("D112", "id: PR Helper", "PR Helper", "id: pr-helper-2"),
    ("D112", "id: pr--helper", "pr--helper", "id: pr-helper"),
    ("D112", "id: -rf", "-rf", "id: rf"),
    (
        "D113",
        "id: ' pr-helper'",
        "' pr-helper'",
        "id: 'pr-helper'",
    ),
    ("D120", "purpose:", "purpose", "purpose: x"),
    ("D120", "purpose: [a]", "[a]", "purpose: '[a]'"),
    ("D120", "purpose: ' '", "' '", "purpose: '.'"),
    (
        "D121",
        "purpose: One thing. And another.",
        "One thing. And another.",
        "purpose: One thing, e.g. Ada's, v1.2 of it.",
    ),
];

const LISTS: &[Case] = &[
    (
        "D130",
        "watch: when a pull request is opened",
        "when a pull request is opened",
        "watch: [when a pull request is opened]",
    ),
    ("D130", "deny:", "deny", "deny: [x]"),
    ("D130", "watch: {a: b}", "{a: b}", "watch: [a b]"),
    ("D131", "deny:\n  - 404", "404", "deny:\n  - '404'"),
    (
        "D131",
        "watch:\n  - when: a pull request is opened",
        "when: a pull request is opened",
        "watch:\n  - 'when: a pull request is opened'",
    ),
    ("D131", "deny:\n  - no", "no", "deny:\n  - 'no'"),
    (
        "D132",
        "deny:\n  - x y\n  - ''",
        "''",
        "deny:\n  - x y\n  - '.'",
    ),
    (
        "D132",
        "deny:\n  - ~\n  - x y",
        "~",
        "deny:\n  - '~'\n  - x y",
    ),
    (
        "D133",
        "deny:\n  - x y\n  - X  y",
        "X  y",
        "deny:\n  - x y\n  - x z",
    ),
    (
        "D134",
        "---\nid: a\npurpose: b\nroutines: [c]\n---\n",
        "",
        "---\nid: a\npurpose: b\nschedule: 0 9 * * *\nroutines: [c]\n---\n",
    ),
    (
        "D134",
        "watch: []",
        "watch",
        "watch: []\nschedule: 0 9 * * *",
    ),
    (
        "D134",
        "watch: ['']\nschedule: ''",
        "watch",
        "watch: ['']\nschedule: 0 9 * * *",
    ),
    ("D135", "deny: []", "deny", "deny: [x y]"),
    ("D135", "schedule: ''", "schedule", "schedule: 0 9 * * *"),
    (
        "D140",
        "purpose: Helps {{team}}.",
        "{{team}}",
        "purpose: Helps ${{team}}.",
    ),
    (
        "D140",
        "watch:\n  - when files matching <pattern> are changed",
        "<pattern>",
        "watch:\n  - when files matching <br> or a<b are changed",
    ),
    (
        "D140",
        "---\nid: a\n---\nUse `{{adapt.manager}}`.\n",
        "{{adapt.manager}}",
        "---\nid: a\n---\nWrite `${{ x }}`:\n\n```\n{{owner}} <owner>\n```\n",
    ),
    (
        "D140",
        "---\nid: a\n---\n- Sources: `<source_globs>`\n",
        "<source_globs>",
        "---\nid: a\n---\nWrite <owner>, `<details>` or `run --pr <pr_number>`.\n",
    ),
    (
        "D140",
        "---\nid: a\n---\n```\nrun {{adapt.command}}\n```\n",
        "{{adapt.command}}",
        "routines:\n  - run `check --pr <number>` and list what failed",
    ),
];

const SCHEDULES: &[Case] = &[
    ("D200", "schedule: 5", "5", "schedule: 0 5 * * *"),
    ("D200", "schedule:", "schedule", "schedule: 0 5 * * *"),
    (
        "D200",
        "schedule: [0 5 * * *]",
        "[0 5 * * *]",
        "schedule: 0 5 * * *",
    ),
    (
        "D201",
        "schedule: \"0 30 14 * * 1-5\"",
        "0 30 14 * * 1-5",
        "schedule: 30 14 * * 1-5",
    ),
    (
        "D201",
        "schedule: 9 * * *",
        "9 * * *",
        "schedule: 0 9 * * *",
    ),
    (
        "D202",
        "schedule: '@daily'",
        "@daily",
        "schedule: 0 0 * * *",
    ),
    ("D203", "schedule: 75 9 * * *", "75", "schedule: 59 9 * * *"),
    (
        "D203",
        "schedule: '* * 0 * *'",
        "0",
        "schedule: '* * 1 * *'",
    ),
    (
        "D203",
        "schedule: '* * * * 8'",
        "8",
        "schedule: '* * * * 7'",
    ),
    ("D204", "schedule: 0 9 L * *", "L", "schedule: 0 9 1 * *"),
    (
        "D204",
        "schedule: 0 9 * febr *",
        "febr",
        "schedule: 0 9 * feb *",
    ),
    (
        "D204",
        "schedule: 1,,2 * * * *",
        ",",
        "schedule: 1,2 * * * *",
    ),
    (
        "D205",
        "schedule: '*/0 * * * *'",
        "*/0",
        "schedule: '*/10 * * * *'",
    ),
    (
        "D205",
        "schedule: 5/15 * * * *",
        "5/15",
        "schedule: 5-59/15 * * * *",
    ),
    (
        "D206",
        "schedule: 0 22-6 * * *",
        "22-6",
        "schedule: 0 6-22 * * *",
    ),
    (
        "D207",
        "schedule: 0 9 * * MON-FRI",
        "MON-FRI",
        "schedule: 0 9 * * 1-5",
    ),
    (
        "D208",
        "schedule: TZ=Asia/Tokyo 0 9 * * *",
        "TZ=Asia/Tokyo",
        "schedule: 0 9 * * *",
    ),
    (
        "D210",
        "schedule: 0 9 30 2 *",
        "0 9 30 2 *",
        "schedule: 0 9 29 2 *",
    ),
    (
        "D211",
        "schedule: '*/4 * * * *'",
        "*/4 * * * *",
        "schedule: '*/5 * * * *'",
    ),
    (
        "D212",
        "schedule: 0 0 13 * 5",
        "0 0 13 * 5",
        "schedule: 0 0 13 * *",
    ),
    (
        "D213",
        "schedule: '*/7 * * * *'",
        "*/7",
        "schedule: '*/6 * * * *'",
    ),
];

const PROSE: &[Case] = &[
    (
        "D400",
        "routines: []",
        "routines",
        "routines: [count lines]",
    ),
    (
        "D400",
        "---\nid: a\n---\n",
        "",
        "---\nid: a\nroutines: [count lines]\n---\n",
    ),
    (
        "D401",
        "routines:\n  - improve code quality",
        "improve code quality",
        "routines:\n  - improve the title of the pull request",
    ),
    (
        "D401",
        "routines:\n  - help the team",
        "help the team",
        "routines:\n  - help the team by listing flaky tests",
    ),
    (
        "D402",
        "routines:\n  - continuously review new code",
        "continuously review new code",
        "routines:\n  - review the code of the pull request",
    ),
    (
        "D402",
        "routines:\n  - monitor the deployment",
        "monitor the deployment",
        "routines:\n  - report what the monitor shows",
    ),
    (
        "D410",
        "routines:\n  - push a fix\ndeny: []",
        "deny",
        "routines:\n  - propose a fix\ndeny: []",
    ),
    (
        "D411",
        "routines:\n  - merge green pull requests\ndeny:\n  - merge pull requests",
        "merge pull requests",
        "routines:\n  - resolve merge conflicts of pull requests\ndeny:\n  - merge pull requests",
    ),
    (
        "D420",
        "---\nid: a\n---\n\n<!-- later -->\n",
        "",
        "---\nid: a\n---\n<!-- later -->\nNow.\n",
    ),
    (
        "D421",
        "---\nroutines:\n  - post a comment\n---\nBe kind.\n",
        "post a comment",
        "---\nroutines:\n  - post a comment\n---\nAt most one.\n",
    ),
];

const TEXT: &[Case] = &[
    (
        "D600",
        "routines:\n  - run /home/ana/bin/check",
        "/home/ana/bin/check",
        "routines:\n  - run src/home/ana/check or https://x.org/home/ana",
    ),
    (
        "D600",
        "routines:\n  - read C:\\Users\\ana\\notes.txt",
        "C:\\Users\\ana\\notes.txt",
        "routines:\n  - read docs/Users/notes.txt",
    ),
    (
        "D600",
        "routines:\n  - read (/Users/ana/notes).",
        "/Users/ana/notes",
        "routines:\n  - read /Users/** and ~/notes",
    ),
    (
        "D700",
        "routines:\n  - use ghp_0123456789abcdefghijABCDEFGHIJ456789",
        "ghp_0123456789abcdefghijABCDEFGHIJ456789",
        "routines:\n  - use ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx or ghp_short",
    ),
    (
        "D700",
        "routines:\n  - use AKIAIOSFODNN7EXAMPLE now",
        "AKIAIOSFODNN7EXAMPLE",
        "routines:\n  - use AKIAIOSFODNN7EXAMPLE0 or XAKIAIOSFODNN7EXAMPLE",
    ),
    (
        "D700",
        "routines:\n  - use sk-ant-api03-abcDEF123456789xyz",
        "sk-ant-api03-abcDEF123456789xyz",
        "routines:\n  - ask-ant-api03-abcDEF123456789xyz",
    ),
    (
        "D700",
        "routines:\n  - use xoxb-123456789012-abcdef",
        "xoxb-123456789012-abcdef",
        "routines:\n  - use xoxb-",
    ),
    (
        "D700",
        "routines:\n  - use lin_api_0123456789abcdefABCDEF",
        "lin_api_0123456789abcdefABCDEF",
        "routines:\n  - read lin_api_docs",
    ),
    (
        "D700",
        "---\nid: a\n---\n-----BEGIN RSA PRIVATE KEY-----\nabc\n",
        "-----BEGIN RSA PRIVATE KEY-----",
        "---\nid: a\n---\n-----BEGIN CERTIFICATE-----\nabc\n",
    ),
    (
        "D700",
        "---\nid: a\n---\neyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP_mB92K27u\n",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP_mB92K27u",
        "---\nid: a\n---\neyJhbGciOiJIUzI1NiJ9 alone\n",
    ),
    (
        "D701",
        "routines:\n  - log in with password = hunter2",
        "password = hunter2",
        "routines:\n  - log in with password = $PASSWORD",
    ),
    (
        "D701",
        "---\nid: a\n---\nAPI_KEY: \"ab12cd34\"\n",
        "API_KEY: \"ab12cd34",
        "---\nid: a\n---\nToken: the operator's. Secret: never print it.\n",
    ),
    (
        "D701",
        "routines:\n  - fetch https://ana:sesame@example.org/x",
        "ana:sesame",
        "routines:\n  - fetch https://ana:$PASSWORD@example.org/x or https://example.org:80/@ana",
    ),
    (
        "D702",
        "deny:\n  - merge\u{200b} pull requests",
        "\u{200b}",
        "deny:\n  - merge 👩\u{200d}💻 and نامه\u{200c}ای",
    ),
    (
        "D702",
        "deny:\n  - merge \u{202e}pull requests",
        "\u{202e}",
        "deny:\n  - merge größere ‘pull’ requests…",
    ),
];

/// Every case.
pub(super) fn all() -> Vec<Case> {
    [FRAME, FIELDS, LISTS, SCHEDULES, PROSE, TEXT].concat()
}
