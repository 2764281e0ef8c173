//! The cells of tables and of the facts of a run: a string, its form, and its link.

use std::collections::BTreeSet;

use askama::Template;
use serde_json::Value;

use crate::text::{
    ago, encoded, grouped, moment, seconds, short, short_id, shown, usd, visible, whole,
};

/// The maximum length of a cell, in characters.
const WIDEST: usize = 160;

/// One value of a page. Its text has no hidden characters, and its `Display` is HTML.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "cell.html")]
pub struct PageCell {
    /// The title of its column.
    pub title: &'static str,
    /// The text that a page shows.
    pub text: String,
    /// What the text is short for.
    pub whole: Option<String>,
    /// A second line.
    pub note: Option<String>,
    /// The address that the text links to.
    pub link: Option<String>,
    /// The instant that the text shows, for a `time` element.
    pub instant: Option<String>,
    /// The seconds that the text shows, if they grow while the page is open.
    pub age: Option<u64>,
    /// The sign and colour, if the text is a state.
    pub badge: Option<Badge>,
    /// The CSS class: `code`, `number`, `words` or empty.
    pub class: &'static str,
}

/// The sign and the colour of a state, which are shown with its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Badge {
    /// The CSS class: `going`, `good`, `bad`, `waits` or `still`.
    pub class: &'static str,
    /// One character.
    pub sign: &'static str,
}

impl Badge {
    /// Returns the badge of a state of a run, an activation, an output, a tick or a daemon.
    pub fn of(state: &str) -> Self {
        let (class, sign) = match state {
            "running" | "claimed" | "delivering" | "sending" => ("going", "▶"),
            "done" | "succeeded" | "reported" | "confirmed" | "enqueued" | "open" | "valid"
            | "ok" | "live" | "go" | "completed" | "pass" | "woken" | "connected" => ("good", "✓"),
            "failed" | "dead" | "gave_up" | "refused" | "invalid" | "tripped" | "bypass"
            | "block" | "disconnected" | "error" => ("bad", "✕"),
            "timeout" | "missed_window" => ("bad", "⧖"),
            "pending" | "planned" | "ambiguous" | "unknown" | "held" | "hold" | "spawning"
            | "stale" | "needed" | "requested" | "preparing" | "overdue" | "spawn-overdue"
            | "starting" | "spawned" | "ready" | "warn" | "warning" | "not_woken"
            | "connecting" => ("waits", "…"),
            // States that need no attention, such as `cancelled` and `superseded`.
            _ => ("still", "■"),
        };
        Self { class, sign }
    }
}

/// The format of the values of a column.
#[derive(Clone, Copy, Debug)]
pub enum CellForm {
    /// A string from any source.
    Words,
    /// A short name.
    Name,
    /// A name or a flag that is shown only if there is something to notice: neither `none` nor false.
    Notable,
    /// A flag, by a word if it is set.
    Flag(&'static str),
    /// What happened, which links to this path followed by the value; the text and the second line are other members of the row.
    Headline(&'static str),
    /// The daemons that an event woke, in the verdicts about it.
    Woken,
    /// An id, which links to this path followed by the id.
    Id(&'static str),
    /// An id, shortened, which links as above; the path is empty for the id of the row itself, which its headline links to.
    ShortId(&'static str),
    /// The id of a daemon, which links to its page in the repository of the row.
    Daemon,
    /// The name of a row of the roster, which links to its page.
    Row,
    /// The title of a conversation, which links to the page of the agent and the sender of the row.
    Conversation,
    /// A string that links to the URL in this member of the row, if that is one of the web.
    Linked(&'static str),
    /// The kind of a trigger, which links to the newest event if it is one.
    Trigger,
    /// A state, with its badge.
    State,
    /// An instant in RFC 3339.
    Instant,
    /// A duration in seconds; that of a run that works grows.
    Seconds,
    /// For how long nothing was seen, in seconds.
    Age,
    /// An amount of US dollars.
    Usd,
    /// An activation with its headline.
    Cause,
    /// A whole number.
    Number,
    /// The length of a list.
    Count,
    /// A string that links to the URL in a member of the row, with another member, the kind and the id of what was made.
    Web {
        /// The member with the URL.
        url: &'static str,
        /// The member with the kind and the id.
        made: &'static str,
    },
}

/// A column: its title, the JSON pointer of its value in a row, and the format.
#[derive(Clone, Copy, Debug)]
pub struct PageColumn {
    /// The title above the column.
    pub title: &'static str,
    pointer: &'static str,
    /// The JSON pointer of the value to show if the first is null; empty for none.
    or: &'static str,
    form: CellForm,
}

impl PageColumn {
    /// Creates a column.
    pub const fn new(title: &'static str, pointer: &'static str, form: CellForm) -> Self {
        Self {
            title,
            pointer,
            or: "",
            form,
        }
    }

    /// Sets another value to show if the first is null.
    pub const fn or(self, pointer: &'static str) -> Self {
        Self {
            or: pointer,
            ..self
        }
    }

    /// Reports whether a row has the value.
    pub fn is_known(&self, row: &Value) -> bool {
        row.pointer(self.pointer)
            .is_some_and(|value| !value.is_null())
    }

    /// Formats the value of a row.
    pub fn cell(&self, row: &Value) -> PageCell {
        let at = |pointer: &str| row.pointer(pointer).filter(|value| !value.is_null());
        let or = Some(self.or).filter(|or| !or.is_empty());
        let value = at(self.pointer).or_else(|| at(or?)).unwrap_or(&Value::Null);
        // People see `reported` for some states, which depends on another member of the same object.
        let word = match (self.form, self.pointer.strip_suffix("/state")) {
            (CellForm::State, Some(of)) => row.pointer(of).map(state_word).map(Value::from),
            _ => None,
        };
        let value = word.as_ref().filter(|_| !value.is_null()).unwrap_or(value);
        PageCell {
            title: self.title,
            ..PageCell::of(value, self.form, row)
        }
    }
}

impl PageCell {
    /// Creates a cell with a string from any source.
    pub fn words(text: impl AsRef<str>) -> Self {
        Self {
            text: visible(text.as_ref()),
            class: "words",
            ..Self::default()
        }
    }

    /// Creates a cell with an identifier or a path.
    pub fn code(text: impl AsRef<str>) -> Self {
        Self {
            class: "code",
            ..Self::words(text)
        }
    }

    /// Creates a cell with a state and its badge.
    pub fn state(state: &str) -> Self {
        Self {
            badge: Some(Badge::of(state)),
            text: short(state, 40).replace('_', " "),
            ..Self::default()
        }
    }

    /// Creates a cell with an instant.
    pub fn instant(text: &str) -> Self {
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
    pub fn action(label: &str, path: String) -> Self {
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
    pub fn to(self, path: String) -> Self {
        Self {
            link: Some(path),
            ..self
        }
    }

    /// Returns all that a person reads in it, and where it leads.
    pub fn all_text(&self) -> String {
        let more = [self.link.as_deref(), self.note.as_deref()];
        let all = [self.text.as_str()].into_iter();
        all.chain(more.into_iter().flatten())
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Returns the text in pieces between which a line may end: addresses and names are long words otherwise.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        self.text.split_inclusive(['/', '#', '@'])
    }

    /// Creates the cell with the headline of a row.
    fn headline(row: &Value, path: &str, id: &str) -> Self {
        let text = |name: &str| row[name].as_str().filter(|text| !text.is_empty());
        // Why it failed or what it waits for, rather than what it is about.
        let error = row.pointer("/error/message").and_then(Value::as_str);
        let note = text("reason").or(error).or(text("error")).or(text("about"));
        Self {
            text: short(text("headline").unwrap_or(id), WIDEST),
            note: note.map(|note| short(note, WIDEST)),
            class: "what",
            ..Self::default()
        }
        .to(format!("{path}{}", encoded(id)))
    }

    /// Creates a cell with the daemons that verdicts woke.
    fn woken(verdicts: &[Value]) -> Self {
        let woken = verdicts.iter().filter(|verdict| verdict["wakes"] == true);
        let names: BTreeSet<&str> = woken.filter_map(|it| it["daemon_id"].as_str()).collect();
        match names.is_empty() {
            true => Self::none(),
            false => Self::words(names.into_iter().collect::<Vec<_>>().join(", ")),
        }
    }

    /// Creates a cell with the kind of a trigger.
    fn trigger(trigger: &Value) -> Self {
        let kind = Self {
            text: shown(&trigger["kind"], WIDEST),
            ..Self::default()
        };
        let newest = trigger["event_ids"].as_array().and_then(|ids| ids.last());
        match newest.and_then(Value::as_str) {
            Some(id) => kind.to(format!("/events/{}", encoded(id))),
            None => kind,
        }
    }

    /// Creates a cell with a duration, a number or a length.
    fn number(value: &Value, form: CellForm, row: &Value) -> Self {
        let (text, age) = match (form, value) {
            (CellForm::Age, value) => {
                let age = value.as_u64();
                (ago(age.unwrap_or_default()), age)
            }
            (CellForm::Seconds, value) => {
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

    /// Links the name of a place on a surface to the URL of what was made there.
    fn web(self, row: &Value, url: &str, made: &str) -> Self {
        match web_url(&row[url]) {
            Some(url) => {
                let made = row[made].as_str().unwrap_or_default();
                let text = format!("{} {}", self.text, short(made, WIDEST).replace(':', " "));
                let text = text.trim().to_owned();
                Self { text, ..self }.to(url.to_owned())
            }
            // The headline of the row names the place.
            None if row["headline"].is_string() => Self::none(),
            None => self,
        }
    }

    /// Creates a cell with an id that is shortened, linked if the path is not empty.
    fn short_id(path: &str, id: &str) -> Self {
        let link = format!("{path}{}", encoded(id));
        Self {
            text: short_id(id),
            whole: Some(visible(id)),
            link: Some(link).filter(|_| !path.is_empty()),
            class: "code short",
            ..Self::default()
        }
    }

    fn of(value: &Value, form: CellForm, row: &Value) -> Self {
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
            (CellForm::Words, _) => words,
            (CellForm::Flag(word), Value::Bool(true)) => Self::state(word),
            (CellForm::Flag(_), _) => Self::none(),
            (CellForm::Notable, Value::Bool(true)) => Self::state("needed"),
            (CellForm::Notable, Value::String(word)) if word != "none" => Self::state(word),
            (CellForm::Notable, _) => Self::none(),
            (CellForm::Name, _) => with(""),
            (CellForm::Id(path), Value::String(id)) => {
                with("code").to(format!("{path}{}", encoded(id)))
            }
            (CellForm::Daemon, Value::String(id)) => with("code").to(daemon(row, id)),
            (CellForm::Row, _) => match row["id"].as_str() {
                Some(id) => words.to(format!("/roster/{}", encoded(id))),
                None => words,
            },
            (CellForm::Conversation, _) => with("what").to(conversation(row)),
            (CellForm::Linked(url), _) => match web_url(&row[url]) {
                Some(url) => words.to(url.to_owned()),
                None => words,
            },
            (CellForm::ShortId(path), Value::String(id)) => Self::short_id(path, id),
            (CellForm::Headline(path), Value::String(id)) => Self::headline(row, path, id),
            (CellForm::Woken, Value::Array(verdicts)) => Self::woken(verdicts),
            (CellForm::Usd, _) => Self {
                text: usd(value.as_f64().unwrap_or_default()),
                ..with("number")
            },
            (CellForm::Cause, cause) => {
                let id = cause["id"].as_str().unwrap_or_default();
                Self::headline(cause, "/activations/", id)
            }
            (CellForm::Trigger, trigger) => Self::trigger(trigger),
            (CellForm::State, Value::String(state)) => Self::state(state),
            (CellForm::State, Value::Bool(is_valid)) => {
                Self::state(if *is_valid { "valid" } else { "invalid" })
            }
            (CellForm::Instant, Value::String(text)) => Self::instant(text),
            (CellForm::Seconds | CellForm::Age | CellForm::Number | CellForm::Count, value) => {
                Self::number(value, form, row)
            }
            (CellForm::Web { url, made }, _) => words.web(row, url, made),
            _ => words,
        }
    }
}

/// Returns the path of the page of a daemon in the repository of a row.
fn daemon(row: &Value, id: &str) -> String {
    let repo = row["repo"].as_str();
    let repo = repo.map(|repo| format!("?repo={}", encoded(repo)));
    format!("/daemons/{}{}", encoded(id), repo.unwrap_or_default())
}

/// Returns the path of the page of the conversation of a row.
fn conversation(row: &Value) -> String {
    let part = |name: &str| encoded(row[name].as_str().unwrap_or_default());
    format!(
        "/conversation?agent={}&sender={}",
        part("agent"),
        part("sender")
    )
}

/// Returns the word that people see for the state of an activation or a run; the `daemon` tool names this member `status`.
pub fn state_word(object: &Value) -> &str {
    let state = object["state"].as_str().or(object["status"].as_str());
    daemon_lifecycle::state_word(state.unwrap_or_default(), object["reported"] == true)
}

/// Returns an HTTP URL that came from a surface or an event.
// A `javascript:` or `data:` URL would run in the page of a user who is logged in.
fn web_url(value: &Value) -> Option<&str> {
    let is_web = |url: &&str| {
        ["https://", "http://"]
            .iter()
            .any(|scheme| url.starts_with(scheme))
    };
    value.as_str().filter(is_web)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{CellForm, PageColumn};

    #[test]
    fn links_are_own_pages_or_http_urls() {
        let row = |id: &str, url: &str| json!({"id": id, "target": "o/r", "url": url});
        let link = |row: &serde_json::Value, form| PageColumn::new("", "/id", form).cell(row).link;
        let id = CellForm::Id("/runs/");
        assert_eq!(
            link(&row("../a?b#c\"", ""), id).as_deref(),
            Some("/runs/..%2Fa%3Fb%23c%22")
        );
        let form = CellForm::Web {
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
        let text = PageColumn::new("", "/id", form).cell(&made).text;
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
        let text = |column: PageColumn| column.cell(&row).text;
        for form in [
            CellForm::Words,
            CellForm::State,
            CellForm::Instant,
            CellForm::Seconds,
        ] {
            assert_eq!(text(PageColumn::new("", "/a", form)), "–");
            assert_eq!(text(PageColumn::new("", "/c", form)), "–");
        }
        assert_eq!(
            text(PageColumn::new("", "/a", CellForm::Words).or("/b")),
            "other"
        );
    }
}
