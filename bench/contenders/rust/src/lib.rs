//! What the Rust contenders share: their task, the words READY, GO, DONE and FAILED, and the values of a CSV file.

use std::error::Error;
use std::fs::File;
use std::process::ExitCode;

use chrono::{DateTime, Utc};
use tokio_postgres::{Client, NoTls};

pub type Failure = Box<dyn Error + Send + Sync>;

/// What to load, and where: the environment that README.md lists.
pub struct Task {
    pub table: String,
    /// Names and types.
    pub columns: Vec<(String, String)>,
    url: String,
    input: String,
}

impl Task {
    /// Takes the task that the harness set.
    pub fn from_environment() -> Result<Self, Failure> {
        let columns = std::env::var("CONTENDER_COLUMNS")?;
        let columns = columns.lines().map(|line| line.split_once(' ').ok_or("a column without a type"));
        Ok(Self {
            table: std::env::var("CONTENDER_TABLE")?,
            columns: columns
                .map(|column| column.map(|(name, typ)| (name.to_owned(), typ.to_owned())))
                .collect::<Result<_, _>>()?,
            url: std::env::var("CONTENDER_URL")?,
            input: std::env::var("CONTENDER_INPUT")?,
        })
    }

    /// Connects; a task of its own moves what is sent and received.
    pub async fn connect(&self) -> Result<Client, Failure> {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// The records of the CSV file, after its header.
    pub fn records(&self) -> Result<csv::Reader<File>, Failure> {
        Ok(csv::ReaderBuilder::new().buffer_capacity(1 << 20).from_path(&self.input)?)
    }
}

/// Reads ISO 8601 with a T or a space, and an offset of hours alone.
pub fn moment(field: &str) -> Result<DateTime<Utc>, chrono::ParseError> {
    let format = if field.as_bytes().get(10) == Some(&b'T') {
        "%Y-%m-%dT%H:%M:%S%.f%#z"
    } else {
        "%Y-%m-%d %H:%M:%S%.f%#z"
    };
    Ok(DateTime::parse_from_str(field, format)?.to_utc())
}

/// Reads a boolean as the server writes it, or as SQL does.
pub fn boolean(field: &str) -> Result<bool, Failure> {
    match field {
        "true" | "t" => Ok(true),
        "false" | "f" => Ok(false),
        _ => Err(format!("{field} is no boolean").into()),
    }
}

/// The elements of an array's literal, {a,"b c",NULL}.
pub fn texts(literal: &str) -> Vec<Option<String>> {
    let mut texts = Vec::new();
    let inner = literal.strip_prefix('{').unwrap_or(literal);
    let mut rest = inner.strip_suffix('}').unwrap_or(inner);
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (text, behind) = unquoted(quoted);
            texts.push(Some(text));
            rest = behind.strip_prefix(',').unwrap_or(behind);
        } else {
            let (bare, behind) = rest.split_once(',').unwrap_or((rest, ""));
            texts.push((bare != "NULL").then(|| bare.to_owned()));
            rest = behind;
        }
    }
    texts
}

/// An element up to its closing quote, and what comes behind that.
fn unquoted(rest: &str) -> (String, &str) {
    let mut text = String::new();
    let mut characters = rest.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (text, &rest[at + 1..]),
            '\\' => text.extend(characters.next().map(|(_, escaped)| escaped)),
            other => text.push(other),
        }
    }
    (text, "")
}

/// Says that everything before the load is done, and waits until the clock runs.
pub fn begin() -> Result<(), Failure> {
    println!("READY");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    if line.trim() == "GO" { Ok(()) } else { Err("no GO on standard input".into()) }
}

/// Tells what came of a load: how many rows the server acknowledged, or why it failed.
pub fn tell(loaded: Result<u64, Failure>) -> ExitCode {
    match loaded {
        Ok(rows) => {
            println!("DONE {rows}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("FAILED {}", error.to_string().split_whitespace().collect::<Vec<_>>().join(" "));
            ExitCode::FAILURE
        }
    }
}
