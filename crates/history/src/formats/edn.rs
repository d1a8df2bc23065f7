//! Extensible data notation (EDN), as Clojure prints it: <https://github.com/edn-format/edn>.
//!
//! A form at a time, so that a history of any length needs the memory of one operation. Numbers
//! that no operation has (fractions, those of more than 64 bits) are kept as they are written.

use super::BadLine;
use std::borrow::Cow;
use std::fmt;

/// So deep may forms nest: Jepsen's errors carry stack traces, and hostile files anything.
const DEPTH: u32 = 64;

/// A form.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// `nil`
    Nil,
    /// `true`, `false`
    Bool(bool),
    /// A number without a fraction.
    Int(i64),
    /// `:read`, without the colon.
    Keyword(&'a str),
    /// A string, without its quotes and escapes.
    Text(Cow<'a, str>),
    /// A symbol, a character or another number, as it is written.
    Other(&'a str),
    /// `[…]`
    Vector(Vec<Value<'a>>),
    /// `(…)`
    List(Vec<Value<'a>>),
    /// `#{…}`
    Set(Vec<Value<'a>>),
    /// `{…}`
    Map(Vec<(Value<'a>, Value<'a>)>),
    /// `#tag form`
    Tagged(&'a str, Box<Value<'a>>),
}

impl<'a> Value<'a> {
    /// What a map has under a keyword.
    #[must_use]
    pub fn get(&self, keyword: &str) -> Option<&Value<'a>> {
        let Self::Map(entries) = self else { return None };
        entries.iter().find(|(key, _)| *key == Value::Keyword(keyword)).map(|(_, value)| value)
    }

    /// Without its tags.
    #[must_use]
    pub fn untagged(&self) -> &Self {
        match self {
            Self::Tagged(_, value) => value.untagged(),
            other => other,
        }
    }
}

/// On one line, as Clojure prints it.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = |f: &mut fmt::Formatter<'_>, open: &str, forms: &[Self], close: &str| {
            f.write_str(open)?;
            for (at, form) in forms.iter().enumerate() {
                write!(f, "{}{form}", if at == 0 { "" } else { " " })?;
            }
            f.write_str(close)
        };
        match self {
            Self::Nil => f.write_str("nil"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Keyword(name) => write!(f, ":{name}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Other(text) => f.write_str(text),
            Self::Vector(forms) => all(f, "[", forms, "]"),
            Self::List(forms) => all(f, "(", forms, ")"),
            Self::Set(forms) => all(f, "#{", forms, "}"),
            Self::Map(entries) => {
                f.write_str("{")?;
                for (at, (key, value)) in entries.iter().enumerate() {
                    write!(f, "{}{key} {value}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
            Self::Tagged(tag, value) => write!(f, "#{tag} {value}"),
        }
    }
}

/// Reads forms from a text.
#[derive(Debug)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

/// What stands next in a text.
enum Next<'a> {
    Form(Value<'a>),
    Close(u8),
    End,
}

impl<'a> Reader<'a> {
    /// From the beginning of a text whose first line has this number.
    #[must_use]
    pub const fn new(text: &'a str, line: u32) -> Self {
        Self { text, at: 0, line }
    }

    /// The next form with its first line; none at the end.
    pub fn form(&mut self) -> Result<Option<(u32, Value<'a>)>, BadLine> {
        self.skip(0)?;
        let line = self.line;
        match self.next(0)? {
            Next::Form(value) => Ok(Some((line, value))),
            Next::End => Ok(None),
            Next::Close(bracket) => {
                Err(BadLine::new(self.line, format!("`{}` closes nothing", char::from(bracket))))
            }
        }
    }

    /// Enters a vector or a list that comes next: its forms are then read one by one, up to
    /// [`leave`](Self::leave). Answers what closes it.
    pub fn enter(&mut self) -> Result<Option<u8>, BadLine> {
        self.skip(0)?;
        let close = match self.peek() {
            Some(b'[') => b']',
            Some(b'(') => b')',
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(close))
    }

    /// Leaves what was entered, if its end comes next.
    pub fn leave(&mut self, close: u8) -> Result<bool, BadLine> {
        self.skip(0)?;
        let leaves = self.peek() == Some(close);
        self.at += usize::from(leaves);
        Ok(leaves)
    }

    /// The line that was reached.
    #[must_use]
    pub const fn line(&self) -> u32 {
        self.line
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Passes blanks, commas, comments and forms that `#_` discards.
    fn skip(&mut self, depth: u32) -> Result<(), BadLine> {
        let mut discarded = 0;
        self.blanks();
        while self.text[self.at..].starts_with("#_") {
            discarded += 1;
            if discarded > DEPTH {
                return Err(BadLine::new(self.line, "too many forms are discarded in a row"));
            }
            self.at += 2;
            self.blanks();
            if !self.text[self.at..].starts_with("#_") {
                for _ in 0..std::mem::take(&mut discarded) {
                    let Next::Form(_) = self.next(depth + 1)? else {
                        return Err(BadLine::new(self.line, "`#_` discards nothing"));
                    };
                    self.blanks();
                }
            }
        }
        Ok(())
    }

    fn blanks(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' => self.line += 1,
                b';' => {
                    let rest = &self.text[self.at..];
                    // The line feed itself is counted in the next round.
                    self.at += rest.find('\n').unwrap_or(rest.len());
                    continue;
                }
                b' ' | b'\t' | b'\r' | b',' | 0x0c => {}
                _ => return,
            }
            self.at += 1;
        }
    }

    fn next(&mut self, depth: u32) -> Result<Next<'a>, BadLine> {
        if depth > DEPTH {
            return Err(BadLine::new(self.line, format!("forms nest more than {DEPTH} deep")));
        }
        self.skip(depth)?;
        let Some(byte) = self.peek() else { return Ok(Next::End) };
        let line = self.line;
        let value = match byte {
            b']' | b')' | b'}' => {
                self.at += 1;
                return Ok(Next::Close(byte));
            }
            b'[' => Value::Vector(self.forms(1, b']', "vector", depth)?),
            b'(' => Value::List(self.forms(1, b')', "list", depth)?),
            b'{' => self.map(line, depth)?,
            b'"' => Value::Text(self.string()?),
            b'\\' => self.character(),
            b'#' => match self.text.as_bytes().get(self.at + 1) {
                Some(b'{') => Value::Set(self.forms(2, b'}', "set", depth)?),
                // ##Inf, ##NaN
                Some(b'#') => {
                    self.at += 2;
                    Value::Other(self.token())
                }
                _ => {
                    self.at += 1;
                    let tag = self.token();
                    if tag.is_empty() {
                        return Err(BadLine::new(line, "`#` with nothing that it tags"));
                    }
                    let Next::Form(value) = self.next(depth + 1)? else {
                        return Err(BadLine::new(line, format!("#{tag} tags nothing")));
                    };
                    Value::Tagged(tag, Box::new(value))
                }
            },
            _ => self.atom()?,
        };
        Ok(Next::Form(value))
    }

    fn forms(
        &mut self,
        opening: usize,
        close: u8,
        what: &str,
        depth: u32,
    ) -> Result<Vec<Value<'a>>, BadLine> {
        let first = self.line;
        self.at += opening;
        let mut forms = Vec::new();
        loop {
            match self.next(depth + 1)? {
                Next::Form(value) => forms.push(value),
                Next::Close(bracket) if bracket == close => return Ok(forms),
                Next::Close(bracket) => {
                    let (bracket, line) = (char::from(bracket), self.line);
                    let problem =
                        format!("this {what} isn't closed before `{bracket}` in line {line}");
                    return Err(BadLine::new(first, problem));
                }
                Next::End => return Err(BadLine::new(first, format!("this {what} doesn't close"))),
            }
        }
    }

    fn map(&mut self, line: u32, depth: u32) -> Result<Value<'a>, BadLine> {
        let mut forms = self.forms(1, b'}', "map", depth)?.into_iter();
        let mut entries: Vec<(Value<'a>, Value<'a>)> = Vec::with_capacity(forms.len() / 2);
        while let Some(key) = forms.next() {
            let Some(value) = forms.next() else {
                return Err(BadLine::new(line, "this map has a key without a value"));
            };
            if let Value::Keyword(name) = key
                && entries.iter().any(|(other, _)| *other == key)
            {
                return Err(BadLine::new(line, format!("this map has :{name} twice")));
            }
            entries.push((key, value));
        }
        Ok(Value::Map(entries))
    }

    fn string(&mut self) -> Result<Cow<'a, str>, BadLine> {
        let first = self.line;
        self.at += 1;
        let start = self.at;
        let mut text = Cow::Borrowed("");
        let mut from = start;
        loop {
            let rest = &self.text[self.at..];
            let Some(length) = rest.find(['"', '\\', '\n']) else {
                return Err(BadLine::new(first, "this string doesn't close"));
            };
            self.at += length;
            match self.peek() {
                Some(b'"') => {
                    let last = &self.text[from..self.at];
                    self.at += 1;
                    if from == start {
                        return Ok(Cow::Borrowed(last));
                    }
                    text.to_mut().push_str(last);
                    return Ok(text);
                }
                Some(b'\n') => {
                    self.line += 1;
                    self.at += 1;
                }
                _ => {
                    text.to_mut().push_str(&self.text[from..self.at]);
                    text.to_mut().push(self.escape()?);
                    from = self.at;
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, BadLine> {
        let rest = &self.text[self.at + 1..];
        let kind = rest.chars().next();
        let one = match kind {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some(same @ ('"' | '\\')) => same,
            Some('u') => {
                let code = rest.get(1..5).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                let Some(code) = code else {
                    return Err(BadLine::new(self.line, "\\u needs four hexadecimal digits"));
                };
                self.at += 6;
                // Halves of a pair, as Java writes what is beyond 16 bits, stand for nothing alone.
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            _ => return Err(BadLine::new(self.line, "no such escape in a string")),
        };
        self.at += 2;
        Ok(one)
    }

    /// `\a`, `\newline`, `\{`
    fn character(&mut self) -> Value<'a> {
        let start = self.at;
        self.at += 1;
        if let Some(named) = self.text[self.at..].chars().next() {
            self.at += named.len_utf8();
            self.line += u32::from(named == '\n');
        }
        self.token();
        Value::Other(&self.text[start..self.at])
    }

    fn atom(&mut self) -> Result<Value<'a>, BadLine> {
        let token = self.token();
        Ok(match token {
            "" => return Err(BadLine::new(self.line, "no form begins like this")),
            "nil" => Value::Nil,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => match token.strip_prefix(':') {
                Some("") => return Err(BadLine::new(self.line, "`:` names nothing")),
                Some(name) => Value::Keyword(name),
                None => number(token).map_or(Value::Other(token), Value::Int),
            },
        })
    }

    /// All up to a blank or a bracket.
    fn token(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let ends = |one: char| one.is_ascii_whitespace() || "[](){}\",;".contains(one);
        let token = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += token.len();
        token
    }
}

/// A whole number of at most 64 bits; `1N`, as Clojure prints large ones, is 1.
fn number(token: &str) -> Option<i64> {
    let digits = token.strip_suffix('N').unwrap_or(token);
    let starts = digits.trim_start_matches(['+', '-']).as_bytes().first()?;
    starts.is_ascii_digit().then(|| digits.parse().ok()).flatten()
}
