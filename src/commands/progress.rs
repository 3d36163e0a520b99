//! Progress on standard error. It is drawn between cases, never while one is timed.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rsb_model::{BenchmarkResult, Case, CaseId, Event, Outcome};
use rsb_report::label::Shortener;
use rsb_report::number::format_left;
use rsb_report::{Color, Style, run};

use crate::console;

/// The results that are printed as lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultLines {
    /// The first result of each case, on a terminal.
    First,
    /// Every result, with or without a terminal.
    Every,
}

/// Progress display of a run: results and a bar on a terminal, otherwise one line per benchmark.
pub(super) struct Progress {
    lines: ResultLines,
    began: Instant,
    is_terminal: bool,
    bar: Option<ProgressBar>,
    shown: BTreeSet<CaseId>,
    benchmarks: BTreeSet<String>,
}

impl Progress {
    /// Creates a display without a bar; the first case adds it.
    pub(super) fn new(lines: ResultLines) -> Self {
        Self {
            lines,
            began: Instant::now(),
            is_terminal: std::io::stderr().is_terminal(),
            bar: None,
            shown: BTreeSet::new(),
            benchmarks: BTreeSet::new(),
        }
    }

    /// Shows an event.
    pub(super) fn on_event(&mut self, event: &Event) {
        match event {
            Event::ReplicateStarted { case, step, steps } if self.is_terminal => {
                self.draw(case, *step, *steps);
            }
            Event::ReplicateStarted { case, step, steps } => self.announce(case, *step, *steps),
            Event::CaseUpdated(result) => self.show_result(result),
            // Each check measures its own plan, with its own bar.
            Event::CheckStarted { .. } => self.began = Instant::now(),
            Event::CheckEnded(_) => {
                if let Some(bar) = self.bar.take() {
                    bar.finish_and_clear();
                }
            }
            Event::RunEnded(_) => {
                if let Some(bar) = self.bar.take() {
                    bar.finish_and_clear();
                    console::say(""); // The table of the run begins apart from the lines above.
                }
            }
            _ => {}
        }
        self.above_the_bar(|| console::tell(event));
    }

    /// Moves the bar to `step`, counted from 1, and shows `case`.
    fn draw(&mut self, case: &Case, step: usize, steps: usize) {
        let bar = self.bar.get_or_insert_with(|| bar(steps));
        let left = format_left(self.began.elapsed(), step, steps).unwrap_or_default();
        bar.set_position(step as u64 - 1);
        bar.set_prefix(left);
        bar.set_message(Shortener::of([&case.id]).full(&case.id));
        bar.tick();
    }

    /// Prints the name of the benchmark of `case` before its first case.
    fn announce(&mut self, case: &Case, step: usize, steps: usize) {
        if self.benchmarks.insert(case.benchmark.clone()) {
            console::say(&format!("[replicate {step} of {steps}] {}", case.benchmark));
        }
    }

    fn show_result(&mut self, result: &BenchmarkResult) {
        let is_first = self.shown.insert(result.benchmark_id.clone());
        let is_shown = match self.lines {
            ResultLines::First => {
                self.is_terminal && is_first && result.outcome != Outcome::Skipped
            }
            ResultLines::Every => true,
        };
        if is_shown {
            let style =
                Style { color: Color::Never, width: console::width().unwrap_or(usize::MAX) };
            let line = run::line(result, style);
            self.above_the_bar(|| console::say(&line));
        }
    }

    /// Runs `write`, which prints lines, without disturbing the bar.
    fn above_the_bar(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

/// Creates a bar of `steps` that fits in one line of any terminal.
fn bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr());
    // The template is a valid constant; if it were not, indicatif's default style would be used.
    if let Ok(style) = ProgressStyle::with_template("{bar:16} {pos}/{len}  {prefix}  {wide_msg}") {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar
}
