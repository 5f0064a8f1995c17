//! Promotion where a statement says only that some row of it is bad: the landing table is halved, each half under a
//! savepoint, until every row that the server does not want is known and all others are in.

use tokio_postgres::types::Type;

use super::run::Run;
use super::statements::RejectsTable;
use crate::error::{Error, ErrorKind};
use crate::narrow::is_about_a_row;

/// A page has fewer rows than this, whatever its size.
const MOST_ROWS_A_PAGE: u64 = 2048;

/// Bits of a place for the row in its page; the page stands above.
const ROW_BITS: u32 = 16;

/// What became of the rows.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) inserted: u64,
    pub(super) rejected: u64,
}

/// Inserts the rows of the landing table that `filter` picks, from its first page to its last; those that the server
/// refuses go to `rejects`. Rows before a refused one are settled first, since one bad row can be the reason for another.
///
/// # Errors
/// Anything but the refusal of a row; a violation, unless such rows are wanted in `rejects` too.
pub(super) async fn promote(run: &Run<'_>, rejects: &RejectsTable, filter: &str) -> Result<Counts, Error> {
    let promotion = run.promotion;
    let mut counts = Counts::default();
    let mut open = vec![(0, pages(run).await? << ROW_BITS)];
    while let Some((from, to)) = open.pop() {
        run.execute("SAVEPOINT howdah_rows").await?;
        let range = format!("l.ctid >= {} AND l.ctid < {} AND {filter}", place(from), place(to));
        let inserted = run.attempt(&promotion.insert_sql(&range)).await?;
        let refusal = match inserted {
            Ok(rows) => {
                counts.inserted += rows;
                run.execute("RELEASE SAVEPOINT howdah_rows").await?;
                continue;
            }
            Err(refusal) if is_about_a_row(&refusal) && !run.ends_with(&refusal) => refusal,
            Err(refusal) => return Err(refusal.into()),
        };
        run.execute("ROLLBACK TO SAVEPOINT howdah_rows").await?;
        if to - from > 1 {
            let (middle, to) = halved(from, to);
            open.push((middle, to));
            open.push((from, middle));
        } else {
            reject(run, rejects, &place(from), &refusal).await?;
            counts.rejected += 1;
        }
        run.execute("RELEASE SAVEPOINT howdah_rows").await?;
    }
    Ok(counts)
}

/// Puts one row into the table for such rows; the savepoint is open and clean.
async fn reject(
    run: &Run<'_>,
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
            run.execute("ROLLBACK TO SAVEPOINT howdah_rows").await?;
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

async fn pages(run: &Run<'_>) -> Result<u64, Error> {
    let sql = "select pg_catalog.pg_relation_size($1::pg_catalog.regclass)
                      / pg_catalog.current_setting('block_size')::pg_catalog.int8";
    let rows = run.connection.client().query_typed(sql, &[(&run.promotion.landing, Type::TEXT)]).await?;
    let pages = rows.first().and_then(|row| row.get::<_, Option<i64>>(0));
    let pages = pages.and_then(|pages| u64::try_from(pages).ok());
    pages.ok_or_else(|| {
        Error::new(ErrorKind::Internal, "the server did not answer with the size of the table")
    })
}

/// The middle of a range of more than one place, and its end, which comes nearer where only room for more rows than a page
/// has lies before it.
fn halved(from: u64, to: u64) -> (u64, u64) {
    let (first, last) = (from >> ROW_BITS, (to - 1) >> ROW_BITS);
    if first != last {
        return ((first + last).div_ceil(2) << ROW_BITS, to);
    }
    let to = to.min((first << ROW_BITS) + MOST_ROWS_A_PAGE);
    (from + (to - from) / 2, to)
}

/// As SQL writes it.
fn place(at: u64) -> String {
    format!("'({},{})'::pg_catalog.tid", at >> ROW_BITS, at & ((1 << ROW_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_ends_at_every_row_and_leaves_none_out() {
        let rows: Vec<u64> =
            [(0, 1), (0, 291), (1, 1), (2, 7), (4, 1170)].iter().map(|(p, r)| (p << ROW_BITS) + r).collect();
        let (mut open, mut found) = (vec![(0, 5 << ROW_BITS)], Vec::new());
        while let Some((from, to)) = open.pop() {
            if !rows.iter().any(|row| (from..to).contains(row)) {
                continue;
            }
            if to - from == 1 {
                found.push(from);
                continue;
            }
            let (middle, to) = halved(from, to);
            assert!(from < middle && middle < to);
            open.extend([(middle, to), (from, middle)]);
        }
        assert_eq!(found, rows);
    }
}
