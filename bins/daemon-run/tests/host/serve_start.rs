//! Start and stop of a host, and the homes and configurations it refuses.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use serde_json::json;

use crate::rpc::Rpc;
use crate::world::{World, eventually};

#[test]
fn the_ready_line_says_where_the_host_is_and_nothing_follows_it() {
    let world = World::pushed();
    let host = world.serve();
    let text = |name: &str| host.ready[name].as_str().expect(name).to_owned();
    let (http, socket, login) = (text("http"), text("socket"), text("login_url"));
    assert_eq!(
        host.line,
        format!(
            "{{\"schema_version\":1,\"ready\":true,\"http\":\"{http}\",\"socket\":\"{socket}\",\"pid\":{},\"login_url\":\"{login}\"}}\n",
            host.pid()
        )
    );
    assert!(http.starts_with("http://127.0.0.1:"), "{http}");
    assert!(login.starts_with(&format!("{http}/login?code=")), "{login}");
    assert_eq!(
        socket,
        world.home.join("run/daemon.sock").display().to_string()
    );
    let mode = |path: &str| {
        let metadata = fs::metadata(world.home.join(path)).expect(path);
        metadata.permissions().mode() & 0o777
    };
    assert_eq!(
        [
            "",
            "run",
            "daemons",
            "worktrees",
            "token",
            "state.db",
            "run/daemon.sock"
        ]
        .map(mode),
        [0o700, 0o700, 0o700, 0o700, 0o600, 0o600, 0o600]
    );
    assert_eq!(host.stop(), (Some(0), String::new()));
    assert!(!world.home.join("run/daemon.sock").exists());
}

#[test]
fn a_second_host_is_told_who_owns_the_home_and_touches_nothing() {
    let world = World::pushed();
    let host = world.serve();
    let inode = || {
        fs::metadata(host.socket())
            .expect("the socket is there")
            .ino()
    };
    let before = (
        inode(),
        fs::read(world.home.join("run/host.lock")).expect("the lock"),
    );
    let (code, answer) = world.json(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(code, 75);
    assert_eq!(
        answer,
        json!({"schema_version": 1, "ok": false, "error": {
            "code": "home-owned",
            "message": format!("the home `{}` is owned by process {}", world.home.display(), host.pid()),
            "help": "stop that process, or use another --home",
        }})
    );
    assert_eq!(
        before,
        (
            inode(),
            fs::read(world.home.join("run/host.lock")).expect("the lock")
        )
    );
    let pong = Rpc::connect(host.socket()).call("ping", &json!({}));
    assert!(pong["result"]["uptime_ms"].is_u64(), "{pong}");
}

#[test]
fn a_socket_that_a_killed_host_left_is_replaced() {
    let world = World::pushed();
    let host = world.serve();
    let socket = host.socket().to_owned();
    host.kill();
    assert!(socket.exists());
    let (code, _) = world.json(&["list"]);
    assert_eq!(code, 0, "without a host, the store answers");
    let host = world.serve();
    let pong = Rpc::connect(host.socket()).call("ping", &json!({}));
    assert!(pong["result"]["uptime_ms"].is_u64(), "{pong}");
}

/// Starts a host with a configuration that cannot be used, and checks how it says so.
#[track_caller]
fn refused(world: &World, config: &str, code: &str, fragment: &str) {
    world.write_config(config);
    let message = world.refusal(code);
    assert!(message.contains(fragment), "{config}: {message}");
}

#[test]
fn a_configuration_that_cannot_be_used_is_refused_with_its_place() {
    let world = World::pushed();
    let rows = [
        ("[host\n", "config-invalid", "config.toml:1:6: "),
        (
            "\n[limits]\n  bogus = 1\n",
            "config-invalid",
            "config.toml:3:3: unknown key `limits.bogus`",
        ),
        (
            "nonsense = 1\n",
            "config-invalid",
            "config.toml:1:1: unknown key `nonsense`",
        ),
        (
            "[limits]\nhost = \"many\"\n",
            "config-invalid",
            "config.toml:2:8: ",
        ),
        (
            "[schedule]\nzone = \"Mars/Base\"\n",
            "config-invalid",
            "`Mars/Base` is not a time zone",
        ),
        (
            "[provider]\ndefault = \"nobody\"\n",
            "config-invalid",
            "config.toml:2:11: `provider.default` names `nobody`",
        ),
        (
            "[provider.x]\nkind = \"oracle\"\n",
            "config-invalid",
            "config.toml:2:8: `provider.x.kind` is `oracle`",
        ),
        (
            "[sources.github]\nsecret_file = \"absent\"\n",
            "source-secret",
            "secret_file: cannot read",
        ),
        (
            "[sources.github]\nsecret_env = \"ABSENT\"\n",
            "source-secret",
            "`ABSENT` is not set",
        ),
        (
            "[uds]\npath = \"config.toml\"\n",
            "cannot-listen",
            "is not a socket",
        ),
        (
            "[host]\nstore = \"paper\"\n",
            "config-invalid",
            "config.toml:2:9: `host.store` is `paper`",
        ),
        (
            "[log]\nlevel = \"a=b=c\"\n",
            "config-invalid",
            "config.toml:2:9: `log.level`: `a=b`",
        ),
    ];
    for (config, code, fragment) in rows {
        refused(&world, config, code, fragment);
    }
    refused(
        &world,
        &format!("[uds]\npath = \"{}\"\n", "s".repeat(200)),
        "cannot-listen",
        "cannot bind",
    );
    fs::write(world.home.join("empty"), "\n").expect("a file");
    refused(
        &world,
        "[sources.github]\nsecret_file = \"empty\"\n",
        "source-secret",
        "sources.github",
    );
    assert!(!world.home.join("run/daemon.sock").exists());
}

#[test]
fn an_address_that_cannot_be_served_is_refused() {
    let world = World::pushed();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = taken
        .local_addr()
        .map(|at| (taken, at))
        .expect("its address");
    let address = taken.1.to_string();
    for (listen, expected, code) in [
        (address.as_str(), 75, "cannot-listen"),
        ("0.0.0.0:0", 78, "public-without-token"),
        ("127.0.0.1:65536", 64, "usage"),
        ("127.0.0.1:-1", 64, "usage"),
        ("nowhere", 64, "usage"),
    ] {
        let (exit, answer) = world.json(&["serve", "--listen", listen]);
        assert_eq!(
            (exit, &answer["error"]["code"]),
            (expected, &json!(code)),
            "{listen}: {answer}"
        );
    }
    let (exit, answer) = world.json(&["serve", "--store", "paper"]);
    assert_eq!((exit, &answer["error"]["code"]), (64, &json!("usage")));
}

#[test]
fn a_token_that_others_can_read_is_refused() {
    let world = World::pushed();
    let token = world.home.join("token");
    for (text, mode, fragment) in [
        ("x".repeat(64), 0o644, "is open to other users"),
        ("short".to_owned(), 0o600, "holds a token of 5 bytes"),
    ] {
        fs::write(&token, text).expect("a token");
        fs::set_permissions(&token, fs::Permissions::from_mode(mode)).expect("its mode");
        let message = world.refusal("token");
        assert!(message.contains(fragment), "{message}");
    }
}

#[test]
fn a_reload_takes_the_new_configuration_and_keeps_the_old_one_if_the_new_is_wrong() {
    let world = World::pushed();
    let host = world.serve();
    world.configure("[limits]\nhost = 0\n");
    let (code, answer) = world.json(&["reload"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (78, &json!("config-invalid")),
        "{answer}"
    );
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(
        message.contains("config.toml:") && message.contains("`limits.host` must be at least 1"),
        "{message}"
    );
    host.signal(rustix::process::Signal::HUP);
    eventually("the refusal is logged", || {
        world
            .log()
            .contains("the configuration is wrong; the old one stays")
            .then_some(())
    });
    world.script("cat > /dev/null\nexit 3\n");
    assert_eq!(
        world.json(&["fire", "pusher"]).1["activation"]["reason"],
        "exit: exit code 3"
    );

    // The new configuration names the other provider.
    world.configure("[policy.daemon.pusher]\nprovider = \"builtin\"\n");
    let (code, answer) = world.json(&["reload"]);
    let told = json!({"schema_version": 1, "generation": 2, "changed": true, "needs_restart": []});
    assert_eq!((code, answer), (0, told));
    let (code, fired) = world.json(&["fire", "pusher"]);
    assert_eq!(
        (code, &fired["runs"][0]["provider"]),
        (0, &json!("builtin")),
        "{fired}"
    );

    world.configure("[uds]\npath = \"run/other.sock\"\n");
    host.signal(rustix::process::Signal::HUP);
    eventually("the reload is logged", || {
        world.log().contains("uds.path").then_some(())
    });
    let (code, fired) = world.json(&["fire", "pusher"]);
    assert_eq!(
        code, 75,
        "the host still owns the home, and does not listen there: {fired}"
    );
}
