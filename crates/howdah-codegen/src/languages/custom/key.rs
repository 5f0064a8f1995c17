//! The names by which a configuration says what a type of the user's stands for.

use super::Wrong;
use crate::model::TypeName;

/// The types of `pg_catalog` that columns commonly have.
pub(super) const CATALOG: &[&str] = &[
    "bit",
    "bool",
    "box",
    "bpchar",
    "bytea",
    "char",
    "cidr",
    "circle",
    "date",
    "datemultirange",
    "daterange",
    "float4",
    "float8",
    "inet",
    "int2",
    "int4",
    "int4multirange",
    "int4range",
    "int8",
    "int8multirange",
    "int8range",
    "interval",
    "json",
    "jsonb",
    "jsonpath",
    "line",
    "lseg",
    "macaddr",
    "macaddr8",
    "money",
    "name",
    "numeric",
    "nummultirange",
    "numrange",
    "oid",
    "path",
    "pg_lsn",
    "point",
    "polygon",
    "text",
    "time",
    "timestamp",
    "timestamptz",
    "timetz",
    "tsmultirange",
    "tsquery",
    "tsrange",
    "tstzmultirange",
    "tstzrange",
    "tsvector",
    "uuid",
    "varbit",
    "varchar",
    "xml",
];

/// Names that SQL has for them besides.
const ALIASES: &[(&str, &str)] = &[
    ("bigint", "int8"),
    ("bit varying", "varbit"),
    ("boolean", "bool"),
    ("character", "bpchar"),
    ("character varying", "varchar"),
    ("decimal", "numeric"),
    ("double precision", "float8"),
    ("int", "int4"),
    ("integer", "int4"),
    ("real", "float4"),
    ("smallint", "int2"),
    ("time with time zone", "timetz"),
    ("time without time zone", "time"),
    ("timestamp with time zone", "timestamptz"),
    ("timestamp without time zone", "timestamp"),
];

/// A key of `types:`, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) names: Vec<String>,
    /// It has `[]` behind it.
    pub(super) array: bool,
}

impl Key {
    /// Reads names with dots between them, each of which may be in quotes as in SQL.
    pub(super) fn read(text: &str) -> Result<Self, Wrong> {
        let text = text.trim();
        let (text, array) = text.strip_suffix("[]").map_or((text, false), |element| (element, true));
        let mut names = vec![String::new()];
        let mut quoted = false;
        for c in text.chars() {
            match (c, quoted, names.last_mut()) {
                ('"', ..) => quoted = !quoted,
                ('.', false, _) => names.push(String::new()),
                (c, _, Some(name)) => name.push(c),
                (.., None) => {}
            }
        }
        if quoted || names.len() > 3 || names.iter().any(String::is_empty) || (array && names.len() > 2) {
            let help = "write a type, `numeric`, `app.mood` or `numeric[]`, or a column, `users.id` or `app.users.id`";
            return Err((format!("`{text}` is no name of a type or a column"), Some(help.to_owned())));
        }
        Ok(Self { names, array })
    }

    pub(super) fn is_type(&self, ty: &TypeName) -> bool {
        match self.names.as_slice() {
            [name] => {
                let alias = ALIASES.iter().find(|(alias, _)| alias == name).map(|(_, name)| *name);
                match alias {
                    Some(alias) => ty.schema == "pg_catalog" && ty.name == alias,
                    None => ty.name == *name,
                }
            }
            [schema, name] => ty.schema == *schema && ty.name == *name,
            _ => false,
        }
    }

    pub(super) fn is_column(&self, column: &[String; 3]) -> bool {
        !self.array && self.names.len() > 1 && column.ends_with(&self.names)
    }

    /// As it was meant, without `[]`.
    pub(super) fn spelt(&self) -> String {
        self.names.iter().map(|name| written(name)).collect::<Vec<_>>().join(".")
    }

    pub(super) fn shown(&self) -> String {
        format!("{}{}", self.spelt(), if self.array { "[]" } else { "" })
    }
}

/// A name, in quotes if it needs some.
pub(super) fn written(name: &str) -> String {
    if name.contains(['.', '"']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::Key;
    use crate::model::TypeName;

    #[test]
    fn a_key_names_a_type_or_a_column() {
        let names = |text: &str| Key::read(text).map(|key| (key.names.join("|"), key.array)).ok();
        assert_eq!(names("numeric"), Some(("numeric".into(), false)));
        assert_eq!(names("app.mood[]"), Some(("app|mood".into(), true)));
        assert_eq!(names("app.\"a.b\".id"), Some(("app|a.b|id".into(), false)));
        for wrong in ["", "a.", ".a", "\"a", "a.b.c.d", "a.b.c[]"] {
            assert_eq!(names(wrong), None, "{wrong}");
        }
        let is = |text: &str, schema: &str, name: &str| {
            let ty = TypeName { schema: schema.into(), name: name.into() };
            Key::read(text).is_ok_and(|key| key.is_type(&ty))
        };
        assert!(is("timestamp with time zone", "pg_catalog", "timestamptz") && is("mood", "app", "mood"));
        assert!(!is("bigint", "app", "bigint") && !is("public.mood", "app", "mood"));
        let column = ["app", "users", "id"].map(str::to_owned);
        let shows = |text: &str| Key::read(text).is_ok_and(|key| key.is_column(&column));
        assert!(shows("users.id") && shows("app.users.id") && !shows("id") && !shows("users.id[]"));
    }
}
