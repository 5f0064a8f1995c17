//! What a statement's text says of it, and as much of the text as can be shown to others: none that has a literal in it, since
//! that may be a value of a row, or a password.

use serde::{Deserialize, Serialize};

/// What a statement does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatementKind {
    /// `INSERT`.
    Insert,
    /// `UPDATE`.
    Update,
    /// `DELETE`.
    Delete,
    /// `MERGE`.
    Merge,
    /// `COPY … FROM`.
    Copy,
    /// `SELECT`, and whatever else there is.
    #[default]
    Select,
}

/// What becomes of a row whose key is there already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictAction {
    /// The statement fails.
    #[default]
    Fails,
    /// The row is left out.
    DoNothing,
    /// The row that is there is updated.
    DoUpdate,
    /// It is updated if a condition holds.
    DoUpdateWhere,
}

/// What a text says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatementText {
    /// What it does.
    pub kind: StatementKind,
    /// The schema of its table, if that is written there.
    pub schema: Option<String>,
    /// Its table.
    pub table: String,
    /// The text with one of the rows of its `VALUES`, without comments; `None`: there is a literal in it.
    pub text: Option<String>,
    /// Rows of its `VALUES`.
    pub tuples: u32,
    /// It has `RETURNING`.
    pub returns: bool,
    /// Its `ON CONFLICT`.
    pub on_conflict: ConflictAction,
}

/// Longer texts are cut.
const MOST: usize = 500;

impl StatementText {
    /// What `text` says; `None`: nothing that is looked at, or of no table. The text may be cut anywhere.
    pub fn read(text: &str) -> Option<StatementText> {
        let tokens = tokens(text);
        let at = tokens.iter().position(|token| token.depth == 0 && token.verb().is_some())?;
        let is_first = at == 0 || ["with", "prepare"].iter().any(|word| tokens[0].is_word(word));
        let kind = tokens[at].verb().filter(|_| is_first)?;
        let rest = &tokens[at + 1..];
        let (schema, table) = table(kind, rest)?;
        let mut read = StatementText { kind, schema, table, ..StatementText::default() };
        if tokens.iter().any(|token| token.form == Form::Literal) {
            return Some(read);
        }
        let values = at + 1 + rest.iter().position(|token| token.is_top("values")).unwrap_or(rest.len());
        let (tuples, end) = tuples(&tokens, values);
        if kind == StatementKind::Insert {
            (read.tuples, read.on_conflict) = (tuples, on_conflict(rest));
        }
        read.returns = kind != StatementKind::Select && rest.iter().any(|token| token.is_top("returning"));
        read.text = Some(shown(&tokens, end.filter(|_| kind == StatementKind::Insert && tuples > 1)));
        Some(read)
    }
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A keyword, or a name without marks.
    Word,
    /// A name between marks.
    Quoted,
    /// `$1`.
    Parameter,
    /// One other character.
    Symbol,
    /// Anything that may hold a value; what comes behind it is not read.
    Literal,
}

#[derive(Debug, Clone, Copy)]
struct Token<'t> {
    form: Form,
    source: &'t str,
    /// There is a space, or a comment, before it.
    is_apart: bool,
    /// How many parentheses it stands in.
    depth: usize,
}

impl Token<'_> {
    fn is_word(&self, word: &str) -> bool {
        self.form == Form::Word && self.source.eq_ignore_ascii_case(word)
    }

    fn is_top(&self, word: &str) -> bool {
        self.depth == 0 && self.is_word(word)
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        self.form == Form::Symbol && self.source == symbol
    }

    fn verb(&self) -> Option<StatementKind> {
        [
            ("insert", StatementKind::Insert),
            ("update", StatementKind::Update),
            ("delete", StatementKind::Delete),
            ("merge", StatementKind::Merge),
            ("copy", StatementKind::Copy),
            ("select", StatementKind::Select),
        ]
        .into_iter()
        .find_map(|(word, kind)| self.is_word(word).then_some(kind))
    }

    /// The name that it is.
    fn name(&self) -> Option<String> {
        match self.form {
            Form::Word => Some(self.source.to_ascii_lowercase()),
            Form::Quoted => Some(self.source[1..self.source.len() - 1].replace("\"\"", "\"")),
            _ => None,
        }
    }
}

/// The tokens of a text, up to the first literal.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut at, mut depth, mut is_apart) = (0, 0_usize, false);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(length) = space(rest) {
            (at, is_apart) = (at + length, true);
            continue;
        }
        let (form, length) = next(rest);
        let source = &rest[..length];
        if form == Form::Symbol && source == ")" {
            depth = depth.saturating_sub(1);
        }
        tokens.push(Token { form, source, is_apart, depth });
        if form == Form::Symbol && source == "(" {
            depth += 1;
        }
        if form == Form::Literal {
            break;
        }
        (at, is_apart) = (at + length, false);
    }
    tokens
}

/// How long the space, or the comment, is that a text begins with.
fn space(text: &str) -> Option<usize> {
    if text.starts_with("--") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(comment(text));
    }
    let length: usize = text.chars().take_while(|c| c.is_whitespace()).map(char::len_utf8).sum();
    (length > 0).then_some(length)
}

/// How long the comment is that a text begins with. There can be others in it.
fn comment(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0_u32);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        match (rest.starts_with(b"/*"), rest.starts_with(b"*/")) {
            (true, _) => (at, depth) = (at + 2, depth + 1),
            (_, true) => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The form and the length of the token that a text begins with.
fn next(text: &str) -> (Form, usize) {
    let length_of = |is: fn(char) -> bool| text.chars().take_while(|c| is(*c)).map(char::len_utf8).sum();
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let first = text.chars().next().unwrap_or_default();
    match first {
        '"' => match quoted(text) {
            Some(length) => (Form::Quoted, length),
            None => (Form::Literal, text.len()),
        },
        '$' => {
            let digits = text[1..].chars().take_while(char::is_ascii_digit).count();
            let is_parameter = digits > 0 && !text[1 + digits..].starts_with(is_word);
            if is_parameter { (Form::Parameter, 1 + digits) } else { (Form::Literal, text.len()) }
        }
        '\'' | '0'..='9' => (Form::Literal, text.len()),
        c if c.is_alphabetic() || c == '_' => {
            let length: usize = length_of(is_word);
            let word = &text[..length];
            let is_value = word.eq_ignore_ascii_case("true") || word.eq_ignore_ascii_case("false");
            (if is_value { Form::Literal } else { Form::Word }, length)
        }
        c => (Form::Symbol, c.len_utf8()),
    }
}

/// How long the name between marks is that a text begins with; `None`: it does not end.
fn quoted(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'"', Some(b'"')) => at += 2,
            (b'"', _) => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// The table of a statement of this kind, whose tokens behind the verb are these.
fn table(kind: StatementKind, rest: &[Token<'_>]) -> Option<(Option<String>, String)> {
    let behind = |word: &str| rest.iter().position(|token| token.is_top(word)).map(|at| at + 1);
    let at = match kind {
        StatementKind::Insert | StatementKind::Merge => {
            rest.first().filter(|token| token.is_word("into")).map(|_| 1)?
        }
        StatementKind::Update => 0,
        StatementKind::Delete => rest.first().filter(|token| token.is_word("from")).map(|_| 1)?,
        StatementKind::Copy => behind("from").map(|_| 0)?,
        StatementKind::Select => behind("from")?,
    };
    let at = at + usize::from(rest.get(at)?.is_word("only"));
    let first = rest.get(at)?.name()?;
    let second = rest.get(at + 1).filter(|token| token.is_symbol(".")).and_then(|_| rest.get(at + 2)?.name());
    let end = at + if second.is_some() { 3 } else { 1 };
    // A function's rows.
    let is_called = kind == StatementKind::Select && rest.get(end).is_some_and(|token| token.is_symbol("("));
    match (is_called, second) {
        (true, _) => None,
        (false, Some(second)) => Some((Some(first), second)),
        (false, None) => Some((None, first)),
    }
}

/// How many rows stand behind the `VALUES` at `values`, and, in tokens, from where to where those behind the first are.
fn tuples(tokens: &[Token<'_>], values: usize) -> (u32, Option<(usize, usize)>) {
    let mut count = 0;
    let (mut first, mut last) = (0, 0);
    for (at, token) in tokens.iter().enumerate().skip(values + 1).filter(|(_, token)| token.depth == 0) {
        match token.source {
            "(" => count += 1,
            ")" if count == 1 => (first, last) = (at + 1, at + 1),
            ")" => last = at + 1,
            "," => {}
            _ => break,
        }
    }
    (count, (count > 0).then_some((first, last)))
}

fn on_conflict(rest: &[Token<'_>]) -> ConflictAction {
    let top: Vec<&Token<'_>> = rest.iter().filter(|token| token.depth == 0).collect();
    let Some(at) = top.windows(2).position(|pair| pair[0].is_word("on") && pair[1].is_word("conflict"))
    else {
        return ConflictAction::Fails;
    };
    let Some(act) = top[at..].windows(2).position(|pair| pair[0].is_word("do")).map(|act| at + act) else {
        return ConflictAction::Fails;
    };
    match top[act + 1].is_word("update") {
        false => ConflictAction::DoNothing,
        true if top[act..].iter().any(|token| token.is_word("where")) => ConflictAction::DoUpdateWhere,
        true => ConflictAction::DoUpdate,
    }
}

/// The text again, without comments, and without the tokens that are `left_out`.
fn shown(tokens: &[Token<'_>], left_out: Option<(usize, usize)>) -> String {
    let mut text = String::new();
    let (from, to) = left_out.unwrap_or((usize::MAX, 0));
    for (at, token) in tokens.iter().enumerate() {
        if at == from {
            text.push_str(", …");
        }
        if (from..to).contains(&at) {
            continue;
        }
        if token.is_apart && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(token.source);
    }
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
