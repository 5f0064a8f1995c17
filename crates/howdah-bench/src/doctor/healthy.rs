//! A server and a table that are well, and the doctor again and again: what it finds there is a false alarm.

use super::amount::Weight;
use super::columns::Columns;
use super::course::{Course, DOCTOR, OneRun};
use super::parts::HEALTHY;
use super::slowdown::{Around, Look};
use super::stand::Stand;
use crate::error::Error;

const SAYS: &str = "room for the log; an index into which no row goes, and a CHECK of a number";

/// How often the doctor looks.
pub(super) fn runs(quick: bool) -> u32 {
    if quick { 2 } else { 20 }
}

pub(super) fn measure(course: &mut Course) -> Result<(), Error> {
    let run = |round| OneRun { part: HEALTHY, series: DOCTOR, round, says: SAYS };
    let rounds = 1..=runs(course.quick);
    if !rounds.clone().any(|round| course.is_missing(run(round))) {
        rounds.for_each(|_| course.skip());
        return Ok(());
    }
    let columns = Columns::Documents;
    let (held, brought) =
        (course.amount.held(columns, Weight::Usual), course.amount.brought(columns, Weight::Usual));
    let rows = course.files.rows_to_come(columns, held, brought)?;
    let settings = [("max_wal_size", "8GB"), ("min_wal_size", "1GB")];
    // What such an index and such a CHECK cost is far below what is worth a word, beside a document that has to be read.
    let built = ["CREATE INDEX none ON events (id) WHERE id < 0", "ALTER TABLE events ADD CHECK (id >= 0)"];
    let stand = Stand::start(&course.clusters, &settings, Some(rows), &built, "")?;
    for round in rounds {
        if course.is_missing(run(round)) {
            stand.copy()?;
            course.look(run(round), &stand, Around::Nothing, Look::Measure)?;
        } else {
            course.skip();
        }
    }
    Ok(())
}
