//! Times as people write them: `"1.15ms"`, or a number of seconds.

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

const UNITS: [(&str, f64); 7] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("min", 60.0),
    ("s", 1.0),
    ("h", 3600.0),
];

/// A time, in seconds; written as a number of seconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Seconds(pub f64);

/// Read `"1.15ms"`: a number and its unit (ns, us, ms, s, min, h), without which it is seconds.
#[must_use]
pub fn parse(text: &str) -> Option<Seconds> {
    let text = text.trim();
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| text.strip_suffix(name).map(|number| (number, *unit)))
        .unwrap_or((text, 1.0));
    number.trim_end().parse().ok().map(|number: f64| Seconds(number * unit))
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Time;
        impl Visitor<'_> for Time {
            type Value = Seconds;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as \"1.15ms\", or a number of seconds")
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Seconds, E> {
                Ok(Seconds(value))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Seconds, E> {
                Ok(Seconds(value as f64))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Seconds, E> {
                Ok(Seconds(value as f64))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Seconds, E> {
                parse(value)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(value), &self))
            }
        }
        deserializer.deserialize_any(Time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read() {
        for (text, seconds) in
            [("170us", 170e-6), ("1.15 ms", 1.15e-3), ("2", 2.0), ("3min", 180.0), ("1ns", 1e-9)]
        {
            let Seconds(read) = parse(text).unwrap();
            assert!((read / seconds - 1.0).abs() < 1e-12, "{text}: {read}");
        }
        assert_eq!(parse("fast"), None);
        assert_eq!(parse("1 parsec"), None);
    }

    #[test]
    fn json_holds_text_or_seconds() {
        let read: Vec<Seconds> = serde_json::from_str(r#"["1ms", 2, 0.5]"#).unwrap();
        assert_eq!(read, [Seconds(1e-3), Seconds(2.0), Seconds(0.5)]);
        assert!(serde_json::from_str::<Seconds>(r#""soon""#).is_err());
    }
}
