//! Start and stop of a host, and who owns its home.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use serde_json::json;

use crate::rpc::Rpc;
use crate::world::World;

#[test]
fn the_ready_line_has_the_addresses_of_the_host_and_nothing_follows_it() {
    let (world, host) = World::serving();
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
fn a_second_host_names_the_owner_of_the_home_and_changes_nothing() {
    let (world, host) = World::serving();
    let inode = || {
        fs::metadata(host.socket())
            .expect("the socket is there")
            .ino()
    };
    let before = (
        inode(),
        fs::read(world.home.join("run/host.lock")).expect("the lock"),
    );
    let answer = shown!(world.json(&["serve", "--listen", "127.0.0.1:0"]), {"$?": 75});
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
    let (world, host) = World::serving();
    let socket = host.socket().to_owned();
    host.kill();
    assert!(socket.exists());
    shows!(world.json(&["list"]), {"$?": 0}, "without a host, the store answers");
    let host = world.serve();
    let pong = Rpc::connect(host.socket()).call("ping", &json!({}));
    assert!(pong["result"]["uptime_ms"].is_u64(), "{pong}");
}
