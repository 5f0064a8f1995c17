//! What was typed after `howdah codegen`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

const EXAMPLES: &str = "\
Examples:
  howdah codegen syntax                  how SQL is annotated, on one screen
  howdah codegen check                   howdah.yaml or sqg.yaml of this folder
  howdah codegen check db --format json
  howdah codegen check --generator python/postgres --file users.sql

Exit codes: 0 nothing is wrong (there may be warnings), 1 something is wrong with the files,
2 usage, or there is no configuration.";

/// Make typed code of annotated SQL.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Codegen {
    #[command(subcommand)]
    pub(crate) action: CodegenAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CodegenAction {
    /// Say all that is wrong with configuration and SQL files; no server is asked
    #[command(after_help = EXAMPLES)]
    Check(CodegenCheck),
    /// Print how SQL is annotated: a file that is an example of everything
    Syntax,
}

#[derive(Debug, Args)]
pub(crate) struct CodegenCheck {
    /// A configuration, or the folder of one [default: howdah.yaml or sqg.yaml here]
    #[arg(value_name = "FILE|DIR", value_hint = ValueHint::AnyPath, conflicts_with = "config")]
    pub(crate) place: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) project: Project,
}

/// What the project is, and how messages about it are written.
#[derive(Debug, Args)]
pub(crate) struct Project {
    /// A configuration, or the folder of one [default: howdah.yaml or sqg.yaml here]
    #[arg(long, value_name = "FILE|DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) config: Option<PathBuf>,

    /// Without a configuration: python/postgres and the like [default: of the configuration]
    #[arg(long, value_name = "NAME", requires = "file", conflicts_with_all = ["config", "place"])]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MessagesArg {
    Text,
    Json,
    Github,
}
