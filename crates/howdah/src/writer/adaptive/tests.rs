//! Decisions on simulated time. The best fixed setting is found by trying many in the same simulation.

use std::time::Duration;

use super::super::arrivals::Arrived;
use super::simulation::{FAR, How, NEAR, Server, SimulationRun, Workload, run};
use super::{Controller, Decision, Limits, Observation};

const LIMITS: Limits = Limits {
    max_rows: 5_000,
    max_bytes: 64 << 20,
    connections: 4,
    queue_rows: 100_000,
    latency_target: None,
};

fn aiming_at(milliseconds: u64) -> Limits {
    Limits { latency_target: Some(Duration::from_millis(milliseconds)), ..LIMITS }
}

fn adaptive(server: &Server, load: &Workload, limits: Limits, seconds: usize, seed: u64) -> SimulationRun {
    run(server, load, How::Adaptive(limits), seconds, seed)
}

/// Rows a second and the 99th percentile in milliseconds of many fixed settings, the same for each queue that is this many
/// times what is under way.
fn fixed_settings(server: &Server, load: &Workload, queues: &[f64]) -> Vec<(f64, f64)> {
    let mut outcomes = Vec::new();
    for connections in 1..=LIMITS.connections {
        for batch_rows in [16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096] {
            for queue in queues {
                let queue_rows =
                    super::whole(queue * (connections * batch_rows) as f64).min(LIMITS.queue_rows);
                let run =
                    run(server, load, How::Fixed(Decision { batch_rows, connections, queue_rows }), 4, 1);
                outcomes.push((run.rate(1..4), run.p99(1..4)));
            }
        }
    }
    outcomes
}

/// The highest rate of those whose 99th percentile is at most this.
fn best(settings: &[(f64, f64)], milliseconds: f64) -> f64 {
    settings.iter().filter(|(_, p99)| *p99 <= milliseconds).map(|(rate, _)| *rate).fold(0.0, f64::max)
}

#[test]
fn throughput_is_that_of_the_best_fixed_setting() {
    for server in [NEAR, FAR] {
        let best = best(&fixed_settings(&server, &Workload::Endless, &[1e9]), f64::INFINITY);
        for seed in 1..=3 {
            let rate = adaptive(&server, &Workload::Endless, LIMITS, 12, seed).rate(2..12);
            assert!(rate >= 0.9 * best, "seed {seed}: {rate} of {best} with {server:?}");
        }
    }
}

#[test]
fn programs_that_wait_for_their_rows_get_as_many_through_as_the_best_fixed_setting() {
    for (server, rows) in [(NEAR, 500), (NEAR, 2_000), (FAR, 2_000)] {
        let best = best(&fixed_settings(&server, &Workload::Closed(rows), &[1e9]), f64::INFINITY);
        for seed in 1..=3 {
            let rate = adaptive(&server, &Workload::Closed(rows), LIMITS, 8, seed).rate(2..8);
            assert!(rate >= 0.9 * best, "seed {seed}, {rows} rows: {rate} of {best} with {server:?}");
        }
    }
}

#[test]
fn back_pressure_holds_the_target_when_more_is_offered_than_can_be_written() {
    for (server, targets) in [(NEAR, &[5, 20, 100][..]), (FAR, &[20, 100])] {
        let settings = fixed_settings(&server, &Workload::Endless, &[1.2, 1.6, 2.0, 3.0, 5.0]);
        for target in targets {
            let best = best(&settings, *target as f64);
            for seed in 1..=3 {
                let run = adaptive(&server, &Workload::Endless, aiming_at(*target), 8, seed);
                let (rate, p99) = (run.rate(2..8), run.p99(2..8));
                assert!(p99 <= *target as f64, "seed {seed}: {p99} ms for {target} with {server:?}");
                assert!(rate >= 0.85 * best, "seed {seed}, {target} ms: {rate} of {best} with {server:?}");
            }
        }
    }
}

#[test]
fn a_target_is_held_while_the_load_steps_up_and_down() {
    // Peaks are a little below the rate that back-pressure would allow. Connections are opened on the way.
    for (server, target, peak) in
        [(NEAR, 5, 85e3), (NEAR, 20, 112e3), (NEAR, 100, 118e3), (FAR, 20, 42e3), (FAR, 100, 115e3)]
    {
        let share = |second: f64| {
            if second < 4.0 {
                0.2
            } else if second < 9.0 {
                0.9
            } else {
                0.4
            }
        };
        for seed in 1..=4 {
            let random = Workload::Open(Box::new(move |second| peak * share(second)));
            let even = Workload::Even(Box::new(move |second| peak * share(second)));
            for load in [random, even] {
                let run = adaptive(&server, &load, aiming_at(target), 12, seed);
                let p99 = run.p99(1..12);
                assert!(p99 <= target as f64, "seed {seed}: {p99} ms for {target} with {server:?}");
            }
        }
    }
}

#[test]
fn bursts_of_a_second_are_within_the_target() {
    let load = Workload::Open(Box::new(|second| if second % 2.0 < 1.0 { 100e3 } else { 10e3 }));
    for seed in 1..=3 {
        let p99 = adaptive(&NEAR, &load, aiming_at(20), 12, seed).p99(2..12);
        assert!(p99 <= 20.0, "seed {seed}: {p99} ms");
    }
}

#[test]
fn a_stall_of_the_server_is_forgotten() {
    let server = Server { stalls: Some((5.0, 0.3)), ..NEAR };
    let load = Workload::Open(Box::new(|_| 80e3));
    for seed in 1..=3 {
        let run = adaptive(&server, &load, aiming_at(20), 15, seed);
        assert!(run.p99(5..6) > 200.0, "there was none");
        for second in [4, 7, 8, 9, 12, 13, 14] {
            let (rate, p99) = (run.rate(second..second + 1), run.p99(second..second + 1));
            assert!(p99 <= 20.0 && rate > 78e3, "seed {seed}, second {second}: {p99} ms, {rate} rows/s");
        }
    }
}

#[test]
fn a_server_that_becomes_slower_is_noticed() {
    let server = Server { slower: Some((4.0, 3.0)), ..NEAR };
    let load = Workload::Open(Box::new(|_| 25e3));
    for seed in 1..=3 {
        let run = adaptive(&server, &load, aiming_at(20), 10, seed);
        assert!(run.p99(5..10) <= 20.0, "seed {seed}: {} ms", run.p99(5..10));
        let run = adaptive(&server, &Workload::Endless, aiming_at(20), 10, seed);
        assert!(run.p99(5..10) <= 20.0, "seed {seed}: {} ms when pressed", run.p99(5..10));
    }
}

#[test]
fn a_program_that_begins_after_a_pause_to_write_as_fast_as_it_can_is_held_back() {
    for rows in [400, 1_000, 100_000] {
        for (from, rate) in [(0.0, 300e3), (0.0, 1e6), (1.0, 300e3), (1.0, 1e6), (6.0, 300e3), (6.0, 1e6)] {
            let run = adaptive(&NEAR, &Workload::Eager { from, rows, rate }, aiming_at(5), 12, 1);
            let p99 = run.p99(9..12);
            assert!(p99 <= 5.0, "{rows} rows from {from} s on, {rate} a second: {p99} ms");
        }
    }
}

#[test]
fn a_load_that_larger_batches_carry_is_carried_where_the_target_cannot_be_held() {
    let server = Server { slower: Some((4.0, 1.2)), ..NEAR };
    for seed in 1..=20 {
        let run = adaptive(&server, &Workload::Open(Box::new(|_| 80e3)), aiming_at(5), 10, seed);
        let (rate, p99) = (run.rate(5..10), run.p99(6..10));
        assert!(rate > 79e3 && p99 < 12.0, "seed {seed}: {rate} rows/s, {p99} ms");
    }
}

#[test]
fn decisions_do_not_swing_under_a_steady_load() {
    for (server, limits) in [(NEAR, LIMITS), (NEAR, aiming_at(20)), (FAR, aiming_at(100))] {
        for seed in 1..=3 {
            let run = adaptive(&server, &Workload::Endless, limits.clone(), 24, seed);
            let decisions: Vec<Decision> = run.decisions(4..24).collect();
            let changes = decisions.windows(2).filter(|two| two[0].connections != two[1].connections).count();
            assert!(changes <= 4, "seed {seed}: {changes} changes with {limits:?}");
            let rows = |decision: &&Decision| decision.batch_rows;
            let least = decisions.iter().min_by_key(rows).unwrap().batch_rows;
            let most = decisions.iter().max_by_key(rows).unwrap().batch_rows;
            assert!(most < 2 * least, "seed {seed}: batches from {least} to {most} rows with {limits:?}");
        }
    }
}

#[test]
fn connections_that_do_not_help_are_given_up() {
    // One core, and hardly anything else that a flush waits for: two connections saturate it.
    let server = Server { cores: 1.0, away: 50e-6, ..NEAR };
    for limits in [LIMITS, aiming_at(20)] {
        for seed in 1..=3 {
            let limits = Limits { connections: 8, ..limits.clone() };
            let run = adaptive(&server, &Workload::Endless, limits, 12, seed);
            assert!(run.decisions(4..12).all(|decision| decision.connections <= 3), "seed {seed}");
        }
    }
}

#[test]
fn rows_that_come_rarely_are_written_at_once_over_one_connection() {
    let run = adaptive(&NEAR, &Workload::Even(Box::new(|_| 200.0)), LIMITS, 5, 1);
    assert!(run.p99(1..5) < 1.2, "{} ms", run.p99(1..5));
    assert!(run.decisions(0..5).all(|decision| decision.connections == 1));
}

#[test]
fn a_target_out_of_reach_neither_stops_the_writer_nor_is_given_up() {
    for seed in [1, 2, 3, 11] {
        let limits = Limits { connections: 2, ..aiming_at(1) };
        let run = adaptive(&FAR, &Workload::Endless, limits, 6, seed);
        let (rate, p99) = (run.rate(2..6), run.p99(2..6));
        assert!(rate > 8_000.0 && p99 < 25.0, "seed {seed}: {rate} rows/s, {p99} ms");
    }
}

#[test]
fn no_decision_leaves_the_bounds_whatever_happens() {
    let limits =
        Limits { max_rows: 700, max_bytes: 1 << 20, connections: 3, queue_rows: 2_000, latency_target: None };
    let mut state = 1_u64;
    let mut any = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    for target in [None, Some(Duration::from_nanos(1)), Some(Duration::from_millis(20)), Some(Duration::MAX)]
    {
        let limits = Limits { latency_target: target, ..limits.clone() };
        let mut controller = Controller::new(&limits);
        for flush in 0..20_000 {
            // Four kilobytes a row: 256 rows are a megabyte.
            let rows = usize::try_from(any(300)).unwrap();
            controller.observe(&Observation {
                at: Duration::from_millis(flush * 10),
                rows,
                bytes: rows * 4_096,
                took: [
                    Duration::ZERO,
                    Duration::from_micros(any(100_000)),
                    Duration::from_secs(any(1 << 30)),
                ][usize::try_from(any(40).saturating_sub(37)).unwrap()],
                under_way: usize::try_from(any(6)).unwrap(),
                waiting: usize::try_from(any(1_000)).unwrap(),
                unsettled: usize::try_from(any(2_000)).unwrap(),
                arrived: Arrived { rows: any(1 << 30), open: Duration::from_micros(any(1 << 30)) },
            });
            for Decision { batch_rows, connections, queue_rows } in
                [controller.decision(), controller.steady()]
            {
                assert!((1..=700).contains(&batch_rows), "{batch_rows} rows");
                assert!((1..=3).contains(&connections), "{connections} connections");
                assert!((1..=2_000).contains(&queue_rows), "{queue_rows} rows in the queue");
                // A change below a tenth is not made.
                assert!(
                    flush < 100 || batch_rows <= 256 * 11 / 10,
                    "{batch_rows} rows are more than max_bytes"
                );
            }
        }
    }
}
