use daemon_event::{EventId, Field};
use daemon_repo::{GitEvent, RefName, RefPositions, Repository};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::scratch::Scratch;

/// Watches a repository as a host does.
struct Watch {
    repository: Repository,
    cursor: RefPositions,
}

impl Watch {
    fn new(scratch: &Scratch) -> Self {
        let repository = scratch.open();
        let cursor = RefPositions::baseline(&repository.refs().unwrap());
        Self { repository, cursor }
    }

    fn events(&mut self) -> Vec<GitEvent> {
        let (next, moves) = self.cursor.advance(&self.repository.refs().unwrap());
        self.cursor = next;
        let main = RefName::branch("main").unwrap();
        let tip = self.repository.refs().unwrap().get(&main).unwrap().clone();
        let told = |a_move| {
            let events = self.repository.events_of(a_move, (&main, &tip)).unwrap();
            let again = self.repository.events_of(a_move, (&main, &tip));
            assert_eq!(events, again.unwrap());
            events
        };
        moves.iter().flat_map(told).collect()
    }
}

fn body(event: &GitEvent) -> Value {
    serde_json::from_slice(&event.body).unwrap()
}

fn deliveries(events: &[GitEvent]) -> Vec<(&str, &str)> {
    events
        .iter()
        .map(|event| (event.kind, event.delivery.as_str()))
        .collect()
}

#[test]
fn a_push_lists_its_commits_and_files() {
    let scratch = Scratch::new();
    let before = scratch
        .write("docs/a.md", "a")
        .write("docs/b.md", "b")
        .commit("first");
    let mut watch = Watch::new(&scratch);
    let one = scratch
        .write("docs/a.md", "aa")
        .remove("docs/b.md")
        .commit("edit a\n\nand drop b");
    let two = scratch.write("new file.md", "n").commit("add one");

    let events = watch.events();
    assert_eq!(
        deliveries(&events),
        [("push", "git:widgets:refs/heads/main:1")]
    );
    let person = json!({"name": "Cora", "email": "cora@example.org"});
    let commit = |id: &str, parent: &str, message: &str| {
        json!({
            "id": id, "message": message, "parents": [parent], "timestamp": "2023-11-14T22:13:20Z",
            "author": {"name": "Ada", "email": "ada@example.org"}, "committer": person,
        })
    };
    let with = |mut commit: Value, added: &[&str], modified: &[&str], removed: &[&str]| {
        commit["added"] = json!(added);
        commit["modified"] = json!(modified);
        commit["removed"] = json!(removed);
        commit
    };
    let (before, one, two) = (before.as_str(), one.as_str(), two.as_str());
    assert_eq!(
        body(&events[0]),
        json!({
            "ref": "refs/heads/main", "ref_type": "branch", "before": before, "after": two,
            "created": false, "deleted": false, "forced": false,
            "repository": {"full_name": "widgets", "default_branch": "main"},
            "head_commit": commit(two, one, "add one"),
            "pusher": person,
            "sender": {"login": "Cora", "type": "User"},
            "commits": [
                with(commit(one, before, "edit a\n\nand drop b"), &[], &["docs/a.md"], &["docs/b.md"]),
                with(commit(two, one, "add one"), &["new file.md"], &[], &[]),
            ],
            "changed_files": ["docs/a.md", "docs/b.md", "new file.md"],
        })
    );
}

#[test]
fn a_push_read_as_an_event_has_files_subject_and_actor() {
    let scratch = Scratch::new();
    scratch.write("docs/a.md", "a").commit("first");
    let mut watch = Watch::new(&scratch);
    scratch
        .write("docs/a.md", "aa")
        .write("new file.md", "n")
        .commit("edit a, add one");
    let events = watch.events();
    let received_at: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    let event = events[0]
        .clone()
        .into_event(EventId::new(0, [1; 10]), received_at)
        .unwrap();
    let files: Vec<_> = event.facts.texts(Field::ChangedFiles).collect();
    assert_eq!(files, ["docs/a.md", "new file.md"]);
    assert_eq!(
        (
            event.subject.unwrap().as_str(),
            event.actor.unwrap().name.as_str(),
            event.facts.flag(Field::OnDefaultBranch)
        ),
        ("git:widgets:refs/heads/main", "Cora", Some(true))
    );
}

#[test]
fn branches_and_tags_are_created_and_deleted() {
    let scratch = Scratch::new();
    let commit = scratch.commit("first");
    let mut watch = Watch::new(&scratch);
    scratch.git(&["branch", "feature/x"]);
    scratch.git(&["tag", "-a", "-m", "annotated", "v1"]);
    scratch.git(&["update-ref", "refs/heads/$(id)\u{85}100%", commit.as_str()]);
    let created = watch.events();
    assert_eq!(
        deliveries(&created),
        [
            ("create", "git:widgets:refs/heads/$(id)%C2%85100%25:1"),
            ("push", "git:widgets:refs/heads/$(id)%C2%85100%25:1:push"),
            ("create", "git:widgets:refs/heads/feature/x:1"),
            ("push", "git:widgets:refs/heads/feature/x:1:push"),
            ("create", "git:widgets:refs/tags/v1:1"),
            ("push", "git:widgets:refs/tags/v1:1:push"),
        ]
    );
    let tag = body(&created[4]);
    assert_eq!(
        (
            &tag["ref_type"],
            &tag["created"],
            &tag["head_commit"]["id"],
            tag["after"] == commit.as_str()
        ),
        (&json!("tag"), &json!(true), &json!(commit.as_str()), false)
    );
    scratch.git(&["branch", "-D", "feature/x"]);
    scratch.git(&["tag", "-d", "v1"]);
    let deleted = watch.events();
    assert_eq!(
        deliveries(&deleted),
        [
            ("delete", "git:widgets:refs/heads/feature/x:2"),
            ("delete", "git:widgets:refs/tags/v1:2")
        ]
    );
    assert_eq!(
        body(&deleted[0]),
        json!({
            "ref": "refs/heads/feature/x", "ref_type": "branch",
            "before": commit.as_str(), "after": "0".repeat(40), "created": false, "deleted": true,
            "repository": {"full_name": "widgets", "default_branch": "main"},
        })
    );
    scratch.git(&["branch", "feature/x"]);
    assert_eq!(
        deliveries(&watch.events()),
        [
            ("create", "git:widgets:refs/heads/feature/x:3"),
            ("push", "git:widgets:refs/heads/feature/x:3:push")
        ]
    );
}

#[test]
fn each_merge_into_the_default_branch_is_an_event() {
    let scratch = Scratch::new();
    scratch.write("a", "a").commit("first");
    let mut watch = Watch::new(&scratch);
    let merge = |branch: &str| {
        scratch.git(&["checkout", "-q", "-b", branch]);
        scratch.write(branch, branch).commit(branch);
        scratch.git(&["checkout", "-q", "main"]);
        scratch.git(&[
            "merge",
            "-q",
            "--no-ff",
            "-m",
            &format!("Merge {branch}"),
            branch,
        ]);
        scratch.git(&["branch", "-D", branch]);
        scratch.head()
    };
    let (one, two) = (merge("one"), merge("two"));
    // A merge of main into a side branch that then fast-forwards main is not on the first-parent line.
    let events = watch.events();
    assert_eq!(
        deliveries(&events),
        [
            ("push", "git:widgets:refs/heads/main:1"),
            ("merge", &format!("git:widgets:refs/heads/main:1:{one}")),
            ("merge", &format!("git:widgets:refs/heads/main:1:{two}")),
        ]
    );
    let second = body(&events[2]);
    assert_eq!(
        (
            &second["before"],
            &second["after"],
            &second["changed_files"],
            &second["head_commit"]["message"]
        ),
        (
            &json!(one.as_str()),
            &json!(two.as_str()),
            &json!(["two"]),
            &json!("Merge two")
        )
    );
    let event = events[2]
        .clone()
        .into_event(EventId::new(0, [1; 10]), Timestamp::UNIX_EPOCH)
        .unwrap();
    assert_eq!(
        (
            event.facts.flag(Field::Merged),
            event.facts.text(Field::Base)
        ),
        (Some(true), Some("main"))
    );
}

#[test]
fn a_squashed_merge_is_a_push_only() {
    let scratch = Scratch::new();
    scratch.write("a", "a").commit("first");
    let mut watch = Watch::new(&scratch);
    scratch.git(&["checkout", "-q", "-b", "squashed"]);
    scratch.write("three", "3").commit("three");
    scratch.git(&["checkout", "-q", "main"]);
    scratch.git(&["merge", "-q", "--squash", "squashed"]);
    scratch.commit("squash three");
    let squashed = watch.events();
    assert_eq!(
        deliveries(&squashed),
        [
            ("push", "git:widgets:refs/heads/main:1"),
            ("create", "git:widgets:refs/heads/squashed:1"),
            ("push", "git:widgets:refs/heads/squashed:1:push")
        ]
    );
}

#[test]
fn a_forced_push_is_marked_even_if_the_old_commit_is_gone() {
    let scratch = Scratch::new();
    let base = scratch.write("a", "1").commit("base");
    scratch.write("a", "2").commit("replaced");
    let mut watch = Watch::new(&scratch);
    scratch.git(&["reset", "-q", "--hard", base.as_str()]);
    scratch.write("b", "1").commit("replacement");
    let first = body(&watch.events()[0]);
    assert_eq!(
        (&first["forced"], &first["changed_files"]),
        (&json!(true), &json!(["a", "b"]))
    );

    let lost = scratch.write("b", "2").commit("lost");
    watch.events();
    scratch.git(&["reset", "-q", "--hard", base.as_str()]);
    let at = lost.as_str().split_at(2);
    scratch.remove(&format!(".git/objects/{}/{}", at.0, at.1));
    let second = watch.events();
    assert_eq!(
        deliveries(&second),
        [("push", "git:widgets:refs/heads/main:3")]
    );
    let second = body(&second[0]);
    assert_eq!(
        (
            &second["before"],
            &second["after"],
            second.get("changed_files"),
            second.get("forced")
        ),
        (&json!(lost.as_str()), &json!(base.as_str()), None, None)
    );
}

#[test]
fn changes_of_a_pull_request_start_at_the_merge_base() {
    let scratch = Scratch::new();
    scratch.write("a", "1").commit("base");
    scratch.git(&["checkout", "-q", "-b", "feature"]);
    let head = scratch.write("feature", "1").commit("feature");
    scratch.git(&["checkout", "-q", "main"]);
    let base = scratch.write("a", "2").commit("main moves on");
    let repository = scratch.open();
    let files = repository
        .pull_request_files(&base, &head)
        .unwrap()
        .unwrap();
    assert_eq!(files.paths(), ["feature"]);
    let absent = "12".repeat(20).parse().unwrap();
    assert_eq!(repository.pull_request_files(&base, &absent).unwrap(), None);
    let orphan = scratch
        .git(&["commit-tree", "-m", "orphan", "HEAD^{tree}"])
        .parse()
        .unwrap();
    assert_eq!(repository.pull_request_files(&base, &orphan).unwrap(), None);
}

#[test]
fn mirrored_refs_give_base_and_head_of_a_pull_request() {
    let scratch = Scratch::new();
    scratch.write("a", "1").commit("base");
    scratch.git(&["checkout", "-q", "-b", "feature"]);
    let head = scratch.write("feature", "1").commit("feature");
    scratch.git(&["checkout", "-q", "main"]);
    let base = scratch.write("a", "2").commit("main moves on");
    scratch.git(&["checkout", "-q", "--detach"]);
    scratch.git(&["merge", "-q", "--no-edit", "feature"]);
    let repository = scratch.open();
    let seven = 7.try_into().unwrap();
    let ends = || repository.pull_request_ends(seven).unwrap();
    assert_eq!(ends(), None);
    scratch.git(&["update-ref", "refs/pull/7/merge", "HEAD"]);
    assert_eq!(ends(), None, "without its head the merge may be of any age");
    scratch.git(&["update-ref", "refs/pull/7/head", base.as_str()]);
    assert_eq!(ends(), None, "the merge is of another head");
    scratch.git(&["update-ref", "refs/pull/7/head", head.as_str()]);
    assert_eq!(ends(), Some((base, head)));
}

#[test]
fn moves_of_a_remote_are_reported_like_local_ones() {
    let scratch = Scratch::new();
    let first = scratch.write("a", "1").commit("first");
    let path = scratch.next_to("remote.git");
    let path = path.to_str().unwrap();
    scratch.git(&["clone", "-q", "--bare", ".", path]);
    let (repository, remote) = (scratch.open(), path.parse().unwrap());
    let fetched = repository.fetch(&remote).unwrap();
    assert_eq!(
        fetched
            .iter()
            .map(|(name, at)| (name.as_str(), at))
            .collect::<Vec<_>>(),
        [("refs/heads/main", &first)]
    );
    let cursor = RefPositions::baseline(&fetched);

    let other = scratch.next_to("other");
    scratch.git(&["clone", "-q", path, other.to_str().unwrap()]);
    let there = |args: &[&str]| scratch.git(&[&["-C", other.to_str().unwrap()], args].concat());
    there(&["commit", "-q", "--allow-empty", "-m", "from elsewhere"]);
    there(&["push", "-q", "origin", "main", "main:refs/heads/feature"]);
    let refs = repository.fetch(&remote).unwrap();
    let (_, moves) = cursor.advance(&refs);
    let main = RefName::branch("main").unwrap();
    let tip = refs.get(&main).unwrap();
    let events: Vec<_> = moves
        .iter()
        .flat_map(|one| repository.events_of(one, (&main, tip)).unwrap())
        .collect();
    assert_eq!(
        deliveries(&events),
        [
            ("create", "git:widgets:refs/heads/feature:1"),
            ("push", "git:widgets:refs/heads/feature:1:push"),
            ("push", "git:widgets:refs/heads/main:1")
        ]
    );
    assert_eq!(
        body(&events[2])["head_commit"]["message"],
        json!("from elsewhere")
    );
    let local = repository.refs().unwrap();
    assert_eq!(local.iter().map(|(_, at)| at).collect::<Vec<_>>(), [&first]);

    there(&["push", "-q", "origin", ":feature"]);
    assert_eq!(repository.fetch(&remote).unwrap().iter().count(), 1);
    repository.fetch(&"/absent".parse().unwrap()).unwrap_err();
}
