//! Values that are spelled in another way than PostgreSQL reads them: numbers with decimal commas or separated thousands, dates,
//! and words for true and false.

pub mod boolean;
pub mod date;
pub mod number;
pub mod thousands;

use howdah_encode::Invalid;

pub use boolean::BooleanWords;
pub use date::DateFormat;
pub use number::NumberMarks;
pub use thousands::Thousands;

/// How numbers, dates and booleans of an input are written; by default as PostgreSQL reads them.
#[derive(Debug, Clone, Default)]
pub struct Spelling {
    /// The marks within numbers.
    pub numbers: NumberMarks,
    /// The format of dates.
    pub dates: Option<DateFormat>,
    /// Words for true and false beside those of PostgreSQL.
    pub booleans: BooleanWords,
}

/// How the values of one column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelled {
    /// So that PostgreSQL reads them.
    AsPostgresDoes,
    /// With the marks of the input's numbers.
    AsNumbers(NumberMarks),
    /// In the input's date format.
    InDateFormat,
    /// In words, some of which are the input's own.
    InWords,
}

/// Why a value is none in the input's spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misspelled {
    /// As PostgreSQL would say it.
    pub reason: String,
    /// How such values are written in this input.
    pub detail: String,
    /// The class of the error.
    pub sqlstate: &'static str,
}

impl Spelling {
    /// Whether it is PostgreSQL's for every type.
    pub fn is_usual(&self) -> bool {
        self.numbers == NumberMarks::default() && self.dates.is_none() && self.booleans.is_empty()
    }

    /// How values of the type are written.
    pub fn of_type(&self, oid: u32) -> Spelled {
        if self.numbers.concern(oid) {
            Spelled::AsNumbers(self.numbers)
        } else if self.dates.is_some() && date::is_temporal(oid) {
            Spelled::InDateFormat
        } else if !self.booleans.is_empty() && boolean::is_boolean(oid) {
            Spelled::InWords
        } else {
            Spelled::AsPostgresDoes
        }
    }

    /// The value of a column of `type_name` as PostgreSQL spells it.
    ///
    /// # Errors
    /// It is not written as the input's values of that type are.
    #[inline]
    pub fn read<'v>(
        &self,
        spelled: Spelled,
        type_name: &str,
        value: &'v [u8],
        scratch: &'v mut Vec<u8>,
    ) -> Result<&'v [u8], Misspelled> {
        match spelled {
            Spelled::AsPostgresDoes => Ok(value),
            Spelled::AsNumbers(marks) => marks.read(value, scratch).ok_or_else(|| {
                Misspelled::new(type_name, value, "22P02", || marks.described().unwrap_or_default())
            }),
            Spelled::InDateFormat => match &self.dates {
                None => Ok(value),
                Some(format) => format.rewritten(value, scratch).ok_or_else(|| {
                    Misspelled::new(type_name, value, "22007", || {
                        format!("the dates of this load are written {:?}", format.as_str())
                    })
                }),
            },
            Spelled::InWords => Ok(self.booleans.read(value)),
        }
    }

    /// What a value looks like to somebody who looks for types: dates as dates, numbers as PostgreSQL writes them.
    #[inline]
    pub fn seen<'v>(&self, value: &'v [u8], [moment, number]: &'v mut [Vec<u8>; 2]) -> &'v [u8] {
        // Dates first: one with points consists of what numbers consist of.
        let value = self.dates.as_ref().map_or(value, |format| format.as_moment(value, moment));
        if self.numbers == NumberMarks::default() { value } else { self.numbers.as_number(value, number) }
    }
}

impl Misspelled {
    #[cold]
    fn new(type_name: &str, value: &[u8], sqlstate: &'static str, detail: impl FnOnce() -> String) -> Self {
        let reason = Invalid::syntax(sqlstate, type_name, value).reason;
        Misspelled { reason, detail: detail(), sqlstate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_value_is_not_copied_into_the_reason_why_it_is_none() {
        let spelling = Spelling {
            numbers: NumberMarks { decimal_comma: false, thousands: Some(Thousands::Comma) },
            dates: DateFormat::parse("%d.%m.%Y").ok(),
            ..Spelling::default()
        };
        let huge = b"1,".repeat(1 << 20);
        for spelled in [Spelled::AsNumbers(spelling.numbers), Spelled::InDateFormat] {
            let misspelled = spelling.read(spelled, "numeric", &huge, &mut Vec::new()).unwrap_err();
            assert!(misspelled.reason.len() < 2000, "{} bytes", misspelled.reason.len());
        }
    }
}
