//! A savepoint that is always rolled back: questions leave nothing behind.

use tokio_postgres::Client;

use super::Error;

const BEGIN: &str = "savepoint howdah_describe";
const END: &str = "rollback to savepoint howdah_describe; release savepoint howdah_describe";

/// Asks `question` between a savepoint and its end, which also takes an error back that the question met.
pub(super) async fn asked<T>(
    client: &Client,
    question: impl AsyncFnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    client.batch_execute(BEGIN).await.map_err(Error::of_question)?;
    let answer = question().await;
    let end = client.batch_execute(END).await.map_err(Error::of_question);
    // What the question says is the cause, if both failed.
    let answer = answer?;
    end.map(|()| answer)
}
