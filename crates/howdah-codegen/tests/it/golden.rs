//! The text of generated code, of a model in which every name wants to be code.

use howdah_codegen::languages::{Generator, Options, generate};
use howdah_codegen::model::Model;

#[test]
fn the_code_of_hostile_names_changes_unseen() -> Result<(), Box<dyn std::error::Error>> {
    let model: Model = serde_json::from_str(include_str!("fixtures/hostile.json"))?;
    let module = model.modules.first().ok_or("no module")?;
    let options = Options { package: Some("app.db".into()) };
    let generated =
        generate(&model, module, Generator::PythonPsycopg, &options).map_err(|e| format!("{e:?}"))?;
    let paths = generated.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>();
    assert_eq!(paths, ["hostile.py", "howdah_psycopg.py", "howdah_copy.py"]);
    insta::assert_snapshot!(generated.files[0].text);
    let warnings = generated.warnings.iter().map(|warning| warning.message.as_str()).collect::<Vec<_>>();
    insta::assert_snapshot!(warnings.join("\n"));
    Ok(())
}
