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
    let all: Vec<&Value> = templates.iter().collect();
    check(&all, true);
    let with_parameters = |template: &&Value| !array(&template["parameters"]).is_empty();
    let with_parameters: Vec<&Value> = templates.iter().filter(with_parameters).collect();
    check(&with_parameters, false);
}

/// Installs templates into one repository, and checks their files.
fn check(templates: &[&Value], is_default: bool) {
    let world = World::new();
    for template in templates {
        let installed = install(&world, template, is_default);
        assert_eq!(installed.code, 0, "{installed:?}");
        let path = installed.json()["path"].clone();
        let text = std::fs::read_to_string(world.repository().join(word(&path)));
        let text = text.expect("the file was written");
        assert!(!text.contains("{{"), "{text}");
    }
    let lint = world.run(&["lint", "--json", "--profile", "strict"]);
    let files = lint.json()["files"].clone();
    assert_eq!((lint.code, array(&files).len()), (0, templates.len()));
    for file in array(&files) {
        assert_eq!(array(&file["diagnostics"]).len(), 0, "{file}");
    }
    let tested = world.run(&["test", "--json"]);
    let report = tested.json();
    assert_eq!(
        (tested.code, &report["failed"]),
        (0, &0.into()),
        "{report:#}"
    );
    for template in templates {
        let id = format!("my-{}", word(&template["name"]));
        let shown = world.run(&["explain", &id, "--json"]).json();
        let conditions = array(&shown["daemons"][0]["conditions"]);
        for condition in conditions {
            assert_eq!(condition["status"], "mapped", "{condition}");
        }
        let cases = array(&report["cases"]).iter();
        let cases: Vec<&Value> = cases
            .filter(|case| case["daemon_id"] == id.as_str())
            .collect();
        let woken: BTreeSet<u64> = cases
            .iter()
            .filter(|case| case["got"]["wakes"] == true)
            .filter_map(|case| case["got"]["condition"].as_u64())
            .collect();
        assert_eq!(
            woken.len(),
            conditions.len(),
            "{id}: each condition has a case"
        );
        let wakes_nothing = |case: &&Value| case["got"]["wakes"] == false;
        assert!(
            cases.iter().copied().any(|case| wakes_nothing(&case)),
            "{id}"
        );
    }
}
