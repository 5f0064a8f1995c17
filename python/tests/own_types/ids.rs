//! Types that a program has of its own, for columns that are numbers in the database.

use crate::howdah_postgres::Numeric;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserId(pub i64);

/// A number as it is.
pub type Id = i64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cents(pub i64);

impl Cents {
    /// What has parts of a cent is none.
    pub fn of(amount: &Numeric) -> Result<Self, String> {
        let text = amount.as_str();
        let (whole, parts) = text.split_once('.').unwrap_or((text, "00"));
        let count = format!("{whole}{parts}").parse().ok().filter(|_| parts.len() == 2);
        count.map(Self).ok_or(format!("{text} is no number of cents"))
    }

    /// More than a billion is no price.
    pub fn amount(&self) -> Result<Numeric, String> {
        let Self(count) = self;
        let text = format!("{}.{:02}", count / 100, count % 100);
        let small = (0..100_000_000_000).contains(count);
        small.then_some(()).ok_or("nobody has so much")?;
        text.parse().map_err(|_| text)
    }
}

/// Prices of which some are not known.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices(pub Vec<Option<Numeric>>);
