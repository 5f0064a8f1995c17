//! Which project is meant: a configuration, that of a folder, or what the options say.

use std::path::Path;

use howdah_codegen::config::{Config, Direct};
use howdah_codegen::diagnostic::Diagnostics;

use crate::args::Project;
use crate::exit;

/// Why there is no project.
pub(super) struct Refused {
    /// What to say.
    pub(super) diagnostics: Diagnostics,
    /// Whether the request is wrong or the configuration.
    pub(super) code: u8,
}

/// Reads the project that was typed.
pub(super) fn read(place: Option<&Path>, typed: &Project) -> Result<Config, Refused> {
    let usage = |diagnostics| Refused { diagnostics, code: exit::USAGE };
    if let Some(generator) = &typed.generator {
        let direct = Direct {
            generator: generator.clone(),
            files: typed.file.clone(),
            output: typed.output.clone(),
            name: typed.name.clone(),
        };
        return Config::direct(direct).map_err(usage);
    }
    let place = place.or(typed.config.as_deref()).unwrap_or(Path::new(""));
    let file = Config::locate(place).map_err(usage)?;
    Config::read(&file).map_err(|diagnostics| Refused { diagnostics, code: exit::FAILED })
}
