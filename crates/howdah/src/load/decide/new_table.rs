//! The table that a load makes: its schema, its key, and where the types of its columns come from.

use std::sync::Arc;
use std::time::Instant;

use howdah_encode::TypeShape;
use howdah_message::setting;
use howdah_source::MorselSource;

use super::arrow::created_types;
use crate::catalog::inferred_type::InferredType;
use crate::catalog::name::TableName;
use crate::catalog::table::{self, Column, Hazards, RelationKind, Table};
use crate::control::Phase;
use crate::error::Error;
use crate::infer::columns;
use crate::load::{Circumstances, Load};
use crate::options::{Inference, LoadOptions, Unlogged};
use crate::plan::declared::{self, Standing};
use crate::plan::keys::SeenKeys;
use crate::plan::mapping::Mapping;
use crate::plan::pair::Pair;
use crate::plan::{Plan, PlanRules};
use crate::publish::creation::{Creation, Findings};
use crate::read::queue;

/// What says which types the columns have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypesFrom {
    /// The table that is there.
    Table,
    /// Nothing: a landing table is all text.
    Landing,
    /// The fields of the input, which have types.
    Fields,
    /// Every value of the input, which is read for that before rows move.
    Values,
    /// The rows of a stream while they are loaded as text: it can be read only once.
    Stream,
}

impl TypesFrom {
    /// Chooses. A table `exists`, or is made: to be one that rows `land` in, or for an input whose fields `have_types`, or else
    /// one that can be read twice if it `is_rewindable`.
    pub(super) fn choose(exists: bool, land: bool, have_types: bool, is_rewindable: bool) -> TypesFrom {
        match (exists, land, have_types, is_rewindable) {
            (true, ..) => TypesFrom::Table,
            (false, true, ..) => TypesFrom::Landing,
            (false, false, true, _) => TypesFrom::Fields,
            (false, false, false, true) => TypesFrom::Values,
            (false, false, false, false) => TypesFrom::Stream,
        }
    }

    /// Refuses what needs the types before the rows move, where they are known only at the end of a stream.
    ///
    /// # Errors
    /// A usage error that names the option.
    pub(super) fn check(self, options: &LoadOptions) -> Result<(), Error> {
        if self != TypesFrom::Stream {
            return Ok(());
        }
        let too_early = " into a new table needs a file: the types of a stream are known only at its end";
        if options.writing.freeze {
            return Err(Error::usage(message![setting::FREEZE, too_early]));
        }
        let option = if options.columns.infer != Inference::All {
            setting::INFER.word(options.columns.infer.name())
        } else if options.input.decimal_comma {
            setting::DECIMAL.word(",")
        } else if let Some(thousands) = options.input.thousands {
            thousands.mention()
        } else if !options.input.booleans.is_empty() {
            setting::BOOLEANS.into()
        } else if options.input.date_format.is_some() {
            setting::DATE_FORMAT.into()
        } else if options.writing.write_path.commits_rows() {
            setting::WRITE_PATH.word(options.writing.write_path.name())
        } else {
            return Ok(());
        };
        Err(Error::usage(message![option, too_early])
            .with_hint("make the table first, or save the stream to a file"))
    }
}

impl Load<'_> {
    /// Decides what the table `name` is to be, on so many `threads` where every value is looked at, and changes nothing.
    pub(super) async fn new_table(
        &mut self,
        found: Circumstances<'_>,
        name: &TableName,
        types_from: TypesFrom,
        rules: &PlanRules<'_>,
        morsels: &MorselSource,
        threads: usize,
    ) -> Result<(Table, Creation), Error> {
        let Circumstances { connection, inputs, mapping, session, .. } = found;
        let options = self.options;
        let (schema, with_schema) =
            table::creation_schema(connection, name, options.target.create_schema).await?;
        self.check_creation(connection, &schema, with_schema).await?;
        let is_observed = types_from == TypesFrom::Stream;
        let mut creation = Creation::new(options, mapping, inputs, with_schema, is_observed)?;
        let mut table = of_text(schema, name, mapping, &creation, options.target.unlogged != Unlogged::Yes);
        if types_from != TypesFrom::Landing {
            let mut types = declared::of_new_table(options, mapping);
            if let MorselSource::Rows(batches) = morsels {
                types.extend(created_types(batches, mapping, &types)?);
            }
            declared::apply(connection, &mut table, Standing::New, &types, &session.rules).await?;
        }
        if types_from == TypesFrom::Values {
            creation.findings = self.infer(&mut table, found, rules, threads).await?;
        }
        if types_from != TypesFrom::Landing {
            let wide = std::mem::take(&mut creation.findings.wide);
            creation.compression = self.compression(found, &table, &wide).await?;
        }
        Ok((table, creation))
    }

    /// Gives the columns of a new table the types that fit every value of the whole input; tells what else it saw.
    pub(super) async fn infer(
        &mut self,
        table: &mut Table,
        found: Circumstances<'_>,
        rules: &PlanRules<'_>,
        threads: usize,
    ) -> Result<Findings, Error> {
        let Circumstances { inputs, dialect, mapping, .. } = found;
        if let Some(seen) = mapping.keys.as_ref().and_then(|keys| keys.seen.as_ref()) {
            return Ok(of_keys(table, mapping, seen));
        }
        let start = Instant::now();
        self.control.enter(Phase::Inferring);
        let peeked = self.control.snapshot().bytes_read;
        self.control.rewind_to(0);
        let (plan, _) = Plan::new(dialect.clone(), mapping, table, rules)?;
        let plan = Arc::new(plan);
        let cutter = self.cutter(inputs, dialect, mapping.header.is_some());
        let cutter = cutter.confining_stray_quotes(plan.reading.widths());
        let cutter = cutter.dropping_empty_lines(plan.reading.has_several_fields(), false);
        let (control, names) = (self.control.clone(), plan.clone());
        let work = move || columns::infer(cutter, &names, threads, &control);
        let (lattices, ascends) = queue::off_thread(self.control, work).await??;
        self.hint_null_markers(&plan, &lattices);
        self.advise_spelling(&plan, &lattices);
        self.say_what_keeps(&plan, &lattices);
        let mut findings = Findings::default();
        for (planned, lattice) in plan.columns.iter().zip(&lattices) {
            let inferred = |column: &&mut Column| column.name == planned.name && !column.is_declared;
            if let Some(column) = table.columns.iter_mut().find(inferred) {
                match lattice.mostly().filter(|_| self.options.columns.infer == Inference::Mostly) {
                    Some(mostly) => column.infer_mostly(mostly.ty),
                    None => column.infer(lattice.decide()),
                }
            }
            if lattice.never_null() {
                findings.never_null.push(planned.name.clone());
            }
            if lattice.has_wide() {
                findings.wide.push(planned.name.clone());
            }
        }
        findings.ascending = plan.columns.first().filter(|_| ascends).map(|column| column.name.clone());
        self.control.rewind_to(peeked);
        self.control.enter(Phase::Planning);
        self.report.phases.infer_s = start.elapsed().as_secs_f64();
        Ok(findings)
    }
}

/// The table with text for every column of which no type is known yet.
fn of_text(
    schema: String,
    name: &TableName,
    mapping: &Mapping,
    creation: &Creation,
    is_logged: bool,
) -> Table {
    let column = |pair: &Pair| text_column(pair, creation.is_key(&pair.target));
    Table {
        oid: 0,
        schema,
        name: name.table.clone(),
        kind: RelationKind::Table,
        is_logged,
        columns: mapping.pairs.iter().map(column).collect(),
        hazards: Hazards::default(),
        can_refuse_rows: creation.has_key_first() || mapping.pairs.len() > table::WIDE,
        has_row_triggers: false,
        row_security: false,
    }
}

/// A column of which no type is known yet.
pub(super) fn text_column(pair: &Pair, not_null: bool) -> Column {
    Column {
        name: pair.target.clone(),
        type_name: InferredType::Text.sql().to_owned(),
        shape: TypeShape::Base { oid: InferredType::Text.oid() },
        typmod: -1,
        base_type: (InferredType::Text.oid(), -1),
        not_null,
        not_null_domain: None,
        generated: false,
        has_default: false,
        is_declared: pair.is_file_name,
        mostly: None,
    }
}

/// Gives the columns of a new table the types that fit all values of their keys; what else was seen of them.
fn of_keys(table: &mut Table, mapping: &Mapping, seen: &SeenKeys) -> Findings {
    let mut findings = Findings::default();
    let of_keys = mapping.pairs.iter().filter(|pair| !pair.is_file_name);
    for pair in of_keys {
        let Some(key) = seen.names.iter().position(|name| *name == pair.source) else { continue };
        if let Some(column) =
            table.columns.iter_mut().find(|column| column.name == pair.target && !column.is_declared)
        {
            column.infer(seen.types[key]);
        }
        if seen.never_null[key] {
            findings.never_null.push(pair.target.clone());
        }
        if seen.has_wide[key] {
            findings.wide.push(pair.target.clone());
        }
        if key == 0 && seen.first_ascends {
            findings.ascending = Some(pair.target.clone());
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Thousands, WritePath};

    #[test]
    fn types_come_from_where_they_are_known_first() {
        for (exists, land, have_types, is_rewindable, from) in [
            (true, false, false, true, TypesFrom::Table),
            (true, false, true, false, TypesFrom::Table),
            (false, true, false, false, TypesFrom::Landing),
            (false, true, true, true, TypesFrom::Landing),
            (false, false, true, true, TypesFrom::Fields),
            (false, false, true, false, TypesFrom::Fields),
            (false, false, false, true, TypesFrom::Values),
            (false, false, false, false, TypesFrom::Stream),
        ] {
            assert_eq!(TypesFrom::choose(exists, land, have_types, is_rewindable), from);
        }
    }

    #[test]
    fn only_a_stream_into_a_new_table_refuses_what_needs_types_beforehand() {
        let format = howdah_source::DateFormat::parse("%d.%m.%Y").unwrap();
        for (options, refused) in [
            (LoadOptions::default(), None),
            (LoadOptions::default().freeze(true), Some("freeze")),
            (LoadOptions::default().infer(Inference::Mostly), Some("infer")),
            (LoadOptions::default().decimal_comma(true), Some("decimal")),
            (LoadOptions::default().thousands(Thousands::Comma), Some("thousands")),
            (LoadOptions::default().booleans([("ja", "nein")]), Some("booleans")),
            (LoadOptions::default().date_format(format), Some("date_format")),
            (LoadOptions::default().write_path(WritePath::InsertAutocommit), Some("write_path")),
            (LoadOptions::default().write_path(WritePath::Insert), None),
        ] {
            let said = TypesFrom::Stream.check(&options).map_err(|error| error.message().to_owned());
            match refused {
                None => assert_eq!(said, Ok(())),
                Some(option) => {
                    assert!(said.as_ref().is_err_and(|said| said.starts_with(option)), "{said:?}")
                }
            }
            for other in [TypesFrom::Table, TypesFrom::Landing, TypesFrom::Fields, TypesFrom::Values] {
                assert!(other.check(&options).is_ok(), "{other:?}");
            }
        }
    }
}
