//! The JSON Schema of the protocol: its messages, and the parameters and the result of each method.
//!
//! Objects come from the types that are serialised. What the methods take and return is the table `methods.txt`, which the tests
//! of the program compare with what a host accepts and answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::wire::{ClientMessage, ServerMessage, ServerNotification, StreamedEvent};
use crate::ops::{Operation, Scope};
use crate::wire as objects;

/// The methods before an operation can be called.
const OF_CONNECTIONS: [&str; 2] = ["initialize", "ping"];

/// Returns the JSON Schema of the protocol, draft 2020-12. `methods` has for each method the scope that it needs, and the schemas
/// of its parameters and its result.
pub fn protocol_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Control protocol",
        "protocol_version": super::PROTOCOL_VERSION,
        "methods": methods(),
        "anyOf": [{"$ref": "#/$defs/ClientMessage"}, {"$ref": "#/$defs/ServerMessage"},
            {"$ref": "#/$defs/ServerNotification"}],
        "stream_event": {"$ref": "#/$defs/StreamedEvent"},
        "agent_event": {"$ref": "#/$defs/AgentEventObject"},
        "feed_event": {"$ref": "#/$defs/FeedEventObject"},
        "$defs": definitions(),
    })
}

fn methods() -> Value {
    let table = Table::read(include_str!("schema/methods.txt"));
    let of_connections = OF_CONNECTIONS.map(|method| (method, Scope::Read));
    let operations = Operation::ALL.iter();
    let operations = operations.map(|operation| (operation.method(), operation.scope()));
    let methods = of_connections.into_iter().chain(operations);
    let methods = methods.map(|(method, scope)| {
        let mut schema = table.method(method);
        schema["scope"] = json!(scope.as_str());
        (method.to_owned(), schema)
    });
    Value::Object(methods.collect())
}

/// The rows of `methods.txt`.
struct Table<'t> {
    /// The parameters of each group.
    groups: BTreeMap<&'t str, &'t str>,
    /// The parameters and the result of each method.
    methods: BTreeMap<&'t str, (&'t str, &'t str)>,
}

impl<'t> Table<'t> {
    fn read(text: &'t str) -> Self {
        let mut table = Self {
            groups: BTreeMap::new(),
            methods: BTreeMap::new(),
        };
        let rows = text
            .lines()
            .filter(|row| !row.is_empty() && !row.starts_with('#'));
        for row in rows {
            let (name, row) = row.split_once(':').expect("a row has a name");
            match row.split_once("->") {
                Some((params, result)) => {
                    table.methods.insert(name, (params.trim(), result.trim()));
                }
                None => {
                    table.groups.insert(name, row.trim());
                }
            }
        }
        table
    }

    fn method(&self, method: &str) -> Value {
        let row = self.methods.get(method);
        let (params, result) = row.expect("a test looks for each method");
        json!({"params": self.params(params), "result": result_of(result)})
    }

    fn params(&self, row: &str) -> Value {
        let expanded = words(row).map(|word| match word.strip_prefix('+') {
            Some(_) => *self.groups.get(word).expect("a test expands each group"),
            None => word,
        });
        let expanded: Vec<&str> = expanded.collect();
        let mut members = Members::default();
        for word in expanded.into_iter().flat_map(words) {
            let Some((name, kind)) = word.split_once(' ') else {
                return json!({"type": "object"});
            };
            match kind.strip_suffix('!') {
                Some(kind) => members.add(name, type_of(kind), Presence::Required),
                // A null is a parameter that was not given.
                None => members.add(name, nullable(type_of(kind)), Presence::Optional),
            }
        }
        members.closed()
    }
}

/// Returns the schema of a result.
fn result_of(row: &str) -> Value {
    if row == "*" {
        return json!({"type": "object"});
    }
    let (mut members, mut whole) = (Members::default(), None);
    for word in words(row) {
        match word.split_once(' ') {
            None => whole = Some(type_of(word.trim_start_matches('='))),
            Some((name, kind)) => {
                let kind = match kind.strip_suffix('?') {
                    Some(kind) => nullable(type_of(kind)),
                    None => type_of(kind),
                };
                match name.strip_suffix('?') {
                    Some(name) => members.add(name, kind, Presence::Optional),
                    None => members.add(name, kind, Presence::Required),
                }
            }
        }
    }
    match whole {
        Some(whole) => json!({"allOf": [whole, members.open()]}),
        None => members.closed(),
    }
}

fn words(row: &str) -> impl Iterator<Item = &str> {
    row.split(", ").filter(|word| !word.is_empty())
}

/// Whether an object always has a member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Required,
    Optional,
}

/// The members of an object.
#[derive(Default)]
struct Members {
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl Members {
    fn add(&mut self, name: &str, schema: Value, presence: Presence) {
        self.properties.insert(name.to_owned(), schema);
        if presence == Presence::Required {
            self.required.push(name.to_owned());
        }
    }

    fn open(self) -> Value {
        json!({"type": "object", "properties": self.properties, "required": self.required})
    }

    fn closed(self) -> Value {
        let mut schema = self.open();
        schema["additionalProperties"] = json!(false);
        schema
    }
}

fn type_of(word: &str) -> Value {
    if let Some(item) = word.strip_suffix("[]") {
        return json!({"type": "array", "items": type_of(item)});
    }
    match word {
        "text" => json!({"type": "string"}),
        "number" => json!({"type": "integer", "minimum": 0}),
        "integer" => json!({"type": "integer"}),
        "float" => json!({"type": "number"}),
        "flag" => json!({"type": "boolean"}),
        "object" => json!({"type": "object"}),
        "any" => json!({}),
        object => json!({"$ref": format!("#/$defs/{object}")}),
    }
}

fn nullable(schema: Value) -> Value {
    if schema == json!({}) {
        return schema;
    }
    json!({"anyOf": [schema, {"type": "null"}]})
}

/// The definitions of objects: those of a client as they are read, those of the host as they are written.
fn definitions() -> Value {
    let mut read = SchemaSettings::draft2020_12().into_generator();
    add::<ClientMessage>(&mut read);
    let mut written = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    for add in WRITTEN {
        add(&mut written);
    }
    let mut all = Map::new();
    all.extend(written.take_definitions(true));
    all.extend(read.take_definitions(true));
    Value::Object(all)
}

/// The objects that a host writes.
const WRITTEN: [fn(&mut SchemaGenerator); 31] = [
    add::<ServerMessage>,
    add::<ServerNotification>,
    add::<StreamedEvent>,
    add::<objects::AgentEventObject>,
    add::<objects::FeedEventObject>,
    add::<objects::DaemonObject>,
    add::<objects::ActivationObject>,
    add::<objects::RunObject>,
    add::<objects::EventObject>,
    add::<objects::FactObject>,
    add::<objects::TickObject>,
    add::<objects::OutputObject>,
    add::<objects::TurnObject>,
    add::<objects::ConversationObject>,
    add::<objects::AgentObject>,
    add::<objects::ListedAgentObject>,
    add::<objects::SkillObject>,
    add::<objects::ListedSkillObject>,
    add::<objects::CronObject>,
    add::<objects::SubscriptionObject>,
    add::<objects::ListedRowObject>,
    add::<objects::RosterRowObject>,
    add::<objects::BatonObject>,
    add::<objects::RosterWarningObject>,
    add::<objects::CharterObject>,
    add::<objects::SignalObject>,
    add::<objects::ResetObject>,
    add::<objects::WindDownObject>,
    add::<objects::CheckInObject>,
    add::<objects::AuditObject>,
    add::<objects::CronTickObject>,
];

fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
    let reference = generator.subschema_for::<T>();
    debug_assert!(reference.get("$ref").is_some());
}

#[cfg(test)]
mod tests;
