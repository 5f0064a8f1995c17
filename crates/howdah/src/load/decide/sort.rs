//! The order in which the rows of a part are sent: that of an index which they meet, where there is one.

use howdah_message::{Message, setting};

use crate::catalog::indexes::{BtreeIndex, cache_pages};
use crate::catalog::name;
use crate::catalog::table::Table;
use crate::error::Error;
use crate::load::{Circumstances, Load};
use crate::options::{OnError, Sort, WritePath};
use crate::plan::Plan;
use crate::plan::row_form::RowForm;
use crate::plan::sort_key::SortKey;
use crate::publish::strategy::PublishStrategy;
use crate::send::sort::SortRule;

/// The bytes of input that fill a page (8 KiB) of an index: its entry is a quarter of a row's text, more or less. While rows
/// come it is half as large as in the end, in the middle.
const BYTES_PER_PAGE: u64 = 4 * 8192;

/// What a stream is taken for.
const UNKNOWN_BYTES: u64 = 1 << 30;

impl Load<'_> {
    /// Decides in which order rows are sent.
    ///
    /// # Errors
    /// A usage error: the index that was asked for is not there, or rows cannot be sorted by it.
    pub(in crate::load) async fn sort(
        &self,
        found: Circumstances<'_>,
        table: &Table,
        plan: &Plan,
        strategy: &PublishStrategy,
    ) -> Result<SortRule, Error> {
        let asked = &self.options.writing.sort;
        if *asked == Sort::None {
            return Ok(SortRule::None);
        }
        if let Some(why) = self.unsortable(plan, strategy) {
            return match asked {
                Sort::By(index) => Err(refused(index, why)),
                _ => Ok(SortRule::None),
            };
        }
        let mut indexes = BtreeIndex::of(found.connection, table).await?;
        let growth = found.bytes.unwrap_or(UNKNOWN_BYTES) / BYTES_PER_PAGE;
        indexes.iter_mut().for_each(|index| index.pages += growth / 2);
        let Sort::By(wanted) = asked else {
            let keys: Vec<SortKey> =
                indexes.iter().filter_map(|index| SortKey::new(index, &plan.columns)).collect();
            if keys.is_empty() {
                return Ok(SortRule::None);
            }
            let cache = cache_pages(found.connection).await?;
            return Ok(SortRule::Best { keys, cache });
        };
        let Some(index) = indexes.iter().find(|index| index.name == *wanted) else {
            let names: Vec<String> = indexes.iter().map(|index| name::display(&index.name)).collect();
            let hint = match names.as_slice() {
                [] => "it has none".to_owned(),
                names => format!("it has {}", names.join(", ")),
            };
            let why = format!("{} has no such B-tree index", table.display());
            return Err(refused(wanted, why).with_hint(hint));
        };
        SortKey::new(index, &plan.columns).map(SortRule::Always).ok_or_else(|| {
            refused(wanted, "its first column is not loaded, or not of a type that is sorted here")
                .with_hint("numbers, moments, text, uuid, bytea and boolean are")
        })
    }

    /// Why rows are sent as they come.
    fn unsortable(&self, plan: &Plan, strategy: &PublishStrategy) -> Option<Message> {
        let options = self.options;
        match strategy {
            PublishStrategy::Staged(_) => return Some("rows are staged where there are no indexes".into()),
            PublishStrategy::Create(_) | PublishStrategy::Hidden(_) => {
                return Some("the table's indexes are built after its rows".into());
            }
            PublishStrategy::Rebuild(_) => return Some("its indexes are built after the rows".into()),
            PublishStrategy::Append | PublishStrategy::Truncate => {}
        }
        let path = plan.sending.write_path;
        if path != WritePath::CopyBinary {
            return Some(message![setting::WRITE_PATH.word(path.name()), " sends them as they come"]);
        }
        if plan.sending.form != RowForm::Binary {
            return Some("they travel as text".into());
        }
        if options.tolerance.on_error == OnError::Ignore {
            return Some(message![
                setting::ON_ERROR.word("ignore"),
                " judges them in the order of the input"
            ]);
        }
        None
    }
}

fn refused(index: &str, why: impl Into<Message>) -> Error {
    Error::usage(message!["rows cannot be sorted by {index:?}: ", why.into()])
}
