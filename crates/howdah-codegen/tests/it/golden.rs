//! The text of generated code, of a model in which every name wants to be code.

use howdah_codegen::languages::{Generated, Generator, Options, generate};
use howdah_codegen::model::Model;

fn generated(generator: Generator) -> Result<Generated, Box<dyn std::error::Error>> {
    let model: Model = serde_json::from_str(include_str!("fixtures/hostile.json"))?;
    let module = model.modules.first().ok_or("no module")?;
    let options = Options { package: Some("app.db".into()), migrations: true, ..Options::default() };
    Ok(generate(&model, module, generator, &options).map_err(|e| format!("{e:?}"))?)
}

fn warnings(generated: &Generated) -> String {
    let warnings = generated.warnings.iter().map(|warning| warning.message.as_str());
    warnings.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_code_of_hostile_names_changes_unseen() -> Result<(), Box<dyn std::error::Error>> {
    let generated = generated(Generator::PythonPsycopg)?;
    let paths = generated.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>();
    assert_eq!(paths, ["hostile.py", "howdah_psycopg.py", "howdah_copy.py", "howdah_migrate.py"]);
    insta::assert_snapshot!(generated.files[0].text);
    insta::assert_snapshot!(warnings(&generated));
    insta::assert_snapshot!("python_migrate", generated.files[3].text);
    Ok(())
}

#[test]
fn the_java_of_hostile_names_changes_unseen() -> Result<(), Box<dyn std::error::Error>> {
    let generated = generated(Generator::JavaJdbc)?;
    let paths = generated.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>();
    assert_eq!(
        paths,
        ["Hostile.java", "HowdahJdbc.java", "HowdahCodec.java", "HowdahCopy.java", "HowdahMigrate.java"]
    );
    for file in &generated.files {
        assert!(file.text.is_ascii(), "{}: javac reads it in the encoding of its machine", file.path);
        assert!(file.text.contains("\npackage app.db;\n") || file.text.starts_with("package app.db;\n"));
    }
    insta::assert_snapshot!(generated.files[0].text);
    insta::assert_snapshot!(warnings(&generated));
    insta::assert_snapshot!("java_migrate", generated.files[4].text);
    Ok(())
}

#[test]
fn the_typescript_of_hostile_names_changes_unseen() -> Result<(), Box<dyn std::error::Error>> {
    let generated = generated(Generator::TypescriptPg)?;
    let paths = generated.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>();
    assert_eq!(paths, ["hostile.ts", "howdah_pg.ts", "howdah_codec.ts", "howdah_time.ts", "howdah_copy.ts"]);
    insta::assert_snapshot!(generated.files[0].text);
    insta::assert_snapshot!(warnings(&generated));
    Ok(())
}
