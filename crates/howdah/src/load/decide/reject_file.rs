//! The file for the records that this load refuses.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use howdah_source::{Dialect, Input};

use crate::catalog::table::Table;
use crate::error::Error;
use crate::load::Load;
use crate::options::OnError;
use crate::plan::mapping::Mapping;
use crate::rejects::{Existing, Rejects, default_path, is_an_input, provenance};

impl Load<'_> {
    /// The file for rejected records, when they are to be kept.
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
}
