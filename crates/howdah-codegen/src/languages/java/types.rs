//! PostgreSQL's types in Java: the class of a value, and the codec that reads and writes it.

use std::collections::{BTreeMap, BTreeSet};

use super::literal;
use super::view::{Constant, EnumClass, Field, Label, Record};
use crate::languages::custom::Standing;
use crate::languages::delimiter::delimiter;
use crate::languages::{CustomType, names};
use crate::model::{Definition, Model, TypeKind, TypeName, TypeRef};

/// A type as Java code mentions it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JavaType {
    /// Its class.
    pub(crate) name: String,
    /// Its primitive type, and the method of the codecs that reads it.
    pub(crate) primitive: Option<(&'static str, &'static str)>,
    /// The expression of its codec.
    pub(crate) codec: String,
    /// It is read without loss in whatever form pgjdbc asks for.
    pub(crate) plain: bool,
    /// There is a binary form of it for COPY.
    pub(crate) binary: bool,
}

impl JavaType {
    /// The type of a field, parameter or result, with its annotation.
    pub(crate) fn declared(&self, nullable: bool) -> String {
        match self.primitive {
            Some((primitive, _)) if !nullable => primitive.to_owned(),
            _ if nullable => format!("@HowdahJdbc.Nullable {}", self.name),
            _ => self.name.clone(),
        }
    }

    /// Null has to be refused: no primitive type does it.
    pub(crate) fn required(&self, nullable: bool) -> bool {
        !nullable && self.primitive.is_none()
    }

    /// Reads a column, from 1.
    pub(crate) fn read(&self, column: usize, nullable: bool) -> String {
        match self.primitive {
            Some((_, method)) if !nullable => format!("HowdahCodec.{method}(r, {column})"),
            _ if nullable => format!("{}.getOrNull(r, {column})", self.codec),
            _ => format!("{}.get(r, {column})", self.codec),
        }
    }
}

/// The types of one file: what was declared for those that it mentions.
pub(crate) struct Types<'m> {
    definitions: BTreeMap<&'m TypeName, &'m Definition>,
    custom: &'m [CustomType],
    known: BTreeMap<TypeName, JavaType>,
    known_constants: BTreeMap<String, String>,
    /// Names of nested classes.
    pub(crate) classes: names::Scope,
    /// Names of fields.
    pub(crate) fields: names::Scope,
    /// In the order in which they were first mentioned, what they are made of first.
    pub(crate) enums: Vec<EnumClass>,
    pub(crate) composites: Vec<Record>,
    pub(crate) codecs: Vec<Constant>,
    /// What the file imports for the user's types.
    pub(crate) imports: BTreeSet<String>,
}

/// The class, its primitive type with what reads it, the codec.
type Builtin = (&'static str, Option<(&'static str, &'static str)>, &'static str);

/// A type of `pg_catalog` that has a mapping. The others are their literals.
fn builtin(name: &str) -> Option<Builtin> {
    Some(match name {
        "bool" => ("Boolean", Some(("boolean", "getBoolean")), "BOOL"),
        "int2" => ("Short", Some(("short", "getShort")), "INT2"),
        "int4" => ("Integer", Some(("int", "getInt")), "INT4"),
        "int8" => ("Long", Some(("long", "getLong")), "INT8"),
        "oid" => ("Long", Some(("long", "getLong")), "OID"),
        "float4" => ("Float", Some(("float", "getFloat")), "FLOAT4"),
        "float8" => ("Double", Some(("double", "getDouble")), "FLOAT8"),
        "numeric" => ("BigDecimal", None, "NUMERIC"),
        "text" => ("String", None, "TEXT"),
        "varchar" => ("String", None, "VARCHAR"),
        "bpchar" => ("String", None, "BPCHAR"),
        "name" => ("String", None, "NAME"),
        "json" => ("String", None, "JSON"),
        "jsonb" => ("String", None, "JSONB"),
        "bytea" => ("byte[]", None, "BYTEA"),
        "uuid" => ("UUID", None, "UUID_"),
        "date" => ("LocalDate", None, "DATE"),
        "time" => ("LocalTime", None, "TIME"),
        "timetz" => ("OffsetTime", None, "TIMETZ"),
        "timestamp" => ("LocalDateTime", None, "TIMESTAMP"),
        "timestamptz" => ("OffsetDateTime", None, "TIMESTAMPTZ"),
        "interval" => ("HowdahJdbc.Interval", None, "INTERVAL"),
        _ => return None,
    })
}

/// The range of a range of `pg_catalog`, or of its multirange, with the subtype.
fn builtin_range(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "int4range" | "int4multirange" => ("int4range", "int4"),
        "int8range" | "int8multirange" => ("int8range", "int8"),
        "numrange" | "nummultirange" => ("numrange", "numeric"),
        "daterange" | "datemultirange" => ("daterange", "date"),
        "tsrange" | "tsmultirange" => ("tsrange", "timestamp"),
        "tstzrange" | "tstzmultirange" => ("tstzrange", "timestamptz"),
        _ => return None,
    })
}

fn catalog(name: &str) -> TypeName {
    TypeName { schema: "pg_catalog".into(), name: name.into() }
}

impl<'m> Types<'m> {
    pub(crate) fn new(
        model: &'m Model,
        custom: &'m [CustomType],
        classes: names::Scope,
        fields: names::Scope,
    ) -> Self {
        Self {
            custom,
            imports: BTreeSet::new(),
            definitions: model.types.iter().map(|definition| (&definition.name, definition)).collect(),
            known: BTreeMap::new(),
            known_constants: BTreeMap::new(),
            classes,
            fields,
            enums: Vec::new(),
            composites: Vec::new(),
            codecs: Vec::new(),
        }
    }

    /// Gives the type of a place, and declares what it needs.
    pub(crate) fn of(&mut self, ty: &TypeRef) -> JavaType {
        match Standing::of(ty, self.custom) {
            Standing::Nowhere => {
                let element = self.scalar(&ty.name);
                if ty.array { self.array(&ty.name, &element) } else { element }
            }
            Standing::ForElements(own) => {
                let element = self.scalar(&ty.name);
                let element = self.custom(own, &element);
                self.array(&ty.name, &element)
            }
            Standing::ForAll(own) => {
                let plain = self.of(&TypeRef { custom: None, ..ty.clone() });
                self.custom(own, &plain)
            }
        }
    }

    /// A type of the user's, which stands for another.
    fn custom(&mut self, own: &CustomType, ty: &JavaType) -> JavaType {
        let line =
            |import: &String| import.trim_start_matches("import ").trim_end_matches(';').trim().to_owned();
        self.imports.extend(own.imports.iter().map(line));
        let through = |made: Option<String>| made.unwrap_or_else(|| "value".to_owned());
        let value = format!(
            "HowdahCodec.mapped({}, value -> {}, value -> {})",
            ty.codec,
            through(own.decoded("value")),
            through(own.encoded("value"))
        );
        let made = self.made(&names::screaming(&own.stem(), "type"), own.name.clone(), value, ty.binary);
        JavaType { plain: ty.plain, ..made }
    }

    fn array(&mut self, name: &TypeName, element: &JavaType) -> JavaType {
        let delimiter = delimiter(name, &self.definitions);
        let stem = format!("{}_ARRAY", stem(&element.codec));
        let value = format!("HowdahCodec.arrayOf({}, '{delimiter}')", element.codec);
        let made = self.made(&stem, format!("List<{}>", element.name), value, element.binary);
        JavaType { plain: element.plain, ..made }
    }

    /// A codec that the file makes, once.
    fn made(&mut self, stem: &str, name: String, value: String, binary: bool) -> JavaType {
        let codec = match self.known_constants.get(&value) {
            Some(codec) => codec.clone(),
            None => {
                // A class can be called A1 as a constant can: Java would take it for the constant.
                let codec = self.fields.give(&format!("{stem}_CODEC")).name;
                self.known_constants.insert(value.clone(), codec.clone());
                let ty = format!("HowdahCodec<{name}>");
                self.codecs.push(Constant { ty, name: codec.clone(), value });
                codec
            }
        };
        JavaType { name, primitive: None, codec, plain: false, binary }
    }

    fn scalar(&mut self, name: &TypeName) -> JavaType {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let ty = if name.schema == "pg_catalog" { self.of_catalog(name) } else { self.of_user(name) };
        self.known.insert(name.clone(), ty.clone());
        ty
    }

    fn of_catalog(&mut self, name: &TypeName) -> JavaType {
        if let Some((class, primitive, codec)) = builtin(&name.name) {
            let codec = format!("HowdahCodec.{codec}");
            return JavaType { name: class.into(), primitive, codec, plain: true, binary: true };
        }
        let Some((range, subtype)) = builtin_range(&name.name) else { return literal_of_it() };
        if range == name.name {
            let bound = self.scalar(&catalog(subtype));
            return self.range(name, &bound);
        }
        let range = self.scalar(&catalog(range));
        self.multirange(name, &range)
    }

    fn of_user(&mut self, name: &TypeName) -> JavaType {
        let Some(definition) = self.definitions.get(name).copied() else { return literal_of_it() };
        match &definition.kind {
            TypeKind::Enum { labels } => self.enumeration(name, labels),
            TypeKind::Domain { base, .. } => {
                let base = self.of(base);
                let value = format!("{}.named({})", base.codec, literals(name));
                let named = self.made(&names::screaming(&name.name, "domain"), base.name, value, base.binary);
                JavaType { primitive: base.primitive, plain: base.plain, ..named }
            }
            TypeKind::Composite { fields } => {
                let fields = fields.iter().map(|field| (field.name.clone(), self.of(&field.ty))).collect();
                self.composite(name, fields)
            }
            TypeKind::Range { subtype } => {
                let bound = self.of(subtype);
                self.range(name, &bound)
            }
            TypeKind::Multirange { range } => {
                let range = self.of(range);
                self.multirange(name, &range)
            }
            TypeKind::Base => literal_of_it(),
        }
    }

    fn enumeration(&mut self, name: &TypeName, labels: &[String]) -> JavaType {
        let class = self.classes.give(&names::pascal(&name.name, "enum")).name;
        let mut members = names::Scope::new(&[]);
        let labels = labels
            .iter()
            .map(|label| Label {
                name: members.give(&names::screaming(label, "label")).name,
                literal: literal::string(label),
            })
            .collect();
        let documentation = shown(name);
        self.enums.push(EnumClass { name: class.clone(), documentation, labels });
        let value = format!("HowdahCodec.enumOf({}, {class}::fromValue, {class}::getValue)", literals(name));
        let made = self.made(&names::screaming(&name.name, "enum"), class, value, true);
        JavaType { plain: true, ..made }
    }

    fn composite(&mut self, name: &TypeName, fields: Vec<(String, JavaType)>) -> JavaType {
        let class = self.classes.give(&names::pascal(&name.name, "type")).name;
        let mut scope = super::component_scope();
        let binary = fields.iter().all(|(_, ty)| ty.binary);
        let codecs = fields.iter().map(|(_, ty)| ty.codec.clone()).collect::<Vec<_>>().join(", ");
        let mut next = Vec::new();
        let mut puts = Vec::new();
        let mut declared = Vec::new();
        for (field, ty) in fields {
            let field = scope.give(&names::camel(&field, "field")).name;
            next.push(format!("fields.next({})", ty.codec));
            puts.push(format!("sink.put({}, value.{field}());", ty.codec));
            declared.push(Field { name: field, declared: ty.declared(true), required: false });
        }
        let documentation = format!("A value of {}.", shown(name));
        self.composites.push(Record { name: class.clone(), documentation, fields: declared });
        let value = format!(
            "HowdahCodec.compositeOf({}, List.of({codecs}), fields -> new {class}({}), (value, sink) -> {{ {} }})",
            literals(name),
            next.join(", "),
            puts.join(" ")
        );
        self.made(&names::screaming(&name.name, "type"), class, value, binary)
    }

    fn range(&mut self, name: &TypeName, bound: &JavaType) -> JavaType {
        let value = format!("HowdahCodec.rangeOf({}, {})", literals(name), bound.codec);
        let class = format!("HowdahJdbc.Range<{}>", bound.name);
        self.made(&names::screaming(&name.name, "range"), class, value, bound.binary)
    }

    fn multirange(&mut self, name: &TypeName, range: &JavaType) -> JavaType {
        let value = format!("HowdahCodec.multirangeOf({}, {})", literals(name), range.codec);
        self.made(
            &names::screaming(&name.name, "multirange"),
            format!("List<{}>", range.name),
            value,
            range.binary,
        )
    }
}

/// What has no mapping is its literal.
fn literal_of_it() -> JavaType {
    JavaType {
        name: "String".into(),
        primitive: None,
        codec: "HowdahCodec.LITERAL".into(),
        plain: false,
        binary: false,
    }
}

fn stem(codec: &str) -> &str {
    codec.trim_start_matches("HowdahCodec.").trim_end_matches('_').trim_end_matches("_CODEC")
}

fn literals(name: &TypeName) -> String {
    format!("{}, {}", literal::string(&name.schema), literal::string(&name.name))
}

fn shown(name: &TypeName) -> String {
    literal::documentation(&format!("{}.{}", name.schema, name.name))
}
