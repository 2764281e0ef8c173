//! Generated lines: no value is dropped, two guards mean both, and an introduction changes nothing.

use std::collections::BTreeSet;

use daemon_watch::{Interpretation, Status, interpret};

/// A guard of a pull request: as a modifier, as a sentence about it, and the filter that both mean.
struct GuardForms {
    modifier: &'static str,
    sentence: &'static str,
    filter: &'static str,
}

const fn guard(modifier: &'static str, sentence: &'static str, filter: &'static str) -> GuardForms {
    GuardForms {
        modifier,
        sentence,
        filter,
    }
}

const GUARDS: &[GuardForms] = &[
    guard("that is not a draft", "it is not a draft", "draft is false"),
    guard("targeting main", "it targets main", "base is main"),
    guard("labelled bug", "it is labelled bug", "labels is bug"),
    guard("from a fork", "it is from a fork", "fork is true"),
    guard("by @kit", "it was opened by @kit", "author is kit"),
    guard(
        "that touches docs/",
        "it touches docs/",
        "changed_files any_of docs/",
    ),
    guard(
        "with \"WIP\" in the title",
        "its title contains \"WIP\"",
        "title contains WIP",
    ),
    guard(
        "with \"risk\" in the body",
        "its body contains \"risk\"",
        "body contains risk",
    ),
    guard(
        "in the milestone \"v2\"",
        "it is in the milestone \"v2\"",
        "milestone is v2",
    ),
    guard(
        "assigned to @ida",
        "it is assigned to @ida",
        "assignees is ida",
    ),
];

/// The lines of two guards, in each of the five places.
fn places(one: &GuardForms, other: &GuardForms) -> [String; 5] {
    let (a, b) = (one.modifier, other.modifier);
    [
        format!("when a pull request {a} {b} is closed"),
        format!("when a pull request {a} is closed, if {}", other.sentence),
        format!("if {}, when a pull request {b} is closed", one.sentence),
        format!(
            "when a pull request {a} is closed, but only if {}",
            other.sentence
        ),
        format!(
            "when a pull request is closed, provided that {} and {}",
            one.sentence, other.sentence
        ),
    ]
}

/// Whether each clause has a filter, or words of the guard are left over.
fn holds(meaning: &Interpretation, line: &str, guard: &GuardForms) -> bool {
    let is_filter = |at: &usize| meaning.filters[*at].test.to_string() == guard.filter;
    let in_all = meaning
        .clauses
        .iter()
        .all(|clause| clause.filters.iter().any(is_filter));
    let is_named = |left: &str| guard.modifier.contains(left) || guard.sentence.contains(left);
    in_all || meaning.remainder.iter().any(|span| is_named(span.of(line)))
}

#[test]
fn two_guards_together_mean_both_of_them() {
    let mut wrong = Vec::new();
    let (mut n_lines, mut n_mapped) = (0, 0);
    for (at, one) in GUARDS.iter().enumerate() {
        for (_, other) in GUARDS.iter().enumerate().filter(|(other, _)| *other != at) {
            for line in places(one, other) {
                let meaning = interpret(&line);
                n_lines += 1;
                n_mapped += usize::from(meaning.status == Status::Mapped);
                if !holds(&meaning, &line, one) || !holds(&meaning, &line, other) {
                    wrong.push(line);
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!((n_lines, n_mapped), (450, 450));
}

/// Lines with a place for a value.
const VALUED: &[&str] = &[
    "when a pull request is opened with the label {}",
    "when the label {} is added to an issue",
    "when a pull request with the label {} is merged",
    "when an issue without the label {} is closed",
    "when a GitHub issue is added to the milestone {}",
    "when a commit is pushed to the branch {}",
    "when a pull request targeting {} is opened",
    "when a pull request from the branch {} is merged",
    "when the tag {} is created",
    "when a release named {} is published",
    "when the check {} fails",
    "when the workflow {} fails on main",
    "when the job {} is cancelled",
    "when a deployment to the environment {} fails",
    "when a pull request changes {}",
    "when a file matching {} is added",
    "when a pull request is opened by {}",
    "when a GitHub issue is assigned to {}",
    "when a review is requested from {}",
    "when someone other than {} comments on a pull request",
    "when a comment containing {} is posted on a pull request",
    "when a pull request with {} in the title is opened",
    "when an issue whose body contains {} is opened",
    "when a commit with {} in the message is pushed",
    "when a message is posted in the channel {}",
    "when someone reacts to a Slack message with {}",
    "when a Linear issue in the team {} is created",
    "when a Linear issue in the project {} is created",
    "when a Linear issue is moved to the state {}",
    "when a Linear issue is added to the cycle {}",
    "when a discussion is opened in the category {}",
    "when a Sentry issue in the project {} is created",
    "when a Sentry issue in the environment {} is created",
    "when a repository ruleset named {} is edited",
];

const VALUES: &[&str] = &[
    "\"Cone ten\"",
    "`glaze-7`",
    "@rowan-pike",
    "#kiln-alerts",
    "firing/**",
    "\"a/b c\"",
];

/// Whether a value is in a filter, or in words that are left over.
fn accounts_for(meaning: &Interpretation, line: &str, value: &str) -> bool {
    let bare = value.trim_matches(|c| "\"`@#/*".contains(c)).to_lowercase();
    let mut values = meaning
        .filters
        .iter()
        .flat_map(|filter| filter.test.values());
    let is_filter = values.any(|known| known.to_lowercase().contains(&bare));
    let mut left = meaning.remainder.iter().map(|span| span.of(line));
    is_filter || left.any(|left| left.to_lowercase().contains(&bare))
}

#[test]
fn no_value_of_a_noun_is_dropped() {
    let lines = VALUED
        .iter()
        .flat_map(|line| VALUES.iter().map(move |value| (line, value)));
    let mut dropped = Vec::new();
    let mut n_lines = 0;
    for (frame, value) in lines {
        let line = frame.replace("{}", value);
        n_lines += 1;
        let meaning = interpret(&line);
        if meaning.status.can_wake() && !accounts_for(&meaning, &line, value) {
            dropped.push(line);
        }
    }
    assert_eq!(dropped, Vec::<String>::new());
    assert_eq!(n_lines, 204);
}

/// What introduces a sentence, a noun, and nothing.
const BEFORE_A_SENTENCE: &[&str] = &[
    "whenever",
    "as soon as",
    "every time",
    "in case",
    "run this daemon when",
    "run when",
    "please wake up when",
    "wake when",
    "trigger whenever",
    "start whenever",
    "this daemon should run when",
    "act when",
];
const BEFORE_A_NOUN: &[&str] = &[
    "on",
    "upon",
    "wake on",
    "run on",
    "trigger on",
    "respond to",
    "react to",
];

/// Sentences, and the same in nominal style.
const SAID: &[(&str, &str)] = &[
    ("a pull request is opened", "a new pull request"),
    (
        "a pull request is merged into main",
        "a merge of a pull request into main",
    ),
    (
        "a comment is posted on a pull request",
        "a new comment on a pull request",
    ),
    ("a commit is pushed to main", "a push to main"),
    ("a release is published", "publication of a release"),
    ("a check fails on main", "failure of a check on main"),
    (
        "a GitHub issue is opened by a bot",
        "a new GitHub issue by a bot",
    ),
    (
        "a review is requested on a pull request",
        "a review request on a pull request",
    ),
    ("a Linear issue is created", "a new Linear issue"),
    ("a message is posted in #ops", "a new message in #ops"),
    ("a Sentry issue is resolved", "resolution of a Sentry issue"),
    (
        "a deployment to production fails",
        "a failed deployment to production",
    ),
];

#[test]
fn an_introduction_leaves_the_reading_unchanged() {
    let mut other = BTreeSet::new();
    let mut n_lines = 0;
    for (sentence, noun) in SAID {
        let plain = interpret(&format!("when {sentence}"));
        assert_eq!(plain.status, Status::Mapped, "{sentence}");
        let led = BEFORE_A_SENTENCE
            .iter()
            .map(|before| format!("{before} {sentence}"));
        let nominal = BEFORE_A_NOUN
            .iter()
            .map(|before| format!("{before} {noun}"));
        for line in led
            .chain(nominal)
            .chain([noun.to_string(), sentence.to_string()])
        {
            n_lines += 1;
            let meaning = interpret(&line);
            if meaning.status != Status::Mapped || !meaning.means_the_same_as(&plain) {
                other.insert(line);
            }
        }
    }
    assert_eq!(other, BTreeSet::new());
    assert_eq!(n_lines, 252);
}
