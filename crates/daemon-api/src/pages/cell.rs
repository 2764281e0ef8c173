//! The cells of tables and of the facts of a run: a string, its form, and its link.

use serde_json::Value;

use crate::wire::state_word;

use super::text::{ago, encoded, grouped, moment, seconds, short, shown, visible, whole};

/// The maximum length of a cell, in characters.
const WIDEST: usize = 160;

/// One value of a page. Its text has no hidden characters; templates escape it.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// The title of its column.
    pub(super) title: &'static str,
    /// The text that a page shows.
    pub(super) text: String,
    /// The address that the text links to.
    pub(super) link: Option<String>,
    /// The instant that the text shows, for a `time` element.
    pub(super) instant: Option<String>,
    /// The seconds that the text shows, if they grow while the page is open.
    pub(super) age: Option<u64>,
    /// The sign and colour, if the text is a state.
    pub(super) badge: Option<Badge>,
    /// The CSS class: `code`, `number`, `words` or empty.
    pub(super) class: &'static str,
}

/// The sign and the colour of a state, which are shown with its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Badge {
    /// The CSS class: `going`, `good`, `bad`, `waits` or `still`.
    pub(super) class: &'static str,
    /// One character.
    pub(super) sign: &'static str,
}

impl Badge {
    /// Returns the badge of a state of a run, an activation, an output, a tick or a daemon.
    pub(super) fn of(state: &str) -> Self {
        let (class, sign) = match state {
            "running" | "claimed" | "delivering" | "sending" => ("going", "▶"),
            "done" | "succeeded" | "reported" | "confirmed" | "enqueued" | "open" | "valid"
            | "ok" | "live" | "go" | "completed" | "pass" => ("good", "✓"),
            "failed" | "dead" | "gave_up" | "refused" | "invalid" | "tripped" | "bypass"
            | "block" => ("bad", "✕"),
            "timeout" | "missed_window" => ("bad", "⧖"),
            "pending" | "planned" | "ambiguous" | "unknown" | "held" | "hold" | "spawning"
            | "stale" | "needed" | "requested" | "preparing" | "overdue" | "spawn-overdue"
            | "starting" | "spawned" | "ready" | "warn" => ("waits", "…"),
            // States that need no attention, such as `cancelled` and `superseded`.
            _ => ("still", "■"),
        };
        Self { class, sign }
    }
}

/// The format of the values of a column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// A string from any source.
    Words,
    /// A short name.
    Name,
    /// A name or a flag that is shown only if there is something to notice: neither `none` nor false.
    Notable,
    /// An id, which links to this path followed by the id.
    Id(&'static str),
    /// The id of a daemon, which links to its page in the repository of the row.
    Daemon,
    /// The name of a row of the roster, which links to its page.
    Row,
    /// The key of a trigger, which links to the event if it is one.
    Trigger,
    /// A state, with its badge.
    State,
    /// An instant in RFC 3339.
    Instant,
    /// A duration in seconds; that of a run that works grows.
    Seconds,
    /// For how long nothing was seen, in seconds.
    Age,
    /// A whole number.
    Number,
    /// The length of a list.
    Count,
    /// A string that links to the URL in a member of the row, with another member, the kind and the id of what was made.
    Web {
        url: &'static str,
        made: &'static str,
    },
}

/// A column: its title, the JSON pointer of its value in a row, and the format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pointer: &'static str,
    /// The JSON pointer of the value to show if the first is null; empty for none.
    or: &'static str,
    form: Form,
}

impl Column {
    pub(super) const fn new(title: &'static str, pointer: &'static str, form: Form) -> Self {
        Self {
            title,
            pointer,
            or: "",
            form,
        }
    }

    /// Sets another value to show if the first is null.
    pub(super) const fn or(self, pointer: &'static str) -> Self {
        Self {
            or: pointer,
            ..self
        }
    }

    /// Reports whether a row has the value.
    pub(super) fn is_known(&self, row: &Value) -> bool {
        row.pointer(self.pointer)
            .is_some_and(|value| !value.is_null())
    }

    /// Formats the value of a row.
    pub(super) fn cell(&self, row: &Value) -> Cell {
        let at = |pointer: &str| row.pointer(pointer).filter(|value| !value.is_null());
        let or = Some(self.or).filter(|or| !or.is_empty());
        let value = at(self.pointer).or_else(|| at(or?)).unwrap_or(&Value::Null);
        // People see `reported` for some states, which depends on another member of the same object.
        let word = match (self.form, self.pointer.strip_suffix("/state")) {
            (Form::State, Some(of)) => row.pointer(of).map(state_word).map(Value::from),
            _ => None,
        };
        let value = word.as_ref().filter(|_| !value.is_null()).unwrap_or(value);
        Cell {
            title: self.title,
            ..Cell::of(value, self.form, row)
        }
    }
}

impl Cell {
    /// Creates a cell with a string from any source.
    pub(super) fn words(text: impl AsRef<str>) -> Self {
        Self {
            text: visible(text.as_ref()),
            class: "words",
            ..Self::default()
        }
    }

    /// Creates a cell with an identifier or a path.
    pub(super) fn code(text: impl AsRef<str>) -> Self {
        Self {
            class: "code",
            ..Self::words(text)
        }
    }

    /// Creates a cell with a state and its badge.
    pub(super) fn state(state: &str) -> Self {
        Self {
            badge: Some(Badge::of(state)),
            text: short(state, 40).replace('_', " "),
            ..Self::default()
        }
    }

    /// Creates a cell with an instant.
    pub(super) fn instant(text: &str) -> Self {
        Self {
            text: moment(text),
            instant: text
                .parse::<jiff::Timestamp>()
                .ok()
                .map(|at| at.to_string()),
            ..Self::default()
        }
    }

    /// Creates a cell of the column with actions; an empty one for a row without an action.
    pub(super) fn action(label: &str, path: String) -> Self {
        Self {
            title: "Action",
            text: label.to_owned(),
            link: Some(path).filter(|path| !path.is_empty()),
            class: "do",
            ..Self::default()
        }
    }

    /// Creates a cell without a value.
    fn none() -> Self {
        Self {
            text: "–".to_owned(),
            class: "none",
            ..Self::default()
        }
    }

    /// Links the cell to a path.
    #[must_use]
    pub(super) fn to(self, path: String) -> Self {
        Self {
            link: Some(path),
            ..self
        }
    }

    /// Returns the text in pieces between which a line may end: addresses and names are long words otherwise.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &str> {
        self.text.split_inclusive(['/', '#', '@'])
    }

    /// Creates a cell with a duration, a number or a length.
    fn number(value: &Value, form: Form, row: &Value) -> Self {
        let (text, age) = match (form, value) {
            (Form::Age, value) => {
                let age = value.as_u64();
                (ago(age.unwrap_or_default()), age)
            }
            (Form::Seconds, value) => {
                let duration = value.as_f64().unwrap_or_default();
                let grows = row["state"] == "running";
                (seconds(duration), grows.then(|| whole(duration)))
            }
            (_, Value::Array(values)) => (values.len().to_string(), None),
            (_, value) => {
                let number = value.as_u64().map(grouped);
                (number.unwrap_or_else(|| shown(value, WIDEST)), None)
            }
        };
        Self {
            text,
            age,
            class: "number",
            ..Self::default()
        }
    }

    fn of(value: &Value, form: Form, row: &Value) -> Self {
        let words = Self {
            text: shown(value, WIDEST),
            class: "words",
            ..Self::default()
        };
        let with = |class| Self {
            class,
            ..words.clone()
        };
        match (form, value) {
            (_, Value::Null) => Self::none(),
            (Form::Words, _) => words,
            (Form::Notable, Value::Bool(true)) => Self::state("needed"),
            (Form::Notable, Value::String(word)) if word != "none" => Self::state(word),
            (Form::Notable, _) => Self::none(),
            (Form::Name, _) => with(""),
            (Form::Id(path), Value::String(id)) => {
                with("code").to(format!("{path}{}", encoded(id)))
            }
            (Form::Daemon, Value::String(id)) => {
                let repo = row["repo"].as_str();
                let repo = repo.map(|repo| format!("?repo={}", encoded(repo)));
                let path = format!("/daemons/{}{}", encoded(id), repo.unwrap_or_default());
                with("code").to(path)
            }
            (Form::Row, _) => match row["id"].as_str() {
                Some(id) => words.to(format!("/roster/{}", encoded(id))),
                None => words,
            },
            (Form::Trigger, Value::String(key)) => match key.strip_prefix("event:") {
                Some(id) => words.to(format!("/events/{}", encoded(id))),
                None => words,
            },
            (Form::State, Value::String(state)) => Self::state(state),
            (Form::State, Value::Bool(is_valid)) => {
                Self::state(if *is_valid { "valid" } else { "invalid" })
            }
            (Form::Instant, Value::String(text)) => Self::instant(text),
            (Form::Seconds | Form::Age | Form::Number | Form::Count, value) => {
                Self::number(value, form, row)
            }
            (Form::Web { url, made }, _) => match row[url].as_str().filter(|url| is_web(url)) {
                Some(url) => {
                    let made = row[made].as_str().unwrap_or_default();
                    let text = format!("{} {}", words.text, short(made, WIDEST).replace(':', " "));
                    let text = text.trim().to_owned();
                    Self { text, ..words }.to(url.to_owned())
                }
                None => words,
            },
            _ => words,
        }
    }
}

/// Reports whether a link from a surface is an HTTP URL.
// A `javascript:` or `data:` URL would run in the page of a user who is logged in.
fn is_web(url: &str) -> bool {
    ["https://", "http://"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Column, Form};

    #[test]
    fn links_are_own_pages_or_http_urls() {
        let row = |id: &str, url: &str| json!({"id": id, "target": "o/r", "url": url});
        let link = |row: &serde_json::Value, form| Column::new("", "/id", form).cell(row).link;
        let id = Form::Id("/runs/");
        assert_eq!(
            link(&row("../a?b#c\"", ""), id).as_deref(),
            Some("/runs/..%2Fa%3Fb%23c%22")
        );
        let form = Form::Web {
            url: "url",
            made: "made",
        };
        let web = |url| link(&row("x", url), form);
        assert_eq!(
            web("https://example.com/1").as_deref(),
            Some("https://example.com/1")
        );
        let made =
            json!({"id": "github:o/r", "url": "https://example.com/1", "made": "pull_request:3"});
        let text = Column::new("", "/id", form).cell(&made).text;
        assert_eq!(text, "github:o/r pull_request 3");
        for url in [
            "javascript:alert(1)",
            "data:text/html,x",
            "//example.com",
            "",
        ] {
            assert_eq!(web(url), None, "{url}");
        }
    }

    #[test]
    fn a_missing_value_is_shown_as_a_dash_or_as_the_alternative() {
        let row = json!({"a": null, "b": "other"});
        let text = |column: Column| column.cell(&row).text;
        for form in [Form::Words, Form::State, Form::Instant, Form::Seconds] {
            assert_eq!(text(Column::new("", "/a", form)), "–");
            assert_eq!(text(Column::new("", "/c", form)), "–");
        }
        assert_eq!(text(Column::new("", "/a", Form::Words).or("/b")), "other");
    }
}
