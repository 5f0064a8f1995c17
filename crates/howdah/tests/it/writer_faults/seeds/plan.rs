//! What a seed means: who writes what, how, and what goes wrong meanwhile.

use std::time::Duration;

use howdah::writer::{Delivery, WriterOptions, WriterPath};
use howdah_testkit::Rng;
use howdah_testkit::faults::{Direction, Fault, Harm, Line, Place};

const MS: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) options: WriterOptions,
    /// The table has a unique index.
    pub(super) is_keyed: bool,
    /// Between the proxy and the server there is a pooler, in session mode: the one of Debian forgets what was prepared in the other.
    pub(super) is_pooled: bool,
    /// Its commits wait for a standby, where one is asked for.
    pub(super) is_synchronous: bool,
    pub(super) line: Line,
    pub(super) producers: Vec<Producer>,
    /// What happens when so many rows were accepted, in this order.
    pub(super) troubles: Vec<(usize, Trouble)>,
    pub(super) ending: Ending,
}

#[derive(Debug)]
pub(super) struct Producer {
    pub(super) rows: i64,
    /// Bytes of a row's text.
    pub(super) payload: usize,
    /// Every so many rows there is one that the table refuses.
    pub(super) bad_every: Option<i64>,
    pub(super) pause_every: i64,
    pub(super) pause: Duration,
}

#[derive(Debug)]
pub(super) enum Trouble {
    Wire(Fault),
    /// All connections at once.
    Cut(Harm),
    /// The server cannot be reached for so long.
    Away(Duration, Harm),
    /// An administrator ends all backends.
    Terminate,
    /// An administrator cancels whatever they do, so many times. (A BEGIN that was cancelled once let its part be noted
    /// without its rows.)
    Cancel(u64),
    /// Somebody else has the table for so long.
    Lock(Duration),
    /// A backend stands still for so long; its connection is cut meanwhile, or is not.
    Freeze(Duration, bool),
    /// The standby that commits wait for is away for so long.
    StandbyAway(Duration),
    /// Somebody adds a column to the table, and drops it again.
    Alter,
    /// One thing goes wrong, and the next while that is put right.
    Twice(Fault, Fault),
}

impl Trouble {
    /// What reports call it, if it is not the wire's.
    pub(super) fn name(&self) -> Option<&'static str> {
        Some(match self {
            Trouble::Wire(_) => return None,
            Trouble::Cut(_) => "cut of all connections",
            Trouble::Away(..) => "server away",
            Trouble::Terminate => "terminated backends",
            Trouble::Cancel(_) => "cancelled statements",
            Trouble::Lock(_) => "locked table",
            Trouble::Freeze(..) => "frozen backend",
            Trouble::StandbyAway(_) => "standby away",
            Trouble::Alter => "altered table",
            Trouble::Twice(..) => "second fault during recovery",
        })
    }
}

/// Everything that can happen in a run, by its name.
pub(super) const ALL: [&str; 16] = [
    "close",
    "reset",
    "half a message",
    "stall",
    "late delivery",
    "cut of all connections",
    "server away",
    "terminated backends",
    "cancelled statements",
    "locked table",
    "frozen backend",
    "standby away",
    "altered table",
    "second fault during recovery",
    "pooler between",
    "found out",
];

/// What happens when all rows were accepted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ending {
    /// Acknowledgements are waited for.
    Settle,
    /// `flush`, then the same.
    Flush,
    /// `close`, which may end before all is written.
    Close(Duration),
}

impl Plan {
    pub(super) fn drawn_from(seed: u64) -> Plan {
        let mut rng = Rng::new(seed);
        let options = WriterOptions::default()
            .max_rows(rng.one_of(&[1, 2, 7, 30, 200]))
            .max_bytes(rng.one_of(&[1000, 20_000, 1 << 20]))
            .max_age(rng.one_of(&[0_u32, 1, 5]) * MS)
            .connections(rng.one_of(&[1, 2, 4]))
            .queue_rows(rng.one_of(&[1, 10, 100, 1000]))
            .queue_bytes(rng.one_of(&[1000, 1 << 20]))
            .path(rng.one_of(&[WriterPath::Auto, WriterPath::Copy, WriterPath::Insert]))
            .copy_from_rows(rng.one_of(&[2, 16]))
            .delivery(if rng.once_in(6) { Delivery::AtLeastOnce } else { Delivery::ExactlyOnce })
            .adaptive(rng.once_in(3))
            .retry_for(Duration::from_secs(60));
        // A queue of few rows makes a round trip of each.
        let most_rows = if options.max_rows * options.queue_rows < 50 { 60 } else { 400 };
        let producers: Vec<_> =
            (0..rng.within(1..4)).map(|_| Producer::drawn_from(&mut rng, most_rows)).collect();
        let rows: i64 = producers.iter().map(|producer| producer.rows).sum();
        let mut troubles: Vec<_> = (0..rng.within(1..6))
            .map(|_| {
                (
                    rng.within(0..u64::try_from(rows).unwrap()).try_into().unwrap(),
                    Trouble::drawn_from(&mut rng),
                )
            })
            .collect();
        troubles.sort_by_key(|(after, _)| *after);
        Plan {
            seed,
            is_keyed: options.delivery == Delivery::ExactlyOnce && rng.once_in(3),
            is_pooled: rng.once_in(10),
            // Nobody else waits for a standby.
            is_synchronous: rng.once_in(4)
                || troubles.iter().any(|(_, trouble)| matches!(trouble, Trouble::StandbyAway(_))),
            options,
            line: line(&mut rng),
            producers,
            troubles,
            ending: match rng.within(0..5) {
                0 | 1 => Ending::Settle,
                2 => Ending::Flush,
                3 => Ending::Close(Duration::from_secs(60)),
                _ => Ending::Close(rng.up_to(30 * MS)),
            },
        }
    }

    pub(super) fn is_exactly_once(&self) -> bool {
        self.options.delivery == Delivery::ExactlyOnce
    }
}

impl Producer {
    fn drawn_from(rng: &mut Rng, most_rows: u64) -> Producer {
        Producer {
            rows: rng.within(1..most_rows).cast_signed(),
            payload: rng.one_of(&[0, 10, 300, 3000]),
            bad_every: rng.once_in(5).then(|| rng.one_of(&[3, 50])),
            pause_every: rng.one_of(&[1, 10, 100]),
            pause: if rng.once_in(3) { rng.up_to(MS) } else { Duration::ZERO },
        }
    }
}

impl Trouble {
    fn drawn_from(rng: &mut Rng) -> Trouble {
        let cut = rng.one_of(&[Harm::Close, Harm::Reset]);
        match rng.within(0..24) {
            16 | 17 => Trouble::Freeze(rng.up_to(40 * MS), rng.once_in(2)),
            18 => Trouble::StandbyAway(rng.up_to(30 * MS)),
            19 => Trouble::Alter,
            20 | 21 => {
                let nth = rng.within(1..12);
                let second = rng.one_of(&[Place::Connection, Place::Message(Direction::ToServer, nth)]);
                Trouble::Twice(
                    Fault { place: rng.one_of(&[Place::CommitReply, Place::BehindCommit]), harm: cut },
                    Fault { place: second, harm: harm(rng) },
                )
            }
            22 | 23 => {
                let nth = rng.within(1..30);
                let place = rng.one_of(&[Place::Commit, Place::Message(Direction::ToServer, nth)]);
                Trouble::Wire(Fault { place, harm: Harm::Late(rng.one_of(&[1, 10, 100, u64::MAX])) })
            }
            0..8 => Trouble::Wire(Fault { place: place(rng), harm: harm(rng) }),
            8 | 9 => Trouble::Cut(cut),
            10 => Trouble::Away(rng.up_to(60 * MS), Harm::BlackHole),
            11 => Trouble::Away(rng.up_to(60 * MS), cut),
            12 | 13 => Trouble::Terminate,
            14 => Trouble::Cancel(rng.within(1..30)),
            _ => Trouble::Lock(rng.up_to(30 * MS)),
        }
    }
}

fn place(rng: &mut Rng) -> Place {
    let direction = rng.one_of(&[Direction::ToServer, Direction::ToClient]);
    let nth = rng.within(1..60);
    rng.one_of(&[
        Place::Message(direction, nth),
        Place::Message(direction, nth),
        Place::Commit,
        Place::BehindCommit,
        Place::CommitReply,
        Place::CommitReply,
        Place::Connection,
    ])
}

fn harm(rng: &mut Rng) -> Harm {
    let stall = Harm::Stall(rng.up_to(30 * MS));
    let late = Harm::Late(rng.one_of(&[1, 10, 100, u64::MAX]));
    rng.one_of(&[Harm::Close, Harm::Close, Harm::Reset, Harm::Reset, Harm::Half, late, stall])
}

fn line(rng: &mut Rng) -> Line {
    if rng.within(0..3) > 0 {
        return Line::default();
    }
    let narrow = rng.once_in(4).then_some(2_000_000);
    Line { delay: rng.up_to(2 * MS), jitter: rng.up_to(2 * MS), bytes_per_second: narrow }
}

#[test]
fn one_seed_is_one_plan() {
    let plan = |seed| format!("{:?}", Plan::drawn_from(seed));
    assert_eq!(plan(7), plan(7));
    assert_ne!(plan(7), plan(8));
}
