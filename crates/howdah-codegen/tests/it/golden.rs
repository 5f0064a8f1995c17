//! The text of generated code, of a model in which every name wants to be code.

use howdah_codegen::languages::{Generated, Generator, Options, generate};
use howdah_codegen::model::{Fragment, Model};

fn generated(generator: Generator) -> Result<Generated, Box<dyn std::error::Error>> {
    let mut model: Model = serde_json::from_str(include_str!("fixtures/hostile.json"))?;
    if !generator.joins() {
        let is_fixed = |fragment: &Fragment| matches!(fragment, Fragment::Text(_) | Fragment::Parameter(_));
        for module in &mut model.modules {
            module.statements.retain(|statement| statement.sql.iter().all(is_fixed));
        }
    }
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
    let support =
        ["howdah_pg.ts", "howdah_codec.ts", "howdah_time.ts", "howdah_copy.ts", "howdah_migrate.ts"];
    assert_eq!(paths[0], "hostile.ts");
    assert_eq!(paths[1..], support);
    insta::assert_snapshot!(generated.files[0].text);
    insta::assert_snapshot!(warnings(&generated));
    insta::assert_snapshot!("typescript_migrate", generated.files[5].text);
    Ok(())
}

#[test]
fn the_rust_of_hostile_names_changes_unseen() -> Result<(), Box<dyn std::error::Error>> {
    let generated = generated(Generator::RustTokioPostgres)?;
    let paths = generated.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>();
    let support = ["codec", "containers", "copy", "numeric", "range", "time"];
    let support = support.map(|name| format!("howdah_postgres/{name}.rs"));
    assert_eq!(paths[..2], ["hostile.rs", "howdah_postgres.rs"]);
    assert_eq!(paths[2..], support);
    insta::assert_snapshot!(generated.files[0].text);
    insta::assert_snapshot!(warnings(&generated));
    Ok(())
}

#[test]
fn a_column_that_rust_cannot_read_is_generated() -> Result<(), Box<dyn std::error::Error>> {
    let model = r#"{"model": 1, "engine": "postgresql", "project": "t", "types": [], "modules": [{
        "name": "a", "files": ["a.sql"], "tables": [], "migrations": [], "statements": [{
            "name": "hosts", "kind": "query", "one": false, "pluck": false, "batch": false, "file": "a.sql",
            "line": 3, "sql": [{"text": "SELECT ip FROM hosts"}], "parameters": [], "columns": [{"name": "ip",
            "type": {"schema": "pg_catalog", "name": "inet", "sql": "inet"}, "nullable": true, "why": ""}]}]}]}"#;
    let model: Model = serde_json::from_str(model)?;
    let module = model.modules.first().ok_or("no module")?;
    let errors = generate(&model, module, Generator::RustTokioPostgres, &Options::default()).err();
    let error = errors.and_then(|errors| errors.into_iter().next()).ok_or("no error")?;
    assert_eq!(
        error.message,
        "the column \"ip\" of hosts is a inet, which has no type in Rust: tokio-postgres reads it in binary only"
    );
    assert_eq!(error.suggestion.as_deref(), Some("cast it in the statement: \"ip\"::text"));
    assert_eq!(error.place.map(|place| (place.file, place.line)), Some(("a.sql".to_owned(), 3)));
    Ok(())
}
