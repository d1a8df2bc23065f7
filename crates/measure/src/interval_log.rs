//! HdrHistogram's text format for histograms over time (interval log, version 1.3).
//!
//! A line an interval, kind of operation and fate, tagged `read.ok` and so on (`read.missed` are some
//! of `read.ok`), and where there is a
//! schedule another for service times, `read.ok.service`. Values are nanoseconds; the column of
//! maxima is in milliseconds. Nothing is lost in it, so that the logs of several machines can be put
//! together again ([`read`]).

use crate::recorder::{Batch, Errors, Slice, Times};
use crate::{Fate, INTERVAL_S, Phase};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use pacelc_core::OperationKind;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::SystemTime;

const NS_IN_A_MS: f64 = 1e6;
const SERVICE: &str = ".service";

/// What every log begins with.
pub(crate) fn header(measure_start: SystemTime) -> String {
    let start_s =
        measure_start.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    format!(
        "#[Histogram log format version 1.3]\n\
         #[pacelc: nanoseconds, tagged operation.outcome; with .service, from the start, else from when it was due]\n\
         #[StartTime: {start_s:.3} (seconds since epoch)]\n\
         #[BaseTime: {start_s:.3} (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    )
}

/// Appends the lines of one interval, kind and fate.
pub(crate) fn write(log: &mut String, kind: OperationKind, fate: Fate, t_s: f64, times: &Times) {
    let tag = format!("{}.{}", kind.name(), fate.name());
    write_line(log, &tag, t_s, &times.latency);
    if let Some(service) = &times.service {
        write_line(log, &format!("{tag}{SERVICE}"), t_s, service);
    }
}

fn write_line(log: &mut String, tag: &str, t_s: f64, histogram: &Histogram<u64>) {
    let _ = writeln!(
        log,
        "Tag={tag},{t_s:.3},{INTERVAL_S:.3},{:.3},{}",
        histogram.max() as f64 / NS_IN_A_MS,
        encode(histogram)
    );
}

/// A histogram in the compressed form that every HdrHistogram library reads.
#[must_use]
pub fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    // Writing to memory can't fail, and no count here comes near the format's limit.
    let _ = V2DeflateSerializer::new().serialize(histogram, &mut bytes);
    BASE64.encode(bytes)
}

/// What [`encode`] wrote; the error says what is wrong with it.
pub fn decode(text: &str) -> Result<Histogram<u64>, String> {
    let bytes = BASE64.decode(text).map_err(|error| error.to_string())?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| error.to_string())
}

/// The measured intervals of a log, as a recorder would hand them over; the error names the entry.
pub fn read(log: &str) -> Result<Vec<Batch>, String> {
    let mut intervals: BTreeMap<i64, BTreeMap<(OperationKind, Fate), Times>> = BTreeMap::new();
    for (number, entry) in IntervalLogIterator::new(log.as_bytes()).enumerate() {
        let wrong = |what: String| format!("entry {} of the interval log: {what}", number + 1);
        let LogEntry::Interval(line) = entry.map_err(|error| wrong(format!("{error:?}")))? else {
            continue;
        };
        let tag = line.tag().map_or("", |tag| tag.as_str());
        let (kind, fate, service) =
            parse_tag(tag).ok_or_else(|| wrong(format!("what is {tag:?}?")))?;
        let histogram = decode(line.encoded_histogram()).map_err(wrong)?;
        let interval = (line.start_timestamp().as_secs_f64() / INTERVAL_S).round() as i64;
        let times = intervals
            .entry(interval)
            .or_default()
            .entry((kind, fate))
            .or_insert_with(|| Times::new(false));
        if service {
            times.service = Some(histogram);
        } else {
            times.latency = histogram;
        }
    }
    Ok(intervals
        .into_iter()
        .map(|(interval, slices)| Batch {
            interval,
            slices: slices
                .into_iter()
                .map(|((kind, fate), times)| Slice { kind, phase: Phase::Measure, fate, times })
                .collect(),
            errors: Errors::new(),
        })
        .collect())
}

fn parse_tag(tag: &str) -> Option<(OperationKind, Fate, bool)> {
    let (tag, service) = tag.strip_suffix(SERVICE).map_or((tag, false), |tag| (tag, true));
    let (kind, fate) = tag.rsplit_once('.')?;
    let fate = Fate::ALL.into_iter().find(|f| f.name() == fate)?;
    Some((OperationKind::from_name(kind)?, fate, service))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::new_histogram;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            values in prop::collection::vec((0i64..20, 0usize..6, 1u64..1 << 40), 1..80), scheduled: bool,
        ) {
            let mut written: BTreeMap<(i64, OperationKind), Times> = BTreeMap::new();
            for (interval, kind, value) in values {
                let times = written
                    .entry((interval, OperationKind::ALL[kind]))
                    .or_insert_with(|| Times::new(scheduled));
                times.latency.saturating_record(value);
                if let Some(service) = &mut times.service {
                    service.saturating_record(value / 2 + 1);
                }
            }
            let mut log = header(SystemTime::now());
            for ((interval, kind), times) in &written {
                write(&mut log, *kind, Fate::Ok, *interval as f64, times);
            }
            let mut found = 0;
            for batch in read(&log).unwrap() {
                for slice in batch.slices {
                    let expected = &written[&(batch.interval, slice.kind)];
                    prop_assert_eq!(&slice.times.latency, &expected.latency);
                    prop_assert_eq!(&slice.times.service, &expected.service);
                    found += 1;
                }
            }
            prop_assert_eq!(found, written.len());
        }

        #[test]
        fn no_text_upsets_the_reader(text in ".{0,200}") {
            let _ = read(&text);
            let _ = decode(&text);
        }
    }

    #[test]
    fn a_foreign_tag_is_named() {
        let mut log = header(SystemTime::now());
        write_line(&mut log, "read.fine", 0.0, &new_histogram());
        assert!(read(&log).unwrap_err().contains("read.fine"));
    }
}
