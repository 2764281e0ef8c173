//! What daemons make, reported by webhooks: it never wakes its maker, and a chain of daemons ends.

use serde_json::{Value, json};

use crate::http::{pull_request_opened, repository, sender};
use crate::world::{Host, World, watch};

/// A branch that a run delivered.
struct Delivered {
    branch: String,
    commit: String,
}

/// Returns the branch of an activation.
fn delivered(world: &World, daemon: &str, activation: &Value) -> Delivered {
    let id = activation["id"].as_str().expect("an id");
    let branch = format!("daemon/{daemon}/{id}");
    let commit = world.git(&["rev-parse", &branch]).trim().to_owned();
    Delivered { branch, commit }
}

/// Returns the newest activation of a daemon.
fn newest(activations: &[Value], daemon: &str) -> Value {
    let of_daemon = activations.iter().filter(|one| one["daemon_id"] == daemon);
    let newest = of_daemon.max_by_key(|one| one["id"].as_str().map(str::to_owned));
    newest.expect("it was woken").clone()
}

/// Counts the activations of a daemon.
fn n_woken(activations: &[Value], daemon: &str) -> usize {
    activations
        .iter()
        .filter(|one| one["daemon_id"] == daemon)
        .count()
}

/// Writes the body of a webhook about a created branch.
fn created(branch: &str) -> Value {
    json!({"ref": branch, "ref_type": "branch", "master_branch": "main", "repository": repository("o/r"), "sender": sender()})
}

/// Writes the body of a webhook about the push that made a branch.
fn born(world: &World, made: &Delivered) -> Value {
    let field = |format: &str| {
        let format = format!("--format={format}");
        world
            .git(&["log", "-1", &format, &made.commit])
            .trim()
            .to_owned()
    };
    json!({
        "ref": format!("refs/heads/{}", made.branch), "before": "0".repeat(40), "after": made.commit,
        "created": true, "deleted": false, "forced": false, "commits": [],
        "head_commit": {
            "id": made.commit, "message": field("%B"),
            "committer": {"name": field("%cn"), "email": field("%ce")},
        },
        "pusher": {"name": "ann"}, "repository": repository("o/r"), "sender": sender(),
    })
}

/// Writes the body of a webhook about a pull request from a branch.
fn requested(number: u32, made: &Delivered) -> Value {
    let mut body = pull_request_opened(number);
    body["pull_request"]["head"]["ref"] = json!(made.branch);
    body["pull_request"]["head"]["sha"] = json!(made.commit);
    body
}

/// Writes the body of a webhook about a failed check on a commit.
fn check_failed(id: u32, commit: &str) -> Value {
    json!({
        "action": "completed",
        "check_run": {
            "id": id, "name": "build", "status": "completed", "conclusion": "failure", "head_sha": commit,
            "check_suite": {"head_branch": "topic"}, "pull_requests": [],
        },
        "repository": repository("o/r"), "sender": sender(),
    })
}

/// Writes the body of a webhook about a person's comment on a pull request.
fn commented(number: u32) -> Value {
    json!({
        "action": "created",
        "issue": {
            "number": number, "title": "A title", "state": "open", "user": sender(), "labels": [],
            "pull_request": {"url": format!("https://api.github.com/repos/o/r/pulls/{number}")},
        },
        "comment": {"id": 1, "body": "Why is that?", "user": sender()},
        "repository": repository("o/r"), "sender": sender(),
    })
}

/// Waits until a webhook was taken and what it wakes has ended.
fn settled_after(
    host: &Host,
    (kind, delivery): (&str, &str),
    body: &Value,
    at_least: usize,
) -> Vec<Value> {
    let answer = host.hook(kind, delivery, body);
    assert_eq!(answer.status, 200, "{kind}: {answer:?}");
    host.settled(at_least)
}

#[test]
fn what_a_daemon_made_does_not_wake_it_when_a_webhook_reports_it() {
    let world = World::new(&[
        (
            "maker",
            &watch(&[
                "when a commit is pushed",
                "when a branch is created",
                "when a pull request is opened",
                "when a comment is added to a pull request",
            ]),
        ),
        ("other", &watch(&["when a pull request is opened"])),
    ]);
    // What the other makes would be another daemon's output, and is not asked here.
    world.configure("[policy.daemon.other]\ncapability = \"read\"\n");
    let host = world.serve();
    world.commit("wake it");
    let made = delivered(&world, "maker", &newest(&host.settled(1), "maker"));
    settled_after(&host, ("create", "d-1"), &created(&made.branch), 1);
    settled_after(&host, ("push", "d-2"), &born(&world, &made), 1);
    let woken = settled_after(&host, ("pull_request", "d-3"), &requested(7, &made), 2);
    assert_eq!(
        (n_woken(&woken, "maker"), n_woken(&woken, "other")),
        (1, 1),
        "its own output wakes the others alone: {woken:#?}"
    );
    let woken = settled_after(&host, ("issue_comment", "d-4"), &commented(7), 3);
    assert_eq!(n_woken(&woken, "maker"), 2, "a person's comment does");
}

/// Makes a world whose daemon wakes on what a delivered branch is reported by.
fn maker() -> World {
    let wakes = [
        "when a commit is pushed to main",
        "when a branch is created",
        "when a pull request is opened",
    ];
    World::new(&[("maker", &watch(&wakes))])
}

#[test]
fn what_only_looks_like_an_output_wakes() {
    let world = maker();
    let host = world.serve();
    world.commit("wake it");
    let made = delivered(&world, "maker", &newest(&host.settled(1), "maker"));
    settled_after(
        &host,
        ("create", "d-1"),
        &created("daemon/maker/01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        2,
    );
    let mut fork = requested(8, &made);
    fork["pull_request"]["head"]["repo"] = json!({"id": 2, "full_name": "stranger/r"});
    settled_after(&host, ("pull_request", "d-2"), &fork, 3);
    let mut copied = pull_request_opened(9);
    copied["pull_request"]["body"] =
        json!(format!("<!-- daemon:maker act:{} out:x -->", made.branch));
    settled_after(&host, ("pull_request", "d-3"), &copied, 4);
    let message = world.git(&["log", "-1", "--format=%B", &made.commit]);
    world.commit(&message);
    assert_eq!(
        n_woken(&host.settled(5), "maker"),
        5,
        "copied trailers are not the daemon's"
    );
}

#[test]
fn a_person_who_moves_a_branch_to_an_output_begins_a_new_chain() {
    let world = maker();
    let host = world.serve();
    world.commit("wake it");
    // More often than a chain is deep: every move is a root of its own.
    for n in 2..=5 {
        let woken = host.settled(n - 1);
        let made = delivered(&world, "maker", &newest(&woken, "maker"));
        world.git(&["update-ref", "refs/heads/main", &made.commit]);
        let woken = host.settled(n);
        assert_eq!(newest(&woken, "maker")["state"], "succeeded", "move {n}");
        assert_eq!(woken.len(), n, "{woken:#?}");
    }
    let made = delivered(&world, "maker", &newest(&host.settled(5), "maker"));
    world.git(&["branch", "topic", &made.commit]);
    assert_eq!(newest(&host.settled(6), "maker")["state"], "succeeded");
    // What the webhook of such a push reports is the person's as well.
    let main = world.git(&["rev-parse", "main"]).trim().to_owned();
    let moved = crate::http::push("o/r", &main, &made.commit);
    settled_after(&host, ("push", "d-1"), &moved, 7);
    let mut asked = requested(9, &made);
    asked["pull_request"]["head"]["ref"] = json!("topic");
    settled_after(&host, ("pull_request", "d-2"), &asked, 8);
}

#[test]
fn a_program_that_moves_a_branch_to_an_output_continues_its_chain() {
    let world = World::new(&[("maker", &watch(&["when a commit is pushed to main"]))]);
    let host = world.serve();
    let mut before = world.git(&["rev-parse", "main"]).trim().to_owned();
    world.commit("wake it");
    for depth in 1..=4 {
        let woken = host.settled(depth);
        let after = delivered(&world, "maker", &newest(&woken, "maker")).commit;
        let mut moved = crate::http::push("o/r", &before, &after);
        moved["sender"] = json!({"login": "merger[bot]", "type": "Bot"});
        let woken = settled_after(&host, ("push", &format!("d-{depth}")), &moved, depth + 1);
        assert_eq!(woken.len(), depth + 1, "{woken:#?}");
        let state = match depth {
            4 => "cancelled",
            _ => "succeeded",
        };
        assert_eq!(newest(&woken, "maker")["state"], state, "depth {depth}");
        before = after;
    }
}

/// The sender of a webhook about what a program did by itself.
fn program() -> Value {
    json!({"login": "ci[bot]", "type": "Bot"})
}

/// Writes the webhook about what a program did to a delivered branch.
type Report = fn(&World, &Delivered, u32) -> Value;

/// What a program can do about a branch that a daemon delivered, without a commit that the host put there.
const REPORTS: [(&str, Report); 6] = [
    ("issue_comment", |_, _, n| commented(n)),
    ("commit_comment", |_, made, n| {
        json!({
            "action": "created",
            "comment": {"id": n, "body": "Done.", "user": program(), "commit_id": made.commit},
            "repository": repository("o/r"),
        })
    }),
    ("check_run", |world, made, n| {
        let merged = on_top_of(world, made);
        let mut body = check_failed(n, &merged);
        let head = json!({"ref": "elsewhere", "sha": merged});
        body["check_run"]["pull_requests"] = json!([{"number": n, "head": head, "base": head}]);
        body
    }),
    ("check_suite", |world, made, n| {
        json!({
            "action": "completed",
            "check_suite": {
                "id": n, "status": "completed", "conclusion": "failure", "head_branch": made.branch,
                "head_sha": on_top_of(world, made), "pull_requests": [],
            },
            "repository": repository("o/r"),
        })
    }),
    ("push", |world, made, _| {
        let fixed = on_top_of(world, made);
        let mut body = crate::http::push("o/r", &made.commit, &fixed);
        body["ref"] = json!(format!("refs/heads/{}", made.branch));
        body
    }),
    ("pull_request", |world, made, n| {
        let mut body = requested(n, made);
        body["action"] = json!("synchronize");
        body["pull_request"]["head"]["sha"] = json!(on_top_of(world, made));
        body
    }),
];

/// Commits on top of what a daemon delivered, on no branch.
fn on_top_of(world: &World, made: &Delivered) -> String {
    let tree = format!("{}^{{tree}}", made.commit);
    let parent = made.commit.as_str();
    let commit = world.git(&["commit-tree", &tree, "-p", parent, "-m", "format"]);
    commit.trim().to_owned()
}

#[test]
fn a_program_that_answers_each_output_continues_its_chain() {
    let world = World::new(&[(
        "maker",
        &watch(&[
            "when a commit is pushed",
            "when a comment is added to a pull request",
            "when a commit comment is created",
            "when CI fails",
            "when a check suite fails",
            "when a pull request is updated",
        ]),
    )]);
    let host = world.serve();
    let mut expected = 0;
    for (number, (kind, report)) in (1..).zip(REPORTS) {
        world.commit("wake it");
        expected += 1;
        for depth in 1..=4 {
            let woken = host.settled(expected);
            let made = delivered(&world, "maker", &newest(&woken, "maker"));
            let n = number * 10 + depth;
            // The pull request is known to the host before anything is said about it.
            let request = requested(n, &made);
            host.hook("pull_request", &format!("r-{n}"), &request);
            let mut body = report(&world, &made, n);
            body["sender"] = program();
            expected += 1;
            let woken = settled_after(&host, (kind, &format!("d-{n}")), &body, expected);
            assert_eq!(woken.len(), expected, "{kind}: {woken:#?}");
            let newest = newest(&woken, "maker");
            let state = if depth == 4 { "cancelled" } else { "succeeded" };
            assert_eq!(newest["state"], state, "{kind} {depth}: {newest:#?}");
        }
    }
}

#[test]
fn origin_and_depth_are_shown_by_listings_explanations_and_pages() {
    let world = World::new(&[(
        "maker",
        &watch(&["when a commit is pushed", "when a pull request is updated"]),
    )]);
    let host = world.serve();
    world.commit("wake it");
    let woken = host.settled(1);
    let root = woken[0]["id"].as_str().expect("an id").to_owned();
    let made = delivered(&world, "maker", &woken[0]);
    let mut body = requested(1, &made);
    body["action"] = "synchronize".into();
    body["after"] = on_top_of(&world, &made).into();
    body["pull_request"]["head"]["sha"] = body["after"].clone();
    body["sender"] = program();
    host.hook("pull_request", "d-1", &body);
    let woken = host.settled(2);
    let next = newest(&woken, "maker");
    assert_eq!(next["chain"], serde_json::json!({"root": root, "depth": 1}));
    let event = next["trigger"]["event_ids"][0].as_str().expect("an id");
    assert_eq!(host.get(&format!("events/{event}"))["chain"], next["chain"]);
    let origin =
        format!("origin       an output of a daemon, depth 1 of the chain of activation {root}");
    for args in [
        vec!["events", "show", event],
        vec!["explain", "maker", "--event", event, "--repo", "repo"],
    ] {
        let shown = world.run(&args);
        let shown = String::from_utf8(shown.stdout).expect("text");
        assert!(shown.contains(&origin), "{args:?}: {shown}");
    }
    for (listing, id) in [
        ("events", event),
        ("activations", next["id"].as_str().expect("an id")),
    ] {
        let listed = String::from_utf8(world.run(&[listing]).stdout).expect("text");
        // A table shows as much of an id as its rows differ by.
        let begins_id = |word: &str| word.len() >= 10 && id.starts_with(word);
        let line = listed
            .lines()
            .find(|line| line.split_whitespace().any(begins_id))
            .expect("a line");
        assert!(
            listed.contains("DEPTH") && line.split_whitespace().any(|word| word == "1"),
            "{listed}"
        );
        let page = host.page(&format!("/{listing}/{id}")).body;
        assert!(
            page.contains(&format!("href=\"/activations/{root}\"")),
            "{page}"
        );
        assert!(page.contains("<dt>Depth</dt>"), "{page}");
    }
}

#[test]
fn a_chain_through_checks_ends_with_one_notice() {
    let world = World::new(&[("fixer", &watch(&["when CI fails"]))]);
    let host = world.serve();
    let main = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let mut commit = main.clone();
    for depth in 0..=3 {
        let woken = settled_after(
            &host,
            ("check_run", &format!("d-{depth}")),
            &check_failed(depth, &commit),
            usize::try_from(depth).expect("small") + 1,
        );
        let newest = newest(&woken, "fixer");
        assert_eq!(newest["state"], "succeeded", "depth {depth}: {woken:#?}");
        commit = delivered(&world, "fixer", &newest).commit;
    }
    let status = json!({
        "id": 9, "sha": commit, "state": "failure", "context": "build", "branches": [],
        "repository": repository("o/r"), "sender": sender(),
    });
    settled_after(&host, ("check_run", "d-4"), &check_failed(4, &commit), 5);
    let woken = settled_after(&host, ("status", "d-5"), &status, 6);
    let stopped: Vec<(&Value, &Value)> = woken
        .iter()
        .filter(|one| one["state"] != "succeeded")
        .map(|one| (&one["state"], &one["reason"]))
        .collect();
    let why = json!("chain: 4 deep, at most 3");
    assert_eq!(stopped, [(&json!("cancelled"), &why); 2]);
    let notices = world.log();
    let notices = notices
        .lines()
        .filter(|line| line.contains("a chain of daemons ends"));
    assert_eq!(notices.count(), 1, "{}", world.log());
    let woken = settled_after(&host, ("check_run", "d-6"), &check_failed(6, &main), 7);
    shows!(newest(&woken, "fixer"), {"state": "succeeded"}, "a person's commit begins a new chain");
}

#[test]
fn two_daemons_that_answer_each_other_fall_quiet() {
    let created = watch(&["when a branch is created"]);
    let world = World::new(&[("ping", &created), ("pong", &created)]);
    let host = world.serve();
    world.git(&["branch", "topic"]);
    // Both answer the person, each answers the other three times, and what would be the fourth is recorded and ends.
    let woken = host.settled(10);
    let n_in = |state: &str| woken.iter().filter(|one| one["state"] == state).count();
    assert_eq!((n_in("succeeded"), n_in("cancelled")), (8, 2), "{woken:#?}");
}
