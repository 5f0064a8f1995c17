//! Statements whose text depends on what callers give: which parts there are, what decides, and what each of them binds.
//!
//! A language joins the parts in order. It counts numbered places while it joins, or gives a part's values where it is there.

use std::collections::BTreeMap;

use super::names::Scope;
use crate::model::{Fragment, Parameter, Role, Statement};

/// Pieces that are there together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part<'s> {
    /// The parameter that decides, by its index; none of what is always there.
    pub(crate) when: Option<usize>,
    /// What is joined.
    pub(crate) steps: Vec<Step<'s>>,
}

/// What is joined at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step<'s> {
    /// Texts and parameters: a constant of the language.
    Sql(Vec<&'s Fragment>),
    /// The text that is chosen for a parameter, by its index.
    Choice(usize),
}

impl Part<'_> {
    /// The values that it has places for, by their index, in the order of the places.
    pub(crate) fn binds(&self) -> impl Iterator<Item = usize> {
        let sql = self.steps.iter().filter_map(|step| match step {
            Step::Sql(fragments) => Some(fragments),
            Step::Choice(_) => None,
        });
        sql.flatten().filter_map(|fragment| match fragment {
            Fragment::Parameter(index) => Some(*index),
            _ => None,
        })
    }

    fn add<'s>(part: &mut Part<'s>, fragment: &'s Fragment) {
        match (fragment, part.steps.last_mut()) {
            (Fragment::Choice(index), _) => part.steps.push(Step::Choice(*index)),
            // None is in another one.
            (Fragment::Optional { .. }, _) => {}
            (plain, Some(Step::Sql(sql))) => sql.push(plain),
            (plain, _) => part.steps.push(Step::Sql(vec![plain])),
        }
    }
}

/// Whether all callers run the same text.
pub(crate) fn is_fixed(statement: &Statement) -> bool {
    !statement.sql.iter().any(|fragment| matches!(fragment, Fragment::Optional { .. } | Fragment::Choice(_)))
}

/// The parts of a statement, in order. The only one of a fixed statement is always there.
pub(crate) fn parts(statement: &Statement) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    for fragment in &statement.sql {
        let (when, pieces) = match fragment {
            Fragment::Optional { parameter, sql } => (Some(*parameter), sql.as_slice()),
            plain => (None, std::slice::from_ref(plain)),
        };
        if parts.last().is_none_or(|part| part.when != when) {
            parts.push(Part { when, steps: Vec::new() });
        }
        if let Some(part) = parts.last_mut() {
            pieces.iter().for_each(|piece| Part::add(part, piece));
        }
    }
    parts
}

/// Whether the text depends on a parameter, by its index.
pub(crate) fn decides(statement: &Statement, index: usize) -> bool {
    let sent = statement.parameters.get(index).is_some_and(|parameter| parameter.role.is_value());
    !sent || parts(statement).iter().any(|part| part.when == Some(index))
}

/// All SQL that can be in a statement, choices too, in order.
pub(crate) fn texts(statement: &Statement) -> Vec<&str> {
    let mut texts = Vec::new();
    for part in parts(statement) {
        for step in part.steps {
            match step {
                Step::Sql(sql) => texts.extend(sql.into_iter().filter_map(|fragment| match fragment {
                    Fragment::Text(text) => Some(text.as_str()),
                    _ => None,
                })),
                Step::Choice(index) => {
                    let options = statement.parameters.get(index).map_or(&[][..], options);
                    texts.extend(options.iter().map(String::as_str));
                }
            }
        }
    }
    texts
}

/// The texts of which a parameter is one.
pub(crate) fn options(parameter: &Parameter) -> &[String] {
    match &parameter.role {
        Role::Choice { options } => options,
        Role::Value | Role::Switch => &[],
    }
}

/// A name for each text, in a language's case. A name follows from its text and not from its place in the list, so that
/// a list in another order does not change what callers mean.
pub(crate) fn option_names(options: &[String], case: fn(&str, &str) -> String) -> Vec<String> {
    let short = |text: &String| {
        let letters = text.chars().map(|c| if c.is_ascii_punctuation() && c != '_' { ' ' } else { c });
        case(letters.collect::<String>().trim(), "choice")
    };
    let mut count = BTreeMap::new();
    for text in options {
        *count.entry(short(text)).or_insert(0_usize) += 1;
    }
    let says = |text: &String| text.chars().any(|c| c.is_alphanumeric());
    let mut scope = Scope::new(&[]);
    let wanted = options.iter().map(|text| match count.get(&short(text)) {
        Some(1) if says(text) => short(text),
        _ => case(text, "choice"),
    });
    wanted.map(|name| scope.give(&name).name).collect()
}

#[cfg(test)]
mod tests {
    use super::{Step, option_names, parts};
    use crate::languages::names::screaming;
    use crate::model::{Fragment, Kind, Statement};

    fn names(options: &[&str]) -> Vec<String> {
        option_names(&options.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), screaming)
    }

    #[test]
    fn names_of_choices_follow_from_their_texts() {
        assert_eq!(names(&["created_at DESC", "lower(\"Name\"), id"]), ["CREATED_AT_DESC", "LOWER_NAME_ID"]);
        let (one, other) = (names(&["a < b", "a > b", "a"]), names(&["a > b", "a", "a < b"]));
        assert_eq!(one, ["A_X3C_B", "A_X3E_B", "A"]);
        assert_eq!(other, ["A_X3E_B", "A", "A_X3C_B"]);
        assert_eq!(names(&["<", "<=", "1", "a", "A"]), ["X3C", "X3CX3D", "CHOICE_1", "A", "A_2"]);
    }

    fn statement(sql: Vec<Fragment>) -> Statement {
        Statement {
            name: "s".into(),
            kind: Kind::Query,
            one: false,
            pluck: false,
            batch: false,
            result: None,
            documentation: Vec::new(),
            file: "a.sql".into(),
            line: 7,
            sql,
            parameters: Vec::new(),
            columns: Vec::new(),
        }
    }

    #[test]
    fn lines_of_one_name_are_one_part_and_bind_what_stands_in_them() {
        let text = |text: &str| Fragment::Text(text.to_owned());
        let line = |parameter, sql| Fragment::Optional { parameter, sql };
        let statement = statement(vec![
            text("a"),
            Fragment::Parameter(0),
            line(1, vec![text("b"), Fragment::Parameter(1), Fragment::Parameter(2)]),
            line(1, vec![text("c"), Fragment::Parameter(1)]),
            line(2, vec![text("d"), Fragment::Choice(3), text("e")]),
            Fragment::Choice(3),
        ]);
        let parts = parts(&statement);
        let seen = parts.iter().map(|part| (part.when, part.binds().collect::<Vec<_>>()));
        let expected = vec![(None, vec![0]), (Some(1), vec![1, 2, 1]), (Some(2), vec![]), (None, vec![])];
        assert_eq!(seen.collect::<Vec<_>>(), expected);
        assert_eq!(parts[2].steps.len(), 3);
        assert_eq!(parts[3].steps, [Step::Choice(3)]);
    }
}
