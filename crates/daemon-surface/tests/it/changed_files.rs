//! The changed files of a pull request, page by page.

use daemon_event::Need;

use super::fact_kit::{files, found, github, page, pull_request};
use super::fake_api::{Reply, ok};

#[tokio::test]
async fn every_page_of_changed_files_is_read_and_a_rename_counts_twice() {
    const NEXT: &str = "Link: <http://elsewhere.example/2>; rel=\"next\", <x>; rel=\"last\"\r\n";
    const LAST: &str = "Link: <http://elsewhere.example/1>; rel=\"prev\"\r\n";
    let renamed = r#"[{"filename":"b.md","previous_filename":"a.md","status":"renamed"},
                      {"filename":"gone.md","status":"removed"}]"#;
    let replies = vec![
        Reply::Says(200, NEXT, files(&["docs/a.md"])),
        Reply::Says(200, LAST, renamed.to_owned()),
    ];
    let (told, asked) = github(replies, Need::ChangedFiles, &pull_request()).await;
    assert_eq!(told, found(&["docs/a.md", "b.md", "a.md", "gone.md"]));
    assert_eq!(asked, [page("pulls/7/files", 1), page("pulls/7/files", 2)]);
}

#[tokio::test]
async fn without_links_a_full_page_has_another() {
    let full: Vec<String> = (0..100).map(|n| format!("f{n}")).collect();
    let full: Vec<&str> = full.iter().map(String::as_str).collect();
    let replies = vec![ok(files(&full)), ok("[]")];
    let (told, asked) = github(replies, Need::ChangedFiles, &pull_request()).await;
    assert_eq!(told, found(&full));
    assert_eq!(asked.len(), 2);
}

#[tokio::test]
async fn changed_files_are_cut_at_three_thousand_paths() {
    const NEXT: &str = "Link: <x>; rel=\"next\"\r\n";
    let replies = (0..31).map(|page| {
        let paths: Vec<String> = (0..100).map(|n| format!("p{page}/f{n}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        // The first page also has the former name of one file.
        let body = files(&paths).replace(
            "\"filename\":\"p0/f0\"",
            "\"filename\":\"p0/f0\",\"previous_filename\":\"old\"",
        );
        Reply::Says(200, NEXT, body)
    });
    let (told, asked) = github(replies.collect(), Need::ChangedFiles, &pull_request()).await;
    let fact = told.unwrap();
    let paths = fact.found.changed_files.unwrap();
    let ends = [paths.first(), paths.get(1), paths.last()];
    assert_eq!(ends.map(Option::unwrap), ["p0/f0", "old", "p29/f98"]);
    assert_eq!(
        (paths.len(), fact.note.as_deref(), asked.len()),
        (3_000, Some("cut at 3000 paths"), 30)
    );
}
