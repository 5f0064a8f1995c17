//! Rows that a service writes all the time, one by one, through a buffer that makes batches of them: the second half of
//! study 5. Rows are made before the clock starts, and every row's acknowledgement is timed.

mod drive;
mod ledger;
mod options;
mod pace;
mod rows;
mod writer;

pub use drive::{Taker, drive, waiting};
pub use ledger::{Moment, Observed};
pub use options::{Buffer, Offer, Path, Peak};
pub use pace::{RowSchedule, Step};
pub use rows::Literals;
pub use writer::MeasuredWriter;
