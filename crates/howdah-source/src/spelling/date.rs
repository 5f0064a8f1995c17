//! The option `date_format`: dates and times written in the user's own way become ISO before a codec reads them. What is not written
//! in that way is refused: a day and a month that change places would pass for right.

use std::io::Write;

use howdah_encode::civil;
use howdah_message::setting;
use tokio_postgres::types::Type;

use crate::error::Error;

/// A pattern of strptime's conversions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateFormat {
    text: String,
    parts: Vec<DatePart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DatePart {
    Literal(u8),
    /// Four digits.
    Year,
    /// Two digits: 69 to 99 are of the 20th century.
    ShortYear,
    Month,
    /// An English name, whole or its first three letters.
    MonthName,
    Day,
    DayOfYear,
    Hour,
    /// 1 to 12, with [`DatePart::HalfDay`].
    HourOfHalf,
    HalfDay,
    Minute,
    Second,
    /// 1 to 6 digits of a second.
    Fraction,
    /// `Z`, `±HH`, `±HHMM` or `±HH:MM`.
    Zone,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

impl DateFormat {
    /// Reads a pattern such as `%d.%m.%Y %H:%M`.
    ///
    /// # Errors
    /// A usage error for a conversion that is not known, given twice, or without what it needs: a date is a year with a month
    /// and a day, or with a day of the year.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |why: String| {
            Error::usage(message![setting::DATE_FORMAT, " {text:?}: {why}"]).with_hint(
                "%Y %y %m %b %B %d %j %H %I %p %M %S %f %z and %% are known, for example %d.%m.%Y %H:%M",
            )
        };
        let mut parts = Vec::new();
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            if byte != b'%' {
                parts.push(DatePart::Literal(byte));
                continue;
            }
            let part = match bytes.next() {
                Some(b'Y') => DatePart::Year,
                Some(b'y') => DatePart::ShortYear,
                Some(b'm') => DatePart::Month,
                Some(b'b' | b'B') => DatePart::MonthName,
                Some(b'd') => DatePart::Day,
                Some(b'j') => DatePart::DayOfYear,
                Some(b'H') => DatePart::Hour,
                Some(b'I') => DatePart::HourOfHalf,
                Some(b'p') => DatePart::HalfDay,
                Some(b'M') => DatePart::Minute,
                Some(b'S') => DatePart::Second,
                Some(b'f') => DatePart::Fraction,
                Some(b'z') => DatePart::Zone,
                Some(b'%') => DatePart::Literal(b'%'),
                Some(other) => return Err(refuse(format!("%{} is not known", char::from(other)))),
                None => return Err(refuse("it ends in %".to_owned())),
            };
            if !matches!(part, DatePart::Literal(_)) && parts.contains(&part) {
                return Err(refuse("it says one thing twice".to_owned()));
            }
            parts.push(part);
        }
        let has = |part: DatePart| parts.contains(&part);
        let count = |of: &[DatePart]| of.iter().filter(|part| has(**part)).count();
        let by_month = count(&[DatePart::Month, DatePart::MonthName]) == 1
            && has(DatePart::Day)
            && !has(DatePart::DayOfYear);
        let by_day =
            has(DatePart::DayOfYear) && count(&[DatePart::Month, DatePart::MonthName, DatePart::Day]) == 0;
        if count(&[DatePart::Year, DatePart::ShortYear]) != 1 || !(by_month || by_day) {
            return Err(refuse("a date is one year with a month and a day, or with %j".to_owned()));
        }
        let hours = count(&[DatePart::Hour, DatePart::HourOfHalf]);
        if hours == 2 || has(DatePart::HourOfHalf) != has(DatePart::HalfDay) {
            return Err(refuse("an hour is %H, or %I with %p".to_owned()));
        }
        let needs = [
            (DatePart::Minute, hours == 1),
            (DatePart::Second, has(DatePart::Minute)),
            (DatePart::Fraction, has(DatePart::Second)),
        ];
        if needs.iter().any(|(part, there)| has(*part) && !there) || has(DatePart::Zone) && hours == 0 {
            return Err(refuse(
                "a time starts with an hour, and then has a minute, a second, a fraction".to_owned(),
            ));
        }
        Ok(DateFormat { text: text.to_owned(), parts })
    }

    /// The date format as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// `value` as PostgreSQL writes it under DateStyle ISO; `None` where it is not in this format, or no day of the calendar.
    pub fn rewritten<'v>(&self, value: &[u8], out: &'v mut Vec<u8>) -> Option<&'v [u8]> {
        let mut moment = Moment { day: 1, ..Moment::default() };
        let mut rest = value;
        for part in &self.parts {
            rest = moment.take(*part, rest)?;
        }
        if !rest.is_empty() {
            return None;
        }
        moment.check()?;
        out.clear();
        // Writing to memory does not fail.
        write!(out, "{:04}-{:02}-{:02}", moment.year, moment.month, moment.day).ok()?;
        if self.has_time() {
            write!(out, " {:02}:{:02}:{:02}", moment.hour, moment.minute, moment.second).ok()?;
            if !moment.fraction.is_empty() {
                out.push(b'.');
                out.extend_from_slice(moment.fraction);
            }
            if let Some((sign, hours, minutes)) = moment.zone {
                write!(out, "{}{hours:02}:{minutes:02}", char::from(sign)).ok()?;
            }
        }
        Some(out)
    }

    fn has_time(&self) -> bool {
        self.parts.contains(&DatePart::Hour) || self.parts.contains(&DatePart::HourOfHalf)
    }

    /// What a value looks like to somebody who looks for types: ISO where it is in this format, and no date where it is
    /// not. A format of digits alone says nothing about columns, since numbers would pass for dates.
    pub fn as_moment<'v>(&self, value: &'v [u8], out: &'v mut Vec<u8>) -> &'v [u8] {
        let separates = |part: &DatePart| matches!(part, DatePart::Literal(byte) if !byte.is_ascii_digit());
        if self.parts.iter().any(|part| separates(part) || *part == DatePart::MonthName)
            && self.rewritten(value, out).is_some()
        {
            return out;
        }
        match value {
            [b'0'..=b'9', _, _, _, b'-', _, _, b'-', ..] => b"no date",
            _ => value,
        }
    }
}

/// Whether values of the type are dates.
pub fn is_temporal(oid: u32) -> bool {
    [Type::DATE, Type::TIMESTAMP, Type::TIMESTAMPTZ].iter().any(|r#type| r#type.oid() == oid)
}

#[derive(Default)]
struct Moment<'v> {
    year: u32,
    month: u32,
    day: u32,
    day_of_year: Option<u32>,
    hour: u32,
    is_half: bool,
    is_afternoon: bool,
    minute: u32,
    second: u32,
    fraction: &'v [u8],
    zone: Option<(u8, u32, u32)>,
}

impl<'v> Moment<'v> {
    /// Reads one part off the start of `text`; what follows it.
    fn take(&mut self, part: DatePart, text: &'v [u8]) -> Option<&'v [u8]> {
        let mut rest = text;
        match part {
            DatePart::Literal(byte) => rest = text.strip_prefix(&[byte])?,
            DatePart::Year => self.year = number(&mut rest, 4, 4)?,
            DatePart::ShortYear => {
                let year = number(&mut rest, 2, 2)?;
                self.year = if year < 69 { 2000 + year } else { 1900 + year };
            }
            DatePart::Month => self.month = number(&mut rest, 1, 2)?,
            DatePart::MonthName => {
                let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                let word = text[..letters].to_ascii_lowercase();
                let is_it = |name: &&str| word == name.as_bytes() || word == name.as_bytes()[..3];
                self.month = u32::try_from(MONTHS.iter().position(is_it)?).ok()? + 1;
                rest = &text[letters..];
            }
            DatePart::Day => self.day = number(&mut rest, 1, 2)?,
            DatePart::DayOfYear => self.day_of_year = Some(number(&mut rest, 1, 3)?),
            DatePart::Hour => self.hour = number(&mut rest, 1, 2)?,
            DatePart::HourOfHalf => {
                self.hour = number(&mut rest, 1, 2).filter(|hour| (1..=12).contains(hour))? % 12;
                self.is_half = true;
            }
            DatePart::HalfDay => {
                let (word, after) = text.split_at_checked(2)?;
                self.is_afternoon = word.eq_ignore_ascii_case(b"pm");
                (self.is_afternoon || word.eq_ignore_ascii_case(b"am")).then_some(())?;
                rest = after;
            }
            DatePart::Minute => self.minute = number(&mut rest, 1, 2)?,
            DatePart::Second => self.second = number(&mut rest, 1, 2)?,
            DatePart::Fraction => {
                number(&mut rest, 1, 6)?;
                self.fraction = &text[..text.len() - rest.len()];
            }
            DatePart::Zone => {
                if let Some(after) = text.strip_prefix(b"Z") {
                    self.zone = Some((b'+', 0, 0));
                    return Some(after);
                }
                let (&sign, mut after) =
                    text.split_first().filter(|(sign, _)| matches!(**sign, b'+' | b'-'))?;
                let hours = number(&mut after, 2, 2)?;
                let mut minutes = 0;
                let mut behind = after.strip_prefix(b":").unwrap_or(after);
                if let Some(found) = number(&mut behind, 2, 2) {
                    minutes = found;
                    after = behind;
                }
                self.zone = Some((sign, hours, minutes));
                rest = after;
            }
        }
        Some(rest)
    }

    /// Refuses what no calendar and no clock has.
    fn check(&mut self) -> Option<()> {
        // Four digits at most.
        let year = i32::try_from(self.year).ok()?;
        if let Some(day) = self.day_of_year {
            let found = civil::date_of(i64::from(civil::days_of(year, 1, 1)?) + i64::from(day) - 1);
            // Day 0 is of the year before, and day 366 of the next one where this has no leap day.
            (found.year == i64::from(year)).then_some(())?;
            (self.month, self.day) = (found.month, found.day);
        }
        if self.is_half && self.is_afternoon {
            self.hour += 12;
        }
        let is_date = self.year > 0 && civil::days_of(year, self.month, self.day).is_some();
        let is_time = self.hour < 24 && self.minute < 60 && self.second < 60;
        let is_zone = self.zone.is_none_or(|(_, hours, minutes)| hours < 16 && minutes < 60);
        (is_date && is_time && is_zone).then_some(())
    }
}

/// Reads a number of so many digits, as many as there are.
fn number(text: &mut &[u8], least: usize, most: usize) -> Option<u32> {
    let digits = text.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
    let (found, rest) = text.split_at(digits);
    *text = rest;
    (digits >= least).then(|| found.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(format: &str, value: &str) -> Option<String> {
        let mut out = Vec::new();
        let format = DateFormat::parse(format).unwrap();
        format.rewritten(value.as_bytes(), &mut out).map(|iso| String::from_utf8(iso.to_vec()).unwrap())
    }

    #[test]
    fn every_conversion_reads_what_it_says() {
        for (format, value, iso) in [
            ("%d.%m.%Y", "3.12.2024", "2024-12-03"),
            ("%m/%d/%y", "12/03/68", "2068-12-03"),
            ("%m/%d/%y", "12/03/69", "1969-12-03"),
            ("%d %b %Y", "3 SEP 2024", "2024-09-03"),
            ("%d-%B-%Y", "29-February-2024", "2024-02-29"),
            ("%B %d, %Y", "May 1, 2024", "2024-05-01"),
            ("%Y%j", "2024366", "2024-12-31"),
            ("%Y%m%d", "20240229", "2024-02-29"),
            ("%d/%m/%Y %H:%M", "1/2/2024 7:05", "2024-02-01 07:05:00"),
            ("%d/%m/%Y %I:%M:%S %p", "1/2/2024 12:05:09 am", "2024-02-01 00:05:09"),
            ("%d/%m/%Y %I%p", "1/2/2024 12PM", "2024-02-01 12:00:00"),
            ("%d/%m/%Y %H:%M:%S.%f", "1/2/2024 07:05:00.25", "2024-02-01 07:05:00.25"),
            ("%d/%b/%Y:%H:%M:%S %z", "10/Oct/2000:13:55:36 -0700", "2000-10-10 13:55:36-07:00"),
            ("%Y/%m/%dT%H%z", "2024/01/02T03Z", "2024-01-02 03:00:00+00:00"),
            ("%Y/%m/%d %H:%M%z", "2024/01/02 03:04+05:30", "2024-01-02 03:04:00+05:30"),
            ("100%% %d.%m.%Y", "100% 1.1.2024", "2024-01-01"),
        ] {
            assert_eq!(rewritten(format, value).as_deref(), Some(iso), "{format} {value}");
        }
    }

    #[test]
    fn what_is_written_otherwise_or_is_no_day_is_refused() {
        for (format, value) in [
            ("%d.%m.%Y", "13.13.2024"),
            ("%d.%m.%Y", "29.02.2023"),
            ("%d.%m.%Y", "1.1.24"),
            ("%d.%m.%Y", "1.1.2024 "),
            ("%d.%m.%Y", "2024-01-01"),
            ("%d.%m.%Y", ""),
            ("%d.%m.%Y", "0.1.2024"),
            ("%d.%m.%Y", "1.1.0000"),
            ("%Y%j", "2023366"),
            ("%Y%j", "2023000"),
            ("%d %b %Y", "3 Sept 2024"),
            ("%d.%m.%Y %H:%M", "1.1.2024 24:00"),
            ("%d.%m.%Y %I:%M %p", "1.1.2024 13:00 PM"),
            ("%d.%m.%Y %H:%M:%S", "1.1.2024 00:00:60"),
            ("%d.%m.%Y %H %z", "1.1.2024 00 +1"),
        ] {
            assert_eq!(rewritten(format, value), None, "{format} {value}");
        }
    }

    #[test]
    fn a_format_that_is_no_date_is_refused() {
        for format in [
            "",
            "%",
            "%Q",
            "%d.%m",
            "%Y-%m-%d %m",
            "%Y %y %m %d",
            "%H:%M",
            "%Y-%m-%d %M",
            "%Y-%m-%d %I",
            "%Y %m %b %d",
            "%Y-%m-%d %H %S",
            "%Y-%m-%d %z",
            "%j %d %Y",
        ] {
            assert!(DateFormat::parse(format).is_err(), "{format:?}");
        }
    }
}
