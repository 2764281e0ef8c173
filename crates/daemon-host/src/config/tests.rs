use super::{Capability, Config, Misfire, Period, parse};

#[test]
fn an_empty_text_is_the_default() {
    assert_eq!(parse(""), Ok(Config::default()));
}

#[test]
fn every_default_prints_and_reads_back() {
    let text = toml::to_string(&Config::default()).expect("the default is representable");
    assert_eq!(parse(&text), Ok(Config::default()));
}

#[test]
fn settings_are_read() {
    let config = parse(
        "[host]\nlisten = '127.0.0.1:0'\ndrain = '5s'\n[[repo]]\npath = '/r'\nref = 'trunk'\n\
         [schedule]\nmisfire = 'catch_up'\n[policy.daemon.x]\ncapability = 'read'\n\
         [provider]\ndefault = 'sh'\n[provider.sh]\ncommand = '/bin/sh'\n",
    )
    .expect("it is valid");
    assert_eq!(config.host.drain, Period::from_secs(5));
    assert_eq!(config.repo[0].branch.as_deref(), Some("trunk"));
    assert_eq!(config.repo[0].poll, Period::from_secs(30));
    assert_eq!(config.schedule.misfire, Misfire::CatchUp);
    assert_eq!(config.policy.daemon["x"].capability, Some(Capability::Read));
    assert_eq!(
        config.provider.named["sh"].command.as_deref(),
        Some("/bin/sh")
    );
}

/// Parses an invalid configuration and returns its errors.
#[track_caller]
fn problems(text: &str) -> Vec<String> {
    let error = parse(text).expect_err(text);
    let said = |problem: &super::Problem| {
        let super::Problem {
            line,
            column,
            message,
        } = problem;
        format!("{line}:{column}: {message}")
    };
    error.problems.iter().map(said).collect()
}

/// Files with one fault each, and how it is reported: line, column and the beginning of the message.
const FAULTS: &[(&str, &str)] = &[
    (
        "[host]\nlistne = 1\n",
        "2:1: unknown key `host.listne`, did you mean `listen`?",
    ),
    (
        "listen = '127.0.0.1:1'\n",
        "1:1: unknown key `listen`, did you mean `host.listen` or `tcp.listen`?",
    ),
    (
        "[limits]\nday_usd = 1\n",
        "2:1: unknown key `limits.day_usd`, did you mean `budget.day_usd`?",
    ),
    (
        "[provider]\ndefalt = 'sh'\n",
        "2:1: unknown key `provider.defalt`, did you mean `default`?",
    ),
    (
        "[policy.daemon.'o/r/x']\nnonsense = 1\n",
        "2:1: unknown key `policy.daemon.\"o/r/x\".nonsense`",
    ),
    (
        "[limits]\ntrees_bytes = '8 gallons'\n",
        "2:15: `limits.trees_bytes`: `8 gallons` is not a size such as `8GiB`",
    ),
    (
        "[policy.daemon.x]\ntargets = ['@octocat', 'github:o/r', 'slack:general']\n",
        "2:38: `slack:general` is not a target, such as `github:owner/name#42`",
    ),
    (
        "[[repo]]\npath = '/r'\nbranch = 'x'\n",
        "3:1: unknown key `repo.0.branch`",
    ),
    ("[host\n", "1:6: unclosed table"),
    (
        "[host]\nlisten = '127.0.0.1'\n",
        "2:10: `host.listen` is `127.0.0.1`, which is no address with a port",
    ),
    (
        "[host]\ndrain = 'soon'\n",
        "2:9: `host.drain`: `soon` is not a span of time",
    ),
    (
        "[host]\ndrain = 5\n",
        "2:9: `host.drain`: invalid type: integer `5`, expected a string",
    ),
    ("host = 5\n", "1:8: `host`: invalid type: integer `5`"),
    (
        "[provider.sh]\ncommand = ['x']\n",
        "2:11: `provider.sh.command`: invalid type",
    ),
    (
        "[[repo]]\nname = 'o/r'\n",
        "1:1: `repo.0`: missing field `path`",
    ),
    (
        "[[repo]]\npath = '/a'\nname = 'o/r'\n[[repo]]\npath = '/b'\nname = 'O/R'\n",
        "6:8: two watched repositories are named `O/R`",
    ),
    (
        "[policy.daemon.'O/r/x']\n[policy.daemon.'o/r/x']\ncapability = 'read'\n",
        "2:16: `policy.daemon.\"o/r/x\"` is the same daemon as `policy.daemon.\"O/r/x\"`: ",
    ),
    (
        "[[repo]]\npath = '/a'\nremote = '-x'\n",
        "3:10: `repo.remote`: ",
    ),
    (
        "[schedule]\nzone = 'Mars/Base'\n",
        "2:8: `schedule.zone`: `Mars/Base` is not a time zone",
    ),
    (
        "[policy.daemon.a]\n[policy.daemon.b]\nzone = 'a'\n",
        "3:8: `policy.daemon.b.zone`: `a` is not a time zone",
    ),
    (
        "[policy.daemon.'x/']\n",
        "1:16: `policy.daemon.\"x/\"` is neither",
    ),
    (
        "[limits]\nhost = 0\n",
        "2:1: `limits.host` must be at least 1",
    ),
    (
        "[policy.daemon.x]\nsettle = '6m'\n",
        "2:1: `settle` is 6m, at most 5m",
    ),
    (
        "[policy]\ncapability = 'root'\n",
        "2:14: `policy.capability`: unknown variant `root`",
    ),
];

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (text, expected) in FAULTS {
        let all = problems(text);
        let [one] = all.as_slice() else {
            panic!("{text:?}: {all:?}");
        };
        assert!(one.starts_with(expected), "{text:?}: {one}");
    }
}

#[test]
fn everything_that_is_wrong_is_named_at_once() {
    assert_eq!(
        problems("[host\n[limits\n"),
        [
            "1:6: unclosed table, expected `]`",
            "2:8: unclosed table, expected `]`"
        ]
    );
    // A missing value next to a removed one is no further error.
    assert_eq!(
        problems(
            "a = 1\n[[repo]]\npath = 1\n[host]\ndrain = 1\nhold = 'x'\n[mcp.a]\ncomand = 'x'\n[budget]\nday_usd = -1\n"
        ),
        [
            "1:1: unknown key `a`",
            "3:8: `repo.0.path`: invalid type: integer `1`, expected path string",
            "5:9: `host.drain`: invalid type: integer `1`, expected a string",
            "6:8: `host.hold`: invalid type: string \"x\", expected a boolean",
            "8:1: unknown key `mcp.a.comand`, did you mean `command`?",
        ]
    );
    assert_eq!(
        problems(
            "[budget]\nday_usd = -1\nactivation_usd = -1\n[limits]\nhost = 0\n[mcp.a]\ncomand = 'x'\n"
        ),
        [
            "2:1: `budget.day_usd` must not be negative",
            "3:1: `budget.activation_usd` must not be negative",
            "5:1: `limits.host` must be at least 1",
            "7:1: unknown key `mcp.a.comand`, did you mean `command`?",
        ]
    );
}

#[test]
fn periods_print_in_their_largest_unit() {
    for text in ["0s", "30s", "10m", "24h", "14d", "1500ms"] {
        let period: Period = text.parse().expect(text);
        let expected = if text == "24h" { "1d" } else { text };
        assert_eq!(period.to_string(), expected);
    }
    for text in ["", "5", "-1s", "1.5h", "1 h", "99999999999d", "s"] {
        assert!(text.parse::<Period>().is_err(), "{text:?} was read");
    }
}

#[test]
fn servers_are_read_and_granted_by_name() {
    let config = parse(
        "[mcp.tickets]\ncommand = 'tickets'\nargs = ['--stdio']\nenv = { REGION = 'eu' }\nenv_file = { TICKETS_TOKEN = 'tickets' }\n\
         [mcp.pages]\nurl = 'https://pages.example/mcp'\nheaders_env = { Authorization = 'PAGES' }\n\
         [policy.daemon.x]\nmcp = ['tickets', 'pages']\n",
    )
    .expect("it is valid");
    let granted = config.policy.daemon["x"].mcp.as_deref();
    assert_eq!(
        granted,
        Some(["tickets".to_owned(), "pages".to_owned()].as_slice())
    );
    assert_eq!(
        config.mcp["tickets"].transport(),
        super::McpTransport::Stdio
    );
    assert_eq!(config.mcp["pages"].transport(), super::McpTransport::Http);
}

/// Servers with one fault each, with its line and the beginning of its message.
const SERVER_FAULTS: &[(&str, usize, &str)] = &[
    (
        "[mcp.a]\ncommand = 'x'\nbogus = 1\n",
        3,
        "unknown key `mcp.a.bogus`",
    ),
    (
        "[mcp.a]\ntransport = 'pigeon'\n",
        2,
        "`mcp.a.transport`: unknown variant `pigeon`",
    ),
    ("[mcp.a]\n", 1, "`mcp.a.command` is missing"),
    ("[mcp.a]\ntransport = 'http'\n", 1, "`mcp.a.url` is missing"),
    (
        "[mcp.a]\ncommand = 'x'\nheaders = {X = 'y'}\n",
        3,
        "`mcp.a.headers` is for the transport `http`",
    ),
    (
        "[mcp.a]\nurl = 'http://h/'\nargs = ['y']\n",
        3,
        "`mcp.a.args` is for the transport `stdio`",
    ),
    (
        "[mcp.a]\nurl = 'http://h/'\nurl_env = 'U'\n",
        2,
        "`mcp.a.url` is given twice",
    ),
    (
        "[mcp.a]\nurl = 'http://h/?key=secret'\n",
        2,
        "`mcp.a.url` holds a secret: give the address in `url_file` or `url_env`",
    ),
    (
        "[mcp.a]\ncommand = 'x'\nargs = ['--token', 'y']\n",
        3,
        "`mcp.a.args` hold a secret: give it in `env_file` or `env_env`",
    ),
    (
        "[mcp.a]\ncommand = 'x'\nenv = {A_TOKEN = 'y'}\n",
        3,
        "`mcp.a.env` holds `A_TOKEN`, a secret: name a file in `env_file` or a variable in `env_env`",
    ),
    (
        "[mcp.a]\nurl = 'http://h/'\nheaders = {Authorization = 'y'}\n",
        3,
        "`mcp.a.headers` holds `Authorization`, a secret: name a file in `headers_file` or a variable in `headers_env`",
    ),
    (
        "[mcp.a]\ncommand = 'x'\nenv = {A = 'y'}\nenv_env = {A = 'B'}\n",
        3,
        "`mcp.a.env` gives `A` twice",
    ),
    (
        "[mcp.A]\ncommand = 'x'\n",
        1,
        "`A` is not a server's name (a-z, 0-9, `-`, at most 24)",
    ),
    (
        "[mcp.daemon]\ncommand = 'x'\n",
        1,
        "`mcp.daemon` is the host's own server: give this one another name",
    ),
    (
        "[policy.daemon.x]\nmcp = [\"a\"]\n",
        2,
        "`policy.daemon.x.mcp` names `a`, and there is no section `[mcp.a]`",
    ),
    (
        "[mcp.a]\ncommand = 'x'\n[policy.daemon.x]\nmcp = [\"a\", \"a\"]\n",
        4,
        "`policy.daemon.x.mcp` names `a` twice",
    ),
];

#[test]
fn a_server_that_is_configured_wrongly_is_named_with_its_key() {
    for (text, line, message) in SERVER_FAULTS {
        let error = parse(text).expect_err(text);
        let [problem] = error.problems.as_slice() else {
            panic!("{text:?}: {error}");
        };
        assert!(problem.message.starts_with(message), "{text:?}: {error}");
        assert_eq!(problem.line, *line, "{text:?}: {error}");
        assert!(!problem.message.contains("'y'"), "{error}");
    }
}

#[test]
fn a_log_filter_is_of_levels_and_of_targets_with_levels() {
    for good in [
        "off",
        "error",
        "WARN",
        "info,daemon_host=debug",
        "daemon_host=trace,hyper::proto=off",
        "3",
    ] {
        assert_eq!(
            problems_of(&format!("[log]\nlevel = '{good}'\n")),
            [""; 0],
            "{good}"
        );
    }
    let levels = "; the levels are `off`, `error`, `warn`, `info`, `debug`, `trace`";
    for (bad, said) in [
        (
            "warning",
            "`warning` is no level, did you mean `warn`?".to_owned(),
        ),
        (
            "inffo",
            "`inffo` is no level, did you mean `info`?".to_owned(),
        ),
        ("verbose", format!("`verbose` is no level{levels}")),
        ("", format!("`` is no level{levels}")),
        ("info,", format!("`` is no level{levels}")),
        ("daemon_host", format!("`daemon_host` is no level{levels}")),
        (
            "info,daemon_host=loud",
            format!("`loud` of `daemon_host` is no level{levels}"),
        ),
        (
            "daemon_host=",
            format!("`` of `daemon_host` is no level{levels}"),
        ),
        (
            "daemon_host=dbug",
            "`dbug` of `daemon_host` is no level, did you mean `debug`?".to_owned(),
        ),
        ("=info", "`` is no target".to_owned()),
        ("a b=info", "`a b` is no target".to_owned()),
        ("a=b=info", "`a=b` is no target".to_owned()),
    ] {
        assert_eq!(
            problems_of(&format!("[log]\nlevel = '{bad}'\n")),
            [format!("2:9: `log.level`: {said}")],
            "{bad}"
        );
    }
}

#[test]
fn a_sandbox_level_above_the_highest_is_refused_with_its_place() {
    for level in 0..=3 {
        assert_eq!(
            problems_of(&format!("[policy]\nsandbox_min = {level}\n")),
            [""; 0]
        );
    }
    assert_eq!(
        problems_of("[policy]\nsandbox_min = 4\n[policy.daemon.x]\nsandbox_min = 9\n"),
        [
            "2:15: `policy.sandbox_min` is 4, at most 3 is served",
            "4:15: `policy.daemon.x.sandbox_min` is 9, at most 3 is served",
        ]
    );
}

#[test]
fn a_surface_has_one_kind_of_credentials() {
    for good in [
        "[surfaces.github]\ntoken_file = 't'\n",
        "[surfaces.github]\ntoken_env = 'T'\napi_base = 'https://ghe.example/api/v3'\n",
        "[surfaces.github]\napp_id = 7\nkey_file = 'k'\ninstallation_id = 31\n",
        "[surfaces.linear]\ntoken_env = 'T'\n[surfaces.slack]\ntoken_file = 't'\n",
    ] {
        assert_eq!(problems_of(good), [""; 0], "{good}");
    }
    for (bad, said) in [
        (
            "[surfaces.github]\n",
            "1:11: `surfaces.github` needs `token_file`, `token_env`, or `app_id` with `key_file`",
        ),
        (
            "[surfaces.github]\napp_id = 7\n",
            "2:1: `surfaces.github.app_id` needs `surfaces.github.key_file`",
        ),
        (
            "[surfaces.github]\nkey_file = 'k'\n",
            "2:1: `surfaces.github.key_file` needs `surfaces.github.app_id`",
        ),
        (
            "[surfaces.github]\ntoken_file = 't'\ninstallation_id = 7\n",
            "3:1: `surfaces.github.installation_id` needs `surfaces.github.app_id`",
        ),
        (
            "[surfaces.github]\ntoken_file = 't'\napp_id = 7\nkey_file = 'k'\n",
            "3:1: `surfaces.github` has a token and an App: keep one",
        ),
        (
            "[surfaces.linear]\n",
            "1:11: `surfaces.linear` needs `token_file` or `token_env`",
        ),
        (
            "[surfaces.slack]\napi_base = 'https://slack.example'\n",
            "1:11: `surfaces.slack` needs `token_file` or `token_env`",
        ),
    ] {
        assert_eq!(problems_of(bad), [said]);
    }
}

/// Parses a configuration that may be invalid and returns its errors.
fn problems_of(text: &str) -> Vec<String> {
    parse(text).map_or_else(|_| problems(text), |_| Vec::new())
}

#[test]
fn protected_branches_are_names_or_their_beginnings() {
    let with = |list: &str| format!("[surfaces.git]\nprotected = {list}\n");
    assert_eq!(problems_of(&with("['main', 'release/*']")), [""; 0]);
    assert_eq!(
        problems_of(&with("['refs/heads/main']")),
        [
            "2:13: surfaces.git.protected: `refs/heads/main` is not the short name of a branch, such as `main`, or the beginning of some, such as `release/*`"
        ]
    );
}
