//! The dry run: every record is judged as the load would judge it, and nothing is sent but questions.

use std::sync::Arc;
use std::time::Instant;

use super::{Decision, Load};
use crate::connect::Connection;
use crate::control::Phase;
use crate::encode::Encoder;
use crate::error::Error;
use crate::read::feed::{self, Feed};
use crate::send::crew;
use crate::send::lane::Freight;
use crate::source::{Hold, Supply};

impl Load<'_> {
    /// Reads the whole input and keeps refused records apart, or names the first.
    pub(super) async fn judge(
        &mut self,
        connection: &Connection,
        supply: Supply,
        decision: &Decision,
    ) -> Result<(), Error> {
        let start = Instant::now();
        self.control.enter(Phase::Judging);
        let freight = Arc::new(self.freight(decision, &self.target.pinned_to(connection)));
        let feed = Feed::new(supply);
        let threads = (0..decision.jobs.count).map(|_| {
            let (feed, freight) = (feed.clone(), freight.clone());
            feed::off_thread(self.control, move || read(&feed, &freight))
        });
        let judged = futures_util::future::try_join_all(threads).await;
        feed.stop();
        judged?.into_iter().collect::<Result<(), Error>>()?;
        self.report.phases.load_s = start.elapsed().as_secs_f64();
        if let Some(failure) = feed.take_failure() {
            return Err(failure.nothing_changed());
        }
        self.report.outcome = "planned";
        self.close_rejects(decision)
    }
}

/// One reading thread.
fn read(feed: &Feed, freight: &Freight) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| Error::cannot_start("a runtime", error))?;
    let mut encoder = Encoder::new(freight.plan.clone(), freight.dense.clone(), freight.control.clone());
    let mut hold = Hold::default();
    while let Some(morsel) = feed.next(&mut hold) {
        if let Err(error) = runtime.block_on(crew::encode(&mut encoder, &morsel, freight)) {
            feed.fail(morsel.ordinal(), error);
            break;
        }
        hold.reuse(morsel);
    }
    Ok(())
}
