//! What a person sees on standard error while cases are measured. It draws between cases, never while one is timed.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rsb_model::{Case, Event};

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
        let left = remaining(self.began.elapsed(), step, steps)
            .map_or_else(String::new, |left| format!("{} left", human(left)));
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

/// Time left at the present pace, once a step is done.
fn remaining(elapsed: Duration, step: usize, steps: usize) -> Option<Duration> {
    let done = u32::try_from(step.checked_sub(1)?).ok().filter(|&done| done > 0)?;
    let left = u32::try_from(steps.saturating_sub(done as usize)).ok()?;
    Some(elapsed / done * left)
}

fn human(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=99 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_the_pace() {
        let seconds = Duration::from_secs;
        assert_eq!(remaining(seconds(0), 1, 10), None, "nothing is known before the first step is done");
        assert_eq!(remaining(seconds(20), 3, 10), Some(seconds(80)));
        assert_eq!(human(seconds(80)), "80 s");
        assert_eq!(human(seconds(121)), "3 min");
    }
}
