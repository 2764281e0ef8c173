//! Commits that are added to branches which exist, in the repository and at a remote.

use daemon_engine::{Found, NewOutput, OutputKey, RemoteId, Surface as _, SurfaceErrorKind};
use daemon_repo::{BranchTip, RefName, Remote};

use crate::branch::{Scene, run};

const TOPIC: &str = "refs/heads/topic";

/// Plans the changes of the run as an addition to a branch.
fn planned(scene: &Scene, branch: &str, at: Option<&str>) -> NewOutput {
    scene.change("docs/a.md", "a\nc\n");
    let onto = BranchTip {
        branch: branch.parse().unwrap(),
        at: at.map(|at| at.parse().unwrap()),
    };
    scene.plan_onto(Some(&onto))
}

fn head(scene: &Scene) -> String {
    run(&scene.dir, &["rev-parse", "main"])
}

/// Commits with the tree of `main` and a parent.
fn commit_on(scene: &Scene, parent: &str) -> String {
    run(
        &scene.dir,
        &["commit-tree", "-p", parent, "-m", "theirs", "main^{tree}"],
    )
}

fn delivered(commit: &str) -> RemoteId {
    RemoteId {
        id: format!("{TOPIC}@{commit}"),
        url: None,
        revision: None,
    }
}

/// A destination with `topic` at `main`, and how its branch is read and moved.
struct Destination {
    scene: Scene,
    remote: Remote,
    path: Option<String>,
}

impl Destination {
    fn here() -> Self {
        let scene = Scene::new();
        run(&scene.dir, &["branch", "topic", "main"]);
        Self {
            scene,
            remote: Remote::Here,
            path: None,
        }
    }

    fn elsewhere() -> Self {
        let scene = Scene::new();
        let (path, remote) = scene.bare_remote();
        let path = path.to_str().unwrap().to_owned();
        run(&scene.dir, &["push", "-q", &path, "main:topic"]);
        Self {
            scene,
            remote,
            path: Some(path),
        }
    }

    fn at(&self, args: &[&str]) -> String {
        let git_dir = self.path.as_ref().map(|path| format!("--git-dir={path}"));
        let args: Vec<&str> = git_dir
            .iter()
            .map(String::as_str)
            .chain(args.iter().copied())
            .collect();
        run(&self.scene.dir, &args)
    }

    fn tip(&self) -> String {
        self.at(&["for-each-ref", "--format=%(objectname)", TOPIC])
    }

    fn move_to(&self, commit: &str) {
        match &self.path {
            None => run(&self.scene.dir, &["update-ref", TOPIC, commit]),
            Some(path) => run(
                &self.scene.dir,
                &["push", "-q", "-f", path, &format!("{commit}:{TOPIC}")],
            ),
        };
    }
}

#[tokio::test]
async fn a_commit_is_added_once_and_found_below_later_ones() {
    for place in [Destination::here(), Destination::elsewhere()] {
        let scene = &place.scene;
        let surface = scene.surface(place.remote.clone());
        let base = head(scene);
        let output = scene.stored(planned(scene, TOPIC, Some(&base)));
        assert_eq!(surface.find(&output).await, Ok(Found::Absent));
        let commit = output.revision.clone().unwrap();
        assert_eq!(surface.deliver(&output).await, Ok(delivered(&commit)));
        assert_eq!(place.tip(), commit);
        assert_eq!(
            run(&scene.dir, &["rev-parse", &format!("{commit}~1")]),
            base
        );
        // A person's commit follows before the delivery is confirmed.
        let theirs = commit_on(scene, &commit);
        place.move_to(&theirs);
        assert_eq!(
            surface.find(&output).await,
            Ok(Found::At(delivered(&commit)))
        );
        assert_eq!(surface.deliver(&output).await, Ok(delivered(&commit)));
        assert_eq!(place.tip(), theirs);
    }
}

#[tokio::test]
async fn a_branch_that_moved_or_is_gone_is_left_alone() {
    for place in [Destination::here(), Destination::elsewhere()] {
        let scene = &place.scene;
        let surface = scene.surface(place.remote.clone());
        let base = head(scene);
        let output = scene.stored(planned(scene, TOPIC, Some(&base)));
        let theirs = commit_on(scene, &base);
        place.move_to(&theirs);
        assert_eq!(surface.find(&output).await, Ok(Found::Absent));
        let error = surface.deliver(&output).await.unwrap_err();
        assert_eq!(error.kind, SurfaceErrorKind::Refused);
        let why = format!("branch `{TOPIC}` moved: it is at `{theirs}`");
        assert!(error.message.contains(&why), "{error}");
        assert_eq!(place.tip(), theirs);
        place.at(&["update-ref", "-d", TOPIC]);
        let error = surface.deliver(&output).await.unwrap_err();
        assert_eq!(error.kind, SurfaceErrorKind::Refused);
        assert!(error.message.contains("it does not exist"), "{error}");
        assert_eq!(place.tip(), "");
    }
}

#[tokio::test]
async fn a_branch_that_someone_has_checked_out_waits() {
    let place = Destination::here();
    let scene = &place.scene;
    let output = scene.stored(planned(scene, TOPIC, Some(&head(scene))));
    run(&scene.dir, &["checkout", "-q", "topic"]);
    let surface = scene.surface(Remote::Here);
    let error = surface.deliver(&output).await.unwrap_err();
    assert_eq!(error.kind, SurfaceErrorKind::Retryable);
    assert!(error.message.contains("is checked out in"), "{error}");
    run(&scene.dir, &["checkout", "-q", "main"]);
    assert!(surface.deliver(&output).await.is_ok());
}

#[tokio::test]
async fn a_remote_that_declines_the_push_ends_it() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Destination::elsewhere();
    let hook = format!("{}/hooks/pre-receive", place.path.as_deref().unwrap());
    std::fs::create_dir_all(std::path::Path::new(&hook).parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let scene = &place.scene;
    let output = scene.stored(planned(scene, TOPIC, Some(&head(scene))));
    let error = scene
        .surface(place.remote.clone())
        .deliver(&output)
        .await
        .unwrap_err();
    assert_eq!(error.kind, SurfaceErrorKind::Refused);
    assert!(
        error.message.contains("pre-receive hook declined"),
        "{error}"
    );
}

#[tokio::test]
async fn the_default_branch_is_never_pushed_to() {
    let place = Destination::here();
    let scene = &place.scene;
    let base = head(scene);
    let refused = planned(scene, "refs/heads/main", Some(&base));
    assert_eq!(
        refused.error.as_deref(),
        Some("`refs/heads/main` is protected")
    );
    // The default branch has another name since the output was planned.
    let output = scene.stored(planned(scene, TOPIC, Some(&base)));
    run(
        &scene.dir,
        &["update-ref", "refs/remotes/origin/topic", "main"],
    );
    run(
        &scene.dir,
        &[
            "symbolic-ref",
            "refs/remotes/origin/HEAD",
            "refs/remotes/origin/topic",
        ],
    );
    let error = scene
        .surface(Remote::Here)
        .deliver(&output)
        .await
        .unwrap_err();
    assert_eq!(error.kind, SurfaceErrorKind::Refused);
    assert!(
        error.message.contains("it is the default branch"),
        "{error}"
    );
    assert_eq!(place.tip(), base);
    // It is known by its name, also if only the remote has it.
    run(
        &scene.dir,
        &["update-ref", "-d", "refs/remotes/origin/topic"],
    );
    let trunk = "refs/remotes/origin/trunk";
    run(
        &scene.dir,
        &["symbolic-ref", "refs/remotes/origin/HEAD", trunk],
    );
    assert!(scene.surface(Remote::Here).deliver(&output).await.is_ok());
}

#[tokio::test]
async fn a_changed_row_reaches_no_other_branch() {
    let place = Destination::here();
    let scene = &place.scene;
    let base = head(scene);
    let surface = scene.surface(Remote::Here);
    let mut output = scene.stored(planned(scene, TOPIC, Some(&base)));
    run(&scene.dir, &["branch", "release", "main"]);
    output.target = "refs/heads/release".to_owned();
    let error = surface.deliver(&output).await.unwrap_err();
    assert_eq!(error.kind, SurfaceErrorKind::Refused);
    // Only a rolling branch of the daemon is created.
    let name = |short| RefName::branch(short).unwrap();
    for (branch, is_made) in [
        (name("daemon/link-janitor/rolling-2"), true),
        (name("daemon/other/rolling"), false),
        (name("topic-2"), false),
    ] {
        let output = scene.stored(planned(scene, branch.as_str(), None));
        let key = OutputKey::derive(&output.activation, 0, "git", branch.as_str());
        assert_eq!(output.key, key);
        assert_eq!(surface.deliver(&output).await.is_ok(), is_made, "{branch}");
    }
}
