//! What SQL files and configurations are read as, and what is said of those that are wrong.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use howdah_codegen::check::check;
use howdah_codegen::config::{Backend, Config, Direct};
use howdah_codegen::diagnostic::{Code, Diagnostics, Stage};
use howdah_codegen::source::{Block, Piece, SYNTAX, parse};

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/reading").join(path)
}

/// A block on a few lines.
fn shown(block: &Block) -> String {
    let place = &block.place;
    let mut out = format!("{}:{} {} {}", place.line, place.column, block.kind.word(), block.name);
    for modifier in &block.modifiers {
        let _ = write!(out, " :{}", modifier.name);
        if let Some(value) = &modifier.value {
            let _ = write!(out, "={value}");
        }
        if let Some(arguments) = &modifier.arguments {
            let _ = write!(out, "{arguments:?}");
        }
    }
    for line in &block.documentation {
        let _ = write!(out, "\n  doc {line}");
    }
    for set in &block.variables {
        let _ = write!(out, "\n  {}:{} set {} = {}", set.place.line, set.place.column, set.name, set.value);
    }
    for (key, list) in [("params", &block.params), ("result", &block.result)] {
        for found in list {
            let (line, column) = (found.place.line, found.place.column);
            let _ =
                write!(out, "\n  {line}:{column} {key} {}: {:?} {:?}", found.name, found.ty, found.nullable);
        }
    }
    for choices in &block.choices {
        let _ = write!(out, "\n  {}:{} choices {}", choices.place.line, choices.place.column, choices.name);
        for (text, place) in &choices.options {
            let _ = write!(out, "\n    {}:{} {text:?}", place.line, place.column);
        }
    }
    for statement in block.statements() {
        out.push_str("\n  statement");
        pieces(&mut out, &statement, "    ");
    }
    out
}

fn pieces(out: &mut String, statement: &[Piece], indent: &str) {
    for piece in statement {
        let _ = match piece {
            Piece::Text { text, place } => write!(out, "\n{indent}{}:{} {text:?}", place.line, place.column),
            Piece::Variable { name, place } => {
                write!(out, "\n{indent}{}:{} ${{{name}}}", place.line, place.column)
            }
            Piece::Optional { name, pieces: inner, place } => {
                let _ = write!(out, "\n{indent}{}:{} --? {name}", place.line, place.column);
                pieces(out, inner, &format!("{indent}  "));
                Ok(())
            }
        };
    }
}

#[test]
fn files_of_sqg_are_read_unchanged() -> Result<(), String> {
    let config = Config::read(&fixture("sqg/sqg.yaml")).map_err(|wrong| wrong.text())?;
    assert_eq!(config.groups.len(), 1, "DuckDB's are passed over");
    let outputs = &config.groups[0].outputs;
    assert_eq!(outputs[0].backend, Backend::Generator("java/postgres/jdbc"));
    assert_eq!(outputs[0].options.package.as_deref(), Some("org.example.library"));
    assert_eq!(outputs[1].output.as_deref(), Some("/tmp/library.py"));
    let checked = check(&config).map_err(|wrong| wrong.text())?;
    let blocks = checked.groups[0][0].blocks.iter().map(shown).collect::<Vec<_>>();
    insta::assert_snapshot!(blocks.join("\n"));
    insta::assert_snapshot!(local(&checked.diagnostics));
    Ok(())
}

#[test]
fn a_project_of_options_needs_no_configuration() -> Result<(), String> {
    let file = fixture("sqg/crlf.sql").to_string_lossy().into_owned();
    let direct = Direct { generator: "rust/postgres".into(), files: vec![file], ..Direct::default() };
    let config = Config::direct(direct).map_err(|wrong| wrong.text())?;
    let checked = check(&config).map_err(|wrong| wrong.text())?;
    let block = &checked.groups[0][0].blocks[0];
    assert_eq!(
        shown(block),
        "1:10 QUERY crlf :one\n  2:6 set a = 1\n  statement\n    3:1 \"SELECT \"\n    3:8 ${a}\n    3:12 \",\\r\\n  2\""
    );
    let Some(Piece::Text { .. }) = block.body.last() else { return Err("no text".into()) };
    let two = block.body[2].place_of(5);
    assert_eq!((two.line, two.column), (4, 3));
    let java = Direct { generator: "java/postgres".into(), files: vec!["a.sql".into()], ..Direct::default() };
    let config = Config::direct(java).map_err(|wrong| wrong.text())?;
    assert_eq!(config.groups[0].outputs[0].options.package.as_deref(), Some("generated"));
    assert_eq!(Config::find(&fixture("sqg")), Some(fixture("sqg/sqg.yaml")));
    assert_eq!(Config::find(&fixture("wrong")), Some(fixture("wrong/howdah.yaml")));
    let wrong = Config::direct(Direct { generator: "ruts/postgres".into(), ..Direct::default() });
    insta::assert_snapshot!(wrong.err().ok_or("it is accepted")?.text());
    Ok(())
}

#[test]
fn a_line_that_is_optional_ends_with_its_name_and_not_with_its_comment() {
    let sql = "/* QUERY q\r\n choices: {sort: [\"a DESC, b\", b]} */\r\n@set x = 1\r\n@set sort = b\r\nSELECT a, b --\
               ?c\r\n  FROM t -- free\r\n  WHERE a = ${x}::int  --? x \r\n   AND -${sort}${x}  /* é */--?  sort\r\n  \
               ORDER BY ${sort}; --? sort\r\n";
    let (blocks, messages) = parse("a.sql", sql);
    assert_eq!(messages, []);
    insta::assert_snapshot!(shown(&blocks[0]));
}

/// Messages as they are on every machine.
fn local(diagnostics: &Diagnostics) -> String {
    diagnostics.text().replace(&format!("{}/", fixture("").display()).replace("//", "/"), "")
}

fn wrong(path: &str) -> Result<Diagnostics, String> {
    let told = Config::read(&fixture(path)).and_then(|config| check(&config));
    told.err().ok_or_else(|| format!("{path} is accepted"))
}

#[test]
fn every_code_of_reading_is_said_of_some_fixture() -> Result<(), String> {
    let mut said = BTreeSet::new();
    for name in [
        "howdah",
        "keys",
        "syntax",
        "alias",
        "documents",
        "missing",
        "empty",
        "elsewhere",
        "bytes",
        "optional",
        "template",
        "there_is_none",
    ] {
        let told = wrong(&format!("wrong/{name}.yaml"))?;
        said.extend(told.messages.iter().map(|message| message.code));
        insta::assert_snapshot!(format!("wrong_{name}"), local(&told));
        assert!(told.errors() > 0, "{name}");
        assert_eq!(told.github().lines().count(), told.messages.len(), "{name}");
    }
    let expected = Code::ALL.iter().filter(|code| code.stage() == Stage::Reading).copied();
    assert_eq!(said, expected.collect());
    Ok(())
}

#[test]
fn names_of_codes_are_those_of_json() -> Result<(), serde_json::Error> {
    for code in Code::ALL {
        assert_eq!(serde_json::to_string(code)?, format!("\"{}\"", code.name()));
        assert!(code.meaning().ends_with('.'), "{code:?}");
    }
    Ok(())
}

mod laws {
    use howdah_codegen::source::BlockKind;
    use proptest::prelude::*;

    use super::*;

    /// What files are made of, and what breaks them.
    fn bits() -> impl Strategy<Value = String> {
        let bit = prop_oneof![
            8 => prop::sample::select(vec![
                "-- QUERY a :one\n", "-- EXEC b\r\n", "/* QUERY c\n result: {x: text} */\n", "-- MIGRATE 1\n",
                "-- TABLE t :appender(a,b)\n", "@set x = 'y'\n", "@set x = 1", "${x}", "${", "}", "'", "\"", "E'",
                "U&'", "\\", "$$", "$tag$", "/*", "*/", "--", "--?", "\n", "\r", "\t", " ", ";", "(", ")", "select",
                "create function f() begin atomic", "end", "case", "日本", "\u{feff}", "\u{a0}", "\u{202e}", "\0",
                "$1", ":", "=", "-- QUERY", "QUERY", "params: {", "--? x\n", "choices: {x: ['y', a b]}", "&a", "- [", "a: &b *b",
            ]).prop_map(str::to_owned),
            1 => any::<String>(),
        ];
        prop::collection::vec(bit, 0..40).prop_map(|bits| bits.concat())
    }

    /// What stands at a place, from there on.
    fn at(text: &str, line: usize, column: usize) -> &str {
        let mut rest = text;
        for _ in 1..line {
            let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
            let length = if rest[end..].starts_with("\r\n") { 2 } else { 1 };
            rest = rest.get(end + length..).unwrap_or_default();
        }
        rest.char_indices().nth(column - 1).map_or("", |(offset, _)| &rest[offset..])
    }

    fn is_there(text: &str, piece: &Piece) -> bool {
        match piece {
            Piece::Text { text: sql, place } => {
                let there = at(text, place.line, place.column);
                // A blank of ours may stand between a word and a variable, and behind a text that is chosen.
                there.starts_with(sql.as_str())
                    || sql == " "
                    || sql.strip_suffix(' ').is_some_and(|sql| there.starts_with(&format!("{sql}${{")))
            }
            Piece::Variable { name, place } => {
                at(text, place.line, place.column).starts_with(&format!("${{{name}}}"))
            }
            Piece::Optional { name, pieces, place } => {
                at(text, place.line, place.column).starts_with(name)
                    && !pieces.is_empty()
                    && pieces.iter().all(|piece| is_there(text, piece))
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: ProptestConfig::default().cases.max(1000),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn whatever_a_file_says_its_pieces_are_where_they_say(text in bits()) {
            let (blocks, messages) = parse("a.sql", &text);
            for block in &blocks {
                prop_assert!(at(&text, block.place.line, block.place.column).starts_with(&block.name));
                for piece in block.body.iter().chain(block.statements().iter().flatten()) {
                    prop_assert!(is_there(&text, piece), "{piece:?}");
                }
                for set in &block.variables {
                    prop_assert!(at(&text, set.place.line, set.place.column).starts_with(&set.name));
                }
            }
            let mut all = Diagnostics::default();
            all.remember("a.sql", &text);
            all.extend(messages);
            // Nothing in a file moves the cursor.
            prop_assert!(!all.text().contains(|c: char| c.is_control() && c != '\n'));
            let json: Result<serde_json::Value, _> = serde_json::from_str(&all.json());
            prop_assert!(json.is_ok());
            let _ = Config::parse(Path::new(""), "howdah.yaml", &text);
        }

        #[test]
        fn statements_that_are_joined_come_apart_again(
            statements in prop::collection::vec(prop::sample::select(vec![
                "SELECT 1", "INSERT INTO t VALUES ('a;b', $$;$$)", "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)",
                "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END",
                "CREATE OR REPLACE PROCEDURE p() BEGIN ATOMIC DELETE FROM t; END", "BEGIN", "COMMIT",
                "SELECT 1 /* ; /* ; */ ; */ + 1", "SELECT \";\" -- ;\n FROM t",
            ]), 1..6),
            gap in prop::sample::select(vec![";", " ;\n", ";\n-- comment; here\n", ";;\n/* ; */"]),
        ) {
            let text = format!("-- MIGRATE 1\n{}{gap}", statements.join(gap));
            let (blocks, messages) = parse("a.sql", &text);
            prop_assert!(messages.is_empty(), "{messages:?}");
            prop_assert_eq!(blocks[0].kind, BlockKind::Migrate);
            let apart = blocks[0].statements();
            let apart = apart.iter().map(|pieces| match &pieces[..] {
                [Piece::Text { text, .. }] => text.trim_end().to_owned(),
                other => format!("{other:?}"),
            });
            prop_assert_eq!(apart.collect::<Vec<_>>(), statements);
        }
    }
}

#[test]
fn the_syntax_on_one_screen_is_a_file_without_faults() {
    let (blocks, messages) = parse("syntax.sql", SYNTAX);
    assert_eq!(messages, []);
    assert_eq!(blocks.len(), 7);
    assert!(SYNTAX.lines().count() < 48 && SYNTAX.lines().all(|line| line.len() < 100));
}
