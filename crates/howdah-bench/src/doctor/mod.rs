//! Whether `howdah doctor` is right: slowdowns of known size are built into servers and tables, the doctor says what holds loads
//! back there and what goes of their time with a remedy, and real loads with and without that remedy show what does go.

mod amount;
mod call;
mod columns;
mod course;
mod files;
mod grid;
mod healthy;
mod judge;
mod page;
mod parts;
mod rounds;
mod slowdown;
mod stand;
mod states;
mod truth;

pub use parts::{NAME, parts};
pub use rounds::{DoctorOptions, measure};
pub use truth::Truths;
