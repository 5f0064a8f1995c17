//! Whether something can be null, and why.

/// What is known of a column or expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Nullability {
    /// It can be null as far as is known.
    pub(crate) nullable: bool,
    /// Why, for people.
    pub(crate) because: String,
}

impl Nullability {
    pub(crate) fn nullable(because: impl Into<String>) -> Self {
        Nullability { nullable: true, because: because.into() }
    }

    pub(crate) fn not_null(because: impl Into<String>) -> Self {
        Nullability { nullable: false, because: because.into() }
    }
}
