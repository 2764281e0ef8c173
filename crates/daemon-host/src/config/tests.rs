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

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (text, line, column, fragment) in [
        ("[host]\nlistne = 1\n", 2, 1, "unknown field `listne`"),
        ("[host\n", 1, 6, "unclosed table"),
        (
            "[host]\ndrain = 'soon'\n",
            2,
            9,
            "`soon` is not a span of time",
        ),
        (
            "[schedule]\nzone = 'Mars/Base'\n",
            2,
            9,
            "`Mars/Base` is not a time zone",
        ),
        ("[limits]\nhost = 0\n", 2, 1, "at least 1"),
        ("[policy.daemon.x]\nsettle = '6m'\n", 2, 1, "at most 5m"),
        (
            "[policy]\ncapability = 'root'\n",
            2,
            14,
            "unknown variant `root`",
        ),
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.message.contains(fragment), "{text:?}: {error}");
        assert_eq!(
            (error.line, error.column),
            (line, column),
            "{text:?}: {error}"
        );
    }
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
    assert_eq!(config.policy.daemon["x"].mcp, ["tickets", "pages"]);
    assert_eq!(
        config.mcp["tickets"].transport(),
        super::McpTransport::Stdio
    );
    assert_eq!(config.mcp["pages"].transport(), super::McpTransport::Http);
}

#[test]
fn a_server_that_is_configured_wrongly_is_named_with_its_key() {
    for (text, line, message) in [
        (
            "[mcp.a]\ncommand = 'x'\nbogus = 1\n",
            3,
            "unknown field `bogus`",
        ),
        (
            "[mcp.a]\ntransport = 'pigeon'\n",
            2,
            "unknown variant `pigeon`",
        ),
        ("[mcp.a]\n", 1, "`mcp.a.command` is missing"),
        ("[mcp.a]\ntransport = 'http'\n", 1, "`mcp.a.url` is missing"),
        (
            "[mcp.a]\ncommand = 'x'\nheaders = {X = 'y'}\n",
            1,
            "`mcp.a.headers` is for the transport `http`",
        ),
        (
            "[mcp.a]\nurl = 'http://h/'\nargs = ['y']\n",
            1,
            "`mcp.a.args` is for the transport `stdio`",
        ),
        (
            "[mcp.a]\nurl = 'http://h/'\nurl_env = 'U'\n",
            1,
            "`mcp.a.url` is given twice",
        ),
        (
            "[mcp.a]\nurl = 'http://h/?key=secret'\n",
            1,
            "`mcp.a.url` holds a secret: give the address in `url_file` or `url_env`",
        ),
        (
            "[mcp.a]\ncommand = 'x'\nargs = ['--token', 'y']\n",
            1,
            "`mcp.a.args` hold a secret: give it in `env_file` or `env_env`",
        ),
        (
            "[mcp.a]\ncommand = 'x'\nenv = {A_TOKEN = 'y'}\n",
            1,
            "`mcp.a.env` holds `A_TOKEN`, a secret: name a file in `env_file` or a variable in `env_env`",
        ),
        (
            "[mcp.a]\nurl = 'http://h/'\nheaders = {Authorization = 'y'}\n",
            1,
            "`mcp.a.headers` holds `Authorization`, a secret: name a file in `headers_file` or a variable in `headers_env`",
        ),
        (
            "[mcp.a]\ncommand = 'x'\nenv = {A = 'y'}\nenv_env = {A = 'B'}\n",
            1,
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
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.message.starts_with(message), "{text:?}: {error}");
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(!error.message.contains("'y'"), "{error}");
    }
}
