//! What was recorded: two sides of one program, pair by pair, and what each pair cost.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use rsb_model::{BenchmarkResult, Outcome, Run, Samples};

use crate::steps::root;

/// Two sides of one program.
pub(super) struct Recording {
    runs: [Run; 2],
    /// The cases that every process measured.
    pub(super) cases: Vec<RecordedCase>,
}

/// One case of both sides.
pub(super) struct RecordedCase {
    /// Its record, without samples.
    pub(super) result: BenchmarkResult,
    /// The samples of the two processes of each pair.
    pub(super) pairs: Vec<[Samples; 2]>,
    /// Seconds that one pair takes, starting and verifying included.
    pub(super) seconds: f64,
}

/// Records `pairs` pairs of the quick suite beside a busy core.
pub(super) fn record(file: &Path, pairs: usize) -> Result<()> {
    eprintln!("recording {pairs} pairs of the quick suite into {}", file.display());
    let pairs = pairs.to_string();
    let status = Command::new("cargo")
        .args(["run", "--release", "--example", "record_pairs", "--"])
        .arg(std::path::absolute(file)?)
        .args([&pairs, "busy"])
        .current_dir(root())
        .status()?;
    if !status.success() {
        bail!("nothing was recorded");
    }
    Ok(())
}

impl Recording {
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let runs: [Run; 2] =
            serde_json::from_slice(&text).with_context(|| format!("{} is no recording", file.display()))?;
        let cases: Vec<RecordedCase> =
            runs[0].benchmarks.iter().zip(&runs[1].benchmarks).filter_map(|(a, b)| RecordedCase::of(a, b)).collect();
        if cases.is_empty() {
            bail!("{} holds no case that was measured", file.display());
        }
        Ok(Self { runs, cases })
    }

    /// Cases of made-up pairs, a second each, on no machine.
    #[cfg(test)]
    pub(super) fn made_up(cases: impl Iterator<Item = Vec<[Samples; 2]>>) -> Self {
        use rsb_model::record::EnvironmentSummary;
        use rsb_model::{BenchmarkType, CaseId, Environment, RunId, Timestamp};
        let run = || {
            let name = RunId("made-up".to_owned());
            Run::begin(name, Timestamp::UNIX_EPOCH, "quick", "quick", Environment::default())
        };
        let case = |(at, pairs): (usize, Vec<[Samples; 2]>)| RecordedCase {
            result: BenchmarkResult {
                benchmark_id: CaseId::from_segments(&["cpu_performance", "gemm", "cpu:0", &format!("case{at}")]),
                timestamp: Timestamp::UNIX_EPOCH,
                benchmark_type: BenchmarkType::CpuPerformance,
                category: None,
                outcome: Outcome::Measured,
                reason: None,
                device_type: None,
                environment: EnvironmentSummary::default(),
                results: Vec::new(),
                statistics: None,
                samples: Vec::new(),
                metadata: serde_json::Map::new(),
            },
            pairs,
            seconds: 1.0,
        };
        Self { runs: [run(), run()], cases: cases.enumerate().map(case).collect() }
    }

    /// An empty run of this machine.
    pub(super) fn blank(&self) -> Run {
        Run { benchmarks: Vec::new(), ..self.runs[0].clone() }
    }

    /// The machine, the day and the size, as a paragraph.
    pub(super) fn heading(&self) -> String {
        let environment = &self.runs[0].environment;
        let known = |text: Option<&String>| text.map_or_else(|| "unknown".to_owned(), Clone::clone);
        let cpu = environment.cpu.as_ref().map_or_else(
            || "An unknown CPU".to_owned(),
            |cpu| {
                let guest = cpu.hypervisor.as_ref().map_or_else(String::new, |name| format!(" under {name}"));
                format!("{} with {} usable threads{guest}", known(cpu.model.as_ref()), cpu.usable_cores)
            },
        );
        let pairs = self.cases.iter().map(|case| case.pairs.len()).min().unwrap_or_default();
        format!(
            "{cpu}, kernel {}, {}. {} cases, {pairs} pairs of processes ({} processes of each case), while another \
             thread kept a core busy.\n",
            known(environment.kernel.as_ref()),
            self.runs[0].started.to_string().get(..10).unwrap_or_default(),
            self.cases.len(),
            2 * pairs,
        )
    }
}

impl RecordedCase {
    fn of(first: &BenchmarkResult, second: &BenchmarkResult) -> Option<Self> {
        if first.outcome != Outcome::Measured || first.samples.is_empty() || first.samples.len() != second.samples.len()
        {
            return None;
        }
        let cost = |result: &BenchmarkResult| {
            let milliseconds = ["prepare_ms", "measure_ms", "harness_ms"].iter();
            milliseconds.filter_map(|name| result.metadata.get(*name)?.as_f64()).sum::<f64>()
        };
        Some(Self {
            pairs: first.samples.iter().cloned().zip(second.samples.iter().cloned()).map(|(a, b)| [a, b]).collect(),
            seconds: (cost(first) + cost(second)) / 1e3 / first.samples.len() as f64,
            result: BenchmarkResult { samples: Vec::new(), ..first.clone() },
        })
    }
}
