//! A project becomes a [`Model`]: a database on a server, the steps that make its tables there, and a description of each block.

pub(crate) mod block_text;
mod blocks;
mod execute;
pub mod explain;
pub(crate) mod forbidden;
mod key;
mod merge;
pub(crate) mod migration;
pub mod output;
pub mod program;
mod scratch_database;
pub(crate) mod server_error;
mod stale;
mod statement;
mod steps;
mod table;
mod variants;

pub use execute::Executed;
pub use scratch_database::ServerChoice;
pub use stale::Stale;

use crate::check::{Checked, Source};
use crate::config::Config;
use crate::describe::ServerTypes;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::model::{Definition, FORMAT, Model, Module};
use crate::schema::Schema;
use scratch_database::{DescribingServer, ScratchDatabase};
use server_error::ServerError;

/// Why there is no model.
#[derive(Debug)]
pub enum ProjectError {
    /// The server cannot be reached or used.
    Server(Diagnostics),
    /// Something is wrong with the project.
    Project(Diagnostics),
}

impl ProjectError {
    /// What to say.
    #[must_use]
    pub fn diagnostics(&self) -> &Diagnostics {
        match self {
            Self::Server(diagnostics) | Self::Project(diagnostics) => diagnostics,
        }
    }
}

/// Describes a project on a server. `named` hears which server it is before anything is done there. Warnings come with the
/// model, those of the check too.
///
/// # Errors
///
/// The server cannot be used, or it refused something of the project: all of that is reported.
pub fn model(
    config: &Config,
    checked: &Checked,
    choice: &ServerChoice,
    named: &mut dyn FnMut(&str),
) -> Result<(Model, Diagnostics), ProjectError> {
    on_server(config, checked, choice, named, None)
}

/// Describes a project on a throwaway server, as [`model`] does, and runs its statements there with the values of their
/// `@set`: no column that is called not null may be null. Nothing else of a description is ever run.
///
/// # Errors
///
/// As [`model`]; a statement failed, or a column was null that is called not null.
pub fn execute(
    config: &Config,
    checked: &Checked,
    named: &mut dyn FnMut(&str),
) -> Result<(Executed, Diagnostics), ProjectError> {
    let mut executed = Executed::default();
    let (_, diagnostics) = on_server(config, checked, &ServerChoice::Throwaway, named, Some(&mut executed))?;
    Ok((executed, diagnostics))
}

fn on_server(
    config: &Config,
    checked: &Checked,
    choice: &ServerChoice,
    named: &mut dyn FnMut(&str),
    executed: Option<&mut Executed>,
) -> Result<(Model, Diagnostics), ProjectError> {
    let mut diagnostics = checked.diagnostics.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let described = match runtime {
        Ok(runtime) => {
            runtime.block_on(describe(config, checked, (choice, named), &mut diagnostics, executed))
        }
        Err(error) => Err(ServerError::of(format!("there is no runtime: {error}"), None)),
    };
    match described {
        Ok(_) if diagnostics.errors() > 0 => Err(ProjectError::Project(diagnostics)),
        Ok(model) => Ok((model, diagnostics)),
        Err(error) => {
            diagnostics.extend(vec![*error.0]);
            Err(ProjectError::Server(diagnostics))
        }
    }
}

async fn describe(
    config: &Config,
    checked: &Checked,
    (choice, named): (&ServerChoice, &mut dyn FnMut(&str)),
    diagnostics: &mut Diagnostics,
    mut executed: Option<&mut Executed>,
) -> Result<Model, ServerError> {
    let server = DescribingServer::open(choice, checked.schema.is_there).await?;
    named(&server.describe());
    let mut model = Model {
        model: FORMAT,
        engine: "postgresql".to_owned(),
        project: config.name.clone(),
        modules: Vec::new(),
        types: Vec::new(),
    };
    for sources in &checked.groups {
        let scratch = server.scratch().await?;
        let found = group(&scratch, &checked.schema, sources, &mut model, executed.as_deref_mut()).await;
        // Whatever became of it, nothing stays there.
        let removed = scratch.remove().await;
        diagnostics.extend(found?);
        removed?;
    }
    model.types.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(model)
}

/// Describes the files of a group in a database of their own, as a module; says what is wrong with them.
async fn group(
    scratch: &ScratchDatabase,
    schema: &Schema,
    sources: &[Source],
    model: &mut Model,
    executed: Option<&mut Executed>,
) -> Result<Vec<Diagnostic>, ServerError> {
    let mut diagnostics = Vec::new();
    if let Err(refused) = steps::run(scratch, schema, sources).await? {
        diagnostics.push(*refused);
        return Ok(diagnostics);
    }
    let mut found = blocks::DescribedBlocks::default();
    let client = scratch.client();
    for source in sources {
        blocks::describe(client, source, &mut found, &mut diagnostics).await?;
    }
    if let Some(executed) = executed {
        for statement in &found.statements {
            let source = sources.iter().find(|source| source.file == statement.file);
            if let Some(source) = source {
                executed.run(client, (source, statement), &mut diagnostics).await?;
            }
        }
    }
    let types = ServerTypes::read(client, &found.oids).await?;
    for definition in types.definitions() {
        define(definition, &mut model.types, &mut diagnostics);
    }
    let first = sources.first().map_or("sql", |source| source.file.as_str());
    let stem = std::path::Path::new(first).file_stem().and_then(|stem| stem.to_str());
    model.modules.push(Module {
        name: stem.unwrap_or("sql").to_owned(),
        files: sources.iter().map(|source| source.file.clone()).collect(),
        statements: found.statements,
        tables: found.tables,
        migrations: migration::of_sources(sources).into_iter().map(|step| step.migration).collect(),
    });
    Ok(diagnostics)
}

/// Adds a type, of which there may be one for all groups.
fn define(definition: Definition, types: &mut Vec<Definition>, diagnostics: &mut Vec<Diagnostic>) {
    match types.iter().find(|before| before.name == definition.name) {
        None => types.push(definition),
        Some(before) if *before == definition => {}
        Some(_) => {
            let name = format!("{}.{}", definition.name.schema, definition.name.name);
            let message = format!("the type {name} differs between entries of `sql`");
            let mut error = ServerError::of(message, Some("make a project of each entry"));
            error.0.code = Code::NameCollision;
            diagnostics.push(*error.0);
        }
    }
}
