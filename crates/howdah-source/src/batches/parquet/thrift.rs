//! As much of Thrift's compact protocol as it takes to check Parquet's footers and page headers before they are decoded.

/// How deep columns may nest: decoders recurse, and a stack that overflows cannot be caught.
const MAX_DEPTH: usize = 64;

/// Types of the protocol that are looked at; the others are stepped over by number.
const I32: u8 = 5;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Fields of a footer.
const SCHEMA: i64 = 2;
const ENCRYPTION: i64 = 8;

/// Bytes of the compact protocol. Every method gives `None` where they end too early or mean nothing.
pub(super) struct Compact<'a> {
    bytes: &'a [u8],
}

impl<'a> Compact<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Compact { bytes }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    pub(super) fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let count = usize::try_from(count).ok().filter(|count| *count <= self.bytes.len())?;
        let (taken, rest) = self.bytes.split_at(count);
        self.bytes = rest;
        Some(taken)
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// The next field of a struct, its number and type; the inner `None` is the struct's end.
    fn field(&mut self, last: &mut i64) -> Option<Option<(i64, u8)>> {
        let byte = self.byte()?;
        let kind = byte & 0x0F;
        if kind == 0 {
            return Some(None);
        }
        *last = match byte >> 4 {
            0 => self.integer()?,
            delta => *last + i64::from(delta),
        };
        Some(Some((*last, kind)))
    }

    /// The type and number of a list's elements; each takes a byte at least.
    fn list(&mut self) -> Option<(u8, usize)> {
        let byte = self.byte()?;
        let count = match byte >> 4 {
            15 => usize::try_from(self.varint()?).ok()?,
            count => usize::from(count),
        };
        (count <= self.bytes.len()).then_some((byte & 0x0F, count))
    }

    /// Steps over a field of type `kind`.
    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match kind {
            1 | 2 => {}
            3 => _ = self.byte()?,
            4..=6 => _ = self.varint()?,
            7 => _ = self.take(8)?,
            8 => {
                let length = self.varint()?;
                self.take(length)?;
            }
            LIST | 10 => {
                let (kind, count) = self.list()?;
                for _ in 0..count {
                    self.skip_element(kind, depth + 1)?;
                }
            }
            11 => {
                let count = self.varint()?;
                if count > 0 {
                    let kinds = self.byte()?;
                    for _ in 0..count {
                        self.skip_element(kinds >> 4, depth + 1)?;
                        self.skip_element(kinds & 0x0F, depth + 1)?;
                    }
                }
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip(kind, depth + 1)?;
                }
            }
            13 => _ = self.take(16)?,
            _ => return None,
        }
        Some(())
    }

    /// Steps over an element of a collection, where a boolean takes a byte.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Option<()> {
        if matches!(kind, 1 | 2) { self.byte().map(drop) } else { self.skip(kind, depth) }
    }
}

/// The sizes that a page header claims, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PageSizes {
    pub(super) unpacked: i64,
    pub(super) packed: i64,
}

/// Reads the page header at the start of `bytes`; `None`: it is damaged, or goes on behind them.
pub(super) fn page_sizes(bytes: &[u8]) -> Option<PageSizes> {
    let mut header = Compact::new(bytes);
    let mut sizes = PageSizes::default();
    let mut last = 0;
    while let Some((id, kind)) = header.field(&mut last)? {
        match (id, kind) {
            (2, I32) => sizes.unpacked = header.integer()?,
            (3, I32) => sizes.packed = header.integer()?,
            _ => header.skip(kind, 0)?,
        }
    }
    Some(sizes)
}

/// Checks the tree of columns in a footer, which decoders build by recursion: its depth, and that every node that is
/// announced is there.
///
/// # Errors
/// What is wrong with it; or it says that pages are encrypted.
pub(super) fn check_footer(footer: &[u8]) -> Result<(), String> {
    let damaged = || "its footer is damaged".to_owned();
    let mut footer = Compact::new(footer);
    let mut last = 0;
    while let Some((id, kind)) = footer.field(&mut last).ok_or_else(damaged)? {
        if id == ENCRYPTION {
            return Err("it is encrypted".to_owned());
        }
        if (id, kind) != (SCHEMA, LIST) {
            footer.skip(kind, 0).ok_or_else(damaged)?;
            continue;
        }
        let (element, count) = footer.list().ok_or_else(damaged)?;
        if element != STRUCT {
            return Err(damaged());
        }
        // Children still to come, for every node that has some.
        let mut open: Vec<usize> = Vec::new();
        for at in 0..count {
            while open.pop_if(|left| *left == 0).is_some() {}
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
            let children = children(&mut footer).ok_or_else(damaged)?;
            if children > 0 {
                let children = usize::try_from(children).ok().filter(|children| *children < count - at);
                open.push(children.ok_or_else(damaged)?);
            }
            if open.len() > MAX_DEPTH {
                return Err(format!("its columns nest deeper than {MAX_DEPTH} levels"));
            }
        }
    }
    Ok(())
}

/// How many children the node at hand announces.
fn children(footer: &mut Compact<'_>) -> Option<i64> {
    let mut children = 0;
    let mut last = 0;
    while let Some((id, kind)) = footer.field(&mut last)? {
        match (id, kind) {
            (5, I32) => children = footer.integer()?,
            _ => footer.skip(kind, 0)?,
        }
    }
    Some(children)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer of `depth` groups in each other, each with one child.
    fn nested(depth: u8) -> Vec<u8> {
        let mut footer = vec![0x15, 0x02, 0x19, 0xFC, depth + 1];
        for _ in 0..depth {
            // name "g", one child.
            footer.extend([0x48, 1, b'g', 0x15, 2, 0]);
        }
        footer.extend([0x15, 2, 0x38, 1, b'v', 0, 0]);
        footer
    }

    #[test]
    fn columns_that_nest_without_end_are_refused_before_anybody_recurses() {
        assert_eq!(check_footer(&nested(60)), Ok(()));
        assert!(check_footer(&nested(65)).unwrap_err().contains("deeper than 64"));
    }

    #[test]
    fn a_node_that_announces_more_children_than_there_are_is_refused() {
        let mut footer = nested(3);
        let at = footer.iter().position(|byte| *byte == b'g').unwrap() + 2;
        footer[at] = 0x7E;
        assert!(check_footer(&footer).is_err());
    }

    #[test]
    fn a_page_header_is_read_only_when_it_is_whole() {
        // type 0, unpacked 300, packed 100, a data page header with one field, end.
        let header = [0x15, 0, 0x15, 0xD8, 0x04, 0x15, 0xC8, 0x01, 0x2C, 0x15, 2, 0, 0];
        assert_eq!(page_sizes(&header), Some(PageSizes { unpacked: 300, packed: 100 }));
        for end in 0..header.len() {
            assert_eq!(page_sizes(&header[..end]), None, "{end}");
        }
    }
}
