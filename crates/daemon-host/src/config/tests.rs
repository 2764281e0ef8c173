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
