//! The parse that a reading was made of.

use daemon_watch::{interpret, parse};

#[test]
fn a_parse_has_the_edges_of_the_whole_line_with_their_words_and_costs() {
    let line = "When a draft pull request is opened, then post a summary";
    let parse = parse(line).expect("an event is named");
    let first = &parse.edges[0];
    assert_eq!(
        (first.category.as_str(), first.text.as_str(), first.cost),
        ("Line", "When a draft pull request is opened", parse.cost)
    );
    let draft = parse.edges.iter().find(|edge| edge.category == "adj.draft");
    let draft = draft.map(|edge| (edge.text.as_str(), edge.span, edge.rule.as_deref()));
    assert_eq!(draft, Some(("draft", [7, 12], None)));
    let rule = parse.edges.iter().find_map(|edge| edge.rule.as_deref());
    assert_eq!(rule, Some("Line -> When Clause"));
    assert!(parse.edges.iter().all(|edge| edge.cost <= parse.cost));
    assert!(parse.runner_up.is_none());
}

#[test]
fn a_line_without_an_event_has_no_parse() {
    assert!(parse("when life is good").is_none());
    assert!(parse("every morning").is_none());
}

#[test]
fn another_meaning_for_nearly_the_same_cost_is_the_runner_up() {
    let line = "when a comment on a pull request by @kit is edited";
    let parse = parse(line).expect("it is read");
    let other = parse
        .runner_up
        .expect("whose the pull request is, or the comment");
    let reading = serde_json::to_value(&other.reading).expect("it is plain JSON");
    assert!(other.cost >= parse.cost && other.cost <= parse.cost + 5);
    let filters = interpret(line).filters;
    assert_ne!(reading["filters"].as_array().map(Vec::len), Some(0));
    assert_ne!(
        reading["filters"][1]["field"],
        filters[1].test.field().to_string()
    );
}
