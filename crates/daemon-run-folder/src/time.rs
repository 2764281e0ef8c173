//! Times in the format of the folder: `YYYY-MM-DDTHH:MM:SSZ`.

use jiff::Timestamp;

/// Formats a time to the second.
pub(crate) fn format(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Cuts a time to the second, so that the document in memory equals the one that is read back.
pub(crate) fn second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).expect("a timestamp's second is in range")
}

/// Returns the seconds between two times, to the millisecond; 0 if the clock was set back between them.
pub(crate) fn elapsed(from: Timestamp, to: Timestamp) -> f64 {
    let milliseconds = to
        .as_millisecond()
        .saturating_sub(from.as_millisecond())
        .max(0);
    // The cast is exact up to 2^53 milliseconds, which are 285,000 years.
    milliseconds as f64 / 1000.0
}

pub(crate) mod seconds {
    use jiff::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::format(*time))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

pub(crate) mod seconds_option {
    use jiff::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "the signature serde asks for")]
    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => to.serialize_some(&super::format(*time)),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse())
            .transpose()
            .map_err(serde::de::Error::custom)
    }
}
