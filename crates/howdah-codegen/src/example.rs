//! A small project that runs: what `howdah codegen init` writes, for each generator.

use crate::languages::Generator;

/// An example: its files, and what a person types to see it run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// Paths below its folder, and their texts.
    pub files: Vec<(&'static str, String)>,
    /// Commands of a shell, in order, to be typed in its folder.
    pub commands: Vec<&'static str>,
}

const CONFIG: &str = include_str!("../example/howdah.yaml");
const QUERIES: &str = include_str!("../example/queries.sql");

/// What comes before a program can run, in every language.
const PREPARE: [&str; 3] = [
    "howdah codegen generate",
    "export DATABASE_URL=\"$(howdah server url)\"",
    "howdah migrate apply -d \"$DATABASE_URL\"",
];

/// What differs between languages.
struct Parts {
    entry: &'static str,
    files: &'static [(&'static str, &'static str)],
    commands: &'static [&'static str],
}

const PYTHON: Parts = Parts {
    entry: include_str!("../example/python/gen.yaml"),
    files: &[("main.py", include_str!("../example/python/main.py"))],
    commands: &[
        "python3 -m venv .venv",
        ".venv/bin/python -m pip install 'psycopg[binary]>=3.3'",
        ".venv/bin/python main.py",
    ],
};

const JAVA: Parts = Parts {
    entry: include_str!("../example/java/gen.yaml"),
    files: &[("Main.java", include_str!("../example/java/Main.java"))],
    commands: &[
        "mvn -q dependency:copy -Dartifact=org.postgresql:postgresql:42.7.14 -DoutputDirectory=.",
        "javac -cp postgresql-42.7.14.jar -d classes Main.java generated/*.java",
        "java -cp classes:postgresql-42.7.14.jar Main",
    ],
};

const TYPESCRIPT: Parts = Parts {
    entry: include_str!("../example/typescript/gen.yaml"),
    files: &[
        ("main.ts", include_str!("../example/typescript/main.ts")),
        ("package.json", include_str!("../example/typescript/package.json")),
        ("tsconfig.json", include_str!("../example/typescript/tsconfig.json")),
    ],
    commands: &["npm install", "npx tsc", "node out/main.js"],
};

const GO: Parts = Parts {
    entry: include_str!("../example/go/gen.yaml"),
    files: &[
        ("main.go", include_str!("../example/go/main.go")),
        ("go.mod", include_str!("../example/go/go.mod.txt")),
    ],
    commands: &["go mod tidy", "go run ."],
};

const RUST: Parts = Parts {
    entry: include_str!("../example/rust/gen.yaml"),
    files: &[
        ("src/main.rs", include_str!("../example/rust/src/main.rs")),
        ("Cargo.toml", include_str!("../example/rust/Cargo.toml.txt")),
    ],
    commands: &["cargo run"],
};

/// The example of a generator.
#[must_use]
pub fn example(generator: Generator) -> Example {
    let parts = match generator {
        Generator::PythonPsycopg => PYTHON,
        Generator::JavaJdbc => JAVA,
        Generator::TypescriptPg => TYPESCRIPT,
        Generator::GoPgx => GO,
        Generator::RustTokioPostgres => RUST,
    };
    let config = format!("{CONFIG}{}", parts.entry);
    let mut files = vec![("howdah.yaml", config), ("queries.sql", QUERIES.to_owned())];
    files.extend(parts.files.iter().map(|(path, text)| (*path, (*text).to_owned())));
    Example { files, commands: PREPARE.iter().chain(parts.commands).copied().collect() }
}
