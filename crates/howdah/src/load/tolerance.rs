//! What becomes of records that are no rows: the reject file, and how rows that only the server refuses are found.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32};

use howdah_connect::Target;
use howdah_message::setting;
use howdah_source::Provenance;
use howdah_source::open::provenance;
use howdah_source::{Dialect, Family, Input};

use super::{Decision, Load};
use crate::catalog::table::Table;
use crate::error::Error;
use crate::options::{Format, LoadOptions, OnError};
use crate::plan::mapping::Mapping;
use crate::plan::sending::RowStrategy;
use crate::rejects::{Existing, Rejects};
use crate::resolve::Resolver;
use crate::send::context::LoadContext;
use crate::send::rate_limit::RateLimit;

impl Load<'_> {
    /// The file for refused records, when they are to be kept.
    pub(super) fn reject_file(
        &self,
        table: &Table,
        mapping: &Mapping,
        dialect: &Dialect,
        inputs: &[Input],
    ) -> Result<Option<Arc<Rejects>>, Error> {
        let options = self.options;
        if options.tolerance.on_error == OnError::Stop {
            return Ok(None);
        }
        let path = match &options.tolerance.rejects {
            Some(path) => path.clone(),
            None => default_path(&table.name, &self.id.to_string()),
        };
        let there = path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
        if there.is_some() && inputs.iter().any(|input| input.file_identity() == there) {
            return Err(is_an_input(&path));
        }
        let whole: Vec<Option<usize>> = (0..mapping.fields).map(Some).collect();
        let had_types = inputs.iter().any(Input::had_types);
        let provenance =
            |fields: &[Option<usize>]| provenance(table, mapping, fields, dialect, options, had_types);
        let others =
            mapping.layouts.iter().map(|(input, layout)| (input.clone(), provenance(&layout.places())));
        let rejects = Rejects::new(
            &path,
            options.tolerance.rejects.is_some(),
            if options.tolerance.overwrite_rejects { Existing::Overwritten } else { Existing::Refused },
            options.tolerance.reject_limit,
            provenance(&whole),
            others.collect(),
        )?;
        Ok(Some(Arc::new(rejects)))
    }

    /// What the workers of this load share.
    pub(super) fn context(&self, decision: &Decision, target: &Target) -> LoadContext {
        let Decision { plan, table, strategy, rejects, .. } = decision;
        let (relation_name, relation) = strategy.relation(table);
        // Elsewhere than in UTF-8, characters of the input may have no place.
        // And a literal that travels unread is judged where it arrives.
        let unread = plan.sending.strategy == RowStrategy::PassTuples
            || plan.columns.iter().any(|column| column.as_text);
        let can_refuse = strategy.can_refuse_rows(table) || !decision.server_is_utf8 || unread;
        LoadContext {
            plan: plan.clone(),
            relation,
            relation_name,
            hidden_names: strategy.hidden_names(table),
            control: self.control.clone(),
            deadlocked: AtomicI32::new(0),
            resolver: Resolver::start(target.clone(), decision.server_version_num),
            dense: Arc::new(AtomicBool::new(false)),
            rejects: rejects.clone(),
            isolates_rows: rejects.is_some() && can_refuse,
            rate: self.options.writing.max_rate.map(RateLimit::new),
            commits: decision.commits.clone(),
        }
    }
}

/// The error for rejects that would go where records are read from.
pub(crate) fn is_an_input(path: &Path) -> Error {
    Error::usage(format!("{} is an input: rejects cannot go there", path.display()))
        .with_hint(message!["name another file: ", setting::REJECTS.placeholder("FILE")])
}

/// In the working directory, where a person looks; whatever the table is called, it is a file name.
pub(crate) fn default_path(table: &str, load_id: &str) -> PathBuf {
    let safe = |c: char| if c == '/' || c.is_control() { '_' } else { c };
    let name: String = table.trim_start_matches('.').chars().map(safe).collect();
    PathBuf::from(format!("{name}.{load_id}.rejects.jsonl"))
}

/// `fields` are those of a record, each as the field of the load that it is.
pub(crate) fn provenance(
    table: &Table,
    mapping: &Mapping,
    fields: &[Option<usize>],
    dialect: &Dialect,
    options: &LoadOptions,
    had_types: bool,
) -> Provenance {
    let (format, delimiter, null): (_, _, &[u8]) = match (dialect.family, dialect.delimiter) {
        _ if options.input.format == Some(Format::Binary) => ("binary", dialect.delimiter, b""),
        // Rows that had types are kept as JSON.
        (_, delimiter) if options.input.format.unwrap_or_default().has_types() => ("ndjson", delimiter, b""),
        (Family::Text, _) => ("text", b'\t', b"\\N"),
        (Family::Json | Family::Ndjson, delimiter) => ("ndjson", delimiter, b""),
        (Family::Csv, b'\t') => ("tsv", b'\t', b""),
        (Family::Csv, _) => ("csv", b',', b""),
    };
    let unless = |byte: u8, usual: u8| (byte != usual).then_some(char::from(byte));
    let is_csv = dialect.family == Family::Csv;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let known = mapping.keys.as_ref();
    let is_new = |key: &&String| known.is_some_and(|known| !known.names.contains(key));
    // Keys that are skipped and were not met are fields of no record.
    let unmet: Vec<String> =
        known.iter().flat_map(|known| known.skipped.iter().filter(is_new)).cloned().collect();
    let keys = match known {
        Some(known) => [&known.names[..], &unmet].concat(),
        None if options.input.format.unwrap_or_default().has_types() => {
            mapping.header.clone().unwrap_or_default()
        }
        None => Vec::new(),
    };
    Provenance {
        version: provenance::VERSION,
        had_types: had_types || options.input.format.unwrap_or_default().has_types(),
        table: table.display(),
        columns: fields
            .iter()
            .map(|field| {
                let pair = mapping.pairs.iter().find(|pair| Some(pair.field) == *field);
                pair.map(|pair| pair.target.clone())
            })
            .chain(unmet.iter().map(|_| None))
            .collect(),
        keys,
        passes_over: known.is_some_and(|known| known.passes_over),
        mode: options.target.mode.matches_rows().then(|| options.target.mode.name().to_owned()),
        key: if options.target.mode.matches_rows() { options.target.key.clone() } else { Vec::new() },
        format: format.to_owned(),
        delimiter: unless(dialect.delimiter, delimiter),
        quote: unless(dialect.quote, b'"').filter(|_| is_csv),
        escape: unless(dialect.escape, dialect.quote).filter(|_| is_csv),
        null: (dialect.null != null).then(|| text(&dialect.null)),
        default: dialect.default.as_deref().map(text),
        decimal: options.input.decimal_comma.then_some(','),
        force_null: options.columns.force_null.clone(),
        force_not_null: options.columns.force_not_null.clone(),
        date_format: options.input.date_format.as_ref().map(|format| format.as_str().to_owned()),
        file_column: mapping.pairs.iter().find(|pair| pair.is_file_name).map(|pair| pair.target.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_table_name_leads_out_of_the_working_directory() {
        assert_eq!(default_path("../x/y", "1").to_str(), Some("_x_y.1.rejects.jsonl"));
        assert_eq!(default_path("a\nb", "1").to_str(), Some("a_b.1.rejects.jsonl"));
    }
}
