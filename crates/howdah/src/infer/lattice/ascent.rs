//! Whether the integers of a column grow from record to record through the whole input, found out by threads that each see
//! some pieces of it. Such a column is unique, and could be the table's key.

use std::collections::BTreeMap;

/// What one piece, or several that follow each other, showed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PieceAscent {
    /// No record: a header alone, or rejected records.
    Empty,
    /// Growing from the first to the last.
    Growing(i64, i64),
    /// Not growing, or not integers.
    Other,
}

impl PieceAscent {
    /// Takes the next record's field into account.
    #[inline]
    pub(crate) fn see(&mut self, field: Option<&[u8]>) {
        let (PieceAscent::Empty | PieceAscent::Growing(..)) = *self else { return };
        let number = field.and_then(|field| std::str::from_utf8(field).ok()?.parse().ok());
        *self = match number {
            Some(number) => self.then(PieceAscent::Growing(number, number)),
            None => PieceAscent::Other,
        };
    }

    /// This growth and the one that follows it.
    fn then(self, next: PieceAscent) -> PieceAscent {
        match (self, next) {
            (PieceAscent::Empty, only) | (only, PieceAscent::Empty) => only,
            (PieceAscent::Growing(first, before), PieceAscent::Growing(after, last)) if before < after => {
                PieceAscent::Growing(first, last)
            }
            _ => PieceAscent::Other,
        }
    }
}

/// The growths seen so far. Neighbours are joined at once, so there are never more than threads.
#[derive(Debug, Default)]
pub(crate) struct Ascent {
    /// By the ordinal of the first piece: the ordinal behind the last one, and what they showed.
    growths: BTreeMap<u64, (u64, PieceAscent)>,
}

impl Ascent {
    /// Takes what the piece `ordinal` showed; each comes once.
    pub(crate) fn add(&mut self, ordinal: u64, growth: PieceAscent) {
        let (mut start, mut end, mut whole) = (ordinal, ordinal + 1, growth);
        if let Some((_, (behind, next))) = self.growths.remove_entry(&end) {
            (end, whole) = (behind, whole.then(next));
        }
        if let Some((&first, &(behind, before))) = self.growths.range(..ordinal).next_back()
            && behind == ordinal
        {
            (start, whole) = (first, before.then(whole));
        }
        self.growths.insert(start, (end, whole));
    }

    /// Whether there were records, all of them growing. Every piece must have been added.
    pub(crate) fn holds(&self) -> bool {
        let whole = self.growths.values().fold(PieceAscent::Empty, |whole, (_, next)| whole.then(*next));
        matches!(whole, PieceAscent::Growing(..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ascends(order: &[usize], pieces: &[&[&str]]) -> bool {
        let mut ascent = Ascent::default();
        for &at in order {
            let mut growth = PieceAscent::Empty;
            pieces[at].iter().for_each(|field| growth.see(Some(field.as_bytes()).filter(|f| !f.is_empty())));
            ascent.add(at as u64, growth);
            assert!(ascent.growths.len() <= 2, "neighbours stay apart");
        }
        ascent.holds()
    }

    #[test]
    fn only_what_grows_through_all_pieces_in_any_order_ascends() {
        let growing: [&[&str]; 5] = [&["-3", "1"], &[], &["2"], &["7", "8", "9"], &["10"]];
        for order in [[0, 1, 2, 3, 4], [1, 0, 2, 4, 3], [0, 2, 1, 3, 4], [1, 2, 0, 3, 4]] {
            assert!(ascends(&order, &growing), "{order:?}");
        }
        for broken in [&["8"][..], &["7"], &["6", ""], &["x"], &["9", "9"], &["99999999999999999999"]] {
            let mut pieces = growing;
            pieces[2] = broken;
            assert!(!ascends(&[0, 1, 2, 3, 4], &pieces), "{broken:?}");
        }
        assert!(!ascends(&[0], &[&[]]), "nothing at all");
    }
}
