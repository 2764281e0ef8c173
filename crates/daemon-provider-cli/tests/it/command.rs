//! The input of a command and the meaning of its lines.

use std::fs;
use std::time::Duration;

use daemon_egress::EgressList;
use daemon_process::{Enclosure, Network, SandboxLevel};
use daemon_provider::{
    Asked, Limits, MicroUsd, Permissions, Provider as _, RunEvent, SessionId, ToolStatus, Usage,
};
use daemon_provider_cli::{CommandConfig, InputFormat};
use serde_json::json;

use crate::kit::{Bench, done, story};

#[tokio::test]
async fn the_prompt_arrives_byte_for_byte_and_ends() {
    let bench = Bench::new();
    for prompt in ["--version\n", "", &"é\r\n\0-".repeat(60_000)] {
        let mut request = bench.request();
        request.prompt = prompt.as_bytes().to_vec();
        let config = bench.config("cat > copy; echo done");
        let mut run = bench.provider(config).start(request).await.unwrap();
        assert_eq!(story(&mut *run).await.end, done("done"));
        assert_eq!(
            fs::read(bench.path("worktree/copy")).unwrap(),
            prompt.as_bytes()
        );
    }
}

#[tokio::test]
async fn the_json_form_holds_everything() {
    let bench = Bench::new();
    let mut request = bench.request();
    request.prompt = "\"quoted\" \u{1f41e}\n".repeat(20_000).into_bytes();
    request.task = "repair links".to_owned();
    request.context = Some(bench.path("context"));
    request.limits = Limits {
        wall: Duration::from_secs(60),
        idle: None,
        max_turns: Some(3),
        budget: Some(MicroUsd(250_000)),
    };
    let expected = json!({
        "version": 1,
        "run_id": request.run_id.to_string(),
        "task": "repair links",
        "prompt": String::from_utf8(request.prompt.clone()).unwrap(),
        "context": bench.path("context"),
        "worktree": bench.path("worktree"),
        "limits": {"timeout_s": 60.0, "idle_timeout_s": null, "max_turns": 3, "budget_usd": 0.25},
    });
    let mut config = bench.config("cat > copy");
    config.input = InputFormat::Json;
    let mut run = bench.provider(config).start(request).await.unwrap();
    assert_eq!(story(&mut *run).await.end, done(""));
    let copy = fs::read(bench.path("worktree/copy")).unwrap();
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&copy).unwrap(),
        expected
    );
}

#[tokio::test]
async fn the_environment_is_what_is_named_and_the_contract_cannot_be_replaced() {
    let bench = Bench::new();
    let mut request = bench.request();
    request.environment.insert("API_KEY".into(), "k".into());
    request.environment.insert("HOME".into(), "/root".into());
    request.context = Some(bench.path("context"));
    request.outputs = Some(bench.path("outputs.jsonl"));
    let id = request.run_id;
    let mut config = CommandConfig::new("command", "env");
    config.program.search = "/usr/bin:/bin".into();
    let mut run = bench.provider(config).start(request).await.unwrap();
    let mut lines = story(&mut *run).await.stdout;
    lines.sort();
    let path = |name: &str| bench.path(name).display().to_string();
    let expected = [
        "API_KEY=k".to_owned(),
        format!("DAEMON_CONTEXT={}", path("context")),
        format!("DAEMON_OUTPUTS={}", path("outputs.jsonl")),
        format!("DAEMON_RUN_ID={id}"),
        format!("DAEMON_WORKTREE={}", path("worktree")),
        format!("HOME={}", path("home")),
        "PATH=/usr/bin:/bin".to_owned(),
        format!("PWD={}", path("worktree")),
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn lines_with_a_daemon_key_are_events_and_the_last_result_counts() {
    let script = r#"
        echo '{"daemon":"session","id":"abc"}'
        echo '{"daemon":"session","id":"other"}'
        echo banner
        echo '{"daemon":"tool_start","id":"1","name":"grep","args":{"q":"x"}}'
        echo '{"daemon":"tool_end","id":"1","ok":false}'
        echo '{"daemon":"tool_end","id":"2","ok":true}'
        echo '{"daemon":"usage","input":10,"output":2,"cached":1,"thinking":3,"cost_usd":0.5}'
        echo '{"daemon":"usage","input":1}'
        echo '{"daemon":"output","output":{"v":1,"verb":"no_op"}}'
        echo '{"daemon":"result","ok":false,"text":"not yet"}'
        echo '{"daemon":"result","ok":true,"text":"2 links repaired"}'
    "#;
    let bench = Bench::new();
    let story = bench.play(script).await;
    let grep = |status| RunEvent::ToolEnd {
        id: "1".to_owned(),
        name: "grep".to_owned(),
        status,
    };
    let expected = [
        RunEvent::Session("abc".parse().unwrap()),
        RunEvent::ToolStart {
            id: "1".to_owned(),
            name: "grep".to_owned(),
            args: r#"{"q":"x"}"#.to_owned(),
        },
        grep(ToolStatus::Error),
        RunEvent::ToolEnd {
            id: "2".to_owned(),
            name: "unknown".to_owned(),
            status: ToolStatus::Ok,
        },
        RunEvent::Proposed(json!({"v": 1, "verb": "no_op"})),
        RunEvent::Usage {
            usage: Usage {
                input: 11,
                output: 2,
                cached: 1,
                thinking: 3,
                cost: Some(MicroUsd(500_000)),
            },
            raw: json!([{"input": 10, "output": 2, "cached": 1, "thinking": 3, "cost_usd": 0.5}, {"input": 1, "output": 0, "cached": 0, "thinking": 0}]),
        },
    ];
    assert_eq!(story.events, expected);
    assert_eq!(
        (story.stdout, story.end),
        (vec!["banner".to_owned()], done("2 links repaired"))
    );
}

#[tokio::test]
async fn strange_lines_are_text_and_the_run_survives_them() {
    let script = r#"
        echo 'Welcome!'; echo '[1]'; printf '\377\n'
        echo '{"daemon":"session","id":"../x"}'
        echo '{"daemon":"usage","input":-1}'
        head -c 5000000 /dev/zero | tr '\0' x; echo
        echo end
    "#;
    let bench = Bench::new();
    let story = bench.play(script).await;
    let long = "x".repeat(64 << 10);
    let lines = [
        "Welcome!",
        "[1]",
        "\\xff",
        r#"{"daemon":"session","id":"../x"}"#,
        r#"{"daemon":"usage","input":-1}"#,
        &long,
        "end",
    ];
    assert_eq!(story.stdout, lines);
    let dropped = 5_000_000 - (64 << 10);
    assert_eq!(
        story.events,
        [RunEvent::Dropped {
            lines: 0,
            bytes: dropped
        }]
    );
    assert_eq!(story.end, done(&lines.join("\n")));
}

#[tokio::test]
async fn a_session_can_be_resumed_with_the_arguments_for_it() {
    let bench = Bench::new();
    let mut config = bench.config(r#"echo '{"daemon":"session","id":"s-1"}'"#);
    let mut run = bench.start(config.clone()).await.unwrap();
    story(&mut *run).await;
    assert_eq!(
        run.ask("more").await.unwrap(),
        Asked::Unsupported,
        "no arguments to resume"
    );

    config.resume = Some(vec![
        "-c".to_owned(),
        "echo resumed {session}; cat".to_owned(),
    ]);
    let mut run = bench.start(config.clone()).await.unwrap();
    assert_eq!(
        run.ask("more").await.unwrap(),
        Asked::Unsupported,
        "no session yet"
    );
    story(&mut *run).await;
    let session: SessionId = "s-1".parse().unwrap();
    assert_eq!(
        run.ask("more").await.unwrap(),
        Asked::Resume(session.clone())
    );

    let mut request = bench.request();
    request.resume = Some(session);
    request.prompt = b"more".to_vec();
    let mut run = bench.provider(config).start(request).await.unwrap();
    assert_eq!(story(&mut *run).await.end, done("resumed s-1\nmore"));
}

#[tokio::test]
async fn a_program_that_is_missing_or_in_the_worktree_is_refused_by_name() {
    let bench = Bench::new();
    let own = bench.path("worktree/tool");
    fs::copy("/bin/sh", &own).unwrap();
    let table = [
        ("/nonexistent/claude", "cannot run `/nonexistent/claude`"),
        (
            "claude-that-is-not-there",
            "cannot run `claude-that-is-not-there`",
        ),
        ("./tool", "cannot run `./tool`"),
        (
            own.to_str().unwrap(),
            &format!("cannot run `{}`", own.display()),
        ),
    ];
    for (program, message) in table {
        let config = CommandConfig::new("command", program);
        let error = bench.start(config).await.err().unwrap();
        assert_eq!(error.to_string(), format!("provider `command`: {message}"));
    }
}

#[tokio::test]
async fn a_confined_program_changes_its_worktree_only_if_it_may() {
    let report = daemon_process::probe();
    if report.level < SandboxLevel::Isolated {
        println!("skipped: {}", report.detail);
    }
    let bench = Bench::new();
    fs::write(bench.path("context/event.json"), "{}").unwrap();
    let script = "cat $DAEMON_CONTEXT/event.json; echo x > new && echo written; \
                  echo x > ~/new && echo kept; ls .. || echo hidden";
    let enclosures = [Enclosure::Confined, Enclosure::Isolated(Network::Shared)];
    let permissions = [
        (Permissions::Propose, "{}written\nkept\nhidden"),
        (Permissions::Read, "{}kept\nhidden"),
    ];
    let offered = enclosures
        .iter()
        .filter(|enclosure| enclosure.level() <= report.level);
    let cases = offered.flat_map(|enclosure| permissions.map(|case| (*enclosure, case)));
    for (enclosure, (permissions, stdout)) in cases {
        let mut config = bench.config(script);
        config.program.enclosure = enclosure;
        let mut request = bench.request();
        request.context = Some(bench.path("context"));
        request.permissions = permissions;
        let mut run = bench.provider(config).start(request).await.unwrap();
        assert_eq!(story(&mut *run).await.end, done(stdout));
    }
}

/// Connects to its first argument directly, and to its second through the proxy; prints the result of both.
const DIALS: &str = r#"
use IO::Socket::INET;
my ($direct, $proxied) = @ARGV;
my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $direct, Timeout => 5);
print $s ? "direct\n" : "no direct\n";
my ($proxy) = $ENV{HTTPS_PROXY} =~ m{^http://(.*)$} or exit print "no proxy\n";
$s = IO::Socket::INET->new(PeerAddr => $proxy, Timeout => 5) or exit print "no $proxy\n";
print $s "CONNECT $proxied HTTP/1.1\r\n\r\n";
print((split / /, <$s>)[1], "\n");
"#;

#[tokio::test]
async fn a_program_reaches_the_hosts_of_its_list_alone_and_each_attempt_is_an_event() {
    let report = daemon_process::probe();
    if report.level < SandboxLevel::Isolated {
        println!("skipped: {}", report.detail);
        return;
    }
    let bench = Bench::new();
    fs::write(bench.path("worktree/dial.pl"), DIALS).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let listed = format!("127.0.0.1:{port}");
    let reached = |host: &str, port, allowed| (host.to_owned(), port, allowed);
    for (entries, target, stdout, expected) in [
        (
            vec![listed.as_str()],
            listed.as_str(),
            "direct\n200\n",
            vec![
                reached("127.0.0.1", port, true),
                reached("127.0.0.1", port, true),
            ],
        ),
        (
            vec!["api.test:443"],
            "169.254.169.254:80",
            "no direct\n403\n",
            vec![reached("169.254.169.254", 80, false)],
        ),
        (
            Vec::new(),
            listed.as_str(),
            "no direct\nno proxy\n",
            Vec::new(),
        ),
    ] {
        let mut config = bench.config(&format!("perl dial.pl {port} {target}"));
        config.program.enclosure = Enclosure::Isolated(Network::Loopback);
        config.program.egress = EgressList::parse(&entries).unwrap();
        let story = bench.story(config).await;
        assert_eq!(story.stdout.join("\n") + "\n", stdout, "{story:?}");
        let uses = story.events.iter().filter_map(|event| match event {
            RunEvent::Network(used) => Some((used.host.clone(), used.port, used.allowed)),
            _ => None,
        });
        assert_eq!(uses.collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn a_command_finds_its_servers_in_a_file_that_other_users_cannot_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    let script =
        r#"cat "$DAEMON_MCP"; test -z "$(env | grep s3cret-key)" && echo; echo "$DAEMON_MCP""#;
    let provider = bench.provider(bench.config(script));
    let mut request = bench.request();
    request.private = Some(bench.path("private"));
    let given =
        serde_json::json!({"name": "pages", "command": "pages", "env": {"KEY": "s3cret-key"}});
    request.mcp = daemon_provider::inputs::mcp(&[given]).unwrap();
    let mut run = provider.start(request).await.unwrap();
    let story = story(&mut *run).await;
    let path = bench.path("private").join("mcp.json");
    let told: serde_json::Value = serde_json::from_str(&story.stdout[0]).unwrap();
    assert_eq!(
        told,
        json!({"mcpServers": {"pages": {"type": "stdio", "command": "pages", "args": [], "env": {"KEY": "s3cret-key"}}}})
    );
    assert_eq!(story.stdout[1..], [path.display().to_string()]);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let none = bench.play("echo \"[$DAEMON_MCP]\"").await;
    assert_eq!(none.stdout, ["[]"]);
}
