//! A column that is loaded: which field goes into it, and by which codec.

use howdah_encode::arrow::{ArrowCodec, Precision};
use howdah_encode::{TextCodec, TypeShape};
use howdah_source::spelling::{Spelled, Spelling};
use howdah_source::text::split;
use howdah_source::{Dialect, Field};

use crate::catalog::inferred_type::InferredType;
use crate::catalog::table::{Column, Table};
use crate::error::{Error, ErrorKind};
use crate::options::WritePath;
use crate::plan::force::Forced;
use crate::plan::mapping::Mapping;
use crate::plan::pair::Pair;
use crate::plan::{Judging, PlanRules};

/// The OID of `text`.
const TEXT_OID: u32 = 25;

/// The OID of `interval`, the one type whose modifier decides how literals are read.
pub(crate) const INTERVAL_OID: u32 = 1186;

/// What a column demands of its values before PostgreSQL reads them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ValueDemand {
    /// They had types before they were written down: what the column does not keep of them is refused.
    Precise(Precision),
    /// Its type was found among its values: others than these are refused.
    Fitting(InferredType),
}

/// One loaded column.
#[derive(Debug, Clone)]
pub(crate) struct PlanColumn {
    /// Index of the field in a record.
    pub(crate) field: usize,
    pub(crate) source: String,
    pub(crate) name: String,
    /// Its value is the input's name.
    pub(crate) is_file_name: bool,
    pub(crate) type_name: String,
    /// The user says its type.
    pub(crate) is_declared: bool,
    /// OID and modifier of the type, domains resolved.
    pub(crate) base_type: (u32, i32),
    /// Quotes do not tell its NULLs.
    pub(crate) forced: Option<Forced>,
    /// How its values are written.
    pub(crate) spelled: Spelled,
    /// What it takes less than PostgreSQL would; `None`: its literals are read as PostgreSQL reads them.
    pub(crate) demand: Option<ValueDemand>,
    /// `None`: only the server can read the type.
    pub(crate) codec: Option<TextCodec>,
    /// For an input whose values have types: how they become those of the column; see [`Plan::take_arrow`].
    pub(crate) arrow: Option<ArrowCodec>,
    /// Its field in a binary row is the literal itself: only the server can read the type, or the write path cannot carry it
    /// otherwise.
    pub(crate) as_text: bool,
    /// Columns of one type have one kind: the index of the first of them.
    pub(crate) kind: usize,
    /// The column's place in the table, when NULL is certain to be refused.
    pub(crate) not_null_at: Option<usize>,
    /// The domain, when it is one that takes no NULL.
    pub(crate) not_null_domain: Option<String>,
}

impl PlanColumn {
    /// The column's value in a record of `file` of which `field` is a field; `None` for NULL and DEFAULT.
    #[inline]
    pub(crate) fn value<'v>(
        &self,
        field: Field,
        bytes: &'v [u8],
        file: &'v [u8],
        dialect: &'v Dialect,
        scratch: &'v mut Vec<u8>,
    ) -> Option<&'v [u8]> {
        if self.is_file_name {
            return Some(file);
        }
        let value = split::value(field, bytes, dialect, scratch);
        match self.forced {
            None => value,
            Some(forced) => forced.value(field.form(), value, &dialect.null),
        }
    }
}

/// The columns of `table` that fields go into, in the order of the input.
///
/// # Errors
/// An internal error: a mapped column is not the table's.
pub(super) fn columns(
    mapping: &Mapping,
    table: &Table,
    rules: &PlanRules<'_>,
    spelling: &Spelling,
) -> Result<Vec<PlanColumn>, Error> {
    let mut columns: Vec<PlanColumn> = Vec::with_capacity(mapping.pairs.len());
    for pair in &mapping.pairs {
        let position = table.columns.iter().position(|column| column.name == pair.target);
        let position = position.ok_or_else(|| {
            let reason = format!("the table has no column {} to put a field into", pair.target);
            Error::new(ErrorKind::Internal, reason)
        })?;
        let same_type = |planned: &PlanColumn| planned.type_name == table.columns[position].type_name;
        let kind = columns.iter().position(same_type).unwrap_or(columns.len());
        columns.push(column(pair, table, position, kind, spelling, rules));
    }
    Ok(columns)
}

/// The column at `position` of `table`, into which the field of `pair` goes.
fn column(
    pair: &Pair,
    table: &Table,
    position: usize,
    kind: usize,
    spelling: &Spelling,
    rules: &PlanRules<'_>,
) -> PlanColumn {
    let column = &table.columns[position];
    let (oid, typmod) = column.base_type;
    let (codec, as_text) = codec(column, rules);
    let precision = rules.had_types.then(|| Precision::of(oid, typmod, rules.options.input.allow_loss));
    PlanColumn {
        field: pair.field,
        source: pair.source.clone(),
        name: column.name.clone(),
        is_file_name: pair.is_file_name,
        type_name: column.type_name.clone(),
        is_declared: column.is_declared,
        base_type: column.base_type,
        forced: Forced::of(&column.name, rules.options),
        spelled: spelling.of_type(oid),
        demand: precision.flatten().map(ValueDemand::Precise).or(column.mostly.map(ValueDemand::Fitting)),
        codec,
        arrow: None,
        as_text,
        kind,
        not_null_at: (column.not_null && table.checks_not_null_itself()).then_some(position),
        not_null_domain: column.not_null_domain.clone(),
    }
}

/// The codec for the literals of `column`, and whether each travels as it is in a binary row.
fn codec(column: &Column, rules: &PlanRules<'_>) -> (Option<TextCodec>, bool) {
    let (encoding, session) = (rules.session.encoding.as_str(), &rules.session.rules);
    let mut codec = TextCodec::of(&column.shape, column.typmod, session);
    if rules.judging == Judging::BeforeSending {
        // In SQL_ASCII lengths count bytes, which our codecs do not: there the server judges everything.
        // So it does with xml, which only it can parse.
        codec = codec.filter(|codec| encoding != "SQL_ASCII" && *codec != TextCodec::Xml);
        codec = codec.map(|codec| codec.judging(encoding == "UTF8"));
    }
    // Arrays of arrays do not exist, and an array of intervals has one way of reading them; a dry run judges what a
    // load would leave to the server.
    let not_in_arrays = matches!(column.shape, TypeShape::Array { .. })
        || column.base_type.0 == INTERVAL_OID && column.base_type.1 != -1;
    let write_path = rules.options.writing.write_path;
    let as_text = write_path.binds()
        && !rules.options.target.dry_run
        && (codec.is_none() || not_in_arrays && write_path == WritePath::Unnest);
    match as_text {
        true => (TextCodec::for_type(TEXT_OID, -1, session), true),
        false => (codec, false),
    }
}
