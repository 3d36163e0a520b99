//! `watch`: measures periodically, at a low priority and only while the machine is idle.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rsb_app::watch::{next_turn, not_now, unit, wait_text};
use rsb_engine::measure::interrupt;
use rsb_report::Style;

use super::interrupt as ctrl_c;
use crate::cli::{Places, WatchArgs};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Niceness of a turn, as for nice(1).
const NICE: i32 = 10;

/// Interval at which the wait for the next turn checks for an interrupt.
const LOOK: Duration = Duration::from_millis(200);

/// Runs the subcommand `watch`.
///
/// # Errors
/// If this program cannot be started again.
pub fn run(args: &WatchArgs, _: Style) -> CliResult {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    if args.print_unit {
        let here = std::env::current_dir().context("cannot find the current directory")?;
        let mut words: Vec<OsString> = vec!["watch".into(), "--once".into()];
        words.extend(turn_arguments(args));
        words.extend(
            args.max_load.iter().flat_map(|load| ["--max-load".into(), load.to_string().into()]),
        );
        show::text(&unit::units(&program, &words, &here, args.every))?;
        return Ok(Exit::Pass);
    }
    ctrl_c::listen();
    // Child processes inherit the priority. If the system refuses, turns run at the usual priority.
    if let Err(error) = rustix::process::nice(NICE) {
        console::say(&format!("note: cannot lower the priority of runs: {error}"));
    }
    let began = Instant::now();
    let mut turn = 0_u32;
    loop {
        let ended = match not_now(args.max_load) {
            Some(why) => {
                console::say(&format!("skipped this run: {why}"));
                Exit::Pass
            }
            None => take_turn(&program, args)?,
        };
        if interrupt::is_requested() {
            return Ok(Exit::Interrupted);
        }
        if args.once {
            return Ok(ended);
        }
        // Turns that were missed during a measurement are skipped.
        turn = next_turn(turn, began.elapsed(), args.every);
        let due = args.every.saturating_mul(turn);
        console::say(&format!(
            "the next run starts in {}",
            wait_text(due.saturating_sub(began.elapsed()))
        ));
        while began.elapsed() < due {
            if interrupt::is_requested() {
                return Ok(Exit::Interrupted);
            }
            thread::sleep(LOOK.min(due.saturating_sub(began.elapsed())));
        }
    }
}

/// Takes one turn: a run, then the trend. Returns how the run ended.
fn take_turn(program: &Path, args: &WatchArgs) -> Result<Exit, CliError> {
    let mut words: Vec<OsString> = vec!["run".into()];
    words.extend(turn_arguments(args));
    let measured = start(program, &words)?;
    if !interrupt::is_requested() {
        let mut words: Vec<OsString> = vec!["trend".into(), "--summary".into()];
        words.extend(place_arguments(&args.places));
        start(program, &words)?;
    }
    Ok(match measured.code() {
        Some(0) => Exit::Pass,
        Some(2) => Exit::Usage,
        Some(5) => Exit::Nothing,
        Some(130) => Exit::Interrupted,
        _ => Exit::Failure,
    })
}

fn start(program: &Path, words: &[OsString]) -> Result<ExitStatus, CliError> {
    let started = Command::new(program).args(words).status();
    Ok(started.with_context(|| format!("cannot start {}", program.display()))?)
}

/// Returns the arguments for the suite and the directories of a turn.
fn turn_arguments(args: &WatchArgs) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--suite".into(), args.suite.as_str().into()];
    words.extend(place_arguments(&args.places));
    words
}

fn place_arguments(places: &Places) -> Vec<OsString> {
    let mut words = Vec::new();
    for (flag, path) in places.paths().named() {
        words.extend([OsString::from(flag), path.as_os_str().to_owned()]);
    }
    words
}
