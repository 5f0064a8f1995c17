//! Whether something can be null, and why.

/// What is known of a column or expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// It can be null as far as is known.
    pub(crate) nullable: bool,
    /// Why, for people.
    pub(crate) because: String,
}

impl Verdict {
    pub(crate) fn nullable(because: impl Into<String>) -> Self {
        Verdict { nullable: true, because: because.into() }
    }

    pub(crate) fn never(because: impl Into<String>) -> Self {
        Verdict { nullable: false, because: because.into() }
    }
}
