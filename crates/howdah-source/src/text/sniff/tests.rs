use howdah_testkit::quoted_field;
use proptest::prelude::*;

use super::{DELIMITERS, Fit, Unsaid, sniff};
use crate::Dialect;
use crate::dialect::Eol;
use crate::text::reading::Sample;
use crate::text::split::{self, Splitter};
use crate::{DialectOptions, Format};

const ALL: Unsaid = Unsaid { delimiter: true, quote: true, escape: true, decimal_comma: false };

fn usual() -> Dialect {
    Dialect::resolve(Format::Csv, &DialectOptions::default()).unwrap()
}

fn whole(text: &str) -> Sample<'_> {
    Sample { bytes: text.as_bytes(), is_whole: true }
}

/// Delimiter, quote and escape of what is found; `ambiguous` for an error.
fn found(text: &str) -> String {
    match sniff(whole(text), &usual(), ALL, &|_| Fit::Unknown) {
        Ok(Dialect { delimiter, quote, escape, .. }) => {
            let [quote, escape] = [quote, escape].map(char::from);
            format!("{delimiter}{quote}{escape}").replace('\t', "t")
        }
        Err(_) => "ambiguous".to_owned(),
    }
}

#[test]
fn delimiters_quotes_and_escapes_are_found_where_they_are_plain() {
    for (text, expected) in [
        ("a,b\n1,2\n3,4\n", ",\"\""),
        ("a;b\n1;2\n3;4\n", ";\"\""),
        ("a;b\r\n1;2\r\n", ";\"\""),
        ("a\tb\n1\t2\n", "t\"\""),
        ("a|b\n\"x|y\"|2\n", "|\"\""),
        ("a;b\n1,5;\"x;\n1,2\"\n2,5;2\n", ";\"\""),
        ("a,b\n1,'x,y'\n2,'it''s'\n", ",''"),
        ("'a';'b'\n'1';'2'\n'3';''\n", ";''"),
        ("'a','b'\n1,'x'\n2,'y'\n", ",''"),
        ("a,b\n1,\"say \\\"hi\\\"\"\n2,x\n", ",\"\\"),
        ("a;b\n1;'it\\'s; so'\n2;x\n", ";'\\"),
    ] {
        assert_eq!(found(text), expected, "{text:?}");
    }
}

#[test]
fn what_copys_defaults_read_well_stays_theirs() {
    for text in [
        "",
        "a\n1\n2\n",
        "text\nhello\nwell; there\n",
        "a;b",
        "id,tags\n1,a|b\n2,c|d\n3,e|f\n",
        "id,name\n1,O'Brien\n2,d'Arc\n3,'tis\n",
        "id,name\n1,x\n2,'y'\n3,z\n",
        "id,path\n1,\"\\\\server\\share\"\n2,\"C:\\\"\n3,x\n",
        "id,name\n1,\"d\\\\'Aviation\"\n2,\"x\"\n3,\"y\"\n",
        "id,doc\n1,\"{\"\"a\"\": \"\"x\\\\y\\\"\"\"\"}\"\n2,\"{}\"\n3,\n",
        // Every record a field too few or too many but the first: bad records, not another dialect.
        "a,b,c\n1,2\n3,4\n",
        "a,b\n1,\"2\n3,4\n",
    ] {
        assert_eq!(found(text), ",\"\"", "{text:?}");
    }
}

#[test]
fn two_equally_good_readings_are_the_users_to_choose_from() {
    let text = "1,5;2,5\n2,5;3,5\n4,5;5,5\n";
    assert_eq!(found(text), "ambiguous");
    let error = sniff(whole(text), &usual(), ALL, &|_| Fit::Unknown).unwrap_err();
    assert_eq!(error.message(), "the input can be read in two ways");
    assert_eq!(
        error.detail(),
        Some("with delimiter \",\": 1 │ 5;2 │ 5 (3 fields)\nwith delimiter \";\": 1,5 │ 2,5 (2 fields)")
    );
    assert_eq!(error.hint(), Some(r#"say which: delimiter=",", or delimiter=";""#));

    let quotes = "id,s\n1,'a'\n2,'b'\n3,'c'\n";
    let error = sniff(whole(quotes), &usual(), ALL, &|_| Fit::Unknown).unwrap_err();
    assert_eq!(error.hint(), Some(r#"say which: quote="\"", or quote="'""#));
    assert!(error.detail().unwrap().contains("1 │ 'a' (2 fields)"), "{error:?}");

    for (text, count, expected) in [(text, 2, b';'), (text, 3, b',')] {
        let fit = |first: &[String]| if first.len() == count { Fit::Count } else { Fit::Unknown };
        assert_eq!(sniff(whole(text), &usual(), ALL, &fit).unwrap().delimiter, expected);
    }
}

#[test]
fn what_the_user_says_is_not_guessed() {
    let text = "a;b\n1;2\n3;4\n";
    let given = Unsaid { delimiter: false, ..ALL };
    assert_eq!(sniff(whole(text), &usual(), given, &|_| Fit::Unknown).unwrap(), usual());
    let quoted = "a,b\n1,'x,y'\n2,'z'\n";
    let given = Unsaid { quote: false, ..ALL };
    assert_eq!(sniff(whole(quoted), &usual(), given, &|_| Fit::Unknown).unwrap(), usual());
    // With decimal commas, commas delimit nothing.
    let commas = Unsaid { decimal_comma: true, ..ALL };
    let text = "1,5;2,5\n2,5;3,5\n4,5;5,5\n";
    assert_eq!(sniff(whole(text), &usual(), commas, &|_| Fit::Unknown).unwrap().delimiter, b';');
}

#[test]
fn names_of_the_targets_columns_settle_it() {
    let fit = |first: &[String]| {
        if first.iter().all(|name| matches!(&**name, "a" | "b")) { Fit::Names } else { Fit::Unknown }
    };
    // Ragged, and with one record only.
    for text in ["a;b\n1;2\n3;4;5\n6\n", "a;b\n"] {
        assert_eq!(sniff(whole(text), &usual(), ALL, &fit).unwrap().delimiter, b';');
    }
}

#[test]
fn a_few_bad_records_hide_no_delimiter() {
    let mut text = "a;b\n".to_owned() + &"1;x, y\n2;z\n".repeat(30);
    text.push_str("3;4;5\n");
    assert_eq!(found(&text), ";\"\"");
}

#[test]
fn a_quoted_bar_beside_doubled_ones_makes_them_unclear() {
    assert_eq!(found("a||b\n1||2\n3||4\n"), "||\"\"");
    let text = "\"0\"||a\n\"a\"||0\n\"0\"||\"|\"\n";
    let error = sniff(whole(text), &usual(), ALL, &|_| Fit::Unknown).unwrap_err();
    assert!(error.to_string().contains("in two ways"), "{error}");
    // What the target has settles it.
    for (columns, delimiter) in [(2, "||"), (3, "|")] {
        let fit = |first: &[String]| if first.len() == columns { Fit::Count } else { Fit::Unknown };
        assert_eq!(sniff(whole(text), &usual(), ALL, &fit).unwrap().delimiter.to_string(), delimiter);
    }
}

#[test]
fn a_sample_that_ends_inside_a_record_is_judged_by_the_records_before() {
    let text = "a;b\n1;2\n3;\"x;\ny";
    let sample = Sample { bytes: text.as_bytes(), is_whole: false };
    assert_eq!(sniff(sample, &usual(), ALL, &|_| Fit::Unknown).unwrap().delimiter, b';');
}

/// What a writer puts in quotes.
#[derive(Debug, Clone, Copy)]
enum Quoting {
    Needed,
    All,
    /// The first column, header included.
    Column,
}

fn write(rows: &[Vec<String>], dialect: &Dialect, quoting: Quoting, eol: &str) -> String {
    let (quote, escape) = (char::from(dialect.quote), char::from(dialect.escape));
    let mut text = String::new();
    for row in rows {
        for (at, value) in row.iter().enumerate() {
            if at > 0 {
                text.push_str(&dialect.delimiter.to_string());
            }
            let special =
                |c: char| c == quote || dialect.delimiter.to_string().contains(c) || matches!(c, '\n' | '\r');
            let quoted = match quoting {
                Quoting::Needed => value.contains(special),
                Quoting::All => true,
                Quoting::Column => at == 0 || value.contains(special),
            };
            if !quoted {
                text.push_str(value);
                continue;
            }
            text.push_str(&quoted_field(value, quote, escape));
        }
        text.push_str(eol);
    }
    text
}

fn values(text: &str, dialect: &Dialect, eol: Eol) -> Vec<Vec<Option<String>>> {
    let mut splitter = Splitter::new(text.as_bytes(), dialect, eol);
    let (mut fields, mut scratch, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(_span) = splitter.next_record(&mut fields).unwrap() {
        let value = |field: &split::Field| {
            split::value(*field, text.as_bytes(), dialect, &mut scratch)
                .map(|value| String::from_utf8(value.to_vec()).unwrap())
        };
        rows.push(fields.iter().map(value).collect());
    }
    rows
}

fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z0-9 ]{1,6}",
        2 => "[0-9]{1,3}([.,][0-9]{1,2})?",
        2 => "[a,;|\t'\"\\\\\n ]{0,6}",
        1 => Just(String::new()),
    ]
}

fn rows() -> impl Strategy<Value = Vec<Vec<String>>> {
    (2_usize..5, 3_usize..8).prop_flat_map(|(columns, records)| {
        proptest::collection::vec(proptest::collection::vec(cell(), columns), records)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn a_dialect_is_found_or_said_to_be_unclear_and_never_mistaken(
        rows in rows(),
        delimiter in proptest::sample::select(&DELIMITERS[..]),
        quote in proptest::sample::select(&b"\"'"[..]),
        backslash in any::<bool>(),
        quoting in proptest::sample::select(&[Quoting::Needed, Quoting::All, Quoting::Column][..]),
        eol in proptest::sample::select(&[("\n", Eol::Nl), ("\r\n", Eol::CrNl), ("\r", Eol::Cr)][..]),
    ) {
        let escape = if backslash { b'\\' } else { quote };
        let dialect = Dialect { delimiter: delimiter.into(), quote, escape, ..usual() };
        let text = write(&rows, &dialect, quoting, eol.0);
        // Where nothing is quoted, nothing tells that quotes are others than COPY's.
        prop_assume!(text.contains(char::from(quote)) || !text.contains('"'));
        // Nor do backslashes that escape nothing but themselves: paths are full of them.
prop_assume!(!backslash || rows.iter().flatten().any(|value| value.contains(char::from(quote))));
        // Delimiters that always come in pairs, with nothing between, may well be one of two bytes.
        let [one, pair] = [1, 2].map(|count| String::from_utf8(vec![delimiter; count]).unwrap());
        prop_assume!(!text.contains(&pair) || text.replace(&pair, "").contains(&one));
        let Ok(found) = sniff(whole(&text), &usual(), ALL, &|_| Fit::Unknown) else { return Ok(()) };
        prop_assert_eq!(values(&text, &found, eol.1), values(&text, &dialect, eol.1), "{:?} as {:?}", text, found);
    }
}
