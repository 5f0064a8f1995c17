//! How inputs are read: the fields of a record, and how values are written that PostgreSQL would write otherwise.

use std::sync::Arc;

use howdah_source::json::{Keys, PathNames};
use howdah_source::layout::{Layout, Layouts};
use howdah_source::{Dialect, Spelling, Widths};

use crate::catalog::table::Table;
use crate::options::{OnError, OnNul};
use crate::plan::PlanRules;
use crate::plan::mapping::Mapping;

/// What is read of the inputs, and how.
#[derive(Debug, Clone)]
pub(crate) struct ReadingPlan {
    pub(crate) dialect: Arc<Dialect>,
    /// The header's names, when every input starts with one.
    pub(crate) header: Option<Vec<String>>,
    /// Fields every record must have.
    pub(crate) fields: usize,
    /// The last field, if it is no column and must be empty.
    pub(crate) empty_end: Option<usize>,
    /// The field behind those of every record that holds the file's name, where a column gets that.
    pub(crate) file_field: Option<usize>,
    /// In JSON: which key is which field.
    pub(crate) keys: Option<Keys>,
    /// The inputs whose fields are others than these.
    pub(crate) layouts: Layouts,
    /// For inputs whose values have types: the fields that are read, in the inputs' order.
    pub(crate) arrow_fields: Vec<usize>,
    /// What happens to records that are no rows.
    pub(crate) on_error: OnError,
    pub(crate) on_nul: OnNul,
    /// How values are written that PostgreSQL would write otherwise.
    pub(crate) spelling: Spelling,
}

impl ReadingPlan {
    /// Whether every record must have more fields than an empty line has.
    pub(crate) fn has_several_fields(&self) -> bool {
        self.fields > 1 && self.layouts.values().all(|layout| layout.header.len() > 1)
    }

    /// How many fields records have, where stray quotes are kept to their lines: with the default a record that does not fit ends
    /// the load, wherever it ends.
    pub(crate) fn widths(&self) -> Option<Widths> {
        let by_input = || {
            let width = |(input, layout): (&Arc<str>, &Layout)| (input.clone(), layout.header.len());
            self.layouts.iter().map(width).collect()
        };
        (self.on_error == OnError::Ignore).then(|| Widths { usual: Some(self.fields), by_input: by_input() })
    }

    /// Reads what `mapping` says; values of JSON take the shapes of the columns of `table`.
    pub(super) fn new(
        dialect: Arc<Dialect>,
        mapping: &Mapping,
        table: &Table,
        rules: &PlanRules<'_>,
        spelling: Spelling,
    ) -> ReadingPlan {
        let file_field = mapping.pairs.iter().find(|pair| pair.is_file_name).map(|pair| pair.field);
        let shape = |field: usize| {
            let pair = mapping.pairs.iter().find(|pair| pair.field == field && !pair.is_file_name)?;
            let table = rules.promoted_into.unwrap_or(table);
            let column = table.columns.iter().find(|column| column.name == pair.target)?;
            Some(&column.shape)
        };
        let keys = mapping.keys.as_ref().map(|keys| {
            let width = mapping.fields + usize::from(file_field.is_some());
            let paths = PathNames { taken: &keys.paths.taken, unknown_roots: &keys.paths.unknown_roots };
            Keys::new(&keys.names, paths, &keys.skipped, width, keys.passes_over, shape)
        });
        ReadingPlan {
            dialect,
            header: mapping.header.clone(),
            fields: mapping.fields,
            empty_end: mapping.empty_end,
            file_field,
            keys,
            layouts: mapping.layouts.clone(),
            arrow_fields: Vec::new(),
            on_error: rules.options.tolerance.on_error,
            on_nul: rules.options.tolerance.on_nul,
            spelling,
        }
    }
}
