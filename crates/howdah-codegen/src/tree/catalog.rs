//! What the catalog says of the relations, functions and domains that a tree names.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Node, Value};

/// The first OID that is not PostgreSQL's own.
pub(crate) const FIRST_OF_USERS: u32 = 16384;

/// Facts of one server.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) relations: HashMap<u32, Relation>,
    pub(crate) functions: HashMap<u32, Function>,
    /// Whether a type is a domain that is NOT NULL, or one over such a domain.
    pub(crate) domains: HashMap<u32, bool>,
}

/// A table or view.
#[derive(Debug)]
pub(crate) struct Relation {
    pub(crate) name: String,
    /// `pg_class.relkind`.
    pub(crate) kind: String,
    /// Rules may put other rows in place of those that are written.
    pub(crate) ruled: bool,
    /// The numbers of columns that cannot be null, in tables below it neither.
    pub(crate) not_null: HashSet<i64>,
    /// The query that a view stands for.
    pub(crate) view: Option<Value>,
}

/// A function.
#[derive(Debug)]
pub(crate) struct Function {
    /// `lower(text)` for one of PostgreSQL's own, empty for others.
    pub(crate) signature: String,
    /// Null arguments give null.
    pub(crate) strict: bool,
    /// It returns one value, not rows.
    pub(crate) scalar: bool,
}

/// The OIDs that a tree names.
#[derive(Debug, Default)]
pub(crate) struct ReferencedOids {
    pub(crate) relations: BTreeSet<u32>,
    pub(crate) functions: BTreeSet<u32>,
    pub(crate) domains: BTreeSet<u32>,
}

impl ReferencedOids {
    /// Adds what `tree` names, however deep.
    pub(crate) fn add(&mut self, tree: &Value) {
        let mut rest = vec![tree];
        while let Some(value) = rest.pop() {
            rest.extend(value.items());
            if let Some(node) = value.as_node() {
                self.add_node(node);
                rest.extend(node.values());
            }
        }
    }

    fn add_node(&mut self, node: &Node) {
        let (names, field) = match node.tag.as_str() {
            "RANGETBLENTRY" => (&mut self.relations, "relid"),
            "FUNCEXPR" => (&mut self.functions, "funcid"),
            "OPEXPR" | "SCALARARRAYOPEXPR" => (&mut self.functions, "opfuncid"),
            "AGGREF" => (&mut self.functions, "aggfnoid"),
            "WINDOWFUNC" => (&mut self.functions, "winfnoid"),
            "COERCETODOMAIN" => (&mut self.domains, "resulttype"),
            "PARAM" => (&mut self.domains, "paramtype"),
            _ => return,
        };
        let oid = node.oid(field);
        if oid != 0 {
            names.insert(oid);
        }
    }
}

impl Catalog {
    /// PostgreSQL's own function, such as `lower(text)`; empty for any other.
    pub(crate) fn signature(&self, function: u32) -> &str {
        match self.functions.get(&function) {
            Some(known) if function < FIRST_OF_USERS => &known.signature,
            _ => "",
        }
    }

    /// Whether null arguments make its one value null.
    pub(crate) fn is_strict(&self, function: u32) -> bool {
        self.functions.get(&function).is_some_and(|known| known.strict && known.scalar)
    }
}
