use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use daemon_process::{ByteCount, Tool};
use daemon_provider::inputs;

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
        json!({"name": "docs", "command": "docs-server", "args": ["-m", "a \"b\""], "env": {"KEY": "k-1-k-1"}}),
        json!({"name": "hub", "command": "/bin/hub", "env": {"KEY": "k-2-k-2"}}),
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
    let mounted = mount(Agent::Claude, &request).unwrap();
    let path = folder.path().join("private/mcp.json");
    assert_eq!(
        shown(&mounted),
        (vec!["--mcp-config", path.to_str().unwrap()], Vec::new())
    );
    assert_eq!(mounted.readable, std::slice::from_ref(&path));
    let config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(
        config,
        json!({"mcpServers": {
            "docs": {"type": "stdio", "command": "docs-server", "args": ["-m", "a \"b\""], "env": {"KEY": "k-1-k-1"}},
            "hub": {"type": "stdio", "command": "/bin/hub", "args": [], "env": {"KEY": "k-2-k-2"}},
        }})
    );
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(path.parent().unwrap()), mode(&path)), (0o700, 0o600));
    request.private = None;
    mount(Agent::Claude, &request).unwrap_err();
}

#[test]
fn codex_receives_names_of_variables_and_a_shell_gives_their_values_to_each_server() {
    let request = request(&both());
    let mounted = mount(Agent::Codex, &request).unwrap();
    let expected = [
        "-c",
        "mcp_servers.docs.command=\"/bin/sh\"",
        "-c",
        r#"mcp_servers.docs.args=["-c", "export KEY=\"$DAEMON_MCP_0\"; exec 'docs-server' '-m' 'a \"b\"'"]"#,
        "-c",
        "mcp_servers.docs.env_vars=[\"DAEMON_MCP_0\"]",
        "-c",
        "mcp_servers.docs.default_tools_approval_mode=\"approve\"",
        "-c",
        "mcp_servers.hub.command=\"/bin/sh\"",
        "-c",
        r#"mcp_servers.hub.args=["-c", "export KEY=\"$DAEMON_MCP_1\"; exec '/bin/hub'"]"#,
        "-c",
        "mcp_servers.hub.env_vars=[\"DAEMON_MCP_1\"]",
        "-c",
        "mcp_servers.hub.default_tools_approval_mode=\"approve\"",
        "-c",
        "shell_environment_policy.exclude=[\"DAEMON_MCP_0\", \"DAEMON_MCP_1\"]",
    ];
    let variables = vec![("DAEMON_MCP_0", "k-1-k-1"), ("DAEMON_MCP_1", "k-2-k-2")];
    assert_eq!(shown(&mounted), (expected.to_vec(), variables));
}

#[test]
fn the_shell_of_codex_passes_arguments_and_values_on_as_they_are() {
    let value = "s-1 $HOME \"x\" `id` 'y'";
    let request = request(&[
        json!({"name": "a", "command": "/bin/sh", "args": ["-c", "echo \"$1 $KEY\"", "-", "it's"], "env": {"KEY": value}}),
    ]);
    let mounted = mount(Agent::Codex, &request).unwrap();
    let (args, variables) = shown(&mounted);
    assert!(args.iter().all(|argument| !argument.contains("s-1")));
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
        format!("it's {value}\n")
    );
}

#[test]
fn opencode_finds_its_servers_next_to_the_configuration_of_the_host() {
    let mut request = request(&both());
    request
        .environment
        .insert("OPENCODE_CONFIG_CONTENT".into(), r#"{"model":"m"}"#.into());
    let mounted = mount(Agent::Opencode, &request).unwrap();
    let (args, variables) = shown(&mounted);
    assert_eq!(
        (args, variables.len(), variables[0].0),
        (Vec::new(), 1, "OPENCODE_CONFIG_CONTENT")
    );
    let config: Value = serde_json::from_str(variables[0].1).unwrap();
    assert_eq!(
        config,
        json!({"model": "m", "mcp": {
            "docs": {"type": "local", "command": ["docs-server", "-m", "a \"b\""], "environment": {"KEY": "k-1-k-1"}, "enabled": true},
            "hub": {"type": "local", "command": ["/bin/hub"], "environment": {"KEY": "k-2-k-2"}, "enabled": true},
        }})
    );
}

#[test]
fn no_agent_connects_to_a_server_over_http_itself() {
    for agent in Agent::ALL {
        let request = request(&[json!({"name": "hub", "type": "http", "url": "http://h/mcp"})]);
        let error = mount(agent, &request).unwrap_err();
        assert_eq!(error.to_string(), "the MCP server `hub` is not a program");
    }
}

#[test]
fn each_agent_waits_as_long_as_the_host_does_for_the_result_of_a_tool() {
    let folder = tempfile::tempdir().unwrap();
    let request = RunRequest {
        private: Some(folder.path().join("private")),
        mcp_wait: Some(std::time::Duration::from_secs(5_400)),
        ..request(&[json!({"name": "docs", "command": "docs"})])
    };
    let claude = mount(Agent::Claude, &request).unwrap();
    let expected = vec![("MCP_TOOL_TIMEOUT", "5400000")];
    assert_eq!(shown(&claude).1, expected);
    let codex = mount(Agent::Codex, &request).unwrap();
    let (args, _) = shown(&codex);
    let expected = "mcp_servers.docs.tool_timeout_sec=5400";
    assert!(args.contains(&expected), "{args:?}");
    let opencode = mount(Agent::Opencode, &request).unwrap();
    let config: Value = serde_json::from_str(shown(&opencode).1[0].1).unwrap();
    assert_eq!(config["mcp"]["docs"]["timeout"], 5_400_000);
}
