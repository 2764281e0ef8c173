//! How much of each section there is room for.

use daemon_context::{
    Context, ContextError, Counter, Limits, Parts, PastActivation, Payload, Reason, Remainder,
    State, Support, SupportRow,
};
use daemon_event::Event;

use crate::{BOUNDARY, FILE, build, issue, parts, size, text};

const BOUNDS: [(&str, usize); 7] = [
    ("contract", 4 << 10),
    ("why", 8 << 10),
    ("remainder", 8 << 10),
    ("payload", 64 << 10),
    ("state", 32 << 10),
    ("support-tree", 16 << 10),
    ("capability", 4 << 10),
];

/// Calls `check` with parts that overflow every section.
fn with_floods(check: impl Fn(&Parts<'_>)) {
    let long = "é\"\\\n🐞x".repeat(4_000);
    let events: Vec<Event> = (0..25).map(|_| issue(&long, "kit")).collect();
    let payloads: Vec<Payload<'_>> = events
        .iter()
        .map(|event| Payload {
            event,
            whole_in: "event.json",
        })
        .collect();
    let conditions: Vec<(u32, &str)> = (0..60).map(|index| (index, long.as_str())).collect();
    let reasons: Vec<Reason<'_>> = events
        .iter()
        .map(|event| Reason::Event {
            event,
            conditions: &conditions,
        })
        .collect();
    let remainders = vec![
        Remainder {
            condition: 0,
            text: &long
        };
        40
    ];
    let keys: Vec<String> = (0..500).map(|n| format!("key{n}")).collect();
    let values: Vec<(&str, &str)> = keys
        .iter()
        .map(|key| (key.as_str(), &long[..600]))
        .collect();
    let past = PastActivation {
        id: "01KAF2",
        trigger: "event:x",
        outcome: "succeeded",
        finished_at: events[0].time,
        outputs: &[],
        summary: Some(&long),
    };
    let history = vec![past; 30];
    let counters = vec![
        Counter {
            name: "activations today",
            value: 1
        };
        4
    ];
    let paths: Vec<String> = (0..200)
        .map(|n| format!("references/{}{n}.md", "x".repeat(150)))
        .collect();
    let files: Vec<SupportRow<'_>> = paths
        .iter()
        .map(|path| SupportRow {
            path,
            size: 1,
            mode: "644",
        })
        .collect();
    let left_out: Vec<&str> = paths.iter().map(String::as_str).collect();
    check(&Parts {
        reasons: &reasons,
        remainders: &remainders,
        payloads: &payloads,
        state: State {
            values: &values,
            counters: &counters,
            history: &history,
            open_outputs: &[],
        },
        support: Support {
            files: &files,
            left_out: &left_out,
            n_left_out: 900,
        },
        ..parts(FILE)
    });
}

#[test]
fn every_section_keeps_its_bound_and_says_what_is_missing() {
    with_floods(|parts| {
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
fn the_support_tree_shrinks_first_then_the_state_then_the_payload() {
    with_floods(|parts| {
        let sizes = |context_bytes| {
            let limits = Limits {
                context_bytes: Some(context_bytes),
            };
            let context = Context::build(parts, limits, || BOUNDARY).unwrap();
            assert!(context.bytes().len() <= context_bytes);
            assert_eq!(&context.bytes()[context.daemon_file()], FILE);
            ["support-tree", "state", "payload"].map(|name| size(&context, name))
        };
        let whole = build(parts).bytes().len();
        let [support, state, payload] = sizes(whole);
        assert_eq!(whole, build(parts).bytes().len());
        let [less, same_state, same_payload] = sizes(whole - 4_000);
        assert!(less <= support - 4_000 && (same_state, same_payload) == (state, payload));
        let [least, less, same_payload] = sizes(whole - 20_000);
        assert!(
            least < 1_000 && less < state && same_payload == payload,
            "{least} {less} {same_payload}"
        );
        let [least, less_state, less] = sizes(whole - 60_000);
        assert!(
            least < 1_000 && less_state < 1_000 && less < payload,
            "{least} {less_state} {less}"
        );
    });
}

#[test]
fn a_file_that_does_not_fit_is_refused_and_never_cut() {
    let file = vec![b'x'; 100_000];
    let limits = Limits {
        context_bytes: Some(100_000),
    };
    let refused = Context::build(&parts(&file), limits, || BOUNDARY).unwrap_err();
    let ContextError::TooLarge {
        needed,
        file: of_file,
        limit,
    } = refused
    else {
        panic!("{refused}")
    };
    assert_eq!((of_file, limit), (100_000, 100_000));
    let exact = Limits {
        context_bytes: Some(needed),
    };
    let context = Context::build(&parts(&file), exact, || BOUNDARY).unwrap();
    assert_eq!(&context.bytes()[context.daemon_file()], file.as_slice());
}
