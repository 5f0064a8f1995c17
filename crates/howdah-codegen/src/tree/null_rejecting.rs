//! Which columns a condition proves not null: the rows that pass it have values there.

use std::collections::BTreeSet;

use super::catalog::Catalog;
use super::{Node, Value};

/// A column of a relation of one query: the places in its range table and in the relation, both from 1.
pub(super) type RangeColumn = (i64, i64);

/// Reads conditions of one query.
pub(super) struct Conditions<'t> {
    pub(super) catalog: &'t Catalog,
    /// The query's range table.
    pub(super) relations: &'t [&'t Node],
}

/// What a condition is known to be.
#[derive(Clone, Copy, PartialEq)]
enum Truth {
    True,
    NotNull,
}

fn both(one: BTreeSet<RangeColumn>, other: &BTreeSet<RangeColumn>) -> BTreeSet<RangeColumn> {
    one.intersection(other).copied().collect()
}

impl Conditions<'_> {
    /// The columns that are not null where `condition` is true.
    pub(super) fn proved(&self, condition: &Value) -> BTreeSet<RangeColumn> {
        self.read(condition, Truth::True)
    }

    /// The columns that are not null where `condition` is false or null: it tests them by IS NULL.
    pub(super) fn proved_by_failing(&self, condition: &Node) -> BTreeSet<RangeColumn> {
        match condition.tag.as_str() {
            "NULLTEST" if condition.number("nulltesttype") == Some(0) && !condition.is("argisrow") => {
                self.read(condition.field("arg"), Truth::NotNull)
            }
            "BOOLEXPR" if condition.word("boolop") == "or" => {
                condition.nodes("args").flat_map(|arm| self.proved_by_failing(arm)).collect()
            }
            _ => BTreeSet::new(),
        }
    }

    fn read(&self, condition: &Value, truth: Truth) -> BTreeSet<RangeColumn> {
        if let Value::List(items) = condition {
            return items.iter().flat_map(|item| self.read(item, truth)).collect();
        }
        condition.as_node().map(|node| self.read_node(node, truth)).unwrap_or_default()
    }

    fn read_node(&self, node: &Node, truth: Truth) -> BTreeSet<RangeColumn> {
        let all = |field: &str| -> BTreeSet<RangeColumn> {
            node.nodes(field).flat_map(|arg| self.read_node(arg, Truth::NotNull)).collect()
        };
        match node.tag.as_str() {
            "VAR" => self.variable(node),
            "BOOLEXPR" => match node.word("boolop") {
                "not" => all("args"),
                "and" if truth == Truth::True => {
                    node.nodes("args").flat_map(|arm| self.read_node(arm, truth)).collect()
                }
                // One arm may decide alone.
                _ => {
                    let arms = node.nodes("args").map(|arm| self.read_node(arm, truth));
                    arms.reduce(|one, other| both(one, &other)).unwrap_or_default()
                }
            },
            "OPEXPR" if self.catalog.is_strict(node.oid("opfuncid")) => all("args"),
            "FUNCEXPR" if self.catalog.is_strict(node.oid("funcid")) => all("args"),
            "SCALARARRAYOPEXPR" if self.catalog.is_strict(node.oid("opfuncid")) => {
                let array = node.nodes("args").nth(1);
                let has_elements = array.is_some_and(|array| {
                    array.tag == "ARRAYEXPR" && !array.field("elements").items().is_empty()
                });
                // No element, no comparison: ANY is false then, ALL is true.
                match (node.is("useOr") && truth == Truth::True) || has_elements {
                    true => node
                        .nodes("args")
                        .take(1)
                        .flat_map(|arg| self.read_node(arg, Truth::NotNull))
                        .collect(),
                    false => BTreeSet::new(),
                }
            }
            "NULLTEST" if truth == Truth::True => {
                match node.number("nulltesttype") == Some(1) && !node.is("argisrow") {
                    true => self.read(node.field("arg"), Truth::NotNull),
                    false => BTreeSet::new(),
                }
            }
            // IS TRUE, IS FALSE, IS NOT UNKNOWN.
            "BOOLEANTEST" if truth == Truth::True => match node.number("booltesttype") {
                Some(0 | 2 | 5) => self.read(node.field("arg"), Truth::NotNull),
                _ => BTreeSet::new(),
            },
            // x IN (SELECT …): what stands left was compared.
            "SUBLINK" if truth == Truth::True && node.number("subLinkType") == Some(2) => {
                self.read(node.field("testexpr"), truth)
            }
            "RELABELTYPE" | "COERCEVIAIO" | "ARRAYCOERCEEXPR" => self.read(node.field("arg"), Truth::NotNull),
            "COLLATEEXPR" => self.read(node.field("arg"), truth),
            _ => BTreeSet::new(),
        }
    }

    fn variable(&self, node: &Node) -> BTreeSet<RangeColumn> {
        let (Some(relation), Some(column)) = (node.number("varno"), node.number("varattno")) else {
            return BTreeSet::new();
        };
        if node.number("varlevelsup") != Some(0) || !is_of_the_row(node) {
            return BTreeSet::new();
        }
        let entry = usize::try_from(relation - 1).ok().and_then(|index| self.relations.get(index));
        match entry.and_then(|entry| aliased(entry, column)) {
            // A column of a join is another's.
            Some(meant) => self.read_node(meant, Truth::NotNull),
            None if entry.is_some_and(|entry| is_alias(entry)) => BTreeSet::new(),
            None => BTreeSet::from([(relation, column)]),
        }
    }
}

/// Whether a column is neither OLD's nor NEW's by name (RETURNING, from PostgreSQL 18 on).
pub(super) fn is_of_the_row(variable: &Node) -> bool {
    variable.number("varreturningtype").unwrap_or(0) == 0
}

/// Whether a range table entry only gives names to what others have: a join, or what a query groups by.
pub(super) fn is_alias(entry: &Node) -> bool {
    matches!(entry.number("rtekind"), Some(2 | 9))
}

/// What a column of such an entry means.
pub(super) fn aliased(entry: &Node, column: i64) -> Option<&Node> {
    let field = match entry.number("rtekind") {
        Some(2) => "joinaliasvars",
        Some(9) => "groupexprs",
        _ => return None,
    };
    let index = usize::try_from(column - 1).ok()?;
    entry.field(field).items().get(index).and_then(Value::as_node)
}
