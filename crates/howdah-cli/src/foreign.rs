//! Options as other programs call them, and ours: the answer to a line that somebody's fingers know from elsewhere.

use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::Cli;

/// What psql, pgloader, timescaledb-parallel-copy, csvsql, pandas, `bq`, Oracle's and others' loaders say, and ours as it is typed.
const WORDS: &[(&str, &[&str])] = &[
    (
        "--delimiter",
        &[
            "separator",
            "sep",
            "delim",
            "split",
            "field-separator",
            "field-delimiter",
            "fields-terminated-by",
            "split-character",
        ],
    ),
    (
        "--null",
        &["null-string", "null-value", "null-values", "null-marker", "null-as", "nullstr", "na-values"],
    ),
    ("--quote", &["quote-char", "quotechar", "quote-character", "enclosed-by", "optionally-enclosed-by"]),
    ("--escape", &["escape-char", "escapechar", "escape-character", "escaped-by"]),
    ("--encoding", &["charset", "file-encoding", "input-encoding", "client-encoding"]),
    ("--format", &["input-format", "file-format", "source-format", "filetype", "csv"]),
    ("--header=false", &["no-header", "no-headers", "no-header-row"]),
    ("--skip-lines", &["skip", "skip-header", "skip-rows", "skiprows", "skip-leading-rows", "head-lines"]),
    ("--limit", &["rows", "nrows", "max-rows", "max-records", "sample"]),
    ("--decimal", &["decimal-separator", "decimal-point", "decimal-comma"]),
    ("--thousands", &["thousands-separator", "thousand-separator", "group-separator", "grouping"]),
    ("--booleans", &["true-values", "false-values", "boolean-values", "bool-values"]),
    ("--date-format", &["dateformat", "date-style", "datetime-format", "timestamp-format"]),
    (
        "--mode upsert",
        &["upsert", "on-conflict", "on-conflict-do-update", "merge", "on-duplicate-key-update"],
    ),
    ("--mode ignore", &["on-conflict-do-nothing", "skip-duplicates", "ignore-duplicates", "insert-ignore"]),
    ("--mode truncate", &["truncate", "empty"]),
    ("--mode replace", &["replace", "overwrite", "if-exists", "drop", "drop-table", "clean"]),
    ("--mode append", &["append", "no-create"]),
    ("--mode create", &["create", "create-table"]),
    ("--key", &["primary-key", "primary-keys", "pk", "unique-key", "unique-constraint", "conflict-columns"]),
    ("--table", &["table-name", "tablename", "tables", "into", "target", "schema"]),
    (
        "--dbname",
        &[
            "database",
            "db",
            "db-name",
            "db-url",
            "url",
            "uri",
            "dsn",
            "conn",
            "connection",
            "connection-string",
        ],
    ),
    ("--jobs", &["workers", "threads", "parallel", "parallelism", "concurrency", "connections", "processes"]),
    ("--types", &["type", "dtype", "dtypes", "column-types", "cast"]),
    ("--names snake", &["snake-case", "normalize-names", "clean-names", "lowercase"]),
    ("--map", &["rename", "mapping", "column-mapping"]),
    ("--skip-columns", &["exclude", "exclude-columns", "drop-columns", "not-columns"]),
    ("--file-column", &["filename", "filename-column", "source-column"]),
    ("--on-error ignore", &["ignore-errors", "skip-errors", "continue-on-error", "no-on-error-stop"]),
    ("--reject-limit", &["max-errors", "maxerrors", "max-bad-records", "error-limit", "errors"]),
    ("--rejects", &["bad-file", "badfile", "bad", "reject-file", "reject-table", "error-file", "log-errors"]),
    ("--rows-per-statement", &["batch-size", "batch-rows", "chunk-size", "chunksize", "rows-per-batch"]),
    ("--max-rate", &["rate", "rate-limit", "throttle", "bandwidth"]),
    ("--dry-run", &["dry", "check", "validate", "explain", "plan", "no-act"]),
    ("--report json", &["json", "output-format", "log-format"]),
    // The words inside are those of COPY, each of which is an option of its own.
    ("--delimiter, --null, --quote, --escape, --header, --encoding", &["copy-options", "with", "options"]),
];

/// Puts ours into the answer to `args` (the first is the program's name) where they have somebody else's option.
pub(crate) fn answer(mut refused: clap::Error, args: &[OsString]) -> clap::Error {
    if refused.kind() != ErrorKind::UnknownArgument {
        return refused;
    }
    let Some(ContextValue::String(typed)) = refused.get(ContextKind::InvalidArg) else { return refused };
    let typed = typed.split('=').next().unwrap_or_default().to_owned();
    let Some(ours) = ours(&typed).filter(|ours| args.get(1).is_some_and(|name| takes(name, ours))) else {
        return refused;
    };
    // The one that is only spelled alike, and the usage that shows it.
    refused.remove(ContextKind::SuggestedArg);
    let mut cli = Cli::command();
    cli.build();
    if let Some(command) = args.get(1).and_then(|name| cli.find_subcommand_mut(name)) {
        refused.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
    }
    let tip = format!("what other programs call '{typed}' is here: {ours}");
    refused.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    refused
}

/// What `typed` is with us, however its words are joined.
fn ours(typed: &str) -> Option<&'static str> {
    let word = typed.strip_prefix("--")?.to_lowercase().replace('_', "-");
    WORDS.iter().find(|(_, theirs)| theirs.contains(&&*word)).map(|(ours, _)| *ours)
}

/// Whether the command `name` has all options of `ours`, and knows the word behind one.
fn takes(name: &OsString, ours: &str) -> bool {
    let cli = Cli::command();
    let Some(command) = name.to_str().and_then(|name| cli.find_subcommand(name)) else { return false };
    let word = ours.split_once(' ').map(|(_, word)| word).filter(|word| !word.contains("--"));
    let knows_word = |option: &clap::Arg| {
        let words = option.get_possible_values();
        word.is_none_or(|word| words.iter().any(|known| known.matches(word, false)))
    };
    let is_taken = |option| {
        let mut known = command.get_arguments();
        known.any(|known| known.get_long() == Some(option) && knows_word(known))
    };
    options(ours).all(is_taken)
}

/// The names of the options in `ours`.
fn options(ours: &str) -> impl Iterator<Item = &str> {
    ours.split([' ', ',', '=']).filter_map(|word| word.strip_prefix("--"))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use clap::Parser;

    use super::*;

    #[test]
    fn every_answer_is_an_option_of_load_with_a_value_that_it_takes() {
        for (ours, _) in WORDS {
            assert!(takes(&"load".into(), ours), "{ours}");
            if ours.contains([' ', '=']) && !ours.contains(',') {
                let line = ["howdah", "load", "a.csv"].into_iter().chain(ours.split(' '));
                assert!(Cli::try_parse_from(line).is_ok(), "{ours}");
            }
        }
    }

    #[test]
    fn a_word_of_others_has_one_answer_and_is_no_option_of_ours() {
        let (cli, mut seen) = (Cli::command(), HashSet::new());
        let load = cli.find_subcommand("load").unwrap();
        for word in WORDS.iter().flat_map(|(_, theirs)| *theirs) {
            assert!(seen.insert(word), "{word} twice");
            assert!(!load.get_arguments().any(|known| known.get_long() == Some(word)), "{word}");
        }
    }
}
