//! Two programs measured in turn, A B B A, so that whatever the machine does in the meantime does it to both.

use std::time::{Duration, Instant};

use rsb_model::record::EnvironmentSummary;
use rsb_model::{BenchmarkResult, Case, Environment, Outcome, Timestamp};

use super::assemble::{self, Progress};
use super::client::{Trouble, WorkerCommand};
use super::session::Session;
use super::settings::Settings;
use super::{Ended, noise, shuffled};

/// The results of both sides. The n-th replicates of a case were measured one after the other.
#[derive(Debug, Clone, Default)]
pub struct Both {
    /// Of the first program.
    pub baseline: Vec<BenchmarkResult>,
    /// Of the second.
    pub current: Vec<BenchmarkResult>,
}

/// Measures `cases` with the workers of both `programs`, replicate by replicate.
///
/// # Errors
/// When there is no room for Criterion's scratch folder.
pub fn in_turn(
    cases: &[Case],
    settings: &Settings,
    programs: &[WorkerCommand; 2],
    environment: &Environment,
) -> std::io::Result<(Both, Ended)> {
    let mut session = Session::new(settings)?;
    let mut progress: Vec<[Progress; 2]> = vec![<[Progress; 2]>::default(); cases.len()];
    let began = Instant::now();
    let mut ended = Ended::Complete;
    'rounds: for replicate in 0..settings.replicates {
        for index in shuffled(cases.len(), replicate) {
            let (case, both) = (&cases[index], &mut progress[index]);
            if both.iter().any(|side| side.ended.is_some()) {
                continue; // Without one side there is nothing to compare the other with.
            }
            if began.elapsed() > settings.limits.suite {
                ended = Ended::OutOfTime;
                break 'rounds;
            }
            let order = if (index + replicate as usize).is_multiple_of(2) { [0, 1] } else { [1, 0] };
            let left = settings.limits.suite.saturating_sub(began.elapsed());
            let turn = Turn { order, replicate, left };
            if !pair(&mut session, programs, case, (both, turn)) {
                ended = Ended::Interrupted;
                break 'rounds;
            }
        }
    }
    let summary = EnvironmentSummary::of(environment);
    let side = |which: usize| {
        // A case that had no turn has nothing to say.
        let results = cases
            .iter()
            .zip(&progress)
            .filter(|(_, both)| both.iter().any(|side| side.ended.is_some() || !side.replicates.is_empty()));
        results.map(|(case, both)| assemble::result(case, &both[which], &summary, Timestamp::now())).collect()
    };
    Ok((Both { baseline: side(0), current: side(1) }, ended))
}

/// Which side goes first, for which replicate, and the time that is left.
struct Turn {
    order: [usize; 2],
    replicate: u32,
    left: Duration,
}

/// One replicate of each side; `false` when somebody asked to stop. A pair that was not completed is dropped.
fn pair(
    session: &mut Session<'_>,
    programs: &[WorkerCommand; 2],
    case: &Case,
    (both, turn): (&mut [Progress; 2], Turn),
) -> bool {
    let began = Instant::now();
    let mut measured = [None, None];
    for which in turn.order {
        let watch = noise::Watch::begin();
        let left = turn.left.saturating_sub(began.elapsed());
        match session.replicate(&programs[which], case, (turn.replicate, left)) {
            Ok(replicate) => measured[which] = Some(replicate),
            // The time of the whole was over, not the case's: this pair is dropped.
            Err(Trouble::Failed(_)) if began.elapsed() >= turn.left => return true,
            Err(Trouble::Skipped(reason)) => both[which].ended = Some((Outcome::Skipped, reason)),
            Err(Trouble::Failed(reason)) => both[which].ended = Some((Outcome::Failed, reason)),
            Err(Trouble::Interrupted) => return false,
        }
        noise::merge(&mut both[which].noise, watch.end());
    }
    if let [Some(first), Some(second)] = measured {
        both[0].replicates.push(first);
        both[1].replicates.push(second);
    }
    true
}
