//! Measures two programs interleaved until their cases are decided. Used by `gate --against`, the
//! paired re-run and `bisect`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use itertools::Itertools as _;
use rsb_engine::measure::instructions::InstructionPass;
use rsb_engine::measure::{
    self, Count, InterleavedResults, PairSource, Settings, WorkerPairs, assemble,
};
use rsb_engine::{Listener, WorkerCommand, machine, machine_lock};
use rsb_model::record::not_counted_key;
use rsb_model::{
    BenchmarkResult, Case, CaseId, ComparisonResult, Environment, Event, Fields, Profile, Reason,
    Run, RunId, Timestamp, Verdict,
};
use rsb_stats::remeasure::{PAIRS, PAIRS_IN_TURNS, Rounds};
use rsb_stats::{FirstCall, Policy};
use serde_json::json;

use super::JudgedSides;
use super::schedule::Schedule;
use crate::harness::{self, BenchPairs, Benches, CaseCounts, CountedMetric, TURNS};

/// The programs of the two sides.
#[derive(Debug, Clone)]
pub enum SidePrograms {
    /// Two builds of this program, each in one or several layouts.
    Workers([Vec<WorkerCommand>; 2]),
    /// Two builds of another project.
    Benches([Arc<Benches>; 2]),
}

/// Two programs and their interleaved measurements.
pub struct Sides {
    programs: SidePrograms,
    cases: Vec<Case>,
    environment: Environment,
    baseline: Run,
    current: Run,
    /// Number of pairs after which each case was first judged slower or faster; recorded only if
    /// whole processes take turns.
    called: BTreeMap<CaseId, FirstCall>,
    /// Counts of the cases whose harness counts instructions.
    harness_counts: CaseCounts,
}

/// Limits on measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasureLimits {
    /// Time to measure.
    pub budget: Duration,
    /// Whether to stop as soon as one case is Regressed.
    pub fail_fast: bool,
    /// Maximum total time to wait while other programs are busy, in addition to the budget.
    pub wait_for_quiet: Duration,
}

impl MeasureLimits {
    /// Creates limits with only a `budget`.
    pub const fn new(budget: Duration) -> Self {
        Self { budget, fail_fast: false, wait_for_quiet: Duration::ZERO }
    }
}

/// Suites with more cases than this start with pairs of one turn, so that every case is measured
/// early.
const FEW_CASES: usize = 20;

/// The user is warned if the budget allows fewer pairs per case than this.
const SCARCE_PAIRS: u32 = 4;

impl Sides {
    /// Creates sides for both `programs`, called `names`, before any of `cases` is measured.
    pub fn new(programs: SidePrograms, names: [&str; 2], cases: Vec<Case>) -> Self {
        let environment = machine::environment();
        let [baseline, current] = names.map(|name| {
            Run::begin(
                RunId(name.to_owned()),
                Timestamp::now(),
                "against",
                "quick",
                environment.clone(),
            )
        });
        Self {
            programs,
            cases,
            environment,
            baseline,
            current,
            called: BTreeMap::new(),
            harness_counts: CaseCounts::new(),
        }
    }

    /// Returns whether there are no cases to measure.
    pub const fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// Measures every case a few times, then the undecided ones, the most urgent first, until all
    /// are decided or the budget is used up.
    ///
    /// # Errors
    /// Fails if no temporary directory can be created.
    pub fn measure(
        &mut self,
        policy: &Policy,
        limits: MeasureLimits,
        listener: &mut Listener<'_>,
    ) -> Result<()> {
        let rounds = self.rounds();
        let mut settings =
            Settings { replicates: Count::exactly(rounds.first), ..Settings::of(Profile::Quick) };
        let claim = machine_lock::claim([&mut self.baseline, &mut self.current], listener);
        let instructions = [CountedMetric::Instructions];
        let used = self.count_by_harness(&instructions, limits.budget, listener);
        let budget = limits.budget.saturating_sub(used);
        let mut schedule = Schedule::new(budget);
        let timed = self.timed_cases();
        let mut cases = timed.clone();
        if !timed.is_empty() {
            listener(&Event::InterleavedStarted { cases: timed.len(), left: budget });
        }
        let mut waited = Duration::ZERO;
        let most_turns = self.most_turns();
        let mut turns = if cases.len() > FEW_CASES { 1 } else { most_turns };
        while !cases.is_empty() {
            waited += schedule.wait_for_quiet(limits.wait_for_quiet.saturating_sub(waited));
            let Some(left) = schedule.left() else { break };
            settings.limits.suite = left;
            let both = schedule
                .time(turns, listener, |listener| {
                    self.measure_once(&cases, &settings, turns, listener)
                })
                .context(measure::NO_SCRATCH)?;
            self.take_over(&both);
            if settings.first_replicate == 0 {
                note_cost(&schedule, timed.len(), budget, listener);
            }
            self.note_called(policy);
            settings.first_replicate += settings.replicates.most();
            settings.replicates = Count::exactly(rounds.step);
            let result = self.compare(policy);
            if limits.fail_fast && result.verdict == Verdict::Regressed {
                break;
            }
            let mut open = rsb_stats::open_cases(&result, &self.current, rounds);
            open.retain(|open| timed.iter().any(|case| case.id == open.id));
            if schedule.is_report_due()
                && !open.is_empty()
                && let Some(left) = schedule.left()
            {
                listener(&Event::RemeasureStarted { cases: open.len(), left });
            }
            turns = schedule.turns(&open, most_turns);
            let ids = schedule.next(open, turns * rounds.step);
            cases = timed.iter().filter(|case| ids.contains(&case.id)).cloned().collect();
        }
        claim.end([&mut self.baseline, &mut self.current], listener);
        if waited >= Duration::from_secs(5) {
            let text = format!("waited {} s in total for other programs", waited.as_secs());
            listener(&Event::note(text));
        }
        Ok(())
    }

    fn measure_once(
        &self,
        cases: &[Case],
        settings: &Settings,
        turns: u32,
        listener: &mut Listener<'_>,
    ) -> std::io::Result<InterleavedResults> {
        let mut pairs: Box<dyn PairSource + '_> = match &self.programs {
            SidePrograms::Workers(programs) => Box::new(WorkerPairs::new(programs, settings)?),
            SidePrograms::Benches(sides) => Box::new(BenchPairs::new(sides, settings, turns)?),
        };
        Ok(measure::run_interleaved(cases, settings, &mut *pairs, &self.environment, listener).0)
    }

    /// Returns the cases to time: all whose harness does not count them.
    fn timed_cases(&self) -> Vec<Case> {
        self.cases.iter().filter(|case| !self.counts_itself(&case.id)).cloned().collect()
    }

    /// Returns whether the harness of the case `id` counts instructions and measures no time.
    fn counts_itself(&self, id: &CaseId) -> bool {
        let SidePrograms::Benches(sides) = &self.programs else { return false };
        sides.iter().all(|side| side.executables().is_some_and(|side| side.counts_itself(id)))
    }

    /// Adds `metrics` of cases whose harness counts instructions, and counts those that were not
    /// counted before for at most `time`. Returns the time used.
    fn count_by_harness(
        &mut self,
        metrics: &[CountedMetric],
        time: Duration,
        listener: &mut Listener<'_>,
    ) -> Duration {
        let SidePrograms::Benches(sides) = self.programs.clone() else { return Duration::ZERO };
        let began = Instant::now();
        let mut own = self.cases.clone();
        own.retain(|case| self.counts_itself(&case.id));
        if own.is_empty() {
            return Duration::ZERO;
        }
        let mut uncounted = own.clone();
        uncounted.retain(|case| !self.harness_counts.contains_key(&case.id));
        if !uncounted.is_empty() {
            listener(&Event::CountingStarted { cases: uncounted.len() });
            let ids: Vec<CaseId> = uncounted.iter().map(|case| case.id.clone()).collect();
            self.harness_counts.extend(harness::count_by_harness(&sides, &ids, began + time));
            self.leave_times_out_of(&uncounted);
        }
        let counts = Ok(self.harness_counts.clone());
        let ids: Vec<CaseId> = own.into_iter().map(|case| case.id).collect();
        self.add_counts(&ids, metrics, &counts);
        began.elapsed()
    }

    /// Records every case in both runs without times, for judging only other metrics.
    pub fn leave_times_out(&mut self) {
        let cases = self.cases.clone();
        self.leave_times_out_of(&cases);
    }

    fn leave_times_out_of(&mut self, cases: &[Case]) {
        let progress = assemble::CaseProgress::default();
        for run in [&mut self.baseline, &mut self.current] {
            for case in cases {
                run.keep(assemble::result(case, &progress, &self.environment, Timestamp::now()));
            }
        }
    }

    /// Removes the cases recorded by [`Sides::leave_times_out`], for judging only executables.
    pub fn leave_cases_out(&mut self) {
        self.cases.clear();
        for run in [&mut self.baseline, &mut self.current] {
            run.benchmarks.retain(|result| !result.results.is_empty());
        }
    }

    /// Counts `metrics` of the measured cases, and returns a summary for the user. For another
    /// project, counting takes at most `time`. For this program, it counts instructions whatever
    /// the `metrics`, for at most the time limit of a suite.
    pub fn count(
        &mut self,
        metrics: &[CountedMetric],
        time: Duration,
        listener: &mut Listener<'_>,
    ) -> String {
        listener(&Event::CountingStarted { cases: self.cases.len() });
        match self.programs.clone() {
            SidePrograms::Workers(layouts) => self.count_by_workers(&layouts),
            SidePrograms::Benches(sides) => {
                let mut own = metrics.to_vec();
                own.retain(|metric| metric.needs_valgrind());
                let used = if own.is_empty() {
                    Duration::ZERO
                } else {
                    self.count_by_harness(&own, time, listener)
                };
                self.count_benches(&sides, metrics, time.saturating_sub(used))
            }
        }
    }

    fn count_by_workers(&mut self, layouts: &[Vec<WorkerCommand>; 2]) -> String {
        let settings = Settings::of(Profile::Quick);
        let mut counting = InstructionPass::begin(&settings, settings.limits.suite);
        'cases: for case in &self.cases {
            for (run, layouts) in [&mut self.baseline, &mut self.current].into_iter().zip(layouts) {
                // All layouts execute the same instructions.
                let Some(program) = layouts.first() else { continue };
                let Some(result) = result_of(run, &case.id) else { continue 'cases };
                if counting.add(program, case, result).is_err() {
                    break 'cases; // Somebody asked to stop.
                }
            }
        }
        counting.summary()
    }

    fn count_benches(
        &mut self,
        sides: &[Arc<Benches>; 2],
        metrics: &[CountedMetric],
        time: Duration,
    ) -> String {
        let ids: Vec<CaseId> = self.cases.iter().map(|case| case.id.clone()).collect();
        let until = Instant::now() + time;
        let mut summary = Vec::new();
        if metrics.contains(&CountedMetric::CodeSize) {
            let executables = self.add_code_sizes(sides, &ids);
            summary.push(format!("code-size of {executables} bench executables"));
        }
        for together in harness::COUNTED_TOGETHER {
            let mut wanted = together.to_vec();
            wanted.retain(|metric| metrics.contains(metric));
            if wanted.is_empty() {
                continue;
            }
            let counts = harness::count_cases(sides, &wanted, &ids, until);
            let counted = self.add_counts(&ids, &wanted, &counts);
            let names = wanted.iter().map(|metric| metric.as_str()).join(" and ");
            summary.push(format!("{names} of {counted} of {} cases", ids.len()));
        }
        format!("counted: {}", summary.join("; "))
    }

    /// Adds `counts` of `metrics`, or the reasons why there are none, to the results of the cases
    /// `ids`. Returns how many cases were counted.
    fn add_counts(
        &mut self,
        ids: &[CaseId],
        metrics: &[CountedMetric],
        counts: &Result<CaseCounts, Reason>,
    ) -> usize {
        let uncountable = Reason::new(
            "counts",
            "only Criterion and Divan run a requested number of iterations",
            "omit `--decide-by` to judge what its harness measures",
        );
        let unprinted = Reason::new(
            "counts",
            "its harness printed no estimated cycles",
            "let the benchmark simulate caches: `--cache-sim=yes` for Callgrind",
        );
        let mut counted = 0;
        for id in ids {
            let count = match counts {
                Ok(counts) => counts.get(id).cloned(),
                Err(reason) => Some(Err(reason.clone())),
            };
            // The harness already counted this case.
            let is_own = self.counts_itself(id) && metrics.iter().all(|one| one.needs_valgrind());
            let is_counted = is_own && self.has_values(id);
            counted += usize::from(is_counted || matches!(count, Some(Ok(_))));
            for (which, run) in [&mut self.baseline, &mut self.current].into_iter().enumerate() {
                let Some(result) = result_of(run, id) else { continue };
                let has_value = !result.samples.is_empty() || !result.results.is_empty();
                match &count {
                    None if has_value || is_own => {}
                    None => not_counted(result, metrics, &uncountable),
                    Some(Err(reason)) => not_counted(result, metrics, reason),
                    Some(Ok(counts)) => {
                        if result.results.is_empty() {
                            result.results.push(Fields::new());
                        }
                        let fields = &mut result.results[0];
                        let (mut absent, values) = (metrics.to_vec(), &counts[which]);
                        absent.retain(|metric| {
                            !metric.fields().iter().any(|name| values.contains_key(name))
                        });
                        for &name in metrics.iter().flat_map(|metric| metric.fields()) {
                            if let Some(value) = values.get(name) {
                                fields.set(name, *value);
                            }
                        }
                        if metrics.contains(&CountedMetric::Instructions) {
                            let source = if is_own { "callgrind" } else { "cachegrind" };
                            fields.set("instructions_source", source);
                        }
                        not_counted(result, &absent, &unprinted);
                    }
                }
            }
        }
        counted
    }

    /// Returns whether both sides have values of the case `id`.
    fn has_values(&self, id: &CaseId) -> bool {
        [&self.baseline, &self.current].into_iter().all(|run| {
            let result = run.benchmarks.iter().find(|known| known.benchmark_id == *id);
            result.is_some_and(|result| !result.results.is_empty())
        })
    }

    /// Adds a result for each executable with one of the cases `ids`: `code-size/TARGET`. Returns
    /// how many there are.
    fn add_code_sizes(&mut self, sides: &[Arc<Benches>; 2], ids: &[CaseId]) -> usize {
        let [Some(before), Some(after)] = sides.each_ref().map(|side| side.executables()) else {
            return 0;
        };
        let [before, after] = [before, after].map(|side| side.code_sizes(ids));
        let mut executables = 0;
        let targets: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
        for target in targets {
            executables += 1;
            let case = harness::case_of(CaseId::from_segments(&["code-size", target]));
            let runs = [(&mut self.baseline, &before), (&mut self.current, &after)];
            for (run, sizes) in runs {
                // A target that exists on only one side gets no verdict.
                let Some(size) = sizes.get(target) else { continue };
                let progress = assemble::CaseProgress::default();
                let mut result =
                    assemble::result(&case, &progress, &self.environment, Timestamp::now());
                result.results.push(Fields::new().with(harness::CODE_SIZE, *size));
                run.benchmarks.push(result);
            }
        }
        executables
    }

    /// Compares all pairs measured until now. A case without a turn on one side has no verdict.
    pub fn compare(&self, policy: &Policy) -> ComparisonResult {
        let result = match self.programs {
            SidePrograms::Workers(_) => {
                rsb_stats::gate_paired(&self.baseline, &self.current, policy, Timestamp::now())
            }
            SidePrograms::Benches(_) => {
                let (before, after) = (&self.baseline, &self.current);
                rsb_stats::gate_in_turns_confirmed(
                    before,
                    after,
                    &self.called,
                    policy,
                    Timestamp::now(),
                )
            }
        };
        rsb_stats::with_unmeasured(result, &self.unmeasured_cases(), policy)
    }

    /// Records cases that are judged slower or faster for the first time.
    fn note_called(&mut self, policy: &Policy) {
        if matches!(self.programs, SidePrograms::Workers(_)) {
            return;
        }
        let judged =
            rsb_stats::gate_in_turns(&self.baseline, &self.current, policy, Timestamp::now());
        for row in judged.comparisons {
            if !matches!(row.verdict, Verdict::Regressed | Verdict::Improved) {
                continue;
            }
            let known = self.current.benchmarks.iter().find(|known| known.benchmark_id == row.id);
            let pairs = known.map_or(0, |known| known.samples.len());
            let first =
                self.called.entry(row.id).or_insert(FirstCall { verdict: row.verdict, pairs });
            if first.verdict != row.verdict {
                *first = FirstCall { verdict: row.verdict, pairs };
            }
        }
    }

    fn unmeasured_cases(&self) -> Vec<CaseId> {
        let [before, after] = [&self.baseline, &self.current].map(|run| {
            run.benchmarks
                .iter()
                .map(|known| &known.benchmark_id)
                .sorted_unstable()
                .dedup()
                .collect_vec()
        });
        let had_turn =
            |id: &CaseId| before.binary_search(&id).is_ok() && after.binary_search(&id).is_ok();
        self.cases.iter().map(|case| &case.id).filter(|id| !had_turn(id)).cloned().collect()
    }

    /// Returns both sides, with the tree here as the current side and the load of the last minute.
    pub fn judged_sides(&self) -> JudgedSides {
        let mut current = Run { benchmarks: Vec::new(), ..self.current.clone() };
        current.environment.state = Some(rsb_probe::state());
        JudgedSides::of(&[], &[current])
    }

    /// Returns the run of the first program.
    pub fn baseline(&self) -> &Run {
        &self.baseline
    }

    fn take_over(&mut self, both: &InterleavedResults) {
        for (run, results) in
            [(&mut self.baseline, &both.baseline), (&mut self.current, &both.current)]
        {
            for result in results {
                let id = &result.benchmark_id;
                let known = run.benchmarks.iter().find(|known| known.benchmark_id == *id);
                let mut result = result.clone();
                if let Some(known) = known {
                    // Drop samples that only one side could repeat: they have no partner and would
                    // shift all later pairs.
                    if count_samples(&both.baseline, id) != count_samples(&both.current, id) {
                        result.samples.clear();
                    }
                    result = assemble::extend(known, &result);
                }
                run.keep(result);
            }
        }
    }

    /// Returns the number of turns of a pair if time allows. Pairs of workers have one turn,
    /// because workers interleave samples.
    const fn most_turns(&self) -> u32 {
        match self.programs {
            SidePrograms::Workers(_) => 1,
            SidePrograms::Benches(_) => TURNS,
        }
    }

    /// Returns how often cases are measured. With several layouts, each is measured once, because
    /// measuring the same layout again gives the same result.
    fn rounds(&self) -> Rounds {
        match &self.programs {
            SidePrograms::Workers(layouts) if layouts[0].len() > 1 => {
                Rounds { enough: PAIRS.enough.min(layouts[0].len() - 1), ..PAIRS }
            }
            SidePrograms::Workers(_) => PAIRS,
            SidePrograms::Benches(_) => PAIRS_IN_TURNS,
        }
    }
}

/// Reports the cost of one pair of each case if the budget allows too few for a verdict.
fn note_cost(schedule: &Schedule, cases: usize, budget: Duration, listener: &mut Listener<'_>) {
    let pair = schedule.cost_of_all().as_secs_f64(); // Of one turn.
    let pairs = budget.as_secs_f64() / pair.max(1e-9);
    if pairs >= f64::from(SCARCE_PAIRS) {
        return;
    }
    listener(&Event::note(format!(
        "one process of each side of {cases} cases takes {pair:.0} s, so {:.0} s allow about \
         {pairs:.1} for each case; `--budget {:.0}m` allows {SCARCE_PAIRS}, `--case PATTERN` measures \
         fewer cases",
        budget.as_secs_f64(),
        (pair * f64::from(SCARCE_PAIRS) / 60.0).ceil(),
    )));
}

fn not_counted(result: &mut BenchmarkResult, metrics: &[CountedMetric], reason: &Reason) {
    for name in metrics.iter().filter_map(|metric| metric.fields().first()) {
        result.metadata.insert(not_counted_key(name), json!(reason));
    }
}

fn result_of<'r>(run: &'r mut Run, id: &CaseId) -> Option<&'r mut BenchmarkResult> {
    run.benchmarks.iter_mut().find(|known| known.benchmark_id == *id)
}

fn count_samples(results: &[BenchmarkResult], id: &CaseId) -> usize {
    let result = results.iter().find(|result| result.benchmark_id == *id);
    result.map_or(0, |result| result.samples.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::ReasonCode;
    use rsb_model::random::Generator;
    use serde_json::json;

    fn result(outcome: &str, replicates: u32) -> BenchmarkResult {
        let samples =
            (0..replicates).map(|at| json!({"replicate": at, "iters": [1], "times_ns": [5.0]}));
        let value = json!({
            "benchmark_id": "cpu_performance/made-up/cpu:0/one",
            "timestamp": "2026-01-01T00:00:00Z",
            "benchmark_type": "cpu_performance",
            "outcome": outcome,
            "what": "case", "why": "it broke", "cure": "mend it",
            "results": [],
            "samples": samples.collect::<Vec<_>>(),
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn pairs_stay_pairs_where_one_side_breaks_later() {
        let programs =
            SidePrograms::Workers(["a", "b"].map(|name| vec![WorkerCommand::of(name.into())]));
        let mut sides = Sides::new(programs, ["a", "b"], Vec::new());
        for (baseline, current, replicates) in [
            (result("measured", 3), result("measured", 3), [3, 3]),
            (result("failed", 0), result("measured", 1), [3, 3]),
            (result("measured", 2), result("measured", 2), [5, 5]),
        ] {
            sides.take_over(&InterleavedResults {
                baseline: vec![baseline],
                current: vec![current],
            });
            let found =
                [&sides.baseline, &sides.current].map(|run| run.benchmarks[0].samples.len());
            assert_eq!(found, replicates);
        }
    }

    #[test]
    fn a_case_that_had_no_turn_has_no_verdict() {
        let programs =
            SidePrograms::Workers(["a", "b"].map(|name| vec![WorkerCommand::of(name.into())]));
        let known = result("measured", 3);
        let mut late = known.clone();
        late.benchmark_id = "cpu_performance/made-up/cpu:0/two".parse().unwrap();
        let cases = [&known, &late].map(case_of).to_vec();
        let mut sides = Sides::new(programs, ["a", "b"], cases);
        assert_eq!(inconclusive_reasons(&sides).len(), 2, "nothing was measured");
        // The second case failed on one side, and the time was over before the other side was
        // measured.
        late.outcome = rsb_model::Outcome::Failed;
        sides.take_over(&InterleavedResults {
            baseline: vec![known.clone()],
            current: vec![known, late.clone()],
        });
        let unmeasured = inconclusive_reasons(&sides)
            .into_iter()
            .filter(|(_, code)| *code == ReasonCode::NotMeasured);
        assert_eq!(
            unmeasured.map(|(id, _)| id).collect::<Vec<_>>(),
            [late.benchmark_id.to_string()]
        );
    }

    fn case_of(result: &BenchmarkResult) -> Case {
        Case {
            id: result.benchmark_id.clone(),
            benchmark: "made-up".into(),
            benchmark_type: result.benchmark_type,
            device: rsb_model::DeviceRef::CPU.into(),
            params: rsb_model::Params::new(),
        }
    }

    /// Asserts that the verdict is inconclusive, and returns the reason code of each case.
    fn inconclusive_reasons(sides: &Sides) -> Vec<(String, ReasonCode)> {
        let result = sides.compare(&Policy::default());
        assert_eq!(result.verdict, Verdict::Inconclusive);
        assert!(result.new.is_empty() && result.missing.is_empty(), "{result:?}");
        result.comparisons.into_iter().map(|row| (row.id.to_string(), row.reason_code)).collect()
    }

    #[test]
    fn a_side_that_only_one_program_has_figures_of_keeps_them() {
        let programs =
            SidePrograms::Workers(["a", "b"].map(|name| vec![WorkerCommand::of(name.into())]));
        let mut sides = Sides::new(programs, ["a", "b"], Vec::new());
        sides.take_over(&InterleavedResults {
            baseline: vec![result("skipped", 0)],
            current: vec![result("measured", 1)],
        });
        assert_eq!(sides.current.benchmarks[0].samples.len(), 1);
        let compared = sides.compare(&Policy::default());
        assert_eq!(compared.new.len(), 1, "{compared:?}");
    }

    /// How one of the cases is bad on the current side.
    #[derive(Debug, Clone, Copy)]
    enum Badness {
        Slower,
        Failed,
        Skipped,
        Unreadable,
        WithoutTurn,
    }

    const BADNESS: [Badness; 5] = [
        Badness::Slower,
        Badness::Failed,
        Badness::Skipped,
        Badness::Unreadable,
        Badness::WithoutTurn,
    ];

    /// Returns what a process of one side reports of `case`: replicates, or a failure.
    fn scripted(
        case: usize,
        level: f64,
        replicates: u64,
        random: &mut Generator,
    ) -> BenchmarkResult {
        let mut made = result("measured", 0);
        made.benchmark_id = format!("cpu_performance/made-up/cpu:0/{case}").parse().unwrap();
        for replicate in 0..u32::try_from(replicates).unwrap() {
            let drift = 1.0 + 0.01 * random.unit();
            let times = (0..8).map(|_| level * drift * (1.0 + 0.01 * random.unit())).collect();
            made.samples.push(rsb_model::Samples { replicate, iters: vec![1; 8], times_ns: times });
        }
        made
    }

    /// Damages what a process reported, as a benchmark or its worker may.
    fn damage(result: &mut BenchmarkResult, random: &mut Generator) {
        use rsb_model::Outcome::{Failed, Skipped};
        let times = result.samples.iter_mut().flat_map(|samples| &mut samples.times_ns);
        match random.below(8) {
            0 => (result.outcome, result.samples) = (Failed, Vec::new()),
            1 => (result.outcome, result.samples) = (Skipped, Vec::new()),
            2 => result.samples.truncate(1),
            3 => times.for_each(|time| *time = 0.0),
            4 => times.take(3).for_each(|time| *time = f64::NAN),
            5 => times.take(1).for_each(|time| *time = -1.0),
            6 => times.for_each(|time| *time *= 1e9),
            _ => result.samples.iter_mut().for_each(|samples| samples.iters.truncate(2)),
        }
    }

    /// `RSB_FUZZ_TRIES` sets the number of tries, `RSB_FUZZ_SEED` the first seed.
    #[test]
    fn a_case_that_became_bad_never_passes_whatever_the_processes_report() {
        let number = |name: &str, otherwise: u64| {
            std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
        };
        let (tries, first) = (number("RSB_FUZZ_TRIES", 100), number("RSB_FUZZ_SEED", 1));
        let programs =
            SidePrograms::Workers(["a", "b"].map(|name| vec![WorkerCommand::of(name.into())]));
        let cases = (0..4).map(|case| case_of(&scripted(case, 1.0, 0, &mut Generator::new(0))));
        let mut sides = Sides::new(programs, ["a", "b"], cases.collect());
        let mut codes = [0_u64; 5];
        for seed in first..first + tries {
            let random = &mut Generator::new(seed);
            let badness = BADNESS[random.below(5) as usize];
            // Damaged cases alone refuse a verdict, so half of the tries have none.
            let damages = random.below(2) == 0;
            sides.baseline.benchmarks.clear();
            sides.current.benchmarks.clear();
            for _ in 0..=random.below(8) {
                let mut both = InterleavedResults { baseline: Vec::new(), current: Vec::new() };
                for case in 0..4 {
                    let level = 1e4 * (case + 1) as f64;
                    let replicates = 1 + random.below(3);
                    let [mut before, mut after] =
                        [(); 2].map(|()| scripted(case, level, replicates, random));
                    // The bad case keeps its replicates of the baseline; others may break.
                    let is_bad = case == 1;
                    if damages && !is_bad && random.below(4) == 0 {
                        damage(&mut before, random);
                    }
                    let times = after.samples.iter_mut().flat_map(|samples| &mut samples.times_ns);
                    match badness {
                        _ if !is_bad => {
                            if damages && random.below(4) == 0 {
                                damage(&mut after, random);
                            }
                        }
                        Badness::Slower => times.for_each(|time| *time *= 1.5),
                        Badness::Failed | Badness::Skipped => {
                            after.samples.clear();
                            after.outcome = rsb_model::Outcome::Failed;
                            if matches!(badness, Badness::Skipped) {
                                after.outcome = rsb_model::Outcome::Skipped;
                            }
                        }
                        Badness::Unreadable => {
                            let value = [-1.0, f64::NAN, f64::INFINITY, 0.0];
                            times.for_each(|time| *time = value[random.below(4) as usize]);
                        }
                        Badness::WithoutTurn => {
                            both.baseline.push(before);
                            continue;
                        }
                    }
                    both.baseline.push(before);
                    both.current.push(after);
                }
                sides.take_over(&both);
            }
            let code = rsb_stats::exit_code(&sides.compare(&Policy::default()));
            codes[usize::from(code)] += 1;
            assert_ne!(code, 0, "seed {seed}: {badness:?}");
        }
        println!("{tries} tries, seed {first}: exit 3 {}, 4 {}", codes[3], codes[4]);
        assert!(codes[3] > 0 && codes[4] > 0, "exit codes 3 and 4 must both occur: {codes:?}");
    }
}
