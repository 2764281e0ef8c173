use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use daemon_engine::{
    Found, NewOutput, Output, OutputState, RemoteId, Surface as _, SurfaceErrorKind,
};
use daemon_event::{ActivationId, DaemonKey};
use daemon_process::{ByteCount, ExitStatus, Tool};
use daemon_repo::{Author, BranchTip, Checkout, Git, RefName, Remote, Repository, Worktree};
use daemon_surface::{BranchPlan, BranchRules, GitBranch, plan_branch};
use jiff::Timestamp;

const SEARCH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(crate) struct Scene {
    pub(crate) dir: tempfile::TempDir,
    repository: Repository,
    worktree: Worktree,
    daemon: DaemonKey,
    activation: ActivationId,
}

fn git() -> Git {
    Git::find(OsStr::new(SEARCH)).unwrap()
}

/// Runs git in `widgets` and returns what it printed, trimmed.
pub(crate) fn run(dir: &tempfile::TempDir, args: &[&str]) -> String {
    let output = Tool::new(git().program())
        .envs([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "Ada"),
            ("GIT_AUTHOR_EMAIL", "ada@example.org"),
            ("GIT_COMMITTER_NAME", "Ada"),
            ("GIT_COMMITTER_EMAIL", "ada@example.org"),
        ])
        .cwd(dir.path().join("widgets"))
        .args(args)
        .run(Duration::from_secs(60), ByteCount(1 << 20))
        .unwrap();
    assert_eq!(
        output.status,
        ExitStatus::Code(0),
        "{args:?} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl Scene {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("widgets/docs")).unwrap();
        run(&dir, &["init", "-q", "-b", "main"]);
        fs::write(dir.path().join("widgets/docs/a.md"), "a\nb\n").unwrap();
        run(&dir, &["add", "-A"]);
        run(&dir, &["commit", "-q", "-m", "first"]);
        let repository = Repository::open(&git(), &dir.path().join("widgets")).unwrap();
        let commit = run(&dir, &["rev-parse", "HEAD"]).parse().unwrap();
        let checkout = Checkout {
            commit,
            branches: [].into(),
            author: Author::daemon(&"link-janitor".parse().unwrap()),
        };
        let worktree = repository
            .create_worktree(&checkout, &dir.path().join("work"))
            .unwrap();
        Self {
            daemon: DaemonKey {
                repo: repository.name().clone(),
                id: "link-janitor".parse().unwrap(),
            },
            activation: ActivationId::new(1_700_000_000_000, [7; 10]),
            dir,
            repository,
            worktree,
        }
    }

    pub(crate) fn change(&self, path: &str, content: &str) -> &Self {
        let path = self.worktree.dir().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn branch(&self) -> String {
        format!("refs/heads/daemon/link-janitor/{}", self.activation)
    }

    fn plan(&self) -> NewOutput {
        self.plan_onto(None)
    }

    /// Plans the changes of the run for a branch that exists, or for a new one.
    pub(crate) fn plan_onto(&self, onto: Option<&BranchTip>) -> NewOutput {
        let rules = BranchRules {
            default_branch: RefName::branch("main").unwrap(),
            protected: vec![],
        };
        let plan = BranchPlan {
            may_mention: &|_| false,
            is_secret: &|text| text.contains("known-to-the-host"),
            daemon: &self.daemon,
            activation: &self.activation,
            ordinal: 0,
            onto,
            message: Some("Repair one link"),
            at: "2026-01-02T03:04:05Z".parse().unwrap(),
        };
        plan_branch(
            &self.worktree,
            &self.worktree.changes().unwrap(),
            &plan,
            &rules,
        )
        .unwrap()
    }

    pub(crate) fn stored(&self, new: NewOutput) -> Output {
        Output {
            key: new.key,
            activation: self.activation.clone(),
            daemon: self.daemon.clone(),
            ordinal: new.ordinal,
            surface: new.surface,
            target: new.target,
            revision: new.revision,
            content: new.content,
            state: OutputState::Sending,
            remote_id: None,
            url: None,
            attempts: 1,
            not_before: Timestamp::UNIX_EPOCH,
            created_at: Timestamp::UNIX_EPOCH,
            delivered_at: None,
            in_doubt_since: None,
            error: None,
        }
    }

    pub(crate) fn surface(&self, remote: Remote) -> GitBranch {
        GitBranch::new([(self.repository.clone(), remote)])
    }

    pub(crate) fn bare_remote(&self) -> (PathBuf, Remote) {
        let path = self.dir.path().join("remote.git");
        run(&self.dir, &["init", "-q", "--bare", path.to_str().unwrap()]);
        let remote = path.to_str().unwrap().parse().unwrap();
        (path, remote)
    }
}

#[tokio::test]
async fn delivering_twice_leaves_one_branch_with_one_commit() {
    let scene = Scene::new();
    scene.change("docs/a.md", "a\nB\n");
    let planned = scene.plan();
    assert_eq!(
        (planned.state, planned.error.clone(), planned.target.clone()),
        (OutputState::Planned, None, scene.branch())
    );
    assert_eq!(planned, scene.plan());
    let (path, remote) = scene.bare_remote();
    for (remote, dir) in [
        (Remote::Here, scene.dir.path().join("widgets")),
        (remote, path),
    ] {
        let surface = scene.surface(remote);
        let output = scene.stored(planned.clone());
        assert_eq!(surface.find(&output).await, Ok(Found::Absent));
        let first = surface.deliver(&output).await.unwrap();
        // A crash at this point leaves the branch without a confirmation. The outbox looks it up; sending it again is safe too.
        assert_eq!(surface.find(&output).await, Ok(Found::At(first.clone())));
        assert_eq!(surface.deliver(&output).await, Ok(first.clone()));
        let dir = dir.to_str().unwrap();
        let tip = run(&scene.dir, &["-C", dir, "rev-parse", &scene.branch()]);
        assert_eq!(
            first,
            RemoteId {
                id: format!("{}@{tip}", scene.branch()),
                url: None,
                revision: None,
            }
        );
        let branches = run(
            &scene.dir,
            &[
                "-C",
                dir,
                "for-each-ref",
                "--format=%(refname)",
                "refs/heads/daemon",
            ],
        );
        assert_eq!(branches, scene.branch());
        assert_eq!(
            run(
                &scene.dir,
                &["-C", dir, "rev-list", "--count", &scene.branch()]
            ),
            "2"
        );
    }
    assert_eq!(run(&scene.dir, &["rev-list", "--count", "main"]), "1");
}

/// Returns the subjects of the commits that are planned if the run committed these files, each a path with its
/// content, empty for a removed file, and a message.
fn planned_commits(commits: &[(&str, &str, &str)]) -> String {
    let scene = Scene::new();
    let work = scene.worktree.dir().to_str().unwrap().to_owned();
    for (path, content, message) in commits {
        match *content {
            "" => fs::remove_file(scene.worktree.dir().join(path)).unwrap(),
            content => drop(scene.change(path, content)),
        }
        run(&scene.dir, &["-C", &work, "add", "-A"]);
        run(&scene.dir, &["-C", &work, "commit", "-q", "-m", message]);
    }
    scene.change("docs/a.md", "a\nB\n");
    let planned = scene.plan();
    assert_eq!((planned.state, planned.error), (OutputState::Planned, None));
    let tip = planned.revision.unwrap();
    run(&scene.dir, &["log", "--format=%s", &format!("main..{tip}")])
}

#[test]
fn commits_of_a_run_are_pushed_only_if_each_of_them_may_be() {
    assert_eq!(
        planned_commits(&[("b.md", "1\n", "add b"), ("b.md", "2\n", "change b")]),
        "Repair one link\nchange b\nadd b"
    );
    let long = "x\n".repeat(4_000);
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    for commits in [
        [
            ("b.md", "known-to-the-host\n", "add b"),
            ("b.md", "2\n", "change b"),
        ],
        [("b.md", &token, "add b"), ("b.md", "2\n", "change b")],
        [
            ("b.md", "1\n", "known-to-the-host"),
            ("b.md", "2\n", "change b"),
        ],
        [
            (".agents/b.md", "1\n", "add b"),
            (".agents/b.md", "", "remove b"),
        ],
        [("b.md", &long, "add b"), ("b.md", "2\n", "change b")],
    ] {
        let scene = planned_commits(&commits);
        assert_eq!(scene, "Repair one link", "{commits:?}");
    }
}

#[tokio::test]
async fn a_branch_of_somebody_else_is_refused_and_left_as_it_is() {
    let scene = Scene::new();
    scene.change("docs/a.md", "a\nB\n");
    let output = scene.stored(scene.plan());
    let (path, remote) = scene.bare_remote();
    run(&scene.dir, &["update-ref", &scene.branch(), "main"]);
    run(
        &scene.dir,
        &[
            "push",
            "-q",
            path.to_str().unwrap(),
            &format!("main:{}", scene.branch()),
        ],
    );
    for remote in [Remote::Here, remote] {
        let surface = scene.surface(remote);
        assert_eq!(surface.find(&output).await, Ok(Found::Absent));
        let error = surface.deliver(&output).await.unwrap_err();
        assert_eq!(error.kind, SurfaceErrorKind::Refused, "{error}");
        assert!(error.message.contains("exists and is not ours"), "{error}");
    }
    let main = run(&scene.dir, &["rev-parse", "main"]);
    assert_eq!(run(&scene.dir, &["rev-parse", &scene.branch()]), main);
    let there = run(
        &scene.dir,
        &["-C", path.to_str().unwrap(), "rev-parse", &scene.branch()],
    );
    assert_eq!(there, main);
}

#[tokio::test]
async fn a_row_that_names_another_branch_or_commit_is_refused() {
    let scene = Scene::new();
    scene.change("docs/a.md", "a\nB\n");
    let surface = scene.surface(Remote::Here);
    let stored = || scene.stored(scene.plan());
    let gone = "12".repeat(20);
    let content = |commit: &str| {
        format!(r#"{{"v":1,"commit":"{commit}","files":1,"insertions":1,"deletions":1}}"#)
    };
    for output in [
        Output {
            target: "refs/heads/main".into(),
            ..stored()
        },
        Output {
            content: content(&gone),
            ..stored()
        },
        Output {
            content: content("--help"),
            ..stored()
        },
        Output {
            content: "{}".into(),
            ..stored()
        },
        Output {
            content: content(&gone).replace(r#""v":1"#, r#""v":2"#),
            ..stored()
        },
    ] {
        let error = surface.deliver(&output).await.unwrap_err();
        assert_eq!(error.kind, SurfaceErrorKind::Refused, "{error}");
    }
    let elsewhere = Output {
        daemon: DaemonKey {
            repo: "elsewhere".parse().unwrap(),
            ..scene.daemon.clone()
        },
        ..stored()
    };
    assert_eq!(
        surface.deliver(&elsewhere).await.unwrap_err().kind,
        SurfaceErrorKind::Retryable
    );
    assert_eq!(
        run(
            &scene.dir,
            &["for-each-ref", "--format=%(refname)", "refs/heads"]
        ),
        "refs/heads/main"
    );
}

#[tokio::test]
async fn an_unreachable_remote_may_have_received_it() {
    let scene = Scene::new();
    scene.change("docs/a.md", "a\nB\n");
    let output = scene.stored(scene.plan());
    let remote = scene
        .dir
        .path()
        .join("absent.git")
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    let surface = scene.surface(remote);
    assert_eq!(
        surface.find(&output).await.unwrap_err().kind,
        SurfaceErrorKind::Retryable
    );
    assert!(surface.deliver(&output).await.is_err());
}

#[test]
fn what_may_not_be_pushed_is_a_refused_output_with_its_reason() {
    let refused = |change: &dyn Fn(&Scene)| {
        let scene = Scene::new();
        change(&scene);
        let output = scene.plan();
        (output.state, output.error.unwrap_or_default())
    };
    // Put together here, so that no reader takes this file for a leak.
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let long = "x\n".repeat(5_001);
    let allowed = "x\n".repeat(4_998);
    for (change, error) in [
        (
            &(|_: &Scene| {}) as &dyn Fn(&Scene),
            "nothing changed in the worktree",
        ),
        (
            &|scene| _ = scene.change("a.md", "it is known-to-the-host\n"),
            "an added line holds what looks like a secret of this host",
        ),
        (
            &|scene| _ = scene.change(".agents/daemons/x/DAEMON.md", "x"),
            "`.agents/daemons/x/DAEMON.md` decides what runs, and no daemon changes it",
        ),
        (
            &|scene| _ = scene.change(".github/workflows/ci.yml", "x"),
            "`.github/workflows/ci.yml` decides what runs, and no daemon changes it",
        ),
        (
            &|scene| _ = scene.change("docs/b.md", &long),
            "5001 lines changed, at most 5000 are pushed",
        ),
        (
            &|scene| _ = scene.change("docs/b.md", &format!("fine\nkey: {token}\n")),
            "an added line holds what looks like a GitHub token",
        ),
        (
            &|scene| _ = scene.change("docs/b.bin", &format!("\0{token}\0")),
            "an added line holds what looks like a GitHub token",
        ),
        (
            &|scene| _ = scene.change("docs/bad\nname", "x"),
            "\"docs/bad\\nname\" is another repository, or no printable relative path",
        ),
    ] {
        assert_eq!(refused(change), (OutputState::Refused, error.to_owned()));
    }
    assert_eq!(
        refused(&|scene| _ = scene.change("docs/b.md", &allowed)),
        (OutputState::Planned, String::new())
    );
}
