//! Commits that the watched repository does not have.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

use daemon_repo::{FetchSource, GitProblem, ObjectId, Remote, RemoteToken, Repository};

use crate::scratch::{Scratch, checkout};
use crate::worktrees::{at, mark};

/// A watched repository whose `origin` is a bare repository with a pull request that only `refs/pull/7/head` names.
struct Fork {
    scratch: Scratch,
    head: ObjectId,
    store: PathBuf,
}

impl Fork {
    fn new(init: &[&str]) -> Self {
        let scratch = Scratch::with(init);
        scratch.write("docs/a.md", "one\n").commit("one");
        let remote = scratch.next_to("remote.git").display().to_string();
        scratch.git(&["clone", "-q", "--bare", ".", &remote]);
        scratch.git(&["remote", "add", "origin", &remote]);
        scratch.git(&["fetch", "-q", "origin"]);
        let clone = scratch.next_to("fork").display().to_string();
        scratch.git(&["clone", "-q", &remote, &clone]);
        fs::write(format!("{clone}/docs/a.md"), "two\n").unwrap();
        scratch.git(&["-C", &clone, "commit", "-q", "-a", "-m", "two"]);
        scratch.git(&[
            "-C",
            &clone,
            "push",
            "-q",
            "origin",
            "HEAD:refs/pull/7/head",
        ]);
        let head = scratch.git(&["-C", &clone, "rev-parse", "HEAD"]);
        // The remote has no other source of the objects.
        fs::remove_dir_all(&clone).unwrap();
        Self {
            store: scratch.next_to("home/objects/o%2Fr.git"),
            head: head.parse().unwrap(),
            scratch,
        }
    }

    fn open(&self) -> Repository {
        self.scratch.open().with_store(&self.store)
    }

    fn fetch(&self, pull: Option<u64>) -> Repository {
        let fetched = self
            .open()
            .fetch_into_store(&FetchSource::new(None), &self.head, pull);
        fetched.unwrap().unwrap()
    }
}

/// Returns all files below a directory with their content.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut acc = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                acc.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    acc
}

#[test]
fn a_head_is_fetched_into_the_store_and_its_branch_reaches_the_repository() {
    for format in ["sha1", "sha256"] {
        let format = format!("--object-format={format}");
        for pull in [None, Some(7), Some(8)] {
            let fork = Fork::new(&["init", "-q", "-b", "main", &format]);
            let git_dir = fork.scratch.root().join(".git");
            let before = files(&git_dir);
            assert!(fork.open().holding(&fork.head).unwrap().is_none());
            let commit = run(&fork, &fork.fetch(pull));
            assert_eq!(
                files(&git_dir),
                before,
                "nothing of it is in the repository"
            );

            // Another process delivers it, also from a repository without its remote.
            fork.scratch.git(&["remote", "remove", "origin"]);
            let holder = fork.open().holding(&commit).unwrap().unwrap();
            let branch = mark().branch();
            let here = Remote::Here;
            holder.create_branch(&here, &branch, &commit).unwrap();
            let log = fork.scratch.git(&["log", "--format=%s", branch.as_str()]);
            assert_eq!(log, "four\nthree\ntwo\none");
            fork.scratch.git(&["fsck", "--full", "--strict"]);
            let other = fork.scratch.next_to("other.git").display().to_string();
            fork.scratch.git(&["init", "-q", "--bare", &format, &other]);
            let other: Remote = other.parse().unwrap();
            holder.create_branch(&other, &branch, &commit).unwrap();
        }
    }
}

/// Works at the head as a run does: one commit of its own and one file that it left. Returns the commit of its changes.
fn run(fork: &Fork, repository: &Repository) -> ObjectId {
    let dir = fork.scratch.next_to("work");
    let worktree = repository
        .create_worktree(&checkout(&fork.head), &dir)
        .unwrap();
    assert_eq!(fs::read_to_string(dir.join("docs/a.md")).unwrap(), "two\n");
    let objects = fork.store.join("objects").canonicalize().unwrap();
    let watched = fork.scratch.root().join(".git/objects");
    assert_eq!(worktree.objects(), [objects, watched]);
    let git = |args: &[&str]| {
        let dir = dir.display().to_string();
        fork.scratch.git(&[&["-C", &dir], args].concat())
    };
    git(&["log", "--stat"]);
    fs::write(dir.join("docs/b.md"), "three\n").unwrap();
    git(&["add", "docs/b.md"]);
    git(&["commit", "-q", "-m", "three"]);
    fs::write(dir.join("docs/c.md"), "four\n").unwrap();
    let changes = worktree.changes().unwrap();
    assert_eq!(changes.commits.len(), 1, "{changes:?}");
    let commit = worktree.commit(&changes, "four", &mark(), at()).unwrap();
    worktree.remove().unwrap();
    commit
}

#[test]
fn two_fetches_of_one_commit_at_a_time_both_find_it() {
    let fork = Fork::new(&["init", "-q", "-b", "main"]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| fork.fetch(Some(7)));
        }
    });
}

#[test]
fn a_fetch_does_not_wait_for_one_that_hangs() {
    let fork = Fork::new(&["init", "-q", "-b", "main"]);
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/o/r.git", server.local_addr().unwrap());
    fork.scratch.git(&["remote", "set-url", "origin", &url]);
    let fetch = || {
        fork.open()
            .fetch_into_store(&FetchSource::new(None), &fork.head, Some(7))
            .unwrap_err()
    };
    std::thread::scope(|scope| {
        let hanging = scope.spawn(fetch);
        // It holds the lock when it has connected.
        let (stream, _) = server.accept().unwrap();
        let second = fetch();
        let ended = hanging.is_finished();
        drop((stream, server));
        let problem = second.problem();
        assert!(matches!(problem, GitProblem::Fetching), "{second}");
        assert!(!ended);
        hanging.join().unwrap();
    });
}

#[test]
fn a_partial_clone_gets_the_whole_head() {
    let fork = Fork::new(&["init", "-q", "-b", "main"]);
    let remote = fork.scratch.next_to("remote.git").display().to_string();
    for (repository, key, value) in [
        (&*remote, "uploadpack.allowFilter", "true"),
        (".", "remote.origin.promisor", "true"),
        (".", "remote.origin.partialclonefilter", "blob:none"),
    ] {
        fork.scratch.git(&["-C", repository, "config", key, value]);
    }
    let before = files(&fork.scratch.root().join(".git"));
    let repository = fork.fetch(Some(7));
    let dir = fork.scratch.next_to("work");
    repository
        .create_worktree(&checkout(&fork.head), &dir)
        .unwrap();
    assert_eq!(files(&fork.scratch.root().join(".git")), before);
}

#[test]
fn what_cannot_be_fetched_is_an_error_and_leaves_no_trace() {
    let fork = Fork::new(&["init", "-q", "-b", "main"]);
    let git_dir = fork.scratch.root().join(".git");
    let absent: ObjectId = "12".repeat(20).parse().unwrap();
    let origin = FetchSource::new(None);
    let before = files(&git_dir);
    // The head of the pull request is another commit, which is not used.
    let error = fork
        .open()
        .fetch_into_store(&origin, &absent, Some(7))
        .unwrap_err();
    assert!(
        matches!(error.problem(), GitProblem::Failed { .. }),
        "{error:?}"
    );
    assert!(fork.open().holding(&absent).unwrap().is_none());
    fs::remove_dir_all(fork.scratch.next_to("remote.git")).unwrap();
    let error = fork
        .open()
        .fetch_into_store(&origin, &absent, None)
        .unwrap_err();
    let GitProblem::Failed { stderr, .. } = error.problem() else {
        panic!("{error:?}")
    };
    assert!(stderr.contains("remote.git"), "{stderr}");
    assert_eq!(files(&git_dir), before);
    let nowhere = FetchSource::new(Some("nowhere".parse().unwrap()));
    let fetched = fork.open().fetch_into_store(&nowhere, &absent, None);
    assert!(fetched.unwrap().is_none(), "there is no such remote");
    let fetched = fork.scratch.open().fetch_into_store(&origin, &absent, None);
    assert!(fetched.unwrap().is_none(), "there is no store");
}

#[test]
fn no_configuration_of_the_remote_changes_the_repository() {
    for config in [
        ["remote.origin.fetch", "+refs/*:refs/*"],
        ["remote.origin.tagOpt", "--tags"],
        ["remote.origin.uploadpack", "touch ran; git-upload-pack"],
        ["core.alternateRefsCommand", "touch ran;"],
        ["fetch.prune", "true"],
        ["fetch.pruneTags", "true"],
        ["fetch.writeCommitGraph", "true"],
        ["remote.origin.followRemoteHEAD", "always"],
    ] {
        let fork = Fork::new(&["init", "-q", "-b", "main"]);
        let remote = fork.scratch.next_to("remote.git").display().to_string();
        fork.scratch.git(&["-C", &remote, "tag", "v1"]);
        fork.scratch.git(&["config", config[0], config[1]]);
        let before = files(&fork.scratch.root().join(".git"));
        fork.fetch(Some(7));
        assert_eq!(
            files(&fork.scratch.root().join(".git")),
            before,
            "{config:?}"
        );
        assert!(!fork.scratch.root().join("ran").exists());
    }
}

#[test]
fn a_store_follows_a_repository_that_moves_and_loses_what_a_kill_left() {
    let fork = Fork::new(&["init", "-q", "-b", "main"]);
    fork.fetch(None);
    let partial = fork.store.join("objects/pack/tmp_pack_a1b2c3");
    fs::write(&partial, "a killed fetch").unwrap();
    let moved = fork.scratch.next_to("moved");
    fs::rename(fork.scratch.root(), &moved).unwrap();
    let repository = Repository::open(&crate::scratch::git(), &moved).unwrap();
    let repository = repository.with_store(&fork.store);
    let holder = repository.holding(&fork.head).unwrap().unwrap();
    let dir = fork.scratch.next_to("work");
    holder.create_worktree(&checkout(&fork.head), &dir).unwrap();
    assert!(!partial.exists());
}

/// Starts a server that asks for credentials and then has no repository; returns its URL and the credentials of each request.
fn guarded_server() -> (String, Receiver<Option<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (sender, seen) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let lines = lines
                .map(Result::unwrap)
                .take_while(|line| !line.is_empty());
            let given =
                lines.filter_map(|line| Some(line.strip_prefix("Authorization: ")?.to_owned()));
            let given = given.last();
            let answer = match given {
                Some(_) => "404 Not Found",
                None => "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"",
            };
            let answer =
                format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            // Before the response, with which the fetch can end.
            sender.send(given).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (base, seen)
}

#[test]
fn the_token_goes_only_to_its_server_if_that_asks() {
    let fork = Fork::new(&["init", "-q", "-b", "main"]);
    let (base, seen) = guarded_server();
    fork.scratch
        .git(&["remote", "set-url", "origin", &format!("{base}/o/r")]);
    let before = files(&fork.scratch.root().join(".git"));
    let fetch = |of: &str| {
        let token = RemoteToken::new(of, || Some("tok-1\n".to_owned()));
        let source = FetchSource::new(None);
        let repository = fork.open().with_token(Some(token));
        let error = repository
            .fetch_into_store(&source, &fork.head, None)
            .unwrap_err();
        let shown = format!("{error:?} {} {repository:?}", error.brief());
        assert!(!shown.contains("tok-1"), "{shown}");
        seen.try_iter().collect::<Vec<_>>()
    };
    let expected = "Basic eC1hY2Nlc3MtdG9rZW46dG9rLTE=".to_owned();
    assert_eq!(fetch(&base), [None, Some(expected)]);
    assert_eq!(fetch("https://git.example"), [None]);
    assert_eq!(files(&fork.scratch.root().join(".git")), before);
    for (path, content) in files(&fork.store) {
        assert!(
            !String::from_utf8_lossy(&content).contains("tok-1"),
            "{path:?}"
        );
    }
}
