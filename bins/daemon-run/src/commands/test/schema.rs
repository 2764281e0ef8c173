//! The JSON Schema of test files and of the payload envelopes that they may name.

use serde_json::{Value, json};

/// Returns the schema. A document is a test file or an envelope.
pub(crate) fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Test file or payload envelope",
        "description": "A test file (`.agents/daemon-tests/<id>/*.yml`) is a list of cases; an envelope is a payload with its enrichment.",
        "anyOf": [{"$ref": "#/$defs/tests"}, {"$ref": "#/$defs/envelope"}],
        "$defs": {
            "tests": {"type": "array", "items": {"$ref": "#/$defs/case"}},
            "case": case(),
            "event": event(),
            "wake": wake(),
            "times": {
                "type": "object",
                "required": ["times"],
                "properties": {"times": {"type": "array", "items": {"$ref": "#/$defs/instant"}}},
                "additionalProperties": false
            },
            "envelope": envelope(),
            "source": {"enum": sources()},
            "instant": {"type": "string", "format": "date-time", "description": "RFC 3339."},
            "text": {"type": "string", "pattern": "\\S"}
        }
    })
}

fn case() -> Value {
    json!({
        "type": "object",
        "required": ["name", "expect"],
        "properties": {
            "name": {"$ref": "#/$defs/text", "description": "A sentence about the behaviour that the case checks."},
            "event": {"$ref": "#/$defs/event"},
            "from": {"$ref": "#/$defs/instant", "description": "The case checks the ticks of the schedule after this instant, in UTC."},
            "expect": true
        },
        "additionalProperties": false,
        "oneOf": [
            {"required": ["event"], "not": {"required": ["from"]}, "properties": {"expect": {"$ref": "#/$defs/wake"}}},
            {"required": ["from"], "not": {"required": ["event"]}, "properties": {"expect": {"$ref": "#/$defs/times"}}}
        ]
    })
}

fn event() -> Value {
    json!({
        "type": "object",
        "required": ["payload"],
        "properties": {
            "source": {"$ref": "#/$defs/source"},
            "kind": {"$ref": "#/$defs/text", "description": "The source's name for the event, such as `pull_request`."},
            "payload": {
                "description": "The body itself, which needs `source` and `kind`; or the path of a file below the test file, which contains a body or an envelope.",
                "anyOf": [{"type": "object"}, {"$ref": "#/$defs/text"}]
            },
            "changed_files": {"type": "array", "items": {"$ref": "#/$defs/text"}}
        },
        "if": {"properties": {"payload": {"type": "object"}}},
        "then": {"required": ["source", "kind"]},
        "additionalProperties": false
    })
}

fn wake() -> Value {
    json!({
        "type": "object",
        "minProperties": 1,
        "properties": {
            "wakes": {"type": "boolean", "description": "Whether the daemon wakes; with `condition`, whether that condition wakes it."},
            "condition": {
                "description": "The index of a condition in `watch`, from 0, or its text.",
                "anyOf": [{"type": "integer", "minimum": 0}, {"$ref": "#/$defs/text"}]
            },
            "status": {"enum": statuses()}
        },
        "additionalProperties": false
    })
}

fn envelope() -> Value {
    json!({
        "type": "object",
        "required": ["source", "event", "body"],
        "properties": {
            "id": {"type": "string", "description": "The delivery id of the sender."},
            "source": {"$ref": "#/$defs/source"},
            "event": {"type": "string", "description": "The source's name for the kind."},
            "headers": {"type": "object", "additionalProperties": {"type": "string"}},
            "enrichment": {
                "type": "object",
                "description": "Facts that a host found in addition to the body.",
                "properties": {
                    "changed_files": {"type": ["array", "null"], "items": {"type": "string"}},
                    "channel_name": {"type": ["string", "null"]},
                    "label_names": {
                        "type": ["object", "null"],
                        "description": "Names of labels by their ids.",
                        "additionalProperties": {"type": "string"},
                    },
                    "pull_requests": {
                        "type": ["array", "null"],
                        "items": {
                            "type": "object",
                            "required": ["number"],
                            "properties": {
                                "number": {"type": "integer", "minimum": 0},
                                "draft": {"type": ["boolean", "null"]},
                                "state": {"enum": ["open", "closed", null]},
                                "is_current_head": {"type": ["boolean", "null"]},
                                "base": {"type": ["string", "null"]},
                                "head": {"type": ["string", "null"]},
                                "is_fork": {"type": ["boolean", "null"]},
                                "is_merged": {"type": ["boolean", "null"]}
                            }
                        }
                    }
                }
            },
            "body": {"type": "object", "description": "The body of the webhook."}
        }
    })
}

fn statuses() -> Vec<&'static str> {
    let all = daemon_watch::Status::ALL.into_iter();
    all.map(daemon_watch::Status::as_str).collect()
}

fn sources() -> Vec<&'static str> {
    let all = daemon_event::Source::ALL.into_iter();
    all.map(daemon_event::Source::as_str).collect()
}
