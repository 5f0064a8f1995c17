//! Small files that break readers of CSV: the ones people thought of, and seeded ones that nobody did.

use super::{Dialect, Grammar};

/// `count` files of all dialects, always the same ones for a seed. Some are faulty. All are UTF-8 as they stand, though
/// escapes of the text format may stand for bytes that are not.
pub(crate) fn files(seed: u64, count: usize) -> Vec<(Dialect, Vec<u8>)> {
    let mut dice = Dice(seed);
    let dialects = dialects();
    (0..count)
        .map(|_| {
            let dialect = dice.pick(&dialects).clone();
            let file = if dice.one_in(4) { noise(&mut dice, &dialect) } else { table(&mut dice, &dialect) };
            (dialect, file.into_bytes())
        })
        .collect()
}

/// The dialects that files are made for.
pub(crate) fn dialects() -> Vec<Dialect> {
    let csv = Dialect::csv();
    let text = Dialect::text();
    vec![
        csv.clone(),
        Dialect { delimiter: b'\t', ..csv.clone() },
        Dialect { escape: b'\\', ..csv.clone() },
        Dialect { delimiter: b';', quote: b'\'', escape: b'\'', null: br"\N".to_vec(), ..csv.clone() },
        // Nothing forbids an escape that is the delimiter, or letters as quotes.
        Dialect { escape: b',', null: b"NULL".to_vec(), ..csv.clone() },
        Dialect { quote: b'q', escape: b'e', ..csv },
        text.clone(),
        Dialect { delimiter: b'|', null: Vec::new(), ..text.clone() },
        Dialect { delimiter: b',', null: b"x".to_vec(), ..text },
    ]
}

/// Files that somebody thought of.
pub(crate) fn handwritten() -> Vec<(Dialect, &'static [u8])> {
    let csv: [&[u8]; 44] = [
        b"",
        b"\n",
        b"\r\n",
        b"\r",
        b"\n\n",
        b"a",
        b"a\n",
        b"a,b\nc,d",
        b"a,b\r\nc,d\r\n",
        b"a,b\rc,d\r",
        b"a\r\rb\r",
        b"a\n\nb\n",
        b",\n,\n",
        b"\"\"\n",
        b"\"\",\n",
        b"\"\"\"\"\n",
        b"\"\"\"\n",
        b"\"a\"\"b\"\n",
        b"ab\"c,d\"e\n",
        b"\"a\"b\"c\"\n",
        b"\"a\" ,b\n",
        b" \"a\",b\n",
        b"\"a\nb\",c\nd,e\n",
        b"\"a\r\nb\",c\nd,e\n",
        b"\"a\rb\",c\r\nd,e\r\n",
        b"\"a\nb\"\rc\r",
        b"a\nb\rc\n",
        b"a\nb\r\n",
        b"a\r\nb\n",
        b"a\r\nb\rc\r\n",
        b"a\rb\n",
        b"a\rb\r\n",
        b"a\r\n\r\n\n",
        b"\"open",
        b"a\n\"open\nb\n",
        b"\"",
        b"a\"",
        b"a\"\n\"b\n",
        b"\\.\n",
        b"a\n\\.\nb\n",
        b"\\N\n\"\\N\"\n",
        b"\"a\\\"b\"\n\"c\\\\\"\n",
        b"a\\,b\\\"c\n\"\n",
        "é,\"\u{2028}\",\u{1F418}\n\u{FEFF},\"\u{FEFF}\",ß\n".as_bytes(),
    ];
    let text: [&[u8]; 38] = [
        b"",
        b"\n",
        b"\r",
        b"a",
        b"a\tb\nc\td",
        b"a\tb\r\nc\td\r\n",
        b"a\tb\rc\td\r",
        b"\\N\t\n\t\\N\n",
        b"\\N\\N\n",
        b"\\Na\t\\\\N\n",
        b"\\b\\f\\n\\r\\t\\v\\\\\\q\n",
        b"\\0601\\1\\12\\1012\\777\n",
        b"\\x41\\x4\\x4g\\xg\\x414\\x\n",
        b"\\x\t\\1\t\\8\n",
        b"a\\\nb\nc\n",
        b"a\\\r\nb\r\n",
        b"a\nb\\\r\nc\n",
        b"a\\\rb\rc\r",
        b"a\\\tb\n",
        b"\\",
        b"a\\",
        b"a\n\\",
        b"\\N\\",
        b"\\\n",
        b"\\.",
        b"\\.\n",
        b"\\.\r\n",
        b"a\n\\.\nb\n",
        b"a\r\n\\.\r\nb",
        b"a\r\\.\rb",
        b"a\n\\.\rb",
        b"a\r\n\\.\nb",
        b"a\r\n\\.\rb",
        b"a\n\\.b\n",
        b"a\\.\n",
        b"a\\\n\\.\n",
        b"\\\\.\n",
        b"a\nb\rc\n",
    ];
    let with_csv = csv.into_iter().map(|file| (Dialect::csv(), file));
    let with_escape = csv.into_iter().map(|file| (Dialect { escape: b'\\', ..Dialect::csv() }, file));
    let with_text = text.into_iter().map(|file| (Dialect::text(), file));
    with_csv.chain(with_escape).chain(with_text).collect()
}

/// Nothing but the bytes that mean something.
fn noise(dice: &mut Dice, dialect: &Dialect) -> String {
    let special = [dialect.delimiter, dialect.quote, dialect.escape].map(char::from).map(String::from);
    let mut alphabet: Vec<&str> = special.iter().map(String::as_str).collect();
    alphabet.extend(["\n", "\r", "\r\n", "\\", "a", "e"]);
    if dialect.format == Grammar::Text {
        alphabet.extend(["\\.", "\\N", "x", "1", "n"]);
    }
    // Several line ends in one file are a fault, and most files should get past the first one.
    let line_end = dice.pick(&["\n", "\r", "\r\n"]);
    let one_line_end = !dice.one_in(4);
    (0..dice.below(40))
        .map(|_| {
            let piece = *dice.pick(&alphabet);
            if one_line_end && piece.contains(['\r', '\n']) { line_end } else { piece }
        })
        .collect()
}

/// Records and fields, well formed for the greater part.
fn table(dice: &mut Dice, dialect: &Dialect) -> String {
    let line_end = dice.pick(&["\n", "\r\n", "\r"]);
    let columns = 1 + dice.below(5);
    let records = dice.below(9);
    let mut file = String::new();
    for record in 0..records {
        if dice.one_in(12) {
            file.push_str(line_end);
        }
        for column in 0..columns {
            if column > 0 {
                file.push(char::from(dialect.delimiter));
            }
            file.push_str(&field(dice, dialect));
        }
        if record + 1 < records || !dice.one_in(3) {
            file.push_str(if dice.one_in(60) { "\n" } else { line_end });
        }
    }
    if dialect.format == Grammar::Text && dice.one_in(8) {
        file.push_str("\\.");
        file.push_str(line_end);
    }
    file
}

fn field(dice: &mut Dice, dialect: &Dialect) -> String {
    let null = String::from_utf8_lossy(&dialect.null).into_owned();
    let content = content(dice);
    match dialect.format {
        Grammar::Csv => match dice.below(8) {
            0 => null,
            1 => String::new(),
            2 => quoted(dialect, &null),
            // Quotes in the middle of a field toggle too.
            3 => format!("a{}z", quoted(dialect, &content)),
            4 => plain(dialect, &content),
            _ => quoted(dialect, &content),
        },
        Grammar::Text => match dice.below(6) {
            0 => null,
            1 => String::new(),
            2 => (*dice
                .pick(&["\\.", "\\\\.", "\\\\N", "\\8", "\\x", "\\xé", "\\x4", "\\x414", "\\1012", "\\7"]))
            .into(),
            _ => escaped(dice, dialect, &content),
        },
    }
}

fn content(dice: &mut Dice) -> String {
    let words = [
        "a",
        "bc",
        "0",
        " ",
        ",",
        "\"",
        "'",
        "q",
        "\t",
        "|",
        ";",
        "\n",
        "\r",
        "\r\n",
        "\\",
        "\\.",
        "é",
        "\u{1F418}",
    ];
    let length = if dice.one_in(40) { 2_000 } else { dice.below(8) };
    (0..length).map(|_| *dice.pick(&words)).collect()
}

fn quoted(dialect: &Dialect, content: &str) -> String {
    let (quote, escape) = (char::from(dialect.quote), char::from(dialect.escape));
    let mut field = String::from(quote);
    for character in content.chars() {
        if character == quote || character == escape {
            field.push(escape);
        }
        field.push(character);
    }
    field.push(quote);
    field
}

/// Without what would need quotes.
fn plain(dialect: &Dialect, content: &str) -> String {
    let special = [dialect.delimiter, dialect.quote, b'\n', b'\r'].map(char::from);
    content.replace(special, "")
}

fn escaped(dice: &mut Dice, dialect: &Dialect, content: &str) -> String {
    let mut field = String::new();
    for character in content.chars() {
        let code = u32::from(character);
        match character {
            '\n' if dice.one_in(2) => field.push_str("\\n"),
            '\r' if dice.one_in(2) => field.push_str("\\r"),
            '\t' if dice.one_in(2) => field.push_str("\\t"),
            '\n' | '\r' | '\\' => field.extend(['\\', character]),
            _ if code == u32::from(dialect.delimiter) => field.extend(['\\', character]),
            _ if code < 128 && dice.one_in(6) => field.push_str(&format!("\\{code:03o}")),
            _ if code < 128 && dice.one_in(6) => field.push_str(&format!("\\x{code:02X}")),
            _ => field.push(character),
        }
    }
    field
}

/// Numbers that a seed decides (SplitMix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("less than a usize")
    }

    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
