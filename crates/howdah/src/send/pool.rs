//! The worker pool of a load: a thread and a connection for each worker, which pulls the next morsel, encodes it and sends
//! it.
//!
//! Measured against encoder threads that hand chunks to senders through a queue, this shape took 5 % less time on two cores
//! and less CPU (`docs/pipeline.md`): a chunk stays in the cache of the core that made it, and no thread is woken to send it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use futures_util::stream::{FuturesUnordered, StreamExt};
use howdah_connect::{Connection, Target};
use howdah_message::setting;
use howdah_source::{Morsel, WorkerState};
use tokio::sync::{mpsc, oneshot, watch};

use crate::control::Control;
use crate::control::runtime::runtime;
use crate::encode::chunk::Chunk;
use crate::encode::reject::Reject;
use crate::encode::{Encoded, Encoder};
use crate::error::{Error, ErrorKind};
use crate::read::queue::InputQueue;
use crate::send::context::LoadContext;
use crate::send::timings::{Stopwatch, Timings};
use crate::send::worker::{Sent, Worker};

/// How long workers may take to come to an end, before the server is told and after.
const END_WITHIN: Duration = Duration::from_secs(1);

/// The workers of a load. Each is connected and waits for its job, runs it, or keeps its transaction open until the commit.
pub(crate) struct WorkerPool {
    workers: Vec<WorkerHandle>,
    /// Set once: every worker drops what it is doing and its thread ends.
    shutdown: watch::Sender<bool>,
}

/// A worker's thread, seen from the pool.
struct WorkerHandle {
    connection: Arc<Connection>,
    /// The connection's backend.
    pid: i32,
    /// Where its jobs go, one after the other.
    jobs: mpsc::UnboundedSender<Job>,
    /// Where the result of the job under way comes from, until that was received.
    result: Option<oneshot::Receiver<Result<Sent, Error>>>,
}

/// A pooler that has a server for a connection gives it within this time after the one before.
const NEXT_SERVER_PATIENCE: Duration = Duration::from_secs(3);
/// How long a load waits for the first.
const NO_SERVER_PATIENCE: Duration = Duration::from_secs(30);

/// What a worker is to do: send the rows of an input, and say what came of it.
type Job = (Arc<LoadContext>, Arc<InputQueue>, oneshot::Sender<Result<Sent, Error>>);

/// One worker of a pool, which sends inputs of its own, one after the other.
pub(crate) struct PoolWorker<'p>(&'p mut WorkerHandle);

impl WorkerPool {
    /// Opens `count` connections, each served by its worker's thread. A single worker uses `own`, which the caller's runtime
    /// serves, so that encoding and the socket have a thread each.
    ///
    /// # Errors
    /// A connection that cannot be made.
    pub(crate) async fn connect(
        own: &Arc<Connection>,
        target: &Target,
        count: usize,
    ) -> Result<WorkerPool, Error> {
        let (shutdown, ended) = watch::channel(false);
        let workers = (0..count).map(|_| {
            let given = (count == 1).then(|| own.clone());
            WorkerHandle::connect(given, target.clone(), ended.clone())
        });
        Ok(WorkerPool { workers: try_join_all(workers).await?, shutdown })
    }

    /// Begins the workers' transactions with `sql`. Returns how many workers are left: a pooler may have fewer servers than
    /// there are connections, and would let the others wait for the end of this load, which waits for them. They are given
    /// up, and one more, for the load's other questions.
    ///
    /// # Errors
    /// The server's; no connection got a server.
    pub(crate) async fn begin(&mut self, sql: &str) -> Result<usize, Error> {
        let begin = |at: usize, connection: Arc<Connection>| async move {
            (at, connection.client().batch_execute(sql).await)
        };
        let begun = self.connections().into_iter().enumerate().map(|(at, connection)| begin(at, connection));
        let mut begun: FuturesUnordered<_> = begun.collect();
        let mut ready = Vec::new();
        while !begun.is_empty() {
            let patience = if ready.is_empty() { NO_SERVER_PATIENCE } else { NEXT_SERVER_PATIENCE };
            match tokio::time::timeout(patience, begun.next()).await {
                Ok(Some((at, done))) => {
                    done?;
                    ready.push(at);
                }
                Ok(None) => break,
                Err(_) if ready.is_empty() => return Err(no_server()),
                Err(_) => {
                    ready.truncate((ready.len() - 1).max(1));
                    break;
                }
            }
        }
        drop(begun);
        for (at, worker) in std::mem::take(&mut self.workers).into_iter().enumerate() {
            if ready.contains(&at) {
                self.workers.push(worker);
            } else {
                worker.connection.abort();
            }
        }
        Ok(self.workers.len())
    }

    /// The connections, in no particular order.
    pub(crate) fn connections(&self) -> Vec<Arc<Connection>> {
        self.workers.iter().map(|worker| worker.connection.clone()).collect()
    }

    /// The failure of one of the connections, with what the server said when it ended it.
    pub(crate) fn told(&self, error: Error) -> Error {
        let words = self.workers.iter().find_map(|worker| worker.connection.last_words());
        error.told(words)
    }

    /// The workers, each for itself.
    pub(crate) fn apart(&mut self) -> impl Iterator<Item = PoolWorker<'_>> {
        self.workers.iter_mut().map(PoolWorker)
    }

    /// The connections' backends.
    pub(crate) fn pids(&self) -> Vec<i32> {
        self.workers.iter().map(|worker| worker.pid).collect()
    }

    /// Sends everything in `input`; transactions stay open.
    ///
    /// # Errors
    /// The failure that comes first in the input, or else the first that a server reported. The other workers are then told
    /// to stop, and those that only encode have stopped.
    pub(crate) async fn run(
        &mut self,
        context: &Arc<LoadContext>,
        input: &Arc<InputQueue>,
    ) -> Result<Vec<Sent>, Error> {
        let results = self.workers.iter_mut().map(|worker| worker.run(context, input));
        let sent = try_join_all(results).await;
        if sent.is_err() {
            input.stop();
            if let Some(commits) = &context.commits {
                commits.halt();
            }
            // A worker that has an earlier morsel may yet find the failure that comes first.
            let rest = self.workers.iter_mut().map(WorkerHandle::finish);
            let _ = tokio::time::timeout(END_WITHIN, join_all(rest)).await;
        }
        match input.take_failure() {
            Some(failure) => Err(failure),
            None => sent,
        }
    }

    /// Waits until no worker sends anything, cancelling their statements if that takes long. Returns whether all came to an
    /// end.
    pub(crate) async fn wait_until_idle(&mut self, control: &Control) -> bool {
        for _ in 0..2 {
            let busy = self.workers.iter_mut().filter(|worker| worker.result.is_some());
            let all = join_all(busy.map(WorkerHandle::wait_until_idle));
            let idle = control.clean_up(tokio::time::timeout(END_WITHIN, all)).await;
            if matches!(idle, Some(Ok(_))) {
                return true;
            }
            // A row may wait for a lock that another session holds.
            control.clean_up(join_all(self.workers.iter().map(|worker| worker.connection.cancel()))).await;
        }
        false
    }

    /// Ends all workers. Their connections close, which aborts open COPYs.
    pub(crate) fn shutdown(&self) {
        self.shutdown.send_replace(true);
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.shutdown();
    }
}

impl PoolWorker<'_> {
    /// The worker's connection.
    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.0.connection
    }

    /// Sends everything in `input`; the transaction stays open.
    ///
    /// # Errors
    /// As of [`WorkerPool::run`].
    pub(crate) async fn run(
        &mut self,
        context: &Arc<LoadContext>,
        input: &Arc<InputQueue>,
    ) -> Result<Sent, Error> {
        let sent = self.0.run(context, input).await;
        match input.take_failure() {
            Some(failure) => Err(failure),
            None => sent,
        }
    }
}

impl WorkerHandle {
    /// Starts a worker's thread, which uses the `given` connection or else opens one.
    #[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
    async fn connect(
        given: Option<Arc<Connection>>,
        target: Target,
        shutdown: watch::Receiver<bool>,
    ) -> Result<WorkerHandle, Error> {
        let (ready, connected) = oneshot::channel();
        let (jobs, receiver) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            let runtime = match runtime() {
                Ok(runtime) => runtime,
                Err(error) => {
                    let _ = ready.send(Err(error));
                    return;
                }
            };
            runtime.block_on(serve(given, target, ready, receiver, shutdown));
        });
        let (connection, pid) = connected.await.map_err(|_| panicked())??;
        Ok(WorkerHandle { connection, pid, jobs, result: None })
    }

    async fn run(&mut self, context: &Arc<LoadContext>, input: &Arc<InputQueue>) -> Result<Sent, Error> {
        let (report, result) = oneshot::channel();
        self.result = Some(result);
        // That the thread is gone shows below.
        let _ = self.jobs.send((context.clone(), input.clone(), report));
        self.finish().await
    }

    async fn wait_until_idle(&mut self) {
        if let Some(result) = &mut self.result {
            let _ = result.await;
            self.result = None;
        }
    }

    async fn finish(&mut self) -> Result<Sent, Error> {
        let Some(result) = &mut self.result else { return Err(panicked()) };
        let sent = result.await.map_err(|_| panicked()).and_then(|result| result);
        self.result = None;
        sent
    }
}

fn no_server() -> Error {
    Error::new(ErrorKind::Server, "the pooler has no server for the connections of this load")
        .with_sqlstate("53300")
        .with_hint(message![
            "take fewer connections (",
            setting::JOBS.number(1),
            "), or a pool that is larger"
        ])
}

fn panicked() -> Error {
    Error::new(ErrorKind::Internal, "a worker's thread panicked")
}

/// A worker's connection and its backend.
type Connected = Result<(Arc<Connection>, i32), Error>;

/// The life of a worker's thread: it connects, runs its jobs, and keeps the connection until the shutdown.
async fn serve(
    given: Option<Arc<Connection>>,
    target: Target,
    ready: oneshot::Sender<Connected>,
    mut jobs: mpsc::UnboundedReceiver<Job>,
    mut shutdown: watch::Receiver<bool>,
) {
    let connected = async {
        let connection = match given {
            Some(connection) => connection,
            None => Arc::new(target.connect().await?),
        };
        let pid = connection.pid().await?;
        Ok::<_, Error>((connection, pid))
    };
    let (connection, pid) = match connected.await {
        Ok(connected) => connected,
        Err(error) => {
            let _ = ready.send(Err(error));
            return;
        }
    };
    let _ = ready.send(Ok((connection.clone(), pid)));
    let work = async {
        while let Some((context, input, report)) = jobs.recv().await {
            let _ = report.send(send_input(connection.clone(), pid, &context, &input).await);
        }
        std::future::pending().await
    };
    tokio::select! {
        () = work => {}
        _ = shutdown.wait_for(|is_set| *is_set) => {}
    }
}

/// Pulls morsels from `input`, encodes and sends them, until the input ends.
async fn send_input(
    connection: Arc<Connection>,
    pid: i32,
    context: &LoadContext,
    input: &InputQueue,
) -> Result<Sent, Error> {
    let mut worker = Worker::new(connection, pid, context);
    let mut encoder = Encoder::new(context.plan.clone(), context.dense.clone(), context.control.clone());
    let mut state = WorkerState::default();
    let mut timings = Timings::default();
    let mut watch = Stopwatch::start();
    let (mut read, mut refused) = (0, 0);
    while let Some(morsel) = input.next(&mut state) {
        watch.lap(&mut timings.reading);
        let chunk = match encode(&mut encoder, &morsel, context).await {
            Ok((chunk, rejected)) => {
                read += chunk.rows.len() + rejected;
                refused += rejected;
                chunk
            }
            Err(error) => {
                input.fail(morsel.ordinal(), error);
                break;
            }
        };
        watch.lap(&mut timings.encoding);
        worker.send(chunk, morsel, &mut state, context).await?;
        watch.lap(&mut timings.waiting);
    }
    watch.lap(&mut timings.reading);
    if input.is_stopped() {
        return Err(Error::new(ErrorKind::Cancelled, "stopped"));
    }
    let sent = worker.finish(context, encoder.lattices).await?;
    watch.lap(&mut timings.waiting);
    Ok(Sent { read, refused: sent.refused + refused, timings, ..sent })
}

/// Encodes `morsel`, asking the server about literals that the codecs are unsure of. Rejected records go to the rejects, and
/// are counted.
///
/// # Errors
/// The first record that cannot be a row, if that ends the load; too many such records; no answer from the server.
pub(crate) async fn encode(
    encoder: &mut Encoder,
    morsel: &Morsel,
    context: &LoadContext,
) -> Result<(Chunk, u64), Error> {
    let mut keep = |rejects: &[Reject]| match &context.rejects {
        Some(file) => file.add(rejects),
        None => Ok(()),
    };
    loop {
        match encoder.encode(morsel, &mut keep)? {
            Encoded::Chunk(chunk, rejected) => {
                context.control.add_rows_read(chunk.rows.len() + rejected);
                return Ok((chunk, rejected));
            }
            Encoded::Unsure(open) => {
                for open in open {
                    let answers = context.resolver.ask(open.question()).await?;
                    encoder.learn(open, answers);
                }
            }
        }
    }
}
