//! One query while it is analysed: what outer joins make null, and which columns its conditions prove not null.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::catalog::Catalog;
use super::null_rejecting::{Conditions, RangeColumn};
use super::nullability::Nullability;
use super::{Node, Value};

const UPDATE: i64 = 2;
const MERGE: i64 = 5;

const INNER: i64 = 0;
const LEFT: i64 = 1;
const FULL: i64 = 2;
const RIGHT: i64 = 3;

/// A join that makes a relation's columns null.
#[derive(Clone)]
pub(super) struct OuterJoin {
    /// Its place in the range table.
    pub(super) join: i64,
    pub(super) because: String,
}

pub(super) struct QueryScope<'p, 't> {
    pub(super) query: &'t Node,
    pub(super) parent: Option<&'p QueryScope<'p, 't>>,
    /// The range table.
    pub(super) relations: Vec<&'t Node>,
    /// Joins that may have no row of a relation, by its place.
    pub(super) nulled: HashMap<i64, Vec<OuterJoin>>,
    /// Columns that every row of the result has a value in.
    pub(super) proved: BTreeSet<RangeColumn>,
    /// What was found of the relations, by their places.
    pub(super) found: RefCell<HashMap<i64, Rc<Vec<Nullability>>>>,
    /// What was found of the queries in WITH, or is assumed of a recursive one.
    pub(super) ctes: RefCell<HashMap<String, Rc<Vec<Nullability>>>>,
}

impl<'p, 't> QueryScope<'p, 't> {
    pub(super) fn new(query: &'t Node, parent: Option<&'p QueryScope<'p, 't>>, catalog: &'t Catalog) -> Self {
        let relations: Vec<&Node> = query.nodes("rtable").collect();
        let mut scope = QueryScope {
            query,
            parent,
            relations,
            nulled: HashMap::new(),
            proved: BTreeSet::new(),
            found: RefCell::default(),
            ctes: RefCell::default(),
        };
        // The conditions of a MERGE do not hold for all of its rows.
        let is_merge = query.number("commandType") == Some(MERGE);
        if let Some(tree) = query.node("jointree").filter(|_| !is_merge) {
            scope.descend(tree, catalog, &BTreeSet::new(), &[]);
        }
        // What an UPDATE returns is what it wrote, not what it found.
        if query.number("commandType") == Some(UPDATE) {
            let target = query.number("resultRelation");
            scope.proved.retain(|(relation, _)| Some(*relation) != target);
        }
        scope
    }

    /// A relation of the range table.
    pub(super) fn relation(&self, place: i64) -> Option<&'t Node> {
        usize::try_from(place - 1).ok().and_then(|index| self.relations.get(index)).copied()
    }

    /// The query so many levels up.
    pub(super) fn up(&self, levels: i64) -> Option<&QueryScope<'p, 't>> {
        let mut scope: &QueryScope<'p, 't> = self;
        for _ in 0..levels {
            scope = scope.parent?;
        }
        Some(scope)
    }

    /// Finds what each relation below `item` can lack. `asked` is not null in every row that counts, `outer_joins` are the
    /// joins above that may have no row of it.
    fn descend(
        &mut self,
        item: &'t Node,
        catalog: &'t Catalog,
        asked: &BTreeSet<RangeColumn>,
        outer_joins: &[OuterJoin],
    ) {
        match item.tag.as_str() {
            "RANGETBLREF" => {
                if let (Some(place), false) = (item.number("rtindex"), outer_joins.is_empty()) {
                    self.nulled.insert(place, outer_joins.to_vec());
                }
            }
            "FROMEXPR" => {
                let own = self.proved_by(item.field("quals"), catalog);
                if outer_joins.is_empty() {
                    self.proved.extend(&own);
                }
                let asked: BTreeSet<RangeColumn> = asked.union(&own).copied().collect();
                for below in item.nodes("fromlist") {
                    self.descend(below, catalog, &asked, outer_joins);
                }
            }
            "JOINEXPR" => self.descend_join(item, catalog, asked, outer_joins),
            // Whatever it is, nothing is known of what it does.
            _ => {}
        }
    }

    fn descend_join(
        &mut self,
        join: &'t Node,
        catalog: &'t Catalog,
        asked: &BTreeSet<RangeColumn>,
        outer_joins: &[OuterJoin],
    ) {
        let (Some(left), Some(right)) = (join.node("larg"), join.node("rarg")) else { return };
        let own = self.proved_by(join.field("quals"), catalog);
        let has = |side: &Node| {
            let below = relations_below(side);
            asked.iter().any(|(relation, _)| below.contains(relation))
        };
        // A row without one side does not count where a column of that side is asked for.
        let kind = match join.number("jointype") {
            Some(LEFT) if has(right) => INNER,
            Some(RIGHT) if has(left) => INNER,
            Some(FULL) => match (has(left), has(right)) {
                (true, true) => INNER,
                (true, false) => LEFT,
                (false, true) => RIGHT,
                (false, false) => FULL,
            },
            // An unknown kind is taken for the one that promises least.
            kind => kind.filter(|kind| [INNER, LEFT, RIGHT].contains(kind)).unwrap_or(FULL),
        };
        let nulling = |side: &Node, why: &str| {
            let mut all = outer_joins.to_vec();
            let because = format!("{why} {}", self.names(side));
            all.push(OuterJoin { join: join.number("rtindex").unwrap_or(0), because });
            all
        };
        match kind {
            INNER => {
                if outer_joins.is_empty() {
                    self.proved.extend(&own);
                }
                let asked: BTreeSet<RangeColumn> = asked.union(&own).copied().collect();
                self.descend(left, catalog, &asked, outer_joins);
                self.descend(right, catalog, &asked, outer_joins);
            }
            LEFT => {
                let nulled = nulling(right, "right side of LEFT JOIN");
                self.descend(left, catalog, asked, outer_joins);
                self.descend(right, catalog, &own, &nulled);
            }
            RIGHT => {
                let nulled = nulling(left, "left side of RIGHT JOIN");
                self.descend(left, catalog, &own, &nulled);
                self.descend(right, catalog, asked, outer_joins);
            }
            _ => {
                let nulled = nulling(left, "side of FULL JOIN");
                let other = nulling(right, "side of FULL JOIN");
                self.descend(left, catalog, &BTreeSet::new(), &nulled);
                self.descend(right, catalog, &BTreeSet::new(), &other);
            }
        }
    }

    /// What a condition of this query proves.
    pub(super) fn proved_by(&self, condition: &Value, catalog: &Catalog) -> BTreeSet<RangeColumn> {
        Conditions { catalog, relations: &self.relations }.proved(condition)
    }

    /// The names of the relations on one side of a join.
    fn names(&self, side: &Node) -> String {
        let places = relations_below(side);
        let names = places.iter().filter_map(|place| self.relation(*place)).map(name);
        names.collect::<Vec<_>>().join(", ")
    }

    /// The numbers of what is grouped by in every grouping set.
    pub(super) fn grouped_always(&self) -> BTreeSet<i64> {
        self.query.nodes("groupingSets").flat_map(always).collect()
    }

    /// Whether it has GROUPING SETS, ROLLUP or CUBE.
    pub(super) fn has_grouping_sets(&self) -> bool {
        !self.query.field("groupingSets").items().is_empty()
    }

    /// Whether every row stands for at least one row below: it groups by something in all of its sets.
    pub(super) fn groups_have_rows(&self) -> bool {
        match self.has_grouping_sets() {
            true => !self.grouped_always().is_empty(),
            false => !self.query.field("groupClause").items().is_empty(),
        }
    }
}

/// What a relation is called in its query.
pub(super) fn name(entry: &Node) -> &str {
    entry.node("eref").map_or("", |eref| eref.word("aliasname"))
}

/// The numbers that every set of this part of GROUP BY has.
fn always(set: &Node) -> BTreeSet<i64> {
    match set.number("kind") {
        Some(1) => set.field("content").numbers().collect(),
        Some(4) => {
            let sets = set.nodes("content").map(always);
            sets.reduce(|one, other| one.intersection(&other).copied().collect()).unwrap_or_default()
        }
        _ => BTreeSet::new(),
    }
}

fn relations_below(item: &Node) -> BTreeSet<i64> {
    let mut rest = vec![item];
    let mut places = BTreeSet::new();
    while let Some(item) = rest.pop() {
        places.extend(item.number("rtindex").filter(|_| item.tag == "RANGETBLREF"));
        rest.extend(item.node("larg").into_iter().chain(item.node("rarg")));
        rest.extend(item.nodes("fromlist"));
    }
    places
}
