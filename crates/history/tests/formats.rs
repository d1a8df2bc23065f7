//! Histories of others are read exactly, or refused by the line that is wrong; nothing makes a
//! reader panic.

use pacelc_history::formats::{Format, Read, edn, native};
use pacelc_history::{
    Action, Counts, Fate, Finding, Initial, Limits, NEVER_NS, Operation, Version, check_registers,
};
use proptest::prelude::*;

const INDEPENDENT: &str = include_str!("histories/independent.edn");
const CAS: &str = include_str!("histories/cas.edn");
const ETCD: &str = include_str!("histories/etcd.log");

fn read(text: &str) -> Read {
    Format::of(text.as_bytes()).read(text.as_bytes()).expect("a history")
}

fn check(read: &Read) -> Finding {
    let limits = Limits { states: 1000, give_up: &|| false };
    check_registers(&read.history, Initial::Known(Version::ABSENT), limits, &read.names)
}

fn explained(read: &Read) -> String {
    match check(read) {
        Finding::Violated { witness } => witness.explanation,
        other => panic!("{other:?}"),
    }
}

fn row(operation: &Operation) -> (u32, Action, Fate, u64, u64, i64, i64) {
    let Operation { session, action, fate, key, version, start_ns, end_ns } = *operation;
    (session, action, fate, key, version.0, start_ns, end_ns)
}

#[test]
fn many_registers_are_read_with_their_keys_values_and_times() {
    let read = read(INDEPENDENT);
    let rows: Vec<_> = read.history.operations().iter().map(row).collect();
    let (x, one) = (1 << 62, 1 << 62);
    let cas = Action::CompareAndSet { expected: Version(1) };
    assert_eq!(
        rows,
        [
            (0, Action::Write, Fate::Ok, x, 1, 100, 200),
            (1, Action::Write, Fate::Ok, 2, 7, 150, 210),
            (0, Action::Read, Fate::Ok, 2, Version::ABSENT.0, 300, 400),
            (1, cas, Fate::Unknown, x, one, 310, NEVER_NS),
            (3, Action::Read, Fate::Ok, x, one, 500, 600),
        ]
    );
    assert_eq!(read.lines, [2, 3, 7, 8, 11]);
    let counts = Counts { operations: 5, failed: 0, unknown: 1, registers: 2, sessions: 3 };
    assert_eq!(Counts::of(&read.history), counts);
    assert_eq!(
        explained(&read),
        "session 0 read nothing, but register 2 can only have held 7 then"
    );
}

#[test]
fn without_times_the_order_counts() {
    let read = read(CAS);
    let rows: Vec<_> = read.history.operations().iter().map(row).collect();
    let swap = |expected| Action::CompareAndSet { expected: Version(expected) };
    assert_eq!(
        rows,
        [
            (0, Action::Write, Fate::Ok, 0, 1, 1, 3),
            (1, Action::Read, Fate::Ok, 0, Version::ABSENT.0, 2, 4),
            (0, swap(2), Fate::Failed, 0, 3, 5, 6),
            (0, swap(1), Fate::Ok, 0, 2, 7, 8),
            (1, Action::Read, Fate::Ok, 0, 2, 9, 10),
            (1, Action::Write, Fate::Unknown, 0, 1 << 62, 11, NEVER_NS),
        ]
    );
    assert_eq!(read.names.version(Version(1 << 62)), "-4");
    assert_eq!(check(&read), Finding::Holds);
}

#[test]
fn lines_of_a_log_are_read_as_operations() {
    let read = read(ETCD);
    assert_eq!(read.lines, [3, 4, 7, 9, 11]);
    // 4 was compared and set, as session 7 has seen: it can't come back.
    assert_eq!(explained(&read), "session 0 read 4, but the register can only have held 1 then");
}

#[test]
fn a_value_that_nobody_wrote_is_called_that() {
    let read = read("{:process 0 :type :invoke :f :read} {:process 0 :type :ok :f :read :value 3}");
    assert_eq!(explained(&read), "session 0 read 3, but nobody had written 3 to the register");
}

#[test]
fn bad_input_is_an_error_of_its_line() {
    let invoke = "{:process 0, :type :invoke, :f :read, :value nil}";
    let keyed = "{:process 1, :type :invoke, :f :read, :value [4 nil]}";
    let cases: &[(&str, &str)] = &[
        (
            "{:process 0, :type :ok, :f :read, :value 1}",
            "line 1: process 0 ends an operation that it hasn't begun",
        ),
        (&format!("{invoke}\n{invoke}"), "line 2: process 0 is still busy since line 1"),
        (
            &format!("{invoke}\n{{:process 0, :type :ok, :f :write, :value 1}}"),
            "line 2: process 0 ends :write, and began another in line 1",
        ),
        (&format!("{invoke}\n{keyed}"), "line 2: this has a key, and line 1 has none"),
        (&format!("{keyed}\n{invoke}"), "line 2: this has no key, and line 1 has one"),
        (
            &format!("{keyed}\n{{:process 1, :type :ok, :f :read, :value [5 nil]}}"),
            "line 2: this ends with another key than it began with",
        ),
        (
            "\n\n{:process 0, :type :invoke, :f :append, :value 1}",
            "line 3: :f :append is none of :read, :write, :cas",
        ),
        (
            "{:process 0, :type :done, :f :read}",
            "line 1: :type :done is none of :invoke, :ok, :fail, :info",
        ),
        (
            "{:process 0, :type :invoke, :f :cas, :value 3}",
            "line 1: :cas needs a :value [expected new]",
        ),
        ("{:process 0, :type :invoke}", "line 1: this operation has no :f"),
        (
            "{:process 0 :type :invoke :f :read :time 9}\n{:process 0 :type :ok :f :read :time 8}",
            "line 2: this ends before its start in line 1",
        ),
        (
            "{:process 0 :type :invoke :f :read :time \"9\"}",
            "line 1: :time is no number of nanoseconds",
        ),
        (&format!("{invoke}\n{{:process 1,\n{invoke}\n"), "line 2: this map doesn't close"),
        (
            &format!("[{invoke}\n{{:process 1\n {invoke}\n]"),
            "line 2: this map isn't closed before `]` in line 4",
        ),
        (&format!("[{invoke}\n\n"), "line 3: `]` is missing"),
        (&format!("[{invoke}\n)"), "line 2: `)` closes nothing"),
        (&format!("[{invoke}]\n{invoke}"), "line 2: the history has ended before"),
        ("{:process 0 :process 1}", "line 1: this map has :process twice"),
        ("{:process 0 :type}", "line 1: this map has a key without a value"),
        ("{:error \"abc\n", "line 1: this string doesn't close"),
        ("\n{:error \"a\\qc\"}", "line 2: no such escape in a string"),
        ("hello world", "line 1: hello is no operation: a map with :process, :type, :f"),
        ("#_", "line 1: `#_` discards nothing"),
        ("[#tag]", "line 1: #tag tags nothing"),
        (
            "INFO  jepsen.util - 0 :invoke :read nil\nINFO  jepsen.util - 0 :ok :read",
            "line 2: process, type, function and value are expected",
        ),
        (
            "INFO  jepsen.util - 0 :invoke :read nil\nINFO  jepsen.util - 1 :ok :read 1",
            "line 2: process 1 ends an operation that it hasn't begun",
        ),
    ];
    for (text, problem) in cases {
        let found = Format::of(text.as_bytes()).read(text.as_bytes());
        assert_eq!(found.expect_err(text).to_string(), *problem, "{text}");
    }
    let found = Format::Jepsen.read(b"{:process 0\n :type \xff");
    assert_eq!(found.expect_err("no text").to_string(), "line 2: these bytes aren't text in UTF-8");
}

#[test]
fn a_file_that_nests_for_ever_is_refused_and_not_followed() {
    for opening in ["[", "{", "(", "#{", "#a ", "#_", "#_[", "[#_(", "#_ #a ["] {
        let text = format!("{{:a {}", opening.repeat(1 << 20));
        assert!(Format::Jepsen.read(text.as_bytes()).is_err(), "{opening}");
    }
}

#[test]
fn rows_are_read_as_they_were_packed() {
    let mut data = native::MAGIC.to_vec();
    for word in [5_u64, 6, 7, 100, 200] {
        data.extend(word.to_le_bytes());
    }
    data.extend(9_u32.to_le_bytes());
    data.extend([2, 0, 0, 0]);
    let read = Format::of(&data).read(&data).expect("rows");
    let swap = Action::CompareAndSet { expected: Version(7) };
    let rows: Vec<_> = read.history.operations().iter().map(row).collect();
    assert_eq!(rows, [(9, swap, Fate::Ok, 5, 6, 100, 200)]);
    let bad = |data: &[u8]| native::read(data).expect_err("bad rows").to_string();
    assert_eq!(bad(&data[..30]), "line 1: the last row is cut short");
    let end = native::MAGIC.len() + native::ROW;
    data[end - 4] = 3;
    assert_eq!(bad(&data), "line 1: no such action or fate");
    data[end - 4] = 0;
    data[8 + 24] = 201;
    assert_eq!(bad(&data), "line 1: the operation ends at 200 ns, before it starts at 201 ns");
}

/// A form as Clojure might print it, with what is left of it when it is read and printed again.
fn forms() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        "[a-z$.*!][a-z0-9+-]{0,3}",
        any::<i64>().prop_map(|number| number.to_string()),
        ":[a-z]{1,4}",
        Just("nil".to_string()),
        Just("true".to_string()),
        "[ a-z0-9,;\\[{]{0,5}".prop_map(|text| format!("{text:?}")),
    ];
    atom.prop_recursive(4, 24, 4, |inner| {
        let many = prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            many.clone().prop_map(|forms| format!("[{}]", forms.join(" "))),
            many.clone().prop_map(|forms| format!("({})", forms.join(" "))),
            many.prop_map(|forms| format!("#{{{}}}", forms.join(" "))),
            (inner.clone(), inner.clone()).prop_map(|(key, value)| format!("{{{key} {value}}}")),
            inner.prop_map(|form| format!("#tag {form}")),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_read_prints_as_it_was(text in forms()) {
        let mut reader = edn::Reader::new(&text, 1);
        let (_, form) = reader.form().expect("a form").expect("one");
        prop_assert_eq!(form.to_string(), text.as_str());
        prop_assert_eq!(reader.form(), Ok(None));
    }

    #[test]
    fn any_bytes_are_read_or_refused(data in prop::collection::vec(any::<u8>(), 0..200)) {
        for format in [Format::Jepsen, Format::EtcdLog, Format::Native] {
            let _ = format.read(&data);
        }
        let _ = native::read(&[native::MAGIC, data.as_slice()].concat());
    }

    #[test]
    fn any_text_of_brackets_is_read_or_refused(text in "[\\[\\](){}#_\"\\\\:a0 ;\n]{0,40}") {
        let _ = Format::Jepsen.read(text.as_bytes());
        let _ = Format::EtcdLog.read(format!("jepsen.util - 0 {text}").as_bytes());
    }

    #[test]
    fn damaged_histories_are_read_or_refused_by_a_line_that_is_there(
        which in 0..3_usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, any::<u8>()), 1..4),
    ) {
        let mut data = [INDEPENDENT, CAS, ETCD][which].as_bytes().to_vec();
        for (at, kind, byte) in damage {
            let at = at.index(data.len());
            match kind {
                0 => data[at] = byte,
                1 => { data.remove(at); }
                _ => data.insert(at, b"[](){}\"#:\n"[byte as usize % 10]),
            }
        }
        let lines = data.split(|byte| *byte == b'\n').count() as u32;
        match Format::of(&data).read(&data) {
            Ok(read) => { let _ = check(&read); }
            Err(bad) => prop_assert!((1..=lines).contains(&bad.line), "{bad} of {lines}"),
        }
    }
}
