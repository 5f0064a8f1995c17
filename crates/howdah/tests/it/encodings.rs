//! Text in other encodings arrives as psql would have brought it, from compressed files too; what cannot be decoded is
//! refused where it stands.

use std::io::Write;
use std::sync::Arc;

use howdah::options::{Encoding, OnError};
use howdah::source::{Cutter, Dialect, Input, Progress};
use howdah::{Error, ErrorKind};
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

/// Encodings of PostgreSQL in which one byte is one character: all 128 upper ones are tried.
const BYTEWISE: &[&str] = &[
    "LATIN1",
    "LATIN2",
    "LATIN3",
    "LATIN4",
    "LATIN5",
    "LATIN6",
    "LATIN7",
    "LATIN8",
    "LATIN9",
    "LATIN10",
    "WIN866",
    "WIN874",
    "WIN1250",
    "WIN1251",
    "WIN1252",
    "WIN1253",
    "WIN1254",
    "WIN1255",
    "WIN1256",
    "WIN1257",
    "WIN1258",
    "KOI8R",
    "KOI8U",
    "ISO_8859_5",
    "ISO_8859_6",
    "ISO_8859_7",
    "ISO_8859_8",
];

/// Those of sequences: all of two bytes are tried, and how many are read otherwise than PostgreSQL 18 does, for the reasons
/// that `docs/encodings.md` gives.
const SEQUENCES: &[(&str, usize)] = &[
    ("SJIS", 0),
    ("GBK", 0),
    ("UHC", 0),
    ("EUC_KR", 0),
    ("EUC_JP", 0),
    ("EUC_CN", 2),
    ("GB18030", 20),
    ("BIG5", 267),
];

/// What the engine reads out of `bytes`, cut every `target` bytes.
fn decoded(bytes: &[u8], encoding: Option<&str>, target: usize) -> Result<Vec<u8>, Error> {
    let encoding = encoding.map(|name| Encoding::named(name).unwrap());
    let input = Input::memory("memory", Arc::from(bytes)).written_in(encoding);
    let dialect =
        Dialect::resolve(howdah::options::Format::Csv, &howdah::options::DialectOptions::default()).unwrap();
    let mut cutter = Cutter::new(vec![input], Arc::new(dialect), Progress::new(), target);
    let mut text = Vec::new();
    while let Some(piece) = cutter.cut(Vec::new())? {
        text.extend_from_slice(piece.bytes());
    }
    Ok(text)
}

/// PostgreSQL's reading of every sequence: `hex,text` lines; what it refuses is left out.
fn readings(database: &Database, encoding: &str, sequences: &str) -> Vec<(Vec<u8>, String)> {
    database.sql(
        "CREATE OR REPLACE FUNCTION reading(b bytea, e name) RETURNS text LANGUAGE plpgsql AS
         $$ BEGIN RETURN convert_from(b, e); EXCEPTION WHEN OTHERS THEN RETURN NULL; END $$",
    );
    let lines = database.sql(&format!(
        "SELECT encode(b, 'hex') || ',' || encode(convert_to(t, 'UTF8'), 'hex')
         FROM (SELECT b, reading(b, '{encoding}') AS t FROM ({sequences}) AS s (b)) AS r WHERE t IS NOT NULL"
    ));
    let bytes = |hex: &str| -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    };
    let split = |line: &str| {
        let (from, to) = line.split_once(',').unwrap();
        (bytes(from), String::from_utf8(bytes(to)).unwrap())
    };
    lines.lines().map(split).collect()
}

/// What we read a sequence as, when it is text.
fn ours(sequence: &[u8], encoding: &str) -> Option<String> {
    String::from_utf8(decoded(sequence, Some(encoding), 64).unwrap()).ok()
}

#[test]
fn every_byte_means_what_it_means_to_postgresql() {
    let database = Database::new();
    for encoding in BYTEWISE {
        let all = "SELECT set_byte('\\x00', 0, n) FROM generate_series(1, 255) AS n";
        let mut theirs = vec![None; 256];
        for (bytes, text) in readings(&database, encoding, all) {
            theirs[usize::from(bytes[0])] = Some(text);
        }
        for byte in 1..=255_u8 {
            assert_eq!(ours(&[byte], encoding), theirs[usize::from(byte)], "{encoding} 0x{byte:02x}");
        }
    }
}

#[test]
fn every_pair_of_bytes_means_what_it_means_to_postgresql() {
    let database = Database::new();
    let all = "SELECT decode(to_hex(n), 'hex') FROM generate_series(x'8140'::int, x'FEFE'::int) AS n WHERE n & 255 >= 48";
    for (encoding, known) in SEQUENCES {
        let theirs = readings(&database, encoding, all);
        assert!(theirs.len() > 7_000, "{encoding}");
        // A record each: a truncated sequence must not reach into the next.
        let input: Vec<u8> = theirs.iter().flat_map(|(bytes, _)| [bytes, &b"\n"[..]].concat()).collect();
        let text = decoded(&input, Some(encoding), 4096).unwrap();
        let lines: Vec<_> = text.strip_suffix(b"\n").unwrap().split(|byte| *byte == b'\n').collect();
        assert_eq!(lines.len(), theirs.len(), "{encoding}");
        let is_text = |line: &&[u8]| std::str::from_utf8(line).is_ok();
        let other = lines.iter().zip(&theirs).filter(|(line, (_, text))| **line != text.as_bytes());
        let refused = lines.iter().filter(|line| !is_text(line)).count();
        assert_eq!(other.count() - refused, *known, "{encoding}");
        assert!(refused < 200, "{encoding}: {refused}");
    }
}

/// Text that has something to say in each encoding, as its bytes: made by PostgreSQL out of UTF-8.
fn sample(encoding: &str) -> &'static str {
    match encoding {
        "SJIS" | "EUC_JP" => "日本語、カタカナと漢字表噂",
        "GBK" | "GB18030" | "EUC_CN" => "中文：简体字，乱码",
        "BIG5" => "中文：繁體字，許功蓋",
        "UHC" | "EUC_KR" => "한국어 텍스트",
        "KOI8R" | "WIN1251" | "WIN866" | "ISO_8859_5" => "Съешь ещё этих булок",
        "KOI8U" => "Їжак іде ґанком",
        "WIN1253" | "ISO_8859_7" => "Ξεσκεπάζω την ψυχοφθόρα",
        "WIN1255" | "ISO_8859_8" => "דג סקרן שט בים",
        "WIN1256" | "ISO_8859_6" => "نص عربي",
        "WIN874" => "ภาษาไทย",
        "LATIN2" | "WIN1250" | "LATIN10" => "Zażółć gęślą",
        "LATIN3" => "ĝoja ĥoro",
        "LATIN4" | "LATIN6" | "LATIN7" | "WIN1257" => "Žiūrėk",
        "LATIN5" | "WIN1254" => "İğneşçü",
        "LATIN8" => "Ŵyŷ",
        "LATIN9" => "Œuvre à 5 €",
        "WIN1258" => "Đô ư ơ",
        _ => "Größe, naïve façade",
    }
}

#[test]
fn a_file_in_any_encoding_arrives_as_by_psql() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, s text); CREATE TABLE by_psql (id int, s text)");
    for encoding in BYTEWISE.iter().chain(SEQUENCES.iter().map(|(encoding, _)| encoding)) {
        let utf8: String = (0..300)
            .map(|n| format!("{n},\"{0}\n{0}|\"\"{1}\"\n", sample(encoding), "x".repeat(n % 7)))
            .collect();
        database.file("utf8.csv", format!("id,s\n{utf8}"));
        let file = database.path("input.csv");
        database.sql(&format!(
            "TRUNCATE t, by_psql;
             \\copy by_psql FROM '{}' (FORMAT csv, HEADER)
             \\copy by_psql TO '{file}' (FORMAT csv, HEADER, ENCODING '{encoding}')
             TRUNCATE by_psql;
             \\copy by_psql FROM '{file}' (FORMAT csv, HEADER, ENCODING '{encoding}')",
            database.path("utf8.csv")
        ));
        let encoding = Encoding::named(encoding).unwrap();
        let report = load(&database, &options(&file, "t").encoding(encoding));
        assert_eq!(report.rows, 300);
        assert!(database.binary_rows("t") == database.binary_rows("by_psql"), "{}", encoding.name());
    }
}

fn utf16(text: &str, big: bool) -> Vec<u8> {
    text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
}

#[test]
fn a_byte_order_mark_says_the_encoding_and_contradicts_a_wrong_one() {
    let text = "a,b\nä,\"€\n𝄞\"\n";
    for big in [false, true] {
        let marked = utf16(&format!("\u{feff}{text}"), big);
        for named in [None, Some("UTF-16"), Some(if big { "UTF-16BE" } else { "UTF-16LE" })] {
            assert_eq!(decoded(&marked, named, 64).unwrap(), text.as_bytes(), "{named:?}");
        }
        assert_eq!(
            decoded(&utf16(text, big), Some(if big { "utf-16be" } else { "utf-16" }), 64).unwrap(),
            text.as_bytes()
        );
        for wrong in ["LATIN1", "UTF8", if big { "UTF-16LE" } else { "UTF-16BE" }] {
            let error = decoded(&marked, Some(wrong), 64).unwrap_err();
            assert!(error.message().contains("byte order mark of UTF-16"), "{error}");
        }
    }
    let marked = format!("\u{feff}{text}");
    assert_eq!(decoded(marked.as_bytes(), Some("utf-8"), 64).unwrap(), text.as_bytes());
    let error = decoded(marked.as_bytes(), Some("WIN1252"), 64).unwrap_err();
    assert_eq!(
        error.message(),
        "cannot read memory: it starts with the byte order mark of UTF8, but encoding is WIN1252"
    );
}

#[test]
fn a_character_on_the_edge_of_a_chunk_is_whole() {
    const CHUNK: usize = 64 * 1024;
    for (encoding, character, bytes) in [
        ("SJIS", "表", &b"\x95\x5c"[..]),
        ("GB18030", "𝄞", b"\x94\x32\xbe\x34"),
        ("UTF-16LE", "𝄞", b"\x34\xd8\x1e\xdd"),
        ("EUC_JP", "丂", b"\x8f\xb0\xa1"),
        ("WIN1251", "я", b"\xff"),
    ] {
        let one = if encoding == "UTF-16LE" { &b"x\0"[..] } else { b"x" };
        let end = if encoding == "UTF-16LE" { &b"\n\0"[..] } else { b"\n" };
        for before in (CHUNK - 24..CHUNK + 8).step_by(one.len()) {
            let count = before / one.len();
            let input = [one.repeat(count), bytes.repeat(8), end.to_vec()].concat();
            let expected = format!("{}{}\n", "x".repeat(count), character.repeat(8));
            for target in [1 << 20, 9973] {
                let text = decoded(&input, Some(encoding), target).unwrap();
                assert!(text == expected.as_bytes(), "{encoding} {before} {target}");
            }
        }
    }
}

/// `(encoding, bytes of a file with one bad record in line 3, what is said, SQLSTATE)`.
fn malformed() -> Vec<(&'static str, Vec<u8>, &'static str, &'static str)> {
    let csv = |bad: &[u8]| [b"id,s\n1,a\n2,", bad, b"\n3,c\n"].concat();
    vec![
        ("WIN1252", csv(b"\x81"), "character with byte sequence 0x81 in encoding \"WIN1252\"", "22P05"),
        ("SJIS", csv(b"a\x81"), "invalid byte sequence for encoding \"SJIS\": 0x81", "22021"),
        ("SJIS", csv(b"\"\x81\""), "invalid byte sequence for encoding \"SJIS\": 0x81", "22021"),
        ("GB18030", csv(b"\x81\x30\x81"), "invalid byte sequence for encoding \"GB18030\": 0x81", "22021"),
        (
            "EUC_JP",
            csv(b"\x8f\xa1\xfe"),
            "invalid byte sequence for encoding \"EUC_JP\": 0x8f 0xa1 0xfe",
            "22021",
        ),
        ("EUC_KR", csv(b"\xff\xfe"), "invalid byte sequence for encoding \"EUC_KR\": 0xff", "22021"),
        (
            // Half a pair, whose bytes look like a quote.
            "UTF-16LE",
            [utf16("id,s\n1,a\n2,", false), vec![0x22, 0xd8], utf16("\n3,c\n", false)].concat(),
            "invalid byte sequence for encoding \"UTF-16LE\": 0x22 0xd8",
            "22021",
        ),
    ]
}

#[test]
fn what_an_encoding_does_not_define_is_refused_where_it_stands_and_never_replaced() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, s text)");
    for (encoding, bytes, says, sqlstate) in malformed() {
        let file = database.file("input.csv", bytes);
        let wanted = options(&file, "t")
            .encoding(Encoding::named(encoding).unwrap())
            .rejects(database.path("rejects.jsonl"));
        let error = try_load(&database, &wanted).unwrap_err();
        assert!(error.message().starts_with(says), "{encoding}: {error}");
        assert_eq!(
            (error.kind(), error.sqlstate(), error.column()),
            (ErrorKind::Data, Some(sqlstate), Some("s"))
        );
        let place = error.location().unwrap();
        assert_eq!((place.line, place.byte_offset), (Some(3), Some(9)), "{encoding}");
        assert_eq!(database.sql("SELECT count(*) FROM t"), "0");

        let report = load(&database, &wanted.on_error(OnError::Ignore));
        assert_eq!((report.rows_read, report.rows, report.rows_rejected), (3, 2, 1), "{encoding}");
        let rejects = std::fs::read_to_string(database.path("rejects.jsonl")).unwrap();
        assert!(
            rejects.contains(&serde_json::to_string(says).unwrap()[1..].trim_end_matches('"').to_owned()),
            "{rejects}"
        );
        assert_eq!(database.sql("SELECT string_agg(id || s, ' ' ORDER BY id) FROM t"), "1a 3c");
        database.sql("TRUNCATE t");
    }
}

#[test]
fn input_that_ends_within_a_character_is_refused() {
    for (encoding, bytes) in
        [("SJIS", &b"a,\x95"[..]), ("GB18030", b"a,\x94\x32\xbe"), ("UTF-16BE", b"\0a\0,\0")]
    {
        let text = decoded(bytes, Some(encoding), 64).unwrap();
        assert!(text.starts_with(b"a,") && std::str::from_utf8(&text).is_err(), "{encoding}: {text:?}");
    }
}

#[test]
fn an_encoding_that_nobody_names_is_guessed_and_said_and_read_as_by_psql() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, s text, n int); CREATE TABLE by_psql (LIKE t)");
    let mut inputs: Vec<_> = ["WIN1252", "WIN1251", "SJIS", "GBK"]
        .into_iter()
        .map(|encoding| {
            database.file("utf8.csv", names(encoding));
            let file = database.path("input.csv");
            database.sql(&format!(
                "TRUNCATE by_psql;
                 \\copy by_psql FROM '{}' (FORMAT csv, HEADER)
                 \\copy by_psql TO '{file}' (FORMAT csv, HEADER, ENCODING '{encoding}')",
                database.path("utf8.csv")
            ));
            (encoding, names(encoding), std::fs::read(&file).unwrap())
        })
        .collect();
    for (encoding, big) in [("UTF-16LE", false), ("UTF-16BE", true)] {
        inputs.push((encoding, names("WIN1252"), utf16(&names("WIN1252"), big)));
    }
    for (encoding, utf8, bytes) in inputs {
        database.file("utf8.csv", utf8);
        let compressed = zstd::encode_all(&*bytes, 1).unwrap();
        let (plain, packed) = (database.file("input.csv", bytes), database.file("input.csv.zst", compressed));
        database.sql(&format!(
            "TRUNCATE by_psql; \\copy by_psql FROM '{}' (FORMAT csv, HEADER)",
            database.path("utf8.csv")
        ));
        for file in [plain, packed] {
            database.sql("TRUNCATE t; DROP TABLE IF EXISTS made");
            for table in ["t", "made"] {
                let (report, notices) = try_load(&database, &options(&file, table)).unwrap();
                let dialect = &report.plan.as_ref().unwrap().dialect;
                assert_eq!((dialect.encoding, &*dialect.guessed), (encoding, &["encoding"][..]));
                // Once, however often the file is opened.
                let said = format!("encoding {encoding} (guessed; encoding overrides)");
                assert_eq!(notices.iter().filter(|notice| notice.contains(&said)).count(), 1, "{notices:?}");
                assert!(!notices.iter().any(|notice| notice.starts_with("format:")), "{notices:?}");
            }
            assert!(database.binary_rows("t") == database.binary_rows("by_psql"), "{encoding}");
            assert_eq!(
                database.sql("SELECT count(*) FROM made JOIN by_psql USING (id, s)"),
                "400",
                "{encoding}"
            );
        }
        let asked = options(&database.path("input.csv"), "t").encoding(Encoding::UTF8);
        let error = try_load(&database, &asked).unwrap_err();
        assert_eq!(error.sqlstate(), Some("22021"), "{encoding}: {error:?}");
    }
}

#[test]
fn each_file_has_its_own_encoding_and_each_encoding_is_said_once() {
    let database = Database::new();
    let encoded = |label: &str, text: &str| {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        encoding.encode(text).0.into_owned()
    };
    database.file("part1.csv", encoded("windows-1252", &names("WIN1252")));
    database.file("part2.csv", names("SJIS"));
    database.file("part3.csv", encoded("shift_jis", &names("SJIS").replace("id,", "no,")));
    database.file("part4.csv", encoded("windows-1252", &names("WIN1252")));
    let wanted = options(&database.path("part*.csv"), "parts");
    let (report, notices) = try_load(&database, &wanted).unwrap();
    assert_eq!(report.rows, 1600);
    let said: Vec<_> =
        notices.iter().filter_map(|notice| Some(notice.split_once(": encoding ")?.1)).collect();
    assert_eq!(said, ["WIN1252 (guessed; encoding overrides)", "SJIS (guessed; encoding overrides)"]);
    let broken = "SELECT count(*) FROM parts WHERE s NOT IN ('Müller','Größe','Bäcker','Jürgen','Köln','東京','大阪','田中太郎','表示','名古屋市')";
    assert_eq!(database.sql(broken), "0");
}

#[test]
fn two_encodings_that_fit_are_an_error_that_shows_both_readings() {
    let database = Database::new();
    let text = format!("{}400,5€,1\n", names("WIN1252"));
    let latin9 = encoding_rs::ISO_8859_15.encode(&text).0.into_owned();
    let file = database.file("input.csv", latin9);
    let error = try_load(&database, &options(&file, "t")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert_eq!(error.detail(), Some("as WIN1252: 5¤\nas LATIN9: 5€"));
    assert_eq!(error.hint(), Some("say which: encoding=WIN1252, or encoding=LATIN9"));
    let told = options(&file, "t").encoding(Encoding::named("LATIN9").unwrap());
    load(&database, &told);
    assert_eq!(database.sql("SELECT s FROM t WHERE id = 400"), "5€");
}

#[test]
fn a_damaged_byte_in_utf8_or_one_far_behind_the_start_is_no_letter() {
    let database = Database::new();
    let mut damaged = names("WIN1252").into_bytes();
    let at = damaged.iter().rposition(|byte| !byte.is_ascii()).unwrap();
    damaged[at] = b'x';
    let plain: String = (0..60_000).map(|n| format!("{n},plain text,1\n")).collect();
    let late =
        [b"id,s,n\n", plain.as_bytes(), &encoding_rs::WINDOWS_1252.encode(&names("WIN1252")).0].concat();
    for bytes in [damaged, late] {
        let file = database.file("input.csv", bytes);
        let error = try_load(&database, &options(&file, "t")).unwrap_err();
        assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::Data, Some("22021")), "{error:?}");
        assert!(error.location().unwrap().line.unwrap() > 300, "{error:?}");
        assert!(error.hint().unwrap().starts_with("the input is not UTF-8; it looks like"), "{error:?}");
    }
}

#[test]
fn too_few_words_for_a_guess_are_refused_with_the_option_that_reads_them() {
    let database = Database::new();
    let file = database.file("input.csv", b"id,s\n1,a\n2,M\xfcller\n");
    let error = try_load(&database, &options(&file, "t")).unwrap_err();
    assert!(error.hint().unwrap().ends_with("it looks like WIN1252: encoding=WIN1252"), "{error:?}");
    assert_eq!(error.location().unwrap().line, Some(3));
    // Names that are not text are not made into columns.
    let file = database.file("input.csv", b"gr\xf6\xdfe,stra\xdfe\n1,a\n2,b\n");
    let error = try_load(&database, &options(&file, "t")).unwrap_err();
    assert!(error.hint().unwrap().contains("encoding=WIN1252"), "{error:?}");
    assert_eq!(error.location().unwrap().line, Some(1));
    assert_eq!(database.sql("SELECT count(*) FROM pg_class WHERE relname = 't'"), "0");
}

/// 400 rows of names that `encoding` has.
fn names(encoding: &str) -> String {
    let names = match encoding {
        "WIN1251" => ["Москва", "Иванов", "Пётр", "Сергей", "Новосибирск"],
        "SJIS" => ["東京", "大阪", "田中太郎", "表示", "名古屋市"],
        "GBK" => ["北京", "上海", "张伟", "王芳", "简体字"],
        _ => ["Müller", "Größe", "Bäcker", "Jürgen", "Köln"],
    };
    let rows = (0..400).map(|n| format!("{n},{},{}\n", names[n % names.len()], n * 7919 % 1000));
    format!("id,s,n\n{}", rows.collect::<String>())
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn xz_and_bzip2_are_read_to_the_end_of_their_last_member() {
    let text: String = (0..60_000).map(|n| format!("{n},\"größer als {}\"\n", n * 7)).collect();
    let half = text.len() / 2;
    for compress in [xz, bzip2] {
        let whole = compress(text.as_bytes());
        let members =
            [compress(&text.as_bytes()[..half]), compress(b""), compress(&text.as_bytes()[half..])].concat();
        for file in [&whole, &members] {
            assert!(decoded(file, None, 4096).unwrap() == text.as_bytes());
        }
        let latin: Vec<u8> = compress(&encoding_rs::WINDOWS_1252.encode(&text).0);
        assert!(decoded(&latin, Some("LATIN1"), 4096).unwrap() == text.as_bytes());
        let wide = compress(&utf16(&format!("\u{feff}{text}"), true));
        assert!(decoded(&wide, None, 4096).unwrap() == text.as_bytes());
        assert!(decoded(&compress(b""), None, 64).unwrap().is_empty());
    }
    // Blocks of zeros may follow a member of xz, or stand between two.
    let padded = [xz(b"a\n"), vec![0; 8], xz(b"b\n"), vec![0; 4]].concat();
    assert_eq!(decoded(&padded, None, 64).unwrap(), b"a\nb\n");
    // What only starts like bzip2 is text.
    assert_eq!(decoded(b"BZh9,b\n1,2\n", None, 64).unwrap(), b"BZh9,b\n1,2\n");
}

#[test]
fn a_truncated_or_damaged_xz_or_bzip2_file_is_an_error_and_not_its_end() {
    let text: String = (0..20_000).map(|n| format!("{n},{}\n", n * 7919 % 10_007)).collect();
    for compress in [xz, bzip2] {
        let whole = compress(text.as_bytes());
        for cut in (16..whole.len()).step_by(997).chain([whole.len() - 1]) {
            let error = decoded(&whole[..cut], None, 1 << 16).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Source, "{cut}");
        }
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 0x10;
        assert!(decoded(&damaged, None, 1 << 16).unwrap_err().message().contains("cannot read memory"));
        let followed = [whole.as_slice(), b"garbage that is no member"].concat();
        assert!(decoded(&followed, None, 1 << 16).is_err());
    }
}

#[test]
fn an_xz_file_that_needs_more_memory_than_we_give_is_refused_with_a_way_out() {
    // The dictionary's size is a byte of the block's header, which has a checksum.
    let mut file = xz(b"a\n");
    let header = 12..12 + 4 * usize::from(file[12]);
    let at = header.start + 4;
    assert_eq!(file[at - 2..at], [0x21, 1], "the header is that of an LZMA2 block");
    const HALF_A_GIB: u8 = 34;
    file[at] = HALF_A_GIB;
    let mut crc = flate2::Crc::new();
    crc.update(&file[header.clone()]);
    file[header.end..header.end + 4].copy_from_slice(&crc.sum().to_le_bytes());
    let error = decoded(&file, None, 64).unwrap_err();
    assert!(error.message().contains("more than 256 MiB of memory"), "{error}");
    assert!(error.hint().unwrap().contains("xz -dc"));
}

#[test]
fn what_is_no_text_is_said_to_be_what_it_is_and_no_encoding_is_suggested() {
    use std::io::Write;
    let database = Database::new();
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let little: Vec<u8> = "a,b\n1,2\n".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
    let big: Vec<u8> = "\u{FEFF}a,b\n1,2\n".chars().flat_map(|c| (c as u32).to_be_bytes()).collect();
    for (bytes, says) in [
        (gzip(&gzip(b"a,b\n1,2\n")), "compressed twice"),
        (gzip(b"PK\x03\x04 and more"), "zip archive"),
        (b"%PDF-1.7\n%\xE2\xE3\n1 0 obj".to_vec(), "it is a PDF document"),
        (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1\0\0".to_vec(), "spreadsheet (xls)"),
        (b"7z\xBC\xAF\x27\x1C\0\x04\0\0".to_vec(), "7z e -so FILE"),
        (b"SQLite format 3\0\x10\0".to_vec(), "SQLite database"),
        (
            gzip(&[&b"rows.csv"[..], &[0; 249], b"ustar\x0000 ", &[0; 247], b"a,b\n1,2\n"].concat()),
            "tar -xOf FILE",
        ),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec(), "it is a program"),
        (little.clone(), "UTF-32"),
        (big, "UTF-32"),
        (gzip(&little), "UTF-32"),
    ] {
        let error = try_load(&database, &options(&database.file("t", bytes), "t")).unwrap_err();
        let said = format!("{} {}", error.message(), error.hint().unwrap_or(""));
        assert!(said.contains(says) && !said.contains("encoding="), "{says}: {error:?}");
    }
}
