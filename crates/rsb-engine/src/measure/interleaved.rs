//! Interleaved measurement of two programs, A B B A, so that disturbances of the machine affect
//! both.

use std::time::Instant;

use rsb_model::random::mix64;
use rsb_model::{BenchmarkResult, Case, Environment, Event, Outcome, Reason, RunStatus, Timestamp};

use super::assemble::{self, CaseProgress};
use super::client::WorkerError;
use super::session::{Replicate, Session, Turn};
use super::settings::Settings;
use super::{noise, round_order};
use crate::Listener;
use crate::worker_command::WorkerCommand;

/// Source of paired measurements of a case on two sides, in fresh processes.
pub trait PairSource {
    /// Measures a replicate of each side, as close in time as possible. The first of the two
    /// results is that of the baseline.
    ///
    /// # Errors
    /// The problem, and the index of the side that had it.
    fn measure_pair(
        &mut self,
        case: &Case,
        turn: Turn,
    ) -> Result<[Replicate; 2], (usize, WorkerError)>;

    /// Measures a replicate of one side only.
    ///
    /// # Errors
    /// If the case cannot run here, fails, or the user requests a stop.
    fn measure_side(
        &mut self,
        which: usize,
        case: &Case,
        turn: Turn,
    ) -> Result<Replicate, WorkerError>;
}

/// Two builds of this program whose workers run side by side and sample interleaved. A build may
/// have several layouts. Each pair uses the next layout and a different stack offset, so that
/// layout effects become part of the variation between pairs.
pub struct WorkerPairs<'a> {
    session: Session<'a>,
    layouts: &'a [Vec<WorkerCommand>; 2],
}

impl<'a> WorkerPairs<'a> {
    /// Creates the pairs without measuring.
    ///
    /// # Errors
    /// If Criterion's temporary directory cannot be created.
    pub fn new(
        layouts: &'a [Vec<WorkerCommand>; 2],
        settings: &'a Settings,
    ) -> std::io::Result<Self> {
        Ok(Self { session: Session::new(settings)?, layouts })
    }

    /// Returns the command that measures side `which` in this replicate.
    fn program(&self, which: usize, replicate: u32) -> WorkerCommand {
        let layouts = &self.layouts[which];
        let mut command = layouts[replicate as usize % layouts.len()].clone();
        if layouts.len() > 1 {
            // The environment is above the stack, so its length shifts the start of the stack.
            let bytes = mix64(u64::from(replicate) * 2 + which as u64) % STACK_OFFSETS;
            command.environment.push((STACK_OFFSET, Some("x".repeat(bytes as usize))));
        }
        command
    }
}

/// Environment variable that shifts the stack. Its length takes as many values as a page has bytes,
/// which covers every placement that matters to caches and branch predictors.
const STACK_OFFSET: &str = "RSB_STACK_OFFSET";
const STACK_OFFSETS: u64 = 4096;

impl PairSource for WorkerPairs<'_> {
    fn measure_pair(
        &mut self,
        case: &Case,
        turn: Turn,
    ) -> Result<[Replicate; 2], (usize, WorkerError)> {
        let programs = [0, 1].map(|which| self.program(which, turn.replicate));
        self.session.pair(&programs, case, turn)
    }

    fn measure_side(
        &mut self,
        which: usize,
        case: &Case,
        turn: Turn,
    ) -> Result<Replicate, WorkerError> {
        self.session.replicate(&self.program(which, turn.replicate), case, turn)
    }
}

/// Results of both sides. The n-th replicates of a case were measured side by side. With workers
/// they were interleaved sample by sample, so the n-th samples correspond, too.
#[derive(Debug, Clone, Default)]
pub struct InterleavedResults {
    /// Results of the first program.
    pub baseline: Vec<BenchmarkResult>,
    /// Results of the second program.
    pub current: Vec<BenchmarkResult>,
}

/// Measures `cases` on both sides of `pairs`, replicate by replicate, and returns the results and
/// how the run ended.
pub fn run_interleaved(
    cases: &[Case],
    settings: &Settings,
    pairs: &mut dyn PairSource,
    environment: &Environment,
    listener: &mut Listener<'_>,
) -> (InterleavedResults, RunStatus) {
    let mut progress: Vec<[CaseProgress; 2]> = vec![<[CaseProgress; 2]>::default(); cases.len()];
    let steps = settings.replicates.most() as usize * cases.len();
    let mut step = 0;
    let began = Instant::now();
    let mut ended = RunStatus::Complete;
    'rounds: for replicate in (settings.first_replicate..).take(settings.replicates.most() as usize)
    {
        for index in round_order(cases.len(), replicate) {
            let (case, both) = (&cases[index], &mut progress[index]);
            if both.iter().any(|side| side.ended.is_some()) {
                continue; // Without one side there is nothing to compare the other with.
            }
            if began.elapsed() > settings.limits.suite {
                ended = RunStatus::OutOfTime;
                break 'rounds;
            }
            step += 1;
            listener(&Event::ReplicateStarted { case: Box::new(case.clone()), step, steps });
            let time_left = settings.limits.suite.saturating_sub(began.elapsed());
            if !pair(pairs, case, both, Turn { replicate, time_left }) {
                ended = RunStatus::Interrupted;
                break 'rounds;
            }
        }
    }
    let baseline = side_results(cases, &progress, 0, environment);
    let current = side_results(cases, &progress, 1, environment);
    (InterleavedResults { baseline, current }, ended)
}

/// Returns the results of one side, for the cases that it reached.
fn side_results(
    cases: &[Case],
    progress: &[[CaseProgress; 2]],
    which: usize,
    environment: &Environment,
) -> Vec<BenchmarkResult> {
    let mut results = Vec::new();
    for (case, both) in cases.iter().zip(progress) {
        let side = &both[which];
        if !is_new(side) {
            results.push(assemble::result(case, side, environment, Timestamp::now()));
        }
    }
    results
}

/// Returns whether this side still has to be measured.
fn is_new(side: &CaseProgress) -> bool {
    side.ended.is_none() && side.replicates.is_empty()
}

/// Measures one replicate of each side. Returns `false` if the user requested a stop. An incomplete
/// pair is dropped.
fn pair(pairs: &mut dyn PairSource, case: &Case, both: &mut [CaseProgress; 2], turn: Turn) -> bool {
    let began = Instant::now();
    let watch = noise::NoiseWatch::begin();
    match pairs.measure_pair(case, turn) {
        Ok(replicates) => both
            .iter_mut()
            .zip(replicates)
            .for_each(|(side, replicate)| side.replicates.push(replicate)),
        // The time limit of the run was exceeded, not that of the case: drop this pair.
        Err((_, WorkerError::Failed(_))) if began.elapsed() >= turn.time_left => return true,
        Err((which, problem)) => {
            let Some(ended) = end_of(problem) else { return false };
            both[which].ended = Some(ended);
            // Find out whether the other side can run the case. That decides whether the case is
            // new, removed, or runs on neither side.
            let other = &mut both[1 - which];
            if is_new(other) {
                let time_left = turn.time_left.saturating_sub(began.elapsed());
                match pairs.measure_side(1 - which, case, Turn { time_left, ..turn }) {
                    Ok(replicate) => other.replicates.push(replicate),
                    Err(WorkerError::Failed(_)) if began.elapsed() >= turn.time_left => {}
                    Err(problem) => {
                        let Some(ended) = end_of(problem) else { return false };
                        other.ended = Some(ended);
                    }
                }
            }
        }
    }
    let noise = watch.end();
    for side in both {
        noise::merge(&mut side.noise, noise.clone());
    }
    true
}

/// Returns how `problem` ends a case; `None` if the user requested a stop.
fn end_of(problem: WorkerError) -> Option<(Outcome, Reason)> {
    match problem {
        WorkerError::Skipped(reason) => Some((Outcome::Skipped, reason)),
        WorkerError::Failed(reason) | WorkerError::Gone(reason) => Some((Outcome::Failed, reason)),
        WorkerError::Interrupted => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::{BenchmarkType, CaseId, Params, Profile};

    /// Sleeps in real time, because Criterion sizes its samples by wall time.
    const WORKS: &str = r#"while read line; do case $line in
        *prepare*) echo '{"answer":"ready","device_type":"cpu"}';;
        *sample*) sleep 0.003; iters=${line##*:}; echo "{\"answer\":\"sampled\",\"time_ns\":${iters%?}000000}";;
        *) echo '{"answer":"finished","fields":{}}';;
        esac; done"#;
    const CANNOT: &str = r#"read line; echo '{"answer":"skipped","reason":{"what":"counters","why":"none","cure":"a machine"}}'"#;
    const BREAKS: &str = "read line; exit 7";

    /// Returns how the case ends on each side, and the number of its replicates there.
    fn standing(scripts: [&str; 2]) -> [Vec<(Outcome, usize)>; 2] {
        let case = Case {
            id: CaseId::from_segments(&["cpu_performance", "cache-hit-rate"]),
            benchmark: "cache-hit-rate".into(),
            benchmark_type: BenchmarkType::CpuPerformance,
            device: rsb_model::DeviceRef::CPU.into(),
            params: Params::new(),
        };
        let mut settings = Settings::of(Profile::Quick);
        settings.replicates = crate::measure::Count::exactly(2);
        let programs = scripts.map(|script| {
            let args = vec!["-c".into(), script.into()];
            vec![WorkerCommand { program: "/bin/sh".into(), args, ..WorkerCommand::of("".into()) }]
        });
        let mut pairs = WorkerPairs::new(&programs, &settings).unwrap();
        let (both, ended) =
            run_interleaved(&[case], &settings, &mut pairs, &Environment::default(), &mut |_| {});
        assert_eq!(ended, RunStatus::Complete);
        [both.baseline, both.current]
            .map(|side| side.iter().map(|result| (result.outcome, result.samples.len())).collect())
    }

    #[test]
    fn each_side_says_how_it_stands_by_itself() {
        use Outcome::{Failed, Measured, Skipped};
        for (scripts, expected) in [
            ([WORKS, WORKS], [(Measured, 2), (Measured, 2)]),
            ([CANNOT, CANNOT], [(Skipped, 0), (Skipped, 0)]),
            ([CANNOT, WORKS], [(Skipped, 0), (Measured, 1)]),
            ([WORKS, CANNOT], [(Measured, 1), (Skipped, 0)]),
            ([BREAKS, CANNOT], [(Failed, 0), (Skipped, 0)]),
            ([WORKS, BREAKS], [(Measured, 1), (Failed, 0)]),
        ] {
            assert_eq!(standing(scripts), expected.map(|side| vec![side]), "{scripts:?}");
        }
    }

    #[test]
    fn layouts_take_turns_and_the_stack_moves_with_them() {
        let settings = Settings::of(Profile::Quick);
        let layouts = [vec!["a", "b", "c"], vec!["d"]].map(|names| {
            names.into_iter().map(|name| WorkerCommand::of(name.into())).collect::<Vec<_>>()
        });
        let pairs = WorkerPairs::new(&layouts, &settings).unwrap();
        let of_first: Vec<WorkerCommand> =
            (0..6).map(|replicate| pairs.program(0, replicate)).collect();
        let names: Vec<_> =
            of_first.iter().map(|command| command.program.to_str().unwrap()).collect();
        assert_eq!(names, ["a", "b", "c", "a", "b", "c"]);
        let offsets: std::collections::BTreeSet<_> = of_first.iter().map(stack_offset).collect();
        assert!(
            offsets.len() == 6
                && offsets.iter().all(|bytes| bytes.is_some_and(|bytes| bytes < 4096))
        );
        assert_eq!(stack_offset(&pairs.program(1, 0)), None, "a single layout must not be shifted");
    }

    fn stack_offset(command: &WorkerCommand) -> Option<usize> {
        let found = command.environment.iter().find(|(name, _)| *name == STACK_OFFSET);
        found.and_then(|(_, value)| value.as_ref()).map(String::len)
    }
}
