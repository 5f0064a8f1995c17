//! Files that hold no text, known by their first bytes, and what to do with them instead.

use howdah_message::{Action, Message, setting};

/// Files without text in them that people try all the same: how they begin, what they are, where the text is to be had.
/// No mark could begin a text.
const NOT_TEXT: [(&[u8], &str, Instead); 16] = [
    (b"\x7fELF", "it is a program", Instead::Say("name the file that holds the rows")),
    (b"\xFF\xFE\0\0", UTF32, ICONV),
    (b"\0\0\xFE\xFF", UTF32, ICONV),
    (b"PAR1\x15", "it is a Parquet file", Instead::Format("parquet")),
    (b"ARROW1\0\0", "it is an Arrow file", Instead::Format("arrow")),
    (b"PK\x03\x04", "it is a zip archive or a spreadsheet", Instead::Unzip),
    (b"7z\xBC\xAF\x27\x1C", "it is a 7z archive", Instead::Unpack("7z e -so FILE")),
    (b"Rar!\x1A\x07", "it is a RAR archive", Instead::Unpack("unrar p -inul FILE")),
    (b"\x04\x22\x4D\x18", "it is compressed with lz4", Instead::Unpack("lz4 -dc FILE")),
    (
        b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
        "it is a spreadsheet (xls) or another document of Office",
        Instead::Say("save the sheet as CSV first"),
    ),
    (b"%PDF-", "it is a PDF document", Instead::Say("extract its table as CSV first")),
    (b"\x89PNG\r\n\x1A\n", "it is a picture", Instead::Say("name the file that holds the rows")),
    (b"\xFF\xD8\xFF", "it is a picture", Instead::Say("name the file that holds the rows")),
    (b"Obj\x01", "it is an Avro file", Instead::Say("convert it to Parquet or CSV first")),
    (b"PGDMP\x01", "it is an archive of pg_dump", Instead::Say("pg_restore loads it")),
    (
        b"SQLite for",
        "it is an SQLite database",
        Instead::Say("let it write CSV: sqlite3 -csv -header FILE 'SELECT * FROM t'"),
    ),
];

/// Which no encoding of ours is, and which looks like UTF-16 full of NULs.
const UTF32: &str = "it is text in UTF-32, which is not supported";
const ICONV: Instead = Instead::Say("convert it first: iconv -f UTF-32 -t UTF-8 FILE");

/// How to get at the text of a file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Instead {
    /// As another format.
    Format(&'static str),
    /// Out of a zip archive.
    Unzip,
    /// What a program writes of it.
    Unpack(&'static str),
    /// With another program.
    Say(&'static str),
}

impl Instead {
    fn hint(self) -> Message {
        match self {
            Instead::Format(format) => message![setting::FORMAT.word(format), " reads it"],
            Instead::Unzip => message![
                "unpack it: ",
                Action::LoadOutput("unzip -p FILE"),
                "; a spreadsheet is saved as CSV first"
            ],
            Instead::Unpack(program) => message!["unpack it: ", Action::LoadOutput(program)],
            Instead::Say(hint) => hint.into(),
        }
    }
}

/// A file that holds no text: an entry of [`NOT_TEXT`].
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub(super) struct NotText {
    pub(super) what: &'static str,
    pub(super) instead: Instead,
}

impl NotText {
    /// What begins with `bytes`, unless that can be text.
    pub(super) fn begins(bytes: &[u8]) -> Option<NotText> {
        if let Some((_, what, instead)) = NOT_TEXT.into_iter().find(|(mark, ..)| bytes.starts_with(mark)) {
            return Some(NotText { what, instead });
        }
        // Two ASCII characters without a mark; no other text has so many NULs.
        let is_utf32 = matches!(
            bytes,
            [1..=127, 0, 0, 0, 1..=127, 0, 0, 0, ..] | [0, 0, 0, 1..=127, 0, 0, 0, 1..=127, ..]
        );
        is_utf32.then_some(NotText { what: UTF32, instead: ICONV })
    }

    /// An archive of tar, which has its mark further on: behind the first file's name.
    pub(super) fn is_tar(bytes: &[u8]) -> Option<NotText> {
        let is_tar = bytes.get(257..262) == Some(b"ustar");
        is_tar.then_some(NotText { what: "it is a tar archive", instead: Instead::Unpack("tar -xOf FILE") })
    }

    /// What it is, and what to do instead.
    pub(super) fn explain(&self) -> (&'static str, Message) {
        (self.what, self.instead.hint())
    }
}
