//! What was typed: the commands and options, their help, and nothing about what they mean.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};

/// Carry data into PostgreSQL as fast as the server can take it.
#[derive(Debug, Parser)]
#[command(
    name = "howdah",
    version,
    disable_help_flag = true,
    disable_version_flag = true,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    max_term_width = 110,
    after_help = "See what a command takes with: howdah COMMAND --help"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Show this help
    // Short help in both spellings: one line an option reads better than pages. `-h` is the host, as in psql.
    #[arg(long, short = '?', global = true, action = ArgAction::HelpShort, help_heading = "Help", display_order = 900)]
    help: Option<bool>,

    /// Show the version
    #[arg(long, short = 'V', action = ArgAction::Version, help_heading = "Help", display_order = 901)]
    version: Option<bool>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load files and streams into a table
    Load(Box<Load>),
    /// Manage howdah's own PostgreSQL servers
    Server(Server),
    /// Make test data: the same rows on every machine
    Dataset(Dataset),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print a manual page
    Man(Man),
}

const LOAD_EXAMPLES: &str = "\
With no connection given, howdah starts and uses a server of its own (howdah server --help).

Examples:
  howdah load people.csv                            into the table people, made when missing
  howdah load 'logs/*.csv.gz' --table hits -d shop  several compressed files into a database
  curl -s URL | howdah load - --table t             from a pipe
  howdah load old.tsv --null '\\N' --mode replace    exchange the table's rows in one swap
  howdah load people.csv --dry-run                  show types, mapping and SQL; change nothing
  howdah load people.csv --on-error ignore          load the rest, keep bad records
  howdah load people.1f2e.rejects.jsonl             load that file again, mended

Exit codes: 0 done, 1 failed and nothing changed, 2 usage or connection, 3 loaded with some
records ignored, 4 too many of them and nothing loaded, 5 partly committed, 130 or 143 interrupted.";

/// Load CSV, TSV and COPY text files, plain or compressed (gzip, zstd, xz, bzip2), into a table.
#[derive(Debug, Args)]
#[command(after_help = LOAD_EXAMPLES)]
pub(crate) struct Load {
    /// Files, glob patterns, or - for standard input
    #[arg(required = true, value_name = "INPUT", value_hint = ValueHint::FilePath)]
    pub(crate) inputs: Vec<String>,

    #[command(flatten)]
    pub(crate) target: LoadTarget,
    #[command(flatten)]
    pub(crate) connection: Connection,
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) columns: Columns,
    #[command(flatten)]
    pub(crate) tolerance: Tolerance,
    #[command(flatten)]
    pub(crate) writing: Writing,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Target")]
pub(crate) struct LoadTarget {
    /// [SCHEMA.]TABLE, folded unless quoted [default: the first file's name]
    #[arg(long, value_name = "TABLE")]
    pub(crate) table: Option<String>,

    /// What becomes of a table that is there, or is not
    #[arg(long, value_name = "MODE", default_value = "create_append")]
    pub(crate) mode: ModeArg,

    /// A new table's key, or the one to match rows by: a,b [default: the table's]
    #[arg(long, value_name = "LIST")]
    pub(crate) key: Option<String>,

    /// Make a new table's schema too [default: it must be there]
    #[arg(long)]
    pub(crate) create_schema: bool,

    /// New tables are UNLOGGED: faster, emptied by a crash [default: logged]
    #[arg(long)]
    pub(crate) unlogged: bool,

    /// Show the plan, judge every record, change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Connection (as psql; PG* variables and .pgpass count)")]
pub(crate) struct Connection {
    /// Database name, URI, or key=value string [default: howdah's own server]
    #[arg(long = "dbname", short = 'd', value_name = "CONNINFO")]
    pub(crate) dbname: Option<String>,

    /// Host name or socket directory [default: PGHOST]
    #[arg(long, short = 'h', value_name = "HOST")]
    pub(crate) host: Option<String>,

    /// Port [default: PGPORT, else 5432]
    #[arg(long, short = 'p', value_name = "PORT")]
    pub(crate) port: Option<String>,

    /// User name [default: PGUSER, else yours]
    #[arg(long = "username", short = 'U', value_name = "USER")]
    pub(crate) username: Option<String>,

    /// Never ask for a password [default: ask when the server wants one]
    #[arg(long, short = 'w', conflicts_with = "password")]
    pub(crate) no_password: bool,

    /// Ask for a password before connecting
    #[arg(long, short = 'W')]
    pub(crate) password: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Input (COPY's names and meanings)")]
pub(crate) struct Input {
    /// csv, tsv, text (COPY's), rejects [default: by the name, else csv]
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Option<FormatArg>,

    /// UTF8, LATIN1, WIN1252, SJIS, UTF-16LE … [default: by BOM, else UTF8]
    #[arg(long, value_name = "NAME")]
    pub(crate) encoding: Option<String>,

    /// The byte between fields, \t for a tab [default: guessed; tsv, text: tab]
    #[arg(long, value_name = "BYTE", allow_hyphen_values = true)]
    pub(crate) delimiter: Option<String>,

    /// What stands for NULL [default: guessed, an empty field, \N for text]
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) null: Option<String>,

    /// What stands for a column's DEFAULT, server 16+ [default: nothing]
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) default: Option<String>,

    /// The decimal point of numeric columns: . or , [default: .]
    #[arg(long, value_name = "CHAR")]
    pub(crate) decimal: Option<String>,

    /// How dates are written: %d.%m.%Y %H:%M [default: as PostgreSQL]
    #[arg(long, value_name = "FMT")]
    pub(crate) date_format: Option<String>,

    /// Record 1 names columns: auto, false, true or bare [default: auto]
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) header: Option<String>,

    /// The quote of csv and tsv [default: guessed, else "]
    #[arg(long, value_name = "BYTE", allow_hyphen_values = true)]
    pub(crate) quote: Option<String>,

    /// What escapes a quote inside quotes [default: guessed, else the quote]
    #[arg(long, value_name = "BYTE", allow_hyphen_values = true)]
    pub(crate) escape: Option<String>,

    /// Columns in which NULL may stand in quotes: a,b, * [default: none]
    #[arg(long, value_name = "LIST")]
    pub(crate) force_null: Option<String>,

    /// Columns in which nothing means NULL: a,b, * [default: none]
    #[arg(long, value_name = "LIST")]
    pub(crate) force_not_null: Option<String>,

    /// Lines to drop at every file's start, before the header [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) skip_lines: Option<u64>,

    /// Load at most so many records [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Columns (matched by the header's names, else by position)")]
pub(crate) struct Columns {
    /// Columns of the fields: a,b,"Mixed Case" [default: by name or order]
    #[arg(long, value_name = "LIST")]
    pub(crate) columns: Option<String>,

    /// Load header name SRC into column DST; repeatable [default: equal]
    #[arg(long, value_name = "SRC=DST")]
    pub(crate) map: Vec<String>,

    /// Header names that are not loaded: a,b [default: none]
    #[arg(long, value_name = "LIST")]
    pub(crate) skip_columns: Vec<String>,

    /// A new table's types: a=int,b=numeric(10,2) [default: found]
    #[arg(long, value_name = "COL=TYPE")]
    pub(crate) types: Vec<String>,

    /// A new table's names: keep (the header's) or snake
    #[arg(long, value_name = "HOW", default_value = "keep", hide_possible_values = true)]
    pub(crate) names: NamesArg,

    /// A column of text for the name of each row's file [default: none]
    #[arg(long, value_name = "NAME")]
    pub(crate) file_column: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Bad records")]
pub(crate) struct Tolerance {
    /// stop at a record that is no row, or ignore it
    #[arg(long, value_name = "WHAT", default_value = "stop", hide_possible_values = true)]
    pub(crate) on_error: OnErrorArg,

    /// Most records that may be ignored, or per cent of all [default: any]
    #[arg(long, value_name = "N|P%")]
    pub(crate) reject_limit: Option<String>,

    /// Where ignored records go [default: TABLE.LOAD_ID.rejects.jsonl, here]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) rejects: Option<PathBuf>,

    /// NUL characters, which no text can hold: error, strip
    #[arg(long, value_name = "WHAT", default_value = "error", hide_possible_values = true)]
    pub(crate) on_nul: OnNulArg,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Writing")]
pub(crate) struct Writing {
    /// Connections that write at once [default: by cores, input, indexes]
    #[arg(long, short = 'j', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,

    /// copy-binary or copy-text (parsed by the server)
    #[arg(long, value_name = "PATH", default_value = "copy-binary", hide_possible_values = true)]
    pub(crate) write_path: WritePathArg,

    /// COPY FREEZE; for a table made or truncated here, one job [default: off]
    #[arg(long)]
    pub(crate) freeze: bool,

    /// SQL before the first row, in its transaction; repeatable [default: none]
    #[arg(long, value_name = "SQL")]
    pub(crate) before: Vec<String>,

    /// SQL after the last row, in its transaction; repeatable [default: none]
    #[arg(long, value_name = "SQL")]
    pub(crate) after: Vec<String>,

    /// ANALYZE the table after the commit [default: off]
    #[arg(long, overrides_with = "no_analyze")]
    pub(crate) analyze: bool,

    /// Leave it to autovacuum [default: on]
    #[arg(long, overrides_with = "analyze")]
    no_analyze: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output (data and JSON on stdout, messages on stderr)")]
pub(crate) struct Output {
    /// The report at the end, also of a failure: text or json
    #[arg(long, value_name = "FORM", default_value = "text", hide_possible_values = true)]
    pub(crate) report: ReportArg,

    /// Only errors and the JSON report [default: progress and a summary]
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,

    /// Also the plan (header, mapping, statements) and where time went [default: off]
    #[arg(long, short = 'v', conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    Csv,
    Tsv,
    Text,
    Rejects,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NamesArg {
    Keep,
    Snake,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnErrorArg {
    Stop,
    Ignore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnNulArg {
    Error,
    Strip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum ModeArg {
    /// Add to it; it must exist
    Append,
    /// Make it; it must not exist
    Create,
    /// Exchange its rows for the input's in one swap
    Replace,
    /// Add to it when it exists, make it when it does not
    CreateAppend,
    /// Empty it and load, in one transaction
    Truncate,
    /// Insert rows, or update those whose key is there
    Upsert,
    /// Insert rows, skip those whose key is there
    Ignore,
    /// Update rows whose key is there, skip the others
    Update,
    /// Delete the rows whose keys are in the input
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WritePathArg {
    /// Encoded here; what the codecs are not sure of travels as text
    CopyBinary,
    /// As text; the server parses every value
    CopyText,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportArg {
    Text,
    Json,
}

const SERVER_EXAMPLES: &str = "\
A server keeps its data in your data directory and listens for this machine only.

Examples:
  howdah server start
  howdah server psql -- -c 'TABLE people LIMIT 5'
  psql \"$(howdah server url)\"";

/// Manage howdah's own PostgreSQL servers.
#[derive(Debug, Args)]
#[command(after_help = SERVER_EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Server {
    #[command(subcommand)]
    pub(crate) action: ServerAction,

    /// Which server
    #[arg(long, value_name = "NAME", default_value = "default", global = true)]
    pub(crate) name: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServerAction {
    /// Start the server; make it when it is new
    Start,
    /// Stop the server; its data stays
    Stop,
    /// Say where the server is and whether it runs (exit code 0) or not (1)
    Status,
    /// Print a connection URI, password included; start the server when needed
    Url,
    /// Run the server's psql
    Psql {
        /// What psql gets, after --
        #[arg(last = true, value_name = "PSQL ARGS")]
        args: Vec<std::ffi::OsString>,
    },
    /// Stop the server and delete all its data
    Delete {
        /// Do not ask
        #[arg(long, short = 'y')]
        yes: bool,
    },
}

const DATASET_EXAMPLES: &str = "\
Examples:
  howdah dataset list
  howdah dataset github-events --rows 100000 -o events.csv
  howdah dataset readings | howdah load - --table readings
  howdah dataset tasks --format sql | psql             the table with its keys, for a binary file
  howdah dataset tasks --format binary -o tasks.bin
  howdah dataset gh-archive 2025-01-01-*.json.gz -o events.csv";

/// Make test data: equal rows for an equal seed, on every machine.
#[derive(Debug, Args)]
#[command(after_help = DATASET_EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Dataset {
    /// The data set's name, list to see all, or gh-archive to convert files
    #[arg(value_name = "NAME|list|gh-archive")]
    pub(crate) name: String,

    /// gh-archive: hourly files of GH Archive, made rows of github-events
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,

    /// Rows to make, or at most to convert [default: 1000000, or all]
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<u64>,

    /// Another seed, other rows
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,

    /// readings: a JSON column with what is known of the truck
    #[arg(long)]
    pub(crate) with_tags: bool,

    /// NULL, quotes, newlines, unicode, empty and long values in the same columns
    #[arg(long)]
    pub(crate) hostile: bool,

    /// csv, binary (COPY's), or sql: the table, its keys, a checksum
    #[arg(long, value_name = "FORMAT", default_value = "csv", hide_possible_values = true)]
    pub(crate) format: DatasetFormatArg,

    /// Where to write; - is standard output [default: -, unless that is a terminal]
    #[arg(long, short = 'o', value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DatasetFormatArg {
    Csv,
    Binary,
    Sql,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  howdah completions bash > ~/.local/share/bash-completion/completions/howdah
  howdah completions zsh > ~/.zfunc/_howdah      a directory of your fpath
  howdah completions fish > ~/.config/fish/completions/howdah.fish";

/// Print a script with which a shell completes commands, options, their values and file names.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: ShellArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShellArg {
    Bash,
    Zsh,
    Fish,
}

const MAN_EXAMPLES: &str = "\
Examples:
  howdah man load | man -l -                        read it
  howdah man > ~/.local/share/man/man1/howdah.1     keep it";

/// Print a manual page, as man reads it.
#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct Man {
    /// Of this command: load, server, dataset, completions, man [default: of howdah]
    #[arg(value_name = "COMMAND", hide_possible_values = true,
        value_parser = ["load", "server", "dataset", "completions", "man"])]
    pub(crate) command: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// The help of a command as a person gets it on a terminal of 100 columns.
    fn help(path: &[&str]) -> String {
        let spelled = [&["howdah"], path, &["-?"]].concat();
        Cli::command().term_width(100).try_get_matches_from(spelled).unwrap_err().to_string()
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_mentions_every_option_once_on_one_line_with_its_default() {
        let text = help(&["load"]);
        let root = Cli::command();
        let load = root.find_subcommand("load").unwrap();
        for arg in load.get_arguments().filter(|arg| !arg.is_positional()) {
            let flag = format!("--{}", arg.get_long().unwrap());
            let starts = |line: &&str| {
                line.trim_start().split([' ', '[', ',']).any(|word| word == flag)
                    && line.trim_start().starts_with('-')
            };
            let lines: Vec<&str> = text.lines().filter(starts).collect();
            assert_eq!(lines.len(), 1, "{flag} in {lines:?}");
            let has_default = text.split(lines[0]).nth(1).unwrap().lines().next().unwrap_or("");
            let stated = lines[0].contains("[default: ") || has_default.contains("[default: ");
            assert!(stated || !arg.get_action().takes_values(), "{flag} states no default");
        }
    }

    #[test]
    fn h_is_the_host_and_question_mark_the_help() {
        let cli = Cli::try_parse_from(["howdah", "load", "x", "-h", "db", "-p", "1", "-U", "me", "-d", "d"])
            .unwrap();
        let Command::Load(load) = cli.command else { unreachable!() };
        assert_eq!(load.connection.host.as_deref(), Some("db"));
        assert_eq!(load.connection.username.as_deref(), Some("me"));
        for command in [&[][..], &["load"], &["server"], &["server", "psql"], &["dataset"]] {
            assert!(help(command).contains("Usage: howdah"), "{command:?}");
        }
    }

    #[test]
    fn help_is_plain_in_both_spellings() {
        let long = Cli::command().term_width(100).try_get_matches_from(["howdah", "load", "--help"]);
        assert_eq!(help(&["load"]), long.unwrap_err().to_string());
    }

    #[test]
    fn psqls_arguments_pass_through_untouched() {
        let cli =
            Cli::try_parse_from(["howdah", "server", "psql", "--name", "x", "--", "-c", "--help"]).unwrap();
        let Command::Server(Server { action: ServerAction::Psql { args }, name }) = cli.command else {
            unreachable!()
        };
        assert_eq!((args, name.as_str()), (vec!["-c".into(), "--help".into()], "x"));
    }

    #[test]
    fn contradictions_are_refused() {
        for line in
            [&["x", "-w", "-W"][..], &["x", "-q", "-v"], &["x", "--jobs", "0"], &["x", "--limit", "-1"], &[]]
        {
            assert!(Cli::try_parse_from([&["howdah", "load"], line].concat()).is_err(), "{line:?}");
        }
    }

    #[test]
    fn the_last_of_analyze_and_no_analyze_wins() {
        let analyze = |line: &[&str]| match Cli::try_parse_from([&["howdah", "load", "x"], line].concat())
            .unwrap()
            .command
        {
            Command::Load(load) => load.writing.analyze,
            _ => unreachable!(),
        };
        assert!(analyze(&["--no-analyze", "--analyze"]));
        assert!(!analyze(&["--analyze", "--no-analyze"]));
        assert!(!analyze(&[]));
    }
}
