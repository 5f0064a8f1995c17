//! Nullability of expressions: what is not known by name can be null.

use super::functions::{never_null, not_null_on_not_null};
use super::null_rejecting::{Conditions, RangeColumn, is_of_the_row};
use super::nullability::Nullability;
use super::outer_joins::QueryScope;
use super::query::{NullAnalysis, shown, uncast};
use super::{Node, Value};

/// What is known where an expression stands.
#[derive(Clone, Default)]
struct Context {
    /// Columns of this query that are not null here, by the conditions of a CASE.
    values: Vec<RangeColumn>,
    /// Inside an aggregate, whose arguments are of rows and not of groups.
    aggregated: bool,
    /// The columns of the subquery that is compared with are not null.
    compared: bool,
}

/// RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW, which nobody wrote: every frame has its own row.
const USUAL_FRAME: i64 = 1058;

/// Aggregates that are not null for rows, whatever they hold.
const OF_ROWS: [&str; 5] = [
    "array_agg(anynonarray)",
    "array_agg(anyarray)",
    "json_agg(anyelement)",
    "jsonb_agg(anyelement)",
    "count(",
];

/// Aggregates that are not null for rows without nulls.
const OF_VALUES: [&str; 9] =
    ["sum(", "avg(", "min(", "max(", "bool_and(", "bool_or(", "every(", "bit_and(", "bit_or("];

impl<'t> NullAnalysis<'t> {
    /// Whether an expression of `scope` can be null.
    pub(super) fn expression(&self, node: &'t Node, scope: &QueryScope<'_, 't>) -> Nullability {
        self.nullability(node, scope, &Context::default())
    }

    fn nullability(&self, node: &'t Node, scope: &QueryScope<'_, 't>, known: &Context) -> Nullability {
        self.step(|| self.nullability_here(node, scope, known))
            .unwrap_or_else(|| Nullability::nullable("nested too deeply to be analysed"))
    }

    fn nullability_here(&self, node: &'t Node, scope: &QueryScope<'_, 't>, known: &Context) -> Nullability {
        if let Some(nullability) = self.grouped(node, scope, known) {
            return nullability;
        }
        match node.tag.as_str() {
            "VAR" => {
                let place = node.number("varno").zip(node.number("varattno"));
                let here = node.number("varlevelsup") == Some(0) && is_of_the_row(node);
                match place.filter(|place| here && known.values.contains(place)) {
                    Some(_) => Nullability::not_null("CASE tests it"),
                    None => self.variable(node, scope),
                }
            }
            "CONST" => match node.is("constisnull") {
                true => Nullability::nullable("NULL"),
                false if node.word("constisnull") == "false" => Nullability::not_null("a constant"),
                false => Nullability::nullable("not known"),
            },
            "PARAM" if known.compared && node.number("paramkind") == Some(2) => {
                Nullability::not_null("compared")
            }
            "PARAM" => Nullability::nullable("a parameter"),
            "RELABELTYPE" | "COLLATEEXPR" | "COERCEVIAIO" | "ARRAYCOERCEEXPR" | "CONVERTROWTYPEEXPR" => {
                self.field_nullability(node, "arg", scope, known)
            }
            "COERCETODOMAIN" => match self.catalog.domains.get(&node.oid("resulttype")) {
                Some(true) => Nullability::not_null("a cast to a domain that is NOT NULL"),
                _ => self.field_nullability(node, "arg", scope, known),
            },
            "NULLTEST" | "BOOLEANTEST" | "DISTINCTEXPR" => Nullability::not_null("a test"),
            "GROUPINGFUNC" => Nullability::not_null("GROUPING()"),
            "MERGESUPPORTFUNC" => Nullability::not_null("merge_action()"),
            "ROWEXPR" | "ROW" => Nullability::not_null("ROW()"),
            "ARRAYEXPR" | "ARRAY" => Nullability::not_null("ARRAY[]"),
            // CURRENT_SCHEMA is null where no schema of the path is there.
            "SQLVALUEFUNCTION" | "SQLVALUEFUNCTIONEXPR" => match node.number("op") {
                Some(0..14) => Nullability::not_null("the server's clock or user"),
                _ => Nullability::nullable("CURRENT_SCHEMA"),
            },
            "BOOLEXPR" => self.all(node.nodes("args"), scope, known, "AND, OR, NOT of what is not null"),
            "COALESCEEXPR" | "COALESCE" | "MINMAXEXPR" | "MINMAX" => {
                let first = node
                    .nodes("args")
                    .map(|arg| self.nullability(arg, scope, known))
                    .find(|one| !one.nullable);
                match first {
                    Some(_) => Nullability::not_null("an argument is never null"),
                    None => Nullability::nullable("all arguments can be null"),
                }
            }
            "CASEEXPR" | "CASE" => self.case(node, scope, known),
            "OPEXPR" => self.call(node.oid("opfuncid"), node, scope, known),
            "FUNCEXPR" => self.call(node.oid("funcid"), node, scope, known),
            "SCALARARRAYOPEXPR" => self.any_of(node, scope, known),
            "SUBLINK" => self.sublink(node, scope, known),
            "AGGREF" => self.aggregate(node, scope),
            "WINDOWFUNC" => self.window(node, scope),
            "NULLIFEXPR" => Nullability::nullable("NULLIF"),
            "SUBSCRIPTINGREF" => Nullability::nullable("an element that may not be there"),
            "FIELDSELECT" => Nullability::nullable("a field of a row"),
            other => Nullability::nullable(format!("not known to be never null: {}", other.to_lowercase())),
        }
    }

    /// What groups of several sets make of an expression, where the server (before 18) leaves it as it was.
    fn grouped(&self, node: &Node, scope: &QueryScope<'_, 't>, known: &Context) -> Option<Nullability> {
        let has_groups = || scope.relations.iter().any(|entry| entry.number("rtekind") == Some(9));
        if known.aggregated || !scope.has_grouping_sets() || has_groups() {
            return None;
        }
        let always = scope.grouped_always();
        let mut is_known = node.tag != "VAR" || node.number("varlevelsup") != Some(0);
        for group in scope.query.nodes("groupClause").filter_map(|group| group.number("tleSortGroupRef")) {
            let entries = scope.query.nodes("targetList");
            let mut entries = entries.filter(|entry| entry.number("ressortgroupref") == Some(group));
            if !entries.any(|entry| entry.node("expr").is_some_and(|expression| expression.means(node))) {
                continue;
            }
            match always.contains(&group) {
                true => is_known = true,
                false => return Some(Nullability::nullable("not in every one of the GROUPING SETS")),
            }
        }
        (!is_known).then(|| Nullability::nullable("not in every one of the GROUPING SETS"))
    }

    fn field_nullability(
        &self,
        node: &'t Node,
        field: &str,
        scope: &QueryScope<'_, 't>,
        known: &Context,
    ) -> Nullability {
        match node.node(field) {
            Some(inner) => self.nullability(inner, scope, known),
            None => Nullability::nullable("not known"),
        }
    }

    /// Never null if none of several is ever null.
    fn all(
        &self,
        several: impl Iterator<Item = &'t Node>,
        scope: &QueryScope<'_, 't>,
        known: &Context,
        because: &str,
    ) -> Nullability {
        let mut nullabilities = several.map(|one| self.nullability(one, scope, known));
        nullabilities.find(|one| one.nullable).unwrap_or_else(|| Nullability::not_null(because))
    }

    fn case(&self, node: &'t Node, scope: &QueryScope<'_, 't>, known: &Context) -> Nullability {
        let conditions = Conditions { catalog: self.catalog, relations: &scope.relations };
        let mut known = known.clone();
        for when in node.nodes("args") {
            let (Some(condition), Some(result)) = (when.node("expr"), when.node("result")) else {
                return Nullability::nullable("not known");
            };
            let mut inside = known.clone();
            inside.values.extend(conditions.proved(when.field("expr")));
            let nullability = self.nullability(result, scope, &inside);
            if nullability.nullable {
                return nullability;
            }
            known.values.extend(conditions.proved_by_failing(condition));
        }
        match node.node("defresult") {
            Some(otherwise) => match uncast(otherwise) {
                null if null.is("constisnull") => Nullability::nullable("CASE without ELSE"),
                _ => match self.nullability(otherwise, scope, &known) {
                    nullability if nullability.nullable => nullability,
                    _ => Nullability::not_null("all branches of CASE"),
                },
            },
            None => Nullability::nullable("CASE without ELSE"),
        }
    }

    fn call(
        &self,
        function: u32,
        node: &'t Node,
        scope: &QueryScope<'_, 't>,
        known: &Context,
    ) -> Nullability {
        let signature = self.catalog.signature(function);
        let name = signature.split('(').next().unwrap_or("");
        if node.is("funcretset") || node.is("opretset") {
            return Nullability::nullable("rows in a list may have different numbers");
        }
        if never_null(signature) && !node.is("funcvariadic") {
            return Nullability::not_null(format!("{name}() is never null"));
        }
        if signature.is_empty() {
            return Nullability::nullable("a function that is not built in");
        }
        if !not_null_on_not_null(signature) {
            return Nullability::nullable(format!("{name}() can be null"));
        }
        self.all(node.nodes("args"), scope, known, &format!("{name}() of what is not null"))
    }

    fn any_of(&self, node: &'t Node, scope: &QueryScope<'_, 't>, known: &Context) -> Nullability {
        if !not_null_on_not_null(self.catalog.signature(node.oid("opfuncid"))) {
            return Nullability::nullable("an operator that can be null");
        }
        let mut args = node.nodes("args");
        let (Some(scalar), Some(array)) = (args.next(), args.next()) else {
            return Nullability::nullable("not known");
        };
        match array.tag.as_str() {
            "ARRAYEXPR" | "ARRAY" if !array.is("multidims") => {
                let compared = std::iter::once(scalar).chain(array.nodes("elements"));
                self.all(compared, scope, known, "a comparison of what is not null")
            }
            _ => Nullability::nullable("an element of the array may be null"),
        }
    }

    fn sublink(&self, node: &'t Node, scope: &QueryScope<'_, 't>, known: &Context) -> Nullability {
        let Some(query) = node.node("subselect") else { return Nullability::nullable("not known") };
        match node.number("subLinkType") {
            Some(0) => Nullability::not_null("EXISTS"),
            Some(6) => Nullability::not_null("ARRAY(SELECT …)"),
            Some(1 | 2) => {
                let columns = self.query(query, Some(scope));
                if columns.is_empty() || columns.iter().any(|column| column.nullable) {
                    return Nullability::nullable("the subquery may have nulls");
                }
                let known = Context { compared: true, ..known.clone() };
                self.field_nullability(node, "testexpr", scope, &known)
            }
            Some(4) if has_one_row(query) => match self.query(query, Some(scope)).into_iter().next() {
                Some(column) => column,
                None => Nullability::nullable("not analysed"),
            },
            Some(4) => Nullability::nullable("the subquery may have no row"),
            _ => Nullability::nullable("a subquery"),
        }
    }

    fn aggregate(&self, node: &'t Node, scope: &QueryScope<'_, 't>) -> Nullability {
        let signature = self.catalog.signature(node.oid("aggfnoid"));
        let name = signature.split('(').next().unwrap_or("");
        if name == "count" {
            return Nullability::not_null("count()");
        }
        if node.number("agglevelsup") != Some(0) || !scope.groups_have_rows() {
            return Nullability::nullable(format!("{name}() of no rows"));
        }
        if node.node("aggfilter").is_some() {
            return Nullability::nullable(format!("{name}() where FILTER leaves no rows"));
        }
        if OF_ROWS.iter().any(|known| signature.starts_with(known)) {
            return Nullability::not_null(format!("{name}() of rows"));
        }
        let known = Context { aggregated: true, ..Context::default() };
        let args = node.nodes("args").filter_map(|entry| entry.node("expr"));
        if OF_VALUES.iter().any(|known| signature.starts_with(known)) {
            return self.all(args, scope, &known, &format!("{name}() of values that are not null"));
        }
        if signature.starts_with("string_agg(") {
            return self.all(args.take(1), scope, &known, "string_agg() of values that are not null");
        }
        Nullability::nullable(format!("{name}() can be null"))
    }

    fn window(&self, node: &'t Node, scope: &QueryScope<'_, 't>) -> Nullability {
        let signature = self.catalog.signature(node.oid("winfnoid"));
        let name = signature.split('(').next().unwrap_or("");
        if matches!(name, "row_number" | "rank" | "dense_rank" | "percent_rank" | "cume_dist" | "count") {
            return Nullability::not_null(format!("{name}()"));
        }
        let mut windows = scope.query.nodes("windowClause");
        let window = windows.find(|window| window.number("winref") == node.number("winref"));
        let has_own_row = window.is_some_and(|window| window.number("frameOptions") == Some(USUAL_FRAME));
        let is_filtered = node.node("aggfilter").is_some();
        if node.is("winagg")
            && has_own_row
            && !is_filtered
            && OF_VALUES.iter().any(|known| signature.starts_with(known))
        {
            let because = format!("{name}() of values that are not null");
            return self.all(node.nodes("args"), scope, &Context::default(), &because);
        }
        Nullability::nullable(format!("{name}() of a window"))
    }
}

/// Whether a query has exactly one row, whatever the tables hold.
fn has_one_row(query: &Node) -> bool {
    let is_empty = |field: &str| *query.field(field) == Value::Nothing;
    let is_plain = query.number("commandType") == Some(1)
        && ["setOperations", "havingQual", "limitOffset", "limitCount", "groupingSets", "groupClause"]
            .into_iter()
            .all(is_empty)
        && !query.is("hasTargetSRFs");
    let reads_nothing = query.node("jointree").is_some_and(|tree| {
        *tree.field("fromlist") == Value::Nothing && *tree.field("quals") == Value::Nothing
    });
    is_plain && shown(query, "targetList").next().is_some() && (query.is("hasAggs") || reads_nothing)
}

/// The type of an expression, where its node says it.
pub(super) fn type_of(node: &Node) -> Option<u32> {
    let field = match node.tag.as_str() {
        "VAR" => "vartype",
        "CONST" => "consttype",
        "PARAM" => "paramtype",
        "FUNCEXPR" => "funcresulttype",
        "OPEXPR" => "opresulttype",
        "AGGREF" => "aggtype",
        "WINDOWFUNC" => "wintype",
        "COALESCEEXPR" | "COALESCE" => "coalescetype",
        "CASEEXPR" | "CASE" => "casetype",
        "MINMAXEXPR" | "MINMAX" => "minmaxtype",
        "ARRAYEXPR" | "ARRAY" => "array_typeid",
        "ROWEXPR" | "ROW" => "row_typeid",
        "RELABELTYPE" | "COERCEVIAIO" | "ARRAYCOERCEEXPR" | "COERCETODOMAIN" | "CONVERTROWTYPEEXPR" => {
            "resulttype"
        }
        "COLLATEEXPR" => return node.node("arg").and_then(type_of),
        "NULLTEST" | "BOOLEANTEST" | "DISTINCTEXPR" | "BOOLEXPR" | "SCALARARRAYOPEXPR" => return Some(16),
        "SUBLINK" if matches!(node.number("subLinkType"), Some(0..=2)) => return Some(16),
        "SUBLINK" if node.number("subLinkType") == Some(4) => {
            return node
                .node("subselect")
                .and_then(|query| shown(query, "targetList").next())
                .and_then(type_of);
        }
        "GROUPINGFUNC" => return Some(23),
        _ => return None,
    };
    Some(node.oid(field)).filter(|oid| *oid != 0)
}
