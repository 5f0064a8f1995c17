//! Promotion where a statement says only that some row of it is bad: the landing table is inserted in segments, each under
//! a savepoint, until every row that the server does not take is known and all others are in.

use std::ops::Range;

use tokio_postgres::types::Type;

use super::attempt::PromotionRun;
use super::statements::RejectsTable;
use crate::error::{Error, ErrorKind};
use crate::send::bisect::Bisection;
use crate::send::row_error::is_about_a_row;
use crate::send::savepoint::Savepoint;

/// The least that a row takes of a page: its header and its line pointer.
const LEAST_ROW_BYTES: usize = 28;

/// What became of the rows.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) inserted: u64,
    pub(super) rejected: u64,
}

/// Inserts the rows of the landing table that `filter` picks, from its first page to its last; those that the server
/// refuses go to `rejects`. The server refused all of them together with `first`.
///
/// # Errors
/// Anything but the refusal of a row; a violation, unless such rows are wanted in `rejects` too.
pub(super) async fn promote(
    run: &PromotionRun<'_>,
    rejects: &RejectsTable,
    filter: &str,
    first: tokio_postgres::Error,
) -> Result<Counts, Error> {
    let promotion = run.promotion;
    let mut counts = Counts::default();
    let places = Places::of_landing(run).await?;
    let mut search = Bisection::new(places.count);
    let mut known = Some(first);
    while let Some(segment) = search.segment() {
        run.execute(&Savepoint::SEGMENT.set()).await?;
        let answer = match known.take() {
            Some(first) => Err(first),
            None => run.attempt(&promotion.insert_sql(&places.condition(segment, filter))).await?,
        };
        let found = match answer {
            Ok(rows) => {
                counts.inserted += rows;
                search.accepted()
            }
            Err(refusal) if is_about_a_row(&refusal) && !run.ends_with(&refusal) => {
                run.execute(&Savepoint::SEGMENT.roll_back()).await?;
                search.refused(None, refusal)
            }
            Err(refusal) => return Err(refusal.into()),
        };
        if let Some((row, refusal)) = found {
            reject(run, rejects, &places.tid(row), &refusal).await?;
            counts.rejected += 1;
        }
        run.execute(&Savepoint::SEGMENT.release()).await?;
    }
    // What has no pages has no rows that could be told apart.
    known.map_or(Ok(counts), |first| Err(first.into()))
}

/// Puts one row into the table for such rows; the savepoint is open and clean.
async fn reject(
    run: &PromotionRun<'_>,
    rejects: &RejectsTable,
    place: &str,
    refusal: &tokio_postgres::Error,
) -> Result<(), Error> {
    let promotion = run.promotion;
    let mut found = None;
    for reader in promotion.readers.iter().filter(|reader| !reader.takes_all) {
        let sql = format!(
            "SELECT ({}) IS NULL FROM ONLY {} l WHERE l.ctid = {place}",
            reader.expression, promotion.landing
        );
        if let Err(error) = run.attempt(&sql).await? {
            run.execute(&Savepoint::SEGMENT.roll_back()).await?;
            found = Some((reader.name.clone(), error));
            break;
        }
    }
    let (column, error) = match &found {
        Some((column, error)) => (Some(column.as_str()), error),
        None => (refusal.as_db_error().and_then(|db| db.column()), refusal),
    };
    let db = error.as_db_error();
    let sqlstate = db.map(|db| db.code().code());
    let reason = db.map(|db| match db.detail() {
        Some(detail) => format!("{}: {detail}", db.message()),
        None => db.message().to_owned(),
    });
    let sql = promotion.reject_one_sql(rejects, place);
    let values = [(&column as _, Type::TEXT), (&sqlstate as _, Type::TEXT), (&reason as _, Type::TEXT)];
    run.connection.client().execute_typed(&sql, &values).await?;
    Ok(())
}

/// The places for rows in the landing table, numbered from 0 in the order of its pages.
#[derive(Debug, Clone, Copy)]
struct Places {
    count: usize,
    per_page: usize,
}

impl Places {
    async fn of_landing(run: &PromotionRun<'_>) -> Result<Places, Error> {
        let sql = "select pg_catalog.pg_relation_size($1::pg_catalog.regclass),
                          pg_catalog.current_setting('block_size')::pg_catalog.int8";
        let rows = run.connection.client().query_typed(sql, &[(&run.promotion.landing, Type::TEXT)]).await?;
        let sizes = rows.first().and_then(|row| {
            let [bytes, page] = [0_usize, 1].map(|at| usize::try_from(row.get::<_, i64>(at)));
            Places::new(bytes.ok()?, page.ok()?)
        });
        sizes.ok_or_else(|| {
            Error::new(ErrorKind::Internal, "the places of the landing table's rows could not be numbered")
        })
    }

    /// Those of a table of `bytes` bytes; `None` where there are more than numbers.
    fn new(bytes: usize, page_bytes: usize) -> Option<Places> {
        // Rows of a page are numbered from 1.
        let per_page = page_bytes / LEAST_ROW_BYTES + 1;
        let count = bytes.checked_div(page_bytes)?.checked_mul(per_page)?;
        Some(Places { count, per_page })
    }

    /// The condition for the rows of `segment` that `filter` picks.
    fn condition(self, segment: Range<usize>, filter: &str) -> String {
        format!("l.ctid >= {} AND l.ctid < {} AND {filter}", self.tid(segment.start), self.tid(segment.end))
    }

    /// A place as SQL writes it.
    fn tid(self, place: usize) -> String {
        format!("'({},{})'::pg_catalog.tid", place / self.per_page, place % self.per_page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_that_a_page_can_have_has_a_place_of_its_own() {
        // A page has a header of 24 bytes.
        for (page, most) in [(8192, 291), (32768, 1169)] {
            let places = Places::new(3 * page, page).unwrap();
            assert!(places.per_page > most, "{places:?}");
            assert_eq!(places.count, 3 * places.per_page);
            assert_eq!(places.tid(places.per_page + most), format!("'(1,{most})'::pg_catalog.tid"));
            let all = "l.ctid >= '(0,0)'::pg_catalog.tid AND l.ctid < '(3,0)'::pg_catalog.tid AND x";
            assert_eq!(places.condition(0..places.count, "x"), all);
        }
    }
}
