use super::*;

fn cron(schedule: &str) -> Cron {
    Cron {
        schedule: schedule.to_owned(),
        skill: "inbox".to_owned(),
        agent: "scout".parse().unwrap(),
        sender: "user".to_owned(),
        zone: "Europe/Berlin".to_owned(),
        quiet_start: Some("23:00".to_owned()),
        quiet_end: Some("07:00".to_owned()),
        once: false,
    }
}

// Scenario 18 of the host.
#[test]
fn five_fields_with_sunday_as_0_and_as_7_are_accepted_and_six_are_refused() {
    for schedule in ["0 */2 * * *", "0 9 * * 0", "0 9 * * 7"] {
        assert_eq!(cron(schedule).check(), Ok(()), "{schedule}");
    }
    let refused = cron("0 0 */2 * * *").check().unwrap_err();
    assert!(refused.starts_with("`schedule`: "), "{refused}");
}

#[test]
fn what_is_wrong_with_a_cron_is_named() {
    let problem = |change: fn(&mut Cron)| {
        let mut cron = cron("0 9 * * *");
        change(&mut cron);
        cron.check().unwrap_err()
    };
    assert_eq!(
        [
            problem(|cron| cron.quiet_end = None),
            problem(|cron| cron.quiet_start = None),
            problem(|cron| cron.quiet_end = Some("23:00".to_owned())),
            problem(|cron| cron.quiet_end = Some("24:00".to_owned())),
            problem(|cron| cron.quiet_end = Some("7:00".to_owned())),
            problem(|cron| cron.skill = "../x".to_owned()),
        ],
        [
            "`quiet_end` is missing",
            "`quiet_start` is missing",
            "`quiet_start` and `quiet_end` are equal",
            "`quiet_end` must be a time such as `23:00`",
            "`quiet_end` must be a time such as `23:00`",
            "`skill` is no name of a skill",
        ]
    );
    assert!(problem(|cron| cron.zone = "Mars/Base".to_owned()).starts_with("`zone`: "));
    assert!(problem(|cron| cron.sender = String::new()).starts_with("`sender`: "));
}

// Scenario 19 of the host.
#[test]
fn no_tick_of_the_quiet_hours_is_loud_over_both_clock_changes() {
    let cron = cron("*/30 * * * *");
    let zone = TimeZone::get(&cron.zone).unwrap();
    for (from, until, n_ticks, n_loud) in [
        ("2026-03-28T00:00:00Z", "2026-03-30T00:00:00Z", 96, 64),
        ("2026-10-24T00:00:00Z", "2026-10-26T00:00:00Z", 96, 64),
    ] {
        let (mut at, until): (Timestamp, Timestamp) =
            (from.parse().unwrap(), until.parse().unwrap());
        let (mut n, mut loud) = (0, Vec::new());
        loop {
            at = cron.next_after(at).unwrap();
            if at > until {
                break;
            }
            n += 1;
            if !cron.is_quiet(at) {
                loud.push(zone.to_datetime(at).time());
            }
        }
        assert_eq!((n, loud.len()), (n_ticks, n_loud), "{from}");
        let is_day = |time: &jiff::civil::Time| (7..23).contains(&time.hour());
        assert!(loud.iter().all(is_day), "{loud:?}");
    }
}
