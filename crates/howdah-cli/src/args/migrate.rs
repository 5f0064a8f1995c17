//! The options of `howdah migrate`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::load::{Connection, ReportArg};

const EXAMPLES: &str = "\
Steps are the MIGRATE blocks of a project's SQL files (howdah codegen syntax), in their order. Each
is a transaction together with its row in the table howdah_migrations, which generated code shares.
-d is always needed: no variable stands for it, not even HOWDAH_CODEGEN_URL.

Examples:
  howdah migrate status -d shop               what is applied; exit code 1 if steps are pending
  howdah migrate apply -d shop --dry-run      try what is pending, and take it back
  howdah migrate apply db -d shop --lock-timeout 5s
  howdah migrate apply -d shop --project tenant-123

Exit codes: 0 done, 1 failed, files and database do not fit together, or (status) steps are pending,
2 usage or connection, 5 whether a step is applied is not known, 130 or 143 stopped.";

const OUTPUT_HEADING: &str = "Output (results and JSON on stdout, messages on stderr)";

/// Apply migrations of annotated SQL to a database, each once.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Migrate {
    #[command(subcommand)]
    pub(crate) action: MigrateAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MigrateAction {
    /// Apply the steps that are pending
    #[command(after_help = EXAMPLES)]
    Apply(Box<MigrateApply>),
    /// Show which steps are applied and which are pending; change nothing
    #[command(after_help = EXAMPLES)]
    Status(Box<MigrateStatus>),
}

#[derive(Debug, Args)]
pub(crate) struct MigrateApply {
    #[command(flatten)]
    pub(crate) files: HistoryFiles,

    /// Try the steps in a transaction that is rolled back [default: apply them]
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// End a wait for a lock after this time, as 30s [default: wait]
    #[arg(long, value_name = "TIME")]
    pub(crate) lock_timeout: Option<String>,

    /// Record a step as applied without running it: its effect is there; repeatable [default: none]
    #[arg(long, value_name = "STEP")]
    pub(crate) accept: Vec<String>,

    /// Run a :no_transaction step again whose end is not known; repeatable [default: none]
    #[arg(long, value_name = "STEP")]
    pub(crate) retry: Vec<String>,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct MigrateStatus {
    #[command(flatten)]
    pub(crate) files: HistoryFiles,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// Which history.
#[derive(Debug, Args)]
pub(crate) struct HistoryFiles {
    /// A configuration, or the folder of one [default: howdah.yaml or sqg.yaml here]
    #[arg(value_name = "FILE|DIR", value_hint = ValueHint::AnyPath, conflicts_with = "file")]
    pub(crate) place: Option<PathBuf>,

    /// A SQL file, without a configuration; repeatable [default: the configuration's]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "project")]
    pub(crate) file: Vec<String>,

    /// The project's name in the database's table [default: the configuration's]
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
}

/// What both actions take.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Allow a database that has later steps than these files [default: an error]
    #[arg(long)]
    pub(crate) allow_newer: bool,

    #[command(flatten)]
    pub(crate) server: NamedServer,

    /// The report at the end, also of a failure: text or json
    #[arg(long, value_name = "FORM", default_value = "text", hide_possible_values = true, help_heading = OUTPUT_HEADING)]
    pub(crate) report: ReportArg,

    /// Only errors and the JSON report [default: what is done, too]
    #[arg(long, short = 'q', help_heading = OUTPUT_HEADING)]
    pub(crate) quiet: bool,
}

/// A server whose database has to be named.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection (as for psql; PG* variables and .pgpass are read)")]
pub(crate) struct NamedServer {
    /// Database name, URI, or key=value string
    #[arg(long = "dbname", short = 'd', value_name = "CONNINFO", required_unless_present = "server")]
    dbname: Option<String>,

    /// Host name or socket directory [default: PGHOST]
    #[arg(long, short = 'h', value_name = "HOST")]
    host: Option<String>,

    /// Port [default: PGPORT, else 5432]
    #[arg(long, short = 'p', value_name = "PORT")]
    port: Option<String>,

    /// User name [default: PGUSER, else yours]
    #[arg(long = "username", short = 'U', value_name = "USER")]
    username: Option<String>,

    /// One of howdah's own servers, by its name [default: none]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["dbname", "host", "port", "username"])]
    server: Option<String>,

    /// Never ask for a password [default: ask when the server wants one]
    #[arg(long, short = 'w', conflicts_with = "password")]
    no_password: bool,

    /// Ask for a password before connecting
    #[arg(long, short = 'W')]
    password: bool,
}

impl NamedServer {
    /// The same, as other commands have it.
    pub(crate) fn connection(&self) -> Connection {
        Connection {
            dbname: self.dbname.clone(),
            host: self.host.clone(),
            port: self.port.clone(),
            username: self.username.clone(),
            server: self.server.clone(),
            no_password: self.no_password,
            password: self.password,
        }
    }
}
