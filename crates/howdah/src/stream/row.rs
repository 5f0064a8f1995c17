//! From a record of text to a row of the writer: every field is a literal of its column.

use std::cell::RefCell;

use howdah_source::spelling::Misspelled;

use crate::error::{Error, ErrorKind};
use crate::plan::Plan;
use crate::plan::planned_column::PlanColumn;
use crate::read::records::Record;
use crate::rows::{Fields, Row};

/// Memory for values that are spelled otherwise than they stand in the record.
#[derive(Default)]
pub(super) struct SpellingScratch(RefCell<(Vec<u8>, Vec<u8>)>);

/// A record as a row.
pub(super) struct RecordRow<'r> {
    pub(super) plan: &'r Plan,
    pub(super) record: &'r Record<'r>,
    pub(super) scratch: &'r SpellingScratch,
}

impl Row for RecordRow<'_> {
    const COLUMNS: Option<&'static [&'static str]> = None;

    fn put(&self, fields: &mut Fields<'_>) -> Result<(), Error> {
        let RecordRow { plan, record, scratch } = self;
        let (unescaped, rewritten) = &mut *scratch.0.borrow_mut();
        for column in &plan.columns {
            let field = record.fields[column.field];
            let Some(value) = column.value(field, record.bytes, &[], &plan.reading.dialect, unescaped) else {
                fields.put(&None::<&str>)?;
                continue;
            };
            let spelling = &plan.reading.spelling;
            let value = spelling.read(column.spelled, &column.type_name, value, rewritten).map_err(
                |Misspelled { reason, detail, sqlstate }| {
                    refusal(column, sqlstate, reason).with_detail(detail)
                },
            )?;
            fields.put(text(column, value)?)?;
        }
        Ok(())
    }
}

/// Escapes of COPY's text format can spell bytes that are not text; nothing else can at this point.
fn text<'v>(column: &PlanColumn, value: &'v [u8]) -> Result<&'v str, Error> {
    match simdutf8::basic::from_utf8(value) {
        Ok(text) if memchr::memchr(0, value).is_none() => Ok(text),
        Ok(_) => {
            Err(refusal(column, "22021", "invalid byte sequence for encoding \"UTF8\": 0x00".to_owned()))
        }
        Err(_) => Err(refusal(column, "22021", "an escape spells bytes that are not UTF-8".to_owned())),
    }
}

#[cold]
fn refusal(column: &PlanColumn, sqlstate: &str, reason: String) -> Error {
    Error::new(ErrorKind::Data, reason).with_sqlstate(sqlstate).in_column(&column.name)
}
