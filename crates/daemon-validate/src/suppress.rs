//! D017: comments that suppress diagnostics.

use std::collections::BTreeSet;

use daemon_spec::{Code, Completeness, DaemonFile, Diagnostic, Field, ListEntry, Severity, Span};

use crate::prose::{Setting, leading, settings};
use crate::report::report;
use crate::rules::lists::lists;
use crate::{Profile, RuleEntry, Subject, rule};

const MARK: &str = "daemon-lint:";
// A message repeats only the beginning of a longer word.
const MAX_SHOWN: usize = 40;

/// The comments of a file that suppress diagnostics.
pub(crate) struct Suppressions<'s> {
    file: &'s DaemonFile,
    allowances: Vec<Allowance>,
    malformed: Vec<Diagnostic>,
}

/// A code in a comment.
struct Allowance {
    code: Code,
    /// The byte range of the code in the comment.
    span: Span,
    reach: Reach,
    is_used: bool,
}

/// The diagnostics that a comment suppresses.
#[derive(Clone, Copy)]
enum Reach {
    File,
    /// Those of the comment's line, or else those of the next one.
    Lines {
        own: usize,
        next: usize,
    },
    /// The same, and all of the front matter: a condition has no line in the body.
    Body {
        own: usize,
        next: usize,
    },
}

impl<'s> Suppressions<'s> {
    pub(crate) fn read(subject: &Subject<'s>) -> Self {
        let mut acc = Self {
            file: subject.file(),
            allowances: Vec::new(),
            malformed: Vec::new(),
        };
        let text = subject.text();
        // From the last to the first, because a comment above another has the next line of that one.
        let mut below = None;
        for comment in comments(subject.file(), text).into_iter().rev() {
            let own = subject.file().source().position(comment.start).line;
            let next = match below {
                Some((line, next)) if line == own + 1 => next,
                _ => own + 1,
            };
            below = Some((own, next)).filter(|_| comment.is_alone);
            acc.take(&comment, own, next);
        }
        acc
    }

    /// Removes the diagnostics of `entry` from `acc[from..]` that are suppressed. Returns their number.
    pub(crate) fn apply(
        &mut self,
        entry: &RuleEntry,
        profile: Profile,
        acc: &mut Vec<Diagnostic>,
        from: usize,
    ) -> usize {
        let code = entry.code();
        let before = acc.len();
        if before == from || !self.allowances.iter().any(|one| one.code == code) {
            return 0;
        }
        let body = self.file.body().start;
        let source = self.file.source();
        let line = |found: &Diagnostic| source.position(found.span.start).line;
        let found = acc.get(from..).unwrap_or_default();
        let lines: BTreeSet<usize> = found.iter().map(line).collect();
        let in_front = found.iter().any(|found| found.span.start < body);

        let mut is_whole = false;
        let mut is_front = false;
        let mut covered = BTreeSet::new();
        for one in self.allowances.iter_mut().filter(|one| one.code == code) {
            let near = match one.reach {
                Reach::File => None,
                Reach::Lines { own, next } | Reach::Body { own, next } => {
                    [own, next].into_iter().find(|line| lines.contains(line))
                }
            };
            let covers_front = in_front && matches!(one.reach, Reach::Body { .. });
            let covers_all = matches!(one.reach, Reach::File);
            one.is_used |= near.is_some() || covers_front || covers_all;
            is_whole |= covers_all;
            is_front |= covers_front;
            covered.extend(near);
        }
        // An error stays, but its comment is not useless: the other profile may have a warning.
        if !is_suppressible(entry, profile) {
            return 0;
        }
        let mut index = 0;
        acc.retain(|found| {
            index += 1;
            index <= from
                || !(is_whole
                    || is_front && found.span.start < body
                    || covered.contains(&line(found)))
        });
        before - acc.len()
    }

    /// Appends a diagnostic for each comment that suppresses nothing.
    pub(crate) fn report_unused(self, subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
        acc.extend(self.malformed);
        for one in self.allowances {
            let code = one.code;
            let (message, help) = match rule(code) {
                None => (
                    format!("no rule has the code `{code}`"),
                    "`daemon-run rule` lists all codes",
                ),
                Some(entry) if !is_suppressible(entry, Profile::Spec) => (
                    format!("`{code}` cannot be suppressed"),
                    "errors, secrets and hidden text are always reported",
                ),
                Some(_) if one.is_used || !can_judge(code, subject) => continue,
                Some(_) => (format!("`{code}` is not reported here"), "delete it"),
            };
            acc.push(report(17, one.span, message).with_help(help));
        }
    }

    /// Adds the codes of a comment on the line `own`.
    fn take(&mut self, comment: &Comment<'_>, own: usize, next: usize) {
        let whole = Span::new(comment.start, comment.start + MARK.len());
        let mut words = words(comment.words, whole.end);
        let mut refuse = |span: Span, message: String| {
            let help =
                "write `daemon-lint: allow D305`, or `allow-file`, with commas between codes";
            self.malformed
                .push(report(17, span, message).with_help(help));
        };
        let reach = match words.next() {
            Some(("allow-file", _)) => Reach::File,
            Some(("allow", _)) if comment.is_of_body => Reach::Body { own, next },
            Some(("allow", _)) => Reach::Lines { own, next },
            Some((word, span)) => {
                let word = leading(word, MAX_SHOWN, |_| true);
                refuse(
                    span,
                    format!("`{word}` is neither `allow` nor `allow-file`"),
                );
                return;
            }
            None => return refuse(whole, "the comment allows nothing".to_owned()),
        };
        let mut n_codes = 0;
        for (word, span) in words {
            match word.to_ascii_uppercase().parse::<Code>() {
                Ok(code) => self.allowances.push(Allowance {
                    code,
                    span,
                    reach,
                    is_used: false,
                }),
                // The words after the codes are the author's reason.
                Err(_) if n_codes > 0 => return,
                Err(_) => {
                    let word = leading(word, MAX_SHOWN, |_| true);
                    return refuse(span, format!("`{word}` is not a code"));
                }
            }
            n_codes += 1;
        }
        if n_codes == 0 {
            refuse(whole, "the comment names no code".to_owned());
        }
    }
}

fn is_suppressible(entry: &RuleEntry, profile: Profile) -> bool {
    let number = entry.code().number();
    entry.severity(profile) != Severity::Error && !(700..800).contains(&number) && number != 17
}

/// Returns `true` if the rule had all that it needs, so that it would have reported something.
fn can_judge(code: Code, subject: &Subject<'_>) -> bool {
    subject.file().completeness() == Completeness::Whole
        && match code.number() {
            111 => subject.directory().is_some(),
            115 => subject.path().is_some(),
            300..400 | 601 => {
                !subject.conditions().is_empty() || subject.file().watch().is_absent()
            }
            500..505 => subject.support().is_some(),
            _ => true,
        }
}

/// A comment that begins with [`MARK`].
struct Comment<'t> {
    /// The byte at which the mark begins.
    start: usize,
    /// The text between the mark and the end of the comment.
    words: &'t str,
    is_of_body: bool,
    /// Whether nothing precedes the comment on its line.
    is_alone: bool,
}

/// Returns the comments of a file, in its order.
fn comments<'t>(file: &DaemonFile, text: &'t str) -> Vec<Comment<'t>> {
    let mut marks = memchr::memmem::find_iter(text.as_bytes(), MARK).peekable();
    if marks.peek().is_none() {
        return Vec::new();
    }
    let values = values(file);
    let prose = prose(file);
    let front = file.front_matter().unwrap_or(Span::at(0));
    marks
        .filter_map(|start| {
            let line = file.source().line_at(start);
            let before = text.get(line.start..start)?.trim_end_matches(BLANKS);
            let rest = text.get(start + MARK.len()..line.end)?;
            let is_of_body = start >= file.body().start;
            let (words, before) = if is_of_body {
                (rest.split_once("-->")?.0, before.strip_suffix("<!--")?)
            } else {
                (rest, before.strip_suffix('#')?)
            };
            let is_separate = before.is_empty() || before.ends_with(BLANKS);
            let is_comment = if is_of_body {
                holds(&prose, start)
            } else {
                is_separate && front.range().contains(&start) && !holds(&values, start)
            };
            is_comment.then(|| Comment {
                start,
                words,
                is_of_body,
                is_alone: before.trim_end_matches(BLANKS).is_empty(),
            })
        })
        .collect()
}

const BLANKS: [char; 2] = [' ', '\t'];

/// Returns `true` if one of the ascending ranges contains `at`.
fn holds(spans: &[Span], at: usize) -> bool {
    let next = spans.partition_point(|span| span.start <= at);
    let before = next.checked_sub(1).and_then(|index| spans.get(index));
    before.is_some_and(|span| at < span.end)
}

/// Returns the values of the front matter, in which `#` is no comment.
fn values(file: &DaemonFile) -> Vec<Span> {
    let texts = [file.id(), file.purpose(), file.schedule()];
    let single = texts.into_iter().filter_map(|field| match field {
        Field::Absent => None,
        Field::Present { value, .. } => Some(value.token),
        Field::Mistyped { value, .. } => Some(value.span),
    });
    let mut acc: Vec<Span> = single.collect();
    for (_, field) in lists(file) {
        match field {
            Field::Absent => {}
            Field::Present { value, .. } => acc.extend(value.entries.iter().map(ListEntry::token)),
            Field::Mistyped { value, .. } => acc.push(value.span),
        }
    }
    acc.extend(file.unknown().map(|member| member.value));
    acc.sort_unstable();
    acc
}

/// Returns the parts of the body that are not code, where a comment could be an example.
fn prose(file: &DaemonFile) -> Vec<Span> {
    let start = file.body().start;
    settings(file.body_text())
        .into_iter()
        .filter(|(setting, _)| *setting == Setting::Prose)
        .map(|(_, part)| Span::new(start + part.start, start + part.end))
        .collect()
}

/// Returns the words of `text`, which begins at byte `base`, divided by blanks and commas.
fn words(text: &str, base: usize) -> impl Iterator<Item = (&str, Span)> {
    let is_between = |c: char| c.is_whitespace() || c == ',';
    let mut at = base;
    text.split_inclusive(is_between)
        .map(move |part| {
            let start = at;
            at += part.len();
            let word = part.trim_end_matches(is_between);
            (word, Span::new(start, start + word.len()))
        })
        .filter(|(word, _)| !word.is_empty())
}
