use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).unwrap()
}

fn wanted() -> WantedFact {
    WantedFact::new(Need::ChangedFiles, at(0))
}

fn fails(kind: FactErrorKind) -> FactError {
    FactError::new(kind, "500 from the API")
}

/// Tries as often as it is due, as long as nothing changes; returns when, and what it became.
fn tried(kind: FactErrorKind) -> (Vec<i64>, WantedFact) {
    let (mut fact, mut times) = (wanted(), Vec::new());
    while fact.state == FactState::Waiting {
        let now = fact.not_before;
        times.push(now.as_second() - at(0).as_second());
        fact = fact.after_try(Err(&fails(kind)), now);
    }
    (times, fact)
}

#[test]
fn three_tries_in_the_first_minute_then_one_every_five_minutes_for_a_day() {
    let (times, fact) = tried(FactErrorKind::Retryable);
    assert_eq!(times[..5], [0, 5, 30, 330, 630]);
    assert_eq!(times.len(), 290);
    assert!(times.iter().all(|time| *time <= 86_400), "{times:?}");
    assert_eq!(
        fact,
        WantedFact {
            state: FactState::GaveUp,
            tries: 290,
            not_before: at(*times.last().unwrap()),
            note: Some("tried for 24 hours: 500 from the API".to_owned()),
            ..wanted()
        }
    );
}

#[test]
fn a_final_answer_is_not_asked_for_again() {
    let (times, fact) = tried(FactErrorKind::Final);
    assert_eq!(times, [0]);
    assert_eq!(
        fact,
        WantedFact {
            state: FactState::GaveUp,
            tries: 1,
            note: Some("500 from the API".to_owned()),
            ..wanted()
        }
    );
}

#[test]
fn a_limited_service_is_left_alone_for_as_long_as_it_asks_but_at_most_an_hour() {
    let next = |patience| {
        let fact = wanted().after_try(Err(&fails(FactErrorKind::Limited(patience))), at(0));
        (fact.state, fact.not_before.as_second() - at(0).as_second())
    };
    let waits = |seconds| (FactState::Waiting, seconds);
    assert_eq!(
        next(RetryAfter::For(SignedDuration::from_secs(90))),
        waits(90)
    );
    assert_eq!(next(RetryAfter::Until(at(600))), waits(600));
    assert_eq!(next(RetryAfter::Until(at(-600))), waits(5));
    assert_eq!(next(RetryAfter::Until(Timestamp::MAX)), waits(3600));
    assert_eq!(next(RetryAfter::For(SignedDuration::MAX)), waits(3600));
}

#[test]
fn a_found_fact_says_where_it_was_found() {
    let fact = Fact {
        found: Enrichment::default(),
        origin: FactOrigin::LocalGit,
        note: None,
    };
    let waited = wanted().after_try(Err(&fails(FactErrorKind::Retryable)), at(0));
    assert_eq!(
        waited.after_try(Ok(&fact), at(5)),
        WantedFact {
            state: FactState::Known,
            tries: 2,
            not_before: at(5),
            origin: Some(FactOrigin::LocalGit),
            ..wanted()
        }
    );
}
