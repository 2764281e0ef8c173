use super::*;

fn facts(source: Source, kind: &str, body: &str) -> String {
    match read(source, kind, body.as_bytes(), &Enrichment::default()) {
        Ok(reading) => {
            let mut lines = vec![
                format!("action {:?}", reading.action),
                format!(
                    "subject {:?}",
                    reading.subject.map(|subject| subject.to_string())
                ),
            ];
            lines.extend(
                reading
                    .facts
                    .iter()
                    .map(|(field, value)| format!("{field}: {value}")),
            );
            lines.join("\n")
        }
        Err(malformed) => malformed.to_string(),
    }
}

#[test]
fn a_pull_request_from_a_fork_has_branches_labels_and_author() {
    expect_test::expect![[r#"
        action Some("labeled")
        subject Some("github:acme/pump#7")
        number: 7
        title: Seal the valve
        author: kit
        author_kind: human
        actor: robo[bot]
        actor_kind: bot
        by_author: false
        labels: leak, urgent
        label_added: leak
        fork: true
        base: trunk
        default_branch: trunk
        on_default_branch: true
        repo: acme/pump"#]]
    .assert_eq(&facts(
        Source::Github,
        "pull_request",
        r#"{"action":"labeled","label":{"name":"leak"},"pull_request":{"number":7,
           "title":"Seal the valve","user":{"login":"kit","type":"User"},
           "labels":[{"name":"leak"},{"name":"urgent"}],"extra":{"title":"no"},
           "head":{"repo":{"full_name":"kit/pump"}},
           "base":{"ref":"trunk","repo":{"full_name":"acme/pump"}}},
           "repository":{"full_name":"acme/pump","default_branch":"trunk"},
           "sender":{"login":"robo[bot]"}}"#,
    ));
}

#[test]
fn a_push_of_a_local_repository_has_branch_and_files() {
    expect_test::expect![[r#"
        action None
        subject Some("git:pump:refs/heads/trunk")
        message: Move the gauge
        actor: kit
        actor_kind: human
        branch: trunk
        ref_type: branch
        ref: refs/heads/trunk
        default_branch: trunk
        on_default_branch: true
        changed_files: docs/gauge.md, src/gauge.rs
        added_files: src/gauge.rs
        removed_files: 
        forced: false
        deleted: false
        created: false
        repo: pump
        after: b2"#]]
    .assert_eq(&facts(
        Source::Git,
        "push",
        r#"{"ref":"refs/heads/trunk","before":"a1","after":"b2","created":false,"deleted":false,
            "forced":false,"commits":[{"id":"b2","message":"Move the gauge","added":["src/gauge.rs"],
            "modified":["docs/gauge.md"],"removed":[]}],
            "changed_files":["docs/gauge.md","src/gauge.rs"],
            "repository":{"full_name":"pump","default_branch":"trunk"},"sender":{"login":"kit"}}"#,
    ));
}

#[test]
fn a_linear_update_lists_changed_attributes_and_added_labels() {
    expect_test::expect![[r#"
        action Some("update")
        subject Some("linear:PMP-3")
        title: Drip
        actor: Kit
        actor_kind: human
        labels: Leak, Old
        label_added: Leak
        label_removed: 
        label_removed_id: 
        priority: urgent
        assignees: 
        assignee: 
        changed: labels"#]]
    .assert_eq(&facts(
        Source::Linear,
        "Issue",
        r#"{"type":"Issue","action":"update","actor":{"name":"Kit","type":"user"},
            "data":{"identifier":"PMP-3","title":"Drip","priority":1,"assigneeId":null,
            "labels":[{"id":"1","name":"Leak"},{"id":"2","name":"Old"}]},
            "updatedFrom":{"labelIds":["2"],"updatedAt":"x"}}"#,
    ));
}

#[test]
fn a_text_that_is_null_is_known_to_be_nothing_and_one_that_is_missing_is_unknown() {
    let of = |pull: &str| {
        let body = format!(r#"{{"action":"opened","pull_request":{pull}}}"#);
        let reading = read(
            Source::Github,
            "pull_request",
            body.as_bytes(),
            &Enrichment::default(),
        );
        let facts = reading.expect("it is read").facts;
        facts
            .get(Field::Body)
            .map(|value| value.texts().map(str::to_owned).collect::<Vec<_>>())
    };
    assert_eq!(of(r#"{"number":1,"body":null}"#), Some(Vec::new()));
    assert_eq!(of(r#"{"number":1}"#), None);
    assert_eq!(
        of(r#"{"number":1,"body":"leak"}"#),
        Some(vec!["leak".to_owned()])
    );
}

#[test]
fn by_author_is_set_if_a_payload_names_actor_and_author() {
    let by_author = |kind: &str, body: &str| {
        let reading = read(
            Source::Github,
            kind,
            body.as_bytes(),
            &Enrichment::default(),
        );
        reading.map(|reading| reading.facts.flag(Field::ByAuthor))
    };
    let cases = [
        (
            "pull_request",
            r#"{"action":"edited","pull_request":{"user":{"login":"kit"}},"sender":{"login":"Kit"}}"#,
            Some(true),
        ),
        (
            "pull_request",
            r#"{"action":"edited","pull_request":{"user":{"login":"kit"}},"sender":{"login":"ro"}}"#,
            Some(false),
        ),
        (
            "issue_comment",
            r#"{"action":"created","issue":{"user":{"login":"kit"}},
               "comment":{"user":{"login":"ro"}},"sender":{"login":"ro"}}"#,
            Some(false),
        ),
        (
            "issues",
            r#"{"action":"opened","issue":{},"sender":{"login":"ro"}}"#,
            None,
        ),
        (
            "push",
            r#"{"ref":"refs/heads/m","pusher":{"name":"ro"},"sender":{"login":"ro"}}"#,
            None,
        ),
    ];
    for (kind, body, expected) in cases {
        assert_eq!(by_author(kind, body), Ok(expected), "{kind} {body}");
    }
}

#[test]
fn who_edits_a_comment_is_compared_with_its_author_and_an_assignee_has_a_kind() {
    let read_github = |kind: &str, body: &str| {
        let none = Enrichment::default();
        read(Source::Github, kind, body.as_bytes(), &none).map(|reading| reading.facts)
    };
    let edited = |comment: &str| {
        let body = format!(
            r#"{{"action":"edited","issue":{{"user":{{"login":"ro"}}}},"comment":{comment},"sender":{{"login":"ro"}}}}"#
        );
        let facts = read_github("issue_comment", &body);
        facts.map(|facts| (facts.flag(Field::ByWriter), facts.flag(Field::ByAuthor)))
    };
    let cases = [
        (r#"{"user":{"login":"Ro"}}"#, (Some(true), Some(true))),
        (r#"{"user":{"login":"kit"}}"#, (Some(false), Some(true))),
        ("{}", (None, Some(true))),
    ];
    for (comment, expected) in cases {
        assert_eq!(edited(comment), Ok(expected), "{comment}");
    }
    let assigned = |assignee: &str| {
        let body = format!(r#"{{"action":"assigned","issue":{{}},"assignee":{assignee}}}"#);
        let facts = read_github("issues", &body);
        facts.map(|facts| facts.text(Field::AssigneeKind).map(str::to_owned))
    };
    let kinds = [
        (r#"{"login":"kit","type":"User"}"#, Some("human")),
        (r#"{"login":"robo[bot]","type":"Bot"}"#, Some("bot")),
        (r#"{"login":"kit"}"#, None),
    ];
    for (assignee, expected) in kinds {
        assert_eq!(
            assigned(assignee),
            Ok(expected.map(str::to_owned)),
            "{assignee}"
        );
    }
}

#[test]
fn the_subject_of_a_reply_is_its_thread() {
    expect_test::expect![[r#"
        action None
        subject Some("slack:C1/1.0")
        key: 2.0
        comment: on it
        author: U1
        author_kind: human
        actor: U1
        actor_kind: human
        channel_id: C1
        thread: 1.0
        reply: true
        subtype: plain
        message_kind: reply"#]]
    .assert_eq(&facts(
        Source::Slack,
        "message",
        r#"{"event":{"type":"message","user":"U1","channel":"C1","text":"on it","ts":"2.0",
            "thread_ts":"1.0"}}"#,
    ));
}

#[test]
fn a_body_of_another_shape_is_rejected_with_its_path() {
    let cases = [
        (
            Source::Github,
            "pull_request",
            r#"{"action":"opened"}"#,
            "the `pull_request` event has no `pull_request`",
        ),
        (
            Source::Github,
            "pull_request",
            r#"{"action":"opened","pull_request":null}"#,
            "the `pull_request` event has no `pull_request`",
        ),
        (
            Source::Linear,
            "Issue",
            r#"{"type":"Comment","action":"create","data":{}}"#,
            "`type` is `Comment`, the event was announced as `Issue`",
        ),
        (
            Source::Slack,
            "message",
            r#"{"event":{}}"#,
            "the `message` event has no `event.type`",
        ),
        (
            Source::Github,
            "push",
            "[1]",
            "the body is not one JSON object",
        ),
        (
            Source::Github,
            "push",
            r#"{"ref":"#,
            "the body is not one JSON object: line 1, column 7",
        ),
        (
            Source::Github,
            "push",
            r#"{"ref":"x"} {}"#,
            "the body is not one JSON object: line 1, column 13",
        ),
    ];
    for (source, kind, body, expected) in cases {
        assert_eq!(facts(source, kind, body), expected, "{body}");
    }
    let latin = read(
        Source::Git,
        "push",
        b"{\"ref\":\"\xe9\"}",
        &Enrichment::default(),
    );
    assert_eq!(latin, Err(MalformedPayload::Encoding { valid_up_to: 8 }));
}

#[test]
fn an_unknown_kind_has_actor_and_repository() {
    expect_test::expect![[r#"
        action Some("woven")
        subject Some("github:acme/pump")
        actor: kit
        actor_kind: human
        repo: acme/pump"#]]
    .assert_eq(&facts(
        Source::Github,
        "carpet",
        r#"{"action":"woven","repository":{"full_name":"acme/pump"},"sender":{"login":"kit","type":"User"}}"#,
    ));
}

#[test]
fn fetched_pull_requests_become_facts() {
    let enrichment = Enrichment {
        changed_files: None,
        pull_requests: Some(vec![PullRequestFact {
            number: 7,
            draft: Some(false),
            state: Some("open".to_owned()),
            is_current_head: Some(true),
            ..Default::default()
        }]),
        ..Enrichment::default()
    };
    let body =
        br#"{"state":"failure","context":"ci/pump","sha":"b2","branches":[{"name":"drip"}]}"#;
    let reading = read(Source::Github, "status", body, &enrichment).expect("it is a status");
    let lines: Vec<String> = reading
        .facts
        .iter()
        .map(|(field, value)| format!("{field}: {value}"))
        .collect();
    assert_eq!(
        lines,
        [
            "number: 7",
            "draft: false",
            "state: open",
            "branch: drip",
            "conclusion: failure",
            "check: ci/pump",
            "pull_requests: 7",
            "current_head: true",
            "after: b2",
        ]
    );
}

#[test]
fn every_event_about_a_ref_has_the_same_subject() {
    let repository = r#""repository":{"full_name":"acme/pump","default_branch":"trunk"}"#;
    let about = |source, kind: &str, more: &str| {
        let body = format!("{{{more},{repository}}}");
        let reading = read(source, kind, body.as_bytes(), &Enrichment::default());
        reading.unwrap().subject.unwrap().to_string()
    };
    let full = r#""ref":"refs/heads/valve","ref_type":"branch","before":"a1","after":"b2""#;
    let short = r#""ref":"valve","ref_type":"branch""#;
    for kind in ["create", "delete"] {
        assert_eq!(
            about(Source::Git, kind, full),
            "git:acme/pump:refs/heads/valve"
        );
        assert_eq!(
            about(Source::Github, kind, short),
            "git:acme/pump:refs/heads/valve"
        );
    }
    assert_eq!(
        about(Source::Github, "push", full),
        "git:acme/pump:refs/heads/valve"
    );
    let tag = r#""ref":"v1","ref_type":"tag""#;
    assert_eq!(
        about(Source::Github, "create", tag),
        "git:acme/pump:refs/tags/v1"
    );
}

#[test]
fn later_facts_are_added_to_earlier_ones_and_refine_the_subject() {
    let body = r#"{"state":"failure","context":"ci/pump","sha":"b2","repository":{"full_name":"acme/pump"}}"#;
    let first = Enrichment {
        changed_files: Some(vec!["docs/a.md".to_owned()]),
        ..Enrichment::default()
    };
    let second = Enrichment {
        pull_requests: Some(vec![PullRequestFact {
            number: 7,
            base: Some("trunk".to_owned()),
            is_fork: Some(true),
            ..PullRequestFact::default()
        }]),
        ..Enrichment::default()
    };
    let event = event("status", body);
    let event = enriched(&event, &first).and_then(|event| enriched(&event, &second));
    let event = event.expect("the body is a status");
    let lines: Vec<String> = event
        .facts
        .iter()
        .map(|(field, value)| format!("{field}: {value}"))
        .collect();
    assert_eq!(
        lines,
        [
            "number: 7",
            "fork: true",
            "base: trunk",
            "conclusion: failure",
            "check: ci/pump",
            "pull_requests: 7",
            "changed_files: docs/a.md",
            "repo: acme/pump",
            "after: b2",
        ]
    );
    let subject = event.subject.map(|subject| subject.to_string());
    assert_eq!(subject.as_deref(), Some("github:acme/pump#7"));
}

#[test]
fn a_comment_receives_the_branches_of_its_pull_request() {
    let body = r#"{"action":"created","issue":{"number":7,"pull_request":{"url":"u"}},"comment":{"body":"x"},
        "repository":{"full_name":"acme/pump","default_branch":"trunk"}}"#;
    let found = Enrichment {
        pull_requests: Some(vec![PullRequestFact {
            number: 7,
            base: Some("trunk".to_owned()),
            head: Some("seal".to_owned()),
            is_merged: Some(false),
            ..PullRequestFact::default()
        }]),
        ..Enrichment::default()
    };
    let event = enriched(&event("issue_comment", body), &found).expect("the body is a comment");
    let found = [Field::Base, Field::Head].map(|field| event.facts.text(field));
    assert_eq!(found, [Some("trunk"), Some("seal")]);
    let found = [Field::OnDefaultBranch, Field::Merged].map(|field| event.facts.flag(field));
    assert_eq!(found, [Some(true), Some(false)]);
}

fn event(kind: &str, body: &str) -> Event {
    let reading = read(
        Source::Github,
        kind,
        body.as_bytes(),
        &Enrichment::default(),
    );
    let reading = reading.expect("the body is of its kind");
    Event {
        id: crate::EventId::new(0, [0; 10]),
        source: Source::Github,
        kind: kind.to_owned(),
        action: reading.action,
        subject: reading.subject,
        actor: reading.actor,
        repo: reading.repo,
        time: Timestamp::UNIX_EPOCH,
        received_at: Timestamp::UNIX_EPOCH,
        delivery: "d".parse().expect("an id"),
        facts: reading.facts,
        payload: body.as_bytes().into(),
    }
}

proptest::proptest! {
    #[test]
    fn reading_any_body_does_not_panic(body in ".{0,200}", kind in "[a-z_]{0,20}") {
        for source in Source::ALL {
            std::hint::black_box(read(source, &kind, body.as_bytes(), &Enrichment::default()).is_ok());
        }
    }
}

mod sources;
