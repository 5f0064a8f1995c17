//! Which project is meant: a configuration, that of a folder, or what the options say.

use std::path::Path;

use howdah_codegen::config::{Config, Direct};
use howdah_codegen::diagnostic::Diagnostics;

use crate::args::{ExplainedProject, MessagesArg, Project};
use crate::exit;
use crate::render::Console;

/// Why there is nothing to go on with.
pub(in crate::commands) struct Refused {
    /// What to say.
    pub(in crate::commands) diagnostics: Diagnostics,
    /// Whether the request is wrong or the project.
    pub(in crate::commands) code: u8,
}

impl Refused {
    /// Something is wrong with the project.
    pub(in crate::commands) fn of(diagnostics: Diagnostics) -> Self {
        Self { diagnostics, code: exit::FAILED }
    }

    /// Says so, and returns the exit code.
    pub(super) fn tell(&self, format: MessagesArg, console: Console) -> u8 {
        super::tell(&self.diagnostics, format, console);
        self.code
    }
}

/// The request is wrong.
pub(in crate::commands) fn usage(diagnostics: Diagnostics) -> Refused {
    Refused { diagnostics, code: exit::USAGE }
}

/// Reads the project that was typed.
pub(super) fn read(place: Option<&Path>, typed: &Project) -> Result<Config, Refused> {
    if let Some(generator) = &typed.generator {
        let direct = Direct {
            generator: generator.clone(),
            files: typed.file.clone(),
            output: typed.output.clone(),
            name: typed.name.clone(),
        };
        return Config::direct(direct).map_err(usage);
    }
    configured(place.or(typed.config.as_deref()))
}

/// Reads the project of `explain`, which no language has a part in.
pub(super) fn read_explained(typed: &ExplainedProject) -> Result<Config, Refused> {
    if typed.file.is_empty() {
        return configured(typed.config.as_deref());
    }
    let generator = "python/postgres".to_owned();
    Config::direct(Direct { generator, files: typed.file.clone(), ..Direct::default() }).map_err(usage)
}

/// Reads the configuration that is named, or that of the current folder.
pub(in crate::commands) fn configured(place: Option<&Path>) -> Result<Config, Refused> {
    let file = Config::locate(place.unwrap_or(Path::new(""))).map_err(usage)?;
    Config::read(&file).map_err(Refused::of)
}
