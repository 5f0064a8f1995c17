//! Where the values of a row lie in another array: dictionary keys, run ends, the offsets of lists.

use std::ops::Range;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_buffer::RunEndBuffer;
use arrow_schema::DataType;

/// A place that an array names.
///
/// A negative one is allowed where a row is NULL, and is then not used. It becomes one beyond the end of every array, so
/// that using it panics instead of reading another value.
#[inline]
fn place(number: impl TryInto<usize>) -> usize {
    number.try_into().unwrap_or(usize::MAX)
}

/// The keys of a dictionary array.
pub(super) enum Keys<'a> {
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    UInt8(&'a [u8]),
    UInt16(&'a [u16]),
    UInt32(&'a [u32]),
    UInt64(&'a [u64]),
}

impl<'a> Keys<'a> {
    pub(super) fn bind(keys: &'a dyn Array) -> Option<Self> {
        Some(match keys.data_type() {
            DataType::Int8 => Keys::Int8(keys.as_primitive::<Int8Type>().values()),
            DataType::Int16 => Keys::Int16(keys.as_primitive::<Int16Type>().values()),
            DataType::Int32 => Keys::Int32(keys.as_primitive::<Int32Type>().values()),
            DataType::Int64 => Keys::Int64(keys.as_primitive::<Int64Type>().values()),
            DataType::UInt8 => Keys::UInt8(keys.as_primitive::<UInt8Type>().values()),
            DataType::UInt16 => Keys::UInt16(keys.as_primitive::<UInt16Type>().values()),
            DataType::UInt32 => Keys::UInt32(keys.as_primitive::<UInt32Type>().values()),
            DataType::UInt64 => Keys::UInt64(keys.as_primitive::<UInt64Type>().values()),
            _ => return None,
        })
    }

    /// The place of a row's value. The place of a NULL must not be used.
    #[inline]
    pub(super) fn at(&self, row: usize) -> usize {
        match self {
            Keys::Int8(keys) => place(keys[row]),
            Keys::Int16(keys) => place(keys[row]),
            Keys::Int32(keys) => place(keys[row]),
            Keys::Int64(keys) => place(keys[row]),
            Keys::UInt8(keys) => place(keys[row]),
            Keys::UInt16(keys) => place(keys[row]),
            Keys::UInt32(keys) => place(keys[row]),
            Keys::UInt64(keys) => place(keys[row]),
        }
    }
}

/// The run ends of a run-end encoded array.
pub(super) enum Runs<'a> {
    Int16(&'a RunEndBuffer<i16>),
    Int32(&'a RunEndBuffer<i32>),
    Int64(&'a RunEndBuffer<i64>),
}

impl<'a> Runs<'a> {
    /// The runs and the array of their values.
    pub(super) fn bind(array: &'a dyn Array) -> Option<(Self, &'a dyn Array)> {
        let DataType::RunEndEncoded(ends, _) = array.data_type() else { return None };
        Some(match ends.data_type() {
            DataType::Int16 => {
                let runs = array.as_run::<Int16Type>();
                (Runs::Int16(runs.run_ends()), &**runs.values())
            }
            DataType::Int32 => {
                let runs = array.as_run::<Int32Type>();
                (Runs::Int32(runs.run_ends()), &**runs.values())
            }
            DataType::Int64 => {
                let runs = array.as_run::<Int64Type>();
                (Runs::Int64(runs.run_ends()), &**runs.values())
            }
            _ => return None,
        })
    }

    pub(super) fn at(&self, row: usize) -> usize {
        match self {
            Runs::Int16(ends) => ends.get_physical_index(row),
            Runs::Int32(ends) => ends.get_physical_index(row),
            Runs::Int64(ends) => ends.get_physical_index(row),
        }
    }
}

/// Where the items of each list are.
pub(super) enum Ranges<'a> {
    Small(&'a [i32]),
    Large(&'a [i64]),
    /// The number of items that every list has.
    Fixed(usize),
    /// Offsets and sizes.
    SmallView(&'a [i32], &'a [i32]),
    LargeView(&'a [i64], &'a [i64]),
}

impl Ranges<'_> {
    #[inline]
    pub(super) fn at(&self, row: usize) -> Range<usize> {
        match *self {
            Ranges::Small(offsets) => place(offsets[row])..place(offsets[row + 1]),
            Ranges::Large(offsets) => place(offsets[row])..place(offsets[row + 1]),
            Ranges::Fixed(size) => row * size..(row + 1) * size,
            Ranges::SmallView(offsets, sizes) => {
                let start = place(offsets[row]);
                start..start.saturating_add(place(sizes[row]))
            }
            Ranges::LargeView(offsets, sizes) => {
                let start = place(offsets[row]);
                start..start.saturating_add(place(sizes[row]))
            }
        }
    }
}
