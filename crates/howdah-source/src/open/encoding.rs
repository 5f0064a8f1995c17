//! The encodings that can be named, by PostgreSQL's names and the WHATWG's, and what each of their bytes means.

use howdah_message::setting;

use crate::error::Error;

/// The encoding of an input's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding {
    name: &'static str,
    /// How its bytes become characters.
    pub decoding: Decoding,
}

/// The way in which bytes become characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoding {
    /// They are UTF-8 already.
    Utf8,
    /// Either byte order: the byte order mark says which.
    Utf16,
    /// One byte a character.
    Bytewise(&'static encoding_rs::Encoding),
    /// Sequences.
    Sequences(&'static encoding_rs::Encoding),
}

/// PostgreSQL's encodings: its name, the WHATWG's label of the same characters, other names (without punctuation). Of several
/// with one label the last is the widest: that is what the WHATWG means.
const POSTGRES: &[(&str, &str, &[&str])] = &[
    ("LATIN1", "windows-1252", &["iso88591", "l1", "cp819", "ibm819"]),
    ("LATIN2", "iso-8859-2", &["iso88592"]),
    ("LATIN3", "iso-8859-3", &["iso88593"]),
    ("LATIN4", "iso-8859-4", &["iso88594"]),
    ("LATIN5", "windows-1254", &["iso88599", "l5"]),
    ("LATIN6", "iso-8859-10", &["iso885910"]),
    ("LATIN7", "iso-8859-13", &["iso885913"]),
    ("LATIN8", "iso-8859-14", &["iso885914"]),
    ("LATIN9", "iso-8859-15", &["iso885915"]),
    ("LATIN10", "iso-8859-16", &["iso885916"]),
    ("ISO_8859_5", "iso-8859-5", &[]),
    ("ISO_8859_6", "iso-8859-6", &[]),
    ("ISO_8859_7", "iso-8859-7", &[]),
    ("ISO_8859_8", "iso-8859-8", &[]),
    ("WIN866", "ibm866", &["alt", "windows866", "cp866"]),
    ("WIN874", "windows-874", &["windows874", "cp874"]),
    ("WIN1250", "windows-1250", &["windows1250", "cp1250"]),
    ("WIN1251", "windows-1251", &["windows1251", "cp1251", "win"]),
    ("WIN1252", "windows-1252", &["windows1252", "cp1252"]),
    ("WIN1253", "windows-1253", &["windows1253", "cp1253"]),
    ("WIN1254", "windows-1254", &["windows1254", "cp1254"]),
    ("WIN1255", "windows-1255", &["windows1255", "cp1255"]),
    ("WIN1256", "windows-1256", &["windows1256", "cp1256"]),
    ("WIN1257", "windows-1257", &["windows1257", "cp1257"]),
    ("WIN1258", "windows-1258", &["windows1258", "cp1258", "abc", "tcvn", "tcvn5712", "vscii"]),
    ("KOI8R", "koi8-r", &["koi8"]),
    ("KOI8U", "koi8-u", &[]),
    ("SJIS", "shift_jis", &["shiftjis", "mskanji", "windows932", "win932", "cp932"]),
    ("BIG5", "big5", &["windows950", "win950", "cp950"]),
    ("GB18030", "gb18030", &[]),
    ("EUC_JP", "euc-jp", &[]),
    ("EUC_CN", "gbk", &[]),
    ("GBK", "gbk", &["windows936", "win936", "cp936"]),
    ("EUC_KR", "euc-kr", &[]),
    ("UHC", "euc-kr", &["windows949", "win949", "cp949"]),
];

/// What PostgreSQL knows and we do not: its name and iconv's.
const UNKNOWN: [(&str, &str); 4] = [
    ("EUC_TW", "EUC-TW"),
    ("JOHAB", "JOHAB"),
    ("EUC_JIS_2004", "EUC-JISX0213"),
    ("SHIFT_JIS_2004", "SHIFT_JISX0213"),
];

impl Encoding {
    /// UTF-8.
    pub const UTF8: Encoding = Encoding { name: "UTF8", decoding: Decoding::Utf8 };
    /// UTF-16, the low byte of each unit first.
    pub const UTF16LE: Encoding =
        Encoding { name: "UTF-16LE", decoding: Decoding::Sequences(encoding_rs::UTF_16LE) };
    /// UTF-16, the high byte of each unit first.
    pub const UTF16BE: Encoding =
        Encoding { name: "UTF-16BE", decoding: Decoding::Sequences(encoding_rs::UTF_16BE) };

    /// The encoding called `name`. Case and punctuation do not matter; where PostgreSQL and the WHATWG mean different
    /// encodings by one name (LATIN1), PostgreSQL is right.
    ///
    /// # Errors
    /// A usage error: nobody calls an encoding so, or it cannot be decoded here.
    pub fn named(name: &str) -> Result<Encoding, Error> {
        let plain = simplified(name);
        match plain.as_str() {
            "utf8" | "unicode" | "sqlascii" | "ascii" | "usascii" => return Ok(Encoding::UTF8),
            "utf16" => return Ok(Encoding { name: "UTF-16", decoding: Decoding::Utf16 }),
            _ => {}
        }
        for (postgres, label, others) in POSTGRES {
            if simplified(postgres) == plain || others.contains(&plain.as_str()) {
                return Ok(Encoding { name: postgres, decoding: Decoding::of(whatwg(label)) });
            }
        }
        let refuse = |why: &str| Error::usage(message![setting::ENCODING.word(name.to_owned()), ": {why}"]);
        if let Some((_, iconv)) = UNKNOWN.iter().find(|(postgres, _)| simplified(postgres) == plain) {
            return Err(refuse("howdah cannot decode it")
                .with_hint(format!("convert the input first: iconv -f {iconv} -t UTF-8")));
        }
        match encoding_rs::Encoding::for_label_no_replacement(name.as_bytes()) {
            Some(found) if found != encoding_rs::X_USER_DEFINED => Ok(Encoding::from_whatwg(found)),
            _ => Err(refuse("there is no such encoding")
                .with_hint("for example UTF8, LATIN1, WIN1252, WIN1251, SJIS, GB18030, UTF-16LE")),
        }
    }

    /// The encoding under PostgreSQL's name, where it has one.
    pub fn from_whatwg(found: &'static encoding_rs::Encoding) -> Encoding {
        if found == encoding_rs::UTF_8 {
            return Encoding::UTF8;
        }
        let widest = POSTGRES.iter().rev().find(|(_, label, _)| whatwg(label) == found);
        let name = widest.map_or(found.name(), |(postgres, _, _)| postgres);
        Encoding { name, decoding: Decoding::of(found) }
    }

    /// PostgreSQL's name, else the WHATWG's.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What each byte from 0x80 means where a byte is a character, in UTF-8; `None` where it means nothing. Exactly what
    /// PostgreSQL's conversions of the same names say.
    pub fn high_half(&self) -> Option<Vec<Option<char>>> {
        let Decoding::Bytewise(table) = self.decoding else { return None };
        let meaning = |byte: u8| match (self.name, byte) {
            ("LATIN1" | "LATIN5", 0x80..=0x9F) => Some(char::from(byte)),
            ("KOI8U", 0xAE) => Some('╝'),
            ("KOI8U", 0xBE) => Some('╬'),
            // A best fit of Windows' own, which its table does not list.
            ("WIN1255", 0xCA) => None,
            _ => {
                let found =
                    table.decode_without_bom_handling_and_without_replacement(&[byte])?.chars().next();
                // The WHATWG fills the gaps of Windows' encodings with control characters.
                let is_filler = |c: &char| self.name.starts_with("WIN") && ('\u{80}'..='\u{9f}').contains(c);
                found.filter(|c| !is_filler(c))
            }
        };
        Some((0x80..=0xFF).map(meaning).collect())
    }

    /// What `bytes` are in this encoding; `None` if it does not define some of them.
    pub fn reads(&self, bytes: &[u8]) -> Option<String> {
        match self.decoding {
            Decoding::Utf8 => std::str::from_utf8(bytes).ok().map(str::to_owned),
            Decoding::Bytewise(_) => {
                let high = self.high_half()?;
                let meaning = |byte: &u8| match byte.checked_sub(0x80) {
                    Some(at) => high.get(usize::from(at)).copied().flatten(),
                    None => Some(char::from(*byte)),
                };
                bytes.iter().map(meaning).collect()
            }
            Decoding::Utf16 => encoding_rs::UTF_16LE
                .decode_without_bom_handling_and_without_replacement(bytes)
                .map(Into::into),
            Decoding::Sequences(table) => {
                table.decode_without_bom_handling_and_without_replacement(bytes).map(Into::into)
            }
        }
    }

    /// Whether an input that is said to be in this encoding may start with the byte order mark of `marked`.
    pub fn admits(&self, marked: Encoding) -> bool {
        *self == marked || (self.decoding == Decoding::Utf16 && marked != Encoding::UTF8)
    }

    /// Whether the encoding adds letters to those of ASCII, and no other script.
    pub fn is_latin(&self) -> bool {
        let e_acute = usize::from(0xE9_u8 - 0x80);
        let meaning = self.high_half().and_then(|high| high.get(e_acute).copied().flatten());
        meaning.is_some_and(|c| matches!(c, '\u{c0}'..='\u{24f}'))
    }

    /// Whether one byte is one character.
    pub fn is_bytewise(&self) -> bool {
        matches!(self.decoding, Decoding::Bytewise(_))
    }
}

impl Decoding {
    fn of(found: &'static encoding_rs::Encoding) -> Decoding {
        if found == encoding_rs::UTF_8 {
            Decoding::Utf8
        } else if found.is_single_byte() {
            Decoding::Bytewise(found)
        } else {
            Decoding::Sequences(found)
        }
    }
}

fn simplified(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn whatwg(label: &str) -> &'static encoding_rs::Encoding {
    encoding_rs::Encoding::for_label(label.as_bytes()).unwrap_or(encoding_rs::WINDOWS_1252)
}
