//! What a person sees on standard error while cases are measured. It draws between cases, never while one is timed.

use std::io::IsTerminal;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rsb_model::{Case, Event};
use rsb_report::number::format_left;

use crate::console;

/// The progress of a run, once it has begun.
#[derive(Default)]
pub(super) struct Progress {
    bar: Option<Bar>,
}

impl Progress {
    /// Follows the run.
    pub(super) fn on_event(&mut self, event: &Event) {
        match event {
            Event::ReplicateStarted { case, step, steps } => {
                self.bar.get_or_insert_with(|| Bar::begin(*steps)).started(case, *step, *steps);
            }
            Event::RunEnded(_) => {
                if let Some(bar) = self.bar.take() {
                    bar.end();
                }
            }
            _ => {}
        }
    }
}

/// A bar with the time that is left on a terminal; a line a case in a log.
struct Bar {
    drawn: ProgressBar,
    began: Instant,
    is_terminal: bool,
}

impl Bar {
    /// Begins with `steps` to go.
    fn begin(steps: usize) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let target = if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target);
        // The template is fixed and correct; without it indicatif's own look would do.
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len}  {prefix}  {msg}") {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Self { drawn: bar, began: Instant::now(), is_terminal }
    }

    /// Step `step`, counted from 1, of `steps` begins with `case`.
    fn started(&self, case: &Case, step: usize, steps: usize) {
        let left = format_left(self.began.elapsed(), step, steps).unwrap_or_default();
        self.drawn.set_position(step as u64 - 1);
        self.drawn.set_prefix(left);
        self.drawn.set_message(case.id.to_string());
        self.drawn.tick();
        if !self.is_terminal {
            console::say(&format!("[{step}/{steps}] {}", case.id));
        }
    }

    /// Removes the bar.
    fn end(&self) {
        self.drawn.finish_and_clear();
    }
}
