//! Where rejects go, and what their file says of the load that refused them: how its records are written, and where they
//! were to go.

use std::path::{Path, PathBuf};

use howdah_message::setting;
use howdah_source::Provenance;
use howdah_source::open::provenance;
use howdah_source::{Dialect, Family};

use crate::catalog::table::Table;
use crate::error::Error;
use crate::options::{Format, LoadOptions};
use crate::plan::mapping::Mapping;

/// The error for rejects that would go where records are read from.
pub(crate) fn is_an_input(path: &Path) -> Error {
    Error::usage(format!("{} is an input: rejects cannot go there", path.display()))
        .with_hint(message!["name another file: ", setting::REJECTS.placeholder("FILE")])
}

/// In the working directory, where a person looks; whatever the table is called, it is a file name.
pub(crate) fn default_path(table: &str, load_id: &str) -> PathBuf {
    let safe = |c: char| if c == '/' || c.is_control() { '_' } else { c };
    let name: String = table.trim_start_matches('.').chars().map(safe).collect();
    PathBuf::from(format!("{name}.{load_id}.rejects.jsonl"))
}

/// `fields` are those of a record, each as the field of the load that it is.
pub(crate) fn provenance(
    table: &Table,
    mapping: &Mapping,
    fields: &[Option<usize>],
    dialect: &Dialect,
    options: &LoadOptions,
    had_types: bool,
) -> Provenance {
    let delimiter = dialect.delimiter;
    let (format, usual, null): (_, _, &[u8]) = match dialect.family {
        _ if options.input.format == Some(Format::Binary) => ("binary", delimiter, b""),
        // Rows that had types are kept as JSON.
        _ if options.input.format.unwrap_or_default().has_types() => ("ndjson", delimiter, b""),
        Family::Text => ("text", b'\t'.into(), b"\\N"),
        Family::Json | Family::Ndjson => ("ndjson", delimiter, b""),
        Family::Csv if delimiter == b'\t' => ("tsv", delimiter, b""),
        Family::Csv => ("csv", b','.into(), b""),
    };
    let unless = |byte: u8, usual: u8| (byte != usual).then_some(char::from(byte));
    let is_csv = dialect.family == Family::Csv;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let known = mapping.keys.as_ref();
    let is_new = |key: &&String| known.is_some_and(|known| !known.names.contains(key));
    // Keys that are skipped and were not met are fields of no record.
    let unmet: Vec<String> =
        known.iter().flat_map(|known| known.skipped.iter().filter(is_new)).cloned().collect();
    let keys = match known {
        Some(known) => [&known.names[..], &unmet].concat(),
        None if options.input.format.unwrap_or_default().has_types() => {
            mapping.header.clone().unwrap_or_default()
        }
        None => Vec::new(),
    };
    Provenance {
        version: provenance::VERSION,
        had_types: had_types || options.input.format.unwrap_or_default().has_types(),
        table: table.display(),
        columns: fields
            .iter()
            .map(|field| {
                let pair = mapping.pairs.iter().find(|pair| Some(pair.field) == *field);
                pair.map(|pair| pair.target.clone())
            })
            .chain(unmet.iter().map(|_| None))
            .collect(),
        empty_end: mapping.empty_end.is_some(),
        keys,
        paths: known.map(|known| known.paths.taken.clone()).unwrap_or_default(),
        passes_over: known.is_some_and(|known| known.passes_over),
        mode: options.target.mode.matches_rows().then(|| options.target.mode.name().to_owned()),
        key: if options.target.mode.matches_rows() { options.target.key.clone() } else { Vec::new() },
        format: format.to_owned(),
        delimiter: (delimiter != usual).then(|| delimiter.to_string()),
        quote: unless(dialect.quote, b'"').filter(|_| is_csv),
        escape: unless(dialect.escape, dialect.quote).filter(|_| is_csv),
        null: (dialect.null != null).then(|| text(&dialect.null)),
        default: dialect.default.as_deref().map(text),
        decimal: options.input.decimal_comma.then_some(','),
        thousands: options.input.thousands.map(|mark| mark.name().to_owned()),
        booleans: options.input.booleans.clone(),
        force_null: options.columns.force_null.clone(),
        force_not_null: options.columns.force_not_null.clone(),
        date_format: options.input.date_format.as_ref().map(|format| format.as_str().to_owned()),
        file_column: mapping.pairs.iter().find(|pair| pair.is_file_name).map(|pair| pair.target.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_table_name_leads_out_of_the_working_directory() {
        assert_eq!(default_path("../x/y", "1").to_str(), Some("_x_y.1.rejects.jsonl"));
        assert_eq!(default_path("a\nb", "1").to_str(), Some("a_b.1.rejects.jsonl"));
    }
}
