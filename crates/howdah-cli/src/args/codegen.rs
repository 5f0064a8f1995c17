//! What was typed after `howdah codegen`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use howdah_codegen::languages::Generator;

const EXAMPLES: &str = "\
Statements are described by a throwaway server that is started for it; PG* variables are not read.
-d, HOWDAH_CODEGEN_URL or SQG_POSTGRES_URL name another server. Nothing stays on it: steps run in a
scratch database or in a transaction that is rolled back. QUERY and EXEC are never run, except by
check --execute.

Examples:
  howdah codegen init example               a small project that runs, and how to run it
  howdah codegen syntax                     how SQL is annotated, on one screen
  howdah codegen check                      howdah.yaml or sqg.yaml of this folder, without a server
  howdah codegen check --execute            and run the statements, each with the values of its @set
  howdah codegen generate db                the configuration in db/
  howdah codegen generate --check           fail if code is out of date: for CI
  howdah codegen generate --watch           generate after every change, until Ctrl-C
  howdah codegen explain user_by_name       types, what can be null, and why
  howdah codegen template go > my.jinja     a start for code of another layout
  howdah codegen generate --generator python/postgres --file users.sql --output app/

Exit codes: 0 done, perhaps with warnings, 1 errors in the files, or code that is out of date,
2 usage, no configuration, or the server cannot be used.";

/// Generate typed code from annotated SQL.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Codegen {
    #[command(subcommand)]
    pub(crate) action: CodegenAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CodegenAction {
    /// Write a small project that runs, and print the commands that run it
    #[command(after_help = EXAMPLES)]
    Init(CodegenInit),
    /// Check configuration and SQL files for errors, without a server
    #[command(after_help = EXAMPLES)]
    Check(CodegenCheck),
    /// Generate the code
    #[command(after_help = EXAMPLES)]
    Generate(Box<CodegenGenerate>),
    /// Print parameters and columns of statements and tables: types, what can be null, and why
    #[command(after_help = EXAMPLES)]
    Explain(Box<CodegenExplain>),
    /// Print the template of a language's code, to start one of your own (`template:`)
    #[command(after_help = EXAMPLES)]
    Template(CodegenTemplate),
    /// Print an annotated SQL file that shows everything
    Syntax,
}

#[derive(Debug, Args)]
pub(crate) struct CodegenInit {
    /// The folder to write to, made if it is missing [default: the current one]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    /// The language of the program and of the code that is generated for it:
    /// python/postgres, java/postgres, typescript/postgres, go/postgres, rust/postgres
    #[arg(long, value_name = "NAME", default_value = "python/postgres", hide_possible_values = true)]
    pub(crate) generator: GeneratorArg,

    /// Overwrite files that are there [default: write nothing, and name them]
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CodegenTemplate {
    /// The language: python, java, typescript, go, rust
    #[arg(value_name = "LANGUAGE", hide_possible_values = true)]
    pub(crate) language: GeneratorArg,
}

#[derive(Debug, Args)]
pub(crate) struct CodegenCheck {
    /// A configuration, or the folder of one [default: howdah.yaml or sqg.yaml here]
    #[arg(value_name = "FILE|DIR", value_hint = ValueHint::AnyPath, conflicts_with_all = ["config", "generator"])]
    pub(crate) place: Option<PathBuf>,

    /// Also run each QUERY and EXEC with the values of its @set, on a throwaway server, and fail if a
    /// column is null that is called not null [default: run nothing]
    #[arg(long)]
    pub(crate) execute: bool,

    #[command(flatten)]
    pub(crate) project: Project,
}

#[derive(Debug, Args)]
pub(crate) struct CodegenGenerate {
    /// A configuration, or the folder of one [default: howdah.yaml or sqg.yaml here]
    #[arg(value_name = "FILE|DIR", value_hint = ValueHint::AnyPath, conflicts_with_all = ["config", "generator"])]
    pub(crate) place: Option<PathBuf>,

    /// Write nothing; fail if the code is out of date [default: write]
    #[arg(long, conflicts_with = "emit")]
    pub(crate) check: bool,

    /// Keep running, and generate again after every change of a source file [default: once]
    #[arg(long, conflicts_with_all = ["check", "emit", "format"])]
    pub(crate) watch: bool,

    /// Print what code is made from, and write nothing: model (JSON) [default: write code]
    #[arg(long, value_name = "WHAT", hide_possible_values = true, conflicts_with = "format")]
    pub(crate) emit: Option<EmitArg>,

    #[command(flatten)]
    pub(crate) project: Project,
    #[command(flatten)]
    pub(crate) server: DescribingServer,
}

#[derive(Debug, Args)]
pub(crate) struct CodegenExplain {
    /// A QUERY, EXEC or TABLE [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) project: ExplainedProject,
    #[command(flatten)]
    pub(crate) server: DescribingServer,
}

/// The project of a command whose argument is another thing.
#[derive(Debug, Args)]
pub(crate) struct ExplainedProject {
    /// A configuration, or the folder of one [default: howdah.yaml or sqg.yaml here]
    #[arg(long, value_name = "FILE|DIR", value_hint = ValueHint::AnyPath, conflicts_with = "file")]
    pub(crate) config: Option<PathBuf>,

    /// A SQL file, without a configuration; repeatable [default: the configuration's]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Vec<String>,
}

/// What the project is, and how messages about it are written.
#[derive(Debug, Args)]
pub(crate) struct Project {
    /// The configuration or its folder, as an option [default: howdah.yaml or sqg.yaml here]
    #[arg(long, value_name = "FILE|DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) config: Option<PathBuf>,

    /// Without a configuration: the language, as python/postgres [default: the configuration's]
    #[arg(long, value_name = "NAME", requires = "file", conflicts_with = "config")]
    pub(crate) generator: Option<String>,

    /// A SQL file; repeatable [default: the configuration's]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "generator")]
    pub(crate) file: Vec<String>,

    /// Where the code goes: a file, or a folder with / at its end [default: standard output]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, requires = "generator")]
    pub(crate) output: Option<String>,

    /// Name of the project and of its code [default: the file's]
    #[arg(long, value_name = "NAME", requires = "generator")]
    pub(crate) name: Option<String>,

    /// How messages are written: text, json, github (annotations)
    #[arg(long, value_name = "FORM", default_value = "text", hide_possible_values = true)]
    pub(crate) format: MessagesArg,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Server (as for psql; without any of these a throwaway one)")]
pub(crate) struct DescribingServer {
    /// Database name, URI, or key=value string [default: HOWDAH_CODEGEN_URL]
    #[arg(long = "dbname", short = 'd', value_name = "CONNINFO")]
    pub(crate) dbname: Option<String>,

    /// Host name or socket directory
    #[arg(long, short = 'h', value_name = "HOST")]
    pub(crate) host: Option<String>,

    /// Port
    #[arg(long, short = 'p', value_name = "PORT")]
    pub(crate) port: Option<String>,

    /// User name
    #[arg(long = "username", short = 'U', value_name = "USER")]
    pub(crate) username: Option<String>,

    /// One of howdah's own servers, by its name [default: none]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["dbname", "host", "port", "username"])]
    pub(crate) server: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GeneratorArg {
    #[value(name = "python/postgres", aliases = ["python", "python/postgres/psycopg"])]
    Python,
    #[value(name = "java/postgres", aliases = ["java", "java/postgres/jdbc"])]
    Java,
    #[value(name = "typescript/postgres", aliases = ["typescript", "typescript/postgres/pg"])]
    Typescript,
    #[value(name = "go/postgres", aliases = ["go", "go/postgres/pgx"])]
    Go,
    #[value(name = "rust/postgres", aliases = ["rust", "rust/postgres/tokio-postgres"])]
    Rust,
}

impl GeneratorArg {
    /// What it names.
    pub(crate) fn generator(self) -> Generator {
        match self {
            Self::Python => Generator::PythonPsycopg,
            Self::Java => Generator::JavaJdbc,
            Self::Typescript => Generator::TypescriptPg,
            Self::Go => Generator::GoPgx,
            Self::Rust => Generator::RustTokioPostgres,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MessagesArg {
    Text,
    Json,
    Github,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EmitArg {
    Model,
}
