//! A SQL file into its blocks, and all that is wrong with them.

use super::annotations;
use super::block::{Block, BlockKind, Piece, Variable};
use super::every_row;
use super::header;
use super::header::is_name;
use super::lexer::{self, Splitter, Token, TokenKind};
use super::optional::{self, Line};
use super::uses;
use crate::diagnostic::Lines;
use crate::diagnostic::{Code, Diagnostic};

/// Reads a file's blocks. It never fails: what it cannot read is among the messages, and the rest is read all the same.
#[must_use]
pub fn parse(file: &str, text: &str) -> (Vec<Block>, Vec<Diagnostic>) {
    let mut parser =
        Parser { file, text, lines: Lines::new(text), tokens: lexer::lex(text), diagnostics: Vec::new() };
    let blocks = parser.blocks();
    (blocks, parser.diagnostics)
}

struct Parser<'a> {
    file: &'a str,
    text: &'a str,
    lines: Lines<'a>,
    tokens: Vec<Token>,
    diagnostics: Vec<Diagnostic>,
}

impl Parser<'_> {
    fn error(&mut self, code: Code, start: usize, end: usize, message: impl Into<String>) -> &mut Diagnostic {
        let place = self.lines.place(self.file, start..end);
        self.diagnostics.push(Diagnostic::error(code, place, message));
        let last = self.diagnostics.len() - 1;
        &mut self.diagnostics[last]
    }

    fn warning(&mut self, code: Code, start: usize, end: usize, message: impl Into<String>, help: &str) {
        let place = self.lines.place(self.file, start..end);
        self.diagnostics.push(Diagnostic::warning(code, place, message).help(help));
    }

    fn is_header(&self, token: &Token) -> bool {
        matches!(token.kind, TokenKind::LineComment | TokenKind::BlockComment)
            && self.lines.opens(token.start)
            && header::opening(token.text(self.text)).is_some()
    }

    fn blocks(&mut self) -> Vec<Block> {
        let tokens = std::mem::take(&mut self.tokens);
        let headers = (0..tokens.len()).filter(|index| self.is_header(&tokens[*index])).collect::<Vec<_>>();
        for token in &tokens {
            self.look_alikes(token);
        }
        let first = headers.first().copied().unwrap_or(tokens.len());
        self.preamble(&tokens[..first]);
        let mut blocks: Vec<Block> = Vec::new();
        for (number, &at) in headers.iter().enumerate() {
            let end = headers.get(number + 1).copied().unwrap_or(tokens.len());
            let before = self.diagnostics.len();
            let block = self.block(&tokens, at, end);
            if let Some(block) = block {
                for message in &mut self.diagnostics[before..] {
                    message.block = Some(format!("{} {}", block.kind.word(), block.name));
                }
                blocks.push(block);
            }
        }
        blocks
    }

    /// Before the first header there are only comments.
    fn preamble(&mut self, tokens: &[Token]) {
        self.lexical(tokens, None);
        let sql = tokens.iter().find(|token| !token.is_trivia() && token.closed);
        if let Some(token) = sql.filter(|token| token.kind != TokenKind::Backslash) {
            let help =
                "write `-- QUERY name` (or EXEC, MIGRATE, BASELINE, TESTDATA, TABLE) on a line above it";
            self.error(Code::SqlParseError, token.start, token.end, "there is SQL above the first header")
                .suggestion = Some(help.to_owned());
        }
    }

    fn block(&mut self, tokens: &[Token], at: usize, end: usize) -> Option<Block> {
        let header = tokens[at];
        let comment = header.text(self.text);
        let (kind, length) = header::opening(comment)?;
        let said = header::read(comment, length);
        let offset = header.start;
        if said.name.is_empty() {
            let message = format!("{} has no name of letters, digits and _", kind.word());
            let help =
                format!("write `-- {} name`; if it is a comment, begin it with another word", kind.word());
            let next = comment[length..].chars().next().map_or(0, char::len_utf8);
            self.error(Code::SqlParseError, offset + length, offset + length + next, message).suggestion =
                Some(help);
            return None;
        }
        let name = offset + said.name.start..offset + said.name.end;
        let mut block = Block {
            kind,
            name: self.text[name.clone()].to_owned(),
            place: self.lines.place(self.file, name),
            modifiers: Vec::new(),
            variables: Vec::new(),
            params: Vec::new(),
            result: Vec::new(),
            choices: Vec::new(),
            documentation: self.documentation(&tokens[..at]),
            body: Vec::new(),
        };
        annotations::modifiers(&said, comment, offset, &mut block, &self.lines, &mut self.diagnostics);
        let rest = offset + said.rest;
        if header.kind == TokenKind::LineComment {
            self.behind_modifiers(rest, header.end, kind);
        } else if header.closed {
            annotations::overrides(
                self.text,
                rest..header.end - 2,
                &mut block,
                &self.lines,
                &mut self.diagnostics,
            );
        }
        let below = &tokens[at + 1..end];
        self.lexical(&tokens[at..end], Some(kind));
        let below = self.variables(below, &mut block);
        self.body(&below, &mut block);
        Some(block)
    }

    /// A header of one line ends with its modifiers.
    fn behind_modifiers(&mut self, start: usize, end: usize, kind: BlockKind) {
        let rest = self.text[start..end].trim_start();
        if rest.trim_end().is_empty() {
            return;
        }
        let word = rest.split_ascii_whitespace().next().unwrap_or(rest);
        let at = end - rest.len();
        let word_kind = kind.word();
        self.error(Code::SqlParseError, at, at + word.len(), "a header ends behind its name and modifiers")
            .suggestion = Some(format!(
            "names have letters, digits and _, modifiers begin with `:`; a comment begins with another word than {word_kind}"
        ));
    }

    /// The comments directly above a header, of which nothing else stands in their lines.
    fn documentation(&self, above: &[Token]) -> Vec<String> {
        let mut comments = Vec::new();
        for token in above.iter().rev() {
            match token.kind {
                TokenKind::Space => {
                    let blank = token.text(self.text).replace("\r\n", "\n");
                    if blank.matches(['\n', '\r']).count() > 1 {
                        break;
                    }
                }
                TokenKind::LineComment | TokenKind::BlockComment
                    if self.lines.opens(token.start) && !self.is_header(token) =>
                {
                    comments.push(token);
                }
                _ => break,
            }
        }
        let mut lines = Vec::new();
        for token in comments.into_iter().rev() {
            let comment = token.text(self.text);
            if let Some(line) = comment.strip_prefix("--") {
                lines.push(line.trim().to_owned());
            } else {
                let inner = comment.trim_start_matches("/*").trim_end_matches("*/").trim_end_matches('*');
                for line in inner.lines() {
                    let line = line.trim();
                    lines.push(line.strip_prefix('*').unwrap_or(line).trim().to_owned());
                }
            }
        }
        // Lines that only separate say nothing.
        let says = |line: &String| line.chars().any(char::is_alphanumeric);
        while lines.first().is_some_and(|line| !says(line)) {
            lines.remove(0);
        }
        while lines.last().is_some_and(|line| !says(line)) {
            lines.pop();
        }
        lines
    }

    /// What is wrong with tokens wherever they stand.
    fn lexical(&mut self, tokens: &[Token], kind: Option<BlockKind>) {
        for token in tokens {
            let (start, end) = (token.start, token.end);
            let text = token.text(self.text);
            if !token.closed {
                let (what, how) = match token.kind {
                    TokenKind::String => ("string", "'"),
                    TokenKind::QuotedName => ("quoted name", "\""),
                    TokenKind::BlockComment => ("comment", "*/"),
                    _ => ("dollar-quoted string", &text[..=text[1..].find('$').map_or(0, |at| at + 1)]),
                };
                let how = how.to_owned();
                self.error(Code::SqlParseError, start, end, format!("this {what} has no end")).suggestion =
                    Some(format!("close it with {how}"));
            }
            match token.kind {
                TokenKind::Backslash => {
                    let command = text.split_ascii_whitespace().next().unwrap_or(text);
                    let message = format!("`{command}` is a command of psql's, not SQL");
                    self.error(Code::PsqlCommand, start, start + command.len(), message).suggestion =
                        Some("take it out; the server gets SQL only".to_owned());
                }
                TokenKind::BadVariable => {
                    self.error(
                        Code::SqlParseError,
                        start,
                        end,
                        "a variable is `${name}` of letters, digits and _",
                    );
                }
                TokenKind::Positional if matches!(kind, Some(BlockKind::Query | BlockKind::Exec)) => {
                    let help = "write `${name}`, and `@set name = 1` below the header";
                    self.error(Code::SqlParseError, start, end, format!("`{text}` has no name")).suggestion =
                        Some(help.to_owned());
                }
                TokenKind::String | TokenKind::QuotedName | TokenKind::DollarQuoted
                    if matches!(kind, Some(BlockKind::Query | BlockKind::Exec)) =>
                {
                    self.variables_in_string(token);
                }
                _ => {}
            }
        }
    }

    fn variables_in_string(&mut self, token: &Token) {
        let mut from = token.start;
        while let Some(at) = self.text[from..token.end].find("${") {
            let start = from + at;
            let name = self.text[start + 2..token.end].bytes().take_while(|byte| is_name(*byte)).count();
            from = start + 2 + name;
            if name > 0 && self.text[from..token.end].starts_with('}') {
                let help = "put it outside of the quotes, with `||` between; a name cannot be a parameter";
                let message = "this is text and no variable, since it stands in quotes";
                self.warning(Code::VariableInString, start, from + 1, message, help);
            }
        }
    }

    /// Takes the `@set` lines out of what stands below a header.
    fn variables(&mut self, tokens: &[Token], block: &mut Block) -> Vec<Token> {
        let mut rest: Vec<Token> = Vec::new();
        let mut index = 0;
        while index < tokens.len() {
            let token = tokens[index];
            let next = tokens.get(index + 1);
            let is_set = token.text(self.text) == "@"
                && self.lines.opens(token.start)
                && next.is_some_and(|next| next.text(self.text).eq_ignore_ascii_case("set"))
                && tokens.get(index + 2).is_none_or(|third| third.kind == TokenKind::Space);
            if !is_set {
                rest.push(token);
                index += 1;
                continue;
            }
            if let Some(sql) = rest.iter().find(|token| !token.is_trivia()) {
                let line = self.lines.place(self.file, sql.start..sql.end).line;
                self.error(Code::SqlParseError, token.start, token.start + 4, "`@set` stands below SQL")
                    .suggestion = Some(format!("put it above line {line}, directly below the header"));
            }
            let ends = |token: &Token| {
                token.kind == TokenKind::LineComment
                    || (token.kind == TokenKind::Space && token.text(self.text).contains(['\n', '\r']))
            };
            let length = tokens[index..].iter().position(ends).unwrap_or(tokens.len() - index);
            let line = (token.start, tokens[index + length - 1].end);
            self.set(line.0, line.1, block);
            index += length;
        }
        rest
    }

    /// Reads `@set name = value`.
    fn set(&mut self, start: usize, end: usize, block: &mut Block) {
        let line = &self.text[start..end];
        let after = line[4..].trim_start();
        let name_at = start + line.len() - after.len();
        let length = after.bytes().take_while(|byte| is_name(*byte)).count();
        let (name, value) = after.split_at(length);
        let value =
            value.trim_start().strip_prefix('=').map(|value| value.trim().trim_end_matches(';').trim_end());
        let (false, Some(value)) = (name.is_empty(), value.filter(|value| !value.is_empty())) else {
            self.error(Code::SqlParseError, start, end, "this sets no variable").suggestion =
                Some("write `@set name = value`, such as `@set id = 1` or `@set email = null`".to_owned());
            return;
        };
        let place = self.lines.place(self.file, name_at..name_at + length);
        if let Some(before) = block.variables.iter_mut().find(|variable| variable.name == name) {
            let message = format!("`{name}` is set twice");
            self.diagnostics.push(
                Diagnostic::warning(Code::DuplicateVariable, place, message).help("the last value counts"),
            );
            value.clone_into(&mut before.value);
            return;
        }
        block.variables.push(Variable { name: name.to_owned(), value: value.to_owned(), place });
    }

    /// The statement, without what stands around it.
    fn body(&mut self, tokens: &[Token], block: &mut Block) {
        let hint = |token: &Token| token.text(self.text).starts_with("/*+");
        let first = tokens.iter().position(|token| !token.is_trivia() || hint(token)).unwrap_or(tokens.len());
        let around = |token: &Token| token.is_trivia() || token.kind == TokenKind::Semicolon;
        let last =
            tokens.iter().rposition(|token| !around(token)).map_or(first, |last| (last + 1).max(first));
        let lines = optional::lines(
            self.file,
            self.text,
            tokens,
            first..last,
            block.kind,
            &self.lines,
            &mut self.diagnostics,
        );
        let tokens = &tokens[first..last];
        self.diagnostics.extend(every_row::warnings(self.text, tokens, &lines));
        self.pieces(tokens, &lines, block);
        self.statement(tokens, block);
        uses::check(block, &mut self.diagnostics);
    }

    /// The pieces of tokens, those of optional lines below theirs.
    fn pieces(&self, tokens: &[Token], lines: &[Line], block: &mut Block) {
        let mut end = None;
        let mut inside = None;
        let mut chosen = false;
        for (token, line) in tokens.iter().flat_map(|token| optional::cut(*token, lines)) {
            if line != inside {
                inside = line;
                if let Some(line) = line {
                    let Line { name, place, .. } = lines[line].clone();
                    block.body.push(Piece::Optional { name, pieces: Vec::new(), place });
                }
            }
            let word = token.text(self.text);
            let follows = end.replace(token.end) == Some(token.start);
            let place = self.lines.place(self.file, token.start..token.end);
            let is_choice = |name: &str| block.choices.iter().any(|choices| choices.name == name);
            let choice = token.kind == TokenKind::Variable && is_choice(&word[2..word.len() - 1]);
            let pieces = match (line, block.body.last_mut()) {
                (Some(_), Some(Piece::Optional { pieces, .. })) => pieces,
                _ => &mut block.body,
            };
            // A text that is chosen is no part of the words around it.
            let parted = std::mem::replace(&mut chosen, choice) && follows && token.kind != TokenKind::Space;
            if parted {
                pieces.push(Piece::Text { text: " ".to_owned(), place: place.clone() });
            }
            if token.kind == TokenKind::Variable {
                // `LIMIT${n}` would become a name, `LIMIT$1`.
                if let Some(Piece::Text { text, .. }) = pieces.last_mut()
                    && text.ends_with(|c: char| {
                        c.is_alphanumeric()
                            || matches!(c, '_' | '$')
                            || !c.is_ascii()
                            || (choice && !c.is_whitespace())
                    })
                {
                    text.push(' ');
                }
                pieces.push(Piece::Variable { name: word[2..word.len() - 1].to_owned(), place });
                continue;
            }
            match pieces.last_mut() {
                // An `@set` that stands in the middle divides a text.
                Some(Piece::Text { text, .. }) if follows && !parted => text.push_str(word),
                _ => pieces.push(Piece::Text { text: word.to_owned(), place }),
            }
        }
        // The place of a text is that of its whole first line.
        let whole = |piece: &mut Piece| {
            if let Piece::Text { text, place } = piece {
                place.length = text.split(['\n', '\r']).next().unwrap_or_default().chars().count().max(1);
            }
        };
        for piece in &mut block.body {
            match piece {
                Piece::Optional { pieces, .. } => pieces.iter_mut().for_each(whole),
                piece => whole(piece),
            }
        }
    }

    /// Whether the statement is what its kind wants.
    fn statement(&mut self, tokens: &[Token], block: &Block) {
        let kind = block.kind;
        let place = block.place.clone();
        let first = tokens.first();
        match kind {
            BlockKind::Table => {
                if let Some(first) = first.filter(|_| !is_table(tokens, self.text)) {
                    let help = "write a name (`app.users`), `TABLE app.users;` or nothing below a TABLE";
                    self.error(Code::SqlParseError, first.start, first.end, "this names no table")
                        .suggestion = Some(help.to_owned());
                }
            }
            _ if first.is_none() => {
                let message = format!("there is no SQL below {} {}", kind.word(), block.name);
                self.diagnostics.push(Diagnostic::error(Code::SqlParseError, place, message));
            }
            BlockKind::Query | BlockKind::Exec => {
                let mut splitter = Splitter::default();
                let ended = tokens.iter().position(|token| splitter.ends(token, self.text));
                let second = ended.and_then(|at| {
                    tokens[at..].iter().find(|token| !token.is_trivia() && token.kind != TokenKind::Semicolon)
                });
                if let Some(second) = second {
                    let (start, end) = (second.start, second.end);
                    let message = format!("{} {} has a second statement", kind.word(), block.name);
                    self.error(Code::MultipleStatements, start, end, message).suggestion =
                        Some("give it a header of its own".to_owned());
                }
            }
            _ => self.no_rows_of_copy(tokens),
        }
    }

    /// Rows below `COPY … FROM stdin` are not SQL.
    fn no_rows_of_copy(&mut self, tokens: &[Token]) {
        let mut splitter = Splitter::default();
        let mut words: Vec<(String, Token)> = Vec::new();
        for token in tokens {
            if token.kind == TokenKind::Word {
                words.push((token.text(self.text).to_ascii_lowercase(), *token));
            }
            if !splitter.ends(token, self.text) {
                continue;
            }
            let ended = std::mem::take(&mut words);
            let from = |pair: &[(String, Token)]| pair[0].0 == "from" && pair[1].0 == "stdin";
            if let Some((_, copy)) = ended.first().filter(|(word, _)| word == "copy")
                && ended.windows(2).any(from)
            {
                let message = "rows of COPY … FROM stdin are not SQL";
                self.error(Code::NotSupported, copy.start, copy.end, message).suggestion =
                    Some("write them as INSERT (`pg_dump --inserts`)".to_owned());
            }
        }
    }

    /// Warns of what a reader, or SQG, would take for a header.
    fn look_alikes(&mut self, token: &Token) {
        let text = token.text(self.text);
        let (start, end) = (token.start, token.end);
        match token.kind {
            TokenKind::LineComment | TokenKind::BlockComment => {
                let line_start = self.lines.opens(start);
                if !line_start && header::looks(text) {
                    let message = "this is a comment and no header, since SQL stands before it";
                    self.warning(Code::HeaderLikeComment, start, end, message, "put it on a line of its own");
                } else if line_start
                    && !self.is_header(token)
                    && let Some(help) = header::almost(text)
                {
                    let message = "this is a comment and no header";
                    self.warning(Code::HeaderLikeComment, start, end, message, &help);
                }
            }
            TokenKind::String | TokenKind::QuotedName | TokenKind::DollarQuoted if token.closed => {
                let mut from = start;
                while let Some(at) = header::next_line(&self.text[..end], from) {
                    let message = "this is text and no header, since it stands in a string";
                    let line = self.lines.place(self.file, start..end).line;
                    let help =
                        format!("if it is a header, the string that begins in line {line} lacks its end");
                    let length = self.text[at..end].find(['\n', '\r']).unwrap_or(end - at);
                    self.warning(Code::HeaderLikeComment, at, at + length, message, &help);
                    from = at;
                }
            }
            _ => {}
        }
    }
}

/// A name, or names with dots between them; or the statement `TABLE name`, which runs elsewhere too.
fn is_table(tokens: &[Token], text: &str) -> bool {
    let tokens = tokens.iter().filter(|token| !token.is_trivia()).collect::<Vec<_>>();
    let is_name = |token: &Token| matches!(token.kind, TokenKind::Word | TokenKind::QuotedName);
    let named = match tokens.as_slice() {
        [word, name @ ..]
            if word.text(text).eq_ignore_ascii_case("table")
                && name.first().is_some_and(|next| is_name(next)) =>
        {
            name
        }
        all => all,
    };
    let mut name = true;
    for token in named {
        let fits = if name { is_name(token) } else { token.text(text) == "." };
        if !fits {
            return false;
        }
        name = !name;
    }
    !name
}
