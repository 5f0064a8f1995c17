//! Go's words, the names of the support files, and identifiers as Go programs write them.

use super::{MIGRATE, SUPPORT, UPSERT};
use crate::languages::names::{self, Scope};

const KEYWORDS: &[&str] = &[
    "break",
    "case",
    "chan",
    "const",
    "continue",
    "default",
    "defer",
    "else",
    "fallthrough",
    "for",
    "func",
    "go",
    "goto",
    "if",
    "import",
    "interface",
    "map",
    "package",
    "range",
    "return",
    "select",
    "struct",
    "switch",
    "type",
    "var",
];
/// What generated code mentions by these names, or gives a meaning to.
const MENTIONED: &[&str] = &[
    "any", "append", "bool", "byte", "error", "false", "float32", "float64", "init", "int", "int16", "int32",
    "int64", "len", "main", "make", "nil", "string", "true", "uint32", "context", "iter", "json", "netip",
    "pgx", "time",
];
/// What bodies of methods and of calls have by these names.
const LOCAL: &[&str] = &["c", "ctx", "j", "q"];
/// Words that Go programs write in capitals.
const INITIALISMS: &[&str] = &[
    "api", "cpu", "html", "http", "https", "id", "ip", "json", "sql", "tcp", "tls", "udp", "uri", "url",
    "uuid", "xml",
];
/// Names of systems and machines: a file `x_linux.go` is part of programs for Linux only.
const BUILT_FOR: &[&str] = &[
    "aix",
    "android",
    "darwin",
    "dragonfly",
    "freebsd",
    "hurd",
    "illumos",
    "ios",
    "js",
    "linux",
    "nacl",
    "netbsd",
    "openbsd",
    "plan9",
    "solaris",
    "wasip1",
    "windows",
    "zos",
    "386",
    "amd64",
    "amd64p32",
    "arm",
    "arm64",
    "arm64be",
    "armbe",
    "loong64",
    "mips",
    "mips64",
    "mips64le",
    "mips64p32",
    "mips64p32le",
    "mipsle",
    "ppc",
    "ppc64",
    "ppc64le",
    "riscv",
    "riscv64",
    "s390",
    "s390x",
    "sparc",
    "sparc64",
    "wasm",
    "test",
    "unix",
];

/// The names of a package, of which the support files have some.
pub(super) fn package_scope() -> Scope {
    let mut scope = Scope::new(&[KEYWORDS, MENTIONED]);
    for text in SUPPORT.iter().map(|(_, text)| *text).chain([MIGRATE, UPSERT]) {
        for name in declared(text) {
            scope.give(name);
        }
    }
    scope
}

/// The names that a file of Go declares for its package.
fn declared(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut block = false;
    for line in text.lines() {
        let rest = match line.strip_prefix('\t') {
            Some(rest) if block && !rest.starts_with('\t') => rest,
            _ => {
                block = (block && !line.starts_with(')')) || matches!(line, "var (" | "const (");
                let words = ["func ", "type ", "var ", "const "];
                match words.iter().find_map(|word| line.strip_prefix(word)) {
                    Some(rest) => rest,
                    None => continue,
                }
            }
        };
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end > 0 && rest[..end].starts_with(|c: char| c.is_ascii_alphabetic()) {
            names.push(&rest[..end]);
        }
    }
    names
}

/// The name of the only parameter of a method, whose body means things of the package.
pub(super) fn parameter(scope: &Scope, name: &str) -> String {
    let mut scope = scope.clone();
    for local in LOCAL {
        scope.give(local);
    }
    scope.give(&lower(&exported(name, "parameter"))).name
}

/// `UserID`.
pub(super) fn exported(name: &str, prefix: &str) -> String {
    let word = |word: String| {
        if INITIALISMS.contains(&word.as_str()) {
            return word.to_ascii_uppercase();
        }
        word[..1].to_ascii_uppercase() + &word[1..]
    };
    let name = names::words(name).into_iter().map(word).collect::<String>();
    let prefix = prefix.chars().take(1).map(|c| c.to_ascii_uppercase()).chain(prefix.chars().skip(1));
    names::begun(name, &prefix.collect::<String>())
}

/// `userID` of `UserID`, `idCard` of `IDCard`.
pub(super) fn lower(exported: &str) -> String {
    let capitals = exported.chars().take_while(char::is_ascii_uppercase).count();
    let first = if capitals == exported.len() { capitals } else { capitals.saturating_sub(1).max(1) };
    let (start, rest) = exported.split_at(first.min(exported.len()));
    start.to_ascii_lowercase() + rest
}

/// The name of a package: the last part of a path, in lower case.
pub(super) fn package(path: &str) -> String {
    let last = path.rsplit(['.', '/']).next().unwrap_or_default();
    let name = names::words(last).concat();
    let name = names::begun(name, "sql");
    if KEYWORDS.contains(&name.as_str()) || name == "main" { name + "sql" } else { name }
}

/// The file of a module, which is part of every build.
pub(super) fn file(module: &str) -> String {
    let name = names::snake(module, "sql");
    let last = name.rsplit('_').next().unwrap_or_default();
    let special = name.contains('_') && BUILT_FOR.contains(&last);
    if special || name == "howdah" || name.starts_with("howdah_") { name + "_sql.go" } else { name + ".go" }
}

#[cfg(test)]
mod tests {
    use super::{declared, exported, file, lower, package, package_scope, parameter};

    #[test]
    fn names_are_those_of_go() {
        assert_eq!(exported("user_id", "column"), "UserID");
        assert_eq!(exported("1st", "column"), "Column1st");
        assert_eq!(lower("UserID"), "userID");
        assert_eq!(lower("ID"), "id");
        assert_eq!(lower("IDCard"), "idCard");
        assert_eq!(parameter(&package_scope(), "stream"), "stream_2");
        assert_eq!(parameter(&package_scope(), "type"), "type_");
        assert_eq!(parameter(&package_scope(), "ctx"), "ctx_2");
        assert_eq!(parameter(&package_scope(), "arg"), "arg");
    }

    #[test]
    fn a_file_of_a_module_is_left_out_of_no_build() {
        assert_eq!(file("shop"), "shop.go");
        assert_eq!(file("shop_test"), "shop_test_sql.go");
        assert_eq!(file("shop-linux"), "shop_linux_sql.go");
        assert_eq!(file("linux"), "linux.go");
        assert_eq!(file("howdah"), "howdah_sql.go");
        assert_eq!(package("app.db"), "db");
        assert_eq!(package("example.com/app/My-Db"), "mydb");
        assert_eq!(package("type"), "typesql");
    }

    #[test]
    fn names_of_the_support_files_are_found() {
        let text =
            "type A struct {\n\tb int\n}\n\nvar (\n\tc = 1\n\tD  = 2\n)\n\nfunc e[T any]() {\n\tf()\n}\n";
        assert_eq!(declared(text), ["A", "c", "D", "e"]);
        assert_eq!(package_scope().give("Array").name, "Array_2");
        assert_eq!(package_scope().give("int8Codec").name, "int8Codec_2");
        assert_eq!(package_scope().give("Migration").name, "Migration_2");
    }
}
