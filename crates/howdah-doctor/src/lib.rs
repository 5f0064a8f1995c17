//! What holds loads into a PostgreSQL server back, and what can be done about it.
//!
//! [`Facts::look`] reads what a server and a table are like, without changing anything. [`diagnose`] holds that against rules,
//! which are pure functions: the same facts give the same [`Diagnosis`], here or on another machine years later. What could not
//! be seen is listed, and is never fine. Which share of a load's time a finding costs is known only where [`measure`] has led
//! rows into scratch copies of the table; no transaction with a row in it is ever committed.
//!
//! ```
//! # let database = howdah_testkit::Database::new();
//! # database.sql("CREATE UNLOGGED TABLE events (id int)");
//! # let target = howdah::Target::new(database.conninfo())?;
//! use howdah::Control;
//! use howdah::name::TableName;
//! use howdah_doctor::{Ask, Facts, diagnose};
//!
//! let facts = Facts::look(&target, Some(&TableName::parse("events")?), &Control::new())?;
//! let diagnosis = diagnose(&facts, &Ask::default(), None);
//! assert!(diagnosis.findings.iter().any(|finding| finding.id == "table.unlogged"));
//! # Ok::<(), howdah::Error>(())
//! ```

mod applied;
mod attachment;
mod attempt;
mod case;
mod change;
mod comparison;
mod diagnosis;
mod figures;
mod finding;
mod input;
mod measure;
mod measured;
mod owner;
mod prediction;
mod prescription;
mod remedies;
mod report;
mod rule;
mod rules;
mod saved;
mod scale;
mod script;
mod sql;
pub mod statistics;
#[cfg(test)]
mod testing;
mod trials;
mod undo;
mod verdict;
mod watched;

pub use applied::{Applied, AppliedSetting, Speed, SpeedFigure, SpeedRun, Turn};
pub use attachment::{Attachment, Variant};
pub use attempt::Attempt;
pub use case::{Ask, InputEstimate};
pub use change::{Change, Purpose};
pub use comparison::{Comparison, RateComparison, Ratio};
pub use diagnosis::{Diagnosis, NoDifference, diagnose};
pub use figures::{bytes, duration};
pub use finding::{Action, Basis, Effect, Finding, Gap, Remedy, Severity};
pub use howdah::facts::{Facts, WatchFacts};
pub use input::InputLook;
pub use measure::{ApplyStep, Limits, Wanted, apply, measure, put_back_left};
pub use measured::Measured;
pub use owner::{Owner, SettingBefore};
pub use prediction::{Prediction, Seconds};
pub use prescription::{Prescription, Tried};
pub use report::Report;
pub use rule::Rule;
pub use rules::{all, find};
pub use saved::{FORMAT, Saved};
pub use script::Script;
pub use trials::{
    BatchPath, BatchRun, BatchTrial, ClientTrial, CommitTrial, ConnectionsRun, ConnectionsTrial, GrowthTrial,
    LogFile, LogTrial, NetworkTrial, NotMeasured, Piece, Run, TableTrial, Trials,
};
pub use undo::Undo;
