//! Providers and models that clients set, in the configuration file of the home.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use daemon_fakes::Reply;
use serde_json::{Value, json};

use crate::conversing::{api, call, world};
use crate::rpc::Rpc;

const KEY: &str = "sk-small-0123456789abcdef";

#[test]
fn providers_are_set_listed_and_removed_and_the_file_keeps_its_comments() {
    let (one, two) = (api([Reply::text("One.")]), api([Reply::text("Two.")]));
    let world = world(&one, "");
    let path = world.home.join("config.toml");
    let text = || fs::read_to_string(&path).expect("the configuration");
    let before = format!("# Ours: ask first.\n{}\n# The end.\n", text());
    fs::write(&path, &before).expect("the configuration");
    let key = world.home.join("small-key");
    fs::write(&key, KEY).expect("a key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("its mode");
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let small = json!({"name": "small", "kind": "openai", "models": ["m2"],
        "base_url": two.base_url(), "key_file": "small-key"});
    shows!(rpc.call("provider/set", &small), {"result.generation": 2});
    let edited = text();
    for kept in [
        "# Ours: ask first.\n",
        "\n# The end.\n",
        "[provider.small]\n",
        "key_file = \"small-key\"\n",
    ] {
        assert!(edited.contains(kept), "{kept}: {edited}");
    }
    let listed = rpc.call("provider/list", &json!({}));
    shows!(listed, {"result.providers": [
        {"name": "builtin", "kind": "builtin", "models": [], "key_set": false, "ok": true, "detail": null},
        {"name": "llm", "kind": "openai", "models": ["m"], "key_set": false, "ok": true, "detail": null},
        {"name": "small", "kind": "openai", "models": ["m2"], "key_set": true, "ok": true, "detail": null},
    ]});
    assert!(!listed.to_string().contains(KEY), "{listed}");
    shows!(rpc.call("model/list", &json!({})), {
        "result.models": [{"model": "m", "provider": "llm"}, {"model": "m2", "provider": "small"}],
        "result.active": "m",
    });
    shows!(rpc.call("model/set_active", &json!({"model": "m2"})), {"result.generation": 3});
    shows!(rpc.call("model/list", &json!({})), {"result.active": "m2"});
    let said = call(&host, "conversation/send", &json!({"content": "Who?"}));
    shows!(said, {"result.text": "Two.", "result.model": "m2"});
    let in_use = rpc.call("provider/delete", &json!({"name": "small"}));
    shows!(in_use, {"error.data.code": "conflict", "error.message": "`model.active` names the provider `small`"});
    shows!(rpc.call("model/set_active", &json!({"model": "llm"})), {"result.generation": 4});
    let said = call(&host, "conversation/send", &json!({"content": "Who?"}));
    shows!(said, {"result.text": "One."});
    shows!(rpc.call("provider/delete", &json!({"name": "small"})), {"result.generation": 5});
    shows!(rpc.call("provider/delete", &json!({"name": "small"})), {"error.data.code": "not-found"});
    let active = text().replace("\n[model]\nactive = \"llm\"\n", "");
    assert_eq!(active.trim_end(), before.trim_end());
    shows!(rpc.call("model/set_active", &json!({"model": "m9"})), {"error.data.code": "not-found"});
}

#[test]
fn a_change_that_no_host_could_start_with_leaves_the_file_as_it_was() {
    let api = api([Reply::text("Still here.")]);
    let world = world(&api, "");
    let path = world.home.join("config.toml");
    let before = fs::read(&path).expect("the configuration");
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let mut refuse = |params: Value, code: &str| {
        let answer = rpc.call("provider/set", &params);
        assert_eq!(answer["error"]["data"]["code"], code, "{params}: {answer}");
        assert_eq!(fs::read(&path).expect("the configuration"), before);
    };
    refuse(
        json!({"name": "other", "kind": "command"}),
        "config-invalid",
    );
    refuse(json!({"name": "other", "kind": "pigeon"}), "config-invalid");
    let absent = json!({"name": "other", "kind": "openai", "models": ["m"], "key_file": "absent"});
    refuse(absent, "config-invalid");
    refuse(
        json!({"name": "default", "kind": "openai"}),
        "config-invalid",
    );
    refuse(json!({"name": "other"}), "invalid-params");
    refuse(
        json!({"name": "../other", "kind": "openai"}),
        "invalid-params",
    );
    refuse(
        json!({"name": "other", "kind": "openai", "key_file": "../key"}),
        "invalid-params",
    );
    refuse(
        json!({"name": "other", "kind": "openai", "args": ["a\u{0}"]}),
        "invalid-params",
    );
    let said = call(&host, "conversation/send", &json!({"content": "There?"}));
    shows!(said, {"result.text": "Still here."});
}
