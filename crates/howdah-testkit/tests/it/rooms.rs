//! The direction of flow: what a crate's modules import, drawn as a graph, has no cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The engine's rooms from the ground up: each may import those before it.
const ROOMS: [&str; 20] = [
    "words", "settings", "error", "control", "catalog", "options", "report", "plan", "read", "infer",
    "encode", "rejects", "resolve", "send", "publish", "promote", "load", "rows", "writer", "stream",
];

/// A crate's modules that other modules import, by the first segment of their paths.
type Imports = BTreeMap<String, BTreeSet<String>>;

fn crates() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = std::fs::read_dir(crates).expect("the crates can be listed");
    entries
        .map(|entry| entry.expect("a crate can be read").path().join("src"))
        .filter(|src| src.is_dir())
        .collect()
}

/// What each top-level module of the crate imports of the others; tests may import what they like.
fn imports(src: &Path) -> Imports {
    let mut imports = Imports::new();
    let mut waiting = vec![src.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).expect("a module's folder can be listed") {
            let path = entry.expect("a module's file can be read").path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests" {
                let within = path.strip_prefix(src).expect("it lies within");
                let room = Path::new(within.iter().next().expect("it has a name")).with_extension("");
                let text = std::fs::read_to_string(&path).expect("a module is text");
                let room = room.to_string_lossy().into_owned();
                // `mod.rs` stands for its folder, which is one step closer to the root.
                let depth = within.iter().count() - usize::from(name == "mod");
                let imported = imports.entry(room.clone()).or_default();
                imported.extend(names_in(&text, depth).filter(|name| *name != room));
            }
        }
    }
    imports.remove("lib");
    imports.remove("main");
    imports
}

/// The first names of all paths from the crate's root, which is also reached by `super::` from a module `depth` below it.
fn names_in(text: &str, depth: usize) -> impl Iterator<Item = String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = lines.collect::<Vec<_>>().join("\n");
    let code = code.replace(&"super::".repeat(depth), "crate::");
    let paths: Vec<String> = code.split("crate::").skip(1).map(str::to_owned).collect();
    paths.into_iter().flat_map(|path| match path.strip_prefix('{') {
        // rustfmt writes such a list only where macros forbid a line for each.
        Some(list) => {
            let list = list.split(';').next().unwrap_or_default().to_owned();
            list.split(',').map(|item| first_name(item.trim())).collect()
        }
        None => vec![first_name(&path)],
    })
}

fn first_name(path: &str) -> String {
    path.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

/// A way from `room` back to itself, if there is one.
fn cycle(imports: &Imports, room: &str) -> Option<Vec<String>> {
    fn walk(
        imports: &Imports,
        at: &str,
        goal: &str,
        way: &mut Vec<String>,
        seen: &mut BTreeSet<String>,
    ) -> bool {
        imports.get(at).into_iter().flatten().any(|next| {
            way.push(next.clone());
            let found = next == goal || seen.insert(next.clone()) && walk(imports, next, goal, way, seen);
            if !found {
                way.pop();
            }
            found
        })
    }
    let mut way = vec![room.to_owned()];
    walk(imports, room, room, &mut way, &mut BTreeSet::new()).then_some(way)
}

#[test]
fn no_crate_has_modules_that_import_each_other_in_a_circle() {
    for src in crates() {
        let imports = imports(&src);
        let cycles: Vec<_> = imports.keys().filter_map(|room| cycle(&imports, room)).collect();
        assert!(cycles.is_empty(), "{}: {cycles:#?}", src.display());
    }
}

#[test]
fn the_engines_rooms_import_only_those_below_them() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../howdah/src");
    let imports = imports(&src);
    let floor = |name: &str| ROOMS.iter().position(|room| *room == name);
    for (room, imported) in &imports {
        let own = floor(room).unwrap_or_else(|| panic!("{room} has no floor: name it in ROOMS"));
        for below in imported.iter().filter_map(|name| floor(name)) {
            assert!(below < own, "{room} imports {}, which stands above it", ROOMS[below]);
        }
    }
}

/// What the engine hands on of other crates is for its users: its own paths say where a thing stands.
#[test]
fn the_engine_names_other_crates_by_their_own_names() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../howdah/src");
    for (room, imported) in imports(&src) {
        let handed_on: Vec<_> = imported
            .iter()
            .filter(|name| ["source", "connect", "message"].contains(&name.as_str()))
            .collect();
        assert!(handed_on.is_empty(), "{room} imports {handed_on:?} from the crate's root");
    }
}

#[test]
fn a_circle_is_noticed() {
    let edges = [("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")];
    let mut imports = Imports::new();
    for (from, to) in edges {
        imports.entry(from.to_owned()).or_default().insert(to.to_owned());
    }
    assert_eq!(cycle(&imports, "b"), Some(vec!["b".to_owned(), "c".to_owned(), "b".to_owned()]));
    assert_eq!(cycle(&imports, "a"), None);
    let names: Vec<_> =
        names_in("use crate::a::B;\n// crate::no\nuse crate::{c, d::E};\nsuper::super::f::g(super::no);", 2)
            .collect();
    assert_eq!(names, ["a", "c", "d", "f"]);
}
