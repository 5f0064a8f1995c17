//! Literals that only the server can read: left in their rows as they are, and replaced by the server's answers.

use std::collections::HashMap;

use howdah_encode::binary_row::split_field;

use super::shape::{RowColumn, RowShape};
use crate::encode::question::{Answer, Question};
use crate::error::{Error, ErrorKind};
use crate::plan::row_form::RowForm;
use crate::resolve::Resolver;

/// A field of a row that holds a literal which only the server can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenField {
    /// Of the shape, from 0.
    pub(crate) column: u32,
    /// Where the field's length word stands, from the start of the row.
    pub(crate) at: u32,
}

/// A row with such fields.
#[derive(Debug, Clone)]
pub(crate) struct OpenRow {
    pub(crate) bytes: Vec<u8>,
    /// In the order of the columns.
    pub(crate) open: Vec<OpenField>,
}

impl OpenRow {
    /// The open fields with their literals; an internal error where there is none.
    fn literals(&self) -> impl Iterator<Item = Result<(OpenField, &[u8]), Error>> {
        self.open.iter().map(|open| match self.bytes.get(open.at as usize..).map(split_field) {
            Some(Ok((Some(literal), _))) => Ok((*open, literal)),
            _ => Err(Error::new(ErrorKind::Internal, "a row has no literal where one was left open")),
        })
    }
}

/// The literals of one type, each once, and in the end what the server says of them.
struct Asked<'s> {
    column: &'s RowColumn,
    /// Where each literal stands.
    places: HashMap<Vec<u8>, usize>,
    literals: Vec<String>,
    answers: Vec<Answer>,
}

/// Asks the server about the open fields of rows and splices the answers in; a refused literal refuses its row.
///
/// # Errors
/// The server could not be asked.
pub(crate) async fn resolve(
    resolver: &Resolver,
    shape: &RowShape,
    rows: Vec<OpenRow>,
) -> Result<Vec<Result<Vec<u8>, Error>>, Error> {
    let columns = shape.columns();
    // Columns of one type share answers.
    let mut asked: HashMap<&str, Asked<'_>> = HashMap::new();
    for literal in rows.iter().flat_map(OpenRow::literals) {
        let (open, literal) = literal?;
        let column = &columns[open.column as usize];
        let new = || Asked { column, places: HashMap::new(), literals: Vec::new(), answers: Vec::new() };
        let asked = asked.entry(&column.type_name).or_insert_with(new);
        if !asked.places.contains_key(literal) {
            asked.places.insert(literal.to_vec(), asked.literals.len());
            asked.literals.push(String::from_utf8_lossy(literal).into_owned());
        }
    }
    for asked in asked.values_mut() {
        let question = Question {
            type_name: asked.column.type_name.clone(),
            base_type: asked.column.base_type,
            form: RowForm::Binary,
            literals: std::mem::take(&mut asked.literals),
        };
        asked.answers = resolver.ask(question).await?;
    }
    Ok(rows.into_iter().map(|row| spliced(&row, columns, &asked)).collect())
}

/// The row with the answers in place of its literals.
fn spliced(row: &OpenRow, columns: &[RowColumn], asked: &HashMap<&str, Asked<'_>>) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(row.bytes.len());
    let mut behind = 0;
    for literal in row.literals() {
        let (open, literal) = literal?;
        let column = &columns[open.column as usize];
        let answer = asked.get(column.type_name.as_str()).and_then(|asked| {
            let place = asked.places.get(literal)?;
            asked.answers.get(*place)
        });
        let refused = |sqlstate: &str, reason: &str| {
            Error::new(ErrorKind::Data, reason).with_sqlstate(sqlstate).in_column(&column.name)
        };
        let field = match answer {
            Some(Answer::Value(field)) => field,
            Some(Answer::TextOnly) => {
                let reason = format!("the type {} has this value in its text form only", column.type_name);
                return Err(refused("0A000", &reason).with_hint("rows of programs travel in binary"));
            }
            Some(Answer::Refused(refusal)) => {
                let error = refused(&refusal.sqlstate, &refusal.message);
                return Err(match &refusal.detail {
                    Some(detail) => error.with_detail(detail),
                    None => error,
                });
            }
            None => return Err(Error::new(ErrorKind::Internal, "the server did not answer for a literal")),
        };
        out.extend_from_slice(&row.bytes[behind..open.at as usize]);
        out.extend_from_slice(field);
        behind = open.at as usize + 4 + literal.len();
    }
    out.extend_from_slice(&row.bytes[behind..]);
    Ok(out)
}
