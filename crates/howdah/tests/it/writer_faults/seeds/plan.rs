//! What a seed means: who writes what, how, and what goes wrong meanwhile.

use std::time::Duration;

use howdah::writer::{Delivery, WriterOptions, WriterPath};
use howdah_testkit::Dice;
use howdah_testkit::faults::{Direction, Fault, Harm, Line, Place};

const MS: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) options: WriterOptions,
    /// The table has a unique index.
    pub(super) is_keyed: bool,
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
}

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
        let mut dice = Dice::new(seed);
        let options = WriterOptions {
            max_rows: dice.one_of(&[1, 2, 7, 30, 200]),
            max_bytes: dice.one_of(&[1000, 20_000, 1 << 20]),
            max_age: dice.one_of(&[0_u32, 1, 5]) * MS,
            connections: dice.one_of(&[1, 2, 4]),
            queue_rows: dice.one_of(&[1, 10, 100, 1000]),
            queue_bytes: dice.one_of(&[1000, 1 << 20]),
            path: dice.one_of(&[WriterPath::Auto, WriterPath::Copy, WriterPath::Insert]),
            copy_from_rows: dice.one_of(&[2, 16]),
            delivery: if dice.once_in(6) { Delivery::AtLeastOnce } else { Delivery::ExactlyOnce },
            adaptive: dice.once_in(3),
            retry_for: Duration::from_secs(60),
            ..WriterOptions::default()
        };
        // A queue of few rows makes a round trip of each.
        let most_rows = if options.max_rows * options.queue_rows < 50 { 60 } else { 400 };
        let producers: Vec<_> =
            (0..dice.within(1..4)).map(|_| Producer::drawn_from(&mut dice, most_rows)).collect();
        let rows: i64 = producers.iter().map(|producer| producer.rows).sum();
        let mut troubles: Vec<_> = (0..dice.within(1..6))
            .map(|_| {
                (
                    dice.within(0..u64::try_from(rows).unwrap()).try_into().unwrap(),
                    Trouble::drawn_from(&mut dice),
                )
            })
            .collect();
        troubles.sort_by_key(|(after, _)| *after);
        Plan {
            seed,
            is_keyed: options.delivery == Delivery::ExactlyOnce && dice.once_in(3),
            options,
            line: line(&mut dice),
            producers,
            troubles,
            ending: match dice.within(0..5) {
                0 | 1 => Ending::Settle,
                2 => Ending::Flush,
                3 => Ending::Close(Duration::from_secs(60)),
                _ => Ending::Close(dice.up_to(30 * MS)),
            },
        }
    }

    pub(super) fn is_exactly_once(&self) -> bool {
        self.options.delivery == Delivery::ExactlyOnce
    }
}

impl Producer {
    fn drawn_from(dice: &mut Dice, most_rows: u64) -> Producer {
        Producer {
            rows: dice.within(1..most_rows).cast_signed(),
            payload: dice.one_of(&[0, 10, 300, 3000]),
            bad_every: dice.once_in(5).then(|| dice.one_of(&[3, 50])),
            pause_every: dice.one_of(&[1, 10, 100]),
            pause: if dice.once_in(3) { dice.up_to(MS) } else { Duration::ZERO },
        }
    }
}

impl Trouble {
    fn drawn_from(dice: &mut Dice) -> Trouble {
        let cut = dice.one_of(&[Harm::Close, Harm::Reset]);
        match dice.within(0..16) {
            0..8 => Trouble::Wire(Fault { place: place(dice), harm: harm(dice) }),
            8 | 9 => Trouble::Cut(cut),
            10 => Trouble::Away(dice.up_to(60 * MS), Harm::BlackHole),
            11 => Trouble::Away(dice.up_to(60 * MS), cut),
            12 | 13 => Trouble::Terminate,
            14 => Trouble::Cancel(dice.within(1..30)),
            _ => Trouble::Lock(dice.up_to(30 * MS)),
        }
    }
}

fn place(dice: &mut Dice) -> Place {
    let direction = dice.one_of(&[Direction::ToServer, Direction::ToClient]);
    let nth = dice.within(1..60);
    dice.one_of(&[
        Place::Message(direction, nth),
        Place::Message(direction, nth),
        Place::Commit,
        Place::BehindCommit,
        Place::CommitReply,
        Place::CommitReply,
        Place::Connection,
    ])
}

fn harm(dice: &mut Dice) -> Harm {
    let stall = Harm::Stall(dice.up_to(30 * MS));
    dice.one_of(&[Harm::Close, Harm::Close, Harm::Reset, Harm::Reset, Harm::Half, stall])
}

fn line(dice: &mut Dice) -> Line {
    if dice.within(0..3) > 0 {
        return Line::default();
    }
    let narrow = dice.once_in(4).then_some(2_000_000);
    Line { delay: dice.up_to(2 * MS), jitter: dice.up_to(2 * MS), bytes_per_second: narrow }
}

#[test]
fn one_seed_is_one_plan() {
    let plan = |seed| format!("{:?}", Plan::drawn_from(seed));
    assert_eq!(plan(7), plan(7));
    assert_ne!(plan(7), plan(8));
}
