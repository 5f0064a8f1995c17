//! PostgreSQL's tokens as far as blocks need them: what is a string, a comment, a name, and where it ends.
//!
//! No crate does this: those that parse SQL refuse what they do not know, lose comments, or count bytes. Nothing here
//! fails: the tokens of any text, joined, are the text.

use super::header::{self, is_name};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// Blanks and line ends.
    Space,
    /// `-- …` without the line end.
    LineComment,
    /// `/* … */`, with those in it.
    BlockComment,
    /// `'…'`, with `E`, `U&`, `B`, `X` or `N` before it.
    String,
    /// `"…"`, with `U&` before it.
    QuotedName,
    /// `$tag$…$tag$`.
    DollarQuoted,
    /// A name or keyword.
    Word,
    /// Digits and what belongs to them.
    Number,
    /// `${name}`.
    Variable,
    /// `${` with something else behind it.
    BadVariable,
    /// `$1`.
    Positional,
    Semicolon,
    Open,
    Close,
    /// Never SQL: a command of psql's, to the end of its line.
    Backslash,
    /// Any other character.
    Other,
}

/// A token, by its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// A string, name or comment has its end.
    pub(crate) closed: bool,
}

impl Token {
    /// Blanks and comments.
    pub(crate) fn is_trivia(&self) -> bool {
        matches!(self.kind, TokenKind::Space | TokenKind::LineComment | TokenKind::BlockComment)
    }

    pub(crate) fn text<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start..self.end]
    }
}

/// All tokens of a text.
pub(crate) fn lex(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let mut token = next_token(text, start);
        if !token.closed {
            // What has no end would swallow all blocks behind it: it ends where the next one begins.
            token.end = header::next_line(text, start).unwrap_or(text.len());
        }
        start = token.end;
        tokens.push(token);
    }
    tokens
}

/// The token at an offset that is before the text's end. One without an end goes to the end of the text.
pub(crate) fn next_token(text: &str, start: usize) -> Token {
    let (kind, end) = next(text, start);
    Token { kind, start, end: end.unwrap_or(text.len()), closed: end.is_some() }
}

/// The token at an offset; its end is `None` if it has none.
fn next(text: &str, start: usize) -> (TokenKind, Option<usize>) {
    let rest = &text[start..];
    let bytes = rest.as_bytes();
    let at = |index: usize| bytes.get(index).copied().unwrap_or(0);
    let found = |kind, length: usize| (kind, Some(start + length));
    let quoted = |kind, open: usize, quote: u8, escapes: bool| {
        (kind, quoted_end(bytes, open + 1, quote, escapes).map(|length| start + length))
    };
    match at(0) {
        b if is_space(b) => found(TokenKind::Space, run(bytes, is_space)),
        // A byte order mark.
        0xef if start == 0 && rest.starts_with('\u{feff}') => found(TokenKind::Space, 3),
        b'-' if at(1) == b'-' => found(TokenKind::LineComment, run(bytes, |b| b != b'\n' && b != b'\r')),
        b'/' if at(1) == b'*' => (TokenKind::BlockComment, comment_end(bytes).map(|length| start + length)),
        b'\'' => quoted(TokenKind::String, 0, b'\'', false),
        b'"' => quoted(TokenKind::QuotedName, 0, b'"', false),
        b'e' | b'E' if at(1) == b'\'' => quoted(TokenKind::String, 1, b'\'', true),
        b'b' | b'B' | b'x' | b'X' | b'n' | b'N' if at(1) == b'\'' => {
            quoted(TokenKind::String, 1, b'\'', false)
        }
        b'u' | b'U' if at(1) == b'&' && at(2) == b'\'' => quoted(TokenKind::String, 2, b'\'', false),
        b'u' | b'U' if at(1) == b'&' && at(2) == b'"' => quoted(TokenKind::QuotedName, 2, b'"', false),
        b'$' if at(1) == b'{' => {
            let length = 2 + run(&bytes[2..], is_name);
            if length > 2 && at(length) == b'}' {
                return found(TokenKind::Variable, length + 1);
            }
            let line = run(bytes, |b| b != b'\n' && b != b'\r' && b != b'}');
            found(TokenKind::BadVariable, if at(line) == b'}' { line + 1 } else { 2 })
        }
        b'$' if at(1).is_ascii_digit() => {
            found(TokenKind::Positional, 1 + run(&bytes[1..], |b| b.is_ascii_digit()))
        }
        b'$' => {
            let tag = 1 + run(&bytes[1..], |b| is_word(b) && b != b'$');
            if at(tag) != b'$' {
                return found(TokenKind::Other, 1);
            }
            let (open, body) = rest.split_at(tag + 1);
            (TokenKind::DollarQuoted, body.find(open).map(|length| start + tag + 1 + length + tag + 1))
        }
        b if b.is_ascii_digit() || (b == b'.' && at(1).is_ascii_digit()) => {
            found(TokenKind::Number, run(bytes, |b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.'))
        }
        b if is_word(b) => {
            let mut length = run(bytes, is_word);
            // `LIMIT${n}`: that dollar is no part of the word.
            if at(length) == b'{' && at(length - 1) == b'$' {
                length -= 1;
            }
            found(TokenKind::Word, length)
        }
        b';' => found(TokenKind::Semicolon, 1),
        b'(' | b'[' => found(TokenKind::Open, 1),
        b')' | b']' => found(TokenKind::Close, 1),
        b'\\' => found(TokenKind::Backslash, run(bytes, |b| b != b'\n' && b != b'\r')),
        _ => found(TokenKind::Other, rest.chars().next().map_or(1, char::len_utf8)),
    }
}

fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|byte| !belongs(*byte)).unwrap_or(bytes.len())
}

/// PostgreSQL's blanks; others, such as U+00A0, are parts of names there.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// A byte of a word; `$` begins none, which [`next`] sees to.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Behind the quote that ends a string.
fn quoted_end(bytes: &[u8], from: usize, quote: u8, escapes: bool) -> Option<usize> {
    let mut at = from;
    loop {
        match *bytes.get(at)? {
            b'\\' if escapes => at += 2,
            b if b == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            b if b == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Behind the end of a comment, which may have others in it.
fn comment_end(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (2, 1);
    while depth > 0 {
        match (*bytes.get(at)?, bytes.get(at + 1)) {
            (b'*', Some(b'/')) => (at, depth) = (at + 2, depth - 1),
            (b'/', Some(b'*')) => (at, depth) = (at + 2, depth + 1),
            _ => at += 1,
        }
    }
    Some(at)
}

/// Finds where statements end: a semicolon outside of parentheses and of `BEGIN ATOMIC … END`, as psql does.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    depth: usize,
    /// `BEGIN` and `CASE` without their `END`, in a statement that makes a function.
    blocks: usize,
    words: Vec<String>,
}

impl Splitter {
    /// Whether a token ends a statement.
    pub(crate) fn ends(&mut self, token: &Token, text: &str) -> bool {
        match token.kind {
            TokenKind::Open => self.depth += 1,
            TokenKind::Close => self.depth = self.depth.saturating_sub(1),
            TokenKind::Word => self.word(&token.text(text).to_ascii_lowercase()),
            TokenKind::Semicolon if self.depth == 0 && self.blocks == 0 => {
                *self = Self::default();
                return true;
            }
            _ => {}
        }
        false
    }

    fn word(&mut self, word: &str) {
        if self.words.len() < 4 {
            self.words.push(word.to_owned());
        }
        let routine = match self.words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["create", "or", "replace", what, ..] | ["create", what, ..] => {
                matches!(what, "function" | "procedure")
            }
            _ => false,
        };
        match word {
            "begin" if routine && self.depth == 0 => self.blocks += 1,
            "case" if self.blocks > 0 => self.blocks += 1,
            "end" => self.blocks = self.blocks.saturating_sub(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str)> {
        lex(text).iter().filter(|t| t.kind != TokenKind::Space).map(|t| (t.kind, t.text(text))).collect()
    }

    #[test]
    fn strings_end_where_the_server_ends_them() {
        use TokenKind::{DollarQuoted, QuotedName, String, Variable, Word};
        assert_eq!(kinds(r"'a''b\' 'c'"), [(String, r"'a''b\'"), (String, "'c'")]);
        assert_eq!(kinds(r"E'a\'b' e'\\'"), [(String, r"E'a\'b'"), (String, r"e'\\'")]);
        assert_eq!(kinds(r#"U&'\' u&"a""b""#), [(String, r"U&'\'"), (QuotedName, r#"u&"a""b""#)]);
        assert_eq!(
            kinds("$$ ; ' $$ $a$ $$ $b$ $a$"),
            [(DollarQuoted, "$$ ; ' $$"), (DollarQuoted, "$a$ $$ $b$ $a$")]
        );
        assert_eq!(kinds("a$b$c LIMIT${n}"), [(Word, "a$b$c"), (Word, "LIMIT"), (Variable, "${n}")]);
        assert_eq!(kinds("name'x'"), [(Word, "name"), (String, "'x'")]);
        assert_eq!(
            kinds("/* a /* b */ ' */'c'"),
            [(TokenKind::BlockComment, "/* a /* b */ ' */"), (String, "'c'")]
        );
        assert_eq!(
            kinds("1-- '\r'x'"),
            [(TokenKind::Number, "1"), (TokenKind::LineComment, "-- '"), (String, "'x'")]
        );
    }
}
