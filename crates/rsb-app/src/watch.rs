//! Turns of `watch`: when the next one is due, and when it is skipped.

pub mod unit;

use std::thread;
use std::time::Duration;

/// Returns the number of the next future turn, later than `turn`.
pub fn next_turn(turn: u32, elapsed: Duration, every: Duration) -> u32 {
    let passed = (elapsed.as_secs_f64() / every.as_secs_f64()).floor() as u32;
    turn.max(passed).saturating_add(1)
}

/// Formats a wait as `5 h 59 min`, or `40 s` if it is less than a minute.
pub fn wait_text(wait: Duration) -> String {
    let seconds = wait.as_secs();
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// Returns the reason why nothing should be measured now, if there is one.
pub fn not_now(max_load: Option<f64>) -> Option<String> {
    let sample = rsb_probe::sample();
    if sample.is_on_battery() {
        return Some("the machine runs on its battery".to_owned());
    }
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let most = max_load.unwrap_or(threads as f64 / 2.0);
    let load = sample.load_average().filter(|load| *load > most)?;
    Some(format!("the load average is {load:.1}, above {most:.1} (--max-load)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_that_passed_meanwhile_are_left_out() {
        let hours = Duration::from_hours;
        assert_eq!(next_turn(0, hours(1), hours(6)), 1);
        assert_eq!(next_turn(1, hours(6), hours(6)), 2);
        assert_eq!(next_turn(1, hours(20), hours(6)), 4);
        assert_eq!(next_turn(u32::MAX, hours(20), hours(6)), u32::MAX);
    }

    #[test]
    fn a_wait_is_told_in_what_people_count() {
        let told = [12, 61, 3600, 21_599].map(|seconds| wait_text(Duration::from_secs(seconds)));
        assert_eq!(told, ["12 s", "1 min", "1 h 0 min", "5 h 59 min"]);
    }
}
