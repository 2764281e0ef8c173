//! Pages: who sees them, what they hold, and that they are the objects of the commands for programs.

use serde_json::{Value, json};

use crate::http::{self, Answer};
use crate::world::{Host, World, eventually, until, watch};

/// The pages that list something.
const LISTINGS: [&str; 5] = ["runs", "activations", "events", "ticks", "outputs"];
pub(crate) const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

impl Host {
    /// Asks for a page as a browser does that is logged in.
    pub(crate) fn page(&self, path: &str) -> Answer {
        let bearer = format!("Bearer {}", self.token());
        self.open(
            "GET",
            path,
            &[("Authorization", &bearer), ("Accept", BROWSER)],
        )
    }

    pub(crate) fn object(&self, path: &str) -> Answer {
        let bearer = format!("Bearer {}", self.token());
        let accept = ("Accept", "application/json");
        self.open("GET", path, &[("Authorization", &bearer), accept])
    }
}

/// Returns the strings that a page does not contain.
pub(crate) fn missing<'t>(page: &Answer, texts: &[&'t str]) -> Vec<&'t str> {
    let texts = texts.iter().copied();
    texts.filter(|text| !page.body.contains(text)).collect()
}

/// Fires the daemon, and returns its run.
fn fired(world: &World, script: &str) -> Value {
    world.script(script);
    let (_, mut answer) = world.json(&["fire", "pusher"]);
    answer["runs"][0].take()
}

#[test]
fn a_page_needs_a_login_and_explains_it() {
    let (_world, host) = World::serving();
    for path in ["/", "/runs", "/runs/em-1", "/activations", "/outputs"] {
        let page = host.open("GET", path, &[("Accept", BROWSER)]);
        assert_eq!(
            (page.status, page.header("content-security-policy")),
            (401, Some(POLICY)),
            "{path}"
        );
        assert_eq!(
            missing(&page, &["daemon-run login", "name=\"token\""]),
            [""; 0]
        );
        let object = host.open("GET", path, &[("Accept", "application/json")]);
        assert_eq!(
            object.json(),
            json!({"schema_version": 1, "ok": false,
                "error": {"code": "unauthorized", "message": "unauthorized", "help": null}})
        );
    }
    let send = |token: &str| {
        let body = format!("token={token}");
        let headers = [("Content-Type", "application/x-www-form-urlencoded")];
        http::ask(host.address(), "POST", "/login", &headers, body.as_bytes())
    };
    for wrong in ["", "x", &"x".repeat(3_000), &host.token()[1..]] {
        let refused = send(wrong);
        assert_eq!((refused.status, refused.header("set-cookie")), (401, None));
    }
    assert_eq!(send(&"x".repeat(5_000)).status, 400);
    let entered = send(host.token());
    assert_eq!(
        (entered.status, entered.header("location")),
        (303, Some("/"))
    );
    let cookie = entered.header("set-cookie").expect("a cookie");
    let cookie = cookie.split(';').next().expect("it has a value");
    let page = host.open("GET", "/", &[("Cookie", cookie), ("Accept", BROWSER)]);
    assert_eq!(page.status, 200);
}

#[test]
fn every_page_is_the_object_of_its_command_if_json_is_accepted() {
    let world = World::new(&[("pusher", &watch(&["when a commit is pushed to main"]))]);
    let host = world.serve();
    world.commit("wake it");
    host.settled(1);
    // The branch of the output is an event, too: a listing must not change between two requests.
    until("the branch is seen", || host.list("events").len() == 2);
    for plural in LISTINGS {
        let page = host.page(&format!("/{plural}"));
        assert_eq!(
            (
                page.status,
                page.header("content-type"),
                page.header("vary")
            ),
            (200, Some("text/html; charset=utf-8"), Some("Accept"))
        );
        let object = host.object(&format!("/{plural}?limit=1"));
        assert_eq!(
            object.json(),
            host.get(&format!("{plural}?limit=1")),
            "{plural}"
        );
        let (bad, refused) = (format!("/{plural}?limit=0"), host.object("/runs?limit=0"));
        assert_eq!((host.page(&bad).status, refused.status), (400, 400));
        assert_eq!(refused.json()["error"]["code"], "invalid-argument");
    }
    let id = host.list("runs")[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let object = host.object(&format!("/runs/{id}"));
    assert_eq!(object.json(), host.get(&format!("runs/{id}")));
    assert_eq!(object.json(), world.json(&["run", &id]).1);
    let overview = host.object("/").json();
    shows!(overview, {"ready": true, "stats.gate": "open", "runs": []});
    shows!(overview, {"activations": host.get("activations?limit=10")["activations"]});
    assert_eq!(overview["daemons"], host.get("daemons")["daemons"]);
    assert_eq!(host.page("/?x=1").status, 400);
}

#[test]
fn an_unknown_path_is_not_found_as_a_page_and_as_an_object() {
    let (_world, host) = World::serving();
    for path in [
        "/runs/em-1-nobody",
        "/runs/%00",
        "/runs/..%2f..",
        "/nowhere",
        "/rosters",
    ] {
        let (page, object) = (host.page(path), host.object(path));
        assert_eq!((page.status, object.status), (404, 404), "{path}");
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert_eq!(object.json()["ok"], false);
    }
}

#[test]
fn the_page_of_a_run_shows_its_input_its_steps_and_its_outputs() {
    let (world, host) = World::serving();
    let run = fired(
        &world,
        "cat > /dev/null\necho to stdout\necho to stderr >&2\necho x >> NOTE.md\n\
         echo '{\"daemon\":\"tool_start\",\"id\":\"1\",\"name\":\"grep\",\"args\":{}}'\n\
         echo '{\"daemon\":\"tool_end\",\"id\":\"1\",\"ok\":true}'\n\
         echo '{\"daemon\":\"usage\",\"input\":1200,\"output\":80}'\n\
         echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"all is well\"}'\n",
    );
    let id = run["id"].as_str().expect("an id");
    until("its output has arrived", || {
        host.list("outputs")[0]["state"] == "confirmed"
    });
    let page = host.page(&format!("/runs/{id}"));
    let told = [
        id,
        "✓</span> done",
        "all is well",
        "to stdout",
        "<b>stderr</b> to stderr",
        "<span class=\"detail\">grep</span>",
        "under 1 s",
        "daemon done",
        "1,200 input, 80 output",
        "/daemons/pusher",
        "Permissions",
        "Sandbox",
        "30 min in all",
        "daemon/<wbr>pusher/",
        "✓</span> confirmed",
        "Keeps notes in order.",
        "context/DAEMON.md",
        "logs/events.jsonl",
    ];
    assert_eq!(missing(&page, &told), [""; 0], "{}", page.body);
    for absent in ["http-equiv=\"refresh\"", "data-follow", "bypass"] {
        assert!(!page.body.contains(absent), "{absent}");
    }

    let failed = fired(&world, "echo broken >&2\nexit 3\n");
    let id = failed["id"].as_str().expect("an id");
    let page = host.page(&format!("/runs/{id}"));
    let told = [
        "✕</span> failed",
        "daemon error",
        "code 3",
        "<b>stderr</b> broken",
    ];
    assert_eq!(missing(&page, &told), [""; 0], "{}", page.body);
}

#[test]
fn the_page_of_a_run_under_way_reloads_itself_where_no_script_runs() {
    let (world, host) = World::serving();
    world.script("cat > /dev/null\necho begun\nexec sleep 1000\n");
    let id = world.dispatch(&["look around"])[0].clone();
    let page = eventually("it has begun", || {
        let page = host.page(&format!("/runs/{id}"));
        page.body.contains(">begun\n").then_some(page)
    });
    let told = [
        "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>",
        "▶</span> running",
        "look around",
        "cli:",
        "Current tool",
        "Last heartbeat",
    ];
    assert_eq!(missing(&page, &told), [""; 0], "{}", page.body);
    let overview = host.page("/");
    assert_eq!(
        missing(&overview, &[id.as_str(), "✓</span> ready"]),
        [""; 0]
    );
    assert_eq!(world.json(&["emanate", "reclaim", &id]).0, 0);
    let page = host.page(&format!("/runs/{id}"));
    assert_eq!(missing(&page, &["■</span> cancelled", "reclaim"]), [""; 0]);
}

#[test]
fn the_overview_shows_invalid_daemons_and_holds() {
    let world = World::new(&[
        ("pusher", &watch(&["when a commit is pushed to main"])),
        ("broken", "schedule: \"0 0 9 * * 1\""),
        ("nightly", "schedule: \"0 3 * * *\""),
    ]);
    let host = world.serve();
    let told = [
        "✕</span> invalid",
        ".agents/daemons/broken/DAEMON.md:4: error[D201]",
        " 03:00:00 UTC",
        "Nothing is running.",
        "No activations.",
    ];
    let page = host.page("/");
    assert_eq!(missing(&page, &told), [""; 0], "{}", page.body);
    assert!(!page.body.contains("The host is held"));
    assert_eq!(world.json(&["hold"]).0, 0);
    let page = host.page("/");
    assert_eq!(
        missing(&page, &["The host is held", "…</span> held"]),
        [""; 0]
    );
}

#[test]
fn hostile_output_is_escaped() {
    let (world, host) = World::serving();
    let hostile = "<script>alert(1)</script></pre></main><img src=x onerror=alert(2)>\\033[31m\\342\\200\\256\"'&amp;";
    let run = fired(
        &world,
        &format!(
            "cat > /dev/null\nprintf '{}\\n'\nprintf '{}\\n' >&2\nexit 1\n",
            hostile.replace('\'', "\\047"),
            hostile.replace('\'', "\\047")
        ),
    );
    let id = run["id"].as_str().expect("an id");
    for path in [
        format!("/runs/{id}"),
        "/runs".to_owned(),
        "/activations".to_owned(),
        "/".to_owned(),
    ] {
        let page = host.page(&path);
        assert_eq!(page.status, 200);
        for active in [
            "<script>alert",
            "<img src=x",
            "</pre></main>",
            "\u{1b}",
            "\u{202e}",
        ] {
            assert!(!page.body.contains(active), "{path}: {active:?}");
        }
        assert_eq!(page.body.matches("<script").count(), 1, "{path}");
    }
    let page = host.page(&format!("/runs/{id}"));
    let told = [
        "&#60;script&#62;alert(1)&#60;/script&#62;",
        "<span class=\"c1\">⟨U+202E⟩",
        "&#38;amp;",
    ];
    assert_eq!(missing(&page, &told), [""; 0], "{}", page.body);
    let filter = "/runs?daemon=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&state=running";
    let page = host.page(filter);
    assert_eq!(
        missing(&page, &["value=\"&#34;&#62;&#60;script", "Nothing matches"]),
        [""; 0]
    );
}

#[test]
fn a_flood_does_not_make_the_page_long() {
    let (world, host) = World::serving();
    let run = fired(
        &world,
        "cat > /dev/null\nhead -c 1000000 /dev/zero | tr '\\0' x; echo\nseq -f 'line %.0f of the flood' 1 100000\n",
    );
    let id = run["id"].as_str().expect("an id");
    let log = world.file(id, "logs/output.1.jsonl");
    assert!(log.is_file(), "later output goes elsewhere");
    let page = host.page(&format!("/runs/{id}"));
    assert_eq!(
        missing(&page, &["line 100000 of the flood", "The end of it"]),
        [""; 0]
    );
    assert!(page.body.len() < 1_500_000, "{} bytes", page.body.len());
    let logs = world.run(&["logs", id]);
    let text = String::from_utf8(logs.stdout).expect("it is text");
    let numbers: Vec<u32> = text
        .lines()
        .filter_map(|line| {
            line.split_once("text=line ")?
                .1
                .split(' ')
                .next()?
                .parse()
                .ok()
        })
        .collect();
    assert_eq!(
        numbers,
        (1..=100_000).collect::<Vec<_>>(),
        "every line, once, in order"
    );
}

#[test]
fn a_bypass_a_stop_and_follow_ups_are_shown_as_the_folder_has_them() {
    let (world, host) = World::serving();
    let id = world.dispatch(&["look around"])[0].clone();
    world.announced(&id);
    let mut document = world.document(&id);
    document["permissions"] = json!("bypass");
    document["exit"] = json!({"code": null, "signal": 15});
    document["cli_termination"] = json!({"reason": "idle", "signal": "SIGTERM", "returncode": -15,
        "detail": "sh CLI terminated by the host", "ts": "2026-01-02T03:04:05Z"});
    document["tokens"] = json!({"input": 1_234_567, "output": 8, "thinking": 9, "cached": 10});
    document["followups"] = json!([
        {"n": 1, "state": "done", "started_at": "2026-01-02T03:04:05Z", "finished_at": null, "result_path": null,
            "error": null},
        {"n": 2, "state": "failed", "started_at": "2026-01-02T03:05:05Z", "finished_at": null, "result_path": null,
            "error": {"type": "provider", "message": "<i>no</i> session", "class": "final"}},
    ]);
    std::fs::write(world.file(&id, "daemon.json"), document.to_string()).expect("it is written");
    std::fs::write(world.file(&id, "followup-1.txt"), "<i>two</i> are left")
        .expect("it is written");
    let page = host.page(&format!("/runs/{id}"));
    let told = [
        "Permissions: <strong>bypass</strong>",
        "✕</span> bypass: its own checks are switched off",
        "signal 15",
        "idle: sh CLI terminated by the host",
        "1,234,567 input, 8 output, 9 thinking, 10 cached",
        "2026-01-02 03:04:05 UTC",
        "&#60;i&#62;two&#60;/i&#62; are left",
        "&#60;i&#62;no&#60;/i&#62; session",
        "Follow-ups",
    ];
    assert_eq!(missing(&page, &told), [""; 0], "{}", page.body);
    std::fs::remove_file(world.file(&id, "daemon.json")).expect("it was there");
    let page = host.page(&format!("/runs/{id}"));
    let told = [
        "✓</span> done",
        "`daemon.json` was missing: only what the other files contain is known",
    ];
    assert_eq!(missing(&page, &told), [""; 0], "{}", page.body);
    let invented = ["Sandbox", "Budget", "Permissions", "Looked after"];
    assert_eq!(missing(&page, &invented), invented, "{}", page.body);
    std::fs::remove_dir_all(world.file(&id, "")).expect("it was there");
    let page = host.page(&format!("/runs/{id}"));
    let told = ["✓</span> done", "the run&#39;s folder is missing"];
    assert_eq!(missing(&page, &told), [""; 0], "{}", page.body);
    let invented = ["Sandbox", "Budget", "Rebuilt", "result.txt"];
    assert_eq!(missing(&page, &invented), invented, "{}", page.body);
}

/// Returns the runs that a page links to.
fn shown(page: &Answer) -> Vec<&str> {
    let links = page.body.split("<a href=\"/runs/").skip(1);
    links.filter_map(|link| link.split('"').next()).collect()
}

#[test]
fn a_listing_is_filtered_by_its_form_and_turned_page_by_page() {
    let (world, host) = World::serving();
    for script in ["cat > /dev/null\n", "exit 3\n", "cat > /dev/null\n"] {
        fired(&world, script);
    }
    let runs = host.list("runs");
    let ids: Vec<&str> = runs.iter().filter_map(|run| run["id"].as_str()).collect();
    let first = host.page("/runs?limit=2&daemon=pusher&state=&since=1h&repo=");
    assert_eq!(shown(&first), ids[..2]);
    let older = first.body.split("<a href=\"/runs?").nth(1).expect("a link");
    let older = older
        .split('"')
        .next()
        .expect("it ends")
        .replace("&#38;", "&");
    assert!(
        older.starts_with("limit=2&daemon=pusher&since=1h&after=r."),
        "{older}"
    );
    let second = host.page(&format!("/runs?{older}"));
    assert_eq!(shown(&second), ids[2..]);
    assert_eq!(missing(&second, &["↑ Newest"]), [""; 0]);
    assert!(!second.body.contains("↓ Older"));

    let failed = host.page("/runs?state=failed");
    assert_eq!(shown(&failed), [ids[1]]);
    assert_eq!(
        missing(&failed, &["<option value=\"failed\" selected>"]),
        [""; 0]
    );
    let nobody = host.page("/activations?daemon=nobody");
    assert_eq!(missing(&nobody, &["Nothing matches", "Show all"]), [""; 0]);
    for path in [
        "/ticks?state=missed_window",
        "/outputs?state=gave_up",
        "/activations?state=dead",
    ] {
        assert_eq!(host.page(path).status, 200, "{path}");
    }
    assert_eq!(host.page("/events?state=done").status, 400);
}

#[test]
fn style_and_script_need_no_login_and_are_cached() {
    let (_world, host) = World::serving();
    let page = host.page("/");
    for (suffix, kind) in [
        ("css", "text/css"),
        ("js", "text/javascript"),
        ("svg", "image/svg+xml"),
    ] {
        let path = page.body.split('"').find(|part| {
            part.starts_with("/assets/page-") && part.ends_with(&format!(".{suffix}"))
        });
        let path = path.expect("the page names it");
        let asset = host.open("GET", path, &[]);
        assert_eq!(
            (asset.status, asset.header("cache-control")),
            (200, Some("public, max-age=31536000, immutable"))
        );
        assert!(
            asset
                .header("content-type")
                .expect("a kind")
                .starts_with(kind)
        );
    }
    assert_eq!(host.open("GET", "/assets/page.css", &[]).status, 404);
}
