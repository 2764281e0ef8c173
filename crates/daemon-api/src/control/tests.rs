use super::protocol_schema;

/// The schema as it was written by `daemon-run schema protocol`.
const CHECKED_IN: &str = include_str!("../../../../docs/protocol.schema.json");

#[test]
fn the_checked_in_schema_is_that_of_the_protocol() {
    let text = serde_json::to_string_pretty(&protocol_schema()).expect("a schema is JSON");
    assert_eq!(
        format!("{text}\n"),
        CHECKED_IN,
        "write it again: `daemon-run schema protocol > docs/protocol.schema.json`"
    );
}
