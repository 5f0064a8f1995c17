//! `howdah codegen`: one function an action.

mod generate;
mod init;
mod programs;
pub(super) mod project;
mod server;
mod watch;

use std::path::Path;

use howdah::Error;
use howdah_codegen::check::{Checked, check};
use howdah_codegen::config::Config;
use howdah_codegen::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use howdah_codegen::model::Model;
use howdah_codegen::project::{ProjectError, ServerChoice, execute, explain, output};
use howdah_codegen::source::SYNTAX;

use crate::args::{Codegen, CodegenAction, CodegenCheck, CodegenExplain, DescribingServer, MessagesArg};
use crate::exit;
use crate::figures::{counted, visible, visible_lines};
use crate::render::Console;
use project::Refused;

/// Does what was asked, and returns the exit code.
pub(crate) fn run(args: &Codegen) -> u8 {
    let console = Console::new(false);
    match &args.action {
        CodegenAction::Init(args) => init::run(args, console),
        CodegenAction::Check(args) => checked(args, console),
        CodegenAction::Generate(args) if args.watch => watch::run(args, console),
        CodegenAction::Generate(args) => generate::run(args, None, console),
        CodegenAction::Explain(args) => explained(args, console),
        CodegenAction::Template(args) => {
            console.result(args.language.generator().template().trim_end());
            exit::DONE
        }
        CodegenAction::Syntax => {
            console.result(SYNTAX.trim_end());
            exit::DONE
        }
    }
}

fn checked(args: &CodegenCheck, console: Console) -> u8 {
    let format = args.project.format;
    match check_of(args, console) {
        Ok((diagnostics, counts)) => {
            tell(&diagnostics, format, console);
            if format == MessagesArg::Text {
                counts.iter().for_each(|line| console.say(line));
            }
            exit::DONE
        }
        Err(refused) => refused.tell(format, console),
    }
}

/// Checks, and gives what to tell with lines that count what was looked at.
fn check_of(args: &CodegenCheck, console: Console) -> Result<(Diagnostics, Vec<String>), Refused> {
    let config = project::read(args.place.as_deref(), &args.project)?;
    let checked = checks_for_code(&config)?;
    let sources = || checked.groups.iter().flatten();
    let blocks = counted(number(sources().map(|source| source.blocks.len()).sum()), "block", "blocks");
    let files = counted(number(sources().count()), "file", "files");
    let mut counts = vec![format!("{blocks} of {files} checked")];
    if !args.execute {
        if args.project.format == MessagesArg::Text {
            name_schema(&checked, console);
        }
        return Ok((checked.diagnostics, counts));
    }
    let mut named = |server: &str| announce(&checked, server, console);
    let (ran, diagnostics) = execute(&config, &checked, &mut named).map_err(failed)?;
    let statements = counted(number(ran.statements), "statement", "statements");
    let texts = counted(number(ran.texts), "text", "texts");
    counts.push(format!("{statements} ran in {texts}, {} gave rows", ran.gave_rows));
    Ok((diagnostics, counts))
}

fn explained(args: &CodegenExplain, console: Console) -> u8 {
    explanation(args, console).unwrap_or_else(|refused| refused.tell(MessagesArg::Text, console))
}

fn explanation(args: &CodegenExplain, console: Console) -> Result<u8, Refused> {
    let config = project::read_explained(&args.project)?;
    let checked = checks(&config)?;
    let (model, diagnostics) = described(&config, &checked, (&args.server, None), console)?;
    tell(&diagnostics, MessagesArg::Text, console);
    let names = explain::names(&model);
    let wanted = args.name.as_deref().map_or_else(|| names.clone(), |name| vec![name]);
    let mut texts = Vec::new();
    for name in wanted {
        let Some(text) = explain::explain(&model, name) else {
            let error = Error::usage(format!("there is no QUERY, EXEC or TABLE {name:?}"));
            console.error(&error.with_hint(format!("there are {}", names.join(", "))));
            return Ok(exit::USAGE);
        };
        texts.push(text);
    }
    console.result(&visible_lines(texts.join("\n").trim_end(), ""));
    Ok(exit::DONE)
}

fn checks(config: &Config) -> Result<Checked, Refused> {
    check(config).map_err(Refused::of)
}

/// The same with what keeps it from becoming code.
fn checks_for_code(config: &Config) -> Result<Checked, Refused> {
    let unsupported = output::unsupported(config);
    let mut diagnostics = match check(config) {
        Ok(checked) if unsupported.is_empty() => return Ok(checked),
        Ok(checked) => checked.diagnostics,
        Err(diagnostics) => diagnostics,
    };
    diagnostics.extend(unsupported);
    Err(Refused::of(diagnostics))
}

/// Describes a project on the server that was typed, else on a throwaway one, which may stand ready. It is named first.
fn described(
    config: &Config,
    checked: &Checked,
    (typed, ready): (&DescribingServer, Option<&ServerChoice>),
    console: Console,
) -> Result<(Model, Diagnostics), Refused> {
    let unusable = |error: Error| {
        let mut diagnostics = Diagnostics::new(Path::new(""));
        diagnostics.extend(vec![Diagnostic {
            severity: Severity::Error,
            code: Code::DatabaseError,
            message: error.message().to_owned(),
            suggestion: error.hint().map(str::to_owned),
            place: None,
            block: None,
            sqlstate: None,
        }]);
        Refused { diagnostics, code: exit::USAGE }
    };
    let (choice, from) = server::choose(typed, ready).map_err(unusable)?;
    let mut named = |server: &str| announce(checked, &format!("{server}{from}"), console);
    howdah_codegen::project::model(config, checked, &choice, &mut named).map_err(failed)
}

/// Says which server is asked, before anything is done there, and what of other tools was read as what.
fn announce(checked: &Checked, server: &str, console: Console) {
    console.labelled("server", server);
    name_schema(checked, console);
}

/// Why there is no model.
fn failed(failure: ProjectError) -> Refused {
    match failure {
        ProjectError::Server(diagnostics) => Refused { diagnostics, code: exit::USAGE },
        ProjectError::Project(diagnostics) => Refused::of(diagnostics),
    }
}

/// Says what of other tools was read as what.
fn name_schema(checked: &Checked, console: Console) {
    for said in &checked.schema.said {
        console.labelled("schema", &visible(said));
    }
}

/// Messages for people go to standard error, those for programs are a result.
fn tell(diagnostics: &Diagnostics, format: MessagesArg, console: Console) {
    match format {
        MessagesArg::Text => {
            let text = diagnostics.text();
            if !text.is_empty() {
                console.say(text.trim_end());
            }
        }
        MessagesArg::Json => console.result(diagnostics.json().trim_end()),
        MessagesArg::Github => {
            let text = diagnostics.github();
            if !text.is_empty() {
                console.result(text.trim_end());
            }
        }
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
