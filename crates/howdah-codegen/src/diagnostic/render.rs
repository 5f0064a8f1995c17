//! Messages as text for people, as JSON for programs and as annotations for GitHub.

use std::fmt::Write as _;

use howdah_message::is_hidden;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthChar;

use super::{Diagnostic, Diagnostics, Place, Severity};

/// The number of the format of messages in JSON.
pub const FORMAT: u32 = 1;

/// How many columns of a line are shown around its place.
const WINDOW: usize = 140;

impl Severity {
    fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl Diagnostics {
    /// For people: `file:line:column: error[CODE]: message`, the line, a caret and what to do.
    #[must_use]
    pub fn text(&self) -> String {
        self.messages.iter().map(|message| self.one(message)).collect()
    }

    fn one(&self, message: &Diagnostic) -> String {
        let mut out = String::new();
        if let Some(place) = &message.place {
            let _ = write!(out, "{}:{}:{}: ", plain(&self.shown(&place.file)), place.line, place.column);
        }
        let _ =
            write!(out, "{}[{}]: {}", message.severity.word(), message.code.name(), plain(&message.message));
        if let Some(state) = &message.sqlstate {
            let _ = write!(out, " ({state})");
        }
        out.push('\n');
        let mut notes = Vec::new();
        if let Some(help) = &message.suggestion {
            notes.push(format!("help: {}", plain(help)));
        }
        if let Some(block) = &message.block {
            notes.push(format!("({})", plain(block)));
        }
        let notes = notes.join("   ");
        let line =
            message.place.as_ref().and_then(|place| Some((place, self.line(&place.file, place.line)?)));
        match line {
            Some((place, line)) => out.push_str(&pointed(place, line, &notes)),
            None if !notes.is_empty() => {
                let _ = writeln!(out, "      = {notes}");
            }
            None => {}
        }
        out
    }

    /// For programs: `format`, the counts, and SQG's `{code, message, suggestion, context}` a message.
    #[must_use]
    pub fn json(&self) -> String {
        let messages = self.messages.iter().map(|message| {
            let mut context = serde_json::Map::new();
            if let Some(place) = &message.place {
                context.insert("file".into(), json!(self.shown(&place.file)));
                context.insert("line".into(), json!(place.line));
                context.insert("column".into(), json!(place.column));
                context.insert("length".into(), json!(place.length));
            }
            if let Some((kind, name)) = message.block.as_deref().and_then(|block| block.split_once(' ')) {
                context.insert("kind".into(), json!(kind));
                context.insert("query".into(), json!(name));
            }
            if let Some(state) = &message.sqlstate {
                context.insert("sqlstate".into(), json!(state));
            }
            let mut one = serde_json::Map::new();
            one.insert("severity".into(), json!(message.severity.word()));
            one.insert("code".into(), json!(message.code.name()));
            one.insert("message".into(), json!(message.message));
            if let Some(help) = &message.suggestion {
                one.insert("suggestion".into(), json!(help));
            }
            one.insert("context".into(), Value::Object(context));
            Value::Object(one)
        });
        let all = json!({
            "format": FORMAT,
            "errors": self.errors(),
            "warnings": self.warnings(),
            "messages": messages.collect::<Vec<_>>(),
        });
        format!("{all:#}\n")
    }

    /// For GitHub's logs, which show them beside the lines of a change.
    #[must_use]
    pub fn github(&self) -> String {
        let mut out = String::new();
        for message in &self.messages {
            let mut properties = Vec::new();
            if let Some(place) = &message.place {
                properties.push(format!("file={}", property(&self.shown(&place.file))));
                properties.push(format!("line={}", place.line));
                properties.push(format!("col={}", place.column));
                properties.push(format!("endColumn={}", place.column + place.length));
            }
            properties.push(format!("title={}", message.code.name()));
            let mut text = message.message.clone();
            for note in [&message.suggestion, &message.block].into_iter().flatten() {
                text.push('\n');
                text.push_str(note);
            }
            let word = message.severity.word();
            let _ = writeln!(out, "::{word} {}::{}", properties.join(","), data(&text));
        }
        out
    }
}

/// A line of a file with its number, and a caret below it.
fn pointed(place: &Place, line: &str, notes: &str) -> String {
    // As it is shown: what each character becomes, and how wide that is.
    let cells = line.chars().map(cell).collect::<Vec<_>>();
    let start = (place.column - 1).min(cells.len());
    let end = (start + place.length).min(cells.len());
    let before = |index: usize| cells[..index].iter().map(|(_, width)| width).sum::<usize>();
    let (column, total) = (before(start), before(cells.len()));
    // A line of a thousand columns is shown around its place.
    let mut first = 0;
    if total > WINDOW && column > WINDOW / 2 {
        while first < start && column - before(first) > WINDOW / 2 {
            first += 1;
        }
    }
    let mut shown = if first > 0 { "…".to_owned() } else { String::new() };
    let mut width = shown.chars().count();
    let mut caret = width;
    let mut carets = 0;
    for (index, (text, cell_width)) in cells.iter().enumerate().skip(first) {
        if width + cell_width > WINDOW {
            shown.push('…');
            break;
        }
        if index < start {
            caret += cell_width;
        } else if index < end {
            carets += cell_width;
        }
        shown.push_str(text);
        width += cell_width;
    }
    let number = place.line;
    let shown = shown.trim_end();
    let carets = "^".repeat(carets.max(1));
    let marked = format!("      | {}{carets} {notes}", " ".repeat(caret));
    format!("{number:>5} | {shown}\n{}\n", marked.trim_end())
}

/// What a character of a line becomes on a terminal, and how many columns it takes there.
fn cell(c: char) -> (String, usize) {
    match c {
        // A tab is as wide as what stands before it makes it; here it is always four.
        '\t' => ("    ".to_owned(), 4),
        c if is_hidden(c) => {
            let escape = format!("\\u{{{:x}}}", u32::from(c));
            let width = escape.len();
            (escape, width)
        }
        c => (c.to_string(), c.width().unwrap_or(0)),
    }
}

/// Text of others, on one line.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => " ".to_owned(),
            c if is_hidden(c) => cell(c).0,
            c => c.to_string(),
        })
        .collect()
}

/// Escapes what GitHub's commands end with.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The same, within a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::super::Code;
    use super::*;

    fn shown_of(line: &str, column: usize, length: usize) -> Diagnostics {
        let mut all = Diagnostics::new(std::path::Path::new("db"));
        all.remember("a.sql", &format!("\n{line}\n"));
        let place = Place { file: "a.sql".into(), line: 2, column, length };
        all.extend(vec![
            Diagnostic::error(Code::MissingVariable, place, "no \u{1b}[31m \"x\"\nhere").help("set it: 100%"),
        ]);
        all
    }

    #[test]
    fn a_caret_stands_below_what_is_meant() {
        assert_eq!(
            shown_of("\tWHERE '日本' = ${x};", 15, 4).text(),
            "db/a.sql:2:15: error[MISSING_VARIABLE]: no \\u{1b}[31m \"x\" here\n    2 |     WHERE '日本' = ${x};\n      \
             |                    ^^^^ help: set it: 100%\n"
        );
        assert_eq!(shown_of("a\u{202e}b", 3, 1).text().lines().nth(1), Some("    2 | a\\u{202e}b"));
        assert_eq!(
            shown_of("a\u{202e}b", 3, 1).text().lines().nth(2),
            Some("      |          ^ help: set it: 100%")
        );
        // Behind the end of the line.
        assert_eq!(shown_of("ab", 9, 9).text().lines().nth(2), Some("      |   ^ help: set it: 100%"));
    }

    #[test]
    fn a_long_line_is_shown_around_its_place() {
        let line = format!("{}X{}", "é".repeat(1000), "y".repeat(1000));
        let text = shown_of(&line, 1001, 1).text();
        let lines = text.lines().collect::<Vec<_>>();
        let at = |line: &str, c: char| line.chars().position(|found| found == c);
        assert_eq!(at(lines[1], 'X'), at(lines[2], '^'));
        assert!(lines[1].chars().count() < 160, "{text}");
    }

    #[test]
    fn programs_get_json_and_github_gets_annotations() -> Result<(), serde_json::Error> {
        let json: Value = serde_json::from_str(&shown_of("abc", 2, 2).json())?;
        assert_eq!(json["format"], 1);
        assert_eq!(json["errors"], 1);
        assert_eq!(json["messages"][0]["code"], "MISSING_VARIABLE");
        assert_eq!(json["messages"][0]["context"]["file"], "db/a.sql");
        assert_eq!(json["messages"][0]["context"]["column"], 2);
        assert_eq!(
            shown_of("abc", 2, 2).github(),
            "::error file=db/a.sql,line=2,col=2,endColumn=4,title=MISSING_VARIABLE::no \u{1b}[31m \"x\"%0Ahere%0Aset it: 100%25\n"
        );
        Ok(())
    }
}
