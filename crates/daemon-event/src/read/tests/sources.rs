//! One payload of each shape, for kinds with few facts.

use super::facts;
use crate::event::Source;

fn lines(source: Source, kind: &str, body: &str) -> String {
    format!(
        "{source} {kind}: {}\n",
        facts(source, kind, body).replace('\n', "; ")
    )
}

#[test]
fn github_deployments_have_environment_name_and_conclusion() {
    let read = |kind: &str, body: &str| lines(Source::Github, kind, body);
    let readings = [
        read(
            "deployment_review",
            r#"{"action":"requested","workflow_run":{"name":"Ship","head_branch":"trunk","head_sha":"b2",
            "updated_at":"2026-03-02T10:00:00Z","pull_requests":[{"number":3}]},"environment":"production",
            "repository":{"full_name":"acme/pump","default_branch":"trunk"},"sender":{"login":"kit","type":"User"}}"#,
        ),
        read(
            "deployment_protection_rule",
            r#"{"action":"requested","environment":"staging","deployment":{"sha":"b2","ref":"trunk"},
            "pull_requests":[],"repository":{"full_name":"acme/pump","default_branch":"trunk"}}"#,
        ),
        read(
            "workflow_dispatch",
            r#"{"inputs":null,"ref":"refs/heads/trunk","workflow":".github/workflows/ship.yml",
            "repository":{"full_name":"acme/pump","default_branch":"trunk"},"sender":{"login":"kit"}}"#,
        ),
        read(
            "page_build",
            r#"{"id":1,"build":{"status":"errored","error":{"message":"bad"},"pusher":{"login":"kit"},"commit":"b2"},
            "repository":{"full_name":"acme/pump"},"sender":{"login":"kit"}}"#,
        ),
        read(
            "registry_package",
            r#"{"action":"published","registry_package":{"name":"pump","ecosystem":"CONTAINER",
            "package_version":{"version":"1.2.0"}},"repository":{"full_name":"acme/pump"}}"#,
        ),
        read(
            "repository_dispatch",
            r#"{"action":"rebuild-index","branch":"trunk","client_payload":{},"repository":{"full_name":"acme/pump"}}"#,
        ),
        read(
            "repository_import",
            r#"{"status":"failure","repository":{"full_name":"acme/pump"}}"#,
        ),
        read(
            "merge_group",
            r#"{"action":"checks_requested","merge_group":{"head_sha":"b2","base_ref":"refs/heads/trunk"},
            "repository":{"full_name":"acme/pump","default_branch":"trunk"}}"#,
        ),
    ];
    expect_test::expect![[r#"
        github deployment_review: action Some("requested"); subject Some("github:acme/pump#3"); actor: kit; actor_kind: human; branch: trunk; default_branch: trunk; on_default_branch: true; workflow: Ship; environment: production; pull_requests: 3; repo: acme/pump; after: b2
        github deployment_protection_rule: action Some("requested"); subject Some("github:acme/pump@b2"); branch: trunk; default_branch: trunk; on_default_branch: true; environment: staging; pull_requests: ; repo: acme/pump; after: b2
        github workflow_dispatch: action None; subject Some("github:acme/pump:refs/heads/trunk"); actor: kit; actor_kind: human; branch: trunk; ref_type: branch; ref: refs/heads/trunk; default_branch: trunk; on_default_branch: true; workflow: .github/workflows/ship.yml; repo: acme/pump
        github page_build: action None; subject Some("github:acme/pump@b2"); author: kit; author_kind: human; actor: kit; actor_kind: human; conclusion: errored; repo: acme/pump; after: b2
        github registry_package: action Some("published"); subject Some("github:acme/pump:1.2.0"); tag: 1.2.0; subtype: CONTAINER; name: pump; repo: acme/pump
        github repository_dispatch: action Some("rebuild-index"); subject Some("github:acme/pump"); branch: trunk; name: rebuild-index; repo: acme/pump
        github repository_import: action None; subject Some("github:acme/pump"); conclusion: failure; repo: acme/pump
        github merge_group: action Some("checks_requested"); subject Some("github:acme/pump@b2"); base: trunk; default_branch: trunk; on_default_branch: true; repo: acme/pump; after: b2
    "#]].assert_eq(&readings.concat());
}

#[test]
fn github_security_events_have_severity_state_and_package() {
    let read = |kind: &str, body: &str| lines(Source::Github, kind, body);
    let readings = [
        read(
            "security_advisory",
            r#"{"action":"withdrawn","security_advisory":{"ghsa_id":"GHSA-1","summary":"Leak","description":"Drips",
            "severity":"high","vulnerabilities":[{"package":{"ecosystem":"npm","name":"pump"}}],"updated_at":"2026-03-02T10:00:00Z"}}"#,
        ),
        read(
            "repository_advisory",
            r#"{"action":"reported","repository_advisory":{"ghsa_id":"GHSA-2","summary":"Leak","severity":"critical",
            "author":{"login":"kit"}},"repository":{"full_name":"acme/pump"}}"#,
        ),
        read(
            "repository_vulnerability_alert",
            r#"{"action":"dismiss","alert":{"id":7,"affected_package_name":"pump","severity":"high","state":"dismissed"},
            "repository":{"full_name":"acme/pump"}}"#,
        ),
        read(
            "secret_scanning_alert_location",
            r#"{"action":"created","alert":{"number":4,"secret_type":"api_key"},
            "location":{"type":"commit","details":{"path":"src/main.rs"}},"repository":{"full_name":"acme/pump"}}"#,
        ),
        read(
            "repository_ruleset",
            r#"{"action":"edited","repository_ruleset":{"name":"trunk only","enforcement":"active"},
            "changes":{"enforcement":{"from":"disabled"}},"repository":{"full_name":"acme/pump"}}"#,
        ),
        read(
            "security_and_analysis",
            r#"{"changes":{"from":{"security_and_analysis":{"secret_scanning":{"status":"disabled"}}}},"repository":{"full_name":"acme/pump"}}"#,
        ),
        read(
            "deploy_key",
            r#"{"action":"created","key":{"id":1,"title":"ship","created_at":"2026-03-02T10:00:00Z"},"repository":{"full_name":"acme/pump"}}"#,
        ),
        read(
            "personal_access_token_request",
            r#"{"action":"approved","personal_access_token_request":{"owner":{"login":"kit"},"token_name":"ci"},
            "organization":{"login":"acme"},"sender":{"login":"ada"}}"#,
        ),
    ];
    expect_test::expect![[r#"
        github security_advisory: action Some("withdrawn"); subject None; key: GHSA-1; title: Leak; body: Drips; severity: high; name: pump
        github repository_advisory: action Some("reported"); subject Some("github:acme/pump"); key: GHSA-2; title: Leak; author: kit; author_kind: human; severity: critical; repo: acme/pump
        github repository_vulnerability_alert: action Some("dismiss"); subject Some("github:acme/pump"); state: dismissed; severity: high; name: pump; repo: acme/pump
        github secret_scanning_alert_location: action Some("created"); subject Some("github:acme/pump:secret_scanning_alert_location/4"); number: 4; changed_files: src/main.rs; subtype: commit; name: api_key; repo: acme/pump
        github repository_ruleset: action Some("edited"); subject Some("github:acme/pump"); state: active; changed: enforcement; name: trunk only; repo: acme/pump
        github security_and_analysis: action None; subject Some("github:acme/pump"); changed: secret_scanning; repo: acme/pump
        github deploy_key: action Some("created"); subject Some("github:acme/pump"); name: ship; repo: acme/pump
        github personal_access_token_request: action Some("approved"); subject None; author: kit; author_kind: human; actor: ada; actor_kind: human; name: ci
    "#]].assert_eq(&readings.concat());
}

#[test]
fn github_account_events_have_people_and_plans() {
    let read = |kind: &str, body: &str| lines(Source::Github, kind, body);
    let readings = [
        read(
            "membership",
            r#"{"action":"added","scope":"team","member":{"login":"kit"},"team":{"name":"Valves","slug":"valves"},"sender":{"login":"ada"}}"#,
        ),
        read(
            "team_add",
            r#"{"team":{"name":"Valves","slug":"valves"},"repository":{"full_name":"acme/pump"},"sender":{"login":"ada"}}"#,
        ),
        read(
            "organization",
            r#"{"action":"member_added","membership":{"user":{"login":"kit"}},"organization":{"login":"acme"},"sender":{"login":"ada"}}"#,
        ),
        read(
            "installation",
            r#"{"action":"suspend","installation":{"id":1,"account":{"login":"acme"}},"sender":{"login":"ada"}}"#,
        ),
        read(
            "sponsorship",
            r#"{"action":"created","sponsorship":{"sponsor":{"login":"kit"},"tier":{"name":"$5 a month"}},"sender":{"login":"kit"}}"#,
        ),
        read(
            "projects_v2_status_update",
            r#"{"action":"created","projects_v2_status_update":{"status":"AT_RISK","body":"Late","creator":{"login":"kit"}},"sender":{"login":"kit"}}"#,
        ),
        read(
            "sub_issues",
            r#"{"action":"sub_issue_added","sub_issue":{"number":8,"title":"Drip","state":"open","labels":[{"name":"leak"}],"user":{"login":"kit"}},
            "parent_issue":{"number":7},"repository":{"full_name":"acme/pump"},"sender":{"login":"kit"}}"#,
        ),
        read(
            "issue_dependencies",
            r#"{"action":"blocked_by_added","blocked_issue":{"number":8,"title":"Drip","state":"open"},"blocking_issue":{"number":9},
            "repository":{"full_name":"acme/pump"},"sender":{"login":"kit"}}"#,
        ),
        read(
            "custom_property_values",
            r#"{"action":"updated","new_property_values":[{"property_name":"tier","value":"1"}],"repository":{"full_name":"acme/pump"}}"#,
        ),
    ];
    expect_test::expect![[r#"
        github membership: action Some("added"); subject None; actor: ada; actor_kind: human; team: Valves, valves; name: kit
        github team_add: action None; subject Some("github:acme/pump"); actor: ada; actor_kind: human; team: Valves, valves; repo: acme/pump
        github organization: action Some("member_added"); subject None; actor: ada; actor_kind: human; assignee: kit; name: acme
        github installation: action Some("suspend"); subject None; actor: ada; actor_kind: human; name: acme
        github sponsorship: action Some("created"); subject None; author: kit; author_kind: human; actor: kit; actor_kind: human; name: $5 a month
        github projects_v2_status_update: action Some("created"); subject None; body: Late; author: kit; author_kind: human; actor: kit; actor_kind: human; health: AT_RISK
        github sub_issues: action Some("sub_issue_added"); subject Some("github:acme/pump#8"); number: 8; title: Drip; author: kit; author_kind: human; actor: kit; actor_kind: human; labels: leak; state: open; repo: acme/pump
        github issue_dependencies: action Some("blocked_by_added"); subject Some("github:acme/pump#8"); number: 8; title: Drip; actor: kit; actor_kind: human; state: open; repo: acme/pump
        github custom_property_values: action Some("updated"); subject Some("github:acme/pump"); name: tier; repo: acme/pump
    "#]].assert_eq(&readings.concat());
}

#[test]
fn linear_events_have_names_and_changed_attributes() {
    let read = |kind: &str, body: &str| lines(Source::Linear, kind, body);
    let readings = [
        read(
            "Issue",
            r#"{"type":"Issue","action":"update","actor":{"name":"Kit","type":"user"},"data":{"id":"i","identifier":"PMP-3","title":"Drip",
            "state":{"name":"Todo","type":"unstarted"},"estimate":3,"dueDate":"2026-04-01","projectMilestone":{"name":"Beta"}},
            "updatedFrom":{"stateId":"s","completedAt":"2026-03-01T10:00:00Z"}}"#,
        ),
        read(
            "Issue",
            r#"{"type":"Issue","action":"update","data":{"id":"i","identifier":"PMP-3","title":"Drip"},"updatedFrom":{"archivedAt":"2026-03-01T10:00:00Z"}}"#,
        ),
        read(
            "Comment",
            r#"{"type":"Comment","action":"update","actor":{"name":"Kit"},"data":{"id":"c","body":"ok","resolvedAt":"2026-03-01T10:00:00Z",
            "issue":{"identifier":"PMP-3","title":"Drip"}},"updatedFrom":{"resolvedAt":null}}"#,
        ),
        read(
            "Initiative",
            r#"{"type":"Initiative","action":"update","data":{"id":"n","name":"Quiet","status":"Active"},"updatedFrom":{"status":"Planned"}}"#,
        ),
        read(
            "CustomerNeed",
            r#"{"type":"CustomerNeed","action":"create","data":{"id":"n","body":"Quieter","customer":{"name":"Harbour"}}}"#,
        ),
        read(
            "AppUserNotification",
            r#"{"type":"AppUserNotification","action":"issueMention","notification":{"actor":{"name":"Kit"},
            "issue":{"identifier":"PMP-3","title":"Drip"}}}"#,
        ),
        read(
            "AgentSessionEvent",
            r#"{"type":"AgentSessionEvent","action":"prompted","agentSession":{"id":"a","issue":{"identifier":"PMP-3","title":"Drip"},"creator":{"name":"Kit"}},
            "agentActivity":{"content":{"body":"go on"}}}"#,
        ),
        read(
            "OAuthApp",
            r#"{"type":"OAuthApp","action":"revoked","oauthClientId":"x"}"#,
        ),
    ];
    expect_test::expect![[r#"
        linear Issue: action Some("update"); subject Some("linear:PMP-3"); key: i; title: Drip; actor: Kit; actor_kind: human; state: Todo; state_type: unstarted; milestone: Beta; estimate: 3; due_date: 2026-04-01; changed: state, completed
        linear Issue: action Some("update"); subject Some("linear:PMP-3"); key: i; title: Drip; archived: false; changed: archived
        linear Comment: action Some("update"); subject Some("linear:PMP-3"); key: c; title: Drip; comment: ok; author: Kit; author_kind: human; actor: Kit; actor_kind: human; state_type: resolved; comment_on: issue; reply: false; changed: resolved
        linear Initiative: action Some("update"); subject Some("linear:Initiative/n"); key: n; state: Active; changed: state; name: Quiet
        linear CustomerNeed: action Some("create"); subject Some("linear:CustomerNeed/n"); key: n; body: Quieter; changed: ; name: Harbour
        linear AppUserNotification: action Some("issueMention"); subject Some("linear:PMP-3"); title: Drip; actor: Kit; actor_kind: human; changed: 
        linear AgentSessionEvent: action Some("prompted"); subject Some("linear:PMP-3"); key: a; title: Drip; comment: go on; author: Kit; author_kind: human; changed: 
        linear OAuthApp: action Some("revoked"); subject None; changed: ; name: x
    "#]].assert_eq(&readings.concat());
}

#[test]
fn slack_events_have_channel_and_person() {
    let read = |kind: &str, event: &str| {
        let body = format!(r#"{{"type":"event_callback","event":{{"type":"{kind}",{event}}}}}"#);
        lines(Source::Slack, kind, &body)
    };
    let readings = [
        read(
            "message",
            r#""subtype":"channel_topic","user":"U1","channel":"C1","topic":"pumps","text":"set the topic","ts":"1.0""#,
        ),
        read(
            "file_shared",
            r#""file_id":"F1","user_id":"U1","channel_id":"C1","file":{"id":"F1"}"#,
        ),
        read(
            "link_shared",
            r#""user":"U1","channel":"C1","message_ts":"1.0","links":[{"domain":"example.com","url":"https://example.com/a"}]"#,
        ),
        read(
            "subteam_created",
            r#""subteam":{"id":"S1","name":"Valves","handle":"valves"}"#,
        ),
        read(
            "user_status_changed",
            r#""user":{"id":"U1","name":"kit","profile":{"status_text":"away"}}"#,
        ),
        read(
            "group_rename",
            r#""channel":{"id":"G1","name":"pumps-private","created":1}"#,
        ),
        read(
            "shared_channel_invite_accepted",
            r#""channel":{"id":"C1","name":"pumps"},"invite":{"id":"I1"}"#,
        ),
        read(
            "assistant_thread_started",
            r#""assistant_thread":{"user_id":"U1","channel_id":"D1","thread_ts":"1.0"}"#,
        ),
        read(
            "app_home_opened",
            r#""user":"U1","channel":"D1","tab":"home""#,
        ),
        read("team_rename", r#""name":"Harbour""#),
    ];
    expect_test::expect![[r#"
        slack message: action None; subject Some("slack:C1/1.0"); key: 1.0; comment: set the topic; author: U1; author_kind: human; actor: U1; actor_kind: human; channel_id: C1; reply: false; subtype: channel_topic; message_kind: notice
        slack file_shared: action None; subject Some("slack:C1/F1"); key: F1; actor: U1; actor_kind: human; channel_id: C1
        slack link_shared: action None; subject Some("slack:C1/1.0"); key: 1.0; actor: U1; actor_kind: human; channel_id: C1; name: example.com
        slack subteam_created: action None; subject None; key: S1; team: valves; name: Valves
        slack user_status_changed: action None; subject None; actor: U1; actor_kind: human; state: away; name: kit
        slack group_rename: action None; subject Some("slack:G1"); channel: pumps-private; channel_id: G1
        slack shared_channel_invite_accepted: action None; subject Some("slack:C1"); channel: pumps; channel_id: C1
        slack assistant_thread_started: action None; subject Some("slack:D1/1.0"); actor: U1; actor_kind: human; channel_id: D1; thread: 1.0
        slack app_home_opened: action None; subject Some("slack:D1"); actor: U1; actor_kind: human; channel_id: D1; subtype: home
        slack team_rename: action None; subject None; name: Harbour
    "#]].assert_eq(&readings.concat());
}

#[test]
fn sentry_events_have_a_key() {
    let read = |kind: &str, body: &str| lines(Source::Sentry, kind, body);
    let readings = [
        read(
            "installation",
            r#"{"action":"created","actor":{"id":1,"name":"Kit","type":"user"},"data":{"installation":{"app":{"slug":"pumps"}}}}"#,
        ),
        read(
            "activity_alert",
            r#"{"action":"triggered","data":{"issue":{"id":"9","title":"Drip","level":"error","project":{"slug":"pump"}},"alert":{"title":"Watch"}}}"#,
        ),
        read(
            "seer",
            r#"{"action":"root_cause_completed","data":{"run_id":1,"group_id":9}}"#,
        ),
        read(
            "metric_alert",
            r#"{"action":"warning","data":{"metric_alert":{"id":"4","title":"Heron","alert_rule":{"name":"Error rate","environment":"production"},"projects":["pump"]}}}"#,
        ),
    ];
    expect_test::expect![[r#"
        sentry installation: action Some("created"); subject None; actor: Kit; actor_kind: human; name: pumps
        sentry activity_alert: action Some("triggered"); subject Some("sentry:9"); key: 9; title: Drip; level: error; project: pump; name: Watch
        sentry seer: action Some("root_cause_completed"); subject Some("sentry:9"); key: 9
        sentry metric_alert: action Some("warning"); subject Some("sentry:4"); key: 4; title: Heron; environment: production; severity: warning; project: pump; name: Error rate
    "#]].assert_eq(&readings.concat());
}
