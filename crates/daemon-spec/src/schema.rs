//! The front matter as a JSON Schema, for editors and other languages.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

/// The front matter of a DAEMON.md file.
#[derive(JsonSchema)]
#[schemars(rename = "daemon", extend("anyOf" = [{"required": ["watch"]}, {"required": ["schedule"]}]))]
#[expect(dead_code, reason = "only the derive reads the fields")]
struct FrontMatter {
    /// Human-readable identifier; equal to the name of the daemon's directory.
    #[schemars(length(min = 1))]
    id: String,
    /// One sentence that says what outcome the daemon exists to produce.
    #[schemars(length(min = 1))]
    purpose: String,
    /// Events that wake the daemon, each in natural language.
    #[schemars(default, with = "Vec<String>")]
    watch: Vec<String>,
    /// Operations the daemon performs when it wakes, each concrete and finite.
    #[schemars(length(min = 1))]
    routines: Vec<String>,
    /// Rules the daemon cannot override; one of these wins over a routine.
    #[schemars(default, with = "Vec<String>")]
    deny: Vec<String>,
    /// A cron expression of five fields: minute, hour, day of month, month, day of week.
    #[schemars(default, with = "String")]
    schedule: String,
}

/// Returns the JSON Schema (draft 2020-12) of the front matter.
///
/// It contains the required fields and the type of each field, as [`parse`](crate::parse) reads them.
/// Unknown fields are allowed, as in the format.
///
/// # Examples
///
/// ```
/// let schema = daemon_spec::schema();
/// assert_eq!(schema["properties"]["watch"]["type"], "array");
/// ```
#[must_use]
pub fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<FrontMatter>()
        .to_value()
}
