//! From events, the starts and ends of operations as Jepsen notes them, to operations.

use super::edn::Value;
use super::{BadLine, Read};
use crate::{Action, Fate, History, NEVER_NS, Names, Operation, Version};
use std::collections::HashMap;

/// What a register is called that is the only one of its history.
const ONLY: &str = "the register";
/// Values and keys that are no numbers, or negative ones, are numbered from here.
const FIRST_NAMED: u64 = 1 << 62;
/// Sessions whose process is no number of 31 bits are numbered from here.
const FIRST_SESSION: u32 = 1 << 31;

/// One start or end of an operation.
pub(super) struct Event<'v, 'a> {
    pub line: u32,
    pub process: &'v Value<'a>,
    pub kind: &'v Value<'a>,
    pub f: &'v Value<'a>,
    pub value: &'v Value<'a>,
    pub time_ns: Option<i64>,
}

impl Event<'_, '_> {
    fn bad<T>(&self, problem: impl Into<String>) -> Result<T, BadLine> {
        Err(BadLine::new(self.line, problem))
    }
}

/// Events, as they come, made operations.
#[derive(Default)]
pub(super) struct Pairing {
    operations: Vec<Operation>,
    lines: Vec<u32>,
    /// When each began and ended, if every event says when it was.
    times_ns: Vec<(i64, i64)>,
    has_untimed: bool,
    events: i64,
    /// The operation that each process is doing.
    busy: HashMap<i64, usize>,
    sessions: HashMap<i64, u32>,
    /// Whether values are `[key value]`, and the line that says so first.
    keyed: Option<(bool, u32)>,
    versions: Numbers,
    keys: Numbers,
}

impl Pairing {
    /// Takes the next event. What isn't done by a client, which has a number, is left out.
    pub fn take(&mut self, event: &Event<'_, '_>) -> Result<(), BadLine> {
        let Value::Int(process) = *event.process.untagged() else { return Ok(()) };
        let action = match event.f.untagged() {
            Value::Keyword("read") => Action::Read,
            Value::Keyword("write") => Action::Write,
            Value::Keyword("cas") => Action::CompareAndSet { expected: Version::ABSENT },
            other => return event.bad(format!(":f {other} is none of :read, :write, :cas")),
        };
        self.has_untimed |= event.time_ns.is_none();
        self.events += 1;
        match event.kind.untagged() {
            Value::Keyword("invoke") => self.begin(event, process, action),
            Value::Keyword("ok") => self.end(event, process, action, Fate::Ok),
            Value::Keyword("fail") => self.end(event, process, action, Fate::Failed),
            Value::Keyword("info") => self.end(event, process, action, Fate::Unknown),
            other => event.bad(format!(":type {other} is none of :invoke, :ok, :fail, :info")),
        }
    }

    fn begin(
        &mut self,
        event: &Event<'_, '_>,
        process: i64,
        action: Action,
    ) -> Result<(), BadLine> {
        if let Some(before) = self.busy.insert(process, self.operations.len()) {
            let line = self.lines[before];
            return event.bad(format!("process {process} is still busy since line {line}"));
        }
        let others = self.sessions.len() as u32;
        let session = *self.sessions.entry(process).or_insert_with(|| {
            let own = u32::try_from(process).ok().filter(|own| *own < FIRST_SESSION);
            own.unwrap_or(FIRST_SESSION | others)
        });
        let mut operation = Operation {
            session,
            action,
            fate: Fate::Unknown,
            key: 0,
            version: Version::ABSENT,
            start_ns: self.events,
            end_ns: NEVER_NS,
        };
        let told = self.take_value(event, &mut operation, true)?;
        if !told && matches!(action, Action::CompareAndSet { .. }) {
            return event.bad(":cas needs a :value [expected new]");
        }
        self.operations.push(operation);
        self.lines.push(event.line);
        self.times_ns.push((event.time_ns.unwrap_or_default(), NEVER_NS));
        Ok(())
    }

    fn end(
        &mut self,
        event: &Event<'_, '_>,
        process: i64,
        action: Action,
        fate: Fate,
    ) -> Result<(), BadLine> {
        let Some(place) = self.busy.remove(&process) else {
            return event.bad(format!("process {process} ends an operation that it hasn't begun"));
        };
        let line = self.lines[place];
        let mut operation = self.operations[place];
        if std::mem::discriminant(&operation.action) != std::mem::discriminant(&action) {
            let f = event.f;
            return event
                .bad(format!("process {process} ends {f}, and began another in line {line}"));
        }
        if fate == Fate::Ok {
            self.take_value(event, &mut operation, false)?;
        }
        operation.fate = fate;
        if fate != Fate::Unknown {
            operation.end_ns = self.events;
            let times_ns = &mut self.times_ns[place];
            times_ns.1 = event.time_ns.unwrap_or_default();
            if event.time_ns.is_some_and(|end_ns| end_ns < times_ns.0) {
                return event.bad(format!("this ends before its start in line {line}"));
            }
        }
        self.operations[place] = operation;
        Ok(())
    }

    /// Reads what an event says of register and value; answers whether it says a value.
    fn take_value(
        &mut self,
        event: &Event<'_, '_>,
        operation: &mut Operation,
        begins: bool,
    ) -> Result<bool, BadLine> {
        let value = event.value.untagged();
        let is_swap = matches!(operation.action, Action::CompareAndSet { .. });
        let pair = two(value);
        let keyed = pair.filter(|(_, second)| !is_swap || two(second).is_some());
        let value = match (keyed, self.keyed) {
            (Some(_), Some((false, line))) => {
                return event.bad(format!("this has a key, and line {line} has none"));
            }
            (None, Some((true, line))) => {
                return event.bad(format!("this has no key, and line {line} has one"));
            }
            (Some((key, value)), _) => {
                let key = self.keys.number(key);
                if !begins && key != operation.key {
                    return event.bad("this ends with another key than it began with");
                }
                operation.key = key;
                value.untagged()
            }
            (None, _) => value,
        };
        self.keyed.get_or_insert((keyed.is_some(), event.line));
        match (&mut operation.action, value) {
            // An end that doesn't say it again.
            (Action::Write, Value::Nil) if !begins => return Ok(false),
            (Action::CompareAndSet { expected }, _) => {
                let Some((old, new)) = two(value) else { return Ok(false) };
                *expected = self.versions.version(old);
                operation.version = self.versions.version(new);
            }
            _ => operation.version = self.versions.version(value),
        }
        Ok(true)
    }

    /// The history, once all events are there.
    pub fn finish(mut self) -> Read {
        let is_timed = !self.has_untimed;
        if is_timed {
            for (operation, (start_ns, end_ns)) in self.operations.iter_mut().zip(&self.times_ns) {
                (operation.start_ns, operation.end_ns) = (*start_ns, *end_ns);
            }
        }
        let mut names = Names::default();
        for (name, number) in self.versions.named {
            names.name_version(Version(number), name);
        }
        if let Some((false, _)) = self.keyed {
            names.name_key(0, ONLY.into());
        }
        for (name, number) in self.keys.named {
            names.name_key(number, format!("register {name}"));
        }
        let history = History::new(self.operations).expect("ends were compared with starts");
        Read { history, names, lines: self.lines, is_timed }
    }
}

/// The forms of a vector of two.
fn two<'v, 'a>(value: &'v Value<'a>) -> Option<(&'v Value<'a>, &'v Value<'a>)> {
    match value.untagged() {
        Value::Vector(forms) | Value::List(forms) => match forms.as_slice() {
            [first, second] => Some((first, second)),
            _ => None,
        },
        _ => None,
    }
}

/// Numbers of values: small numbers are themselves.
#[derive(Default)]
struct Numbers {
    named: HashMap<String, u64>,
}

impl Numbers {
    fn number(&mut self, value: &Value<'_>) -> u64 {
        if let Value::Int(number) = value
            && let Ok(number @ 0..FIRST_NAMED) = u64::try_from(*number)
        {
            return number;
        }
        let next = FIRST_NAMED + self.named.len() as u64;
        *self.named.entry(value.to_string()).or_insert(next)
    }

    fn version(&mut self, value: &Value<'_>) -> Version {
        match value.untagged() {
            Value::Nil => Version::ABSENT,
            value => Version(self.number(value)),
        }
    }
}
