//! The schema of the protocol, compared with every request that a host accepted and with its answer.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::Value;

/// The validators of a method.
struct Method {
    params: Validator,
    result: Validator,
}

static METHODS: LazyLock<BTreeMap<String, Method>> = LazyLock::new(|| {
    let schema = daemon_api::control::protocol_schema();
    let validator = |part: &Value| {
        let mut part = part.clone();
        part["$defs"] = schema["$defs"].clone();
        jsonschema::validator_for(&part).expect("a schema")
    };
    let methods = schema["methods"].as_object().expect("methods").iter();
    let methods = methods.map(|(name, method)| {
        let method = Method {
            params: validator(&method["params"]),
            result: validator(&method["result"]),
        };
        (name.clone(), method)
    });
    methods.collect()
});

/// Checks that the schema has what a host accepted and answered.
#[track_caller]
pub(super) fn check(method: &str, params: &Value, result: &Value) {
    let Some(known) = METHODS.get(method) else {
        panic!("the schema has no method `{method}`");
    };
    for (what, validator, value) in [
        ("parameters", &known.params, params),
        ("result", &known.result, result),
    ] {
        let problems: Vec<String> = validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(
            problems.is_empty(),
            "the schema of the {what} of `{method}` does not have {value}: {problems:#?}"
        );
    }
}
