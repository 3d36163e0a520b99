//! `cargo xtask fleet-study`: how often the fleet check calls a healthy node of a simulated fleet
//! slow, and how often it finds a slow one, compared with fixed limits as in other tools on the
//! same values.

mod published;
mod scale;
mod simulation;

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};
use rsb_stats::distribution::share_at_most;
use rsb_stats::rng::Rng;

use simulation::{Calls, Scenario};

const USAGE: &str = "cargo xtask fleet-study [--nodes N | --scale [PROGRAM]]";

/// Standard deviations between nodes, in percent. Fifteen healthy nodes of one model have 0.14 to
/// 0.36; older fleets have 8.
const NODE_SPREADS: [f64; 5] = [0.15, 0.3, 0.5, 2.0, 8.0];
const SIZES: [usize; 7] = [5, 6, 12, 20, 50, 1000, 10_000];
/// Minimum and maximum number of campaigns per row.
const CAMPAIGNS: [usize; 2] = [5, 20_000];
/// Number of nodes in a row of healthy fleets, relative to other rows: calls are rare.
const HEALTHY_SHARE: usize = 15;

/// Prints the tables of docs/fleet-study.md.
///
/// # Errors
/// If an argument is unknown or not a number, or a step of `--scale` fails.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let nodes = match arguments {
        [] => 20_000,
        [flag, program @ ..] if flag == "--scale" && program.len() <= 1 => {
            return scale::run(program.first().map(String::as_str));
        }
        [flag, value] if flag == "--nodes" => {
            value.parse().with_context(|| format!("`{value}` is not a number"))?
        }
        _ => bail!("unknown arguments: {USAGE}"),
    };
    println!("## Healthy fleets\n\n{}", healthy_fleets(HEALTHY_SHARE * nodes));
    println!("## Slow nodes\n\n{}", slow_nodes(nodes));
    println!("## Transient slowness and common causes\n\n{}", disturbed_fleets(nodes));
    println!("## Published nodes\n\n{}", published::table());
    Ok(())
}

/// Simulates campaigns of `scenario` with about `nodes` nodes in total, and counts the calls.
fn campaigns(scenario: &Scenario, nodes: usize) -> Calls {
    let [least, most] = CAMPAIGNS;
    let count = (nodes / scenario.nodes).clamp(least, most);
    // Each row has a separate random stream, independent of the other rows.
    let mut rng = Rng::new(scenario.nodes as u64 * 1009 + (scenario.node_sd * 100.0) as u64);
    let mut calls = Calls::default();
    for _ in 0..count {
        calls.add(&simulation::campaign(scenario, &mut rng));
    }
    calls
}

fn healthy_fleets(nodes: usize) -> String {
    let mut text = "| nodes | node sd | campaigns | nodes called slow | campaigns with a false call \
                    | not decided | ±5 % of the mean | reference −10 % |\n|---|---|---|---|---|---|---\
                    |---|\n"
        .to_owned();
    for size in SIZES {
        for node_sd in NODE_SPREADS {
            let calls = campaigns(&Scenario { nodes: size, node_sd, ..Scenario::HEALTHY }, nodes);
            let _ = writeln!(
                text,
                "| {size} | {node_sd} % | {} | {} | {} | {} | {} | {} |",
                calls.campaigns,
                bounded_share(calls.false_nodes, calls.healthy),
                bounded_share(calls.false_campaigns, calls.campaigns),
                share(calls.undecided, calls.healthy),
                share(calls.by_mean.false_calls, calls.healthy),
                share(calls.by_reference.false_calls, calls.healthy),
            );
        }
    }
    text
}

fn slow_nodes(nodes: usize) -> String {
    let mut text =
        "One node in twenty is slow in one of four metrics.\n\n| nodes | node sd | slow \
                    by | found | not decided | false among the called | ±5 %: found | false | \
                    −10 %: found |\n|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for size in [6, 20, 200, 1000] {
        for node_sd in NODE_SPREADS {
            for slow_percent in [2.0, 3.0, 5.0, 10.0] {
                let scenario = Scenario {
                    nodes: size,
                    node_sd,
                    slow_nodes: (size / 20).max(1),
                    slow_percent,
                    ..Scenario::HEALTHY
                };
                let calls = campaigns(&scenario, nodes);
                let _ = writeln!(
                    text,
                    "| {size} | {node_sd} % | {slow_percent} % | {} | {} | {} | {} | {} | {} |",
                    share(calls.found, calls.planted),
                    share(calls.planted_undecided, calls.planted),
                    share(calls.false_nodes, calls.false_nodes + calls.found),
                    share(calls.by_mean.found, calls.planted),
                    share(
                        calls.by_mean.false_calls,
                        calls.by_mean.false_calls + calls.by_mean.found
                    ),
                    share(calls.by_reference.found, calls.planted),
                );
            }
        }
    }
    text
}

fn disturbed_fleets(nodes: usize) -> String {
    let mut text = "No node is slow by itself.\n\n| disturbance | node sd | nodes called slow | \
                    cause named | ±5 %: nodes called |\n|---|---|---|---|---|\n"
        .to_owned();
    let base = Scenario { nodes: 100, ..Scenario::HEALTHY };
    for (name, scenario) in [
        ("3 % of nodes 10 % slow at first", Scenario { transient_percent: 10.0, ..base }),
        ("a rack of ten 5 % slow", Scenario { rack_percent: 5.0, ..base }),
        ("a rack of ten 10 % slow", Scenario { rack_percent: 10.0, ..base }),
    ] {
        for node_sd in NODE_SPREADS {
            let calls = campaigns(&Scenario { node_sd, ..scenario }, nodes);
            let _ = writeln!(
                text,
                "| {name} | {node_sd} % | {} | {} | {} |",
                bounded_share(calls.false_nodes, calls.healthy),
                share(calls.causes, calls.campaigns),
                share(calls.by_mean.false_calls, calls.healthy),
            );
        }
    }
    text
}

/// `0.3 %`.
fn share(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    format!("{:.1} %", 100.0 * part as f64 / whole as f64)
}

/// Formats a share as `0.030 % (≤ 0.050)`, with the one-sided 95 % bound (Clopper and Pearson).
fn bounded_share(part: usize, whole: usize) -> String {
    let most = 100.0 * share_at_most(part, whole, 0.95);
    format!("{:.3} % (≤ {most:.3})", 100.0 * part as f64 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the error rates stated in docs/fleet-study.md, on fewer fleets.
    #[test]
    fn healthy_fleets_pass_and_slow_nodes_are_found() {
        for node_sd in [0.15, 0.5, 2.0] {
            let calls = campaigns(&Scenario { nodes: 20, node_sd, ..Scenario::HEALTHY }, 2000);
            assert!(calls.false_campaigns <= 9, "{node_sd}: {calls:?}");
        }
        let slow = Scenario {
            nodes: 20,
            node_sd: 0.3,
            slow_nodes: 1,
            slow_percent: 5.0,
            ..Scenario::HEALTHY
        };
        let calls = campaigns(&slow, 1000);
        assert!(10 * calls.found >= 9 * calls.planted, "{calls:?}");
        assert!(calls.by_mean.found < calls.planted, "{calls:?}");
    }
}
