//! Finds out how records are written where the user does not say: delimiter, quote and escape, from the start of the
//! input. COPY's defaults stay wherever they read it well; where two readings are equally good, the user decides.

use howdah_message::{Mention, Message, Setting, setting};

use crate::delimiter::Delimiter;
use crate::dialect::{Dialect, Family};
use crate::error::Error;
use crate::text::reading::{Sample, SampleReading, first_difference};

/// Delimiters that are looked for.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Delimiters of two bytes that are looked for, the one that each of their bytes is, and how many fields are no accident: an IPv6
/// address has one pair of colons.
const WIDE: [(&str, u8, usize); 2] = [("||", b'|', 2), ("::", b':', 3)];

/// Below so many records, agreement may be an accident: what COPY's defaults read stays.
const ENOUGH_TO_DOUBT: usize = 3;

/// What may be guessed: what the user did not say.
#[derive(Debug, Clone, Copy)]
pub struct Unsaid {
    /// What stands between fields.
    pub delimiter: bool,
    /// The quote.
    pub quote: bool,
    /// What escapes a quote inside quotes.
    pub escape: bool,
    /// Numbers have decimal commas, so commas do not delimit.
    pub decimal_comma: bool,
}

/// How well a record 1 fits the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Not, or there is nothing to compare it with.
    Unknown,
    /// It has as many fields as the target has columns.
    Count,
    /// All its fields are names of columns.
    Names,
}

/// The dialect of `sample`: `usual` with what was found out about what the user left open.
///
/// # Errors
/// A usage error that shows two readings which are equally good.
pub fn sniff(
    sample: Sample<'_>,
    usual: &Dialect,
    unsaid: Unsaid,
    fit: &dyn Fn(&[String]) -> Fit,
) -> Result<Dialect, Error> {
    if usual.family != Family::Csv || sample.bytes.is_empty() {
        return Ok(usual.clone());
    }
    let plain = |delimiter: Delimiter| Dialect { delimiter, ..usual.clone() };
    let mut delimiters = delimiters(sample, usual, unsaid);
    let first = SampleReading::of(sample, usual, false);
    let fits = |delimiter: &Delimiter| fit(&SampleReading::of(head(sample), &plain(*delimiter), false).first);
    let named: Vec<Delimiter> =
        delimiters.iter().copied().filter(|delimiter| fits(delimiter) == Fit::Names).collect();
    let usual_fits = fit(&first.first) == Fit::Count && first.is_consistent();
    let certain = match named[..] {
        [delimiter] => Some(delimiter),
        _ => Some(usual.delimiter).filter(|delimiter| usual_fits && delimiters.contains(delimiter)),
    };
    if let Some(delimiter) = certain {
        delimiters = vec![delimiter];
    }
    let mut good = Vec::new();
    for &delimiter in &delimiters {
        good.extend(good_readings(sample, &plain(delimiter), unsaid));
    }
    let is_usual = |reading: &SampleReading| reading.dialect == *usual;
    // One record splits in many ways.
    good.retain(|reading| {
        reading.records > 1
            || reading.dialect.delimiter == usual.delimiter
            || fit(&reading.first) > Fit::Unknown
    });
    if good.iter().all(|reading| reading.records < ENOUGH_TO_DOUBT) && good.iter().any(is_usual) {
        return Ok(usual.clone());
    }
    if let Some(best) = good.iter().map(|reading| fit(&reading.first)).max() {
        good.retain(|reading| fit(&reading.first) == best);
    }
    if let Some((wide, single)) = unsaid.delimiter.then(|| doubled(sample, usual, &good, fit)).flatten() {
        return match &good[..] {
            // It is in quotes, which only those of the single character need.
            [only] if stands_alone(sample, single) && fit(&only.first) == fit(&wide.first) => {
                Err(ambiguous(sample, &only.dialect, &wide.dialect))
            }
            _ => Ok(wide.dialect),
        };
    }
    match &good[..] {
        [] => Ok(match certain {
            Some(delimiter) => plain(delimiter),
            None => nearly_good(sample, usual, &delimiters, &first),
        }),
        [only] => Ok(only.dialect.clone()),
        [one, other, ..] => Err(ambiguous(sample, &one.dialect, &other.dialect)),
    }
}

/// The reading whose delimiter is a doubled character, and that character, where all records are good so, and otherwise none is, or
/// only with every other field empty between the two, which fits the target no better.
fn doubled(
    sample: Sample<'_>,
    usual: &Dialect,
    good: &[SampleReading],
    fit: &dyn Fn(&[String]) -> Fit,
) -> Option<(SampleReading, u8)> {
    WIDE.into_iter().find_map(|(wide, single, enough_fields)| {
        let delimiter = Delimiter::new(wide).ok().filter(|delimiter| delimiter.is_in(sample.bytes))?;
        let reading = SampleReading::of(sample, &Dialect { delimiter, ..usual.clone() }, true);
        let (fields, records) = (reading.first.len(), reading.records);
        let is_clear = match good {
            [] => true,
            [only] => {
                only.dialect.delimiter == single
                    && only.first.len() + 1 == 2 * fields
                    && fit(&only.first) <= fit(&reading.first)
            }
            _ => false,
        };
        let is_meant = fields >= enough_fields || fields > 1 && fit(&reading.first) > Fit::Unknown;
        (is_meant && records >= ENOUGH_TO_DOUBT && is_clear && reading.is_good()).then_some((reading, single))
    })
}

/// Whether a character is there other than in pairs.
fn stands_alone(sample: Sample<'_>, single: u8) -> bool {
    sample.bytes.chunk_by(|one, next| one == next).any(|run| run[0] == single && run.len() % 2 == 1)
}

/// The delimiters worth a try, the usual one first.
fn delimiters(sample: Sample<'_>, usual: &Dialect, unsaid: Unsaid) -> Vec<Delimiter> {
    if !unsaid.delimiter {
        return vec![usual.delimiter];
    }
    let mut found = vec![usual.delimiter];
    found.extend(DELIMITERS.map(Delimiter::from).into_iter().filter(|&delimiter| {
        let is_possible = Dialect { delimiter, ..usual.clone() }.check().is_ok();
        delimiter != usual.delimiter && is_possible && delimiter.is_in(sample.bytes)
    }));
    found.retain(|delimiter| !(unsaid.decimal_comma && *delimiter == b','));
    found
}

/// Enough of the sample to hold its first record, as a rule.
fn head(sample: Sample<'_>) -> Sample<'_> {
    const HEAD_BYTES: usize = 16 * 1024;
    let bytes = &sample.bytes[..sample.bytes.len().min(HEAD_BYTES)];
    Sample { bytes, is_whole: sample.is_whole && bytes.len() == sample.bytes.len() }
}

/// The good readings with one delimiter: with the plain quote and escape, and with others that mean something else.
fn good_readings(sample: Sample<'_>, plain: &Dialect, unsaid: Unsaid) -> Vec<SampleReading> {
    let mut readings = with_quote(sample, plain, unsaid);
    if !unsaid.quote || plain.quote != b'"' || memchr::memchr(b'\'', sample.bytes).is_none() {
        return readings;
    }
    let escape = if unsaid.escape { b'\'' } else { plain.escape };
    let mut others = with_quote(sample, &Dialect { quote: b'\'', escape, ..plain.clone() }, unsaid);
    others.retain(SampleReading::has_quotes);
    if readings.iter().any(|reading| reading.dialect == *plain) {
        // The plain reading is good too: only what cannot be an accident stands against it.
        others.retain(SampleReading::means_its_quotes);
        let is_certain = |other: &SampleReading| other.quotes_all_words() && other.records >= ENOUGH_TO_DOUBT;
        if others.iter().any(is_certain) && !readings.iter().any(SampleReading::has_quotes) {
            // Nobody's data has apostrophes around every word.
            return others;
        }
    }
    readings.append(&mut others);
    readings
}

/// The good readings with one delimiter and one quote.
fn with_quote(sample: Sample<'_>, plain: &Dialect, unsaid: Unsaid) -> Vec<SampleReading> {
    let mut readings =
        Vec::from_iter(Some(SampleReading::of(sample, plain, true)).filter(SampleReading::is_good));
    let escapes = |next: u8| memchr::memmem::find(sample.bytes, &[b'\\', next]).is_some();
    let dialect = Dialect { escape: b'\\', ..plain.clone() };
    if unsaid.escape && (escapes(plain.quote) || escapes(b'\\')) && dialect.check().is_ok() {
        let reading = SampleReading::of(sample, &dialect, true);
        let has_cause = if readings.is_empty() { reading.has_escapes() } else { reading.means_its_escapes() };
        if reading.is_good() && has_cause {
            readings.push(reading);
        }
    }
    readings
}

/// No reading is good in every record. Some records may be bad: the one reading that is good but for a few.
fn nearly_good(
    sample: Sample<'_>,
    usual: &Dialect,
    delimiters: &[Delimiter],
    first: &SampleReading,
) -> Dialect {
    if first.is_nearly_good() || delimiters == [usual.delimiter] {
        return usual.clone();
    }
    let plain = |&delimiter: &Delimiter| Dialect { delimiter, ..usual.clone() };
    let readings = delimiters.iter().map(|delimiter| SampleReading::of(sample, &plain(delimiter), false));
    let mut nearly = readings.filter(SampleReading::is_nearly_good);
    match (nearly.next(), nearly.next()) {
        (Some(only), None) => only.dialect,
        _ => usual.clone(),
    }
}

fn ambiguous(sample: Sample<'_>, one: &Dialect, other: &Dialect) -> Error {
    let [first, second] = first_difference(sample, one, other);
    let doubled = [one, other].map(|dialect| dialect.escape == dialect.quote);
    let escapes_differ = one.escape != other.escape && doubled != [true, true];
    let differing = [one.delimiter != other.delimiter, one.quote != other.quote, escapes_differ];
    let told = |dialect: &Dialect| {
        let all = [
            (setting::DELIMITER, dialect.delimiter.to_string()),
            (setting::QUOTE, char::from(dialect.quote).to_string()),
            (setting::ESCAPE, char::from(dialect.escape).to_string()),
        ];
        all.into_iter().zip(differing).filter(|(_, differs)| *differs).map(|(told, _)| told)
    };
    let described = |dialect| {
        let words = told(dialect).map(|(setting, text)| format!("{} {}", setting.name(), shown(&text)));
        words.collect::<Vec<_>>().join(", ")
    };
    let option =
        |dialect| Message::joined(told(dialect).map(|(setting, text)| argument(setting, text).into()), " ");
    Error::usage("the input can be read in two ways")
        .with_detail(format!(
            "with {}: {}\nwith {}: {}",
            described(one),
            record(&first),
            described(other),
            record(&second)
        ))
        .with_hint(message!["say which: ", option(one), ", or ", option(other)])
}

/// A record for a person: its values between bars, long ones cut.
fn record(values: &[String]) -> String {
    const FIELDS: usize = 8;
    const CHARS: usize = 40;
    let cut = |value: &String| match value.char_indices().nth(CHARS) {
        Some((at, _)) => format!("{}…", &value[..at]),
        None => value.clone(),
    };
    let mut shown: Vec<String> = values.iter().take(FIELDS).map(cut).collect();
    if values.len() > FIELDS {
        shown.push("…".to_owned());
    }
    let count = if values.len() == 1 { "1 field".to_owned() } else { format!("{} fields", values.len()) };
    format!("{} ({count})", shown.join(" │ "))
}

/// A structural character, or several, between quotes.
pub fn shown(text: &str) -> String {
    match text {
        "\t" => "tab".to_owned(),
        "\"" => "'\"'".to_owned(),
        other => format!("\"{other}\""),
    }
}

/// The option that asks for structural characters.
fn argument(setting: Setting, text: String) -> Mention {
    match text.as_str() {
        "\t" => setting.word("tab"),
        _ => setting.text(text),
    }
}

#[cfg(test)]
mod tests;
