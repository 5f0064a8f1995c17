//! What a project wants: `howdah.yaml`, `sqg.yaml` as SQG's users have it, or the options of a command line.

mod entry;
mod generator;
mod output;
mod schema;
mod types;

pub use generator::GENERATORS;
pub use output::below;
pub use schema::{SchemaConfig, SchemaFiles, Tool};

use std::path::{Path, PathBuf};

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Place, Severity};
use crate::languages::CustomType;
use crate::yaml::{self, YamlNode, YamlOrigin, YamlReader, YamlValue};

/// The names of configurations that are looked for, in this order.
pub const NAMES: [&str; 2] = ["howdah.yaml", "sqg.yaml"];

/// A project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Its name, which scopes its migrations.
    pub name: String,
    /// The folder that its paths are relative to; empty if that is the current one.
    pub folder: PathBuf,
    /// Where tables come from, beside the blocks of SQL files; for all groups.
    pub schema: SchemaConfig,
    /// SQL files and what is generated of them.
    pub groups: Vec<Group>,
    /// What is worth a warning.
    pub(crate) warnings: Vec<Diagnostic>,
    /// The configuration's file and text, to show lines of it.
    pub(crate) text: Option<(String, String)>,
}

/// SQL files that are described together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The files, as they are named.
    pub files: Vec<NamedPath>,
    /// What is generated.
    pub outputs: Vec<Output>,
}

/// A path and where it is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPath {
    /// Relative to the project's folder, or absolute.
    pub path: String,
    /// Where it stands in the configuration, if there is one.
    pub place: Option<Place>,
}

/// Code of one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What makes it.
    pub backend: Backend,
    /// The user's template of a module's file, instead of the generator's.
    pub template: Option<NamedPath>,
    /// A file, or with `/` at its end a folder; `None` is standard output.
    pub output: Option<String>,
    /// The name of the class or module, if it is not that of the file.
    pub name: Option<String>,
    /// How the generator is configured.
    pub options: GeneratorConfig,
    /// Where it stands in the configuration, if there is one.
    pub place: Option<Place>,
}

/// What makes code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// With its driver, one of [`GENERATORS`].
    Generator(&'static str),
    /// A program of the user's: its name or path, and its arguments.
    Program(Vec<String>),
}

/// `config:` of a generator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GeneratorConfig {
    /// The package that the code is part of.
    pub package: Option<String>,
    /// Migrations and their runner are part of the code.
    pub migrations: Option<bool>,
    /// Every call can be observed.
    pub observer: Option<bool>,
    /// `runtime: howdah`: rows are appended and written by howdah's own client.
    pub runtime: Option<bool>,
    /// `timestamps: string`: a timestamptz is a text, in languages whose own type holds less.
    pub text_timestamps: Option<bool>,
    /// Types of the user's own that stand for some of the server's.
    pub types: Vec<CustomType>,
}

/// A project without a configuration: `--generator`, `--file`, `--output`, `--name`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Direct {
    /// Its name; the driver may be left out.
    pub generator: String,
    /// SQL files, relative to the current folder.
    pub files: Vec<String>,
    /// A file, or with `/` at its end a folder; without it, standard output.
    pub output: Option<String>,
    /// The project's name.
    pub name: Option<String>,
}

impl Config {
    /// The user's templates.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &NamedPath> {
        self.groups.iter().flat_map(|group| &group.outputs).filter_map(|output| output.template.as_ref())
    }

    /// The configuration of a folder, if it has one: the first of [`NAMES`] that is there.
    #[must_use]
    pub fn find(folder: &Path) -> Option<PathBuf> {
        NAMES.iter().map(|name| folder.join(name)).find(|path| path.is_file())
    }

    /// The configuration that a path means: itself, or the one of a folder; an empty path is the current folder.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn locate(path: &Path) -> Result<PathBuf, Diagnostics> {
        let here = path.as_os_str().is_empty();
        let looked = if here { Path::new(".") } else { path };
        if looked.is_file() {
            return Ok(path.to_owned());
        }
        if let Some(found) = Self::find(path) {
            return Ok(found);
        }
        let names = NAMES.join(" or ");
        let (message, help) = if looked.is_dir() {
            let place = if here { "this folder".to_owned() } else { format!("`{}`", path.display()) };
            let help = "name another folder or file, or a generator and SQL files (`--generator`, `--file`)";
            (format!("there is no {names} in {place}"), help.to_owned())
        } else {
            (format!("there is no `{}`", path.display()), format!("name a folder with {names}, or its file"))
        };
        let nowhere = Place { file: String::new(), line: 1, column: 1, length: 1 };
        let error = Diagnostic::error(Code::FileNotFound, nowhere, message).help(help);
        let mut diagnostics = Diagnostics::default();
        diagnostics.extend(vec![Diagnostic { place: None, ..error }]);
        Err(diagnostics)
    }

    /// Reads a configuration from its file.
    ///
    /// # Errors
    ///
    /// All that is wrong with it.
    pub fn read(path: &Path) -> Result<Self, Diagnostics> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let place = Place { file: file.clone().into_owned(), line: 1, column: 1, length: 1 };
        let wrong = match std::fs::read(path).map(String::from_utf8) {
            Ok(Ok(text)) => return Self::parse(folder, &file, &text),
            Ok(Err(_)) => Diagnostic::error(Code::ConfigParseError, place, "the configuration is not UTF-8"),
            Err(error) => {
                let message = format!("the configuration cannot be read: {error}");
                Diagnostic::error(Code::FileNotFound, place, message)
                    .help("write one that has `version`, `name` and `sql`")
            }
        };
        let mut diagnostics = Diagnostics::new(folder);
        diagnostics.extend(vec![wrong]);
        Err(diagnostics)
    }

    /// Reads a configuration that is in memory.
    ///
    /// # Errors
    ///
    /// All that is wrong with it.
    pub fn parse(folder: &Path, file: &str, text: &str) -> Result<Self, Diagnostics> {
        let text = text.trim_start_matches('\u{feff}');
        let mut messages = Vec::new();
        let config = match yaml::read(text, YamlOrigin { file, line: 0 }) {
            Ok(node) => Some(project(node, folder, &mut YamlReader { diagnostics: &mut messages })),
            Err(error) => {
                messages.push(*error);
                None
            }
        };
        let mut diagnostics = Diagnostics::new(folder);
        diagnostics.remember(file, text);
        diagnostics.extend(messages);
        match config {
            Some(config) if diagnostics.errors() == 0 => {
                let text = Some((file.to_owned(), text.to_owned()));
                Ok(Self { warnings: diagnostics.messages, text, ..config })
            }
            _ => Err(diagnostics),
        }
    }

    /// A project of options.
    ///
    /// # Errors
    ///
    /// There is no such generator, or no file.
    pub fn direct(direct: Direct) -> Result<Self, Diagnostics> {
        let mut messages = Vec::new();
        let unplaced = |mut error: Diagnostic| {
            error.place = None;
            error
        };
        let nowhere = Place { file: String::new(), line: 1, column: 1, length: 1 };
        if direct.files.is_empty() {
            let error =
                Diagnostic::error(Code::ConfigValidationError, nowhere.clone(), "no SQL file is named");
            messages.push(unplaced(error));
        }
        let found = generator::find(&direct.generator);
        match found {
            Ok(generator) if messages.is_empty() => Ok(Self {
                name: direct.name.clone().unwrap_or_else(|| "generated".to_owned()),
                folder: PathBuf::new(),
                schema: SchemaConfig::Files(Vec::new()),
                warnings: Vec::new(),
                text: None,
                groups: vec![Group {
                    files: direct.files.into_iter().map(|path| NamedPath { path, place: None }).collect(),
                    outputs: vec![Output {
                        backend: Backend::Generator(generator),
                        template: None,
                        output: direct.output,
                        name: direct.name,
                        // SQG's package where nobody can name one.
                        options: GeneratorConfig {
                            package: generator.starts_with("java/").then(|| "generated".to_owned()),
                            ..GeneratorConfig::default()
                        },
                        place: None,
                    }],
                }],
            }),
            found => {
                if let Err((message, help)) = found {
                    let error = Diagnostic::error(Code::InvalidGenerator, nowhere, message).help(help);
                    messages.push(unplaced(error));
                }
                let mut diagnostics = Diagnostics::default();
                diagnostics.extend(messages);
                Err(diagnostics)
            }
        }
    }
}

fn project(node: YamlNode, folder: &Path, reader: &mut YamlReader<'_>) -> Config {
    let place = node.place.clone();
    let [version, name, sql, sources, schema, types] =
        reader.keys(node, "a configuration", ["version", "name", "sql", "sources", "schema", "types"]);
    match version.map(|node| (node.value, node.place)) {
        Some((YamlValue::Scalar(version, false), _)) if version == "1" => {}
        Some((_, place)) => {
            reader.wrong(&place, "this version reads configurations of `version: 1`");
        }
        None => {
            reader.wrong(&place, "`version` is missing").suggestion = Some("write `version: 1`".to_owned());
        }
    }
    let name = match name {
        Some(node) => reader.text(node, "`name`").map(|(name, _)| name),
        None => {
            reader.wrong(&place, "`name` is missing").suggestion =
                Some("write `name: shop`; migrations are remembered under it".to_owned());
            None
        }
    };
    if let Some(sources) = sources {
        let message = "`sources` are what DuckDB attaches; PostgreSQL reads its own tables";
        reader.diagnostics.push(Diagnostic::warning(Code::NotSupported, sources.place, message));
    }
    if let Some(node) = types {
        reader
            .wrong(&node.place, "`types` is part of `config` of an entry of `gen`: each language has its own")
            .suggestion = Some("write `config: {types: {numeric: {type: Decimal}}}` there".to_owned());
    }
    let schema = schema::schema(schema, reader);
    let listed = reader.list(sql, "`sql`", &place);
    let groups = listed.into_iter().map(|node| group(node, reader)).collect::<Vec<_>>();
    // Files of which another program makes code for another database are no SQL of PostgreSQL's.
    let groups = groups.into_iter().filter(|group| !group.outputs.is_empty()).collect::<Vec<_>>();
    if groups.is_empty()
        && reader.diagnostics.iter().all(|diagnostic| diagnostic.severity == Severity::Warning)
    {
        reader.wrong(&place, "nothing is generated for PostgreSQL").suggestion =
            Some(format!("there are {}", GENERATORS.join(", ")));
    }
    Config {
        name: name.unwrap_or_default(),
        folder: folder.to_owned(),
        schema,
        groups,
        warnings: Vec::new(),
        text: None,
    }
}

fn group(node: YamlNode, reader: &mut YamlReader<'_>) -> Group {
    let place = node.place.clone();
    let [files, outputs] = reader.keys(node, "an entry of `sql`", ["files", "gen"]);
    let mut named: Vec<NamedPath> = Vec::new();
    for node in reader.list(files, "`files`", &place) {
        let Some((path, place)) = reader.text(node, "a file") else { continue };
        if named.iter().any(|before| before.path == path) {
            reader.wrong(&place, format!("`{path}` is there twice"));
        } else {
            named.push(NamedPath { path, place: Some(place) });
        }
    }
    let outputs = reader.list(outputs, "`gen`", &place);
    Group {
        files: named,
        outputs: outputs.into_iter().filter_map(|node| entry::entry(node, reader)).collect(),
    }
}
