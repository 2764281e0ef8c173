//! The cases of a test file, with the span of everything that `--update` may rewrite.

use daemon_event::{Event, Source as SourceName};
use daemon_records::clock;
use daemon_spec::{DocumentNode, NodeValue, Shape, SourceText, Span, YamlDocument};
use daemon_watch::Status;
use jiff::Timestamp;

use super::file::{TestFileProblem, TestFolder};
use super::json::to_json;
use crate::cli::EventArgs;
use crate::event_input;

/// One case.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) input: CaseInput,
}

/// The input of a case, and the expectation.
#[derive(Debug)]
pub(super) enum CaseInput {
    /// An event, and whether it wakes the daemon.
    Event(Box<Event>, WakeExpected),
    /// An instant, and the ticks of the schedule after it.
    Ticks(Timestamp, TimesExpected),
}

/// A value with its span in the file.
#[derive(Clone, Debug)]
pub(super) struct Spanned<T> {
    pub(super) value: T,
    pub(super) span: Span,
}

/// The expectation of an event. CaseInput is `None` is not checked.
#[derive(Clone, Debug)]
pub(super) struct WakeExpected {
    pub(super) wakes: Option<Spanned<bool>>,
    pub(super) condition: Option<Spanned<ConditionRef>>,
    pub(super) status: Option<Spanned<Status>>,
}

/// A reference to a condition of the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConditionRef {
    /// The index in `watch`, from 0.
    Index(usize),
    /// The text of the condition.
    Line(String),
}

/// The expected ticks.
#[derive(Clone, Debug)]
pub(super) struct TimesExpected {
    pub(super) times: Vec<Spanned<Timestamp>>,
    pub(super) span: Span,
    pub(super) is_flow: bool,
}

/// Reads every case of a file.
pub(super) fn read_all(
    source: &SourceText,
    folder: &TestFolder,
) -> Result<Vec<Case>, Vec<TestFileProblem>> {
    let Some(text) = source.text() else {
        return Err(vec![TestFileProblem::new(
            Span::at(0),
            "the file is not UTF-8",
        )]);
    };
    if text.len() > daemon_spec::limits::MAX_FILE_BYTES {
        let problem = TestFileProblem::new(Span::at(0), "the file has more than 256 KiB");
        return Err(vec![problem.help("move payloads to files of their own")]);
    }
    let document = YamlDocument::read(text)
        .map_err(|error| vec![TestFileProblem::new(error.span, error.message).help(error.help)])?;
    let root = document.root().map(|root| (root.span(), root.value()));
    let Some((_, NodeValue::List(entries))) = root else {
        let span = root.map_or(Span::at(0), |(span, _)| span);
        let problem = TestFileProblem::new(span, "a test file is a list of cases");
        return Err(vec![problem.help("begin the first with `- name: `")]);
    };
    let mut problems = Vec::new();
    let mut cases = Vec::new();
    for entry in entries {
        match case(entry, folder, &mut problems) {
            Ok(case) => cases.push(case),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        Ok(cases)
    } else {
        Err(problems)
    }
}

/// The keys of a mapping, checked to be known and unique.
struct CaseFields<'t> {
    what: &'static str,
    span: Span,
    entries: Vec<(&'t str, DocumentNode<'t>)>,
}

impl<'t> CaseFields<'t> {
    /// Reads a mapping, and reports each key that is unknown or given twice.
    fn of(
        node: DocumentNode<'t>,
        what: &'static str,
        known: &[&str],
        problems: &mut Vec<TestFileProblem>,
    ) -> Result<Self, TestFileProblem> {
        let NodeValue::Mapping(pairs) = node.value() else {
            let message = format!("{what} is `key: value` lines");
            return Err(TestFileProblem::new(node.span(), message).help(keys(known)));
        };
        let mut entries: Vec<(&str, DocumentNode<'_>)> = Vec::new();
        for (key, value) in pairs {
            let name = match key.value() {
                NodeValue::Scalar { text, .. } => text,
                NodeValue::List(_) | NodeValue::Mapping(_) => "",
            };
            if !known.contains(&name) {
                let message = format!("`{name}` is not a key of {what}");
                problems.push(TestFileProblem::new(key.span(), message).help(keys(known)));
            } else if entries.iter().any(|(known, _)| *known == name) {
                problems.push(TestFileProblem::new(
                    key.span(),
                    format!("`{name}` is given twice"),
                ));
            } else {
                entries.push((name, value));
            }
        }
        Ok(Self {
            what,
            span: node.span(),
            entries,
        })
    }

    fn get(&self, name: &str) -> Option<DocumentNode<'t>> {
        let found = self.entries.iter().find(|(known, _)| *known == name);
        found.map(|(_, node)| *node)
    }

    /// Reads a value with its span.
    fn at<T>(
        &self,
        name: &str,
        read: impl Fn(DocumentNode<'t>) -> Result<T, TestFileProblem>,
    ) -> Result<Option<Spanned<T>>, TestFileProblem> {
        let found = self.get(name).map(|node| {
            Ok(Spanned {
                value: read(node)?,
                span: node.span(),
            })
        });
        found.transpose()
    }

    fn required(&self, name: &str) -> Result<DocumentNode<'t>, TestFileProblem> {
        self.get(name).ok_or_else(|| {
            TestFileProblem::new(self.span, format!("{} has no `{name}`", self.what))
        })
    }
}

fn keys(known: &[&str]) -> String {
    format!("the keys are `{}`", known.join("`, `"))
}

/// Reads a string. An unquoted number or date is taken as it is written.
fn text<'t>(node: DocumentNode<'t>, name: &str) -> Result<&'t str, TestFileProblem> {
    match node.value() {
        NodeValue::Scalar { text, shape } if shape != Shape::Null && !text.trim().is_empty() => {
            Ok(text)
        }
        NodeValue::Scalar { .. } => Err(TestFileProblem::new(
            node.span(),
            format!("`{name}` is empty"),
        )),
        NodeValue::List(_) | NodeValue::Mapping(_) => Err(TestFileProblem::new(
            node.span(),
            format!("`{name}` is text"),
        )),
    }
}

fn case(
    node: DocumentNode<'_>,
    folder: &TestFolder,
    problems: &mut Vec<TestFileProblem>,
) -> Result<Case, TestFileProblem> {
    let fields = CaseFields::of(
        node,
        "a case",
        &["name", "event", "from", "expect"],
        problems,
    )?;
    let name = text(fields.required("name")?, "name")?.to_owned();
    let expect = fields.required("expect")?;
    let input = match (fields.get("event"), fields.get("from")) {
        (Some(event), None) => {
            let expected = wake_expected(expect, problems)?;
            CaseInput::Event(Box::new(read_event(event, folder, problems)?), expected)
        }
        (None, Some(from)) => {
            CaseInput::Ticks(instant(from, "from")?, times_expected(expect, problems)?)
        }
        (Some(_), Some(from)) => {
            let message = "a case has an `event` or a `from`, not both";
            return Err(TestFileProblem::new(from.span(), message));
        }
        (None, None) => {
            let message = "a case has an `event`, or a `from` for a schedule";
            return Err(TestFileProblem::new(fields.span, message));
        }
    };
    Ok(Case {
        name,
        span: node.span(),
        input,
    })
}

fn read_event(
    node: DocumentNode<'_>,
    folder: &TestFolder,
    problems: &mut Vec<TestFileProblem>,
) -> Result<Event, TestFileProblem> {
    let known = ["source", "kind", "payload", "changed_files"];
    let fields = CaseFields::of(node, "`event`", &known, problems)?;
    let optional = |name: &str| {
        let found = fields.get(name).map(|node| text(node, name));
        found.transpose().map(|text| text.map(str::to_owned))
    };
    let source = optional("source")?;
    if let (Some(source), Some(node)) = (&source, fields.get("source"))
        && let Err(error) = source.parse::<SourceName>()
    {
        return Err(TestFileProblem::new(node.span(), error.to_string()));
    }
    let args = EventArgs {
        event: None,
        payload: None,
        needs_whole_id: false,
        source,
        kind: optional("kind")?,
        changed_files: fields.get("changed_files").map_or(Ok(Vec::new()), paths)?,
    };
    let payload = fields.required("payload")?;
    let bytes = payload_bytes(payload, folder)?;
    let refused = |message: String, help: Option<String>| TestFileProblem {
        help,
        ..TestFileProblem::new(payload.span(), message)
    };
    let mut fired = match event_input::from_bytes(bytes, &args) {
        Ok(fired) => fired,
        Err(_) if args.source.is_none() || args.kind.is_none() => {
            let message = "a raw payload needs `source` and `kind`";
            return Err(TestFileProblem::new(fields.span, message)
                .help("such as `source: github` and `kind: pull_request`"));
        }
        Err(failure) => return Err(refused(failure.message, failure.help)),
    };
    // `changed_files: []` says that no file changed; without the key the changed files are unknown.
    if fields.get("changed_files").is_some() {
        fired.enrichment.changed_files = Some(args.changed_files);
    }
    fired
        .event(clock::now())
        .map_err(|error| refused(error.message, error.help))
}

/// Returns an inline payload as JSON, or the content of the named file.
fn payload_bytes(
    payload: DocumentNode<'_>,
    folder: &TestFolder,
) -> Result<Vec<u8>, TestFileProblem> {
    match payload.value() {
        NodeValue::Mapping(_) => Ok(to_json(payload)?.to_string().into_bytes()),
        NodeValue::Scalar { .. } => folder.payload(text(payload, "payload")?, payload.span()),
        NodeValue::List(_) => {
            let message = "`payload` is a mapping, or the path of a file";
            Err(TestFileProblem::new(payload.span(), message))
        }
    }
}

fn paths(node: DocumentNode<'_>) -> Result<Vec<String>, TestFileProblem> {
    let NodeValue::List(entries) = node.value() else {
        let message = "`changed_files` is a list of paths";
        return Err(TestFileProblem::new(node.span(), message));
    };
    let paths = entries
        .into_iter()
        .map(|entry| text(entry, "changed_files"));
    paths.map(|path| path.map(str::to_owned)).collect()
}

fn wake_expected(
    node: DocumentNode<'_>,
    problems: &mut Vec<TestFileProblem>,
) -> Result<WakeExpected, TestFileProblem> {
    let known = ["wakes", "condition", "status"];
    let fields = CaseFields::of(node, "`expect` of an event", &known, problems)?;
    let expected = WakeExpected {
        wakes: fields.at("wakes", flag)?,
        condition: fields.at("condition", named)?,
        status: fields.at("status", status)?,
    };
    let is_empty = expected.wakes.is_none() && expected.condition.is_none();
    if is_empty && expected.status.is_none() {
        return Err(TestFileProblem::new(node.span(), "`expect` is empty").help(keys(&known)));
    }
    Ok(expected)
}

fn flag(node: DocumentNode<'_>) -> Result<bool, TestFileProblem> {
    match text(node, "wakes")? {
        // Other spellings such as `yes` are booleans for some YAML readers only.
        "true" => Ok(true),
        "false" => Ok(false),
        other => {
            let message = format!("`wakes` is `true` or `false`, not `{other}`");
            Err(TestFileProblem::new(node.span(), message))
        }
    }
}

/// Reads an index in `watch`, or the text of a condition.
fn named(node: DocumentNode<'_>) -> Result<ConditionRef, TestFileProblem> {
    let given = text(node, "condition")?;
    let is_number = matches!(
        node.value(),
        NodeValue::Scalar {
            shape: Shape::Number,
            ..
        }
    );
    if !is_number {
        return Ok(ConditionRef::Line(given.to_owned()));
    }
    given
        .parse()
        .map(ConditionRef::Index)
        .map_err(|error: std::num::ParseIntError| {
            let message = format!("`{given}` is not an index in `watch`, counted from 0: {error}");
            TestFileProblem::new(node.span(), message)
        })
}

fn status(node: DocumentNode<'_>) -> Result<Status, TestFileProblem> {
    let given = text(node, "status")?;
    let found = Status::ALL
        .into_iter()
        .find(|status| status.as_str() == given);
    found.ok_or_else(|| {
        let names: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
        TestFileProblem::new(node.span(), format!("`{given}` is not a status"))
            .help(format!("`{}`", names.join("`, `")))
    })
}

fn times_expected(
    node: DocumentNode<'_>,
    problems: &mut Vec<TestFileProblem>,
) -> Result<TimesExpected, TestFileProblem> {
    let fields = CaseFields::of(node, "`expect` of a schedule", &["times"], problems)?;
    let list = fields.required("times")?;
    let NodeValue::List(entries) = list.value() else {
        return Err(TestFileProblem::new(
            list.span(),
            "`times` is a list of instants",
        ));
    };
    let times = entries.into_iter().map(|entry| {
        Ok(Spanned {
            value: instant(entry, "times")?,
            span: entry.span(),
        })
    });
    Ok(TimesExpected {
        times: times.collect::<Result<_, TestFileProblem>>()?,
        span: list.span(),
        is_flow: list.is_flow(),
    })
}

fn instant(node: DocumentNode<'_>, name: &str) -> Result<Timestamp, TestFileProblem> {
    let given = text(node, name)?;
    given.parse().map_err(|error| {
        TestFileProblem::new(node.span(), format!("`{given}` is not an instant: {error}"))
            .help("RFC 3339, such as 2026-11-23T14:30:00Z")
    })
}
