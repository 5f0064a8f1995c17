//! An entry of `gen`: what makes code, where the code goes, and how.

use super::{Backend, GENERATORS, GeneratorConfig, NamedPath, Output, generator, types};
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::yaml::{YamlNode, YamlReader, YamlValue};

pub(super) fn entry(node: YamlNode, reader: &mut YamlReader<'_>) -> Option<Output> {
    let place = node.place.clone();
    let [generator, output, name, template, command, config] = reader.keys(
        node,
        "an entry of `gen`",
        ["generator", "output", "name", "template", "command", "config"],
    );
    let template = template.and_then(|node| self::template(node, reader));
    let name = name.and_then(|node| reader.text(node, "`name`")).map(|(name, _)| name);
    let output = match output {
        Some(node) => reader.text(node, "`output`").map(|(path, _)| path),
        None => {
            reader.wrong(&place, "`output` is missing").suggestion =
                Some("write a folder, `output: generated/`, or a file".to_owned());
            None
        }
    };
    let config_place = config.as_ref().map(|node| node.place.clone());
    let options = options(config, reader);
    let (backend, place) = match command {
        None => named(generator, &place, reader)?,
        Some(command) => {
            if let Some(node) = generator {
                reader.wrong(&node.place, "there is a `command`, which stands instead of `generator`");
            }
            if let Some(place) = config_place {
                reader.wrong(&place, "`config` is for generators").suggestion =
                    Some("give the program arguments: `command: [prog, --package, app]`".to_owned());
            }
            if let Some(place) = template.as_ref().and_then(|template| template.place.as_ref()) {
                reader.wrong(place, "`template` is for generators");
            }
            (Backend::Program(words(command, reader)), place)
        }
    };
    Some(Output { backend, template, output, name, options, place: Some(place) })
}

fn template(node: YamlNode, reader: &mut YamlReader<'_>) -> Option<NamedPath> {
    let (path, place) = reader.text(node, "`template`")?;
    if path.ends_with(".hbs") {
        let message = "templates are Jinja; Handlebars, as SQG has it, is not read";
        let diagnostic = Diagnostic::error(Code::NotSupported, place, message);
        reader.diagnostics.push(diagnostic.help("start with what `howdah codegen template` prints"));
        return None;
    }
    Some(NamedPath { path, place: Some(place) })
}

/// The generator that is named, and where.
fn named(node: Option<YamlNode>, missing: &Place, reader: &mut YamlReader<'_>) -> Option<(Backend, Place)> {
    let Some(node) = node else {
        reader.wrong(missing, "`generator` is missing").suggestion =
            Some(format!("there are {}", GENERATORS.join(", ")));
        return None;
    };
    let (text, place) = reader.text(node, "`generator`")?;
    if generator::is_elsewhere(&text) {
        let message = format!("`{text}` is for another database and is passed over");
        let diagnostic = Diagnostic::warning(Code::InvalidGenerator, place, message);
        reader.diagnostics.push(diagnostic.help("there is only PostgreSQL; SQG generates it"));
        return None;
    }
    match generator::find(&text) {
        Ok(generator) => Some((Backend::Generator(generator), place)),
        Err((message, help)) => {
            reader.diagnostics.push(Diagnostic::error(Code::InvalidGenerator, place, message).help(help));
            None
        }
    }
}

/// A program and its arguments, of which an argument may be empty.
fn words(node: YamlNode, reader: &mut YamlReader<'_>) -> Vec<String> {
    let place = node.place.clone();
    let mut words = Vec::new();
    for node in reader.list(Some(node), "`command`", &place) {
        let is_program = words.is_empty();
        match node.value {
            YamlValue::Scalar(word, _) if !(word.contains('\0') || is_program && word.is_empty()) => {
                words.push(word)
            }
            _ => {
                reader.wrong(&node.place, "`command` is a list of texts: a program and its arguments");
            }
        }
    }
    words
}

fn options(node: Option<YamlNode>, reader: &mut YamlReader<'_>) -> GeneratorConfig {
    let Some(node) = node else { return GeneratorConfig::default() };
    let names = ["package", "migrations", "observer", "runtime", "timestamps", "types"];
    let [package, migrations, observer, runtime, timestamps, types] = reader.keys(node, "`config`", names);
    let runtime = runtime.and_then(|node| {
        let (word, place) = reader.text(node, "`runtime`")?;
        if word != "howdah" {
            let message = format!("there is no runtime `{word}`");
            let error = Diagnostic::error(Code::ConfigValidationError, place, message);
            reader.diagnostics.push(error.help("there is `howdah`; without it, the driver does all"));
            return None;
        }
        Some(true)
    });
    let text_timestamps = timestamps.and_then(|node| {
        let (word, place) = reader.text(node, "`timestamps`")?;
        match word.as_str() {
            "string" => Some(true),
            "date" => Some(false),
            _ => {
                let message = "`timestamps` is neither `date` nor `string`";
                reader.diagnostics.push(Diagnostic::error(Code::ConfigValidationError, place, message));
                None
            }
        }
    });
    GeneratorConfig {
        package: package.and_then(|node| reader.text(node, "`package`")).map(|(package, _)| package),
        migrations: reader.switch(migrations, "`migrations`"),
        observer: reader.switch(observer, "`observer`"),
        runtime,
        text_timestamps,
        types: types::types(types, reader),
    }
}
