//! Codecs whose libraries unpack a page to whatever size it turns out to have: here they stop at the size it claims.

use std::io::Read;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result};

/// What a window of brotli's input takes.
const BROTLI_BUFFER_BYTES: usize = 4096;

/// A codec that unpacks without an end.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unpacker {
    Gzip,
    Brotli,
}

impl Unpacker {
    /// `None`: the library's own codec stops by itself.
    pub(super) fn of(compression: Compression) -> Option<Self> {
        match compression {
            Compression::GZIP(_) => Some(Unpacker::Gzip),
            Compression::BROTLI(_) => Some(Unpacker::Brotli),
            _ => None,
        }
    }

    /// Unpacks `page` in place; its header claims `size` bytes for it.
    ///
    /// # Errors
    /// It is damaged, or has another size.
    pub(super) fn unpack(self, page: &mut Page, size: u64) -> Result<()> {
        let (bytes, levels) = match page {
            Page::DataPageV2 { is_compressed: false, .. } => return Ok(()),
            // Levels stand before what is packed.
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                (buf, u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len))
            }
            Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => (buf, 0),
        };
        *bytes = self.unpacked(bytes, usize::try_from(levels)?, usize::try_from(size)?)?;
        Ok(())
    }

    fn unpacked(self, bytes: &Bytes, levels: usize, size: usize) -> Result<Bytes> {
        let lie =
            || ParquetError::General(format!("a page claims {size} bytes and unpacks to another number"));
        let (levels, packed) = bytes.split_at_checked(levels).ok_or_else(lie)?;
        let left = size.checked_sub(levels.len()).ok_or_else(lie)?;
        let mut unpacked = Vec::with_capacity(size);
        unpacked.extend_from_slice(levels);
        // A page of nothing but NULL may have no stream at all.
        if left > 0 {
            // One more than claimed shows that there is more.
            let most = left as u64 + 1;
            match self {
                Unpacker::Gzip => {
                    flate2::read::MultiGzDecoder::new(packed).take(most).read_to_end(&mut unpacked)
                }
                Unpacker::Brotli => brotli::Decompressor::new(packed, BROTLI_BUFFER_BYTES)
                    .take(most)
                    .read_to_end(&mut unpacked),
            }?;
        }
        if unpacked.len() == size { Ok(unpacked.into()) } else { Err(lie()) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn page(zeros: usize) -> Page {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        writer.write_all(&vec![0; zeros]).unwrap();
        Page::DictionaryPage {
            buf: writer.finish().unwrap().into(),
            num_values: 1,
            encoding: parquet::basic::Encoding::PLAIN,
            is_sorted: false,
        }
    }

    #[test]
    fn a_page_that_unpacks_to_more_or_less_than_it_claims_is_refused() {
        let mut honest = page(1000);
        Unpacker::Gzip.unpack(&mut honest, 1000).unwrap();
        assert_eq!(honest.buffer().len(), 1000);
        for claimed in [999, 1001, 1] {
            let error = Unpacker::Gzip.unpack(&mut page(1000), claimed).unwrap_err().to_string();
            assert!(error.contains("unpacks to another number"), "{error}");
        }
        // A bomb is not unpacked to its end.
        let mut bomb = page(100_000_000);
        assert!(Unpacker::Gzip.unpack(&mut bomb, 10).is_err());
        assert!(bomb.buffer().len() < 200_000);
    }
}
