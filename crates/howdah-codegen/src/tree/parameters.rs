//! What becomes of a statement's parameters: assigned to a column that takes null, or tested for null.

use std::collections::HashMap;

use super::catalog::Catalog;
use super::nullability::Nullability;
use super::outer_joins::name;
use super::{Node, Value};

/// What is known of the parameters of one statement, by their numbers from 1.
#[derive(Default)]
struct Uses {
    /// Null would be refused.
    refused: HashMap<i64, String>,
    /// Null makes sense.
    welcome: HashMap<i64, String>,
}

/// Which of `count` parameters may be null: what nothing says of is not.
pub(crate) fn parameter_nullability(query: &Node, count: usize, catalog: &Catalog) -> Vec<Nullability> {
    let mut uses = Uses::default();
    let mut rest = vec![query];
    let mut values = Vec::new();
    while let Some(node) = rest.pop() {
        match node.tag.as_str() {
            "QUERY" => uses.assigned(node, catalog),
            "NULLTEST" => uses.tested(node.node("arg").into_iter(), "tested by IS NULL"),
            "COALESCEEXPR" | "COALESCE" => uses.tested(node.nodes("args"), "an argument of COALESCE"),
            "DISTINCTEXPR" => uses.tested(node.nodes("args"), "compared by IS DISTINCT FROM"),
            _ => {}
        }
        values.extend(node.values());
        while let Some(value) = values.pop() {
            match value {
                Value::Node(node) => rest.push(node),
                other => values.extend(other.items()),
            }
        }
    }
    (1i64..)
        .take(count)
        .map(|number| match (uses.refused.get(&number), uses.welcome.get(&number)) {
            (Some(because), _) => Nullability::not_null(because.clone()),
            (None, Some(because)) => Nullability::nullable(because.clone()),
            (None, None) => Nullability::not_null("nothing tells it to be null"),
        })
        .collect()
}

impl Uses {
    fn tested<'n>(&mut self, args: impl Iterator<Item = &'n Node>, because: &str) {
        for number in args.filter_map(parameter) {
            self.welcome.entry(number).or_insert_with(|| because.to_owned());
        }
    }

    /// Notes the columns that INSERT, UPDATE, MERGE and ON CONFLICT write.
    fn assigned(&mut self, query: &Node, catalog: &Catalog) {
        let relations: Vec<&Node> = query.nodes("rtable").collect();
        let target = query.number("resultRelation").and_then(|place| usize::try_from(place - 1).ok());
        let Some(target) = target.and_then(|index| relations.get(index)) else { return };
        let lists = match query.number("commandType") {
            Some(2 | 3 | 5) => query
                .nodes("targetList")
                .chain(
                    query.node("onConflict").into_iter().flat_map(|conflict| conflict.nodes("onConflictSet")),
                )
                .chain(query.nodes("mergeActionList").flat_map(|action| action.nodes("targetList"))),
            _ => return,
        };
        for entry in lists.filter(|entry| !entry.is("resjunk")) {
            let (Some(column), Some(written)) = (entry.number("resno"), entry.node("expr")) else { continue };
            for value in sources(written, &relations) {
                let domains = [domain(written), domain(value)];
                let refuses =
                    domains.iter().flatten().any(|domain| catalog.domains.get(domain) == Some(&true));
                self.written(value, target, column, catalog, refuses);
            }
        }
    }

    fn written(&mut self, value: &Node, target: &Node, column: i64, catalog: &Catalog, refused: bool) {
        let Some(number) = parameter(value) else { return };
        let called = target.node("eref").and_then(|eref| {
            match eref.field("colnames").items().get(usize::try_from(column - 1).ok()?)? {
                Value::Word(column) => Some(format!("{}.{column}", name(target))),
                _ => None,
            }
        });
        let called = called.unwrap_or_default();
        let known = catalog.relations.get(&target.oid("relid"));
        let refuses = refused || known.is_some_and(|known| known.not_null.contains(&column));
        match refuses {
            true => self
                .refused
                .entry(number)
                .or_insert_with(|| format!("assigned to {called}, which is NOT NULL")),
            false => self
                .welcome
                .entry(number)
                .or_insert_with(|| format!("assigned to {called}, which takes null")),
        };
    }
}

/// What is written for a column: an expression, or those that VALUES or a query has in its place.
pub(super) fn sources<'n>(written: &'n Node, relations: &[&'n Node]) -> Vec<&'n Node> {
    let variable = bare(written);
    if variable.tag != "VAR" || variable.number("varlevelsup") != Some(0) {
        return vec![written];
    }
    let at = |field: &str| variable.number(field).and_then(|number| usize::try_from(number - 1).ok());
    let (Some(relation), Some(column)) = (at("varno"), at("varattno")) else { return Vec::new() };
    let Some(entry) = relations.get(relation) else { return Vec::new() };
    match entry.number("rtekind") {
        Some(1) => {
            let list = entry.node("subquery").into_iter().flat_map(|query| query.nodes("targetList"));
            list.filter(|one| one.number("resno") == variable.number("varattno"))
                .filter_map(|one| one.node("expr"))
                .collect()
        }
        Some(5) => {
            let rows = entry.field("values_lists").items().iter();
            rows.filter_map(|row| row.items().get(column)?.as_node()).collect()
        }
        _ => Vec::new(),
    }
}

/// Without casts.
fn bare(mut node: &Node) -> &Node {
    loop {
        let inner = match node.tag.as_str() {
            "RELABELTYPE" | "COLLATEEXPR" | "COERCEVIAIO" | "ARRAYCOERCEEXPR" | "COERCETODOMAIN" => {
                node.node("arg")
            }
            "FUNCEXPR" if matches!(node.number("funcformat"), Some(1 | 2)) => node.nodes("args").next(),
            _ => None,
        };
        match inner {
            Some(inner) => node = inner,
            None => return node,
        }
    }
}

/// The number of a parameter, cast or not.
fn parameter(node: &Node) -> Option<i64> {
    let node = bare(node);
    node.number("paramid").filter(|_| node.tag == "PARAM" && node.number("paramkind") == Some(0))
}

/// The type that a value is cast to or has, if that may be a domain.
fn domain(node: &Node) -> Option<u32> {
    match node.tag.as_str() {
        "COERCETODOMAIN" => Some(node.oid("resulttype")),
        "PARAM" => Some(node.oid("paramtype")),
        _ => None,
    }
}
