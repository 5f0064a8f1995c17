//! The crew: one thread a lane. Each pulls the next morsel, encodes it and sends it, on a connection of its own.
//!
//! Measured against encoder threads that feed lanes through a queue, this shape took 5 % less time on two cores and less
//! CPU (`docs/pipeline.md`): a chunk stays in the cache of the core that made it, and nobody is woken to send it.

use std::sync::Arc;

use futures_util::future::{join_all, try_join_all};
use tokio::sync::{oneshot, watch};

use crate::connect::{Connection, Target};
use crate::encode::chunk::Chunk;
use crate::encode::rejects::Reject;
use crate::encode::{Encoded, Encoder};
use crate::error::{Error, ErrorKind};
use crate::read::feed::Feed;
use crate::send::lane::{Freight, Lane, Sent};
use crate::send::spent::{Spent, Stopwatch};
use crate::source::{Hold, Morsel};

/// The lanes of a load, mustered and waiting for work, working, or waiting for the commit.
pub(crate) struct Crew {
    members: Vec<Member>,
    /// Set once: everybody goes home, whatever they are doing.
    dismissed: watch::Sender<bool>,
}

struct Member {
    connection: Arc<Connection>,
    pid: i32,
    work: Option<oneshot::Sender<(Arc<Freight>, Arc<Feed>)>>,
    sent: Option<oneshot::Receiver<Result<Sent, Error>>>,
}

impl Crew {
    /// Opens `count` connections, each served by its lane's thread. A single lane uses `own`, which the caller's runtime
    /// serves: then the encoding and the socket have a thread each.
    ///
    /// # Errors
    /// A connection that cannot be made.
    pub(crate) async fn muster(own: &Arc<Connection>, target: &Target, count: usize) -> Result<Crew, Error> {
        let (dismissed, leave) = watch::channel(false);
        let members = (0..count).map(|_| {
            let given = (count == 1).then(|| own.clone());
            Member::muster(given, target.clone(), leave.clone())
        });
        Ok(Crew { members: try_join_all(members).await?, dismissed })
    }

    /// The connections, in no particular order.
    pub(crate) fn connections(&self) -> Vec<Arc<Connection>> {
        self.members.iter().map(|member| member.connection.clone()).collect()
    }

    /// The connections' backends.
    pub(crate) fn pids(&self) -> Vec<i32> {
        self.members.iter().map(|member| member.pid).collect()
    }

    /// Lets every lane carry what `feed` gives until it ends; transactions stay open.
    ///
    /// # Errors
    /// The failure that stands first in the input, else the first that a server reported. The others are then told to
    /// stop, and those that only encode have stopped.
    pub(crate) async fn carry(
        &mut self,
        freight: &Arc<Freight>,
        feed: &Arc<Feed>,
    ) -> Result<Vec<Sent>, Error> {
        let results = self.members.iter_mut().map(|member| member.carry(freight, feed));
        let carried = try_join_all(results).await;
        if carried.is_err() {
            feed.stop();
            if let Some(commits) = &freight.commits {
                commits.halt();
            }
            // A lane with an earlier morsel in hand may yet find the failure that stands before.
            let rest = self.members.iter_mut().map(Member::finish);
            let _ = tokio::time::timeout(std::time::Duration::from_secs(1), join_all(rest)).await;
        }
        match feed.take_failure() {
            Some(failure) => Err(failure),
            None => carried,
        }
    }

    /// Waits until no lane sends any more, telling the server when it takes long. Whether all came to an end.
    pub(crate) async fn settle(&mut self) -> bool {
        for _ in 0..2 {
            let all =
                join_all(self.members.iter_mut().filter(|member| member.sent.is_some()).map(Member::settle));
            if tokio::time::timeout(std::time::Duration::from_secs(1), all).await.is_ok() {
                return true;
            }
            // A row may wait for a lock of somebody else.
            for member in &self.members {
                let _ = member.connection.cancel().await;
            }
        }
        false
    }

    /// Sends everybody home; connections close, open COPYs are aborted.
    pub(crate) fn dismiss(&self) {
        self.dismissed.send_replace(true);
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.dismiss();
    }
}

impl Member {
    async fn muster(
        given: Option<Arc<Connection>>,
        target: Target,
        leave: watch::Receiver<bool>,
    ) -> Result<Member, Error> {
        let (ready, mustered) = oneshot::channel();
        let (work, orders) = oneshot::channel();
        let (report, sent) = oneshot::channel();
        std::thread::spawn(move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => {
                    let _ = ready.send(Err(Error::cannot_start("a runtime", error)));
                    return;
                }
            };
            runtime.block_on(serve(given, target, ready, orders, report, leave));
        });
        let (connection, pid) = mustered.await.map_err(|_| gone())??;
        Ok(Member { connection, pid, work: Some(work), sent: Some(sent) })
    }

    async fn carry(&mut self, freight: &Arc<Freight>, feed: &Arc<Feed>) -> Result<Sent, Error> {
        if let Some(work) = self.work.take() {
            // A thread that is gone answers below.
            let _ = work.send((freight.clone(), feed.clone()));
        }
        self.finish().await
    }

    async fn settle(&mut self) {
        if let Some(sent) = &mut self.sent {
            let _ = sent.await;
            self.sent = None;
        }
    }

    async fn finish(&mut self) -> Result<Sent, Error> {
        let Some(sent) = &mut self.sent else { return Err(gone()) };
        let result = sent.await.map_err(|_| gone()).and_then(|result| result);
        self.sent = None;
        result
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Internal, "a lane's thread panicked")
}

type Mustered = Result<(Arc<Connection>, i32), Error>;

/// A lane's life: connect, wait for work, carry, keep the connection until dismissed.
async fn serve(
    given: Option<Arc<Connection>>,
    target: Target,
    ready: oneshot::Sender<Mustered>,
    orders: oneshot::Receiver<(Arc<Freight>, Arc<Feed>)>,
    report: oneshot::Sender<Result<Sent, Error>>,
    mut leave: watch::Receiver<bool>,
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
        let Ok((freight, feed)) = orders.await else { return };
        let _ = report.send(carry(connection, pid, &freight, &feed).await);
        std::future::pending().await
    };
    tokio::select! {
        () = work => {}
        _ = leave.wait_for(|dismissed| *dismissed) => {}
    }
}

async fn carry(connection: Arc<Connection>, pid: i32, freight: &Freight, feed: &Feed) -> Result<Sent, Error> {
    let mut lane = Lane::new(connection, pid, freight);
    let mut encoder = Encoder::new(freight.plan.clone(), freight.dense.clone(), freight.control.clone());
    let mut hold = Hold::default();
    let mut spent = Spent::default();
    let mut watch = Stopwatch::start();
    while let Some(morsel) = feed.next(&mut hold) {
        watch.lap(&mut spent.reading);
        let chunk = match encode(&mut encoder, &morsel, freight).await {
            Ok(chunk) => chunk,
            Err(error) => {
                feed.fail(morsel.ordinal(), error);
                break;
            }
        };
        watch.lap(&mut spent.encoding);
        lane.send(chunk, morsel, &mut hold, freight).await?;
        watch.lap(&mut spent.waiting);
    }
    watch.lap(&mut spent.reading);
    if feed.is_stopped() {
        return Err(Error::new(ErrorKind::Cancelled, "stopped"));
    }
    let sent = lane.finish(freight, encoder.lattices).await?;
    watch.lap(&mut spent.waiting);
    Ok(Sent { spent, ..sent })
}

/// Encodes `morsel`, with the server's help where the codecs need it; refused records are kept apart.
///
/// # Errors
/// The first record that cannot be a row, when such records end the load; too many of them; no answer from the server.
pub(crate) async fn encode(
    encoder: &mut Encoder,
    morsel: &Morsel,
    freight: &Freight,
) -> Result<Chunk, Error> {
    let mut keep = |rejects: &[Reject]| match &freight.rejects {
        Some(file) => file.add(rejects),
        None => Ok(()),
    };
    loop {
        match encoder.encode(morsel, &mut keep)? {
            Encoded::Chunk(chunk, rejected) => {
                freight.control.add_rows_read(chunk.rows.len() + rejected);
                return Ok(chunk);
            }
            Encoded::Open(open) => {
                for open in open {
                    let answers = freight.resolver.ask(open.question()).await?;
                    encoder.learn(open, answers);
                }
            }
        }
    }
}
