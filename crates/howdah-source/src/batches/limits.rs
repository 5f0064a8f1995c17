//! What a file may claim before anything is allocated for it, and how much of one is held in memory.

use arrow_schema::{DataType, Fields};

/// Rows of a batch: with the usual width of a row, a batch and its encoding stay in the second-level cache, and the cost
/// per batch does not show.
pub(crate) const BATCH_ROWS: u64 = 4096;

/// Bytes that a batch aims at where rows are wide: fewer rows then, down to one.
pub(crate) const BATCH_BYTES: u64 = 1 << 20;

/// The most that one Parquet page, or one value of fixed size, may unpack to. Pages are decoded one by one, so this and
/// not the size of a row group bounds memory; no value of PostgreSQL is larger.
pub(super) const MAX_PAGE_BYTES: u64 = 1 << 30;

/// The largest Parquet footer, and the largest description of an Arrow message.
pub(super) const MAX_FOOTER_BYTES: u64 = 256 << 20;

/// The most that one Arrow message may hold, packed or unpacked; it is decoded as a whole.
pub(super) const MAX_MESSAGE_BYTES: u64 = 2 << 30;

/// A Parquet file that cannot be read at any place (a pipe, a compressed one) is held in memory up to this size.
pub(super) const PIPED_PARQUET_BYTES: u64 = 256 << 20;

/// The most rows in one row group or message.
pub(super) const MAX_ROWS: u64 = 0x7FFF_FFFF;

/// How many rows of `bytes_per_row` make a batch.
pub(super) fn rows_per_batch(bytes_per_row: u64) -> u64 {
    (BATCH_BYTES / bytes_per_row.max(1)).clamp(1, BATCH_ROWS)
}

/// Bytes that one value takes in an array whatever it is, NULL among others.
pub(super) fn fixed_width(kind: &DataType) -> u64 {
    let of = |fields: &Fields| {
        fields.iter().map(|field| fixed_width(field.data_type())).fold(0, u64::saturating_add)
    };
    match kind {
        DataType::FixedSizeBinary(bytes) => u64::try_from(*bytes).unwrap_or(0),
        DataType::FixedSizeList(item, items) => {
            u64::try_from(*items).unwrap_or(0).saturating_mul(fixed_width(item.data_type()).max(1))
        }
        DataType::Struct(fields) => of(fields),
        DataType::Union(fields, _) => {
            fields.iter().map(|(_, field)| fixed_width(field.data_type())).fold(1, u64::saturating_add)
        }
        DataType::Null => 0,
        other => other.primitive_width().map_or(8, |width| width as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_rows_make_small_batches_and_none_is_empty() {
        assert_eq!(rows_per_batch(0), BATCH_ROWS);
        assert_eq!(rows_per_batch(100), BATCH_ROWS);
        assert_eq!(rows_per_batch(BATCH_BYTES / 8), 8);
        assert_eq!(rows_per_batch(u64::MAX), 1);
    }
}
