//! The table of all rules: code, name, severities, fixability and check.

use daemon_spec::{Code, Diagnostic, Severity};

use crate::rules::{
    activation, assigned_secrets, body, conditions, deny, hidden_text, identity, keys, lists,
    machine_path, placeholder, placement, purpose, routines, schedule, secrets, support,
};
use crate::{Profile, Rule, Subject, page};

/// Whether diagnostics of a rule can have a fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fixability {
    /// Some diagnostics of the rule have a fix.
    Fixable,
    /// No diagnostic has a fix, because only the author knows the intended value.
    ByHand,
}

/// The source of the diagnostics of a rule.
#[derive(Clone, Copy, Debug)]
enum Check {
    /// The parser, or the program that opens the file.
    Reader,
    /// A function over one subject.
    Subject(fn(&Subject<'_>, &mut Vec<Diagnostic>)),
    /// The cron expression, which is parsed once for all of its codes.
    Schedule,
    /// A comparison of all files of a repository.
    Repository,
    /// The comments that suppress diagnostics, after all other rules.
    Suppression,
}

/// A row of the table of rules.
#[derive(Clone, Copy, Debug)]
pub struct RuleEntry {
    code: Code,
    name: &'static str,
    spec: Severity,
    strict: Severity,
    fixability: Fixability,
    check: Check,
    summary: &'static str,
    evidence: Option<&'static str>,
}

impl RuleEntry {
    /// Returns the code, such as `D201`.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// Returns the rule's name in kebab case, such as `field-count`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the severity of the rule under `profile`.
    #[must_use]
    pub const fn severity(&self, profile: Profile) -> Severity {
        match profile {
            Profile::Spec => self.spec,
            Profile::Strict => self.strict,
        }
    }

    /// Returns whether diagnostics of the rule can have a fix.
    #[must_use]
    pub const fn fixability(&self) -> Fixability {
        self.fixability
    }

    /// Returns a summary of the problem, in one line without a trailing period.
    #[must_use]
    pub const fn summary(&self) -> &'static str {
        self.summary
    }

    /// Returns where a known reader, or the text of the format, refuses what the rule reports.
    ///
    /// A rule that is more severe under `strict` has evidence, and no other rule has.
    #[must_use]
    pub const fn evidence(&self) -> Option<&'static str> {
        self.evidence
    }

    /// Returns the page that explains the code, as Markdown.
    #[must_use]
    pub fn page(&self) -> &'static str {
        page(self.code).expect("each row of the table names a code that has a page")
    }
}

impl Rule for RuleEntry {
    fn code(&self) -> Code {
        self.code
    }

    fn check(&self, subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
        match self.check {
            Check::Reader => {
                acc.extend(
                    subject
                        .found_by_reader()
                        .filter(|found| found.code == self.code)
                        .cloned(),
                );
            }
            Check::Subject(check) => check(subject, acc),
            Check::Schedule => {
                let findings = subject.schedule_findings().iter();
                acc.extend(findings.filter(|found| found.code == self.code).cloned());
            }
            // A comparison needs more than one file; see `validate_repository`. A suppression needs the
            // results of all rules; see `validation`.
            Check::Repository | Check::Suppression => {}
        }
    }
}

/// Returns the table of all rules, ordered by code.
#[must_use]
pub const fn rules() -> &'static [RuleEntry] {
    TABLE
}

/// Returns the rule with this code, or `None` for an unknown code.
#[must_use]
pub fn rule(code: Code) -> Option<&'static RuleEntry> {
    TABLE
        .binary_search_by_key(&code, |entry| entry.code)
        .ok()
        .and_then(|index| TABLE.get(index))
}

macro_rules! table {
    (@evidence) => { None };
    (@evidence $evidence:literal) => { Some($evidence) };
    ($($number:literal $name:literal $spec:ident/$strict:ident $fixability:ident
       $source:ident $(($check:path))? => $summary:literal $(, because $evidence:literal)?;)*) => {
        static TABLE: &[RuleEntry] = &[$(RuleEntry {
            code: Code::new($number),
            name: $name,
            spec: Severity::$spec,
            strict: Severity::$strict,
            fixability: Fixability::$fixability,
            check: Check::$source $(($check))?,
            summary: $summary,
            evidence: table!(@evidence $($evidence)?),
        },)*];
    };
}

table! {
    0 "unreadable" Error/Error ByHand Reader
        => "the file cannot be read";
    1 "encoding" Error/Error ByHand Reader
        => "the file is not UTF-8, or contains a NUL byte";
    2 "size" Error/Error ByHand Reader
        => "the file, its front matter or its YAML is over a limit";
    3 "no-front-matter" Error/Error ByHand Reader
        => "there is no `---` block at the top";
    4 "fence-position" Error/Error Fixable Reader
        => "text or blank lines precede the opening `---`";
    5 "unclosed" Error/Error ByHand Reader
        => "the front matter is never closed";
    6 "byte-order-mark" Advice/Advice Fixable Reader
        => "the file begins with a byte order mark";
    10 "yaml-syntax" Error/Error ByHand Reader
        => "the front matter is not valid YAML";
    11 "unquoted-colon" Error/Error Fixable Reader
        => "`: ` splits an unquoted text in two";
    12 "unquoted-indicator" Error/Error Fixable Reader
        => "the value begins with a character that has a special meaning in YAML";
    13 "lost-to-comment" Warning/Warning Fixable Reader
        => "a ` #` cuts the rest of the value off as a comment";
    14 "duplicate-key" Error/Error ByHand Reader
        => "a field occurs twice";
    15 "not-a-mapping" Error/Error ByHand Reader
        => "the front matter is not made of `key: value` lines";
    16 "alias-or-tag" Warning/Warning ByHand Reader
        => "an anchor, an alias, a merge key or a tag is used";
    17 "unused-suppression" Warning/Warning ByHand Suppression
        => "a comment suppresses a diagnostic that does not occur, or that cannot be suppressed";
    100 "unknown-field" Warning/Error ByHand Subject(keys::unknown)
        => "a key is not one of the six fields",
        because "charlie-labs/daemons, docs/examples-spec.md: unknown fields are rejected";
    101 "legacy-field" Warning/Error Fixable Subject(keys::legacy)
        => "a field has a name from before the format settled",
        because "charlie-labs/daemons, src/daemon-cli/validation/runtime.ts: each of these names is rejected";
    102 "other-format" Warning/Error ByHand Subject(keys::other_format)
        => "these keys belong to another tool's file format",
        because "charlie-labs/daemons, docs/examples-spec.md: unknown fields are rejected";
    110 "id-missing" Error/Error Fixable Subject(identity::missing)
        => "`id` is missing, empty or not a string";
    111 "id-directory" Error/Error ByHand Subject(identity::directory)
        => "`id` differs from the directory's name";
    112 "id-shape" Advice/Error ByHand Subject(identity::shape)
        => "`id` is not lower-case kebab of at most 64 characters",
        because "charlie-labs/daemons, docs/examples-spec.md: an id has the form of a kebab-case slug";
    113 "id-padded" Warning/Error Fixable Subject(identity::padded)
        => "blanks surround `id`",
        because "charlie-labs/daemons, src/examples/schema.ts: an id is compared with the form of a slug untrimmed";
    114 "id-duplicate" Error/Error ByHand Repository
        => "two daemons of one repository have the same id";
    115 "misplaced" Warning/Error ByHand Subject(placement::misplaced)
        => "no runtime looks for a daemon file here",
        because "the text of the format, File discovery: only `.agents/daemons/*/DAEMON.md` is scanned";
    120 "purpose-missing" Error/Error ByHand Subject(purpose::missing)
        => "`purpose` is missing, empty or not a string";
    121 "purpose-length" Advice/Advice ByHand Subject(purpose::length)
        => "`purpose` is more than one sentence";
    130 "list-type" Error/Error Fixable Subject(lists::list_type)
        => "`watch`, `routines` or `deny` is not a list";
    131 "entry-type" Error/Error Fixable Subject(lists::entry_type)
        => "an entry of a list is not text";
    132 "entry-empty" Warning/Error Fixable Subject(lists::entry_empty)
        => "an entry of a list is empty",
        because "charlie-labs/daemons, docs/examples-spec.md: entries of lists are not empty";
    133 "entry-duplicate" Warning/Warning Fixable Subject(lists::entry_duplicate)
        => "an entry repeats another of the same list";
    134 "no-activation" Error/Error ByHand Subject(activation::missing)
        => "neither `watch` nor `schedule` says when to wake";
    135 "empty-optional" Advice/Error Fixable Subject(activation::empty_optional)
        => "an optional field is present and empty",
        because "charlie-labs/daemons, docs/examples-spec.md: an optional list is not empty, and a schedule has five fields";
    140 "placeholder" Warning/Warning ByHand Subject(placeholder::placeholder)
        => "a placeholder of a template was not filled in";
    200 "schedule-type" Error/Error Fixable Subject(schedule::schedule_type)
        => "`schedule` is not a string";
    201 "field-count" Error/Error Fixable Schedule
        => "`schedule` does not have five fields";
    202 "macro" Error/Error Fixable Schedule
        => "`@daily` and the like are not five fields";
    203 "cron-range" Error/Error ByHand Schedule
        => "a number of the schedule is out of its field's range";
    204 "cron-token" Error/Error ByHand Schedule
        => "a part of the schedule is not five-field syntax";
    205 "cron-step" Error/Error Fixable Schedule
        => "a step is zero, or follows a single value";
    206 "cron-reversed" Error/Error Fixable Schedule
        => "a range of the schedule descends";
    207 "cron-names" Advice/Advice Fixable Schedule
        => "not every scheduler reads names of days or months";
    208 "cron-zone" Error/Error ByHand Schedule
        => "the schedule contains a time zone";
    210 "never-fires" Warning/Warning ByHand Schedule
        => "no date ever matches the schedule";
    211 "too-often" Warning/Warning ByHand Schedule
        => "the schedule fires more often than every five minutes";
    212 "day-or" Warning/Warning ByHand Schedule
        => "day of month and day of week are both restricted, and either one fires";
    213 "uneven-step" Advice/Advice ByHand Schedule
        => "a step does not divide its field evenly";
    214 "dst" Advice/Advice ByHand Schedule
        => "a tick falls into an hour that the zone skips or repeats";
    300 "watch-vague" Error/Error ByHand Subject(conditions::vague)
        => "the condition names no event";
    301 "watch-state" Error/Error ByHand Subject(conditions::state)
        => "the condition describes a state, not an event";
    302 "watch-time" Warning/Error ByHand Subject(conditions::time)
        => "the condition is a time",
        because "the text of the format, `watch`: conditions are events, and times belong in `schedule`";
    303 "watch-elapsed" Warning/Error ByHand Subject(conditions::elapsed)
        => "the condition is elapsed time, not an event",
        because "the text of the format, `watch`: conditions are events, and times belong in `schedule`";
    304 "watch-unmapped" Warning/Warning ByHand Subject(conditions::unmapped)
        => "no known source emits this event, or it was not understood";
    305 "watch-remainder" Warning/Warning ByHand Subject(conditions::remainder)
        => "part of the condition was not understood";
    306 "watch-contradiction" Warning/Warning ByHand Subject(conditions::contradiction)
        => "no event can satisfy the condition";
    307 "watch-overlap" Warning/Warning ByHand Subject(conditions::overlap)
        => "the condition means the same as another entry";
    308 "watch-instruction" Advice/Advice ByHand Subject(conditions::instruction)
        => "the condition contains an instruction";
    309 "watch-typo" Advice/Advice Fixable Subject(conditions::typo)
        => "a misspelt word was read as another";
    310 "inert" Warning/Warning ByHand Subject(conditions::inert)
        => "nothing can wake this daemon here";
    311 "watch-loop" Advice/Advice ByHand Subject(conditions::loops)
        => "the daemon's own output could match the condition";
    400 "routines-missing" Error/Error ByHand Subject(routines::missing)
        => "`routines` is missing or empty";
    401 "routine-vague" Advice/Advice ByHand Subject(routines::vague)
        => "the routine has no observable result";
    402 "routine-endless" Advice/Advice ByHand Subject(routines::endless)
        => "the routine never finishes";
    410 "deny-missing" Advice/Advice ByHand Subject(deny::missing)
        => "the routines write, and nothing is denied";
    411 "deny-conflict" Advice/Advice ByHand Subject(deny::conflict)
        => "a routine and a deny rule may conflict";
    420 "body-empty" Advice/Error ByHand Subject(body::empty)
        => "there is no text below the front matter",
        because "charlie-labs/daemons, docs/examples-spec.md: the body is not empty";
    421 "body-output" Advice/Advice ByHand Subject(body::output)
        => "the daemon posts, but no output format or limit is given";
    500 "support-escape" Error/Error ByHand Subject(support::escape)
        => "an entry of the daemon's directory leads outside, or is not a plain file";
    501 "support-entry" Advice/Error ByHand Subject(support::entry)
        => "the daemon's directory contains something other than `scripts/` and `references/`",
        because "charlie-labs/daemons, docs/examples-spec.md: other entries than `scripts/` and `references/` are rejected";
    502 "script-mode" Warning/Warning ByHand Subject(support::script_mode)
        => "a file with a `#!` line is not executable, or cannot start";
    503 "support-missing" Warning/Warning ByHand Subject(support::missing)
        => "the text names a support file that does not exist";
    504 "support-size" Warning/Warning ByHand Subject(support::size)
        => "the support tree is over a limit";
    600 "machine-path" Warning/Warning ByHand Subject(machine_path::machine_path)
        => "a path exists on one machine only";
    601 "local-source" Advice/Advice ByHand Subject(conditions::local_source)
        => "the format gives no example of any event that wakes this daemon";
    700 "secret" Error/Error ByHand Subject(secrets::secret)
        => "something looks like a token or a private key";
    701 "secret-assignment" Warning/Warning ByHand Subject(assigned_secrets::assignment)
        => "a password or key is assigned a literal value";
    702 "hidden-text" Warning/Warning Fixable Subject(hidden_text::hidden_text)
        => "the text contains bidirectional or invisible characters";
}
