//! Next occurrences compared with the slow calendar, over every zone.

use daemon_testkit::{compare_calendars, every_zone};

#[test]
fn next_occurrences_agree_with_the_slow_calendar_in_every_zone() {
    let zones = every_zone();
    assert!(zones.len() > 400, "only {} zones", zones.len());
    let report = compare_calendars(20_000, 1, &zones, |_| {});
    assert_eq!(report.differences, []);
    assert_eq!((report.n_triples, report.n_zones), (20_000, zones.len()));
    assert!(report.n_near_changes > 1_000);
}
