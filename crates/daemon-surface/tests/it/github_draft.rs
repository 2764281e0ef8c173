//! Pull requests that become drafts, and ready again, by GraphQL.

use daemon_engine::{Found, Surface as _, SurfaceErrorKind};
use daemon_fakes::{GithubAccess, GithubApi};

use super::github_kit::{REPO, app_surface, github, surface};
use super::outbox::{HostClock, Planned, planned};

const DRAFT: &str = r#"{"v":1,"verb":"edit_pull_request","target":"github:o/r#2","draft":true}"#;
const READY: &str = r#"{"v":1,"verb":"edit_pull_request","target":"github:o/r#2","draft":false}"#;

fn is_draft(api: &GithubApi) -> bool {
    let issues = api.issues(REPO).into_iter();
    let pull = { issues }.find_map(|issue| issue.pull);
    pull.expect("a pull request").is_draft
}

#[tokio::test]
async fn a_pull_request_becomes_a_draft_and_ready_with_a_token_and_as_an_app() {
    let api = github();
    let clock = HostClock::new();
    // The App asks for the installation of the repository, because `/graphql` names none.
    for surface in [surface(&api, &clock), app_surface(&api, &clock)] {
        for (line, expected) in [(DRAFT, true), (READY, false)] {
            let output = planned(1, line, Planned::default());
            assert_eq!(surface.find(&output).await, Ok(Found::Absent), "{line}");
            let made = surface.deliver(&output).await.unwrap();
            assert_eq!(
                (made.id.as_str(), is_draft(&api)),
                ("pull_request:2", expected)
            );
            assert_eq!(surface.find(&output).await, Ok(Found::At(made)), "{line}");
        }
    }
    assert!(
        api.server()
            .received()
            .iter()
            .any(|request| request.path == "/repos/o/r/installation")
    );
}

#[tokio::test]
async fn a_token_without_rights_is_refused_with_the_words_of_the_service() {
    let api = github();
    api.add_token(super::github_kit::TOKEN, "reader", GithubAccess::Read);
    let surface = surface(&api, &HostClock::new());
    let error = surface
        .deliver(&planned(1, DRAFT, Planned::default()))
        .await
        .unwrap_err();
    assert_eq!(error.kind, SurfaceErrorKind::Refused, "{error}");
    assert!(
        error
            .message
            .contains("reader does not have the correct permissions"),
        "{error}"
    );
    assert!(!is_draft(&api));
}
