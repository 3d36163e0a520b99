//! The loop that feeds one target with mutated inputs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rsb_model::random::Generator;

use crate::coverage::Coverage;
use crate::target::FuzzTarget;
use crate::{corpus, limits, mutate};

/// Most inputs of the corpus that are kept in memory.
const MOST_KEPT: usize = 4_000;

/// When a session ends.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// After this time.
    After(Duration),
    /// After this number of inputs.
    Inputs(u64),
}

/// Result of a session.
#[derive(Debug, Default)]
pub struct Summary {
    /// Inputs read.
    pub inputs: u64,
    /// Inputs that were accepted.
    pub accepted: u64,
    /// Inputs that reached new code, which later mutations start from.
    pub kept: Vec<Vec<u8>>,
    /// Edges reached, and edges in the program; both 0 without coverage counters.
    pub edges: (usize, usize),
    /// First input of each failure, by its message.
    pub failures: BTreeMap<String, Vec<u8>>,
}

thread_local! {
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the message and place of each panic instead of printing it.
pub fn catch_panics() {
    std::panic::set_hook(Box::new(|panic| {
        PANIC.with(|kept| *kept.borrow_mut() = Some(panic.to_string()));
    }));
}

/// Reads `input` with `target`. Returns whether it was accepted, or how the reader failed.
///
/// # Errors
/// If the reader panics or allocates too much. The watchdog of [`limits::watch`] handles hangs.
pub fn read(target: &FuzzTarget, input: &[u8], scratch: &Path) -> Result<bool, String> {
    let before = limits::begin_bytes();
    limits::begin_time();
    let result =
        std::panic::catch_unwind(AssertUnwindSafe(|| (target.read)(input, scratch).is_ok()));
    limits::end_time();
    let bytes = limits::peak_bytes(before);
    match result {
        Err(_) => Err(PANIC.with(|kept| kept.borrow_mut().take()).unwrap_or_default()),
        Ok(_) if bytes > limits::bytes_allowed(input.len()) => {
            Err(format!("more than {} MB", bytes >> 20))
        }
        Ok(is_accepted) => Ok(is_accepted),
    }
}

/// Feeds `target` until `end`, from `seed`. Writes each input to `current` before it is read, so
/// that the input that ended the process can be found there.
///
/// # Errors
/// If the corpus or the scratch directory cannot be read or written.
pub fn run(target: &FuzzTarget, seed: u64, end: End, current: Option<&Path>) -> Result<Summary> {
    let scratch = tempfile::tempdir_in(scratch_root()).context("cannot create a scratch folder")?;
    let mut random = Generator::new(seed);
    let mut coverage = Coverage::default();
    let mut summary = Summary::default();
    let mut inputs = corpus::read(target.name)?;
    let mut pending: Vec<Vec<u8>> = inputs.clone();
    coverage.add(); // What ran until now belongs to no input.
    let began = Instant::now();
    loop {
        let is_over = match end {
            End::After(time) => began.elapsed() >= time,
            End::Inputs(count) => summary.inputs >= count,
        };
        if is_over && pending.is_empty() {
            break;
        }
        let is_seed = !pending.is_empty();
        let input = pending.pop().unwrap_or_else(|| {
            let chosen = pick(&inputs, &mut random);
            let other = pick(&inputs, &mut random);
            mutate::mutated(target.structure, chosen, other, &mut random)
        });
        if let Some(current) = current {
            std::fs::write(current, &input)?;
        }
        let read = read(target, &input, scratch.path());
        let is_new = coverage.add();
        summary.inputs += 1;
        match read {
            Ok(is_accepted) => summary.accepted += u64::from(is_accepted),
            Err(failure) => {
                summary.failures.entry(failure).or_insert_with(|| input.clone());
            }
        }
        if is_new && !is_seed && inputs.len() < MOST_KEPT {
            inputs.push(input.clone());
            summary.kept.push(input);
        }
    }
    summary.edges = coverage.edges();
    Ok(summary)
}

fn pick<'i>(inputs: &'i [Vec<u8>], random: &mut Generator) -> &'i [u8] {
    let at = usize::try_from(random.below(inputs.len() as u64)).unwrap_or_default();
    &inputs[at]
}

/// Returns a directory in memory if there is one, because each input is written to a file.
pub fn scratch_root() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}
