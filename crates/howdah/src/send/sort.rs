//! The rows of a part in the order of an index: neighbours go into one page of it, where rows as they come would each look
//! for a page of their own.

use bytes::{Bytes, BytesMut};
use howdah_encode::binary_row::{BinaryRow, BrokenRow};

use crate::plan::sort_key::SortKey;
use crate::send::best_order::{self, IndexSample};

/// Rows that are looked at to see in which orders they come.
const SAMPLE: usize = 4096;

/// What is sent at once.
const BUFFER: usize = 256 * 1024;

/// Rows from this size on are sent from where they lie.
const LARGE_ROW: usize = 16 * 1024;

/// In which order the rows of a part are sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum SortRule {
    /// As they come.
    #[default]
    None,
    /// That which costs the server least: as they come, or that of an index.
    Best {
        /// The indexes.
        keys: Vec<SortKey>,
        /// Pages that the server keeps in memory.
        cache: u64,
    },
    /// That of one index, in any case.
    Always(SortKey),
}

impl SortRule {
    /// The indexes that come into question.
    pub(crate) fn keys(&self) -> &[SortKey] {
        match self {
            SortRule::None => &[],
            SortRule::Best { keys, .. } => keys,
            SortRule::Always(key) => std::slice::from_ref(key),
        }
    }
}

/// A row, in rows of several chunks.
#[derive(Debug, Clone, Copy)]
struct RowPlace {
    chunk: usize,
    start: usize,
    end: usize,
}

/// Rows in the order of an index.
#[derive(Debug)]
pub(crate) struct SortedRows<'c> {
    chunks: &'c [Bytes],
    places: Vec<RowPlace>,
    /// The index, by its place among the keys.
    pub(crate) by: usize,
    /// The number that each row had before.
    pub(crate) order: Vec<u32>,
}

/// The rows of `chunks`, in COPY's binary format, sorted by the `rule`; `None` where they are to stay as they are, or are no
/// whole rows, which the server will say.
pub(crate) fn sort<'c>(rule: &SortRule, chunks: &'c [Bytes]) -> Option<SortedRows<'c>> {
    let keys = rule.keys();
    let places = places(chunks).ok()?;
    let row = |place: &RowPlace| BinaryRow::new(&chunks[place.chunk][place.start..place.end]);
    let of = |key: &SortKey, place: &RowPlace| key.of(row(place)?);
    let by = if let SortRule::Best { cache, .. } = rule {
        let first = &places[..places.len().min(SAMPLE)];
        let sample = |key: &SortKey| {
            let keys: Result<Vec<u128>, BrokenRow> = first.iter().map(|place| of(key, place)).collect();
            keys.map(|keys| IndexSample { keys, pages: key.pages })
        };
        let samples: Result<Vec<IndexSample>, BrokenRow> = keys.iter().map(sample).collect();
        best_order::choose(&samples.ok()?, places.len() as u64, *cache)?
    } else {
        0
    };
    let key = keys.get(by)?;
    let mut sorted = Vec::with_capacity(places.len());
    for (number, place) in places.iter().enumerate() {
        sorted.push((of(key, place).ok()?, u32::try_from(number).ok()?));
    }
    // Rows of one key stay in their order, by their numbers.
    sorted.sort_unstable();
    let order = sorted.into_iter().map(|(_, number)| number).collect();
    Some(SortedRows { chunks, places, by, order })
}

fn places(chunks: &[Bytes]) -> Result<Vec<RowPlace>, BrokenRow> {
    let mut places = Vec::new();
    for (chunk, bytes) in chunks.iter().enumerate() {
        let mut start = 0;
        while start < bytes.len() {
            let behind = BinaryRow::new(&bytes[start..])?.behind()?;
            let end = bytes.len() - behind.len();
            places.push(RowPlace { chunk, start, end });
            start = end;
        }
    }
    Ok(places)
}

impl SortedRows<'_> {
    /// The rows, several at a time, with how many they are.
    pub(crate) fn buffers(&self) -> impl Iterator<Item = (Bytes, u64)> {
        let mut rows = self.order.iter().map(|number| self.places[*number as usize]).peekable();
        std::iter::from_fn(move || {
            let first = rows.next()?;
            if first.end - first.start >= LARGE_ROW {
                return Some((self.chunks[first.chunk].slice(first.start..first.end), 1));
            }
            let mut buffer = BytesMut::with_capacity(BUFFER + LARGE_ROW);
            let mut count = 0;
            let mut next = Some(first);
            while let Some(place) = next {
                buffer.extend_from_slice(&self.chunks[place.chunk][place.start..place.end]);
                count += 1;
                next = rows.next_if(|place| buffer.len() < BUFFER && place.end - place.start < LARGE_ROW);
            }
            Some((buffer.freeze(), count))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::sort_key::tests::sort_key;

    fn best(fields: &[usize], pages: &[u64]) -> SortRule {
        let keys = fields.iter().zip(pages).map(|(at, pages)| sort_key(*at, *pages)).collect();
        SortRule::Best { keys, cache: 16_384 }
    }

    /// A row of two bigints.
    fn row(a: i64, b: i64) -> Vec<u8> {
        let field = |value: i64| [8i32.to_be_bytes().to_vec(), value.to_be_bytes().to_vec()].concat();
        [vec![0, 2], field(a), field(b)].concat()
    }

    fn chunks(rows: &[(i64, i64)]) -> Vec<Bytes> {
        rows.chunks(100)
            .map(|rows| rows.iter().flat_map(|(a, b)| row(*a, *b)).collect::<Vec<u8>>().into())
            .collect()
    }

    fn sent(sorted: &SortedRows<'_>) -> Vec<u8> {
        sorted.buffers().flat_map(|(bytes, _)| bytes).collect()
    }

    /// Numbers without an order.
    fn scattered(n: i64) -> i64 {
        n * 7919 % 10_007
    }

    #[test]
    fn rows_come_sorted_and_are_led_back_to_their_place() {
        let rows: Vec<_> = (0..5000).map(|n| (scattered(n), n)).collect();
        let chunks = chunks(&rows);
        let sorted = sort(&best(&[0], &[1000]), &chunks).unwrap();
        let mut expected: Vec<_> = rows.iter().copied().zip(0..).collect();
        expected.sort_by_key(|((a, _), _)| *a);
        assert!(sent(&sorted) == expected.iter().flat_map(|((a, b), _)| row(*a, *b)).collect::<Vec<u8>>());
        assert_eq!(sorted.order, expected.iter().map(|(_, number)| *number).collect::<Vec<u32>>());
        assert_eq!(sorted.buffers().map(|(_, rows)| rows).sum::<u64>(), 5000);
    }

    #[test]
    fn an_index_is_taken_only_where_it_pays() {
        // In order and without order, and without order but of few keys.
        let of = |rows: &[(i64, i64)], pages: [u64; 2]| {
            sort(&best(&[0, 1], &pages), &chunks(rows)).map(|sorted| sorted.by)
        };
        let ordered: Vec<_> = (0..5000).map(|n| (n, scattered(n))).collect();
        assert_eq!(of(&ordered, [9000, 1000]), Some(1));
        assert_eq!(of(&ordered, [9000, 100]), None);
        let few: Vec<_> = (0..5000).map(|n| (scattered(n) % 100, n)).collect();
        assert_eq!(of(&few, [9000, 9000]), None);
        assert!(sort(&SortRule::Always(sort_key(0, 1)), &chunks(&few)).is_some());
        assert!(sort(&SortRule::None, &chunks(&few)).is_none());
    }

    #[test]
    fn a_large_row_is_sent_from_where_it_lies() {
        let large =
            [&[0, 1][..], &i32::try_from(LARGE_ROW).unwrap().to_be_bytes(), &vec![7; LARGE_ROW]].concat();
        let chunks = [Bytes::from(large.clone())];
        let rows = SortedRows { chunks: &chunks, places: places(&chunks).unwrap(), by: 0, order: vec![0] };
        let sent: Vec<_> = rows.buffers().collect();
        assert_eq!(sent, [(chunks[0].clone(), 1)]);
        assert_eq!(sent[0].0.as_ptr(), chunks[0].as_ptr());
    }

    #[test]
    fn what_is_no_row_is_left_to_the_server() {
        assert!(sort(&best(&[0], &[1000]), &[Bytes::from_static(&[0, 1, 0, 0, 0, 9])]).is_none());
        assert!(sort(&best(&[5], &[1000]), &chunks(&[(1, 2)])).is_none());
        assert!(sort(&best(&[0], &[1000]), &[]).is_none());
    }
}
