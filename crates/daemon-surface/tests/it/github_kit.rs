//! A fake GitHub with a repository, an issue, a pull request and our account.

use daemon_engine::proposal::GithubName;
use daemon_fakes::{FakeClock, GithubAccess, GithubApi, GithubFile, GithubWorkflowRun};
use daemon_surface::{Credentials, GithubSurface, ServiceApi};
use serde_json::{Value, json};

use super::outbox::HostClock;

pub(super) const BOT: &str = "librarian-bot";
/// The slug of our App.
pub(super) const APP: &str = "librarian";
pub(super) const TOKEN: &str = "ghp_NobodyMaySeeThisEither";
pub(super) const REPO: &str = "o/r";
/// The branch of the activation.
pub(super) const HEAD: &str = "daemon/librarian/one";

/// Starts a GitHub with issue 1 and pull request 2 of `ann`.
pub(super) fn github() -> GithubApi {
    let api = GithubApi::start(0, FakeClock::default()).unwrap();
    api.add_repo(REPO);
    api.add_token(TOKEN, BOT, GithubAccess::Write);
    api.add_collaborator(REPO, BOT);
    api.add_collaborator(REPO, "ann");
    for (branch, digit) in [("main", "a"), ("topic", "b"), (HEAD, "c")] {
        api.set_branch(REPO, branch, Some(&digit.repeat(40)));
    }
    api.read_files(REPO, |_, _| {
        let (path, status) = ("a.rs".to_owned(), "modified".to_owned());
        let patch = "@@ -1,2 +1,3 @@\n one\n+two\n three".to_owned();
        vec![GithubFile {
            path,
            status,
            patch,
        }]
    });
    api.set_app(7, APP, |_, _| true);
    api.add_installation(&[REPO]);
    api.add_workflow_run(
        REPO,
        GithubWorkflowRun {
            id: 77,
            name: "ci".to_owned(),
            head_branch: "topic".to_owned(),
            head_sha: "b".repeat(40),
            conclusion: Some("failure".to_owned()),
            attempt: 1,
            jobs: Vec::new(),
            begun_at: None,
        },
    );
    as_ann(
        &api,
        "issues",
        json!({"title": "A question", "body": "How?"}),
    );
    let pull = json!({"title": "A change", "body": "Mine.", "head": "topic", "base": "main"});
    as_ann(&api, "pulls", pull);
    api
}

/// Creates something as a person.
pub(super) fn as_ann(api: &GithubApi, below: &str, body: Value) -> u64 {
    let (status, made) = api.act("ann", "POST", &format!("/repos/{REPO}/{below}"), &body);
    assert_eq!(status, 201, "{made}");
    made["id"].as_u64().unwrap()
}

/// Returns the surface of a fresh host with a token.
pub(super) fn surface(api: &GithubApi, clock: &HostClock) -> GithubSurface {
    surface_with(api, clock, Credentials::Token(TOKEN.parse().unwrap()))
}

/// Returns the surface of a fresh host that is an App.
pub(super) fn app_surface(api: &GithubApi, clock: &HostClock) -> GithubSurface {
    let key = include_str!("app_key.pem").parse().unwrap();
    let app = daemon_surface::AppCredentials::new(7, key, None, |_| ());
    surface_with(api, clock, Credentials::App(app))
}

fn surface_with(api: &GithubApi, clock: &HostClock, credentials: Credentials) -> GithubSurface {
    let base = api.server().base_url().parse().unwrap();
    let client = ServiceApi::new(base, credentials, clock.wall()).unwrap();
    let repos: Vec<GithubName> = vec![REPO.parse().unwrap()];
    GithubSurface::new(client, repos)
}
