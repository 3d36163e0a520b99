//! The loop that feeds one target with mutated inputs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rsb_model::random::Generator;

use crate::coverage::Coverage;
use crate::json::Specimen;
use crate::mutate::Structure;
use crate::target::FuzzTarget;
use crate::words::index;
use crate::{corpus, limits, mutate};

/// Most inputs of the corpus that are kept in memory.
const MOST_KEPT: usize = 4_000;

/// Bytes of the inputs that [`minimized`] returns.
const MOST_CORPUS_BYTES: usize = 32_000;

/// When a session ends: with the first limit that is reached.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// Time.
    pub after: Duration,
    /// Number of inputs.
    pub inputs: u64,
}

impl End {
    /// Returns the end after this number of inputs.
    pub const fn after_inputs(inputs: u64) -> Self {
        Self { after: Duration::MAX, inputs }
    }
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

/// Keeps the message and place of each panic of a reader instead of printing it.
pub fn catch_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if limits::is_reading() {
            PANIC.with(|kept| *kept.borrow_mut() = Some(panic.to_string()));
        } else {
            print(panic);
        }
    }));
}

/// Inputs from which mutations start.
#[derive(Debug, Default)]
struct Pool {
    accepted: Vec<Specimen>,
    refused: Vec<Specimen>,
}

impl Pool {
    fn add(&mut self, specimen: Specimen, is_accepted: bool) {
        if self.accepted.len() + self.refused.len() < MOST_KEPT {
            if is_accepted { &mut self.accepted } else { &mut self.refused }.push(specimen);
        }
    }

    /// Returns one of the inputs: in one of two cases one that was accepted, and more often a small
    /// one.
    fn pick(&self, random: &mut Generator) -> &Specimen {
        let wants_accepted = random.below(2) == 0;
        let takes_accepted =
            self.refused.is_empty() || (wants_accepted && !self.accepted.is_empty());
        let list = if takes_accepted { &self.accepted } else { &self.refused };
        let one = &list[index(random, list.len())];
        let other = &list[index(random, list.len())];
        let is_smaller = other.bytes.len() < one.bytes.len();
        if is_smaller && random.below(4) != 0 { other } else { one }
    }
}

/// The file with the input that is being read. It stays when the process ends.
#[derive(Debug)]
pub struct CurrentInput {
    file: File,
    /// Length and bytes of the input.
    packed: Vec<u8>,
}

impl CurrentInput {
    /// Creates the file `path`.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self { file, packed: Vec::new() })
    }

    /// Writes `input` over the one before, in one call and without a change of the file's size,
    /// which costs less than the mutation.
    fn set(&mut self, input: &[u8]) -> Result<()> {
        self.packed.clear();
        self.packed.extend_from_slice(&(input.len() as u64).to_le_bytes());
        self.packed.extend_from_slice(input);
        self.file.write_all_at(&self.packed, 0).context("cannot write the current input")
    }

    /// Returns the last input of a process that has ended.
    ///
    /// # Errors
    /// If the file cannot be read, or has no input.
    pub fn read(path: &Path) -> Result<Vec<u8>> {
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let (length, bytes) = bytes.split_first_chunk().context("no input was read")?;
        let length = usize::try_from(u64::from_le_bytes(*length))?;
        Ok(bytes.get(..length).context("the input is incomplete")?.to_vec())
    }
}

/// Reads `input`, which has this `number`, with `target`. Returns whether it was accepted, or how
/// the reader failed.
///
/// # Errors
/// If the reader panics or allocates too much. The watchdog of [`limits::watch`] handles hangs.
pub fn read(
    target: &FuzzTarget,
    input: &[u8],
    number: u64,
    scratch: &Path,
) -> Result<bool, String> {
    let before = limits::begin_bytes();
    limits::begin_time(number);
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

/// Feeds `target` until `end`, from `seed`, and at least with its corpus. Gives each input to
/// `current` before it is read, so that the input that ended the process can be found there.
///
/// # Errors
/// If the corpus or the scratch directory cannot be read or written.
pub fn run(
    target: &FuzzTarget,
    seed: u64,
    end: End,
    mut current: Option<&mut CurrentInput>,
) -> Result<Summary> {
    let scratch = tempfile::tempdir_in(scratch_root()).context("cannot create a scratch folder")?;
    let mut random = Generator::new(seed);
    let mut coverage = Coverage::default();
    let mut summary = Summary::default();
    let mut pending = corpus::read_written(target.name)?;
    let most = pending.iter().map(Vec::len).max().unwrap_or_default() + mutate::GROWTH;
    pending.extend(corpus::read_found(target.name)?);
    let mut pool = Pool::default();
    coverage.add(); // What ran until now belongs to no input.
    let began = Instant::now();
    loop {
        let is_over = summary.inputs >= end.inputs || began.elapsed() >= end.after;
        if is_over && pending.is_empty() {
            break;
        }
        let is_seed = !pending.is_empty();
        let input = pending.pop().unwrap_or_else(|| {
            let chosen = pool.pick(&mut random);
            let other = pool.pick(&mut random);
            mutate::mutated(target.structure, chosen, other, most, &mut random)
        });
        if let Some(current) = &mut current {
            current.set(&input)?;
        }
        summary.inputs += 1;
        let read = read(target, &input, summary.inputs, scratch.path());
        let is_new = coverage.add().count;
        let is_accepted = read.as_ref().is_ok_and(|is_accepted| *is_accepted);
        summary.accepted += u64::from(is_accepted);
        if let Err(failure) = read {
            summary.failures.entry(failure).or_insert_with(|| input.clone());
        }
        if is_new && !is_seed && input.len() <= most {
            summary.kept.push(input.clone());
        }
        if is_seed || (is_new && input.len() <= most) {
            let specimen = Specimen::new(input, target.structure == Structure::Json);
            pool.add(specimen, is_accepted);
        }
    }
    summary.edges = coverage.edges();
    Ok(summary)
}

/// Returns some of `inputs`: the smallest ones that together reach the same code, up to
/// `MOST_CORPUS_BYTES`. The written corpus of `target` comes first.
///
/// # Errors
/// As [`run`].
pub fn minimize(target: &FuzzTarget, mut inputs: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
    let scratch = tempfile::tempdir_in(scratch_root()).context("cannot create a scratch folder")?;
    let mut coverage = Coverage::default();
    for input in corpus::read_written(target.name)? {
        let _ = read(target, &input, 1, scratch.path());
        coverage.add();
    }
    inputs.sort_by_key(Vec::len);
    let (mut smallest, mut bytes_left) = (Vec::new(), MOST_CORPUS_BYTES);
    for input in inputs {
        let Some(rest) = bytes_left.checked_sub(input.len()) else { break };
        let _ = read(target, &input, 1, scratch.path());
        if coverage.add().edge {
            bytes_left = rest;
            smallest.push(input);
        }
    }
    Ok(smallest)
}

/// Returns a directory in memory if there is one, because readers read files.
pub fn scratch_root() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}
