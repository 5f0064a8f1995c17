//! Values that are spelled in another way than PostgreSQL reads them: dates, and numbers with a decimal comma.

pub(crate) mod date;
pub(crate) mod decimal;

pub use date::DateFormat;
