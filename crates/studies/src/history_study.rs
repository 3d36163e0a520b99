//! `cargo xtask gate-study --history FILE`: error rates of `gate --against-history` on real series,
//! and the slowdowns that it finds.
//!
//! Every run of every suite is judged against the runs before it, unchanged and multiplied by
//! slowdowns: whole runs as the product judges them, and each series separately, by the gate and by
//! simple rules of other tools. The measured code must be nearly constant. Then every unchanged run
//! called Regressed is a false alarm, and real changes only make the results look worse.
//!
//! Rules are tuned on the first part of the runs; the reported rates come from the second part.

mod replay;
pub(crate) mod series;
mod whole;

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, bail};
use rsb_stats::history::{LEVEL, RUNS, Rule};

use replay::{RegressionRule, Tally, outside, replay};
use series::{Part, RecordedSeries};

/// Slowdown factors; the first is the unchanged run.
const FACTORS: [f64; 6] = [1.0, 1.1, 1.15, 1.2, 1.3, 1.5];

/// The rule of the gate.
const GATE: RegressionRule = RegressionRule::History { rule: Rule::DEFAULT, repeats: 0 };

/// Prints the study of the series in `file` as Markdown.
pub(crate) fn run(file: &Path) -> Result<()> {
    let series = series::read(file)?;
    if series.iter().all(|one| one.values.len() <= LEVEL) {
        bail!(
            "{} has no series of more than {LEVEL} runs, so there is nothing to judge",
            file.display()
        );
    }
    println!("{}", heading(&series));
    for (part, name) in [
        (Part::First, "The first 60 % of the runs, for tuning"),
        (Part::Second, "The rest, for reporting"),
    ] {
        println!(
            "### {name}\n\n{}\n{}",
            whole::table(&whole::runs_of(&series, part), &FACTORS[1..]),
            ways(&series, part)
        );
    }
    println!("{}", calibration(&series));
    Ok(())
}

fn heading(series: &[RecordedSeries]) -> String {
    let points: usize = series.iter().map(|one| one.values.len()).sum();
    format!(
        "## `gate --against-history` on {} series of {points} values\n\nEach run with at least \
         {LEVEL} runs before it is judged against at most {RUNS} of them: all its cases together, \
         then each by itself. A rule sees the judged run once; `2 repeats` also gives it the next \
         two runs, with the same slowdown, as if they were of one commit.\n",
        series.len()
    )
}

/// Returns the table of the gate's rule and all others, each series judged separately.
fn ways(series: &[RecordedSeries], part: Part) -> String {
    let ways = [
        ("`gate --against-history`", GATE),
        ("the same, 2 repeats", RegressionRule::History { rule: Rule::DEFAULT, repeats: 2 }),
        ("previous run × 1.1", RegressionRule::Previous(1.1)),
        ("previous run × 1.2", RegressionRule::Previous(1.2)),
        ("previous run × 2", RegressionRule::Previous(2.0)),
        ("median of the last 5 × 1.2", RegressionRule::MedianOfFive(1.2)),
        ("mean + 3 σ of the previous runs", RegressionRule::Sigmas(3.0)),
    ];
    let found: Vec<String> = FACTORS[1..]
        .iter()
        .map(|factor| format!("found: +{:.0} %", 100.0 * (factor - 1.0)))
        .collect();
    let mut text = format!(
        "| rule, each series alone | false alarms | {} | repeat requested | called Improved \
         |\n|---|{}\n",
        found.join(" | "),
        "---|".repeat(3 + found.len())
    );
    for (name, way) in ways {
        let tally = series.iter().map(|one| replay(one, part, way, &FACTORS)).sum::<Tally>();
        let found: Vec<String> = (1..FACTORS.len())
            .map(|factor| format!("{:.2}", tally.regressed_share(factor)))
            .collect();
        let undecided = match way {
            RegressionRule::History { .. } => {
                format!("{:.2} | {:.2}", tally.undecided_share(), tally.improved_share())
            }
            _ => "– | –".to_owned(),
        };
        let (false_alarms, found) = (tally.false_alarms(), found.join(" | "));
        let _ = writeln!(text, "| {name} | {false_alarms} | {found} | {undecided} |");
    }
    text
}

/// Returns the share of unchanged runs outside their intervals, next to the expected share.
fn calibration(series: &[RecordedSeries]) -> String {
    let mut text =
        "Share of unchanged runs outside their 95 % interval; 2.5 % on each side is expected:\n\n| \
         part | slower | faster |\n|---|---|---|\n"
            .to_owned();
    for (name, part) in [("first", Part::First), ("second", Part::Second)] {
        let [slower, faster] = outside(series, part, Rule::DEFAULT).map(|share| 100.0 * share);
        let _ = writeln!(text, "| {name} | {slower:.1} % | {faster:.1} % |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the series that the constants were tuned on. They are outside the repository, in
    /// `RSB_SHARED` or `../shared`.
    fn shared_series() -> Option<Vec<RecordedSeries>> {
        let shared = std::env::var_os("RSB_SHARED").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
            std::path::PathBuf::from,
        );
        let file = shared.join("series/github-runners.csv");
        if !file.is_file() {
            test_needs::missing("series", &format!("{} is not here", file.display()));
            return None;
        }
        Some(series::read(&file).unwrap())
    }

    /// Checks the rates on the part used for tuning. docs/gate-study.md has the rates on the other
    /// part.
    #[test]
    fn the_rates_on_hosted_runners_are_those_promised() {
        let Some(series) = shared_series() else { return };
        let runs = whole::runs_of(&series, Part::First);
        let (exits, (false_alarms, checks)) = whole::judge_unchanged(&runs);
        let [_, _, passed] = exits.percent();
        assert!(
            passed > 75.0 && checks > 2000 && false_alarms * 250 <= checks,
            "{passed} {false_alarms} {checks}"
        );
        let [found, _, hidden] = whole::one_slower(&runs, 1.2).percent();
        assert!(found > 38.0 && hidden < 13.0, "{found} {hidden}");
        let [_, _, hidden] = whole::one_slower(&runs, 1.5).percent();
        assert!(hidden < 0.25, "{hidden}");
    }

    /// Each constant is the smallest multiple of 0.05 for which at most 2.5 % of runs are outside
    /// that side of the interval.
    #[test]
    fn the_reaches_are_those_that_the_first_part_asks_for() {
        let Some(series) = shared_series() else { return };
        let rule = Rule::DEFAULT;
        let shares = outside(&series, Part::First, rule);
        assert!(shares.iter().all(|share| *share <= 0.025), "{shares:?}");
        let narrow = Rule { slower: rule.slower - 0.05, ..rule };
        assert!(outside(&series, Part::First, narrow)[0] > 0.025);
        let narrow = Rule { faster: rule.faster - 0.05, ..rule };
        assert!(outside(&series, Part::First, narrow)[1] > 0.025);
    }

    #[test]
    fn a_small_study_has_every_table() {
        let series = [
            wobbling("a/time", rsb_model::Better::Lower),
            wobbling("a/other", rsb_model::Better::Lower),
            wobbling("b/rate", rsb_model::Better::Higher),
        ];
        let ways = ways(&series, Part::Second);
        assert!(
            ways.contains("| `gate --against-history` | 0.00 % (0 of 72, at most 4.08 %) | 0."),
            "{ways}"
        );
        assert_eq!(ways.lines().count(), 9, "{ways}");
        assert_eq!(calibration(&series).lines().count(), 6);
        assert!(heading(&series).contains("3 series of 180 values"));
    }

    /// Returns a series whose values are within 1 % of 1.
    fn wobbling(id: &str, better: rsb_model::Better) -> RecordedSeries {
        let values = (0..60).map(|at| 1.0 + 0.01 * (f64::from(at * 7 % 13) / 6.0 - 1.0));
        series::every_second(id, better, values.collect())
    }
}
