//! Where the time of a load went, as `-v` shows it: the phases, and what the connections did while loading.

use howdah::report::Report;

use crate::figures::{seconds, visible, whole};

/// A phase shorter than this has nothing to tell, unless every load has it.
const WORTH_SAYING: f64 = 0.0005;

/// One line a phase, with its share of the whole.
pub(crate) fn text(report: &Report) -> String {
    let phases = &report.phases;
    let loading = if report.jobs > 1 { "loading (mean of the connections)" } else { "loading" };
    let lines = [
        ("connecting and planning", phases.plan_s, true),
        ("finding types", phases.infer_s, false),
        (loading, phases.load_s, true),
        ("  reading and cutting", phases.read_s, true),
        ("  encoding", phases.encode_s, true),
        ("  sending and waiting for the server", phases.wait_s, true),
        ("indexes and constraints", phases.index_s, false),
        ("out of the log and back", phases.logging_s, false),
        ("applying staged rows", phases.apply_s, false),
        ("promoting landed rows", phases.promote_s, false),
        ("commit", phases.commit_s, true),
        ("analyze", phases.analyze_s, false),
    ];
    let shown = lines.into_iter().filter(|(_, time, always)| *always || *time >= WORTH_SAYING);
    let mut out = "where the time went\n".to_owned();
    for (name, time, _) in shown {
        let share = whole(100.0 * time / report.elapsed_s.max(f64::MIN_POSITIVE));
        out.push_str(&format!("  {name:38} {:>12} {share:>4} %\n", seconds(time)));
    }
    out.push_str(&format!(
        "  {:38} {:>12}, {} of CPU in this process\n",
        "in all",
        seconds(report.elapsed_s),
        seconds(report.client_cpu_s)
    ));
    for (index, parts) in &report.sorted_parts {
        out.push_str(&format!("  {parts} of {} parts were sorted by {}\n", report.parts, visible(index)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use howdah::report::Phases;

    #[test]
    fn the_phases_stand_in_their_order_and_empty_ones_are_left_out() {
        let mut phases = Phases::default();
        phases.plan_s = 0.012;
        phases.load_s = 1.5;
        phases.read_s = 0.1;
        phases.encode_s = 0.4;
        phases.wait_s = 0.99;
        phases.commit_s = 0.03;
        let mut report = Report::default();
        report.phases = phases;
        report.elapsed_s = 2.0;
        report.client_cpu_s = 0.5;
        report.jobs = 2;
        report.parts = 9;
        report.sorted_parts.insert("t_pkey".into(), 7);
        assert_eq!(
            text(&report),
            "\
where the time went
  connecting and planning                     0.012 s    1 %
  loading (mean of the connections)            1.50 s   75 %
    reading and cutting                        0.10 s    5 %
    encoding                                   0.40 s   20 %
    sending and waiting for the server         0.99 s   50 %
  commit                                      0.030 s    2 %
  in all                                       2.00 s, 0.50 s of CPU in this process
  7 of 9 parts were sorted by t_pkey
"
        );
    }
}
