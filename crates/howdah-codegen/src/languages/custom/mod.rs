//! Types of the user's own that stand for the server's, of a column or wherever a type is: which ones stand where.

pub(crate) mod imports;
mod key;

use std::collections::{BTreeMap, BTreeSet};

use self::key::Key;
use super::{Generator, names};
use crate::diagnostic::{Code, Diagnostic, Place, nearest};
use crate::model::{Custom, Model, Module, Origin, TypeName, TypeRef};

/// An entry of `types:` of a generator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomType {
    /// What it stands for: `numeric`, `app.mood`, `numeric[]`, `users.id`, `app.users.id`.
    pub of: String,
    /// The type, as the language writes it.
    pub name: String,
    /// What the language has to import for it.
    pub imports: Vec<String>,
    /// An expression that makes one of the driver's value, `{}`; without it, the driver's value is one.
    pub decode: Option<String>,
    /// An expression that makes the driver's value of one, `{}`; without it, one is the driver's value.
    pub encode: Option<String>,
    /// Where it stands in the configuration, if there is one.
    pub place: Option<Place>,
}

impl CustomType {
    /// The expression that makes one of a value.
    pub(crate) fn decoded(&self, value: &str) -> Option<String> {
        self.decode.as_ref().map(|expression| expression.replace("{}", value))
    }

    /// The expression that makes the driver's value of one.
    pub(crate) fn encoded(&self, value: &str) -> Option<String> {
        self.encode.as_ref().map(|expression| expression.replace("{}", value))
    }

    /// A name that tells what it is: `UserId`, `list UserId`.
    pub(crate) fn stem(&self) -> String {
        let plain = self.name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', " ");
        plain.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The words of its type.
    pub(crate) fn words(&self) -> BTreeSet<String> {
        identifiers(&self.name)
    }
}

/// Where a type of the user's stands in the type of a column or parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Standing<'t> {
    /// Nowhere: it is the server's.
    Nowhere,
    /// For each element of an array.
    ForElements(&'t CustomType),
    /// For all of it.
    ForAll(&'t CustomType),
}

impl<'t> Standing<'t> {
    /// In `ty`, of the generator's `types`.
    pub(crate) fn of(ty: &TypeRef, types: &'t [CustomType]) -> Standing<'t> {
        match ty.custom.and_then(|custom| Some((custom.whole, types.get(custom.index)?))) {
            None => Standing::Nowhere,
            Some((false, own)) if ty.array => Standing::ForElements(own),
            Some((_, own)) => Standing::ForAll(own),
        }
    }
}

/// The words of all types, of what is imported for them, and of their expressions: no name of the code's own may be one.
pub(crate) fn words(types: &[CustomType]) -> BTreeSet<String> {
    let texts = types.iter().flat_map(|ty| {
        ty.imports.iter().chain([&ty.name]).chain(&ty.decode).chain(&ty.encode).map(String::as_str)
    });
    texts.flat_map(identifiers).collect()
}

fn identifiers(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(|c: char| !c.is_ascii_digit())).map(str::to_owned).collect()
}

/// What is wrong with a type in a language, whatever it stands for.
pub(crate) fn refused(generator: Generator, ty: &CustomType) -> Option<Diagnostic> {
    let wrong = |what: String, help: &str| {
        Some(Diagnostic { code: Code::NotSupported, ..told((what, Some(help.to_owned())), ty.place.clone()) })
    };
    match generator {
        Generator::JavaJdbc if ty.decode.is_none() || ty.encode.is_none() => wrong(
            format!(
                "`{}` of `types` needs `decode` and `encode`: Java has no other names for a class",
                ty.of
            ),
            "write `{type: UserId, decode: \"new UserId({})\", encode: \"{}.value()\"}`",
        ),
        _ => {
            let name = ty.imports.iter().find_map(|import| imports::shadowing(generator, import))?;
            wrong(
                format!(
                    "`{name}`, which `{}` of `types` imports, is what the code calls something else",
                    ty.of
                ),
                "import it by another name, as `… as Other`, and write that in `type`, `decode` and `encode`",
            )
        }
    }
}

/// Says where types of the user's stand in a model: in all its modules, but only what this one has can be named.
///
/// # Errors
///
/// A name is none of a type or a column, or of several.
pub(crate) fn applied(
    model: &Model,
    module: &Module,
    types: &[CustomType],
) -> Result<(Model, Module), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut found = Found::default();
    let known = Known::of(model, module);
    for (index, ty) in types.iter().enumerate() {
        let target = Key::read(&ty.of).and_then(|key| known.target(&key));
        if let Err(error) = target.and_then(|target| found.add(target, index, types)) {
            errors.push(told(error, ty.place.clone()));
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut model = model.clone();
    model.modules.iter_mut().for_each(|module| found.apply(module));
    let mut module = module.clone();
    found.apply(&mut module);
    Ok((model, module))
}

/// What is wrong with a name, and what to do.
type Wrong = (String, Option<String>);

fn told((message, suggestion): Wrong, place: Option<Place>) -> Diagnostic {
    let nowhere = Place { file: String::new(), line: 1, column: 1, length: 1 };
    let error = Diagnostic::error(Code::ConfigValidationError, nowhere, message);
    Diagnostic { suggestion, place, ..error }
}

/// What an entry stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Type(TypeName, bool),
    /// Schema, table and column.
    Column([String; 3]),
}

/// Which entry stands for what.
#[derive(Default)]
struct Found(BTreeMap<Target, usize>);

impl Found {
    fn add(&mut self, target: Target, index: usize, types: &[CustomType]) -> Result<(), Wrong> {
        match self.0.insert(target, index).and_then(|before| types.get(before)) {
            None => Ok(()),
            Some(before) => {
                let of = types.get(index).map_or("", |ty| ty.of.as_str());
                Err((format!("`{of}` is what `{}` is already", before.of), None))
            }
        }
    }

    /// The column first, then its domain, then an array as a whole, then its elements.
    fn at(&self, ty: &TypeRef, column: Option<[&str; 3]>, domain: Option<&TypeName>) -> Option<Custom> {
        let of_type = |array| self.0.get(&Target::Type(ty.name.clone(), array));
        let named = column.and_then(|column| self.0.get(&Target::Column(column.map(str::to_owned))));
        if let Some(domain) = domain {
            // What stands for the type below it does not stand for it.
            let named = named.or_else(|| self.0.get(&Target::Type(domain.clone(), false)));
            return named.map(|index| Custom { index: *index, whole: true });
        }
        let whole = named.or_else(|| of_type(ty.array)).map(|index| Custom { index: *index, whole: true });
        whole.or_else(|| of_type(false).map(|index| Custom { index: *index, whole: false }))
    }

    fn of_origin(&self, ty: &TypeRef, origin: Option<&Origin>) -> Option<Custom> {
        self.at(ty, origin.map(names_of), origin.and_then(|origin| origin.domain.as_ref()))
    }

    fn apply(&self, module: &mut Module) {
        for statement in &mut module.statements {
            for column in &mut statement.columns {
                column.ty.custom = self.of_origin(&column.ty, column.origin.as_ref());
            }
            for parameter in statement.parameters.iter_mut().filter(|parameter| parameter.role.is_value()) {
                parameter.ty.custom = self.of_origin(&parameter.ty, parameter.origin.as_ref());
            }
        }
        for table in &mut module.tables {
            for column in &mut table.columns {
                let names = [table.schema.as_str(), &table.table, &column.name];
                column.ty.custom = self.at(&column.ty, Some(names), column.domain.as_ref());
            }
        }
    }
}

fn names_of(origin: &Origin) -> [&str; 3] {
    [&origin.schema, &origin.table, &origin.column]
}

/// What can be named.
struct Known {
    types: BTreeSet<TypeName>,
    columns: BTreeSet<[String; 3]>,
}

impl Known {
    fn of(model: &Model, module: &Module) -> Self {
        let catalog = |name: &str| TypeName { schema: "pg_catalog".to_owned(), name: name.to_owned() };
        let mut types = key::CATALOG.iter().map(|name| catalog(name)).collect::<BTreeSet<_>>();
        types.extend(model.types.iter().map(|definition| definition.name.clone()));
        let mut columns = BTreeSet::new();
        for statement in &module.statements {
            types.extend(statement.columns.iter().map(|column| column.ty.name.clone()));
            types.extend(statement.parameters.iter().map(|parameter| parameter.ty.name.clone()));
            let shown = statement.columns.iter().filter_map(|column| column.origin.as_ref());
            let given = statement.parameters.iter().filter_map(|parameter| parameter.origin.as_ref());
            for origin in shown.chain(given) {
                types.extend(origin.domain.clone());
                columns.insert(names_of(origin).map(str::to_owned));
            }
        }
        for table in &module.tables {
            types.extend(table.columns.iter().map(|column| column.ty.name.clone()));
            types.extend(table.columns.iter().filter_map(|column| column.domain.clone()));
            let names = table.columns.iter().map(|column| [&table.schema, &table.table, &column.name]);
            columns.extend(names.map(|names| names.map(Clone::clone)));
        }
        Self { types, columns }
    }

    fn target(&self, key: &Key) -> Result<Target, Wrong> {
        let mut targets = self.types.iter().filter(|ty| key.is_type(ty)).collect::<Vec<_>>();
        // As the server's search path has it.
        if let Some(builtin) = targets.iter().position(|ty| ty.schema == "pg_catalog") {
            targets = vec![targets[builtin]];
        }
        let mut targets =
            targets.into_iter().map(|ty| Target::Type(ty.clone(), key.array)).collect::<Vec<_>>();
        let columns = self.columns.iter().filter(|column| key.is_column(column));
        targets.extend(columns.map(|column| Target::Column(column.clone())));
        let shown = key.shown();
        match targets.as_slice() {
            [] => Err((
                format!("there is no type and no column `{shown}` in what is generated here"),
                self.near(key),
            )),
            [target] => Ok(target.clone()),
            several => {
                let names = several.iter().map(|target| format!("`{target}`")).collect::<Vec<_>>();
                Err((
                    format!("`{shown}` is {}", names.join(" and ")),
                    Some("write all of its name".to_owned()),
                ))
            }
        }
    }

    /// What was probably meant, spelt with as many names as the key has.
    fn near(&self, key: &Key) -> Option<String> {
        let mut all = BTreeSet::new();
        let short = |names: &[&str]| {
            let names = names.iter().skip(names.len().saturating_sub(key.names.len()));
            names.map(|name| key::written(name)).collect::<Vec<_>>().join(".")
        };
        all.extend(self.types.iter().map(|ty| short(&[&ty.schema, &ty.name])));
        if key.names.len() > 1 {
            all.extend(self.columns.iter().map(|names| short(&names.each_ref().map(String::as_str))));
        }
        let near = nearest(&key.spelt(), all.iter().map(String::as_str))?;
        Some(format!("perhaps you meant `{near}{}`", if key.array { "[]" } else { "" }))
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (names, array) = match self {
            Self::Type(name, array) => (vec![&name.schema, &name.name], *array),
            Self::Column(names) => (names.iter().collect(), false),
        };
        let names = names.into_iter().map(|name| key::written(name)).collect::<Vec<_>>();
        write!(f, "{}{}", names.join("."), if array { "[]" } else { "" })
    }
}

/// Takes the words of all types from a scope.
pub(crate) fn reserve(types: &[CustomType], scope: &mut names::Scope) {
    scope.avoid(words(types));
}
