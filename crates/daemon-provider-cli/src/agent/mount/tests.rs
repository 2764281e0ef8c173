use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use daemon_process::{ByteCount, Tool};
use daemon_provider::inputs;
use daemon_provider::redact::Redactor;

use super::*;

fn request(servers: &[Value]) -> RunRequest {
    let run_id = "em-1-20260102-030405-0a1b2c".parse().unwrap();
    RunRequest {
        mcp: inputs::mcp(servers).unwrap(),
        ..RunRequest::new(run_id, PathBuf::from("/tmp"))
    }
}

fn both() -> [Value; 2] {
    [
        json!({"name": "docs", "command": "docs-server", "args": ["-m", "a \"b\""], "env": {"DOCS_KEY": "k-1-k-1"}}),
        json!({"name": "hub", "type": "http", "url": "https://hub.example/mcp", "headers": {"X-Key": "k-2-k-2"}}),
    ]
}

fn shown(mounted: &Mounted) -> (Vec<&str>, Vec<(&str, &str)>) {
    let args = mounted.args.iter().map(String::as_str).collect();
    let variables = mounted.environment.iter();
    let variables =
        variables.map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap()));
    (args, variables.collect())
}

#[test]
fn claude_reads_a_file_that_other_users_cannot_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = request(&both());
    request.private = Some(folder.path().join("private"));
    let mounted = mount(Agent::Claude, &request, None).unwrap();
    let path = folder.path().join("private/mcp.json");
    assert_eq!(
        shown(&mounted),
        (vec!["--mcp-config", path.to_str().unwrap()], Vec::new())
    );
    let config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(
        config,
        json!({"mcpServers": {
            "docs": {"type": "stdio", "command": "docs-server", "args": ["-m", "a \"b\""], "env": {"DOCS_KEY": "k-1-k-1"}},
            "hub": {"type": "http", "url": "https://hub.example/mcp", "headers": {"X-Key": "k-2-k-2"}},
        }})
    );
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(path.parent().unwrap()), mode(&path)), (0o700, 0o600));
    request.private = None;
    mount(Agent::Claude, &request, None).unwrap_err();
}

#[test]
fn codex_receives_names_of_variables_and_finds_the_secrets_there() {
    let request = request(&both());
    let mounted = mount(Agent::Codex, &request, None).unwrap();
    let expected = [
        "-c",
        "mcp_servers.docs.command=\"docs-server\"",
        "-c",
        "mcp_servers.docs.args=[\"-m\", \"a \\\"b\\\"\"]",
        "-c",
        "mcp_servers.docs.env_vars=[\"DOCS_KEY\"]",
        "-c",
        "mcp_servers.docs.default_tools_approval_mode=\"approve\"",
        "-c",
        "mcp_servers.hub.url=\"https://hub.example/mcp\"",
        "-c",
        "mcp_servers.hub.env_http_headers={\"X-Key\" = \"DAEMON_MCP_1\"}",
        "-c",
        "mcp_servers.hub.default_tools_approval_mode=\"approve\"",
        "-c",
        "shell_environment_policy.exclude=[\"DAEMON_MCP_1\", \"DOCS_KEY\"]",
    ];
    let variables = vec![("DAEMON_MCP_1", "k-2-k-2"), ("DOCS_KEY", "k-1-k-1")];
    assert_eq!(shown(&mounted), (expected.to_vec(), variables));
}

#[test]
fn codex_starts_a_server_through_a_shell_where_names_collide_or_arguments_are_secret() {
    let request = request(&[
        json!({"name": "a", "command": "/bin/echo", "args": ["it's", "--token", "s-1 $HOME \"x\"", "--key=plain"],
               "env": {"PATH": "/odd", "OTHER": "o-1-o-1"}}),
        json!({"name": "b", "command": "b", "env": {"OTHER": "o-2-o-2"}}),
        json!({"name": "c", "command": "c", "env": {"OTHER": "o-3-o-3"}}),
    ]);
    let mounted = mount(Agent::Codex, &request, None).unwrap();
    let (args, variables) = shown(&mounted);
    let secrets = request.mcp.iter().flat_map(McpRegistration::secrets);
    let redactor = Redactor::of(secrets);
    for argument in &args {
        assert_eq!(redactor.text(argument), *argument);
    }
    assert_eq!(args[1], "mcp_servers.a.command=\"/bin/sh\"");
    let script = args[3].strip_prefix("mcp_servers.a.args=").unwrap();
    let script: Vec<String> = serde_json::from_str(script).unwrap();
    let tool = Tool::new("/bin/sh")
        .args(&script)
        .envs(variables.iter().copied());
    let output = tool
        .run(std::time::Duration::from_secs(20), ByteCount(1024))
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "it's --token s-1 $HOME \"x\" --key=plain\n"
    );
    assert!(variables.iter().all(|(name, _)| *name != "PATH"));
    assert!(args.contains(&"mcp_servers.b.env_vars=[\"OTHER\"]"));
    assert!(args.contains(&"mcp_servers.c.command=\"/bin/sh\""));
}

#[test]
fn codex_reaches_an_address_that_holds_a_secret_through_a_bridge_and_is_never_given_it() {
    let request = request(&[
        json!({"name": "a", "type": "http", "url": "https://h.example/?key=s3cr3t", "headers": {"X-Key": "k-2-k-2"}}),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let bridge = folder.path().join("it's a bridge");
    let text = "#!/bin/sh\necho \"$@ $DAEMON_MCP_URL $DAEMON_MCP_HEADERS\"\n";
    std::fs::write(&bridge, text).unwrap();
    std::fs::set_permissions(&bridge, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mounted = mount(Agent::Codex, &request, Some(&bridge)).unwrap();
    let (args, variables) = shown(&mounted);
    assert!(
        !args
            .iter()
            .any(|arg| arg.contains("s3cr3t") || arg.contains("k-2"))
    );
    assert_eq!(args[1], "mcp_servers.a.command=\"/bin/sh\"");
    let script = args[3].strip_prefix("mcp_servers.a.args=").unwrap();
    let script: Vec<String> = serde_json::from_str(script).unwrap();
    let tool = Tool::new("/bin/sh")
        .args(&script)
        .envs(variables.iter().copied());
    let output = tool
        .run(std::time::Duration::from_secs(20), ByteCount(1024))
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "mcp --through https://h.example/?key=s3cr3t {\"X-Key\":\"k-2-k-2\"}\n"
    );
    // Without one it is refused.
    let error = mount(Agent::Codex, &request, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the address of the MCP server `a` holds a secret, and codex takes addresses as arguments only"
    );
}

#[test]
fn opencode_finds_its_servers_next_to_the_configuration_of_the_host() {
    let mut request = request(&both());
    request
        .environment
        .insert("OPENCODE_CONFIG_CONTENT".into(), r#"{"model":"m"}"#.into());
    let mounted = mount(Agent::Opencode, &request, None).unwrap();
    let (args, variables) = shown(&mounted);
    assert_eq!(
        (args, variables.len(), variables[0].0),
        (Vec::new(), 1, "OPENCODE_CONFIG_CONTENT")
    );
    let config: Value = serde_json::from_str(variables[0].1).unwrap();
    assert_eq!(
        config,
        json!({"model": "m", "mcp": {
            "docs": {"type": "local", "command": ["docs-server", "-m", "a \"b\""], "environment": {"DOCS_KEY": "k-1-k-1"}, "enabled": true},
            "hub": {"type": "remote", "url": "https://hub.example/mcp", "headers": {"X-Key": "k-2-k-2"}, "enabled": true},
        }})
    );
}
