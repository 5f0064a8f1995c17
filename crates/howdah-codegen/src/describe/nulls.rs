//! What can be null in a statement: it becomes the body of a temporary function, whose analysed tree tells.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::{Error, facts, savepoint};
use crate::tree::{
    ColumnId, Node, NullAnalysis, Nullability, Value, parameter_columns, parameter_nullability, parse,
};

/// Functions take no more.
const MOST_PARAMETERS: usize = 100;

const TREE: &str = "
select prosqlbody::text from pg_catalog.pg_proc
where proname = 'howdah_describe' and pronamespace = pg_catalog.pg_my_temp_schema()";

/// What can be null of a statement's parameters and columns.
pub(super) struct Nulls {
    pub(super) parameters: Vec<Nullability>,
    pub(super) columns: Vec<Nullability>,
    /// The only column that each parameter is written to or compared with.
    pub(super) parameter_columns: Vec<Option<ColumnId>>,
}

/// What can be null in a statement that was prepared: it is one, and its parameters have these types, as SQL writes them.
pub(super) async fn nullability(
    client: &Client,
    sql: &str,
    types: &[&str],
    columns: usize,
) -> Result<Nulls, Error> {
    let unknown = |because: String| Nulls {
        parameters: vec![Nullability::not_null("nothing tells it to be null"); types.len()],
        columns: vec![Nullability::nullable(because); columns],
        parameter_columns: vec![None; types.len()],
    };
    if types.len() > MOST_PARAMETERS {
        return Ok(unknown(format!("a statement of more than {MOST_PARAMETERS} parameters is not analysed")));
    }
    let tree = match analysed(client, sql, types).await {
        Ok(tree) => tree,
        // The connection is gone, or the transaction.
        Err(error)
            if error.sqlstate.as_deref().is_none_or(|code| code.starts_with("25") || code == "57014") =>
        {
            return Err(error);
        }
        Err(error) => return Ok(unknown(format!("the server does not analyse it: {error}"))),
    };
    let Some(tree) = tree else { return Ok(unknown("the server's analysis is not understood".to_owned())) };
    let catalog = facts::read(client, &tree).await?;
    let Some(query) = statement(&tree) else {
        return Ok(unknown("the server's analysis is not understood".to_owned()));
    };
    let mut nullabilities = NullAnalysis::new(&catalog).statement(query);
    // Where this does not see what the server sees, it has not understood.
    if nullabilities.len() != columns {
        nullabilities = vec![Nullability::nullable("not analysed"); columns];
    }
    Ok(Nulls {
        parameters: parameter_nullability(query, types.len(), &catalog),
        columns: nullabilities,
        parameter_columns: parameter_columns(query, types.len(), &catalog),
    })
}

/// The statement as the server analysed it.
async fn analysed(client: &Client, sql: &str, types: &[&str]) -> Result<Option<Value>, Error> {
    savepoint::asked(client, async || {
        // A comment at the end of the statement must not hide what follows. More than one statement cannot be sent so.
        let function = format!(
            "create function pg_temp.howdah_describe({}) returns void language sql begin atomic\n{sql}\n;\nend",
            types.join(", ")
        );
        client.execute_typed(&function, &[]).await.map_err(Error::of_question)?;
        let rows = client.query_typed(TREE, &[] as &[(&(dyn tokio_postgres::types::ToSql + Sync), Type)]);
        let rows = rows.await.map_err(Error::of_question)?;
        let text: Option<String> = rows.first().map(|row| super::types::get(row, 0)).transpose()?;
        Ok(text.as_deref().and_then(parse))
    })
    .await
}

/// The only statement of a body: a list of lists.
fn statement(tree: &Value) -> Option<&Node> {
    let [Value::List(statements)] = tree.items() else { return None };
    let mut queries = statements.iter().filter_map(Value::as_node).filter(|node| node.tag == "QUERY");
    let query = queries.next()?;
    queries.next().is_none().then_some(query)
}
