//! Who did something, in the form of a webhook.

use serde_json::{Value, json};

/// Returns the actor of a webhook: a user, else a program. Null if the service shows neither.
pub(super) fn actor(user: &Value, bot: &Value) -> Value {
    let (kind, one) = match (user["id"].is_string(), user["app"] == true) {
        (true, false) => ("user", user),
        (true, true) => ("oauthClient", user),
        (false, _) if bot.is_object() => ("integration", bot),
        (false, _) => return Value::Null,
    };
    json!({"id": one["id"], "name": one["name"], "type": kind})
}

/// Returns the id of a user or another object, or null.
pub(super) fn id(object: &Value) -> Value {
    object["id"].clone()
}
