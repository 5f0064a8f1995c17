//! The plan: pure data, made once from the source's head and the target, before any byte moves.

pub(crate) mod columns;
pub(crate) mod decimal;
pub(crate) mod declared;
pub(crate) mod force;
pub(crate) mod header;
pub(crate) mod header_match;
pub(crate) mod jobs;
pub(crate) mod keys;

pub(crate) mod mapping;
pub(crate) mod row_form;

use std::sync::Arc;

use howdah_encode::arrow::{ArrowCodec, Precision};
use howdah_encode::{SessionRules, TextCodec, TypeShape};
use howdah_message::{Message, setting};
use howdah_source::DateFormat;
use howdah_source::json::Keys;
use howdah_source::layout::Layouts;
use howdah_source::spelling;
use howdah_source::text::split;
use howdah_source::{Dialect, Field};

use crate::catalog::name::{quote, quote_literal};
use crate::catalog::table::Table;
use crate::error::{Error, ErrorKind};
use crate::options::{LoadOptions, OnNul, WritePath};
use crate::plan::force::Forced;
use crate::plan::mapping::Mapping;
use crate::plan::row_form::DEFAULT_MARKER;
use crate::plan::row_form::RowForm;

/// The OID of `text`.
const TEXT_OID: u32 = 25;

/// The OID of `interval`, the one type whose modifier decides how literals are read.
pub(crate) const INTERVAL_OID: u32 = 1186;

/// From this version on `\.` is a value like others in CSV.
const MARKER_IS_DATA: i32 = 180_000;

/// Everything an encoder and a worker need to know.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) dialect: Arc<Dialect>,
    /// The header's names, when every input starts with one.
    pub(crate) header: Option<Vec<String>>,
    /// Fields every record must have.
    pub(crate) fields: usize,
    /// In JSON: which key is which field.
    pub(crate) keys: Option<Keys>,
    /// The inputs whose fields are others than these.
    pub(crate) layouts: Layouts,
    /// Some column holds the file's name, behind the fields of every record.
    pub(crate) has_file_column: bool,
    /// In the order of the input, which is the order of the COPY statement.
    pub(crate) columns: Vec<PlanColumn>,
    /// What a chunk travels as, unless a value needs the server's judgement.
    pub(crate) form: RowForm,
    /// The field count that starts every binary row.
    pub(crate) binary_row_start: [u8; 2],
    /// Types of a new table are found while a stream is loaded as text.
    pub(crate) observe: bool,
    /// Records that are no rows are kept apart instead of ending the load.
    pub(crate) keep_rejects: bool,
    /// Every value is judged before it is sent, also where the server will parse it.
    pub(crate) judge: bool,
    pub(crate) on_nul: OnNul,
    /// Some value may have a decimal comma.
    pub(crate) decimal_comma: bool,
    /// How the values of columns that are [`PlanColumn::has_date_format`] are written.
    pub(crate) date_format: Option<DateFormat>,
    /// What stands between delimiters is not always what it looks like: each field is looked at by itself.
    pub(crate) careful: bool,
    /// The target's bare name, for messages in the server's words.
    pub(crate) relation_name: String,
    /// A line of CSV that is `\.` means the end of the data to the server.
    pub(crate) marker_ends_data: bool,
    freeze: bool,
    pub(crate) write_path: WritePath,
    pub(crate) rows_per_statement: usize,
    /// Values travel as they are and unread: the server judges them.
    pub(crate) is_unread: bool,
    /// For inputs whose values have types: the fields that are read, in the inputs' order.
    pub(crate) arrow_fields: Vec<usize>,
    /// The column after all others that says where in the input a row stood; for rows that are staged.
    pub(crate) ordinal: Option<String>,
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
    /// Its values have decimal commas.
    pub(crate) decimal_comma: bool,
    /// Its values are written in the load's own date format.
    pub(crate) has_date_format: bool,
    /// What it keeps of values that had types before they were written down; `None`: its literals are read as PostgreSQL
    /// reads them.
    pub(crate) precision: Option<Precision>,
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

/// What the choice of form depends on beside the types.
pub(crate) struct FormRules<'a> {
    pub(crate) options: &'a LoadOptions,
    pub(crate) write_path: WritePath,
    pub(crate) session: &'a SessionRules,
    /// As PostgreSQL names it.
    pub(crate) server_encoding: &'a str,
    pub(crate) server_version_num: i32,
    pub(crate) freeze: bool,
    pub(crate) observe: bool,
    pub(crate) keep_rejects: bool,
    pub(crate) judge: bool,
    pub(crate) on_nul: OnNul,
    pub(crate) decimal_comma: bool,
    /// The values had types, and were refused as such: what they are is not to be rounded now.
    pub(crate) had_types: bool,
    pub(crate) ordinal: Option<&'a str>,
    pub(crate) date_format: Option<&'a DateFormat>,
    /// Where rows are promoted to that land as text.
    pub(crate) promoted_into: Option<&'a Table>,
}

impl Plan {
    /// Chooses codecs by the target's types. Returns the plan and, when rows travel as text although binary was asked
    /// for, the reason.
    ///
    /// # Errors
    /// An internal error: a mapped column is not the table's, or there are more columns than a table can have.
    pub(crate) fn new(
        dialect: Arc<Dialect>,
        mapping: &Mapping,
        table: &Table,
        rules: &FormRules<'_>,
    ) -> Result<(Plan, Option<Message>), Error> {
        let mut columns = Vec::with_capacity(mapping.pairs.len());
        let mut foreign = Vec::new();
        for pair in &mapping.pairs {
            let position = table.columns.iter().position(|column| column.name == pair.target);
            let position = position.ok_or_else(|| {
                let reason = format!("the table has no column {} to put a field into", pair.target);
                Error::new(ErrorKind::Internal, reason)
            })?;
            let column = &table.columns[position];
            let same_type = |planned: &PlanColumn| planned.type_name == column.type_name;
            let kind = columns.iter().position(same_type).unwrap_or(columns.len());
            let mut codec = TextCodec::of(&column.shape, column.typmod, rules.session);
            if rules.judge {
                // In SQL_ASCII lengths count bytes, which our codecs do not: there the server judges everything.
                // So it does with xml, which only it can parse.
                codec =
                    codec.filter(|codec| rules.server_encoding != "SQL_ASCII" && *codec != TextCodec::Xml);
                codec = codec.map(|codec| codec.judging(rules.server_encoding == "UTF8"));
            }
            // Arrays of arrays do not exist, and an array of intervals has one way of reading them; a dry run judges what a
            // load would leave to the server.
            let not_in_arrays = matches!(column.shape, TypeShape::Array { .. })
                || column.base_type.0 == INTERVAL_OID && column.base_type.1 != -1;
            let as_text = rules.write_path.binds()
                && !rules.options.target.dry_run
                && (codec.is_none() || not_in_arrays && rules.write_path == WritePath::Unnest);
            if as_text {
                codec = TextCodec::for_type(TEXT_OID, -1, rules.session);
            }
            if codec.is_none() {
                foreign.push(format!("{} ({})", column.name, column.type_name));
            }
            columns.push(PlanColumn {
                field: pair.field,
                source: pair.source.clone(),
                name: column.name.clone(),
                is_file_name: pair.is_file_name,
                type_name: column.type_name.clone(),
                is_declared: column.is_declared,
                base_type: column.base_type,
                forced: Forced::of(&column.name, rules.options),
                decimal_comma: rules.decimal_comma && spelling::decimal::is_decimal(column.base_type.0),
                has_date_format: rules.date_format.is_some()
                    && spelling::date::is_temporal(column.base_type.0),
                precision: rules
                    .had_types
                    .then(|| {
                        Precision::of(column.base_type.0, column.base_type.1, rules.options.input.allow_loss)
                    })
                    .flatten(),
                codec,
                arrow: None,
                as_text,
                kind,
                not_null_at: (column.not_null && table.checks_not_null_itself()).then_some(position),
                not_null_domain: column.not_null_domain.clone(),
            });
        }
        let sends_text = matches!(
            rules.write_path,
            WritePath::CopyText | WritePath::CopyCsv | WritePath::Values | WritePath::Landing
        );
        let reason = if sends_text || rules.observe {
            None
        } else if dialect.default.is_some() {
            Some(message![setting::DEFAULT, " needs the text format"])
        } else if rules.server_encoding == "SQL_ASCII" {
            Some("the database's encoding is SQL_ASCII".into())
        } else if !foreign.is_empty() {
            Some(message!["only the server can read ", foreign.join(", ")])
        } else {
            None
        };
        let text = sends_text || rules.observe || reason.is_some();
        // PostgreSQL allows 1,600 columns.
        let count = u16::try_from(columns.len() + usize::from(rules.ordinal.is_some())).map_err(|_| {
            Error::new(ErrorKind::Internal, "the plan has more columns than a table can have")
        })?;
        let rows_per_statement =
            rules.write_path.rows_per_statement(rules.options.writing.rows_per_statement, usize::from(count));
        let careful = rules.decimal_comma
            || rules.date_format.is_some()
            || columns.iter().any(|column| column.is_file_name || column.forced.is_some());
        let has_file_column = mapping.pairs.iter().any(|pair| pair.is_file_name);
        let shape = |field: usize| {
            let pair = mapping.pairs.iter().find(|pair| pair.field == field && !pair.is_file_name)?;
            let table = rules.promoted_into.unwrap_or(table);
            let column = table.columns.iter().find(|column| column.name == pair.target)?;
            Some(&column.shape)
        };
        let keys = mapping.keys.as_ref().map(|keys| {
            let width = mapping.fields + usize::from(has_file_column);
            Keys::new(&keys.names, &keys.skipped, width, keys.passes_over, shape)
        });
        let plan = Plan {
            careful,
            dialect,
            header: mapping.header.clone(),
            fields: mapping.fields,
            keys,
            layouts: mapping.layouts.clone(),
            has_file_column,
            columns,
            form: if text { RowForm::Text } else { RowForm::Binary },
            binary_row_start: count.to_be_bytes(),
            observe: rules.observe,
            keep_rejects: rules.keep_rejects,
            judge: rules.judge,
            on_nul: rules.on_nul,
            decimal_comma: rules.decimal_comma,
            date_format: rules.date_format.cloned(),
            relation_name: table.name.clone(),
            marker_ends_data: rules.server_version_num < MARKER_IS_DATA,
            freeze: rules.freeze,
            write_path: rules.write_path,
            rows_per_statement,
            is_unread: false,
            arrow_fields: Vec::new(),
            ordinal: rules.ordinal.map(str::to_owned),
        };
        Ok((plan, reason))
    }

    /// The same rows with their places in the input, in column `ordinal`, on their way into a staging table.
    ///
    /// # Errors
    /// An internal error: there are more columns than a table can have.
    pub(crate) fn staged(&self, ordinal: &str) -> Result<Plan, Error> {
        let count = u16::try_from(self.columns.len() + 1).map_err(|_| {
            Error::new(ErrorKind::Internal, "the plan has more columns than a table can have")
        })?;
        let mut plan = self.clone();
        plan.binary_row_start = count.to_be_bytes();
        plan.ordinal = Some(ordinal.to_owned());
        plan.freeze = false;
        if plan.write_path == WritePath::CopyCsv {
            plan.write_path = WritePath::CopyText;
        }
        plan.rows_per_statement =
            plan.write_path.rows_per_statement(Some(plan.rows_per_statement), usize::from(count));
        Ok(plan)
    }

    /// For rows in COPY's binary format.
    pub(crate) fn take_tuples(&mut self) {
        self.form = RowForm::Binary;
        self.is_unread = true;
    }

    /// For a value that is written otherwise.
    pub(crate) fn date_format_detail(&self) -> Option<String> {
        self.date_format
            .as_ref()
            .map(|format| format!("the dates of this load are written {:?}", format.as_str()))
    }

    /// The columns of a row, quoted.
    pub(crate) fn column_list(&self) -> String {
        let names = self.columns.iter().map(|column| &column.name).chain(&self.ordinal);
        names.map(|name| quote(name)).collect::<Vec<_>>().join(", ")
    }

    /// Whether the input's bytes travel as they are.
    pub(crate) fn passes_on(&self) -> bool {
        self.write_path == WritePath::CopyCsv && !self.judge
    }

    /// The COPY statement that takes rows of `form` into `relation` (quoted).
    pub(crate) fn copy_sql(&self, relation: &str, form: RowForm) -> String {
        let mut options = match form {
            RowForm::Binary => vec!["FORMAT binary".to_owned()],
            RowForm::Text => vec!["FORMAT text".to_owned()],
            RowForm::Csv(_) => self.csv_options(),
        };
        if form == RowForm::Text && self.dialect.default.is_some() {
            options.push(format!("DEFAULT{}", quote_literal(&String::from_utf8_lossy(DEFAULT_MARKER))));
        }
        if self.freeze {
            options.push("FREEZE".to_owned());
        }
        format!("COPY {relation} ({}) FROM STDIN ({})", self.column_list(), options.join(", "))
    }

    /// What COPY must know to read the input's CSV. Every input is UTF-8 by now.
    fn csv_options(&self) -> Vec<String> {
        let text = |bytes: &[u8]| quote_literal(&String::from_utf8_lossy(bytes));
        let Dialect { delimiter, quote: quotes, escape, null, default, .. } = &*self.dialect;
        let mut options = vec![
            "FORMAT csv".to_owned(),
            format!("DELIMITER {}", text(&[*delimiter])),
            format!("QUOTE {}", text(&[*quotes])),
            format!("ESCAPE {}", text(&[*escape])),
            format!("NULL {}", text(null)),
            "ENCODING 'UTF8'".to_owned(),
        ];
        options.extend(default.as_ref().map(|default| format!("DEFAULT {}", text(default))));
        for (at, option) in ["FORCE_NULL", "FORCE_NOT_NULL"].into_iter().enumerate() {
            let is_forced = |column: &&PlanColumn| column.forced.is_some_and(|forced| forced.options()[at]);
            let names: Vec<String> =
                self.columns.iter().filter(is_forced).map(|column| quote(&column.name)).collect();
            if !names.is_empty() {
                options.push(format!("{option} ({})", names.join(", ")));
            }
        }
        options
    }
}
