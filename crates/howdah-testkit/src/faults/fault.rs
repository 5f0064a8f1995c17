//! What can go wrong between a client and its server: where it strikes, and what it does there.

use std::time::Duration;

use super::message::Direction;

/// Something that goes wrong once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The place in the conversation at which it strikes.
    pub place: Place,
    /// The harm that it does.
    pub harm: Harm,
}

/// A moment in what a client and its server say to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The next connection, before anything passes.
    Connection,
    /// The n-th message of a direction from now on (1 is the next), over all connections; a startup message counts. It
    /// does not arrive.
    Message(Direction, u64),
    /// The next COMMIT, or Sync behind a COPY that is in no transaction; the server does not get it.
    Commit,
    /// Just behind the next COMMIT: the server has it or will have it, and the client does not hear what becomes of it.
    BehindCommit,
    /// The server's next word that it has committed; the client does not get it.
    CommitReply,
}

/// The harm that a fault does to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harm {
    /// Both sides find their socket closed.
    Close,
    /// Both sides find their connection reset.
    Reset,
    /// Half of the message passes, then both sides find their socket closed.
    Half,
    /// Sockets stay open and nothing passes any more, until the proxy ends or cuts all its connections.
    BlackHole,
    /// The message, and all that is behind it, waits for that long.
    Stall(Duration),
    /// Both sides find their socket closed, and so do all other connections, until the proxy is told to come back.
    GoAway,
    /// The client finds its connection reset, and what it has sent arrives all the same: when so many further messages have
    /// passed on any connections, or the proxy is told to let it.
    Late(u64),
}

impl Harm {
    /// What reports of faults call it.
    pub fn name(self) -> &'static str {
        match self {
            Harm::Close => "close",
            Harm::Reset => "reset",
            Harm::Half => "half a message",
            Harm::BlackHole => "black hole",
            Harm::Stall(_) => "stall",
            Harm::GoAway => "go away",
            Harm::Late(_) => "late delivery",
        }
    }
}

/// The quality of the line while nothing goes wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Line {
    /// The time that bytes wait at least before they pass, in each direction.
    pub delay: Duration,
    /// At most so much longer, by chance.
    pub jitter: Duration,
    /// The most bytes a second that pass in one direction of a connection.
    pub bytes_per_second: Option<u32>,
}

/// A message that is about to pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passing {
    pub(super) direction: Direction,
    /// It is a COMMIT, or the word that it is done.
    pub(super) commits: bool,
}

/// Faults that have not struck yet, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Pending {
    faults: Vec<(u64, Fault)>,
    next: u64,
}

impl Pending {
    /// The number of the fault, which no other has.
    pub(super) fn add(&mut self, fault: Fault) -> u64 {
        self.next += 1;
        self.faults.push((self.next, fault));
        self.next
    }

    pub(super) fn holds(&self, number: u64) -> bool {
        self.faults.iter().any(|(other, _)| *other == number)
    }

    /// Forgets all of them; how many there were.
    pub(super) fn clear(&mut self) -> usize {
        std::mem::take(&mut self.faults).len()
    }

    /// What a new connection suffers.
    pub(super) fn at_connection(&mut self) -> Option<Harm> {
        self.strike(|place| place == Place::Connection)
    }

    /// What a message suffers instead of passing.
    pub(super) fn at(&mut self, message: Passing) -> Option<Harm> {
        for (_, fault) in &mut self.faults {
            if let Place::Message(direction, left) = &mut fault.place
                && *direction == message.direction
            {
                *left = left.saturating_sub(1);
            }
        }
        self.strike(|place| match place {
            Place::Message(direction, left) => direction == message.direction && left == 0,
            Place::Commit => message.commits && message.direction == Direction::ToServer,
            Place::CommitReply => message.commits && message.direction == Direction::ToClient,
            Place::Connection | Place::BehindCommit => false,
        })
    }

    /// What a connection suffers when this message has passed.
    pub(super) fn behind(&mut self, message: Passing) -> Option<Harm> {
        let committing = message.commits && message.direction == Direction::ToServer;
        self.strike(|place| committing && place == Place::BehindCommit)
    }

    fn strike(&mut self, here: impl Fn(Place) -> bool) -> Option<Harm> {
        let index = self.faults.iter().position(|(_, fault)| here(fault.place))?;
        Some(self.faults.remove(index).1.harm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_strikes_once_and_where_it_was_put() {
        let mut pending = Pending::default();
        let to = |direction| Passing { direction, commits: false };
        pending.add(Fault { place: Place::Message(Direction::ToServer, 2), harm: Harm::Reset });
        assert_eq!(pending.at(to(Direction::ToServer)), None);
        assert_eq!(pending.at(to(Direction::ToClient)), None);
        assert_eq!(pending.at(to(Direction::ToServer)), Some(Harm::Reset));
        assert_eq!(pending.at(to(Direction::ToServer)), None);

        let commit = Passing { direction: Direction::ToServer, commits: true };
        let done = Passing { direction: Direction::ToClient, commits: true };
        pending.add(Fault { place: Place::CommitReply, harm: Harm::Close });
        pending.add(Fault { place: Place::BehindCommit, harm: Harm::Half });
        assert_eq!((pending.at(commit), pending.behind(commit)), (None, Some(Harm::Half)));
        assert_eq!((pending.at(done), pending.clear()), (Some(Harm::Close), 0));
    }
}
