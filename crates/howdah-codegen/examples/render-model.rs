//! Renders a model for tests of generated code: `render-model MODEL GENERATOR FOLDER [OPTION…]` writes the files of all
//! modules there.
//!
//! An option is `package=NAME`, or `text-timestamps`, which is `config: {timestamps: string}`, or `observer`,
//! or `runtime`, which is `config: {runtime: howdah}`, or `types=JSON`, which is `config: {types: …}`.

use std::{collections::BTreeMap, env, error::Error, fs, path::Path};

use howdah_codegen::{
    languages::{CustomType, Generator, Options, generate},
    model::Model,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = env::args().skip(1).collect::<Vec<_>>();
    let [model, generator, folder, given @ ..] = arguments.as_slice() else {
        return Err("render-model MODEL GENERATOR FOLDER [OPTION…]".into());
    };
    let model: Model = serde_json::from_str(&fs::read_to_string(model)?)?;
    let generator = Generator::named(generator).ok_or("no such generator")?;
    let options = Options {
        template: None,
        package: given.iter().find_map(|option| option.strip_prefix("package=")).map(str::to_owned),
        text_timestamps: given.iter().any(|option| option == "text-timestamps"),
        migrations: true,
        runtime: given.iter().any(|option| option == "runtime"),
        observer: given.iter().any(|option| option == "observer"),
        types: types(given)?,
    };
    if let Some(refused) = generator.refused(&options.types).first() {
        return Err(refused.message.clone().into());
    }
    for module in &model.modules {
        let generated =
            generate(&model, module, generator, &options).map_err(|errors| format!("{errors:?}"))?;
        for file in generated.files {
            let path = Path::new(folder).join(file.path);
            fs::create_dir_all(path.parent().ok_or("no folder")?)?;
            fs::write(path, file.text)?;
        }
    }
    Ok(())
}

/// The types of the user's that `types=JSON` has.
fn types(options: &[String]) -> Result<Vec<CustomType>, Box<dyn Error>> {
    let Some(json) = options.iter().find_map(|option| option.strip_prefix("types=")) else {
        return Ok(Vec::new());
    };
    let entries: BTreeMap<String, BTreeMap<String, String>> = serde_json::from_str(json)?;
    let types = entries.into_iter().map(|(of, mut said)| CustomType {
        of,
        name: said.remove("type").unwrap_or_default(),
        imports: said.remove("import").into_iter().collect(),
        decode: said.remove("decode"),
        encode: said.remove("encode"),
        place: None,
    });
    Ok(types.collect())
}
