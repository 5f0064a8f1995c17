//! Nullability of the columns of queries and of the relations that they read.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::catalog::{Catalog, FIRST_OF_USERS};
use super::expression::type_of;
use super::null_rejecting::{aliased, is_alias, is_of_the_row};
use super::nullability::Nullability;
use super::outer_joins::{QueryScope, name};
use super::{Node, Value};

const SELECT: i64 = 1;
const INSERT: i64 = 3;
const DELETE: i64 = 4;
const MERGE: i64 = 5;

/// Deeper statements are not analysed: each level takes some of the stack, of which threads have 2 MiB.
const DEEPEST: usize = 150;

/// So many steps, and the rest is not analysed.
const MOST_STEPS: usize = 1_000_000;

/// The analysis of one statement.
pub(crate) struct NullAnalysis<'t> {
    pub(super) catalog: &'t Catalog,
    views: RefCell<HashMap<u32, Rc<Vec<Nullability>>>>,
    depth: Cell<usize>,
    steps: Cell<usize>,
}

impl<'t> NullAnalysis<'t> {
    pub(crate) fn new(catalog: &'t Catalog) -> Self {
        NullAnalysis { catalog, views: RefCell::default(), depth: Cell::new(0), steps: Cell::new(0) }
    }

    /// The columns of the statement's result.
    pub(crate) fn statement(&self, query: &'t Node) -> Vec<Nullability> {
        self.query(query, None)
    }

    /// Does one more step, one level deeper; None where that is too many.
    pub(super) fn step<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let (depth, steps) = (self.depth.get(), self.steps.get());
        if depth >= DEEPEST || steps >= MOST_STEPS {
            return None;
        }
        self.depth.set(depth + 1);
        self.steps.set(steps + 1);
        let answer = work();
        self.depth.set(depth);
        Some(answer)
    }

    /// The columns of a query; a column that is missing can be null.
    pub(super) fn query(&self, query: &'t Node, parent: Option<&QueryScope<'_, 't>>) -> Vec<Nullability> {
        self.step(|| self.query_columns(query, parent)).unwrap_or_default()
    }

    fn query_columns(&self, query: &'t Node, parent: Option<&QueryScope<'_, 't>>) -> Vec<Nullability> {
        let scope = QueryScope::new(query, parent, self.catalog);
        let list = match query.number("commandType") {
            Some(SELECT) => match query.node("setOperations") {
                Some(operation) => return self.set_operation(operation, &scope),
                None => "targetList",
            },
            _ => "returningList",
        };
        shown(query, list).map(|expression| self.expression(expression, &scope)).collect()
    }

    fn set_operation(&self, operation: &'t Node, scope: &QueryScope<'_, 't>) -> Vec<Nullability> {
        if operation.tag == "RANGETBLREF" {
            return operation
                .number("rtindex")
                .map(|place| self.relation(place, scope).to_vec())
                .unwrap_or_default();
        }
        let arms = operation.node("larg").zip(operation.node("rarg"));
        let Some((left, right)) = arms else { return Vec::new() };
        let types: Vec<i64> = operation.field("colTypes").numbers().collect();
        let analysed = self.step(|| {
            let columns = |arm| {
                let mut columns = self.set_operation(arm, scope);
                for (index, column) in columns.iter_mut().enumerate() {
                    if !converts_safely(arm, index, types.get(index), scope) {
                        *column = Nullability::nullable("a cast of a type that is not built in");
                    }
                }
                columns
            };
            (columns(left), columns(right))
        });
        let Some((left, right)) = analysed else { return Vec::new() };
        let pairs = left.into_iter().zip(right);
        match operation.number("op") {
            Some(1) => pairs.map(|(one, other)| if one.nullable { one } else { other }).collect(),
            Some(2) => pairs.map(|(one, other)| if one.nullable { other } else { one }).collect(),
            Some(3) => pairs.map(|(one, _)| one).collect(),
            _ => Vec::new(),
        }
    }

    /// A column that a variable names.
    pub(super) fn variable(&self, variable: &'t Node, scope: &QueryScope<'_, 't>) -> Nullability {
        let unknown = || Nullability::nullable("a column that is not known");
        let levels = variable.number("varlevelsup").unwrap_or(-1);
        let (Some(place), Some(column)) = (variable.number("varno"), variable.number("varattno")) else {
            return unknown();
        };
        let Some(home) = (levels >= 0).then(|| scope.up(levels)).flatten() else { return unknown() };
        let Some(entry) = home.relation(place) else { return unknown() };
        let has_groups = home.relations.iter().any(|entry| entry.number("rtekind") == Some(9));
        if levels > 0 && home.has_grouping_sets() && !has_groups {
            return Nullability::nullable("a column of a query with GROUPING SETS");
        }
        if !is_alias(entry) {
            return self.column(variable, place, column, home);
        }
        if entry.number("rtekind") == Some(9) {
            let group =
                usize::try_from(column - 1).ok().and_then(|index| home.query.nodes("groupClause").nth(index));
            let number = group.and_then(|group| group.number("tleSortGroupRef"));
            if home.has_grouping_sets()
                && number.is_none_or(|number| !home.grouped_always().contains(&number))
            {
                return Nullability::nullable("not in every one of the GROUPING SETS");
            }
        }
        if self.is_merged(place, column, home, &mut Vec::new()) == Some(true) {
            return Nullability::not_null("one side of FULL JOIN has it");
        }
        match aliased(entry, column) {
            Some(meant) => self.expression(meant, home),
            None => unknown(),
        }
    }

    /// Whether a column that FULL JOIN USING made of two is never null, were it not for the joins of `within`. None for
    /// another column.
    fn is_merged(
        &self,
        place: i64,
        column: i64,
        scope: &QueryScope<'_, 't>,
        within: &mut Vec<i64>,
    ) -> Option<bool> {
        let entry = scope.relation(place)?;
        let merged = entry.number("joinmergedcols").unwrap_or(0);
        if entry.number("rtekind") != Some(2) || entry.number("jointype") != Some(2) || column > merged {
            return None;
        }
        let meant = aliased(entry, column).filter(|meant| meant.tag == "COALESCEEXPR")?;
        within.push(place);
        let whole = meant.nodes("args").all(|side| {
            let side = uncast(side);
            let at = side.number("varno").zip(side.number("varattno"));
            let Some((place, column)) =
                at.filter(|_| side.tag == "VAR" && side.number("varlevelsup") == Some(0))
            else {
                return false;
            };
            let answer = self.step(|| self.is_merged(place, column, scope, within));
            match answer {
                None => false,
                Some(Some(whole)) => whole,
                Some(None) => {
                    let outer_joins = scope.nulled.get(&place).map_or(&[][..], Vec::as_slice);
                    scope.relation(place).is_some_and(|entry| !is_alias(entry))
                        && outer_joins.iter().all(|outer_join| within.contains(&outer_join.join))
                        && !self.of_relation(side, place, column, scope).nullable
                }
            }
        });
        within.pop();
        Some(whole)
    }

    /// A column of a relation that is no join.
    fn column(&self, variable: &'t Node, place: i64, column: i64, scope: &QueryScope<'_, 't>) -> Nullability {
        // What a condition tells of a row tells nothing of the one before or after it, which RETURNING can name.
        if is_of_the_row(variable) && scope.proved.contains(&(place, column)) {
            return Nullability::not_null("a condition is true only if it is not null");
        }
        match scope.nulled.get(&place).and_then(|outer_joins| outer_joins.first()) {
            Some(outer_join) => Nullability::nullable(outer_join.because.clone()),
            None => self.of_relation(variable, place, column, scope),
        }
    }

    /// The same without regard to joins.
    fn of_relation(
        &self,
        variable: &'t Node,
        place: i64,
        column: i64,
        scope: &QueryScope<'_, 't>,
    ) -> Nullability {
        let unknown = || Nullability::nullable("a column that is not known");
        let Some(entry) = scope.relation(place) else { return unknown() };
        let called = entry.node("eref").and_then(|eref| {
            let index = usize::try_from(column - 1).ok()?;
            match eref.field("colnames").items().get(index) {
                Some(Value::Word(column)) => Some(format!("{}.{column}", name(entry))),
                _ => None,
            }
        });
        let called = called.unwrap_or_else(|| name(entry).to_owned());
        if entry.number("rtekind") == Some(0) {
            let Some(known) = self.catalog.relations.get(&entry.oid("relid")) else { return unknown() };
            let command = scope.query.number("commandType").unwrap_or(0);
            if command != SELECT && scope.query.number("resultRelation") == Some(place) {
                if known.ruled || !matches!(known.kind.as_str(), "r" | "p") {
                    return Nullability::nullable(format!(
                        "{} is no plain table, and others write its rows",
                        known.name
                    ));
                }
                if let Some(because) = absent(command, variable, scope.query) {
                    return Nullability::nullable(because);
                }
            } else if command == MERGE && source_may_lack(scope.query) {
                return Nullability::nullable("WHEN NOT MATCHED BY SOURCE");
            }
            return match (known.kind.as_str(), column) {
                ("r" | "p", 1..) if known.not_null.contains(&column) => {
                    Nullability::not_null(format!("{called} is NOT NULL"))
                }
                ("r" | "p" | "v", 1..) if known.kind != "v" => {
                    Nullability::nullable(format!("{called} takes null"))
                }
                ("r" | "p", 0) | ("r", ..0) => Nullability::not_null(format!("a row of {}", known.name)),
                ("v", 1..) => at(&self.relation(place, scope), column),
                ("m", _) => Nullability::nullable(format!("{called} is of a materialized view")),
                ("f", _) => Nullability::nullable(format!("{called} is of a foreign table")),
                _ => unknown(),
            };
        }
        if scope.query.number("commandType") == Some(MERGE) && source_may_lack(scope.query) {
            return Nullability::nullable("WHEN NOT MATCHED BY SOURCE");
        }
        match column {
            1.. => at(&self.relation(place, scope), column),
            0 if entry.number("rtekind") == Some(1) => Nullability::not_null(format!("a row of {called}")),
            _ => unknown(),
        }
    }

    /// The columns of a relation by itself; a column that is missing can be null.
    pub(super) fn relation(&self, place: i64, scope: &QueryScope<'_, 't>) -> Rc<Vec<Nullability>> {
        if let Some(found) = scope.found.borrow().get(&place) {
            return found.clone();
        }
        let columns = self.step(|| self.relation_columns(place, scope)).unwrap_or_default();
        scope.found.borrow_mut().insert(place, columns.clone());
        columns
    }

    fn relation_columns(&self, place: i64, scope: &QueryScope<'_, 't>) -> Rc<Vec<Nullability>> {
        let Some(entry) = scope.relation(place) else { return Rc::default() };
        match entry.number("rtekind") {
            Some(0) => self.view(entry.oid("relid")),
            Some(1) => {
                let query = entry.node("subquery");
                Rc::new(query.map(|query| self.query(query, Some(scope))).unwrap_or_default())
            }
            Some(3) => Rc::new(self.function(entry)),
            Some(5) => Rc::new(self.values(entry, scope)),
            Some(6) => self.cte(entry, scope),
            _ => Rc::default(),
        }
    }

    fn view(&self, relation: u32) -> Rc<Vec<Nullability>> {
        if let Some(found) = self.views.borrow().get(&relation) {
            return found.clone();
        }
        let tree = self.catalog.relations.get(&relation).and_then(|known| known.view.as_ref());
        let query = tree.and_then(|tree| tree.items().first()).and_then(Value::as_node);
        let columns = Rc::new(query.map(|query| self.query(query, None)).unwrap_or_default());
        self.views.borrow_mut().insert(relation, columns.clone());
        columns
    }

    /// The columns of a function's rows. Only series are known to have values in all of them.
    fn function(&self, entry: &'t Node) -> Vec<Nullability> {
        let functions: Vec<&Node> = entry.nodes("functions").collect();
        let counted = Nullability::not_null("WITH ORDINALITY");
        let [only] = functions.as_slice() else { return Vec::new() };
        let called = only.node("funcexpr").map_or(0, |call| call.oid("funcid"));
        let mut columns = match self.catalog.signature(called).starts_with("generate_series(") {
            true => vec![Nullability::not_null("generate_series()")],
            false => {
                let count =
                    only.number("funccolcount").and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
                vec![Nullability::nullable("a function's rows"); count.min(1664)]
            }
        };
        columns.extend(entry.is("funcordinality").then_some(counted));
        columns
    }

    fn values(&self, entry: &'t Node, scope: &QueryScope<'_, 't>) -> Vec<Nullability> {
        let mut columns: Option<Vec<Nullability>> = None;
        for row in entry.field("values_lists").items() {
            let row = row.items().iter().map(|value| match value.as_node() {
                Some(value) => self.expression(value, scope),
                None => Nullability::nullable("a value that is not known"),
            });
            columns = Some(match columns {
                None => row.collect(),
                Some(above) => above
                    .into_iter()
                    .zip(row)
                    .map(|(one, other)| if one.nullable { one } else { other })
                    .collect(),
            });
        }
        columns.unwrap_or_default()
    }

    fn cte(&self, entry: &'t Node, scope: &QueryScope<'_, 't>) -> Rc<Vec<Nullability>> {
        let name = entry.word("ctename");
        let Some(home) = entry.number("ctelevelsup").filter(|up| *up >= 0).and_then(|up| scope.up(up)) else {
            return Rc::default();
        };
        if let Some(found) = home.ctes.borrow().get(name) {
            return found.clone();
        }
        let cte = home.query.nodes("cteList").find(|cte| cte.word("ctename") == name);
        let Some(query) = cte.and_then(|cte| cte.node("ctequery")) else { return Rc::default() };
        if entry.is("self_reference") {
            return Rc::default();
        }
        let recursive = cte.is_some_and(|cte| cte.is("cterecursive"));
        let assume = |columns: &Rc<Vec<Nullability>>| {
            home.ctes.borrow_mut().insert(name.to_owned(), columns.clone());
        };
        if !recursive {
            let columns = Rc::new(self.query(query, Some(home)));
            assume(&columns);
            return columns;
        }
        // The first rows have none from before: all columns are taken for not null, and that is taken back until it holds.
        let width = shown(query, "targetList").count();
        let mut columns = Rc::new(vec![Nullability::not_null("so far"); width]);
        loop {
            assume(&columns);
            let mut next = self.query(query, Some(home));
            next.resize(width, Nullability::nullable("not analysed"));
            // What was once null stays so, so this ends.
            for (next, before) in next.iter_mut().zip(columns.iter()) {
                if before.nullable {
                    *next = before.clone();
                }
            }
            let is_settled =
                next.iter().zip(columns.iter()).all(|(next, before)| next.nullable == before.nullable);
            columns = Rc::new(next);
            if is_settled {
                assume(&columns);
                return columns;
            }
        }
    }
}

/// A column of those of a relation.
fn at(columns: &[Nullability], column: i64) -> Nullability {
    let index = usize::try_from(column - 1).ok();
    let found = index.and_then(|index| columns.get(index)).cloned();
    found.unwrap_or_else(|| Nullability::nullable("a column that is not analysed"))
}

/// The expressions of a list that become columns.
pub(super) fn shown<'t>(query: &'t Node, list: &str) -> impl Iterator<Item = &'t Node> {
    query.nodes(list).filter(|entry| !entry.is("resjunk")).filter_map(|entry| entry.node("expr"))
}

/// Why the target of a statement may have no row of this age: OLD of an INSERT, NEW of a DELETE.
fn absent(command: i64, variable: &Node, query: &Node) -> Option<&'static str> {
    let (old, new) = match variable.number("varreturningtype") {
        Some(1) => (true, false),
        Some(2) => (false, true),
        _ => return None,
    };
    let merges = |command: i64| {
        query.nodes("mergeActionList").any(|action| action.number("commandType") == Some(command))
    };
    match command {
        INSERT if old => Some("OLD is null for a row that is new"),
        DELETE if new => Some("NEW is null for a row that is deleted"),
        MERGE if old && merges(INSERT) => Some("OLD is null for a row that is new"),
        MERGE if new && merges(DELETE) => Some("NEW is null for a row that is deleted"),
        _ => None,
    }
}

/// Whether a MERGE may return rows that its source lacks.
fn source_may_lack(query: &Node) -> bool {
    query.nodes("mergeActionList").any(|action| !matches!(action.number("matchKind"), Some(0 | 2)))
}

/// Whether an arm's column becomes the operation's by a cast of PostgreSQL's own, or by none.
fn converts_safely(arm: &Node, index: usize, wanted: Option<&i64>, scope: &QueryScope<'_, '_>) -> bool {
    let Some(wanted) = wanted.and_then(|wanted| u32::try_from(*wanted).ok()) else { return false };
    let given = match arm.tag.as_str() {
        "RANGETBLREF" => {
            let query = arm.number("rtindex").and_then(|place| scope.relation(place)?.node("subquery"));
            query.and_then(|query| shown(query, "targetList").nth(index)).and_then(type_of)
        }
        _ => {
            let given = arm.field("colTypes").numbers().nth(index);
            given.and_then(|given| u32::try_from(given).ok())
        }
    };
    given.is_some_and(|given| given == wanted || (given < FIRST_OF_USERS && wanted < FIRST_OF_USERS))
}

/// Without casts that change nothing.
pub(super) fn uncast(mut node: &Node) -> &Node {
    while let ("RELABELTYPE" | "COLLATEEXPR", Some(inner)) = (node.tag.as_str(), node.node("arg")) {
        node = inner;
    }
    node
}
