//! How the records of a stream are read: found out from its first record and the table alone, so that a stream that is taken up
//! again is read as it was before.

use std::path::Path;
use std::sync::Arc;

use howdah_message::{Action, setting};
use howdah_source::layout::Layouts;
use howdah_source::text::live::LiveCutter;
use howdah_source::text::reading::Sample;
use howdah_source::text::sniff::{self, Unsaid};
use howdah_source::{Dialect, Encoding, Piece, Thousands};

use crate::catalog::session::SessionSettings;
use crate::catalog::table::Table;
use crate::error::Error;
use crate::infer::head;
use crate::options::json;
use crate::options::{Format, LoadOptions, Mode, OnError, WritePath};
use crate::plan::columns::is_name;
use crate::plan::force;
use crate::plan::header::Head;
use crate::plan::mapping::{self, Mapping};
use crate::plan::spelling;
use crate::plan::{ColumnTypes, Judging, Plan, PlanRules};
use crate::report::DialectSummary;

/// Endings of files that do not grow line by line.
const COMPRESSED: [&str; 6] = ["gz", "bgz", "zst", "zstd", "xz", "bz2"];

/// How records are read and where their fields go.
pub(super) struct InputPlan {
    pub(super) plan: Plan,
    pub(super) mapping: Mapping,
    pub(super) dialect: Arc<Dialect>,
    pub(super) summary: DialectSummary,
}

/// The format that the options or the file's name say; `None`: the first byte decides between CSV and NDJSON.
///
/// # Errors
/// The format is not one of records that come one by one.
pub(super) fn format(options: &LoadOptions, file: Option<&Path>) -> Result<Option<Format>, Error> {
    match options.input.format {
        Some(Format::Json) => {
            return Err(Error::usage(
                "an array of JSON is one value that ends with its bracket, and no stream",
            )
            .with_hint(message![
                setting::FORMAT.word("ndjson"),
                " reads an object a line; jq -c '.[]' makes such lines"
            ]));
        }
        Some(format @ (Format::Parquet | Format::Arrow | Format::Binary | Format::Rejects)) => {
            return Err(Error::usage(message![
                setting::FORMAT.word(format.name()),
                " does not come line by line"
            ])
            .with_hint("howdah load reads such files"));
        }
        Some(format) => return Ok(Some(format)),
        None => {}
    }
    let ending = file.and_then(Path::extension).map(|ending| ending.to_string_lossy().to_lowercase());
    Ok(match ending.as_deref() {
        Some("csv") => Some(Format::Csv),
        Some("tsv" | "tab") => Some(Format::Tsv),
        Some("copy" | "pgcopy") => Some(Format::Text),
        Some("ndjson" | "jsonl" | "json") => Some(Format::Ndjson),
        Some(ending) if COMPRESSED.contains(&ending) => return Err(compressed()),
        _ => None,
    })
}

/// The format of an input that starts with `bytes`, at least one of which is no white space.
///
/// # Errors
/// It is compressed.
pub(super) fn format_of_start(bytes: &[u8]) -> Result<Format, Error> {
    match bytes.trim_ascii_start() {
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0xfd, b'7', b'z', b'X', b'Z', ..] => {
            Err(compressed())
        }
        [0xef, 0xbb, 0xbf, b'{', ..] | [b'{', ..] => Ok(Format::Ndjson),
        _ => Ok(Format::Csv),
    }
}

fn compressed() -> Error {
    Error::usage("the input is compressed: what was written last cannot be read yet")
        .with_hint(message!["unpack it on the way: ", Action::StreamOutput("zcat FILE")])
}

impl InputPlan {
    /// Finds out how to read what `cutter` holds, whose first record is there.
    ///
    /// # Errors
    /// Fields that do not fit the columns of `table`; options that do not fit the format.
    pub(super) fn find_out(
        cutter: &mut LiveCutter,
        usual: &Arc<Dialect>,
        table: &Table,
        session: &SessionSettings,
        options: &LoadOptions,
        is_end: bool,
    ) -> Result<InputPlan, Error> {
        // The rows go through a writer, which has ways of its own.
        let usual_way = options.clone().write_path(WritePath::CopyBinary).freeze(false);
        let options = &usual_way.mode(Mode::Append);
        let given = &options.input.dialect;
        if given.default.is_some() {
            return Err(Error::usage(message![
                setting::DEFAULT,
                " is not for streams: what is written together has the same columns"
            ])
            .with_hint(message![
                "leave the column out with ",
                setting::SKIP_COLUMNS,
                " or ",
                setting::COLUMNS,
                ": then it gets its default"
            ]));
        }
        let values = spelling::of(options)?;
        let unsaid = Unsaid {
            delimiter: given.delimiter.is_none() && usual.delimiter == b',',
            quote: given.quote.is_none() && options.input.thousands != Some(Thousands::Apostrophe),
            escape: given.escape.is_none(),
            decimal_comma: options.input.decimal_comma,
        };
        let fit = |first: &[String]| mapping::fit(first, Some(table), options);
        let first = cutter.first(is_end)?;
        let bytes = first.as_ref().map_or(&[][..], Piece::bytes);
        let dialect = Arc::new(sniff::sniff(Sample { bytes, is_whole: true }, usual, unsaid, &fit)?);
        spelling::check(options, &dialect)?;
        cutter.set_dialect(dialect.clone());
        let first = cutter.first(is_end)?;
        let head = if dialect.family.is_json() {
            json::check(options)?;
            let head = head::keys(first.as_ref(), &dialect, options, Some(table), true)?;
            let names = keys(&head, table, options);
            head.with_names(names)
        } else {
            head::read(first.as_ref(), &dialect, &values, options.tolerance.on_nul)
        };
        let mapping = mapping::for_existing(&head, Layouts::new(), table, options)?;
        force::check(options, &mapping)?;
        let rules = PlanRules {
            options,
            session,
            types: ColumnTypes::Known,
            judging: Judging::OnArrival,
            had_types: false,
            ordinal: None,
            promoted_into: None,
        };
        let (plan, _) = Plan::new(dialect.clone(), &mapping, table, &rules)?;
        let summary = DialectSummary::new(&dialect, usual, (Encoding::UTF8, false));
        Ok(InputPlan { plan, mapping, dialect, summary })
    }
}

/// The keys to load: those of the first record, and every column that has no value of its own. A column with a default is
/// filled only if the first record has its key: nobody can say later that a record lacks it.
fn keys(head: &Head, table: &Table, options: &LoadOptions) -> Vec<String> {
    if let Some(columns) = &options.columns.column_list {
        return columns.clone();
    }
    let is_known = |name: &&String| is_name(name, table, options);
    let first = match options.tolerance.on_error {
        // One bad record says nothing about the others.
        OnError::Ignore => head.first.iter().filter(is_known).cloned().collect(),
        OnError::Stop => head.first.clone(),
    };
    let unfilled = mapping::unfilled(table, &first, options);
    let skipped = |name: &String| options.columns.skip_columns.contains(name);
    let more = unfilled.iter().filter(|column| !column.has_default && !skipped(&column.name));
    let more: Vec<String> = more.map(|column| column.name.clone()).collect();
    first.into_iter().chain(more).collect()
}

/// That the table is missing, and what to do about it.
pub(super) fn no_table(name: &str) -> Error {
    Error::no_relation("table", name).with_hint(
        "a stream has no end at which its types are known: CREATE TABLE first, or let howdah load make it from a sample",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_come_line_by_line_is_refused_with_a_way_out() {
        let of = |format| LoadOptions::default().format(format);
        for other in [Format::Json, Format::Parquet, Format::Arrow, Format::Binary, Format::Rejects] {
            assert!(format(&of(other), None).unwrap_err().hint().is_some(), "{other:?}");
        }
        assert_eq!(format(&of(Format::Text), Some(Path::new("a.csv"))).unwrap(), Some(Format::Text));
        assert_eq!(
            format(&LoadOptions::default(), Some(Path::new("x/a.JSONL"))).unwrap(),
            Some(Format::Ndjson)
        );
        assert_eq!(format(&LoadOptions::default(), Some(Path::new("x.d/log"))).unwrap(), None);
        assert!(format(&LoadOptions::default(), Some(Path::new("a.csv.gz"))).is_err());
    }

    #[test]
    fn an_object_starts_ndjson_and_everything_else_is_csv() {
        assert_eq!(format_of_start(b" \n{\"a\":1}").unwrap(), Format::Ndjson);
        assert_eq!(format_of_start(b"a,b").unwrap(), Format::Csv);
        assert!(format_of_start(b"\x1f\x8b\x08").is_err());
    }
}
