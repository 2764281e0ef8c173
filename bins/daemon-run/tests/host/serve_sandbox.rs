//! What separates a run from other runs and from the host, level by level.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::world::{World, executable, watch};

/// Returns the levels above 1 that can be reached here, and says loudly what cannot be tried.
#[expect(
    clippy::print_stdout,
    reason = "the runner counts what is skipped from this line"
)]
pub(crate) fn levels() -> Vec<u8> {
    let report = daemon_process::probe();
    let reached = report.level.number();
    if reached < 3 {
        println!("skipped: above level {reached}: {}", report.detail);
    }
    (2..=reached).collect()
}

/// Writes a program into a package of its own, the only directory around it that its runs see.
pub(crate) fn program(world: &World, name: &str, body: &str) -> PathBuf {
    let directory = world.beside(&format!("programs/{name}"));
    fs::create_dir_all(&directory).expect("a directory");
    fs::write(directory.join("package.json"), "{}").expect("a manifest");
    let path = directory.join(name);
    executable(&path, &format!("#!/bin/sh\n{body}"));
    path
}

/// Makes a world whose daemons are named like the providers that run them.
pub(crate) fn inhabited(names: &[&str]) -> World {
    let wakes = watch(&["when a commit is pushed to main"]);
    let daemons: Vec<(&str, &str)> = names.iter().map(|name| (*name, wakes.as_str())).collect();
    World::new(&daemons)
}

/// Watches the repository with providers that are programs, and more behind.
pub(crate) fn configure(world: &World, providers: &[(&str, &Path)], more: &str) {
    let sections = providers.iter().map(|(name, path)| {
        let path = path.display().to_string();
        format!("\n[provider.{name}]\ncommand = {path:?}\n")
    });
    let own = providers
        .iter()
        .map(|(name, _)| format!("\n[policy.daemon.{name}]\nprovider = {name:?}\n"));
    world.watch_with(&format!(
        "{}\n{more}{}",
        sections.collect::<String>(),
        own.collect::<String>()
    ));
}

/// Fires the daemon and returns the folder of its run, which must have ended well.
pub(crate) fn fire(world: &World, provider: &str) -> PathBuf {
    let (_, fired) = world.json(&["fire", provider]);
    shows!(fired, {"activation.state": "succeeded"}, "{fired} {}", world.log());
    folder(&fired)
}

fn folder(fired: &Value) -> PathBuf {
    PathBuf::from(fired["runs"][0]["folder"].as_str().expect("a folder"))
}

pub(crate) fn document(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("daemon.json")).expect("it is there");
    serde_json::from_str(&text).expect("JSON")
}

/// A stand-in for `claude` that asks the server it is given, twice at once, then tries the host's own doors.
const ASKS: &str = include_str!("programs/sandbox-asks.sh");

#[test]
fn a_confined_run_uses_the_hosts_tools_and_nothing_else_of_the_host() {
    for level in levels() {
        let world = inhabited(&["claude"]);
        let home = world.home.display().to_string();
        let asks = program(&world, "asks", &ASKS.replace("HOME_OF_HOST", &home));
        configure(&world, &[("claude", &asks)], "kind = \"claude\"\n");
        world.at_level(level);
        let host = world.serve();
        let folder = fire(&world, "claude");
        let sandbox = &document(&folder)["sandbox"];
        assert_eq!(sandbox["level"], level, "{sandbox}");
        let told =
            |name: &str| fs::read_to_string(folder.join("session").join(name)).unwrap_or_default();
        let answer = |name: &str| {
            let text = told(&format!("answer-{name}"));
            let last = text.lines().last().unwrap_or("null").to_owned();
            let answer: Value = serde_json::from_str(&last).expect("JSON");
            let trouble = told(&format!("trouble-{name}"));
            assert!(
                answer["result"].is_object(),
                "level {level}: {name}: {text} {trouble}"
            );
            let result = &answer["result"];
            (
                result["isError"] == true,
                result["structuredContent"].clone(),
            )
        };
        assert!(!answer("set").0);
        for name in ["one", "two"] {
            assert_eq!(answer(name), (false, json!({"value": {"n": 1}})));
        }
        assert!(!answer("three").0);
        let (is_error, refusal) = answer("stranger");
        let message = "a process of a run shows the token of its run first";
        assert_eq!((is_error, &refusal["message"]), (true, &json!(message)));
        assert_ne!(told("socket"), "connected\n");
        assert_ne!(told("held"), "0\n", "{}", told("hold"));
        // Had it held the host, this one would wait for ever.
        fire(&world, "claude");
        assert!(!folder.join("private").exists());
        host.stop();
    }
}

#[test]
fn a_run_records_the_level_that_its_provider_permits() {
    let world = inhabited(&["any"]);
    let any = program(&world, "any", "cat > /dev/null\n");
    configure(&world, &[("any", &any)], "");
    world.unconfined();
    let host = world.serve();
    let sandbox = document(&fire(&world, "any"))["sandbox"].clone();
    let detail =
        "`provider.any.sandbox_max` permits no more; network not limited at this level; processes ";
    shows!(sandbox, {"level": 1}, "{sandbox}");
    assert!(sandbox.text("detail").starts_with(detail), "{sandbox}");
    host.stop();
}

#[test]
fn doctor_names_the_configuration_if_it_is_the_cause() {
    if levels().is_empty() {
        return;
    }
    let world = inhabited(&["any"]);
    let any = program(&world, "any", "cat > /dev/null\n");
    let absent = world.beside("absent").display().to_string();
    configure(&world, &[("any", &any)], "");
    let path = world.home.join("config.toml");
    let text = fs::read_to_string(&path).expect("the configuration");
    let section = "[provider.any]\n";
    assert!(text.contains(section), "{text}");
    let limited = format!("{section}sandbox_max = 1\nreadable = [{absent:?}]\n");
    let text = text.replace(section, &limited);
    fs::write(
        &path,
        text.replace("sandbox_min = 1\n", "sandbox_min = 2\n"),
    )
    .expect("the configuration");
    let (_, report) = world.json(&["doctor"]);
    let checks = report["checks"].as_array().expect("a list");
    let found = |name: &str, part: &str| {
        let mut checks = checks.iter();
        let found =
            checks.find(|check| check["name"] == name && check.text("detail").contains(part));
        found
            .unwrap_or_else(|| panic!("{name}: {report:#}"))
            .clone()
    };
    let refused = found("sandbox", "any: refused: ");
    let remedy = "remove `provider.any.sandbox_max`; this machine reaches level ";
    assert!(refused.text("remedy").starts_with(remedy), "{refused}");
    let unseen = found(
        "provider any",
        &format!("`{absent}` in `readable` does not exist"),
    );
    shows!(unseen, {"status": "warn"});
}

#[test]
fn a_run_without_a_network_is_isolated_under_every_policy() {
    if !levels().contains(&3) {
        return;
    }
    let world = inhabited(&["open", "closed"]);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let body = format!(
        "cat > /dev/null\nperl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => \"127.0.0.1:{port}\", Timeout => 5) or exit 1' \
         && echo reached > \"$HOME/network\" || echo none > \"$HOME/network\"\n"
    );
    let (open, closed) = (
        program(&world, "open", &body),
        program(&world, "closed", &body),
    );
    configure(&world, &[("open", &open), ("closed", &closed)], "");
    let path = world.home.join("config.toml");
    let text = fs::read_to_string(&path).expect("the configuration");
    let text = text.replace(
        "[provider.closed]\n",
        "[provider.closed]\nnetwork = false\n",
    );
    let text = text.replace("[provider.open]\n", "[provider.open]\nnetwork = true\n");
    fs::write(&path, text).expect("the configuration");
    shows!(world.json(&["fire", "closed", "--dry-run", "--repo", "repo"]), {"$?": 0, "plan.sandbox": 3});
    let host = world.serve();
    for (provider, network, level) in [("open", "reached\n", 3), ("closed", "none\n", 3)] {
        let folder = fire(&world, provider);
        let found = fs::read_to_string(folder.join("session/network")).expect("it tried");
        assert_eq!(
            (found.as_str(), &document(&folder)["sandbox"]["level"]),
            (network, &json!(level))
        );
    }
    let detail = document(&fire(&world, "closed"))["sandbox"]["detail"].clone();
    let detail = detail.as_str().expect("a text");
    assert!(
        detail.contains("; no network but a loopback of its own; processes "),
        "{detail}"
    );
    host.stop();
}

/// Runs a command of the binary where no further user namespace can be made; `None` where that cannot be had.
#[expect(
    clippy::print_stdout,
    reason = "the runner counts what is skipped from this line"
)]
fn without_namespaces(world: &World, args: &[&str]) -> Option<(i32, Value)> {
    let command = world.command(&[args, &["--json"]].concat());
    let mut outer = Command::new("unshare");
    outer.args(["--user", "--map-root-user", "sh", "-c"]);
    outer
        .arg("echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"")
        .arg("sh");
    outer.arg(command.get_program()).args(command.get_args());
    outer.current_dir(command.get_current_dir().expect("it has one"));
    let output = outer.output().expect("unshare runs");
    let value = serde_json::from_slice(&output.stdout).ok();
    if value.is_none() {
        println!("skipped: user namespaces cannot be limited here: {output:?}");
    }
    Some((output.status.code()?, value?))
}

#[test]
fn without_namespaces_isolation_is_refused_and_the_doctor_reports_it() {
    if !levels().contains(&3) {
        return;
    }
    let world = inhabited(&["any"]);
    let any = program(&world, "any", "cat > /dev/null\n");
    let fire = ["fire", "any", "--dry-run", "--repo", "repo"];
    configure(
        &world,
        &[("any", &any)],
        "network = false\n[provider]\ndefault = \"any\"\n",
    );
    let Some((code, refused)) = without_namespaces(&world, &fire) else {
        return;
    };
    let message = refused.text("error.message");
    assert_eq!(
        (code, &refused["error"]["code"]),
        (77, &json!("sandbox")),
        "{refused}"
    );
    let begin =
        "the sandbox reaches level 2, `provider.any.network = false` asks for 3: Landlock ABI ";
    assert!(message.starts_with(begin), "{message}");
    assert!(message.contains("; no namespaces: "), "{message}");
    let (code, told) = without_namespaces(&world, &["doctor"]).expect("it worked before");
    let checks = told["checks"].as_array().expect("a list").iter();
    let failed: Vec<&Value> = checks
        .filter(|check| check["name"] == "sandbox" && check["status"] == "fail")
        .collect();
    assert_eq!(code, 1, "{told}");
    assert!(
        failed.iter().any(|check| check["detail"]
            .as_str()
            .is_some_and(|detail| detail.contains(&message))),
        "{told}"
    );

    configure(
        &world,
        &[("any", &any)],
        "[provider]\ndefault = \"any\"\n[policy]\nsandbox_min = 3\n",
    );
    let (code, refused) = without_namespaces(&world, &fire).expect("it worked before");
    let message = refused["error"]["message"].as_str().expect("a message");
    assert_eq!(code, 77, "{refused}");
    assert!(
        message.starts_with("the sandbox reaches level 2, policy asks for 3: "),
        "{message}"
    );
    shows!(world.json(&fire), {"$?": 0, "plan.sandbox": 3});
}

#[test]
fn a_run_over_a_resource_limit_fails_and_its_folder_names_the_limit() {
    let world = inhabited(&["many", "large"]);
    let many = program(
        &world,
        "many",
        "cat > /dev/null\nfor i in $(seq 300); do sleep 1000 & done\nwait\n",
    );
    let large = program(&world, "large", "cat > /dev/null\ntruncate -s 2G file\n");
    configure(&world, &[("many", &many), ("large", &large)], "");
    let host = world.serve();
    for (provider, message) in [
        (
            "many",
            // It is killed, or a control group refuses it a process and it ends by itself.
            [
                "many CLI terminated by the host (resource, SIGTERM, then SIGKILL, code -9): started more processes than it may",
                "many CLI terminated by the host (resource, SIGTERM, code 2): started more processes than it may",
            ],
        ),
        ("large", ["wrote a file larger than it may"; 2]),
    ] {
        let (_, fired) = world.json(&["fire", provider]);
        let run = document(&folder(&fired));
        let expected = message
            .map(|message| json!({"type": "resource", "message": message, "class": "final"}));
        assert_eq!(run["state"], "failed", "{run}");
        assert!(expected.contains(&run["error"]), "{run}");
    }
    host.stop();
}
