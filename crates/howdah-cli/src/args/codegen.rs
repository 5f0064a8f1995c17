//! What was typed after `howdah codegen`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use howdah_codegen::languages::Generator;

const EXAMPLES: &str = "\
The server is a throwaway one, made for it; PGHOST and the like are not looked at. -d names another
(HOWDAH_CODEGEN_URL and SQG_POSTGRES_URL stand for it), on which nothing stays: steps run in a
scratch database or a transaction that is rolled back. QUERY and EXEC are never run.

Examples:
  howdah codegen init example               a small project that runs, and how to run it
  howdah codegen syntax                     how SQL is annotated, on one screen
  howdah codegen check                      howdah.yaml or sqg.yaml of this folder, without a server
  howdah codegen generate db                the configuration in db/
  howdah codegen generate --check           is all code as the files say? for CI
  howdah codegen generate --watch           again after every change, until Ctrl-C
  howdah codegen explain user_by_name       types, what can be null, and why
  howdah codegen template go > my.jinja     a start for code of another layout
  howdah codegen generate --generator python/postgres --file users.sql --output app/

Exit codes: 0 done, and nothing is wrong (there may be warnings), 1 something is wrong with the
files, or code is not what it is to be, 2 usage, no configuration, or the server cannot be used.";

/// Make typed code of annotated SQL.
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
    /// Say all that is wrong with configuration and SQL files; no server is asked
    #[command(after_help = EXAMPLES)]
    Check(CodegenCheck),
    /// Write the code
    #[command(after_help = EXAMPLES)]
    Generate(Box<CodegenGenerate>),
    /// Print parameters and columns of statements and tables: types, what can be null, and why
    #[command(after_help = EXAMPLES)]
    Explain(Box<CodegenExplain>),
    /// Print the template of a language's code, as a start for `template:` of a configuration
    #[command(after_help = EXAMPLES)]
    Template(CodegenTemplate),
    /// Print how SQL is annotated: a file that is an example of everything
    Syntax,
}

#[derive(Debug, Args)]
pub(crate) struct CodegenInit {
    /// The folder to write to; it is made where there is none [default: the current one]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    /// The language of the program and of the code that is generated for it:
    /// python/postgres, java/postgres, typescript/postgres, go/postgres, rust/postgres
    #[arg(long, value_name = "NAME", default_value = "python/postgres", hide_possible_values = true)]
    pub(crate) generator: GeneratorArg,

    /// Write over files that are there [default: write nothing, and name them]
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

    #[command(flatten)]
    pub(crate) project: Project,
}

#[derive(Debug, Args)]
pub(crate) struct CodegenGenerate {
    /// A configuration, or the folder of one [default: howdah.yaml or sqg.yaml here]
    #[arg(value_name = "FILE|DIR", value_hint = ValueHint::AnyPath, conflicts_with_all = ["config", "generator"])]
    pub(crate) place: Option<PathBuf>,

    /// Write nothing; fail if something would change [default: write]
    #[arg(long, conflicts_with = "emit")]
    pub(crate) check: bool,

    /// Go on: write the code again whenever a file changes that it is made of [default: once]
    #[arg(long, conflicts_with_all = ["check", "emit", "format"])]
    pub(crate) watch: bool,

    /// Print this and write nothing: model, as JSON [default: write code]
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

    /// A SQL file, without a configuration; may be repeated [default: of the configuration]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Vec<String>,
}

/// What the project is, and how messages about it are written.
#[derive(Debug, Args)]
pub(crate) struct Project {
    /// The same, as an option
    #[arg(long, value_name = "FILE|DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) config: Option<PathBuf>,

    /// Without a configuration: python/postgres and the like [default: of the configuration]
    #[arg(long, value_name = "NAME", requires = "file", conflicts_with = "config")]
    pub(crate) generator: Option<String>,

    /// A SQL file; may be repeated [default: of the configuration]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "generator")]
    pub(crate) file: Vec<String>,

    /// The folder (with / at its end) or file of the code [default: standard output]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, requires = "generator")]
    pub(crate) output: Option<String>,

    /// The project's name, and the code's [default: the file's]
    #[arg(long, value_name = "NAME", requires = "generator")]
    pub(crate) name: Option<String>,

    /// How messages are written: text, json, github (annotations)
    #[arg(long, value_name = "FORM", default_value = "text", hide_possible_values = true)]
    pub(crate) format: MessagesArg,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Server (as psql; without any of these a throwaway one)")]
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
