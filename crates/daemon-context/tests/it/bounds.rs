//! Size limits of the sections.

use daemon_context::{
    ActivationContext, BaseView, CheckoutView, ContextError, ContextLimits, ContextParts, Counter,
    HistoryEntry, Payload, Reason, Remainder, RepositoryInstructions, StateView, SupportListing,
    SupportRow,
};
use daemon_event::Event;

use crate::{BOUNDARY, FILE, build, issue, parts, size, text};

const BOUNDS: [(&str, usize); 9] = [
    ("contract", 4 << 10),
    ("instructions", 32 << 10),
    ("checkout", 2 << 10),
    ("why", 8 << 10),
    ("remainder", 8 << 10),
    ("payload", 64 << 10),
    ("state", 32 << 10),
    ("support-tree", 16 << 10),
    ("capability", 4 << 10),
];

/// The owned text of parts that overflow every section.
struct Flood {
    long: String,
    events: Vec<Event>,
    keys: Vec<String>,
    paths: Vec<String>,
}

impl Flood {
    fn new() -> Self {
        let long = "é\"\\\n🐞x".repeat(4_000);
        Self {
            events: (0..25).map(|_| issue(&long, "kit")).collect(),
            keys: (0..500).map(|n| format!("key{n}")).collect(),
            paths: (0..200)
                .map(|n| format!("references/{}{n}.md", "x".repeat(150)))
                .collect(),
            long,
        }
    }

    /// Calls `check` with the parts.
    fn check(&self, check: impl Fn(&ContextParts<'_>)) {
        let long = self.long.as_str();
        let conditions: Vec<(u32, &str)> = (0..60).map(|index| (index, long)).collect();
        let reason = |event| Reason::Event {
            event,
            conditions: &conditions,
        };
        let payload = |event| Payload {
            event,
            whole_in: "event.json",
        };
        let file = |path| SupportRow {
            path,
            size: 1,
            mode: "644",
        };
        let remainder = Remainder {
            condition: 0,
            text: long,
        };
        let entry = HistoryEntry {
            id: "01KAF2",
            trigger: "event:x",
            outcome: "succeeded",
            finished_at: self.events[0].time,
            outputs: &[],
            summary: Some(long),
        };
        let counter = Counter {
            name: "activations today",
            value: 1,
        };
        let paths: Vec<&str> = self.paths.iter().map(String::as_str).collect();
        let values: Vec<(&str, &str)> =
            self.keys.iter().map(|key| (&**key, &long[..600])).collect();
        check(&ContextParts {
            instructions: Some(instructions(long)),
            checkout: Some(checkout(long)),
            reasons: &self.events.iter().map(reason).collect::<Vec<_>>(),
            remainders: &[remainder; 40],
            payloads: &self.events.iter().map(payload).collect::<Vec<_>>(),
            state: StateView {
                values: &values,
                counters: &[counter; 4],
                history: &[entry; 30],
                open_outputs: &[],
            },
            support: SupportListing {
                files: &paths.iter().copied().map(file).collect::<Vec<_>>(),
                left_out: &paths,
                n_left_out: 900,
            },
            ..parts(FILE)
        });
    }
}

fn instructions(text: &str) -> RepositoryInstructions<'_> {
    let name = "AGENTS.md";
    RepositoryInstructions { name, text }
}

fn checkout(branch: &str) -> CheckoutView<'_> {
    CheckoutView {
        commit: "4be1c0740000000000000000000000000000beef",
        branch: Some(branch),
        base: Some(BaseView {
            branch,
            commit: None,
        }),
    }
}

#[test]
fn every_section_keeps_its_limit_and_counts_what_is_missing() {
    Flood::new().check(|parts| {
        let context = build(parts);
        for (name, bound) in BOUNDS {
            assert!(
                size(&context, name) <= bound,
                "{name}: {}",
                size(&context, name)
            );
        }
        let text = text(&context);
        for missing in [
            "bytes are not shown)",
            "more reasons are not shown",
            "more conditions.",
            "more remainders are not shown",
            "(5 more events are not shown)",
            "more entries are not shown",
            "more files are not shown",
            "900 files were left out",
            "bytes more)",
        ] {
            assert!(text.contains(missing), "{missing}");
        }
        assert_eq!(text.matches("<<data payload").count(), 20);
    });
}

#[test]
fn the_support_files_shrink_first_then_the_instructions_the_state_and_the_payload() {
    Flood::new().check(|parts| {
        let sizes = |context_bytes| {
            let limits = ContextLimits {
                context_bytes: Some(context_bytes),
            };
            let context = ActivationContext::build(parts, limits, || BOUNDARY).unwrap();
            assert!(context.bytes().len() <= context_bytes);
            assert_eq!(&context.bytes()[context.daemon_file()], FILE);
            ["support-tree", "instructions", "state", "payload"].map(|name| size(&context, name))
        };
        let whole = build(parts).bytes().len();
        let all = sizes(whole);
        // How many sections are at their smallest, for this many bytes too many.
        for (over, n_least) in [(4_000, 0), (20_000, 1), (60_000, 2), (90_000, 3)] {
            let shrunk = sizes(whole - over);
            let shown = format!("{over}: {shrunk:?} of {all:?}");
            let (least, rest) = shrunk.split_at(n_least);
            assert!(least.iter().all(|size| *size < 1_000), "{shown}");
            assert!(rest[0] < all[n_least], "{shown}");
            assert_eq!(rest[1..], all[n_least + 1..], "{shown}");
        }
    });
}

#[test]
fn long_instructions_are_cut_with_a_note() {
    let line = "a line of 32 bytes, more or less\n";
    let fill = |bytes: usize| line.repeat(bytes / line.len());
    for (text, is_cut) in [(fill(30 << 10), false), (fill(40 << 10), true)] {
        let context = build(&ContextParts {
            instructions: Some(instructions(&text)),
            ..parts(FILE)
        });
        let context = crate::text(&context);
        let fence = "repository-instructions 5f0c00000000000000000000000000e1";
        let (_, after) = context.split_once(&format!("<<file {fence}\n")).unwrap();
        let (shown, _) = after.split_once(&format!("\nfile {fence}>>\n")).unwrap();
        let text = text.trim_end();
        assert!(text.starts_with(shown));
        let n_missing = text.len() - shown.len();
        assert_eq!(n_missing > 0, is_cut);
        let note = format!("(the last {n_missing} bytes are not shown)");
        assert_eq!(context.contains(&note), is_cut);
    }
}

#[test]
fn a_file_that_does_not_fit_is_rejected_and_never_cut() {
    let file = vec![b'x'; 100_000];
    let limits = ContextLimits {
        context_bytes: Some(100_000),
    };
    let refused = ActivationContext::build(&parts(&file), limits, || BOUNDARY).unwrap_err();
    let ContextError::TooLarge {
        needed,
        file: of_file,
        limit,
    } = refused
    else {
        panic!("{refused}")
    };
    assert_eq!((of_file, limit), (100_000, 100_000));
    let exact = ContextLimits {
        context_bytes: Some(needed),
    };
    let context = ActivationContext::build(&parts(&file), exact, || BOUNDARY).unwrap();
    assert_eq!(&context.bytes()[context.daemon_file()], file.as_slice());
}
