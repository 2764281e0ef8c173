//! Instants as text for people: relative to now and in local time, or in UTC.

use jiff::Timestamp;
use jiff::tz::TimeZone;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// How instants are written.
#[derive(Clone, Debug)]
pub enum Times {
    /// Relative to an instant, and in a time zone.
    Local(Timestamp, TimeZone),
    /// As RFC 3339 in UTC.
    Utc,
}

impl Times {
    /// Formats an instant for a cell of a table: `5 min ago`.
    pub fn short(&self, at: Timestamp) -> String {
        match self {
            Self::Local(now, _) => relative(*now, at),
            Self::Utc => at.to_string(),
        }
    }

    /// Formats an instant for a line: `5 min ago, Sat 2026-11-28 11:09:13 CET`.
    pub fn long(&self, at: Timestamp) -> String {
        match self {
            Self::Local(now, _) => format!("{}, {}", relative(*now, at), self.exact(at)),
            Self::Utc => at.to_string(),
        }
    }

    /// Formats an instant for a log: `Sat 2026-11-28 11:09:13 CET`.
    pub fn exact(&self, at: Timestamp) -> String {
        match self {
            Self::Local(_, zone) => {
                let local = at.to_zoned(zone.clone());
                local.strftime("%a %Y-%m-%d %H:%M:%S %Z").to_string()
            }
            Self::Utc => at.to_string(),
        }
    }

    /// Applies a form to the text of an instant; other text is returned unchanged.
    pub fn of_text(&self, text: &str, form: fn(&Self, Timestamp) -> String) -> String {
        text.parse().map_or(text.to_owned(), |at| form(self, at))
    }
}

fn relative(now: Timestamp, at: Timestamp) -> String {
    let seconds = now.duration_since(at).as_secs();
    let span = match seconds.abs() {
        0..MINUTE if seconds < 0 => return "in a moment".to_owned(),
        0..MINUTE => return "just now".to_owned(),
        n @ MINUTE..HOUR => format!("{} min", n / MINUTE),
        n if n < 2 * DAY => format!("{} h", n / HOUR),
        n => format!("{} days", n / DAY),
    };
    match seconds < 0 {
        true => format!("in {span}"),
        false => format!("{span} ago"),
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::Times;

    fn local() -> Times {
        let now = "2026-11-28T10:09:13Z".parse().unwrap();
        Times::Local(now, TimeZone::get("Europe/Berlin").unwrap())
    }

    #[test]
    fn an_instant_is_relative_to_now() {
        let shown = [
            "2026-11-28T10:09:13.9Z",
            "2026-11-28T10:08:14Z",
            "2026-11-28T10:08:13Z",
            "2026-11-28T09:09:14Z",
            "2026-11-28T09:09:13Z",
            "2026-11-26T10:09:14Z",
            "2026-11-26T10:09:13Z",
            "2026-11-28T10:09:43Z",
            "2026-11-28T10:40:13Z",
            "2026-11-29T09:00:00Z",
            "2026-12-05T10:09:13Z",
        ]
        .map(|at| local().short(at.parse().unwrap()));
        assert_eq!(
            shown,
            [
                "just now",
                "just now",
                "1 min ago",
                "59 min ago",
                "1 h ago",
                "47 h ago",
                "2 days ago",
                "in a moment",
                "in 31 min",
                "in 22 h",
                "in 7 days"
            ]
        );
    }

    #[test]
    fn a_line_has_the_local_time_with_its_zone_and_utc_replaces_both() {
        let at = "2026-11-28T10:04:13Z".parse().unwrap();
        assert_eq!(local().long(at), "5 min ago, Sat 2026-11-28 11:04:13 CET");
        assert_eq!(local().exact(at), "Sat 2026-11-28 11:04:13 CET");
        let utc = [Times::short, Times::long, Times::exact].map(|form| form(&Times::Utc, at));
        assert_eq!(utc, ["2026-11-28T10:04:13Z"; 3]);
        assert_eq!(local().of_text("soon", Times::short), "soon");
    }
}
