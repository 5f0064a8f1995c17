//! Files of code: which there are to be, what of it is not so yet, and writing it all or nothing.

use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::program::{self, ProgramHost};
use crate::check::Checked;
use crate::config::{Backend, Config, Output, below};
use crate::dependencies::reads;
use crate::diagnostic::{Code, Diagnostic, Place, Severity};
use crate::languages::{File, Generated, Generator, Options, generate};
use crate::model::{Model, Module};

/// What generators made of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Planned {
    /// Files and their whole text.
    pub files: Vec<(PathBuf, String)>,
    /// Code for standard output, of outputs that name no file.
    pub printed: Vec<String>,
    /// What the user should know.
    pub warnings: Vec<Diagnostic>,
}

/// What this version cannot generate, before any server is asked.
#[must_use]
pub fn unsupported(config: &Config) -> Vec<Diagnostic> {
    let outputs = config.groups.iter().flat_map(|group| &group.outputs);
    let named = outputs.filter_map(|output| match output.backend {
        Backend::Generator(name) => generator(name, output).err(),
        Backend::Program(_) => None,
    });
    let untyped =
        config.groups.iter().flat_map(|group| &group.outputs).flat_map(|output| match output.backend {
            Backend::Generator(name) => Generator::named(name)
                .map_or_else(Vec::new, |generator| generator.refused(&output.options.types)),
            Backend::Program(_) => Vec::new(),
        });
    named.map(|error| *error).chain(untyped).collect()
}

fn generator(name: &str, output: &Output) -> Result<Generator, Box<Diagnostic>> {
    let not_supported = |what: String| unplaced(Code::NotSupported, what, output.place.clone());
    let Some(generator) = Generator::named(name) else {
        return Err(Box::new(not_supported(format!("the generator `{name}` is not there yet"))));
    };
    let instead = match generator {
        Generator::GoPgx => Some("pgx tells a tracer of every query: `pgx.ConnConfig.Tracer`"),
        Generator::RustTokioPostgres => Some("write spans around calls, with the crate tracing for instance"),
        _ => None,
    };
    if let Some(instead) = instead.filter(|_| output.options.observer == Some(true)) {
        let message = format!("`observer` is not for `{name}`");
        return Err(Box::new(not_supported(message).help(instead)));
    }
    if output.options.runtime == Some(true) && !generator.has_runtime() {
        let message = format!("`runtime` is not for `{name}`");
        let help = "howdah's own client is there for Python and Rust; the driver appends rows without it";
        return Err(Box::new(not_supported(message).help(help)));
    }
    if output.options.text_timestamps.is_some() && generator != Generator::TypescriptPg {
        return Err(Box::new(not_supported(format!(
            "`timestamps` is not for `{name}`, whose type holds all of one"
        ))));
    }
    Ok(generator)
}

/// Generates the code of a project; programs that the configuration names are run for it.
///
/// # Errors
///
/// All that keeps it from becoming code, or from being written where it is to be.
pub fn plan(
    config: &Config,
    checked: &Checked,
    model: &Model,
    host: &mut dyn ProgramHost,
) -> Result<Planned, Vec<Diagnostic>> {
    let mut planned = Planned::default();
    let mut errors = Vec::new();
    for (at, group) in config.groups.iter().enumerate() {
        for output in &group.outputs {
            let model = renamed(config, model, output, at);
            let Some(module) = model.modules.get(at) else { continue };
            let made = match &output.backend {
                Backend::Generator(name) => generated(name, output, checked, &model, module).map(|made| {
                    planned.warnings.extend(made.warnings);
                    made.files
                }),
                Backend::Program(command) => answered(command, config, output, &model, module.clone(), host),
            };
            if let Err(mut wrong) = made.and_then(|files| placed(config, output, files, &mut planned)) {
                errors.append(&mut wrong);
            }
        }
    }
    if errors.is_empty() { Ok(planned) } else { Err(errors) }
}

/// The model as an output of the group `at` calls its modules: that group's by the output's own name, the others' by those of
/// their outputs of the same kind, beside which it will stand.
fn renamed(config: &Config, model: &Model, output: &Output, at: usize) -> Model {
    let mut model = model.clone();
    for (index, (group, module)) in config.groups.iter().zip(&mut model.modules).enumerate() {
        let own = (index == at).then_some(output);
        let beside = || group.outputs.iter().find(|other| other.backend == output.backend);
        if let Some(name) = own.or_else(beside).and_then(|output| output.name.as_ref()) {
            module.name.clone_from(name);
        }
    }
    model
}

/// What a generator of ours makes of a module.
fn generated(
    name: &str,
    output: &Output,
    checked: &Checked,
    model: &Model,
    module: &Module,
) -> Result<Generated, Vec<Diagnostic>> {
    let generator = generator(name, output).map_err(|error| vec![*error])?;
    let named = output.template.as_ref().map(|template| &template.path);
    let options = Options {
        package: output.options.package.clone(),
        migrations: output.options.migrations == Some(true),
        observer: output.options.observer == Some(true),
        template: checked.templates.iter().find(|known| named == Some(&known.file)).cloned(),
        runtime: output.options.runtime == Some(true),
        text_timestamps: output.options.text_timestamps == Some(true),
        types: output.options.types.clone(),
    };
    generate(model, module, generator, &options)
}

/// The files that a program of the user's makes of a module.
fn answered(
    command: &[String],
    config: &Config,
    output: &Output,
    model: &Model,
    module: Module,
    host: &mut dyn ProgramHost,
) -> Result<Vec<File>, Vec<Diagnostic>> {
    let model = Model { modules: vec![module], ..model.clone() };
    program::run(command, &config.folder, &model, host).map_err(|wrong| {
        let message = format!("`{}` {wrong}", command.first().map_or("", String::as_str));
        vec![unplaced(Code::CommandFailed, message, output.place.clone())]
    })
}

/// Gives files their places below an output.
fn placed(
    config: &Config,
    output: &Output,
    files: Vec<File>,
    planned: &mut Planned,
) -> Result<(), Vec<Diagnostic>> {
    let Some(named) = &output.output else {
        planned.printed.extend(files.into_iter().take(1).map(|file| file.text));
        return Ok(());
    };
    let target = config.folder.join(named);
    // A program names all of its files.
    let is_folder = named.ends_with('/') || target.is_dir() || matches!(output.backend, Backend::Program(_));
    let wrong = |message: String| vec![unplaced(Code::ConfigValidationError, message, output.place.clone())];
    let (folder, first) = if is_folder {
        (target.as_path(), None)
    } else {
        let name = target.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| wrong(format!("`{named}` names no file")))?;
        (target.parent().unwrap_or(Path::new("")), Some(name.to_owned()))
    };
    for (index, file) in files.into_iter().enumerate() {
        let name = first.clone().filter(|_| index == 0).unwrap_or(file.path);
        let path = below(folder, &name).map_err(wrong)?;
        if reads(config, &path) {
            let message = format!("`{}` is what is read: it would be lost", path.display());
            return Err(wrong(message));
        }
        if is_foreign(&path, file.text.as_bytes()) {
            let message = format!("`{}` is there and does not say that it is generated", path.display());
            let error = unplaced(Code::ForeignFile, message, output.place.clone());
            return Err(vec![error.help(instead_of_foreign(output, &file.text))]);
        }
        match planned.files.iter().find(|(before, _)| *before == path) {
            None => planned.files.push((path, file.text)),
            Some((_, text)) if *text == file.text => {}
            Some(_) => {
                let message = format!("two different files would be `{}`", path.display());
                let error = unplaced(Code::NameCollision, message, output.place.clone());
                return Err(vec![error.help("give them folders or names of their own")]);
            }
        }
    }
    Ok(())
}

/// Whether a file says near its beginning that it is generated, as ours do, SQG's, and those of most generators.
fn says_generated(text: &[u8]) -> bool {
    const BEGINNING: usize = 2000;
    let text = text.get(..BEGINNING).unwrap_or(text);
    String::from_utf8_lossy(text).to_lowercase().contains("generated")
}

/// Whether a file is there that would be lost: it holds something else, which perhaps no generator wrote.
fn is_foreign(path: &Path, new: &[u8]) -> bool {
    std::fs::read(path).is_ok_and(|old| old != new && !old.trim_ascii().is_empty() && !says_generated(&old))
}

/// What to do about a file that is in the way of code.
fn instead_of_foreign(output: &Output, new: &str) -> String {
    let aside = "it would be lost: move it away, or name another `output`";
    let maker = match (&output.backend, &output.template) {
        _ if says_generated(new.as_bytes()) => return aside.to_owned(),
        (Backend::Program(_), _) => "program",
        (Backend::Generator(_), Some(_)) => "template",
        (Backend::Generator(_), None) => return aside.to_owned(),
    };
    format!("{aside}; if the {maker} wrote it: have the {maker} write the word generated near the beginning")
}

impl Planned {
    /// The files that are not what they are to be.
    ///
    /// # Errors
    ///
    /// A file is there and cannot be read.
    pub fn changed(&self) -> io::Result<Vec<&(PathBuf, String)>> {
        let mut changed = Vec::new();
        for file in &self.files {
            match std::fs::read(&file.0) {
                Ok(bytes) if bytes == file.1.as_bytes() => {}
                Ok(_) => changed.push(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => changed.push(file),
                Err(error) => return Err(named(&file.0, &error)),
            }
        }
        Ok(changed)
    }

    /// Writes the files that changed, and says which: all of them, or none if one cannot be written.
    ///
    /// # Errors
    ///
    /// Something could not be written.
    pub fn write(&self) -> io::Result<Vec<&Path>> {
        let mut made = Vec::new();
        self.write_below(&mut made).inspect_err(|_| {
            // Those that have something in them stay.
            made.iter().rev().for_each(|folder| drop(std::fs::remove_dir(folder)));
        })
    }

    /// The same, and says which folders it made.
    fn write_below(&self, made: &mut Vec<PathBuf>) -> io::Result<Vec<&Path>> {
        let mut ready = Vec::new();
        for (path, text) in self.changed()? {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            let missing = folder.ancestors().take_while(|folder| !folder.exists());
            let missing = missing.map(Path::to_owned).collect::<Vec<_>>();
            std::fs::create_dir_all(folder).map_err(|error| named(folder, &error))?;
            made.extend(missing.into_iter().rev());
            let mut file = tempfile::Builder::new()
                .prefix(".howdah-codegen-")
                // The user's mask applies; a temporary file's own rights are for secrets.
                .permissions(std::fs::Permissions::from_mode(0o666))
                .tempfile_in(folder)
                .map_err(|error| named(path, &error))?;
            file.write_all(text.as_bytes()).map_err(|error| named(path, &error))?;
            ready.push((file, path.as_path()));
        }
        let mut written = Vec::new();
        for (file, path) in ready {
            file.persist(path).map_err(|error| named(path, &error.error))?;
            written.push(path);
        }
        Ok(written)
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

pub(super) fn unplaced(code: Code, message: String, place: Option<Place>) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        code,
        message,
        suggestion: None,
        place,
        block: None,
        sqlstate: None,
    }
}
