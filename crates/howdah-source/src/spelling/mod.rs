//! Values that are spelled in another way than PostgreSQL reads them: dates, and numbers with a decimal comma.

pub mod date;
pub mod decimal;

pub use date::DateFormat;
