//! The direction of flow: what a crate's modules import, drawn as a graph, has no cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The engine's rooms from the ground up: each may import those before it.
const ROOMS: [&str; 21] = [
    "words", "settings", "error", "control", "catalog", "facts", "options", "report", "plan", "read",
    "infer", "encode", "rejects", "resolve", "send", "publish", "promote", "load", "rows", "writer",
    "stream",
];

/// Folders whose files may import each other, because the types there are made of types: an array has elements, a row has
/// fields that are rows, a query has expressions that are queries.
const RECURSIVE: [(&str, &str); 3] =
    [("howdah", "rows"), ("howdah-encode", "arrow"), ("howdah-codegen", "tree")];

/// What modules import of others, by their names.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// A module or an item, by the names on the way from the crate's root.
type Names = Vec<String>;

fn crates() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = std::fs::read_dir(crates).expect("the crates can be listed");
    entries
        .map(|entry| entry.expect("a crate can be read").path().join("src"))
        .filter(|src| src.is_dir())
        .collect()
}

/// Every module of the crate, with what it names by a path; tests may import what they like.
fn modules(src: &Path) -> BTreeMap<Names, Vec<Names>> {
    let mut modules = BTreeMap::new();
    let mut waiting = vec![src.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).expect("a module's folder can be listed") {
            let path = entry.expect("a module's file can be read").path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests" {
                let within = path.strip_prefix(src).expect("it lies within").with_extension("");
                let mut module: Names =
                    within.iter().map(|name| name.to_string_lossy().into_owned()).collect();
                // `mod.rs` stands for its folder.
                if ["mod", "lib", "main"].contains(&name.as_str()) {
                    module.pop();
                }
                let text = std::fs::read_to_string(&path).expect("a module is text");
                modules.insert(module.clone(), named_in(&text, &module));
            }
        }
    }
    modules
}

/// What `text`, that of `module`, names by paths that begin with `crate`, `self` or `super`.
fn named_in(text: &str, module: &[String]) -> Vec<Names> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = lines.collect::<Vec<_>>().join("\n");
    let mut named = Vec::new();
    for (root, depth) in [("crate::", 0), ("self::", module.len()), ("super::", module.len())] {
        for (at, _) in code.match_indices(root) {
            // Another's macro, or the middle of a path.
            if code[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "_:$".contains(c)) {
                continue;
            }
            let (mut base, mut rest) = (module[..depth].to_vec(), &code[at..]);
            while let Some(up) = rest.strip_prefix("super::") {
                base.pop();
                rest = up;
            }
            rest = rest.strip_prefix("crate::").or_else(|| rest.strip_prefix("self::")).unwrap_or(rest);
            follow(&mut base, rest, &mut named);
        }
    }
    named
}

/// Goes along the path at the start of `rest` from `base`, to each item where it ends in a list.
fn follow(base: &mut Names, mut rest: &str, named: &mut Vec<Names>) {
    loop {
        if let Some(list) = rest.strip_prefix('{') {
            let mut open = 1;
            let mut starts = vec![0];
            for (at, c) in list.char_indices() {
                open += i32::from(c == '{') - i32::from(c == '}');
                match c {
                    _ if open == 0 => break,
                    ',' if open == 1 => starts.push(at + 1),
                    _ => {}
                }
            }
            for start in starts {
                follow(&mut base.clone(), list[start..].trim_start(), named);
            }
            return;
        }
        let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        rest = &rest[name.len()..];
        base.push(name);
        match rest.strip_prefix("::") {
            Some(behind) => rest = behind,
            None => return named.push(base.clone()),
        }
    }
}

/// What each top-level module of the crate imports of the others.
fn imports(src: &Path) -> Imports {
    let mut imports = Imports::new();
    for (module, named) in modules(src) {
        let Some(room) = module.first() else { continue };
        let imported = imports.entry(room.clone()).or_default();
        imported.extend(named.iter().filter_map(|names| names.first()).filter(|name| *name != room).cloned());
    }
    imports
}

/// What the modules of each folder import of their neighbours there. A folder's own file stands above those in it.
fn neighbours(modules: &BTreeMap<Names, Vec<Names>>) -> BTreeMap<Names, Imports> {
    let mut folders: BTreeMap<Names, Imports> = BTreeMap::new();
    for (module, named) in modules {
        for names in named {
            let is_module = |length: &usize| modules.contains_key(&names[..*length]);
            let imported = &names[..(1..=names.len()).rev().find(is_module).unwrap_or(0)];
            let common = module.iter().zip(imported).take_while(|(own, other)| own == other).count();
            if let (Some(own), Some(other)) = (module.get(common), imported.get(common)) {
                let folder = folders.entry(module[..common].to_vec()).or_default();
                folder.entry(own.clone()).or_default().insert(other.clone());
            }
        }
    }
    folders
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
    // A page of the documentation imports nothing.
    for (room, imported) in imports.iter().filter(|(room, _)| *room != "guide") {
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
fn files_import_each_other_in_a_circle_only_where_types_are_made_of_types() {
    let mut recursive = BTreeSet::new();
    for src in crates() {
        let name = src.parent().and_then(Path::file_name).expect("a crate has a name").to_string_lossy();
        for (folder, imports) in neighbours(&modules(&src)) {
            let cycles: Vec<_> = imports.keys().filter_map(|file| cycle(&imports, file)).collect();
            let folder = folder.join("/");
            match RECURSIVE.iter().find(|known| **known == (&*name, &*folder)) {
                Some(known) if !cycles.is_empty() => _ = recursive.insert(*known),
                _ => assert!(cycles.is_empty(), "{name}/src/{folder}: {cycles:#?}"),
            }
        }
    }
    assert_eq!(recursive, BTreeSet::from(RECURSIVE), "no circle is excused that is there no more");
}

/// Who writes from a program, or from an input without an end, needs nothing of loads.
#[test]
fn writers_and_streams_stand_on_neither_loads_nor_publishing() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../howdah/src");
    let imports = imports(&src);
    for room in ["writer", "stream"] {
        for other in ["load", "publish", "promote"] {
            assert!(!imports[room].contains(other), "{room} imports {other}");
        }
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
}

#[test]
fn a_path_is_followed_from_wherever_it_begins() {
    let text = "use crate::a::B;\n// crate::no\nuse super::{c, d::{E, f::G}};\n\
                super::super::h::i(self::j, $crate::no);";
    let own = ["x".to_owned(), "y".to_owned()];
    let found: BTreeSet<String> = named_in(text, &own).iter().map(|names| names.join("/")).collect();
    assert_eq!(found, ["a/B", "x/c", "x/d/E", "x/d/f/G", "h/i", "x/y/j"].map(str::to_owned).into());
    let modules = [("x/y", "x/c/D"), ("x/c", "x/y"), ("x", "x/y"), ("z/a", "x/c")];
    let names = |path: &str| path.split('/').map(str::to_owned).collect::<Names>();
    let folders = neighbours(&modules.map(|(own, other)| (names(own), vec![names(other)])).into());
    let cycles = |folder: &str| cycle(&folders[&names(folder)], "y");
    assert_eq!(cycles("x"), Some(["y", "c", "y"].map(str::to_owned).into()));
    assert_eq!(folders[&Names::new()]["z"], BTreeSet::from(["x".to_owned()]));
}
