//! PostgreSQL's types in Python: the hint of a value, and the codec of its literals.

use std::collections::{BTreeMap, BTreeSet};

use super::literal;
use super::view::{Alias, Assigned, Class, Converter, EnumClass, Field, Label};
use crate::languages::custom::Standing;
use crate::languages::delimiter::delimiter;
use crate::languages::{CustomType, custom, names};
use crate::model::{Definition, Model, TypeKind, TypeName, TypeRef};

/// A type as Python code mentions it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PyType {
    /// Its type hint.
    pub(crate) hint: String,
    /// The hint of a parameter, which may be wider.
    pub(crate) parameter: String,
    /// The expression of its codec.
    pub(crate) codec: String,
    /// psycopg reads it without help.
    pub(crate) read: bool,
    /// psycopg writes it as the right literal without help.
    pub(crate) written: bool,
    /// The call that makes a value of the user's type of the codec's, `{}`, which is not null.
    pub(crate) decode: Option<String>,
    /// The call that makes the codec's value of one of the user's, `{}`, which is not null.
    pub(crate) encode: Option<String>,
}

/// The types of one file: what was declared for those that it mentions.
pub(crate) struct Types<'m> {
    definitions: BTreeMap<&'m TypeName, &'m Definition>,
    custom: &'m [CustomType],
    known: BTreeMap<TypeName, PyType>,
    constants: BTreeMap<String, String>,
    /// What the file imports for its hints.
    pub(crate) imports: BTreeSet<&'static str>,
    /// Names of the file.
    pub(crate) scope: names::Scope,
    /// In the order in which they were first mentioned, what they are made of first.
    pub(crate) enums: Vec<EnumClass>,
    pub(crate) composites: Vec<Class>,
    pub(crate) aliases: Vec<Alias>,
    pub(crate) codecs: Vec<Assigned>,
    /// What makes values of the user's types, and of them.
    pub(crate) converters: Vec<Converter>,
    /// What the file imports for the user's types.
    pub(crate) custom_imports: BTreeSet<String>,
}

const DATETIME: &str = "import datetime as dt";

/// The hint, its import, the codec, whether psycopg writes it without help.
type Builtin = (&'static str, Option<&'static str>, &'static str, bool);

/// A type of `pg_catalog` that has a mapping. The others are their literals.
fn builtin(name: &str) -> Option<Builtin> {
    Some(match name {
        "bool" => ("bool", None, "pg.BOOL", true),
        "int2" => ("int", None, "pg.INT2", true),
        "int4" => ("int", None, "pg.INT4", true),
        "int8" => ("int", None, "pg.INT8", true),
        "oid" => ("int", None, "pg.OID", true),
        "float4" => ("float", None, "pg.FLOAT4", true),
        "float8" => ("float", None, "pg.FLOAT8", true),
        "numeric" => ("Decimal", Some("from decimal import Decimal"), "pg.NUMERIC", true),
        "text" => ("str", None, "pg.TEXT", true),
        "varchar" => ("str", None, "pg.VARCHAR", true),
        "bpchar" => ("str", None, "pg.BPCHAR", true),
        "name" => ("str", None, "pg.NAME", true),
        "json" => ("pg.Json", None, "pg.JSON", true),
        "jsonb" => ("pg.Json", None, "pg.JSONB", true),
        "bytea" => ("bytes", None, "pg.BYTEA", true),
        "uuid" => ("UUID", Some("from uuid import UUID"), "pg.UUID_", true),
        "date" => ("dt.date", Some(DATETIME), "pg.DATE", false),
        "time" => ("dt.time", Some(DATETIME), "pg.TIME", false),
        "timetz" => ("dt.time", Some(DATETIME), "pg.TIMETZ", false),
        "timestamp" => ("dt.datetime", Some(DATETIME), "pg.TIMESTAMP", false),
        "timestamptz" => ("dt.datetime", Some(DATETIME), "pg.TIMESTAMPTZ", false),
        "interval" => ("pg.Interval", None, "pg.INTERVAL", false),
        "inet" => ("pg.Inet", None, "pg.INET", false),
        "cidr" => ("pg.Cidr", None, "pg.CIDR", false),
        _ => return None,
    })
}

/// The subtype of a range of `pg_catalog`, or of its multirange.
fn builtin_range(name: &str) -> Option<(&'static str, bool)> {
    Some(match name {
        "int4range" => ("int4", false),
        "int8range" => ("int8", false),
        "numrange" => ("numeric", false),
        "daterange" => ("date", false),
        "tsrange" => ("timestamp", false),
        "tstzrange" => ("timestamptz", false),
        "int4multirange" => ("int4", true),
        "int8multirange" => ("int8", true),
        "nummultirange" => ("numeric", true),
        "datemultirange" => ("date", true),
        "tsmultirange" => ("timestamp", true),
        "tstzmultirange" => ("timestamptz", true),
        _ => return None,
    })
}

const RANGE: &str = "from psycopg.types.range import Range";
const MULTIRANGE: &str = "from psycopg.types.multirange import Multirange";

impl<'m> Types<'m> {
    pub(crate) fn new(model: &'m Model, custom: &'m [CustomType], scope: names::Scope) -> Self {
        Self {
            custom,
            converters: Vec::new(),
            custom_imports: BTreeSet::new(),
            definitions: model.types.iter().map(|definition| (&definition.name, definition)).collect(),
            known: BTreeMap::new(),
            constants: BTreeMap::new(),
            imports: BTreeSet::new(),
            scope,
            enums: Vec::new(),
            composites: Vec::new(),
            aliases: Vec::new(),
            codecs: Vec::new(),
        }
    }

    /// Gives the type of a place, and declares what it needs.
    pub(crate) fn of(&mut self, ty: &TypeRef) -> PyType {
        let plain = TypeRef { custom: None, ..ty.clone() };
        match Standing::of(ty, self.custom) {
            Standing::Nowhere => {
                let element = self.scalar(&ty.name);
                if ty.array { self.array(&ty.name, element) } else { element }
            }
            Standing::ForElements(own) => {
                let (array, element) = (self.of(&plain), TypeRef { array: false, ..plain });
                let element = self.of(&element);
                each(array, self.custom(own, element))
            }
            Standing::ForAll(own) => {
                let plain = self.of(&plain);
                self.custom(own, plain)
            }
        }
    }

    /// The names of types that fields of classes would hide.
    pub(crate) fn words(&self) -> BTreeSet<String> {
        self.custom.iter().flat_map(custom::CustomType::words).collect()
    }

    /// A type of the user's, which stands for another.
    fn custom(&mut self, own: &CustomType, ty: PyType) -> PyType {
        self.custom_imports.extend(own.imports.iter().cloned());
        let stem = names::snake(&own.stem(), "type");
        let decoded = own.decoded("value");
        let decode = decoded.map(|made| self.converter(&format!("as_{stem}"), &ty.hint, &own.name, made));
        let encoded = own.encoded("value");
        let encode = encoded.map(|made| self.converter(&format!("of_{stem}"), &own.name, &ty.hint, made));
        PyType { hint: own.name.clone(), parameter: own.name.clone(), decode, encode, ..ty }
    }

    /// A call of a function that the file has, once.
    fn converter(&mut self, wanted: &str, of: &str, hint: &str, value: String) -> String {
        let known =
            self.converters.iter().find(|c| (c.of.as_str(), c.hint.as_str(), &c.value) == (of, hint, &value));
        let name = match known {
            Some(known) => known.name.clone(),
            None => {
                let name = self.scope.give(&format!("_{wanted}")).name;
                let (of, hint) = (of.to_owned(), hint.to_owned());
                self.converters.push(Converter { name: name.clone(), of, hint, value });
                name
            }
        };
        format!("{name}({{}})")
    }

    fn array(&mut self, name: &TypeName, element: PyType) -> PyType {
        // psycopg's own loader of arrays knows those whose elements it reads.
        let read = name.schema == "pg_catalog" && builtin(&name.name).is_some();
        let is_list = element.hint.starts_with("list[");
        let element = if is_list { text() } else { element };
        let delimiter = match delimiter(name, &self.definitions) {
            ',' => String::new(),
            other => format!(", \"{other}\""),
        };
        let stem =
            element.codec.trim_start_matches("pg.").trim_start_matches('_').trim_end_matches('_').to_owned();
        let codec =
            self.constant(&format!("{stem}_ARRAY"), format!("pg.array_of({}{delimiter})", element.codec));
        PyType {
            hint: format!("list[{} | None]", element.hint),
            parameter: format!("Sequence[{} | None]", element.hint),
            codec,
            read: read && !is_list,
            written: false,
            decode: None,
            encode: None,
        }
    }

    /// A codec that the file makes, once.
    fn constant(&mut self, stem: &str, value: String) -> String {
        if let Some(name) = self.constants.get(&value) {
            return name.clone();
        }
        let name = self.scope.give(&format!("_{stem}")).name;
        self.constants.insert(value.clone(), name.clone());
        self.codecs.push(Assigned { name: name.clone(), value });
        name
    }

    fn scalar(&mut self, name: &TypeName) -> PyType {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let ty = if name.schema == "pg_catalog" { self.of_catalog(&name.name) } else { self.of_user(name) };
        self.known.insert(name.clone(), ty.clone());
        ty
    }

    fn of_catalog(&mut self, name: &str) -> PyType {
        if let Some((hint, import, codec, written)) = builtin(name) {
            self.imports.extend(import);
            return PyType {
                hint: hint.into(),
                parameter: hint.into(),
                codec: codec.into(),
                read: true,
                written,
                decode: None,
                encode: None,
            };
        }
        let Some((subtype, several)) = builtin_range(name) else { return text() };
        let bound = self.scalar(&TypeName { schema: "pg_catalog".into(), name: subtype.into() });
        let range = self.range(&bound);
        if several { self.multirange(&range) } else { range }
    }

    fn of_user(&mut self, name: &TypeName) -> PyType {
        let Some(definition) = self.definitions.get(name).copied() else { return text() };
        match &definition.kind {
            TypeKind::Enum { labels } => self.enumeration(name, labels),
            TypeKind::Domain { base, .. } => self.domain(name, base),
            TypeKind::Composite { fields } => {
                let fields = fields.iter().map(|field| (field.name.clone(), self.of(&field.ty))).collect();
                self.composite(name, fields)
            }
            TypeKind::Range { subtype } => {
                let bound = self.of(subtype);
                self.range(&bound)
            }
            TypeKind::Multirange { range } => {
                let range = self.of(range);
                self.multirange(&range)
            }
            TypeKind::Base => text(),
        }
    }

    fn enumeration(&mut self, name: &TypeName, labels: &[String]) -> PyType {
        let class = self.scope.give(&names::pascal(&name.name, "enum")).name;
        let mut members = names::Scope::new(&[]);
        let labels = labels
            .iter()
            .map(|label| Label {
                name: members.give(&names::screaming(label, "label")).name,
                literal: literal::string(label),
            })
            .collect();
        let documentation = literal::documentation(&format!("The labels of {}.", shown(name)));
        self.enums.push(EnumClass { name: class.clone(), documentation, labels });
        let codec = self.constant(&names::screaming(&class, "enum"), format!("pg.enum_of({class})"));
        made(class, codec, true)
    }

    fn domain(&mut self, name: &TypeName, base: &TypeRef) -> PyType {
        let base = self.of(base);
        let alias = self.scope.give(&names::pascal(&name.name, "domain")).name;
        let documentation = literal::documentation(&shown(name));
        self.aliases.push(Alias { name: alias.clone(), hint: base.hint.clone(), documentation });
        // An array keeps its hint, by which arrays of it are known; others go by the domain's name.
        let is_list = base.hint.starts_with("list[");
        if is_list { base } else { PyType { hint: alias.clone(), parameter: alias, ..base } }
    }

    fn composite(&mut self, name: &TypeName, fields: Vec<(String, PyType)>) -> PyType {
        let class = self.scope.give(&names::pascal(&name.name, "type")).name;
        let mut scope = super::words::field_scope();
        let codecs = fields.iter().map(|(_, ty)| ty.codec.clone()).collect::<Vec<_>>().join(", ");
        let fields = fields
            .into_iter()
            .map(|(field, ty)| Field {
                name: scope.give(&names::snake(&field, "field")).name,
                hint: format!("{} | None", ty.hint),
            })
            .collect();
        let documentation = literal::documentation(&shown(name));
        self.composites.push(Class { name: class.clone(), documentation, fields });
        let codec =
            self.constant(&names::screaming(&class, "type"), format!("pg.composite_of({class}, {codecs})"));
        made(class, codec, false)
    }

    fn range(&mut self, bound: &PyType) -> PyType {
        self.imports.insert(RANGE);
        let stem = format!("{}_RANGE", bound.codec.trim_start_matches("pg.").trim_matches('_'));
        let codec = self.constant(&stem, format!("pg.range_of({})", bound.codec));
        let hint = format!("Range[{}]", bound.hint);
        made(hint, codec, false)
    }

    fn multirange(&mut self, range: &PyType) -> PyType {
        self.imports.insert(MULTIRANGE);
        let stem = format!("{}_SET", range.codec.trim_matches('_'));
        let codec = self.constant(&stem, format!("pg.multirange_of({})", range.codec));
        let hint = format!("Multi{}", range.hint.replacen('R', "r", 1));
        made(hint, codec, false)
    }
}

fn text() -> PyType {
    PyType {
        hint: "str".into(),
        parameter: "str".into(),
        codec: "pg.LITERAL".into(),
        read: true,
        written: true,
        decode: None,
        encode: None,
    }
}

/// A type with a codec of the file's.
fn made(hint: String, codec: String, written: bool) -> PyType {
    PyType { parameter: hint.clone(), hint, codec, read: false, written, decode: None, encode: None }
}

/// An array, each element of which is the user's.
fn each(array: PyType, element: PyType) -> PyType {
    let through = |call: &Option<String>| {
        let function = call.as_ref().map(|call| call.trim_end_matches("({})"));
        function.map(|function| format!("pg.each({function}, {{}})"))
    };
    PyType {
        decode: through(&element.decode),
        encode: through(&element.encode),
        hint: format!("list[{} | None]", element.hint),
        parameter: format!("Sequence[{} | None]", element.hint),
        ..array
    }
}

fn shown(name: &TypeName) -> String {
    format!("{}.{}", name.schema, name.name)
}
