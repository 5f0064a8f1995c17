//! The dry run: every record is checked as the load would check it, and nothing is sent but questions.

use std::sync::Arc;
use std::time::Instant;

use howdah_connect::Connection;
use howdah_source::{MorselSource, WorkerState};

use super::{Load, Setup};
use crate::control::Phase;
use crate::control::runtime::runtime;
use crate::encode::Encoder;
use crate::error::Error;
use crate::read::queue::{self, InputQueue};
use crate::report::Outcome;
use crate::send::context::LoadContext;
use crate::send::pool;

impl Load<'_> {
    /// Reads the whole input and keeps rejected records apart, or names the first.
    pub(super) async fn dry_run(
        &mut self,
        connection: &Connection,
        morsels: MorselSource,
        decision: &Setup,
    ) -> Result<(), Error> {
        let start = Instant::now();
        self.control.enter(Phase::Judging);
        let context = Arc::new(self.context(decision, &self.target.pinned_to(connection)));
        let input = InputQueue::new(morsels);
        let threads = (0..decision.jobs.count).map(|_| {
            let (input, context) = (input.clone(), context.clone());
            queue::off_thread(self.control, move || read(&input, &context))
        });
        let judged = futures_util::future::try_join_all(threads).await;
        input.stop();
        judged?.into_iter().collect::<Result<(), Error>>()?;
        self.report.phases.load_s = start.elapsed().as_secs_f64();
        if let Some(failure) = input.take_failure() {
            return Err(failure.nothing_changed());
        }
        self.report.outcome = Outcome::Planned;
        self.close_rejects(decision)
    }
}

/// One reading thread.
fn read(input: &InputQueue, context: &LoadContext) -> Result<(), Error> {
    let runtime = runtime()?;
    let mut encoder = Encoder::new(context.plan.clone(), context.dense.clone(), context.control.clone());
    let mut state = WorkerState::default();
    while let Some(morsel) = input.next(&mut state) {
        if let Err(error) = runtime.block_on(pool::encode(&mut encoder, &morsel, context)) {
            input.fail(morsel.ordinal(), error);
            break;
        }
        state.reuse(morsel);
    }
    Ok(())
}
