//! The first look at the input: how its records are written, and what the first of them hold.

use std::sync::Arc;

use super::Load;
use crate::decimal;
use crate::error::Error;
use crate::feed;
use crate::head::Head;
use crate::mapping;
use crate::null_marker;
use crate::report::DialectSummary;
use crate::source::sniff::{self, Unsaid};
use crate::source::{Cutter, Dialect};
use crate::table::Table;

/// What was seen, and the cutter, from which nothing was taken.
pub(super) struct Look {
    pub(super) cutter: Cutter,
    pub(super) dialect: Arc<Dialect>,
    pub(super) summary: DialectSummary,
    pub(super) head: Head,
}

impl Load<'_> {
    /// Looks at the first piece of what `cutter` reads; `usual` is the dialect unless the input says otherwise.
    pub(super) async fn look(
        &self,
        mut cutter: Cutter,
        usual: &Arc<Dialect>,
        existing: Option<&Table>,
    ) -> Result<Look, Error> {
        let (options, existing, usual) = (self.options.clone(), existing.cloned(), usual.clone());
        let look = move || -> Result<Look, Error> {
            let given = &options.dialect;
            let unsaid = Unsaid {
                delimiter: given.delimiter.is_none() && usual.delimiter == b',',
                quote: given.quote.is_none(),
                escape: given.escape.is_none(),
                decimal_comma: options.decimal_comma,
            };
            let fit = |first: &[String]| mapping::fit(first, existing.as_ref(), &options);
            let mut dialect = sniff::sniff(cutter.sample()?, &usual, unsaid, &fit)?;
            if given.null.is_none()
                && let Some(marker) = null_marker::guess(cutter.sample()?, &dialect)
            {
                dialect.null = marker.into();
            }
            let dialect = Arc::new(dialect);
            decimal::check(&options, &dialect)?;
            let summary = DialectSummary::new(&dialect, &usual, cutter.encoding());
            cutter.set_dialect(dialect.clone());
            let head = Head::read(cutter.peek()?, &dialect, &options);
            Ok(Look { cutter, summary, dialect, head })
        };
        let look = feed::off_thread(self.control, look).await??;
        // The encoding was told when the input was opened.
        if look.summary.guessed.iter().any(|guessed| *guessed != "encoding") {
            self.control.notice(format!("format: {}", look.summary));
        }
        Ok(look)
    }
}
