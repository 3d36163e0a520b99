//! `cargo xtask gate-study --history FILE`: how often history mode is wrong on real series, and what it finds.
//!
//! Every run of every series is judged from the runs before it, as it was and with slow-downs multiplied in, by the
//! gate and by the simple rules that others use. The code behind the series must be nearly constant: then whatever is
//! called Regressed as it was is a false alarm, and real changes only make the figures look worse.

mod replay;
mod series;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, bail};
use rsb_stats::history::{LEVEL, RUNS, Rule};

use replay::{Tally, Way, coverage, replay};
use series::RecordedSeries;

/// Slow-downs that are multiplied in, after the run as it was.
const FACTORS: [f64; 6] = [1.0, 1.1, 1.15, 1.2, 1.3, 1.5];

/// The way in which the gate works.
const GATE: Way = Way::History { rule: Rule::DEFAULT, repeats: 0 };

/// Prints the study of the series in `file` as Markdown.
pub(crate) fn run(file: &Path) -> Result<()> {
    let series = series::read(file)?;
    if series.iter().all(|one| one.values.len() <= LEVEL) {
        bail!("{} has no series of more than {LEVEL} runs, so there is nothing to judge", file.display());
    }
    println!("{}", heading(&series));
    println!("{}", ways(&series));
    println!("{}", worst(&series));
    println!("{}", cross_validation(&series));
    Ok(())
}

fn heading(series: &[RecordedSeries]) -> String {
    let runs: usize = series.iter().map(|one| one.values.len()).sum();
    format!(
        "## `gate --against-history` on {} series of {runs} runs\n\n\
         Each run that has {LEVEL} before it is one check, from {RUNS} before it at most. A rule sees the judged run \
         once; `2 repeats` gives it the two runs after it too, with the same slow-down, as if they were of one commit.\n",
        series.len()
    )
}

/// Every rule beside the gate's.
fn ways(series: &[RecordedSeries]) -> String {
    let ways = [
        ("`gate --against-history`", GATE),
        ("the same, 2 repeats", Way::History { rule: Rule::DEFAULT, repeats: 2 }),
        ("run before × 1.1", Way::Previous(1.1)),
        ("run before × 1.2", Way::Previous(1.2)),
        ("run before × 2", Way::Previous(2.0)),
        ("median of 5 before × 1.2", Way::MedianOfFive(1.2)),
        ("mean + 3 σ of those before", Way::Sigmas(3.0)),
    ];
    let found: Vec<String> =
        FACTORS[1..].iter().map(|factor| format!("found: +{:.0} %", 100.0 * (factor - 1.0))).collect();
    let mut text = format!(
        "| Regressed above | checks | false alarms in 100 | {} | asked to repeat | called Improved |\n|---|{}\n",
        found.join(" | "),
        "---|".repeat(4 + found.len())
    );
    for (name, way) in ways {
        let tally = series.iter().map(|one| replay(one, way, &FACTORS)).sum::<Tally>();
        let found: Vec<String> = (1..FACTORS.len()).map(|factor| format!("{:.2}", tally.regressed(factor))).collect();
        let undecided = match way {
            Way::History { .. } => format!("{:.2} | {:.2}", tally.undecided(), tally.improved()),
            _ => "– | –".to_owned(),
        };
        let false_alarms = 100.0 * tally.regressed(0);
        let (checks, found) = (tally.checks, found.join(" | "));
        let _ = writeln!(text, "| {name} | {checks} | {false_alarms:.2} | {found} | {undecided} |");
    }
    text
}

/// The three series with the most false alarms.
fn worst(series: &[RecordedSeries]) -> String {
    let mut each: Vec<(&RecordedSeries, Tally)> =
        series.iter().map(|one| (one, replay(one, GATE, &[1.0, 1.2]))).collect();
    each.retain(|(_, tally)| tally.checks > 0);
    each.sort_by(|(_, a), (_, b)| b.regressed(0).total_cmp(&a.regressed(0)));
    let mut text =
        "The three worst:\n\n| series | checks | false alarms in 100 | found: +20 % |\n|---|---|---|---|\n".to_owned();
    for (one, tally) in each.iter().take(3) {
        let (false_alarms, found) = (100.0 * tally.regressed(0), tally.regressed(1));
        let _ = writeln!(text, "| {} | {} | {false_alarms:.2} | {found:.2} |", one.id, tally.checks);
    }
    text
}

/// The one constant that was chosen on these series, chosen on half of them and tried on the other, both ways.
fn cross_validation(series: &[RecordedSeries]) -> String {
    let groups: Vec<&str> = series.iter().map(RecordedSeries::group).collect::<BTreeSet<_>>().into_iter().collect();
    let is_even =
        |one: &&RecordedSeries| groups.iter().position(|group| *group == one.group()).is_some_and(|at| at % 2 == 0);
    let (even, odd): (Vec<&RecordedSeries>, Vec<&RecordedSeries>) = series.iter().partition(is_even);
    let mut text = "Chosen on half of the suites (the least `reach`, in steps of 0.05, with which the 95 % interval \
                    holds 95 % of the runs) and tried on the other half:\n\n\
                    | tried on | reach | checks | false alarms in 100 | found: +20 % |\n|---|---|---|---|---|\n"
        .to_owned();
    let mut together = Tally::default();
    for (name, chosen_on, tried_on) in [("half", &odd, &even), ("other half", &even, &odd)] {
        let rule = chosen(chosen_on);
        let way = Way::History { rule, repeats: 0 };
        let tally = tried_on.iter().map(|one| replay(one, way, &[1.0, 1.2])).sum::<Tally>();
        let _ = writeln!(text, "| {name} | {:.2} | {} |", rule.reach, rates(&tally));
        together = [together, tally].into_iter().sum();
    }
    let _ = writeln!(text, "| both | | {} |", rates(&together));
    text
}

fn rates(tally: &Tally) -> String {
    format!("{} | {:.2} | {:.2}", tally.checks, 100.0 * tally.regressed(0), tally.regressed(1))
}

/// The rule with the least reach that holds what it says on `series`.
fn chosen(series: &[&RecordedSeries]) -> Rule {
    let rules: Vec<Rule> = (1..=40).map(|step| Rule { reach: 0.05 * f64::from(step), ..Rule::DEFAULT }).collect();
    let first = rules.partition_point(|rule| coverage(series, *rule) < 0.95);
    rules.get(first).or(rules.last()).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The series that the constant was chosen on lie outside of the repository: `RSB_SHARED`, or `../shared`.
    fn shared() -> Option<Vec<RecordedSeries>> {
        let shared = std::env::var_os("RSB_SHARED")
            .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), std::path::PathBuf::from);
        let file = shared.join("series/github-runners.csv");
        if !file.is_file() {
            test_needs::missing("series", &format!("{} is not here", file.display()));
            return None;
        }
        Some(series::read(&file).unwrap())
    }

    #[test]
    fn the_rates_on_hosted_runners_are_those_promised() {
        let Some(series) = shared() else { return };
        let tally = series.iter().map(|one| replay(one, GATE, &[1.0, 1.2])).sum::<Tally>();
        let (false_alarms, found) = (100.0 * tally.regressed(0), tally.regressed(1));
        assert_eq!((series.len(), tally.checks > 3000), (25, true));
        assert!(false_alarms <= 0.42, "{false_alarms} in 100");
        assert!(found > 0.35, "{found}");
    }

    #[test]
    fn a_small_study_has_every_table() {
        let wobble = |at: usize| 1.0 + 0.01 * ((at * 7 % 13) as f64 / 6.0 - 1.0);
        let one =
            |id: &str, better| RecordedSeries { id: id.to_owned(), better, values: (0..60).map(wobble).collect() };
        let series = [
            one("a/time", rsb_model::Better::Lower),
            one("a/other", rsb_model::Better::Lower),
            one("b/rate", rsb_model::Better::Higher),
        ];
        let ways = ways(&series);
        assert!(ways.contains("| `gate --against-history` | 135 | 0.00 | 0."), "{ways}");
        assert_eq!(ways.lines().count(), 9, "{ways}");
        assert_eq!(worst(&series).lines().filter(|line| line.contains('/')).count(), 3);
        let crossed = cross_validation(&series);
        assert!(crossed.contains("| half | ") && crossed.contains("| both | | 135 | 0.00 | 1.00 |"), "{crossed}");
        assert!(heading(&series).contains("3 series of 180 runs"));
    }
}
