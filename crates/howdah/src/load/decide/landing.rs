//! Where rows land as text, in a table of their own, before they are promoted into the target.

use howdah_connect::Connection;
use howdah_message::{Action, setting};

use crate::catalog::name::TableName;
use crate::catalog::session::SessionSettings;
use crate::catalog::table::Table;
use crate::error::Error;
use crate::load::Load;
use crate::options::OnError;
use crate::plan::declared::{self, Standing};
use crate::plan::mapping::Mapping;
use crate::promote::{Promotion, rejects_name};

/// A landing table and what follows once the rows are in it.
pub(in crate::load) struct Landing {
    pub(in crate::load) promotion: Promotion,
    /// The typed target.
    pub(in crate::load) into: Table,
    /// The landing table, which this load makes.
    pub(in crate::load) name: TableName,
}

impl Load<'_> {
    /// Decides where rows land on their way into `into`.
    ///
    /// # Errors
    /// A usage error: the landing table is there already.
    pub(super) async fn plan_landing(
        &self,
        connection: &Connection,
        session: &SessionSettings,
        mut into: Table,
        mapping: &Mapping,
    ) -> Result<Landing, Error> {
        let options = self.options;
        declared::apply(connection, &mut into, Standing::Kept, &options.columns.types, &session.rules)
            .await?;
        let usual =
            || TableName { schema: Some(into.schema.clone()), table: format!("{}_landing", into.name) };
        let name = options.writing.landing_table.clone().unwrap_or_else(usual);
        if let Some(there) = Table::lookup(connection, &name, &session.rules).await? {
            return Err(Error::usage(format!("the landing table {} exists already", there.display()))
                .with_sqlstate("42P07")
                .with_hint(message![
                    Action::Promote { landing: there.display(), into: into.display() },
                    " promotes what is in it; ",
                    setting::LANDING_TABLE,
                    " names another"
                ]));
        }
        let schema = name.schema.clone().unwrap_or_else(|| into.schema.clone());
        let name = TableName { schema: Some(schema.clone()), table: name.table };
        crate::catalog::name::check(&name.table)?;
        let table = Table { oid: 0, schema, name: name.table.clone(), ..into.clone() };
        let names: Vec<&str> = mapping.pairs.iter().map(|pair| pair.target.as_str()).collect();
        let mut promotion = Promotion::new(connection, session, &table, &into, &names).await?;
        if options.tolerance.on_error == OnError::Ignore {
            promotion.keep_rejects(&rejects_name(&table), true);
        }
        if !options.writing.keep_landing {
            promotion.drop_landing();
        }
        Ok(Landing { promotion, into, name })
    }
}
