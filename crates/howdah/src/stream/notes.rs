//! What a transaction notes of the place of the rows that it writes: the ranges that they settle, as long as the place is its stream's.

use std::ops::Range;

use crate::writer::{Entry, Participant, Tag};

/// Nobody has a setting of this name: asking for it is how a statement fails whose stream has lost its place to another, with an
/// error that no row can bring about.
pub(super) const LOST: &str = "howdah.another_stream_has_the_place";

/// Rows of a batch are mostly neighbours; where they are not (keys go over several connections), a statement notes so many ranges.
const MOST_RANGES: usize = 64;

/// What a writer notes with rows.
pub(super) struct Notes {
    pub(super) stream: String,
    pub(super) relation: String,
    pub(super) owner: String,
}

impl Notes {
    fn entry(&self, ranges: &[Range<i64>]) -> Entry {
        let Notes { stream, relation, owner } = self;
        let values = (0..ranges.len()).map(|n| {
            format!(
                "(pg_catalog.int8range(${}::pg_catalog.int8, ${}::pg_catalog.int8))",
                2 * n + 1,
                2 * n + 2
            )
        });
        let values = values.collect::<Vec<_>>().join(", ");
        // The row is held so that who takes the place over waits for us, and read anew if somebody did.
        let sql = format!(
            "INSERT INTO {relation} (stream, settled) SELECT '{stream}', CASE (SELECT true FROM {relation} \
             WHERE stream = '{stream}' AND owner = '{owner}' FOR KEY SHARE) WHEN true THEN pg_catalog.range_agg(r) \
             ELSE pg_catalog.current_setting('{LOST}')::pg_catalog.int8multirange END FROM (VALUES {values}) AS v (r)"
        );
        Entry {
            name: format!("howdah_place_{owner}_{}", ranges.len()).into(),
            sql: sql.into(),
            parameters: ranges.iter().flat_map(|range| [range.start, range.end]).collect(),
        }
    }
}

impl Participant for Notes {
    /// The settling side does, once they are in the reject file.
    fn counts_refused(&self) -> bool {
        false
    }

    fn entries(&self, tags: &[Tag]) -> Vec<Entry> {
        let mut tags = tags.to_vec();
        tags.sort_unstable_by_key(|tag| tag.start);
        let mut runs: Vec<Range<i64>> = Vec::new();
        for tag in tags {
            match runs.last_mut() {
                Some(run) if run.end == tag.start => run.end = tag.end,
                _ => runs.push(tag),
            }
        }
        // Few lengths: each is a statement that has to be prepared.
        let (many, few) = runs.split_at(runs.len() - runs.len() % MOST_RANGES);
        let many = many.chunks(MOST_RANGES).map(|ranges| self.entry(ranges));
        many.chain(few.chunks(1).map(|range| self.entry(range))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_neighbours_are_one_and_many_share_a_statement() {
        let notes = Notes { stream: "s".into(), relation: "t".into(), owner: "o".into() };
        let lengths = |tags: &[Tag]| -> Vec<Vec<i64>> {
            notes.entries(tags).into_iter().map(|entry| entry.parameters).collect()
        };
        assert_eq!(lengths(&[4..6, 0..2, 2..4]), [[0, 6]]);
        assert_eq!(lengths(&[0..2, 4..6]), [[0, 2], [4, 6]]);
        let apart: Vec<Tag> = (0..65).map(|n| 3 * n..3 * n + 2).collect();
        assert_eq!(lengths(&apart).iter().map(Vec::len).collect::<Vec<_>>(), [2 * MOST_RANGES, 2]);
    }
}
