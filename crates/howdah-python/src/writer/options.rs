//! The keyword arguments of `howdah.Writer` in the engine's vocabulary.

use howdah::Error;
use howdah::writer::{Delivery, OnConflict, OnFull, WriterOptions, WriterPath};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::argument::Argument;

const MOST_ROWS: u64 = 1 << 31;
const MOST_BYTES: u64 = 1 << 40;
const MOST_CONNECTIONS: u64 = 1024;

/// The options that `given` asks for; what is not in it has its default.
///
/// # Errors
/// A usage error that names the argument.
pub(super) fn read(given: &Bound<'_, PyDict>) -> Result<WriterOptions, Error> {
    let mut options = WriterOptions::default();
    for (name, value) in given {
        let name = name.to_string();
        set(&mut options, &Argument { name: &name, value: &value })?;
    }
    Ok(options)
}

fn set(options: &mut WriterOptions, given: &Argument<'_, '_>) -> Result<(), Error> {
    match given.name {
        "columns" => options.columns = Some(given.columns()?),
        "max_rows" => options.max_rows = given.within(1, MOST_ROWS)?,
        "max_bytes" => options.max_bytes = given.within(1, MOST_BYTES)?,
        "max_age" => options.max_age = given.seconds()?,
        "connections" => options.connections = given.within(1, MOST_CONNECTIONS)?,
        "queue_rows" => options.queue_rows = given.within(1, MOST_ROWS)?,
        "queue_bytes" => options.queue_bytes = given.within(1, MOST_BYTES)?,
        "on_full" => options.on_full = given.on_full()?,
        "write_path" => {
            options.path = given.one_of(&[
                ("auto", WriterPath::Auto),
                ("copy", WriterPath::Copy),
                ("insert", WriterPath::Insert),
            ])?;
        }
        "copy_from_rows" => options.copy_from_rows = given.within(1, MOST_ROWS)?,
        "on_conflict" => {
            options.on_conflict =
                Some(given.one_of(&[("ignore", OnConflict::Ignore), ("update", OnConflict::Update)])?);
        }
        "conflict_key" => options.conflict_key = given.columns()?,
        "returning" => options.returning = given.columns()?,
        "latency_target" => options.latency_target = Some(given.seconds()?),
        "adaptive" => options.adaptive = given.flag()?,
        "delivery" => {
            options.delivery = given.one_of(&[
                ("exactly_once", Delivery::ExactlyOnce),
                ("at_least_once", Delivery::AtLeastOnce),
            ])?;
        }
        "retry_for" => options.retry_for = given.seconds()?,
        "discard" => options.discard = given.flag()?,
        unknown => return Err(Error::usage(format!("there is no argument {unknown}"))),
    }
    Ok(())
}

impl Argument<'_, '_> {
    fn on_full(&self) -> Result<OnFull, Error> {
        if let Ok(patience) = self.seconds() {
            return Ok(OnFull::WaitFor(patience));
        }
        self.one_of(&[("wait", OnFull::Wait), ("fail", OnFull::Fail)])
            .map_err(|_| self.refuse("\"wait\", \"fail\" or a number of seconds"))
    }
}
