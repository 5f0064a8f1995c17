//! Judges expressions: what is not known by name can be null.

use super::functions::{never_null, not_null_on_not_null};
use super::query::{Judge, shown, uncast};
use super::scope::Scope;
use super::strict::{Conditions, Place, is_of_the_row};
use super::verdict::Verdict;
use super::{Node, Value};

/// What is known where an expression stands.
#[derive(Clone, Default)]
struct Known {
    /// Columns of this query that are not null here, by the conditions of a CASE.
    values: Vec<Place>,
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

impl<'t> Judge<'t> {
    /// Whether an expression of `scope` can be null.
    pub(super) fn expression(&self, node: &'t Node, scope: &Scope<'_, 't>) -> Verdict {
        self.judge(node, scope, &Known::default())
    }

    fn judge(&self, node: &'t Node, scope: &Scope<'_, 't>, known: &Known) -> Verdict {
        self.step(|| self.judge_here(node, scope, known))
            .unwrap_or_else(|| Verdict::nullable("nested too deeply to be judged"))
    }

    fn judge_here(&self, node: &'t Node, scope: &Scope<'_, 't>, known: &Known) -> Verdict {
        if let Some(verdict) = self.grouped(node, scope, known) {
            return verdict;
        }
        match node.tag.as_str() {
            "VAR" => {
                let place = node.number("varno").zip(node.number("varattno"));
                let here = node.number("varlevelsup") == Some(0) && is_of_the_row(node);
                match place.filter(|place| here && known.values.contains(place)) {
                    Some(_) => Verdict::never("CASE tests it"),
                    None => self.variable(node, scope),
                }
            }
            "CONST" => match node.is("constisnull") {
                true => Verdict::nullable("NULL"),
                false if node.word("constisnull") == "false" => Verdict::never("a constant"),
                false => Verdict::nullable("not known"),
            },
            "PARAM" if known.compared && node.number("paramkind") == Some(2) => Verdict::never("compared"),
            "PARAM" => Verdict::nullable("a parameter"),
            "RELABELTYPE" | "COLLATEEXPR" | "COERCEVIAIO" | "ARRAYCOERCEEXPR" | "CONVERTROWTYPEEXPR" => {
                self.judge_field(node, "arg", scope, known)
            }
            "COERCETODOMAIN" => match self.catalog.domains.get(&node.oid("resulttype")) {
                Some(true) => Verdict::never("a cast to a domain that is NOT NULL"),
                _ => self.judge_field(node, "arg", scope, known),
            },
            "NULLTEST" | "BOOLEANTEST" | "DISTINCTEXPR" => Verdict::never("a test"),
            "GROUPINGFUNC" => Verdict::never("GROUPING()"),
            "MERGESUPPORTFUNC" => Verdict::never("merge_action()"),
            "ROWEXPR" | "ROW" => Verdict::never("ROW()"),
            "ARRAYEXPR" | "ARRAY" => Verdict::never("ARRAY[]"),
            // CURRENT_SCHEMA is null where no schema of the path is there.
            "SQLVALUEFUNCTION" | "SQLVALUEFUNCTIONEXPR" => match node.number("op") {
                Some(0..14) => Verdict::never("the server's clock or user"),
                _ => Verdict::nullable("CURRENT_SCHEMA"),
            },
            "BOOLEXPR" => self.all(node.nodes("args"), scope, known, "AND, OR, NOT of what is not null"),
            "COALESCEEXPR" | "COALESCE" | "MINMAXEXPR" | "MINMAX" => {
                let first =
                    node.nodes("args").map(|arg| self.judge(arg, scope, known)).find(|one| !one.nullable);
                match first {
                    Some(_) => Verdict::never("an argument is never null"),
                    None => Verdict::nullable("all arguments can be null"),
                }
            }
            "CASEEXPR" | "CASE" => self.case(node, scope, known),
            "OPEXPR" => self.call(node.oid("opfuncid"), node, scope, known),
            "FUNCEXPR" => self.call(node.oid("funcid"), node, scope, known),
            "SCALARARRAYOPEXPR" => self.any_of(node, scope, known),
            "SUBLINK" => self.sublink(node, scope, known),
            "AGGREF" => self.aggregate(node, scope),
            "WINDOWFUNC" => self.window(node, scope),
            "NULLIFEXPR" => Verdict::nullable("NULLIF"),
            "SUBSCRIPTINGREF" => Verdict::nullable("an element that may not be there"),
            "FIELDSELECT" => Verdict::nullable("a field of a row"),
            other => Verdict::nullable(format!("not known to be never null: {}", other.to_lowercase())),
        }
    }

    /// What groups of several sets make of an expression, where the server (before 18) leaves it as it was.
    fn grouped(&self, node: &Node, scope: &Scope<'_, 't>, known: &Known) -> Option<Verdict> {
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
                false => return Some(Verdict::nullable("not in every one of the GROUPING SETS")),
            }
        }
        (!is_known).then(|| Verdict::nullable("not in every one of the GROUPING SETS"))
    }

    fn judge_field(&self, node: &'t Node, field: &str, scope: &Scope<'_, 't>, known: &Known) -> Verdict {
        match node.node(field) {
            Some(inner) => self.judge(inner, scope, known),
            None => Verdict::nullable("not known"),
        }
    }

    /// Never null if none of several is ever null.
    fn all(
        &self,
        several: impl Iterator<Item = &'t Node>,
        scope: &Scope<'_, 't>,
        known: &Known,
        because: &str,
    ) -> Verdict {
        let mut verdicts = several.map(|one| self.judge(one, scope, known));
        verdicts.find(|one| one.nullable).unwrap_or_else(|| Verdict::never(because))
    }

    fn case(&self, node: &'t Node, scope: &Scope<'_, 't>, known: &Known) -> Verdict {
        let conditions = Conditions { catalog: self.catalog, relations: &scope.relations };
        let mut known = known.clone();
        for when in node.nodes("args") {
            let (Some(condition), Some(result)) = (when.node("expr"), when.node("result")) else {
                return Verdict::nullable("not known");
            };
            let mut inside = known.clone();
            inside.values.extend(conditions.proved(when.field("expr")));
            let verdict = self.judge(result, scope, &inside);
            if verdict.nullable {
                return verdict;
            }
            known.values.extend(conditions.proved_by_failing(condition));
        }
        match node.node("defresult") {
            Some(otherwise) => match uncast(otherwise) {
                null if null.is("constisnull") => Verdict::nullable("CASE without ELSE"),
                _ => match self.judge(otherwise, scope, &known) {
                    verdict if verdict.nullable => verdict,
                    _ => Verdict::never("all branches of CASE"),
                },
            },
            None => Verdict::nullable("CASE without ELSE"),
        }
    }

    fn call(&self, function: u32, node: &'t Node, scope: &Scope<'_, 't>, known: &Known) -> Verdict {
        let signature = self.catalog.signature(function);
        let name = signature.split('(').next().unwrap_or("");
        if node.is("funcretset") || node.is("opretset") {
            return Verdict::nullable("rows in a list may have different numbers");
        }
        if never_null(signature) && !node.is("funcvariadic") {
            return Verdict::never(format!("{name}() is never null"));
        }
        if signature.is_empty() {
            return Verdict::nullable("a function that is not built in");
        }
        if !not_null_on_not_null(signature) {
            return Verdict::nullable(format!("{name}() can be null"));
        }
        self.all(node.nodes("args"), scope, known, &format!("{name}() of what is not null"))
    }

    fn any_of(&self, node: &'t Node, scope: &Scope<'_, 't>, known: &Known) -> Verdict {
        if !not_null_on_not_null(self.catalog.signature(node.oid("opfuncid"))) {
            return Verdict::nullable("an operator that can be null");
        }
        let mut args = node.nodes("args");
        let (Some(scalar), Some(array)) = (args.next(), args.next()) else {
            return Verdict::nullable("not known");
        };
        match array.tag.as_str() {
            "ARRAYEXPR" | "ARRAY" if !array.is("multidims") => {
                let compared = std::iter::once(scalar).chain(array.nodes("elements"));
                self.all(compared, scope, known, "a comparison of what is not null")
            }
            _ => Verdict::nullable("an element of the array may be null"),
        }
    }

    fn sublink(&self, node: &'t Node, scope: &Scope<'_, 't>, known: &Known) -> Verdict {
        let Some(query) = node.node("subselect") else { return Verdict::nullable("not known") };
        match node.number("subLinkType") {
            Some(0) => Verdict::never("EXISTS"),
            Some(6) => Verdict::never("ARRAY(SELECT …)"),
            Some(1 | 2) => {
                let columns = self.query(query, Some(scope));
                if columns.is_empty() || columns.iter().any(|column| column.nullable) {
                    return Verdict::nullable("the subquery may have nulls");
                }
                let known = Known { compared: true, ..known.clone() };
                self.judge_field(node, "testexpr", scope, &known)
            }
            Some(4) if has_one_row(query) => match self.query(query, Some(scope)).into_iter().next() {
                Some(column) => column,
                None => Verdict::nullable("not judged"),
            },
            Some(4) => Verdict::nullable("the subquery may have no row"),
            _ => Verdict::nullable("a subquery"),
        }
    }

    fn aggregate(&self, node: &'t Node, scope: &Scope<'_, 't>) -> Verdict {
        let signature = self.catalog.signature(node.oid("aggfnoid"));
        let name = signature.split('(').next().unwrap_or("");
        if name == "count" {
            return Verdict::never("count()");
        }
        if node.number("agglevelsup") != Some(0) || !scope.groups_have_rows() {
            return Verdict::nullable(format!("{name}() of no rows"));
        }
        if node.node("aggfilter").is_some() {
            return Verdict::nullable(format!("{name}() where FILTER leaves no rows"));
        }
        if OF_ROWS.iter().any(|known| signature.starts_with(known)) {
            return Verdict::never(format!("{name}() of rows"));
        }
        let known = Known { aggregated: true, ..Known::default() };
        let args = node.nodes("args").filter_map(|entry| entry.node("expr"));
        if OF_VALUES.iter().any(|known| signature.starts_with(known)) {
            return self.all(args, scope, &known, &format!("{name}() of values that are not null"));
        }
        if signature.starts_with("string_agg(") {
            return self.all(args.take(1), scope, &known, "string_agg() of values that are not null");
        }
        Verdict::nullable(format!("{name}() can be null"))
    }

    fn window(&self, node: &'t Node, scope: &Scope<'_, 't>) -> Verdict {
        let signature = self.catalog.signature(node.oid("winfnoid"));
        let name = signature.split('(').next().unwrap_or("");
        if matches!(name, "row_number" | "rank" | "dense_rank" | "percent_rank" | "cume_dist" | "count") {
            return Verdict::never(format!("{name}()"));
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
            return self.all(node.nodes("args"), scope, &Known::default(), &because);
        }
        Verdict::nullable(format!("{name}() of a window"))
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
