//! Parsing any text returns an expression or an error; an expression survives printing and parsing,
//! and its next tick is later than the argument.
#![no_main]

use daemon_cron::{CronExpr, Zone, notes};
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let from = Timestamp::from_second(1_767_225_600).expect("a second of 2026");
    let Ok(expr) = text.parse::<CronExpr>() else {
        let error = notes(text, &Zone::utc(), from).expect_err("both readers agree");
        assert!(error.problems().iter().all(|problem| text.get(problem.span.clone()).is_some()));
        return;
    };
    assert_eq!(expr.to_string().parse::<CronExpr>(), Ok(expr));
    assert!(!expr.describe().is_empty());
    assert!(notes(text, &Zone::utc(), from).is_ok());
    let next = expr.next_after(from);
    assert_eq!(next.is_none(), expr.never_fires());
    assert!(next.is_none_or(|next| next > from));
});
