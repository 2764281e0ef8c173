//! Comparing some fields of an object, and showing the whole object if they differ.

use serde_json::{Map, Value};

use crate::http::Answer;
use crate::paths::select;

/// Something that has fields: an object, a list of objects, the output of a command, or an HTTP response.
pub(crate) trait Shown {
    /// Returns the value at a path, or `Null`.
    fn field(&self, path: &str) -> Value;

    /// Writes all of it, for the message of a failed assertion.
    fn whole(&self) -> String;

    /// Returns the string at a path.
    #[track_caller]
    fn text(&self, path: &str) -> String {
        match self.field(path) {
            Value::String(text) => text,
            other => panic!("`{path}` is {other}, not a string: {}", self.whole()),
        }
    }
}

impl Shown for Value {
    fn field(&self, path: &str) -> Value {
        let parts: Vec<&str> = path.split('.').collect();
        select(self, &parts, &Self::Null).unwrap_or_default()
    }

    fn whole(&self) -> String {
        format!("{self:#}")
    }
}

impl Shown for [Value] {
    fn field(&self, path: &str) -> Value {
        Value::from(self).field(path)
    }

    fn whole(&self) -> String {
        Value::from(self).whole()
    }
}

impl Shown for Vec<Value> {
    fn field(&self, path: &str) -> Value {
        self.as_slice().field(path)
    }

    fn whole(&self) -> String {
        self.as_slice().whole()
    }
}

impl<T: Shown + ?Sized> Shown for &T {
    fn field(&self, path: &str) -> Value {
        (**self).field(path)
    }

    fn whole(&self) -> String {
        (**self).whole()
    }
}

/// The exit code of a command is `$?`.
impl Shown for (i32, Value) {
    fn field(&self, path: &str) -> Value {
        match path {
            "$?" => self.0.into(),
            path => self.1.field(path),
        }
    }

    fn whole(&self) -> String {
        format!("exit code {}: {}", self.0, self.1.whole())
    }
}

/// Whether a call of a tool failed is `isError`.
impl Shown for (bool, Value) {
    fn field(&self, path: &str) -> Value {
        match path {
            "isError" => self.0.into(),
            path => self.1.field(path),
        }
    }

    fn whole(&self) -> String {
        format!("isError is {}: {}", self.0, self.1.whole())
    }
}

/// The status of a response is `HTTP`; the other fields are those of its object.
impl Shown for Answer {
    fn field(&self, path: &str) -> Value {
        match path {
            "HTTP" => self.status.into(),
            path => self.json().field(path),
        }
    }

    fn whole(&self) -> String {
        format!("{self:?}")
    }
}

/// Panics if a field is not as expected, with all of those and the whole object.
#[track_caller]
pub(crate) fn compare(shown: &impl Shown, expected: &Value, context: &str) {
    let expected = expected.as_object().into_iter().flat_map(Map::iter);
    let wrong: Vec<String> = expected
        .map(|(path, expected)| (path, expected, shown.field(path)))
        .filter(|(_, expected, found)| *expected != found)
        .map(|(path, expected, found)| format!("{path}: expected {expected}, found {found}"))
        .collect();
    let wrong = wrong.join("\n");
    assert!(wrong.is_empty(), "{context}\n{wrong}\n{}", shown.whole());
}

/// Asserts what some fields are: `shows!(run, {"state": "failed", "error.type": "exit"})`.
///
/// Each key is a path. Each value is compared as a whole.
macro_rules! shows {
    ($shown:expr, {$($fields:tt)*}) => {
        shows!($shown, {$($fields)*}, "")
    };
    ($shown:expr, {$($fields:tt)*}, $($context:tt)+) => {
        $crate::fields::compare(&$shown, &serde_json::json!({$($fields)*}), &format!($($context)+))
    };
}

/// Asserts the same of the output of a command or a tool, and returns its object.
macro_rules! shown {
    ($output:expr, {$($fields:tt)*} $(, $($context:tt)+)?) => {{
        let output = $output;
        shows!(output, {$($fields)*} $(, $($context)+)?);
        output.1
    }};
}
