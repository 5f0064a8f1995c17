//! Loading a corrected reject file: the file itself says how its records are written and where they go.

use howdah_message::setting;
use howdah_source::open::reject_file::SKIPPED;
use howdah_source::{Delimiter, Input, Provenance};

use crate::catalog::name::TableName;
use crate::error::Error;
use crate::options::{DateFormat, Encoding, Format, HeaderOption, LoadOptions, Mode, Thousands};

/// The inputs that hold the records, and the options under which these are loaded: what the user says goes before what the
/// file says.
///
/// # Errors
/// Not a reject file; several that come from different loads.
pub(crate) fn resolve(inputs: &[Input], options: &LoadOptions) -> Result<(Vec<Input>, LoadOptions), Error> {
    if options.input.encoding.is_some_and(|encoding| encoding != Encoding::UTF8) {
        return Err(Error::usage(message![
            setting::ENCODING,
            " is not for reject files: what they hold is UTF-8 already"
        ]));
    }
    let mut options = options.clone();
    let mut found = Vec::with_capacity(inputs.len());
    let mut first = None;
    for input in inputs {
        let (input, load) = input.corrected()?;
        let first = first.get_or_insert_with(|| load.clone());
        if *first != load {
            return Err(Error::usage(format!(
                "{} comes from another load than the first: load them one by one",
                input.name
            )));
        }
        found.push(input);
    }
    let Some(load) = first else { return Err(Error::usage("no input was named")) };
    if load.format == "ndjson" {
        know_keys(&mut options, &load);
    }
    let byte = |c: Option<char>| c.and_then(|c| u8::try_from(c).ok());
    let dialect = &mut options.input.dialect;
    if let Some(delimiter) = load.delimiter.as_ref().filter(|_| dialect.delimiter.is_none()) {
        dialect.delimiter = Some(Delimiter::new(delimiter)?);
    }
    dialect.quote = dialect.quote.or(byte(load.quote));
    dialect.escape = dialect.escape.or(byte(load.escape));
    dialect.null = dialect.null.take().or(load.null);
    dialect.default = dialect.default.take().or(load.default);
    if let Some(format) = load.date_format.as_ref().filter(|_| options.input.date_format.is_none()) {
        options.input.date_format = Some(DateFormat::parse(format)?);
    }
    options.input.decimal_comma |= load.decimal == Some(',');
    if let Some(mark) = load.thousands.as_ref().filter(|_| options.input.thousands.is_none()) {
        options.input.thousands = Some(Thousands::parse(mark)?);
    }
    options.input.booleans.extend(load.booleans);
    options.columns.force_null.extend(load.force_null);
    options.columns.force_not_null.extend(load.force_not_null);
    if load.format == "binary" {
        return Err(Error::usage("rows of binary COPY files cannot be corrected: they are no text"));
    }
    options.input.format = Some(match load.format.as_str() {
        "ndjson" => Format::Ndjson,
        "tsv" => Format::Tsv,
        "text" => Format::Text,
        _ => Format::Csv,
    });
    if matches!(options.input.format, Some(Format::Csv | Format::Tsv)) {
        // The file says it all: nothing is left to be guessed.
        let dialect = &mut options.input.dialect;
        let usual = if options.input.format == Some(Format::Csv) { b',' } else { b'\t' };
        dialect.delimiter.get_or_insert(usual.into());
        let quote = *dialect.quote.get_or_insert(b'"');
        dialect.escape.get_or_insert(quote);
        dialect.null.get_or_insert_default();
    }
    if options.target.mode == Mode::default()
        && let Some(mode) = &load.mode
    {
        options.target.mode = Mode::from_name(mode).ok_or_else(|| {
            Error::usage(format!("the reject file names a mode that is not known: {mode:?}"))
        })?;
    }
    if options.target.mode.matches_rows() && options.target.key.is_empty() {
        options.target.key = load.key;
    }
    if options.target.table.is_none() {
        options.target.table = Some(TableName::parse(&load.table)?);
    }
    options.columns.header = HeaderOption::Yes;
    if options.input.format != Some(Format::Ndjson) {
        let fields = load.columns.len() - usize::from(load.empty_end);
        let skipped = load.columns.iter().take(fields).enumerate().filter(|(_, column)| column.is_none());
        options.columns.skip_columns.extend(skipped.map(|(at, _)| format!("{SKIPPED}{at}")));
    }
    Ok((found, options))
}

/// Each key goes where it was to go, and so does what lies at a path.
fn know_keys(options: &mut LoadOptions, load: &Provenance) {
    let known = || load.keys.iter().zip(&load.columns);
    for (key, column) in known() {
        match column {
            None => options.columns.skip_columns.push(key.clone()),
            // A path is one only where it is mapped.
            Some(column) if column != key || load.paths.contains(key) => {
                options.columns.map.push((key.clone(), column.clone()));
            }
            Some(_) => {}
        }
    }
    options.columns.known_paths = Some(load.paths.clone());
    if load.passes_over && options.columns.column_list.is_none() {
        let loaded = known().filter(|(_, column)| column.is_some()).map(|(key, _)| key);
        // Here it is the key, too, of the file that a record comes from.
        options.columns.column_list = Some(loaded.chain(&load.file_column).cloned().collect());
    }
}
