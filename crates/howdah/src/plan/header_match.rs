//! Whether the headers of several inputs can be those of one table.

use howdah_message::setting;
use howdah_source::layout::Header;
use howdah_source::listing::beginning;

use crate::catalog::snake::snake;
use crate::catalog::table::Table;
use crate::error::Error;
use crate::options::{ColumnNames, LoadOptions};
use crate::plan::columns::is_name;

/// Whether two headers mean the same column, for a load that makes of names what `names` says.
pub(crate) fn same_name(names: ColumnNames) -> fn(&str, &str) -> bool {
    fn folded(one: &str, other: &str) -> bool {
        one.to_lowercase() == other.to_lowercase()
    }
    match names {
        ColumnNames::Keep => folded,
        ColumnNames::Snake => {
            |one, other| folded(one, other) || !snake(one).is_empty() && snake(one) == snake(other)
        }
    }
}

/// Refuses inputs whose record 1 cannot be a header of the same table: it names nothing that the first names, nor the table's
/// columns.
///
/// # Errors
/// A usage error that names the input.
pub(crate) fn check(
    headers: &[Header],
    existing: Option<&Table>,
    options: &LoadOptions,
) -> Result<(), Error> {
    let Some((first_input, first)) = headers.first() else { return Ok(()) };
    let is_same = same_name(options.columns.column_names);
    for (input, header) in headers {
        let is_known = |name: &&String| {
            first.iter().any(|other| is_same(name, other))
                || existing.is_some_and(|table| is_name(name, table, options))
        };
        if !header.iter().any(|name| is_known(&name)) {
            return Err(Error::usage(format!(
                "record 1 of {input} names none of the columns of {first_input}"
            ))
            .with_detail(format!("there: {}; here: {}", beginning(first), beginning(header)))
            .with_hint(message![
                "files without a header need ",
                setting::HEADER.bool(false),
                ", or ",
                setting::COLUMNS.list(&["a", "b", "…"]),
                " for all; others a run of their own"
            ]));
        }
    }
    Ok(())
}
