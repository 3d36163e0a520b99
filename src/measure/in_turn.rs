//! Two programs measured in turn, sample by sample, A B B A, so that whatever the machine does in the meantime does it
//! to both.

use std::time::{Duration, Instant};

use rsb_model::record::EnvironmentSummary;
use rsb_model::{BenchmarkResult, Case, Environment, Outcome, Timestamp};

use super::assemble::{self, Progress};
use super::client::{Trouble, WorkerCommand};
use super::session::Session;
use super::settings::Settings;
use super::{Ended, noise, shuffled};

/// The results of both sides. The n-th replicates of a case were measured side by side, and their n-th samples one
/// after the other.
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
    'rounds: for replicate in 0..settings.replicates.most() {
        for index in shuffled(cases.len(), replicate) {
            let (case, both) = (&cases[index], &mut progress[index]);
            if both.iter().any(|side| side.ended.is_some()) {
                continue; // Without one side there is nothing to compare the other with.
            }
            if began.elapsed() > settings.limits.suite {
                ended = Ended::OutOfTime;
                break 'rounds;
            }
            let left = settings.limits.suite.saturating_sub(began.elapsed());
            if !pair(&mut session, programs, case, (both, replicate, left)) {
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

/// One replicate of each side; `false` when somebody asked to stop. A pair that was not completed is dropped.
fn pair(
    session: &mut Session<'_>,
    programs: &[WorkerCommand; 2],
    case: &Case,
    (both, replicate, left): (&mut [Progress; 2], u32, Duration),
) -> bool {
    let began = Instant::now();
    let watch = noise::Watch::begin();
    match session.pair(programs, case, (replicate, left)) {
        Ok(replicates) => both.iter_mut().zip(replicates).for_each(|(side, replicate)| side.replicates.push(replicate)),
        // The time of the whole was over, not the case's: this pair is dropped.
        Err((_, Trouble::Failed(_))) if began.elapsed() >= left => return true,
        Err((which, Trouble::Skipped(reason))) => both[which].ended = Some((Outcome::Skipped, reason)),
        Err((which, Trouble::Failed(reason) | Trouble::Gone(reason))) => {
            both[which].ended = Some((Outcome::Failed, reason));
        }
        Err((_, Trouble::Interrupted)) => return false,
    }
    let noise = watch.end();
    for side in both {
        noise::merge(&mut side.noise, noise.clone());
    }
    true
}
