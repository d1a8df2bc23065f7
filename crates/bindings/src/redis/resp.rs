//! RESP2, Redis's protocol, as far as records need it: packing commands, and walking replies in
//! the receive buffer without copying them.

/// Appends a command.
pub fn pack(arguments: &[&[u8]], out: &mut Vec<u8>) {
    begin(arguments.len(), out);
    for bytes in arguments {
        argument(bytes, out);
    }
}

/// Begins a command of `arguments` arguments, its name included.
pub fn begin(arguments: usize, out: &mut Vec<u8>) {
    header(b'*', arguments, out);
}

/// Appends one argument.
pub fn argument(bytes: &[u8], out: &mut Vec<u8>) {
    joined_argument([bytes, b""], out);
}

/// Appends one argument that is made of two parts.
pub fn joined_argument(parts: [&[u8]; 2], out: &mut Vec<u8>) {
    header(b'$', parts[0].len() + parts[1].len(), out);
    out.extend_from_slice(parts[0]);
    out.extend_from_slice(parts[1]);
    out.extend_from_slice(b"\r\n");
}

fn header(mark: u8, number: usize, out: &mut Vec<u8>) {
    out.push(mark);
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
    out.extend_from_slice(b"\r\n");
}

/// The arguments of one packed command, as text; empty for no command.
#[must_use]
pub fn words(packed: &[u8]) -> Vec<String> {
    let mut words = Vec::new();
    if matches!(end_of_reply(packed, packed.len()), Ok(Some(_))) {
        walk(packed, &mut |_, _, bytes| words.push(String::from_utf8_lossy(bytes).into_owned()));
    }
    words
}

/// Arrays within arrays.
const DEEPEST: usize = 8;

/// The length of the one reply that `bytes` begin with; `None` where it isn't whole yet.
///
/// # Errors
/// What is wrong, for bytes that are no reply, or of one longer than `longest`: as soon as it says
/// so, since whoever waits for the rest must keep all of it.
pub fn end_of_reply(bytes: &[u8], longest: usize) -> Result<Option<usize>, &'static str> {
    // Replies still to come on each level of nesting, innermost last.
    let mut open = [0_i64; DEEPEST];
    let mut depth = 0;
    let mut at = 0;
    open[0] = 1;
    loop {
        let Some((mark, line, next)) = line_at(bytes, at)? else { return Ok(None) };
        at = next;
        if at > longest {
            return Err(TOO_LONG);
        }
        open[depth] -= 1;
        match mark {
            b'+' | b'-' => {}
            b':' => {
                number(line)?;
            }
            b'$' => {
                let length = length(line)?;
                if length >= 0 {
                    at += length as usize + 2;
                    if at > longest {
                        return Err(TOO_LONG);
                    }
                    if at > bytes.len() {
                        return Ok(None);
                    }
                    if &bytes[at - 2..at] != b"\r\n" {
                        return Err("a string doesn't end with its length");
                    }
                }
            }
            b'*' => {
                let length = length(line)?;
                if length > 0 {
                    // The shortest element is a mark and the end of its line.
                    if length as usize > longest.saturating_sub(at) / 3 {
                        return Err(TOO_LONG);
                    }
                    depth += 1;
                    if depth == DEEPEST {
                        return Err("arrays are nested too deep");
                    }
                    open[depth] = length;
                }
            }
            _ => return Err("a reply begins with an unknown mark"),
        }
        while open[depth] == 0 {
            if depth == 0 {
                return Ok(Some(at));
            }
            depth -= 1;
        }
    }
}

const TOO_LONG: &str = "a reply is far longer than any that was asked for";

/// What a reply is, besides its strings, which have been handed over.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// An integer.
    Number(i64),
    /// An error, without its mark.
    Error(&'a [u8]),
    /// A word such as `OK`.
    Status,
    /// A string, or none.
    String,
    /// An array of so many replies.
    Array(usize),
}

/// Hands over each string of one whole reply with its depth and its place in its array.
///
/// Returns the outermost reply. Errors within an array count as strings. `bytes` must be a reply
/// that [`end_of_reply`] found whole.
pub fn walk<'a>(bytes: &'a [u8], string: &mut impl FnMut(usize, usize, &'a [u8])) -> Reply<'a> {
    let mut lengths = [0_i64; DEEPEST];
    let mut open = [0_i64; DEEPEST];
    let mut depth = 0;
    let mut at = 0;
    let mut outermost = Reply::Status;
    (lengths[0], open[0]) = (1, 1);
    while let Ok(Some((mark, line, next))) = line_at(bytes, at) {
        let index = (lengths[depth] - open[depth]) as usize;
        at = next;
        open[depth] -= 1;
        if depth == 0 {
            outermost = match mark {
                b'-' => Reply::Error(line),
                b':' => Reply::Number(number(line).unwrap_or(0)),
                b'$' => Reply::String,
                b'*' => Reply::Array(length(line).unwrap_or(0).max(0) as usize),
                _ => Reply::Status,
            };
        }
        match mark {
            b'-' if depth == 0 => {}
            b'+' | b'-' => string(depth, index, line),
            b'$' => {
                let length = length(line).unwrap_or(-1);
                if length >= 0 {
                    let end = at + length as usize;
                    string(depth, index, bytes.get(at..end).unwrap_or_default());
                    at = end + 2;
                }
            }
            b'*' => {
                let length = length(line).unwrap_or(0);
                if length > 0 && depth + 1 < DEEPEST {
                    depth += 1;
                    (lengths[depth], open[depth]) = (length, length);
                }
            }
            _ => {}
        }
        while open[depth] == 0 {
            if depth == 0 {
                return outermost;
            }
            depth -= 1;
        }
    }
    outermost
}

type Line<'a> = (u8, &'a [u8], usize);

/// The mark, the rest of the line, and where the next one begins.
fn line_at(bytes: &[u8], at: usize) -> Result<Option<Line<'_>>, &'static str> {
    // Errors are the longest lines; none comes near this.
    const LONGEST_LINE: usize = 64 << 10;
    let Some((mark, rest)) = bytes.get(at..).and_then(<[u8]>::split_first) else { return Ok(None) };
    let Some(end) = rest.iter().position(|byte| *byte == b'\r') else {
        return if rest.len() > LONGEST_LINE { Err("a line doesn't end") } else { Ok(None) };
    };
    match rest.get(end + 1) {
        None => Ok(None),
        Some(b'\n') => Ok(Some((*mark, &rest[..end], at + 1 + end + 2))),
        Some(_) => Err("a line ends with a return alone"),
    }
}

fn number(line: &[u8]) -> Result<i64, &'static str> {
    const WRONG: &str = "a number isn't one";
    let (negative, digits) = match line {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return Err(WRONG);
    }
    let value = digits.iter().try_fold(0_i64, |value, digit| {
        if digit.is_ascii_digit() { Ok(value * 10 + i64::from(digit - b'0')) } else { Err(WRONG) }
    })?;
    Ok(if negative { -value } else { value })
}

fn length(line: &[u8]) -> Result<i64, &'static str> {
    match number(line)? {
        length if length >= -1 => Ok(length),
        _ => Err("a length is out of bounds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use redis::Value;

    /// Any reply that the `redis` crate's types can express, and its bytes.
    fn replies() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            (-1_000_000_000i64..1_000_000_000).prop_map(Value::Int),
            prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::BulkString),
            Just(Value::Nil),
        ];
        leaf.prop_recursive(3, 24, 5, |inner| {
            prop::collection::vec(inner, 0..5).prop_map(Value::Array)
        })
    }

    fn bytes_of(value: &Value) -> Vec<u8> {
        match value {
            Value::Int(n) => format!(":{n}\r\n").into_bytes(),
            Value::BulkString(s) => [format!("${}\r\n", s.len()).as_bytes(), s, b"\r\n"].concat(),
            Value::Array(items) => {
                items.iter().fold(format!("*{}\r\n", items.len()).into_bytes(), |all, v| {
                    [all, bytes_of(v)].concat()
                })
            }
            _ => b"$-1\r\n".to_vec(),
        }
    }

    fn strings_of(value: &Value, out: &mut Vec<Vec<u8>>) {
        match value {
            Value::BulkString(s) => out.push(s.clone()),
            Value::Array(items) => items.iter().for_each(|v| strings_of(v, out)),
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn walks_what_the_redis_crate_parses(value in replies(), rest in prop::collection::vec(any::<u8>(), 0..9)) {
            let bytes = bytes_of(&value);
            let parsed = redis::parse_redis_value(&bytes).unwrap();
            let mut expected = Vec::new();
            strings_of(&parsed, &mut expected);
            let whole = [bytes.as_slice(), &rest].concat();
            prop_assert_eq!(end_of_reply(&whole, bytes.len()), Ok(Some(bytes.len())));
            let mut found = Vec::new();
            let reply = walk(&bytes, &mut |_, _, s| found.push(s.to_vec()));
            prop_assert_eq!(found, expected);
            if let Value::Int(n) = parsed {
                prop_assert_eq!(reply, Reply::Number(n));
            }
        }

        #[test]
        fn part_of_a_reply_is_never_taken_for_all_of_it(value in replies(), cut in 0.0f64..1.0) {
            let bytes = bytes_of(&value);
            let part = &bytes[..(bytes.len() as f64 * cut) as usize];
            prop_assert_eq!(end_of_reply(part, bytes.len()), Ok(None));
        }

        #[test]
        fn a_reply_is_refused_for_its_length_before_it_is_there(
            value in replies(), cut in 0.0f64..=1.0, room in 0.0f64..1.0,
        ) {
            // What is kept while waiting for more is never more than is allowed, and one element.
            let bytes = bytes_of(&value);
            let longest = (bytes.len() as f64 * room) as usize;
            let part = &bytes[..(bytes.len() as f64 * cut) as usize];
            if end_of_reply(part, longest) == Ok(None) {
                prop_assert!(part.len() <= longest + 24, "{} of {longest}", part.len());
            }
            prop_assert_eq!(end_of_reply(&bytes, longest).is_err(), longest < bytes.len());
        }

        #[test]
        fn no_bytes_upset_it(bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"*$:+-\r\n0123".to_vec())], 0..60)) {
            let _ = end_of_reply(&bytes, usize::MAX);
            walk(&bytes, &mut |_, _, _| {});
        }

        #[test]
        fn packs_as_the_redis_crate_packs(arguments in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 1..6)) {
            let slices: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
            let mut ours = Vec::new();
            pack(&slices, &mut ours);
            let mut theirs = redis::Cmd::new();
            for argument in &arguments {
                theirs.arg(argument);
            }
            prop_assert_eq!(ours, theirs.get_packed_command());
        }
    }
}
