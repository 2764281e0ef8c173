//! What went by without a word: invalid daemon files, links, text that hides, pages of other sites, secrets open to all.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;

use crate::fields::Shown as _;
use crate::http;
use crate::world::{World, until, watch};

#[test]
fn a_text_that_hides_is_seen_in_an_event() {
    let (world, host) = World::serving();
    let title = "a\u{202e}b\u{200b}c\u{e0041}d\u{feff}e\u{2066}f";
    let mut body = http::pull_request_opened(7);
    body["pull_request"]["title"] = json!(title);
    body["pull_request"]["head"]["ref"] = json!("b\u{202e}ranch");
    body["sender"]["login"] = json!("an\u{200b}n");
    let answer = host.hook("pull_request", "hidden", &body);
    let id = answer.text("event_ids.0");
    let ran = world.run(&["events", "show", &id]);
    let text = String::from_utf8(ran.stdout).expect("it is text");
    assert!(
        text.contains("a\\u202eb\\u200bc\\udb40\\udc41d\\ufeffe\\u2066f"),
        "{text:?}"
    );
    let listed = String::from_utf8(world.run(&["events"]).stdout).expect("it is text");
    for text in [text, listed] {
        assert!(text.contains("an⟨U+200B⟩n"), "{text:?}");
        assert!(
            !text.contains(['\u{200b}', '\u{202e}', '\u{e0041}']),
            "{text:?}"
        );
    }
}

#[test]
fn what_a_page_of_another_site_asks_for_is_refused() {
    let (_world, host) = World::serving();
    let link = host.ready["login_url"].as_str().expect("a link").to_owned();
    let path = link.split_once(host.address()).expect("our address").1;
    let login = host.open("GET", path, &[]);
    let cookie = login.header("set-cookie").expect("a cookie");
    let cookie = cookie.split(';').next().expect("a value").to_owned();
    let own = host.ready["http"].as_str().expect("a URL").to_owned();
    let post = |headers: &[(&str, &str)]| {
        let all = [&[("Cookie", cookie.as_str())], headers].concat();
        http::ask(host.address(), "POST", "/api/v1/hold", &all, b"").status
    };
    for (headers, status) in [
        (vec![("Sec-Fetch-Site", "cross-site")], 403),
        (vec![("Sec-Fetch-Site", "same-site")], 403),
        (
            vec![("Origin", own.as_str()), ("Sec-Fetch-Site", "cross-site")],
            403,
        ),
        (
            vec![
                ("Sec-Fetch-Site", "same-origin"),
                ("Sec-Fetch-Site", "cross-site"),
            ],
            403,
        ),
        (vec![("Sec-Fetch-Site", "none")], 202),
        (vec![("Sec-Fetch-Site", "same-origin")], 202),
        (vec![("Origin", own.as_str())], 202),
        (
            vec![("Origin", own.as_str()), ("Sec-Fetch-Site", "same-origin")],
            202,
        ),
    ] {
        assert_eq!(post(&headers), status, "{headers:?}");
    }
    // A link on another site may lead to a page, which changes nothing.
    let follow = [
        ("Cookie", cookie.as_str()),
        ("Sec-Fetch-Site", "cross-site"),
    ];
    assert_eq!(host.open("GET", "/runs", &follow).status, 200);
}

#[test]
fn a_secret_that_others_can_read_outside_the_home_is_refused() {
    let world = World::pushed();
    let file = world.beside("hook");
    fs::write(&file, "outside-the-home-0123456789\n").expect("a secret");
    let name = file.display().to_string();
    for (more, key) in [
        (
            format!("[sources.slack]\nsecret_file = {name:?}\n"),
            "sources.slack.secret_file",
        ),
        (
            format!("[sources.slack]\ntoken_file = {name:?}\nsecret_file = \"hook-secret\"\n"),
            "sources.slack.token_file",
        ),
        (
            format!("[provider.m]\nkind = \"openai\"\nmodel = \"m\"\nkey_file = {name:?}\n"),
            "provider.m.key_file",
        ),
        (
            format!("[mcp.a]\ncommand = \"sh\"\nenv_file = {{ KEY = {name:?} }}\n"),
            "mcp.a.env_file.KEY",
        ),
    ] {
        world.configure(&more);
        for mode in [0o644, 0o604, 0o606] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("its mode");
            let (exit, answer) = world.json(&["serve", "--listen", "127.0.0.1:0"]);
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(
                exit == 78 && message.contains(key) && message.contains("open to other users"),
                "{mode:o} {more}: {exit} {answer}"
            );
        }
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("its mode");
        world.serve();
    }
    // Inside the home the mode of its directory protects it.
    let inside = world.home.join("hook-secret");
    fs::set_permissions(&inside, fs::Permissions::from_mode(0o644)).expect("its mode");
    world.configure("");
    world.serve();
}

#[test]
fn two_repositories_with_one_daemon_name_the_flag() {
    let world = World::pushed();
    let other = world.beside("other");
    let clone = [
        world.repo.display().to_string(),
        other.display().to_string(),
    ];
    world.git(&["clone", "--quiet", &clone[0], &clone[1]]);
    world.configure(&format!(
        "[[repo]]\npath = {:?}\nname = \"o/other\"\n",
        clone[1]
    ));
    let host = world.serve();
    let (code, answer) = world.json(&["show", "pusher"]);
    let error = &answer["error"];
    let message = format!("{} {}", error["message"], error["help"]);
    assert!(
        code == 64 && message.contains("--repo DIR") && message.contains("?repo="),
        "{answer}"
    );
    assert_eq!(world.json(&["show", "pusher", "--repo", &clone[1]]).0, 0);
    let answer = host.ask(
        "GET",
        "/api/v1/daemons/pusher?repo=o/other",
        &serde_json::Value::Null,
    );
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn a_dry_run_does_not_advise_to_serve_while_a_host_lives() {
    let world = World::pushed();
    let repo = world.repo.display().to_string();
    let notes = |world: &World| {
        let ran = world.run(&["fire", "pusher", "--repo", &repo, "--dry-run"]);
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        String::from_utf8(ran.stderr).expect("it is text")
    };
    assert!(notes(&world).contains("next: daemon-run serve --repo"));
    let _host = world.serve();
    let told = notes(&world);
    assert!(
        told.contains("next: daemon-run fire pusher") && !told.contains("serve"),
        "{told}"
    );
}

#[test]
fn linked_and_invalid_daemons_are_logged_at_the_start_and_on_change() {
    let world = World::pushed();
    world.write(
        "elsewhere/DAEMON.md",
        &crate::world::daemon_file("linked", &watch(&["when a pull request is opened"])),
    );
    let daemons = world.repo.join(".agents/daemons");
    fs::create_dir_all(daemons.join("linked")).expect("a directory");
    symlink(
        "../../../elsewhere/DAEMON.md",
        daemons.join("linked/DAEMON.md"),
    )
    .expect("a link");
    symlink("../../elsewhere", daemons.join("whole")).expect("a link");
    world.write_daemon("broken", "---\nid: broken\n---\n");
    world.commit("three that do not wake");
    let host = world.serve();
    let expected = [("broken", "D120"), ("linked", "D000"), ("whole", "D000")];
    for (id, code) in expected {
        let line = format!(".agents/daemons/{id}");
        let told = world
            .log()
            .lines()
            .any(|told| told.contains("WARN") && told.contains(&line) && told.contains(code));
        assert!(told, "{id}: {}", world.log());
    }
    let listed = host.list("daemons");
    let of = |id: &str| {
        listed
            .iter()
            .find(|daemon| daemon["id"] == id)
            .cloned()
            .unwrap_or_default()
    };
    for (id, code) in expected {
        let daemon = of(id);
        let codes = daemon["diagnostics"]
            .as_array()
            .expect(id)
            .iter()
            .map(|found| found["code"].clone());
        assert!(
            daemon["valid"] == false && codes.clone().any(|found| found == code),
            "{id}: {daemon}"
        );
    }
    let before = world.log().len();
    world.write_daemon("later", "---\nid: later\n---\n");
    world.commit("one more");
    until("the new one is told", || {
        world.log()[before..].contains(".agents/daemons/later")
    });
    assert!(
        !world.log()[before..].contains("daemons/broken"),
        "what did not change is told once"
    );
}

#[test]
fn a_link_inside_the_references_that_stays_in_the_repository_is_its_content() {
    let world = World::pushed();
    let daemon = world.repo.join(".agents/daemons/pusher");
    world.write("docs/style.md", "house style\n");
    world.write(".agents/daemons/pusher/references/own.md", "own\n");
    symlink("own.md", daemon.join("references/alias.md")).expect("a link");
    symlink(
        "../../../../docs/style.md",
        daemon.join("references/style.md"),
    )
    .expect("a link");
    symlink("../../../../docs", daemon.join("references/all")).expect("a link");
    world.commit("link them");
    let host = world.serve();
    let shown = host.get("daemons/pusher");
    let support: Vec<(&str, u64)> = shown["support"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|file| {
            (
                file["path"].as_str().expect("a path"),
                file["bytes"].as_u64().expect("a size"),
            )
        })
        .collect();
    assert_eq!(
        (&shown["daemon"]["valid"], support),
        (
            &json!(true),
            vec![
                ("references/alias.md", 4),
                ("references/all/a.md", 4),
                ("references/all/style.md", 12),
                ("references/own.md", 4),
                ("references/style.md", 12),
            ]
        ),
        "{shown}"
    );
    world.script("cat > /dev/null\ncat \"$DAEMON_CONTEXT/support/references/style.md\"\n");
    let (_, fired) = world.json(&["fire", "pusher"]);
    assert_eq!(fired["runs"][0]["result_preview"], "house style", "{fired}");
    let rev = shown["daemon"]["rev"].clone();
    drop(host);
    let repo = world.repo.display().to_string();
    let (_, dry) = world.json(&["fire", "pusher", "--repo", &repo, "--dry-run"]);
    assert_eq!(dry["plan"]["rev"], rev, "{dry}");

    // A link that leaves the repository is refused as before.
    symlink("/etc/passwd", daemon.join("references/out.md")).expect("a link");
    world.commit("leave");
    let host = world.serve();
    let shown = host.get("daemons/pusher");
    assert_eq!(shown["daemon"]["valid"], false, "{shown}");
}

#[test]
fn daemons_in_a_linked_directory_are_logged_at_the_start() {
    for (path, target) in [
        (".agents", "elsewhere"),
        (".agents/daemons", "../elsewhere"),
    ] {
        let world = World::pushed();
        fs::rename(world.repo.join(path), world.repo.join("elsewhere")).expect("it moves");
        symlink(target, world.repo.join(path)).expect("a link");
        world.commit("a link");
        let _host = world.serve();
        let line = format!("no daemon is read: `{path}` is a symbolic link");
        until(&line, || world.log().contains(&line));
    }
}
