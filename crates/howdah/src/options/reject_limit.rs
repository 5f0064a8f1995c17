//! How many records may be refused.

/// The most records that may be refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RejectLimit {
    /// So many.
    Rows(u64),
    /// So many in a hundred of those read, judged at the end.
    Percent(f64),
}

impl RejectLimit {
    /// A number of records, or a share of them with a per cent sign; `None`: neither.
    pub fn parse(text: &str) -> Option<RejectLimit> {
        match text.strip_suffix('%') {
            Some(percent) => {
                let share = percent.trim().parse().ok().filter(|share| (0.0..=100.0).contains(share));
                share.map(RejectLimit::Percent)
            }
            None => text.parse().ok().map(RejectLimit::Rows),
        }
    }

    /// Whether `refused` of the records `read` are too many.
    pub(crate) fn is_passed(self, refused: u64, read: u64) -> bool {
        match self {
            RejectLimit::Rows(most) => refused > most,
            RejectLimit::Percent(most) => refused as f64 * 100.0 > most * read as f64,
        }
    }
}

impl std::fmt::Display for RejectLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RejectLimit::Rows(rows) => write!(f, "{rows}"),
            RejectLimit::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}
