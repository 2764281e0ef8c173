use expect_test::{Expect, expect};

use super::{OwnOutput, ProposalRules, PullHead, ServedSurfaces, TargetPattern, may_mention};
use crate::proposal::{Act, OutputCapability, OutputTarget, OutputVerb, Proposal, VERBS};

const KEY: &str = "4ymwin7k4k363ohv3ycu7vcqhh";
const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

fn target(text: &str) -> OutputTarget {
    text.parse().unwrap()
}

/// The rules of a run that a comment on pull request 42 woke, of a daemon that has opened pull request 57.
fn rules(capability: OutputCapability) -> ProposalRules {
    let own = |verb, on: &str, made: Option<&str>, slot: Option<&str>| OwnOutput {
        key: KEY.parse().unwrap(),
        verb,
        on: target(on),
        made: made.map(target),
        head: None,
        slot: slot.map(str::to_owned),
        remote_id: "comment:1".to_owned(),
    };
    ProposalRules {
        capability,
        repo: "O/r".parse().unwrap(),
        subjects: vec![target("github:o/r#42")],
        commit: Some(SHA.to_owned()),
        head: None,
        own: vec![
            own(OutputVerb::Comment, "github:o/r#42", None, Some("summary")),
            own(
                OutputVerb::OpenPullRequest,
                "github:o/r",
                Some("github:o/r#57"),
                None,
            ),
        ],
        configured: ["slack:C0DIGEST", "linear:ENG-*", "@octocat"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect(),
        surfaces: ServedSurfaces {
            names: ["git", "github", "slack", "linear"]
                .map(str::to_owned)
                .into(),
            has_app: true,
            protected: vec!["release/*".parse().unwrap()],
        },
    }
}

fn act(line: &str) -> Act {
    match Proposal::parse(line) {
        Ok(Proposal::Act(act)) => act,
        other => panic!("{line}: {other:?}"),
    }
}

/// Proposes lines one after another, and compares what is admitted and refused.
fn check(rules: &ProposalRules, lines: &[&str], expected: Expect) {
    let mut earlier = Vec::new();
    let mut acc = Vec::new();
    for line in lines {
        match rules.admit(act(line), &earlier) {
            Ok(act) => {
                let target = act
                    .target
                    .as_ref()
                    .map(OutputTarget::to_string)
                    .unwrap_or_default();
                acc.push(format!("{} {target}\n", act.verb));
                earlier.push(act);
            }
            Err(refusal) => acc.push(format!("refused: {refusal}\n")),
        }
    }
    expected.assert_eq(&acc.concat());
}

#[test]
fn a_proposal_without_a_target_is_about_what_woke_the_daemon() {
    check(
        &rules(OutputCapability::Write),
        &[
            r#"{"v":1,"verb":"comment","body":"x"}"#,
            r#"{"v":1,"verb":"open_issue","title":"x","body":"x"}"#,
            r#"{"v":1,"verb":"check_run","name":"x","conclusion":"success","title":"x","summary":"x"}"#,
            r#"{"v":1,"verb":"push_branch"}"#,
            r#"{"v":1,"verb":"edit_issue","priority":1}"#,
        ],
        expect![[r"
            comment github:o/r#42
            open_issue github:O/r
            check_run github:O/r@0123456789abcdef0123456789abcdef01234567
            push_branch git:O/r
            refused: `edit_issue` needs a `target` of the form `linear:KEY-NUMBER`
        "]],
    );
}

#[test]
fn a_target_is_the_subject_an_own_output_or_configured() {
    check(
        &rules(OutputCapability::Write),
        &[
            r#"{"v":1,"verb":"label","target":"github:O/R#42","add":["x"]}"#,
            r#"{"v":1,"verb":"label","target":"github:o/r#57","add":["x"]}"#,
            r#"{"v":1,"verb":"label","target":"github:o/r#43","add":["x"]}"#,
            r#"{"v":1,"verb":"open_issue","target":"github:o/other","title":"x","body":"x"}"#,
            r#"{"v":1,"verb":"edit_issue","target":"linear:ENG-7","priority":1}"#,
            r#"{"v":1,"verb":"edit_issue","target":"linear:OPS-7","priority":1}"#,
            r#"{"v":1,"verb":"reply","target":"slack:C0DIGEST/1.2","body":"x"}"#,
            r#"{"v":1,"verb":"message","target":"slack:C0OTHER","body":"x"}"#,
        ],
        expect![[r"
            label github:O/R#42
            label github:o/r#57
            refused: `github:o/r#43` is not what woke the daemon, nor its own, nor in `policy.daemon.<id>.targets`
            refused: `github:o/other` is not what woke the daemon, nor its own, nor in `policy.daemon.<id>.targets`
            edit_issue linear:ENG-7
            refused: `linear:OPS-7` is not what woke the daemon, nor its own, nor in `policy.daemon.<id>.targets`
            reply slack:C0DIGEST/1.2
            refused: `slack:C0OTHER` is not what woke the daemon, nor its own, nor in `policy.daemon.<id>.targets`
        "]],
    );
}

#[test]
fn a_capability_below_write_changes_only_own_pull_requests() {
    let lines = [
        r#"{"v":1,"verb":"edit_pull_request","target":"github:o/r#42","title":"x"}"#,
        r#"{"v":1,"verb":"edit_pull_request","target":"github:o/r#57","title":"x"}"#,
        r#"{"v":1,"verb":"label","target":"github:o/r#57","add":["x"]}"#,
    ];
    check(
        &rules(OutputCapability::Propose),
        &lines,
        expect![[r"
            refused: `edit_pull_request` needs the capability `write`, this run has `propose`
            edit_pull_request github:o/r#57
            refused: `label` needs the capability `write`, this run has `propose`
        "]],
    );
    check(
        &rules(OutputCapability::Read),
        &[lines[1], r#"{"v":1,"verb":"comment","body":"x"}"#],
        expect![[r"
            refused: `edit_pull_request` needs the capability `propose`, this run has `read`
            refused: `comment` needs the capability `propose`, this run has `read`
        "]],
    );
}

#[test]
fn only_own_comments_are_edited() {
    let edit = |key: &str, on: &str| {
        format!(r#"{{"v":1,"verb":"edit_comment","target":"{on}","output":"{key}","body":"x"}}"#)
    };
    let other = KEY.replace('4', "5");
    check(
        &rules(OutputCapability::Propose),
        &[
            &edit(KEY, "github:o/r#42"),
            &edit(KEY, "github:o/r#57"),
            &edit(&other, "github:o/r#42"),
        ],
        expect![[r"
            edit_comment github:o/r#42
            refused: `4ymwin7k4k363ohv3ycu7vcqhh` is no comment of this daemon on `github:o/r#57`
            refused: `5ymwin7k5k363ohv3ycu7vcqhh` is no comment of this daemon on `github:o/r#42`
        "]],
    );
}

#[test]
fn changes_follow_only_from_the_head_at_which_the_run_works() {
    let at = |capability, pull: &str, branch: Option<&str>| {
        let pull = target(pull);
        let branch = branch.map(str::to_owned);
        ProposalRules {
            head: Some(PullHead { pull, branch }),
            ..rules(capability)
        }
    };
    let push = |on: &str| format!(r#"{{"v":1,"verb":"push_pull_request","target":"{on}"}}"#);
    let (theirs, own) = (push("github:o/r#42"), push("github:o/r#57"));
    let topic = Some("refs/heads/topic");
    let refused = |rules: &ProposalRules, line: &str, why: Expect| {
        why.assert_eq(&rules.admit(act(line), &[]).unwrap_err().to_string());
    };
    let write = OutputCapability::Write;
    refused(
        &rules(write),
        &theirs,
        expect![
            "the run does not work at the head of `github:o/r#42`, so its changes do not follow from that"
        ],
    );
    refused(
        &at(write, "github:o/r#42", topic),
        &own,
        expect![
            "the run does not work at the head of `github:o/r#57`, so its changes do not follow from that"
        ],
    );
    refused(
        &at(write, "github:o/r#42", None),
        &theirs,
        expect![
            "the branch of `github:o/r#42` is in another repository, to which this host does not push"
        ],
    );
    refused(
        &at(OutputCapability::Propose, "github:o/r#42", topic),
        &theirs,
        expect!["`push_pull_request` needs the capability `write`, this run has `propose`"],
    );
    let row = VERBS
        .iter()
        .find(|row| row.name == "push_pull_request")
        .unwrap();
    for (rules, line, is_offered) in [
        (at(write, "github:o/r#42", topic), &theirs, true),
        (
            at(OutputCapability::Propose, "github:o/r#57", topic),
            &own,
            true,
        ),
    ] {
        assert!(rules.admit(act(line), &[]).is_ok(), "{line}");
        assert_eq!(rules.serves(row), is_offered);
    }
    assert!(!at(OutputCapability::Propose, "github:o/r#42", topic).serves(row));
    assert!(!at(write, "github:o/r#42", None).serves(row));
}

#[test]
fn a_protected_branch_gets_no_commits() {
    let rules = ProposalRules {
        head: Some(PullHead {
            pull: target("github:o/r#42"),
            branch: Some("refs/heads/release/2".to_owned()),
        }),
        ..rules(OutputCapability::Write)
    };
    check(
        &rules,
        &[r#"{"v":1,"verb":"push_pull_request"}"#],
        expect![[r"
            refused: the branch of `github:o/r#42` is protected, and no daemon pushes to it
        "]],
    );
}

#[test]
fn a_check_run_needs_an_app() {
    let mut rules = rules(OutputCapability::Write);
    let line = r#"{"v":1,"verb":"check_run","name":"ci","conclusion":"success","title":"x","summary":"x"}"#;
    let row = OutputVerb::CheckRun.row();
    assert!(rules.serves(row) && rules.admit(act(line), &[]).is_ok());
    rules.surfaces.has_app = false;
    check(
        &rules,
        &[line],
        expect![[r"
            refused: `check_run` needs a GitHub App, and this host has a token
        "]],
    );
    assert!(!rules.serves(row), "no run is offered what is refused");
}

#[test]
fn the_changes_of_a_run_go_to_one_branch() {
    let rules = ProposalRules {
        head: Some(PullHead {
            pull: target("github:o/r#42"),
            branch: Some("refs/heads/topic".to_owned()),
        }),
        ..rules(OutputCapability::Write)
    };
    let open = r#"{"v":1,"verb":"open_pull_request","title":"x","body":"x"}"#;
    let lines = [
        r#"{"v":1,"verb":"push_branch"}"#,
        open,
        r#"{"v":1,"verb":"push_pull_request"}"#,
    ];
    check(
        &rules,
        &lines,
        expect![[r"
            push_branch git:O/r
            open_pull_request github:O/r
            refused: the changes of a run go to one branch, and `push_branch` is proposed already
        "]],
    );
    check(
        &rules,
        &[lines[2], open],
        expect![[r"
            push_pull_request github:o/r#42
            refused: the changes of a run go to one branch, and `push_pull_request` is proposed already
        "]],
    );
}

#[test]
fn numbers_mentions_and_links_are_limited() {
    let links = format!(
        r#"{{"v":1,"verb":"open_issue","title":"x","body":"{}"}}"#,
        "https://a ".repeat(51)
    );
    let names: Vec<String> = (0..11).map(|n| format!("@p{n}")).collect();
    let names = format!(
        r#"{{"v":1,"verb":"open_issue","title":"x","body":"{}"}}"#,
        names.join(" ")
    );
    check(
        &rules(OutputCapability::Propose),
        &[
            r#"{"v":1,"verb":"comment","body":"x"}"#,
            r#"{"v":1,"verb":"comment","body":"y"}"#,
            r#"{"v":1,"verb":"push_branch"}"#,
            &links,
            &names,
        ],
        expect![[r"
            comment github:o/r#42
            refused: `comment` is accepted once per activation
            push_branch git:O/r
            refused: it has 51 links, at most 50 are accepted
            refused: it mentions 11 people, at most 10 are accepted
        "]],
    );
}

#[test]
fn a_surface_that_is_not_configured_refuses_first() {
    let mut rules = rules(OutputCapability::Read);
    rules.surfaces.names = ["git".to_owned()].into();
    check(
        &rules,
        &[
            r#"{"v":1,"verb":"comment","body":"x"}"#,
            r#"{"v":1,"verb":"message","body":"x"}"#,
        ],
        expect![[r"
            refused: the surface `github` is not configured on this host
            refused: the surface `slack` is not configured on this host
        "]],
    );
}

#[test]
fn a_run_is_offered_what_it_may_use() {
    let served = |capability, surfaces: &[&str]| {
        let mut rules = rules(capability);
        rules.surfaces.names = surfaces.iter().map(|name| (*name).to_owned()).collect();
        let rows = VERBS.iter().filter(|row| rules.serves(row));
        rows.map(|row| row.name).collect::<Vec<_>>().join(" ")
    };
    let read = served(OutputCapability::Read, &["git", "github"]);
    assert_eq!(read, "state no_op");
    let branches = served(OutputCapability::Write, &["git"]);
    assert_eq!(branches, "push_branch state no_op");
    let propose = served(OutputCapability::Propose, &["github"]);
    assert_eq!(
        propose,
        "open_pull_request edit_pull_request open_issue comment edit_comment review review_comment state no_op"
    );
}

#[test]
fn patterns_print_and_parse() {
    for text in [
        "github:o/r",
        "github:o/*",
        "linear:ENG-*",
        "slack:C0DIGEST",
        "@octocat",
        "@org/team",
    ] {
        assert_eq!(text.parse::<TargetPattern>().unwrap().to_string(), text);
    }
    for text in [
        "*",
        "github:*",
        "octocat",
        "@",
        "@a b",
        "sentry:*",
        "git",
        "github:o r/*x",
    ] {
        assert!(text.parse::<TargetPattern>().is_err(), "{text}");
    }
    let rules = rules(OutputCapability::Propose);
    let allowed = |name| may_mention(&rules.configured, name);
    assert!(allowed("Octocat") && !allowed("other"));
}

#[test]
fn an_own_output_is_found_by_its_slot() {
    let rules = rules(OutputCapability::Propose);
    let found = |slot, on| {
        rules
            .in_slot(slot, &target(on))
            .map(|own| own.remote_id.as_str())
    };
    assert_eq!(found("summary", "github:O/r#42"), Some("comment:1"));
    assert_eq!(found("other", "github:o/r#42"), None);
    assert_eq!(found("summary", "github:o/r#43"), None);
}
