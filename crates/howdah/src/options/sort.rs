//! The order in which rows are sent.

use std::fmt;
use std::str::FromStr;

use crate::catalog::name::TableName;
use crate::error::Error;

/// The order in which the rows of a part (16 MiB of input) are sent. Rows that are neighbours in an index find its pages in
/// the server's caches; what is in the table in the end is the same.
///
/// ```
/// use howdah::options::Sort;
///
/// let by: Sort = "events_pkey".parse()?;
/// assert_eq!(by, Sort::By("events_pkey".into()));
/// assert_eq!((by.to_string(), "auto".parse::<Sort>()?), ("events_pkey".into(), Sort::Auto));
/// # Ok::<(), howdah::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sort {
    /// That of the B-tree index for which it pays most, where rows do not come in it anyway; as they come where it pays for
    /// none.
    #[default]
    Auto,
    /// As they come.
    None,
    /// That of a B-tree index of the table.
    By(String),
}

impl FromStr for Sort {
    type Err = Error;

    /// `auto`, `none`, or the name of an index, which is read as SQL does: `"auto"` in double quotes is an index.
    fn from_str(text: &str) -> Result<Sort, Error> {
        Ok(match text {
            "auto" => Sort::Auto,
            "none" => Sort::None,
            name => Sort::By(TableName::parse(name)?.table),
        })
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sort::Auto => "auto",
            Sort::None => "none",
            Sort::By(index) => index,
        })
    }
}
