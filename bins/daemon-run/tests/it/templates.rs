//! `new`: every template is complete, for its default values and for others.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::world::{Ran, World};

/// A value of a parameter that differs from its default.
fn other_value(parameter: &Value) -> String {
    let name = word(&parameter["name"]);
    let value = match word(&parameter["kind"]) {
        "cron" => "15 6 * * 2",
        "directory" => return format!("other/{name}/"),
        "name" => "C0FFEE11",
        "number" => "7",
        "path" => "tools/**/list.txt",
        "text" => "needs work",
        kind => panic!("a value of the kind {kind}"),
    };
    value.to_owned()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn word(value: &Value) -> &str {
    value.as_str().expect("a string")
}

/// Installs a template. With `is_default` only the parameters without a default are given.
fn install(world: &World, template: &Value, is_default: bool) -> Ran {
    let name = word(&template["name"]);
    let id = format!("my-{name}");
    let mut arguments = vec![
        "new".to_owned(),
        id,
        "--template".to_owned(),
        name.to_owned(),
    ];
    for parameter in array(&template["parameters"]) {
        if !is_default || parameter["default"].is_null() {
            arguments.push("--set".to_owned());
            arguments.push(format!(
                "{}={}",
                word(&parameter["name"]),
                other_value(parameter)
            ));
        }
    }
    arguments.push("--json".to_owned());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    world.run(&arguments)
}

#[test]
fn every_template_is_clean_understood_and_tested() {
    let listed = World::new().run(&["new", "--list", "--json"]).json();
    let templates = array(&listed["templates"]);
    assert!(templates.len() > 12, "{listed}");
    for (template, is_default) in templates.iter().flat_map(|one| [(one, true), (one, false)]) {
        let world = World::new();
        let id = format!("my-{}", word(&template["name"]));
        let installed = install(&world, template, is_default);
        assert_eq!(installed.code, 0, "{installed:?}");
        let file = format!(".agents/daemons/{id}/DAEMON.md");
        assert_eq!(installed.json()["path"], file);
        let text = std::fs::read_to_string(world.repository().join(&file)).unwrap();
        assert!(!text.contains("{{"), "{text}");

        let lint = world.run(&["lint", "--json", "--profile", "strict"]);
        let found = &lint.json()["files"][0]["diagnostics"];
        assert_eq!((lint.code, array(found)), (0, &[][..]), "{id}");

        let shown = world.run(&["explain", &id, "--json"]).json();
        let conditions = array(&shown["daemons"][0]["conditions"]);
        for condition in conditions {
            assert_eq!(condition["status"], "mapped", "{condition}");
        }

        let tested = world.run(&["test", &id, "--json"]);
        let report = tested.json();
        assert_eq!(
            (tested.code, &report["failed"]),
            (0, &0.into()),
            "{id}: {report:#}"
        );
        let woken: BTreeSet<u64> = array(&report["cases"])
            .iter()
            .filter(|case| case["got"]["wakes"] == true)
            .filter_map(|case| case["got"]["condition"].as_u64())
            .collect();
        assert_eq!(
            woken.len(),
            conditions.len(),
            "{id}: each condition has a case: {report:#}"
        );
        let asleep = array(&report["cases"])
            .iter()
            .filter(|case| case["got"]["wakes"] == false);
        assert!(asleep.count() > 0, "{id}: one event wakes nothing");
    }
}
