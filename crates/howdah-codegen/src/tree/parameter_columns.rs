//! The table's column that a parameter is written to or compared with.

use std::collections::{BTreeSet, HashMap};

use super::catalog::Catalog;
use super::parameters::sources;
use super::{Node, Value};

/// A relation's OID and the column's number.
pub(crate) type ColumnId = (u32, i64);

/// The OIDs of varchar and text, which is what the former is compared as.
const TEXTS: (u32, u32) = (1043, 25);

/// The columns of `count` parameters that have exactly one column, of their own type.
pub(crate) fn parameter_columns(query: &Node, count: usize, catalog: &Catalog) -> Vec<Option<ColumnId>> {
    let mut found = HashMap::<i64, BTreeSet<ColumnId>>::new();
    let mut scopes = Vec::new();
    let mut rest = vec![(query, None)];
    let mut values: Vec<&Value> = Vec::new();
    while let Some((node, scope)) = rest.pop() {
        let mut inner = scope;
        if node.tag == "QUERY" {
            inner = Some(scopes.len());
            scopes.push(QueryLevel { relations: node.nodes("rtable").collect(), outer: scope });
            assigned(node, &mut found);
        }
        let compares = node.tag == "OPEXPR" && is_comparison(catalog.signature(node.oid("opfuncid")));
        if let (true, Some(scope)) = (compares, inner) {
            compared(node, scope, &scopes, &mut found);
        }
        values.extend(node.values());
        while let Some(value) = values.pop() {
            match value {
                Value::Node(node) => rest.push((node, inner)),
                other => values.extend(other.items()),
            }
        }
    }
    let only = |parameter_columns: &BTreeSet<ColumnId>| {
        parameter_columns.first().copied().filter(|_| parameter_columns.len() == 1)
    };
    (1i64..).take(count).map(|number| found.get(&number).and_then(only)).collect()
}

struct QueryLevel<'n> {
    relations: Vec<&'n Node>,
    outer: Option<usize>,
}

/// Whether a function of PostgreSQL's is `=`, `<>`, `<`, `<=`, `>` or `>=`.
fn is_comparison(signature: &str) -> bool {
    let name = signature.split('(').next().unwrap_or_default();
    ["eq", "ne", "lt", "le", "gt", "ge"].iter().any(|end| name.ends_with(end)) && !name.contains("regex")
}

fn compared(
    node: &Node,
    scope: usize,
    scopes: &[QueryLevel<'_>],
    found: &mut HashMap<i64, BTreeSet<ColumnId>>,
) {
    let args = node.nodes("args").collect::<Vec<_>>();
    let [left, right] = args.as_slice() else { return };
    for (one, other) in [(left, right), (right, left)] {
        let Some((number, ty)) = parameter(other) else { continue };
        if let Some(place) = column(one, ty, scope, scopes) {
            found.entry(number).or_default().insert(place);
        }
    }
}

/// The place of a column that has the type of a parameter.
fn column(node: &Node, ty: u32, scope: usize, scopes: &[QueryLevel<'_>]) -> Option<ColumnId> {
    let variable = if node.tag == "RELABELTYPE" { node.node("arg")? } else { node };
    let own = variable.oid("vartype");
    if variable.tag != "VAR" || !(own == ty || (own, ty) == TEXTS) {
        return None;
    }
    let mut scope = scopes.get(scope)?;
    for _ in 0..variable.number("varlevelsup")? {
        scope = scopes.get(scope.outer?)?;
    }
    let relation = scope.relations.get(usize::try_from(variable.number("varno")? - 1).ok()?)?;
    let number = variable.number("varattno").filter(|number| *number > 0)?;
    (relation.number("rtekind") == Some(0)).then(|| (relation.oid("relid"), number))
}

/// Notes the columns that INSERT, UPDATE, MERGE and ON CONFLICT write.
fn assigned(query: &Node, found: &mut HashMap<i64, BTreeSet<ColumnId>>) {
    let relations: Vec<&Node> = query.nodes("rtable").collect();
    let target = query.number("resultRelation").and_then(|place| usize::try_from(place - 1).ok());
    let Some(target) = target.and_then(|index| relations.get(index)) else { return };
    if !matches!(query.number("commandType"), Some(2 | 3 | 5)) {
        return;
    }
    let conflict = query.node("onConflict").into_iter();
    let lists = query
        .nodes("targetList")
        .chain(conflict.flat_map(|conflict| conflict.nodes("onConflictSet")))
        .chain(query.nodes("mergeActionList").flat_map(|action| action.nodes("targetList")));
    for entry in lists.filter(|entry| !entry.is("resjunk")) {
        let (Some(column), Some(written)) = (entry.number("resno"), entry.node("expr")) else { continue };
        for value in sources(written, &relations) {
            if let Some((number, _)) = parameter(value) {
                found.entry(number).or_default().insert((target.oid("relid"), column));
            }
        }
    }
}

/// The number of a parameter and its type, which is that of the node.
fn parameter(node: &Node) -> Option<(i64, u32)> {
    let mut bare = node;
    // What keeps a value to a column's length.
    if node.tag == "FUNCEXPR" && matches!(node.number("funcformat"), Some(1 | 2)) {
        bare = node.nodes("args").next()?;
        if node.oid("funcresulttype") != bare.oid("paramtype") {
            return None;
        }
    }
    let number =
        bare.number("paramid").filter(|_| bare.tag == "PARAM" && bare.number("paramkind") == Some(0));
    number.map(|number| (number, bare.oid("paramtype")))
}
