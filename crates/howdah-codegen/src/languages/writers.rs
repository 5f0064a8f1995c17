//! Why generated code has no writer for a TABLE that says `:writer`.

use super::Generator;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Block, BlockKind};

/// What is wrong with a writer in the code of a generator, and what to do.
pub(crate) fn refusal(generator: Generator, runtime: bool) -> Option<(String, String)> {
    let name = generator.name();
    if !generator.has_runtime() {
        let help = "write rows by `:appender` there, and give the writer's TABLE a file that is generated for \
                    `python/postgres` or `rust/postgres`";
        return Some((format!("`:writer` is not for `{name}`"), help.to_owned()));
    }
    let help = format!("write `config: {{runtime: howdah}}` below `generator: {name}`");
    (!runtime).then(|| ("`:writer` needs howdah's own client".to_owned(), help))
}

/// The blocks that say `:writer` where one of the generators has none, each with where it says so; `true` beside a generator:
/// it has `runtime: howdah`.
pub(crate) fn refused<'b>(
    generators: &[(Generator, bool)],
    blocks: impl Iterator<Item = &'b Block>,
) -> Vec<Diagnostic> {
    let tables = blocks.filter(|block| block.kind == BlockKind::Table && !block.name.starts_with('_'));
    let told = tables.filter_map(|block| {
        let modifier = block.modifiers.iter().find(|modifier| modifier.name == "writer")?;
        let wrong = generators.iter().filter_map(|(generator, runtime)| refusal(*generator, *runtime));
        Some(wrong.map(|(message, help)| {
            let error = Diagnostic::error(Code::NotSupported, modifier.place.clone(), message).help(help);
            Diagnostic { block: Some(format!("TABLE {}", block.name)), ..error }
        }))
    });
    told.flatten().collect()
}
