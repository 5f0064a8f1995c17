//! What the options of `howdah load` mean: checked, and turned into the engine's vocabulary.

use howdah::name::TableName;
use howdah::options::{Allowed, Encoding, Format, Indexes, Mode, TargetOptions, Unlogged, WritePath};
use howdah::{Error, LoadOptions};

use crate::args::{AllowArg, IndexesArg, Load, ModeArg, UnloggedArg, WritePathArg};
use crate::names::{column_list, column_name};
use crate::{reading, types, units};

/// The engine's options.
///
/// # Errors
/// A usage error that names the option.
pub(crate) fn load_options(args: &Load) -> Result<LoadOptions, Error> {
    let table = args.target.table.as_deref().map(TableName::parse).transpose()?;
    if table.is_none() && args.inputs.first().is_some_and(|input| input == "-") {
        return Err(
            Error::usage("standard input has no name that a table could take").with_hint("add --table NAME")
        );
    }
    let is_json = match args.format {
        Some(format) => matches!(format, Format::Json | Format::Ndjson),
        None => args.inputs.first().is_some_and(|input| is_json(&input.to_string_lossy())),
    };
    let file = &args.file_input;
    let default = file.default.as_ref();
    let mut options =
        reading::options(args.format, &args.input, default, &args.columns, &args.tolerance, is_json)?;
    let input = &mut options.input;
    input.paths.clone_from(&args.inputs);
    input.encoding = file.encoding.as_deref().map(Encoding::named).transpose()?;
    input.skip_lines = file.skip_lines.unwrap_or(0);
    input.limit = file.limit;
    input.allow_loss = Allowed {
        nanoseconds: args.losses.allow.contains(&AllowArg::Nanoseconds),
        decimals: args.losses.allow.contains(&AllowArg::Decimals),
        floats: args.losses.allow.contains(&AllowArg::Floats),
    };
    options.tolerance.overwrite_rejects = args.losses.overwrite_rejects;
    let input = &mut options.input;
    input.hive_partitions = args.file_columns.hive;
    let columns = &mut options.columns;
    columns.types = types::declared(&args.file_columns.types)?;
    columns.infer = args.file_columns.infer;
    columns.file_column = args.file_columns.file_column.as_deref().map(column_name).transpose()?;
    columns.column_names = args.file_columns.names;
    let key = args.target.key.as_deref().map(|list| column_list("--key", list)).transpose()?;
    options.target = target(args);
    options.target.table = table;
    options.target.key = key.unwrap_or_default();
    let writing = &mut options.writing;
    writing.jobs = args.writing.jobs.map(usize::from);
    writing.sort = args.writing.sort.parse()?;
    writing.indexes = match args.writing.indexes {
        IndexesArg::Keep => Indexes::Keep,
        IndexesArg::Rebuild => Indexes::Rebuild,
        IndexesArg::Auto => Indexes::Auto,
    };
    writing.disable_triggers = args.writing.disable_triggers;
    writing.write_path = match args.writing.write_path {
        WritePathArg::CopyBinary => WritePath::CopyBinary,
        WritePathArg::CopyText => WritePath::CopyText,
        WritePathArg::CopyCsv => WritePath::CopyCsv,
        WritePathArg::InsertAutocommit => WritePath::InsertAutocommit,
        WritePathArg::Insert => WritePath::Insert,
        WritePathArg::InsertPrepared => WritePath::InsertPrepared,
        WritePathArg::InsertPipelined => WritePath::InsertPipelined,
        WritePathArg::InsertRewritten => WritePath::InsertRewritten,
        WritePathArg::Values => WritePath::Values,
        WritePathArg::ValuesPrepared => WritePath::ValuesPrepared,
        WritePathArg::Unnest => WritePath::Unnest,
        WritePathArg::Landing => WritePath::Landing,
    };
    writing.landing_table = args.writing.landing_table.as_deref().map(TableName::parse).transpose()?;
    writing.keep_landing = args.writing.keep_landing;
    let rows = args.writing.rows_per_statement;
    writing.rows_per_statement = rows.map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
    writing.freeze = args.writing.freeze;
    let rate = args.writing.max_rate.as_deref().map(|text| units::bytes("--max-rate", text)).transpose()?;
    writing.max_rate = rate.map(|bytes| bytes as u64);
    let timeout = args.writing.lock_timeout.as_deref();
    writing.lock_timeout = timeout.map(|text| units::time("--lock-timeout", text)).transpose()?;
    Ok(options)
}

/// What is done to the table, but for its name and its key.
fn target(args: &Load) -> TargetOptions {
    let mut target = TargetOptions::default();
    target.mode = match args.target.mode {
        ModeArg::Append => Mode::Append,
        ModeArg::Create => Mode::Create,
        ModeArg::CreateAppend => Mode::CreateAppend,
        ModeArg::Replace => Mode::Replace,
        ModeArg::Truncate => Mode::Truncate,
        ModeArg::Upsert => Mode::Upsert,
        ModeArg::Ignore => Mode::Ignore,
        ModeArg::Update => Mode::Update,
        ModeArg::Delete => Mode::Delete,
    };
    target.create_schema = args.target.create_schema;
    target.evolve = args.target.evolve;
    target.column_compression = args.file_columns.column_compression;
    target.unlogged = match args.target.unlogged {
        UnloggedArg::No => Unlogged::No,
        UnloggedArg::Yes => Unlogged::Yes,
        UnloggedArg::ThenLogged => Unlogged::ThenLogged,
    };
    target.before.clone_from(&args.writing.before);
    target.after.clone_from(&args.writing.after);
    target.load_id.clone_from(&args.writing.load_id);
    target.share = args.writing.share;
    target.analyze = args.writing.analyze;
    target.dry_run = args.target.dry_run;
    target
}

/// Whether the name says JSON.
pub(crate) fn is_json(input: &str) -> bool {
    let name = input.to_ascii_lowercase();
    let name = [".gz", ".zst", ".zstd", ".xz", ".bz2"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(&name);
    let ends = |end: &&str| name.ends_with(*end);
    [".json", ".jsonl", ".ndjson"].iter().any(ends) && !name.contains(".rejects.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use crate::spelling::Terminal;
    use clap::Parser;
    use howdah::message::Respell;
    use howdah::options::{
        ColumnCompression, Format, HeaderOption, Inference, OnError, OnNul, RejectLimit, Sort, Thousands,
    };

    fn parse(line: &[&str]) -> Load {
        match Cli::try_parse_from([&["howdah", "load"], line].concat()).unwrap().command {
            Command::Load(load) => *load,
            _ => unreachable!(),
        }
    }

    fn options(line: &[&str]) -> LoadOptions {
        load_options(&parse(line)).unwrap()
    }

    fn refusal(line: &[&str]) -> String {
        load_options(&parse(line)).unwrap_err().respelled(&Terminal).message().to_owned()
    }

    #[test]
    fn without_options_a_load_has_the_documented_defaults() {
        let o = options(&["a.csv", "b.csv"]);
        assert_eq!(o.input.paths, ["a.csv", "b.csv"]);
        assert!(
            o.target.table.is_none()
                && o.input.format.is_none()
                && o.columns.column_list.is_none()
                && o.writing.jobs.is_none()
        );
        assert_eq!(
            (o.columns.header, o.target.mode, o.writing.write_path),
            (HeaderOption::Auto, Mode::CreateAppend, WritePath::CopyBinary)
        );
        assert_eq!(o.target.unlogged, Unlogged::No);
        assert!(!(o.writing.freeze || o.target.analyze || o.target.dry_run));
        assert_eq!((o.input.skip_lines, o.input.limit), (0, None));
    }

    /// A command line with a value other than the default for every option of a load.
    fn with_every_option() -> LoadOptions {
        options(&[
            "-",
            "--table",
            "S.\"T\"",
            "--format",
            "text",
            "--mode",
            "truncate",
            "--sort",
            "\"auto\"",
            "--indexes",
            "rebuild",
            "--disable-triggers",
            "--evolve",
            "--jobs",
            "4",
            "--write-path",
            "copy-text",
            "--delimiter",
            ";",
            "--null",
            "\\N",
            "--default",
            "-",
            "--quote",
            "'",
            "--escape",
            "\\",
            "--header",
            "--columns",
            "A,\"B\"",
            "--map",
            "x=Y",
            "--map",
            "z=w",
            "--skip-columns",
            "C,d",
            "--skip-columns",
            "e",
            "--skip-lines",
            "3",
            "--limit",
            "9",
            "--unlogged=then-logged",
            "--freeze",
            "--max-rate",
            "20MB",
            "--lock-timeout",
            "90s",
            "--analyze",
            "--dry-run",
            "--on-error",
            "ignore",
            "--reject-limit",
            "2.5%",
            "--rejects",
            "bad.jsonl",
            "--on-nul",
            "strip",
            "--force-null",
            "*",
            "--force-not-null",
            "a,B",
            "--key",
            "A,\"B\"",
            "--create-schema",
            "--before",
            "SELECT 1, 2",
            "--after",
            "a",
            "--after",
            "b",
            "--types",
            "a=numeric(10,2),b=int",
            "--column-compression",
            "pglz",
            "--names",
            "snake",
            "--file-column",
            "Src",
            "--date-format",
            "%d.%m.%Y",
            "--thousands",
            "'",
            "--infer",
            "mostly",
            "--booleans",
            "ja,Nein",
            "--booleans",
            "\"o,k\",n",
            "--landing-table",
            "S.L",
            "--keep-landing",
            "--allow",
            "nanoseconds,floats",
            "--hive",
        ])
    }

    #[test]
    fn every_option_of_the_input_reaches_the_engine() {
        let o = with_every_option().input;
        assert_eq!(o.format, Some(Format::Text));
        assert_eq!(o.allow_loss, Allowed { nanoseconds: true, decimals: false, floats: true });
        assert!(o.hive_partitions);
        assert_eq!(o.date_format.unwrap().as_str(), "%d.%m.%Y");
        assert_eq!(o.thousands, Some(Thousands::Apostrophe));
        assert_eq!(o.booleans, [("ja".into(), "Nein".into()), ("o,k".into(), "n".into())]);
        let dialect = o.dialect;
        assert_eq!(
            (dialect.delimiter, dialect.quote, dialect.escape),
            (Some(b';'.into()), Some(b'\''), Some(b'\\'))
        );
        assert_eq!((dialect.null.as_deref(), dialect.default.as_deref()), (Some("\\N"), Some("-")));
        assert_eq!((o.skip_lines, o.limit), (3, Some(9)));
    }

    #[test]
    fn every_option_of_columns_reaches_the_engine() {
        let o = with_every_option().columns;
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!((o.force_null, o.force_not_null), (names(&["*"]), names(&["a", "b"])));
        assert_eq!(o.infer, Inference::Mostly);
        assert_eq!(o.types, [("a".into(), "numeric(10,2)".into()), ("b".into(), "int".into())]);
        assert_eq!(
            (o.column_names, o.file_column.as_deref()),
            (howdah::options::ColumnNames::Snake, Some("src"))
        );
        assert_eq!(o.header, HeaderOption::Yes);
        assert_eq!(o.column_list.unwrap(), ["a", "B"]);
        assert_eq!(o.map, [("x".into(), "y".into()), ("z".into(), "w".into())]);
        assert_eq!(o.skip_columns, ["C", "d", "e"]);
    }

    #[test]
    fn every_option_of_the_target_reaches_the_engine() {
        let o = with_every_option().target;
        assert_eq!(o.table.unwrap().to_string(), "\"s\".\"T\"");
        assert_eq!(o.mode, Mode::Truncate);
        assert_eq!((o.key.as_slice(), o.create_schema), (["a".to_owned(), "B".to_owned()].as_slice(), true));
        assert_eq!(
            (o.before, o.after),
            (vec!["SELECT 1, 2".to_owned()], vec!["a".to_owned(), "b".to_owned()])
        );
        assert!(o.unlogged == Unlogged::ThenLogged && o.analyze && o.dry_run && o.evolve);
        assert_eq!(o.column_compression, ColumnCompression::Pglz);
    }

    #[test]
    fn every_option_of_writing_and_of_tolerance_reaches_the_engine() {
        let o = with_every_option();
        let (tolerance, writing) = (o.tolerance, o.writing);
        assert_eq!((tolerance.on_error, tolerance.on_nul), (OnError::Ignore, OnNul::Strip));
        assert_eq!(
            (tolerance.reject_limit, tolerance.rejects),
            (Some(RejectLimit::Percent(2.5)), Some("bad.jsonl".into()))
        );
        assert_eq!((writing.write_path, writing.jobs), (WritePath::CopyText, Some(4)));
        assert_eq!((writing.sort, writing.indexes), (Sort::By("auto".into()), Indexes::Rebuild));
        assert_eq!(
            (writing.landing_table.unwrap().to_string().as_str(), writing.keep_landing),
            ("\"s\".\"l\"", true)
        );
        assert!(writing.freeze && writing.disable_triggers);
        assert_eq!(writing.max_rate, Some(20_000_000));
        assert_eq!(writing.lock_timeout, Some(std::time::Duration::from_secs(90)));
    }

    #[test]
    fn limits_on_ignored_records_are_numbers_or_shares_and_need_ignoring() {
        let ignore = ["a", "--on-error", "ignore", "--reject-limit"];
        let limit = |text: &'static str| options(&[&ignore[..], &[text]].concat()).tolerance.reject_limit;
        assert_eq!(limit("7"), Some(RejectLimit::Rows(7)));
        assert_eq!(limit("0%"), Some(RejectLimit::Percent(0.0)));
        for bad in ["1.5", "101%", "%", "NaN%", ""] {
            assert!(refusal(&[&ignore[..], &[bad]].concat()).contains("--reject-limit"), "{bad}");
        }
        assert!(refusal(&["a", "--reject-limit", "1"]).contains("rejected"));
    }

    #[test]
    fn keys_of_json_keep_their_spelling() {
        let columns =
            |line: &[&str]| options(&[line, &["--columns", "userId,\"a b\""]].concat()).columns.column_list;
        let exact = Some(vec!["userId".to_owned(), "a b".to_owned()]);
        for json in [
            &["a.json"][..],
            &["A.JSONL"],
            &["logs/*.ndjson.gz"],
            &["-", "--table", "t", "--format", "ndjson"],
        ] {
            assert_eq!(columns(json), exact, "{json:?}");
        }
        for other in [&["json"][..], &["a.json.csv"], &["t.1f.rejects.jsonl"], &["a.json", "--format", "csv"]]
        {
            assert_ne!(columns(other), exact, "{other:?}");
        }
        assert_eq!(options(&["a", "--format", "json"]).input.format, Some(Format::Json));
    }

    #[test]
    fn a_tab_can_be_typed_and_a_wrong_delimiter_is_named() {
        for tab in ["\\t", "tab", "\t"] {
            assert_eq!(options(&["a", "--delimiter", tab]).input.dialect.delimiter, Some(b'\t'.into()));
        }
        assert_eq!(options(&["a", "--delimiter", "-"]).input.dialect.delimiter, Some(b'-'.into()));
        assert_eq!(options(&["a", "--delimiter", "\\x1F"]).input.dialect.delimiter, Some(0x1F.into()));
        for (typed, bytes) in [
            ("||", "||"),
            ("§", "§"),
            ("\\t|\\t", "\t|\t"),
            (", ", ", "),
            ("\\x1", "\\x1"),
            ("\\x01\\x02", "\u{1}\u{2}"),
            ("\\xc2\\xA7|", "§|"),
        ] {
            let found = options(&["a", "--delimiter", typed]).input.dialect.delimiter;
            assert_eq!(found.unwrap().to_string(), bytes);
        }
        for (bad, says) in [
            ("=====", "--delimiter has at most 4 bytes: \"=====\" has 5"),
            ("", "--delimiter is empty"),
            ("\\n", "--delimiter takes one byte: \"\\\\n\" ends a line and cannot be used"),
            ("\\x0a", "--delimiter cannot contain a line end: \"\\n\""),
            ("\\x00", "--delimiter cannot contain a NUL byte"),
            ("\\xa7|", "--delimiter \\xa7| is no character in UTF-8"),
            ("a\nb", "--delimiter cannot contain a line end: \"a\\nb\""),
        ] {
            assert_eq!(refusal(&["a", "--delimiter", bad]), says);
        }
        assert!(refusal(&["a", "--quote", "''"]).starts_with("--quote takes one byte"));
    }

    #[test]
    fn a_decimal_point_is_a_point_or_a_comma() {
        assert!(options(&["a", "--decimal", ","]).input.decimal_comma);
        assert!(!options(&["a", "--decimal=."]).input.decimal_comma);
        assert!(refusal(&["a", "--decimal", "٫"]).contains("--decimal takes"));
    }

    #[test]
    fn thousands_and_booleans_take_marks_and_words() {
        for (typed, mark) in [("space", Thousands::Space), (",", Thousands::Comma), (".", Thousands::Point)] {
            assert_eq!(options(&["a", "--thousands", typed]).input.thousands, Some(mark));
        }
        assert!(refusal(&["a", "--thousands", "_"]).starts_with("--thousands takes , . ' or space"));
        for wrong in ["ja", "ja,nein,doch"] {
            assert!(refusal(&["a", "--booleans", wrong]).starts_with("--booleans takes a word for true"));
        }
    }

    #[test]
    fn encodings_have_postgresqls_names_and_the_webs() {
        let encoding = |name: &str| options(&["a", "--encoding", name]).input.encoding.unwrap().name();
        for (given, means) in [
            ("utf-8", "UTF8"),
            ("Latin1", "LATIN1"),
            ("ISO-8859-1", "LATIN1"),
            ("cp1252", "WIN1252"),
            ("windows-1252", "WIN1252"),
            ("Shift_JIS", "SJIS"),
            ("euc-kr", "EUC_KR"),
            ("utf-16le", "UTF-16LE"),
            ("macintosh", "macintosh"),
        ] {
            assert_eq!(encoding(given), means, "{given}");
        }
        assert_eq!(refusal(&["a", "--encoding", "klingon"]), "--encoding klingon: there is no such encoding");
        assert!(refusal(&["a", "--encoding", "EUC_TW"]).contains("cannot decode"));
        assert!(refusal(&["a", "--encoding", "hz-gb-2312"]).contains("no such encoding"));
    }

    #[test]
    fn header_takes_postgresqls_booleans_and_bare_means_true() {
        let header = |arg: &str| options(&["a", arg]).columns.header;
        for yes in ["--header", "--header=true", "--header=YES", "--header=on", "--header=1"] {
            assert_eq!(header(yes), HeaderOption::Yes, "{yes}");
        }
        for no in ["--header=false", "--header=no", "--header=off"] {
            assert_eq!(header(no), HeaderOption::No, "{no}");
        }
        assert_eq!(header("--header=auto"), HeaderOption::Auto);
        // The file after a bare --header is an input, not its value.
        assert_eq!(options(&["--header", "a"]).input.paths, ["a"]);
        assert!(refusal(&["a", "--header=match"]).contains("not needed"));
        assert!(refusal(&["a", "--header=maybe"]).contains("\"maybe\""));
    }

    #[test]
    fn column_names_fold_like_sql_unless_quoted() {
        let columns = |list: &str| options(&["a", "--columns", list]).columns.column_list.unwrap();
        assert_eq!(columns(" A , \"B \"\"x\"\", c\" ,d e"), ["a", "B \"x\", c", "d e"]);
        for (bad, says) in [
            ("a,,b", "is empty"),
            ("a,", "is empty"),
            ("a,\"b", "unterminated quote"),
            ("\"a\"b", "a comma is missing"),
            ("a,A", "twice"),
            ("\"\"", "empty"),
        ] {
            assert!(
                refusal(&["a", "--columns", bad]).contains(says),
                "{bad:?}: {}",
                refusal(&["a", "--columns", bad])
            );
        }
    }

    #[test]
    fn a_map_keeps_the_headers_spelling() {
        let map = |pair: &str| options(&["a", "--map", pair]).columns.map.remove(0);
        assert_eq!(map("Total=%=Pct"), ("Total=%".into(), "pct".into()));
        assert_eq!(map("a=\"B=c\""), ("a".into(), "B=c".into()));
        for bad in ["a", "=b", "a=", "a=b,c"] {
            assert!(refusal(&["a", "--map", bad]).starts_with("--map"), "{bad}");
        }
    }

    #[test]
    fn standard_input_needs_a_table_before_a_server_is_started() {
        assert!(refusal(&["-"]).contains("standard input"));
        assert!(refusal(&["a", "--table", "x.y.z"]).contains("too many parts"));
    }
}
