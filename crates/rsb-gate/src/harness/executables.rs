//! Executables built by `cargo bench --no-run`: the harness of each, and the cases that it lists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use memchr::memmem;
use rsb_engine::judged;
use rsb_model::{CaseId, Reason, Samples};
use timed_child::{ChildOutput, Stderr};

use super::counting::CountedValues;
use super::criterion::CriterionTimes;
use super::metric::INSTRUCTIONS;
use super::{LISTING, Pace, criterion, divan, gungraun, libtest, volatile};
use crate::build_place::{BuiltSide, code_size, compilers};

/// Functions of allocators that Rust programs link.
const ALLOCATORS: [&str; 5] = ["_rjem_malloc", "je_malloc", "mi_malloc", "sn_malloc", "tc_malloc"];

/// If a process that should take less than a tenth of a second takes longer than this, the
/// benchmark sets its own times.
const SLOW: Duration = Duration::from_millis(500);
/// Time limit to find out that a benchmark sets its own times.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time limit to find out that a benchmark waits for a time of the real clock.
const QUICK_PATIENCE: Duration = Duration::from_secs(5);
/// Strings of the crate tango. An executable that uses tango contains one of them.
const TANGO: [&str; 2] = ["tango_bench", "tango-bench"];

/// A bench target of a build, as an executable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchExecutable {
    /// The executable.
    pub program: PathBuf,
    /// The name of the bench target.
    pub target: String,
    /// Directory of its package, from which benchmarks read their files.
    pub package: PathBuf,
}

/// A harness whose executables can measure a single case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HarnessKind {
    /// Criterion.
    Criterion(CriterionTimes),
    /// Divan.
    Divan,
    /// Gungraun or iai-callgrind, which count instructions.
    Gungraun,
    /// The built-in test harness, with `#[bench]`.
    Libtest,
    /// The crate `bencher`.
    Bencher,
}

impl HarnessKind {
    /// Harnesses that an executable may have, in the order in which they are tried: each rejects
    /// the arguments of the others. Gungraun accepts those of the test harness; it is recognized by
    /// the name of its runner.
    const ALL: [Self; 6] = [
        Self::Criterion(CriterionTimes::Short),
        Self::Criterion(CriterionTimes::FastSeconds),
        Self::Divan,
        Self::Gungraun,
        Self::Libtest,
        Self::Bencher,
    ];

    /// Makes `command` list its cases, with its files in `home`.
    fn ask_to_list(self, command: &mut Command, home: &Path) {
        match self {
            Self::Criterion(times) => criterion::ask_to_list(command, times),
            Self::Divan => divan::ask_to_list(command),
            Self::Gungraun => gungraun::ask_to_list(command),
            Self::Libtest => libtest::ask_to_list(command),
            Self::Bencher => libtest::ask_bencher_to_list(command, home),
        }
    }

    /// Returns whether `--test` runs each case once.
    const fn has_test_mode(self) -> bool {
        matches!(self, Self::Criterion(_) | Self::Divan)
    }

    /// Parses the names of the cases from the output of that command.
    fn parse_list(self, output: &str) -> Vec<String> {
        match self {
            Self::Criterion(_) | Self::Gungraun | Self::Libtest => {
                output.lines().filter_map(listed_name).map(str::to_owned).collect()
            }
            Self::Bencher => libtest::measured_names(output),
            Self::Divan => divan::parse_table(output).into_iter().map(|(name, _)| name).collect(),
        }
    }
}

/// Location and state of a case.
#[derive(Debug)]
struct ListedCase {
    /// Index of its executable.
    place: usize,
    /// Its name in that executable.
    name: String,
    /// Whether parts of its name change between processes.
    is_volatile: bool,
    /// Pace at which the case is measured.
    pace: Mutex<Pace>,
    /// Unit of its values, if they are not times.
    unit: OnceLock<String>,
}

impl ListedCase {
    fn pace(&self) -> Pace {
        *self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn raise_pace(&self, pace: Pace) {
        let mut known = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        *known = pace.max(*known);
    }
}

/// A case that is ready to be measured.
struct Asked<'a> {
    harness: HarnessKind,
    case: &'a ListedCase,
    /// Starts its executable.
    command: Command,
    /// How to see more output if starting it fails.
    cure: String,
}

/// The executables of one build, and the cases in them.
#[derive(Debug, Default)]
pub struct Executables {
    all: Vec<(BenchExecutable, HarnessKind)>,
    cases: BTreeMap<CaseId, ListedCase>,
    /// Bench targets that cannot be measured, by name, with the reason.
    pub left_out: Vec<(String, Reason)>,
    /// The copy of their tree and outputs; `None` if no other build is linked to the same path.
    side: Option<BuiltSide>,
}

impl Executables {
    /// Lists the cases of each of `executables`.
    pub(crate) fn list(executables: Vec<BenchExecutable>, side: Option<BuiltSide>) -> Self {
        let mut listed = Self { side, ..Self::default() };
        let mut named: BTreeSet<(usize, String)> = BTreeSet::new();
        for executable in executables {
            match listed.cases_of(&executable) {
                Ok((harness, names)) => {
                    named.extend(names.into_iter().map(|name| (listed.all.len(), name)));
                    listed.all.push((executable, harness));
                }
                Err(reason) => listed.left_out.push((executable.target, reason)),
            }
        }
        for (place, name) in &named {
            // Criterion allows one name in two executables; one result then overwrites the other.
            let id = listed.all[*place]
                .0
                .ids(name)
                .into_iter()
                .find(|id| {
                    let taken = named
                        .iter()
                        .filter(|(other, own)| listed.all[*other].0.ids(own).contains(id));
                    taken.count() == 1
                })
                .map(|id| id.parse());
            let executable = &listed.all[*place].0;
            match id {
                Some(Ok(id)) => {
                    let case = ListedCase {
                        place: *place,
                        name: name.clone(),
                        is_volatile: false,
                        pace: Mutex::default(),
                        unit: OnceLock::new(),
                    };
                    listed.cases.insert(id, case);
                }
                _ => listed
                    .left_out
                    .push((executable.target.clone(), invalid_case_name(&executable.target, name))),
            }
        }
        listed
    }

    /// Returns the ids of all cases.
    pub fn ids(&self) -> impl Iterator<Item = &CaseId> {
        self.cases.keys()
    }

    /// Changes the ids of Criterion cases in `other` to those of cases here that differ only in
    /// volatile parts of their names, such as a date.
    pub(crate) fn match_volatile_names(&mut self, other: &mut Self) {
        let only_in = |own: &Self, other: &Self| -> Vec<CaseId> {
            let cases = own.cases.iter().filter(|(id, _)| !other.cases.contains_key(*id));
            let criterion = cases.filter(|(_, case)| {
                matches!(own.all.get(case.place), Some((_, HarnessKind::Criterion(_))))
            });
            criterion.map(|(id, _)| id.clone()).collect()
        };
        let ids = [only_in(self, other), only_in(other, self)];
        for [own, others] in
            volatile::pair_by_template(ids.each_ref().map(|ids| ids.iter().map(CaseId::as_str)))
        {
            let (Ok(own), Ok(others)) = (own.parse::<CaseId>(), others.parse::<CaseId>()) else {
                continue;
            };
            if let (Some(one), Some(mut two)) =
                (self.cases.get_mut(&own), other.cases.remove(&others))
            {
                (one.is_volatile, two.is_volatile) = (true, true);
                other.cases.insert(own, two);
            }
        }
    }

    /// Returns the executable that measures the case `id`.
    pub fn of(&self, id: &CaseId) -> Option<&BenchExecutable> {
        let place = self.cases.get(id)?.place;
        self.all.get(place).map(|(executable, _)| executable)
    }

    /// Returns the tree and outputs that belong to the executables.
    pub(crate) fn side(&self) -> Option<&BuiltSide> {
        self.side.as_ref()
    }

    /// Returns the path of the stored copy of `executable`.
    pub(crate) fn stored_program(&self, executable: &BenchExecutable) -> PathBuf {
        self.side.as_ref().map_or_else(
            || executable.program.clone(),
            |side| side.stored_path(&executable.program),
        )
    }

    /// Returns the size in bytes of the machine code of the executables with `cases`, by bench
    /// target. The sizes of targets with one name are added.
    pub(crate) fn code_sizes(&self, cases: &[CaseId]) -> BTreeMap<&str, u64> {
        let places: BTreeSet<usize> =
            cases.iter().filter_map(|id| Some(self.cases.get(id)?.place)).collect();
        let mut sizes = BTreeMap::new();
        for (executable, _) in places.into_iter().filter_map(|place| self.all.get(place)) {
            let program = std::fs::read(self.stored_program(executable)).unwrap_or_default();
            if let Some(size) = code_size(&program) {
                *sizes.entry(executable.target.as_str()).or_default() += size;
            }
        }
        sizes
    }

    /// Returns the versions of rustc that built the executables.
    pub(crate) fn compilers(&self) -> BTreeSet<String> {
        let programs = self.all().map(|executable| self.stored_program(executable));
        programs
            .flat_map(|program| compilers(&std::fs::read(program).unwrap_or_default()))
            .collect()
    }

    /// Returns the command that starts `executable` as `cargo bench` does. First links the tree and
    /// outputs of its side to the path where they were built.
    pub(crate) fn command(&self, executable: &BenchExecutable) -> std::io::Result<Command> {
        let mut command = executable.command();
        if let Some(side) = &self.side {
            side.show()?;
            let own = side.library_directories().iter().cloned();
            let others = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
            let all = own
                .chain(std::env::split_paths(&others).filter(|path| !path.as_os_str().is_empty()));
            command.env("LD_LIBRARY_PATH", std::env::join_paths(all).unwrap_or(others.clone()));
        }
        Ok(command)
    }

    /// Returns whether `--test` makes `executable` run each of its cases once.
    pub(crate) fn has_test_mode(&self, executable: &BenchExecutable) -> bool {
        let known = self.all.iter().find(|(known, _)| known == executable);
        known.is_some_and(|(_, harness)| harness.has_test_mode())
    }

    /// Returns all executables that can be measured.
    pub fn all(&self) -> impl Iterator<Item = &BenchExecutable> {
        self.all.iter().map(|(executable, _)| executable)
    }

    /// Returns the harness of `executable` and the names of its cases.
    fn cases_of(&self, executable: &BenchExecutable) -> Result<(HarnessKind, Vec<String>), Reason> {
        let what = format!("bench target `{}`", executable.target);
        let began = Instant::now();
        let home = tempfile::tempdir().map_err(|error| {
            let why = format!("cannot create a temporary directory: {error}");
            Reason::new(what.clone(), why, "free disk space, and run it again")
        })?;
        for harness in HarnessKind::ALL {
            if harness == HarnessKind::Gungraun && !self.is_gungraun(executable, &what)? {
                continue;
            }
            let mut command = self.command(executable).map_err(|error| {
                Reason::new(
                    what.clone(),
                    format!("cannot switch to its tree: {error}"),
                    "free disk space, and run it again",
                )
            })?;
            harness.ask_to_list(&mut command, home.path());
            // A program without a harness ignores the arguments and runs until the limit; no
            // further harness is tried then.
            let left = LISTING.saturating_sub(began.elapsed());
            let ended = run_to_success(&mut command, left);
            if let (HarnessKind::Gungraun, Err(why)) = (harness, &ended) {
                return Err(Reason::new(what, why.as_str(), gungraun::cure(&executable.target)));
            }
            let names = ended.map(|output| harness.parse_list(&output.stdout)).unwrap_or_default();
            if !names.is_empty() {
                return Ok((harness, names));
            }
        }
        Err(Reason::new(
            what,
            "it lists no case in the format of Criterion, Divan, gungraun, `#[bench]` or bencher",
            "name its command and the format of its output: `--bench CMD --bench-format NAME`",
        ))
    }

    /// Returns whether `executable`, called `what` in errors, starts a runner of gungraun or
    /// iai-callgrind.
    ///
    /// # Errors
    /// If that runner is not installed, or the executable uses tango, which is not supported.
    fn is_gungraun(&self, executable: &BenchExecutable, what: &str) -> Result<bool, Reason> {
        let code = std::fs::read(self.stored_program(executable)).unwrap_or_default();
        let has = |word: &str| memmem::find(&code, word.as_bytes()).is_some();
        if TANGO.into_iter().any(has) {
            return Err(Reason::new(
                what,
                "it uses tango, which compares two executables itself",
                "use Criterion or Divan, or name a command whose output has a known format: \
                 `--bench CMD --bench-format NAME`",
            ));
        }
        let Some(runner) = gungraun::RUNNERS.into_iter().find(|name| has(name)) else {
            return Ok(false);
        };
        gungraun::check_installed(what, runner)?;
        Ok(true)
    }

    /// Returns whether the executable of the case `id` contains an allocator other than glibc's.
    pub(super) fn has_own_allocator(&self, id: &CaseId) -> bool {
        let place = self.cases.get(id).map(|case| case.place);
        let Some((executable, _)) = place.and_then(|place| self.all.get(place)) else {
            return false;
        };
        let code = std::fs::read(self.stored_program(executable)).unwrap_or_default();
        ALLOCATORS.iter().any(|name| memmem::find(&code, name.as_bytes()).is_some())
    }

    /// Returns whether the harness of the case `id` counts instructions and measures no time.
    pub(crate) fn counts_itself(&self, id: &CaseId) -> bool {
        let harness = self.cases.get(id).and_then(|case| self.all.get(case.place));
        harness.is_some_and(|(_, harness)| *harness == HarnessKind::Gungraun)
    }

    /// Returns the counts of those of `cases` whose harness [counts
    /// instructions](Self::counts_itself), from one process of each executable that ends before `until`.
    pub(super) fn count_by_harness(
        &self,
        cases: &[CaseId],
        until: Instant,
    ) -> BTreeMap<CaseId, Result<CountedValues, Reason>> {
        let mut outputs: BTreeMap<usize, Result<String, String>> = BTreeMap::new();
        let mut counts = BTreeMap::new();
        for id in cases.iter().filter(|id| self.counts_itself(id)) {
            let Ok(Asked { case, mut command, cure, .. }) = self.ask_for(id) else { continue };
            let output =
                outputs.entry(case.place).or_insert_with(|| output_of_counts(&mut command, until));
            let count = output.as_ref().map_err(String::clone).and_then(|output| {
                let values = gungraun::counts(output, &case.name);
                if values.contains_key(INSTRUCTIONS) {
                    Ok(values)
                } else {
                    Err("its runner printed no `Instructions` for this case".to_owned())
                }
            });
            let count = count.map_err(|why| Reason::new(format!("case {id}"), why, cure));
            counts.insert(id.clone(), count);
        }
        counts
    }

    /// Returns the units of values that are not times, each with its number of cases.
    pub(crate) fn other_units(&self) -> BTreeMap<&str, usize> {
        let mut units = BTreeMap::new();
        for unit in self.cases.values().filter_map(|case| case.unit.get()) {
            *units.entry(unit.as_str()).or_default() += 1;
        }
        units
    }

    /// Returns the pace of the case `id`.
    pub(super) fn pace(&self, id: &CaseId) -> Pace {
        self.cases.get(id).map_or(Pace::Asked, ListedCase::pace)
    }

    /// Returns the case `id` with a command that has no arguments yet.
    fn ask_for(&self, id: &CaseId) -> Result<Asked<'_>, Reason> {
        let found = self.cases.get(id).and_then(|case| Some((self.all.get(case.place)?, case)));
        let Some(((executable, harness), case)) = found else {
            return Err(Reason::new(
                format!("case {id}"),
                "no executable has it",
                "report this as a bug",
            ));
        };
        let cure = format!(
            "run `cargo bench --bench {} -- '{}'` to see more",
            executable.target, case.name
        );
        let command = self.command(executable).map_err(|error| {
            let why = format!("cannot switch to its tree: {error}");
            Reason::new(format!("case {id}"), why, cure.as_str())
        })?;
        Ok(Asked { harness: *harness, case, command, cure })
    }

    /// Returns whether a number of iterations of the case `id` can be executed and counted.
    pub(super) fn can_execute(&self, id: &CaseId) -> bool {
        let harness = self.cases.get(id).and_then(|case| self.all.get(case.place));
        harness.is_some_and(|(_, harness)| harness.has_test_mode())
    }

    /// Returns a command that executes `iterations` of the case `id`, and at most one more, with a
    /// clock of its own and its files in `home`. `iterations` must be odd.
    pub(super) fn command_to_execute(
        &self,
        id: &CaseId,
        iterations: u64,
        home: &Path,
    ) -> Result<Command, Reason> {
        let Asked { harness, case, mut command, cure } = self.ask_for(id)?;
        let is_possible = match harness {
            HarnessKind::Criterion(_) => {
                let filter = criterion::filter(&case.name, case.is_volatile);
                criterion::ask_to_execute(&mut command, &filter, iterations, home)
            }
            HarnessKind::Divan => divan::ask_to_execute(&mut command, &case.name, iterations, home),
            HarnessKind::Gungraun | HarnessKind::Libtest | HarnessKind::Bencher => {
                let why = "its harness chooses the number of iterations";
                return Err(Reason::new(format!("case {id}"), why, cure));
            }
        };
        if is_possible {
            Ok(command)
        } else {
            let why = "this program was built without a C compiler, so it has no clock to preload";
            Err(Reason::new(
                format!("case {id}"),
                why,
                "install a C compiler and build this program again",
            ))
        }
    }

    /// Measures the case `id` in a fresh process at this `pace`.
    pub(super) fn measure(
        &self,
        id: &CaseId,
        pace: Pace,
        scratch: &Path,
        limit: Duration,
    ) -> Result<Samples, Reason> {
        let Asked { harness, case, mut command, cure } = self.ask_for(id)?;
        if let (Some(side), Some(executable)) = (&self.side, self.of(id)) {
            side.renew(&executable.program);
        }
        let name = &case.name;
        let mut limit = limit;
        match harness {
            HarnessKind::Criterion(times) => {
                let filter = criterion::filter(name, case.is_volatile);
                criterion::ask_for(&mut command, &filter, times.at(pace), scratch);
                limit = limit.min(match pace {
                    Pace::Asked => PATIENCE,
                    Pace::Quick => QUICK_PATIENCE,
                    Pace::RealClock => limit,
                });
            }
            HarnessKind::Divan => divan::ask_for(&mut command, name),
            HarnessKind::Gungraun => {
                return Err(Reason::new(format!("case {id}"), gungraun::NO_TIME, cure));
            }
            HarnessKind::Libtest => libtest::ask_for(&mut command, name, scratch),
            HarnessKind::Bencher => libtest::ask_bencher_for(&mut command, name, scratch),
        }
        let began = Instant::now();
        let ended = run_to_success(&mut command, limit);
        // If the process took too long for this pace, measure the case at the next one.
        match pace {
            Pace::Asked if began.elapsed() > SLOW => case.raise_pace(Pace::Quick),
            Pace::Quick if ended.is_err() => case.raise_pace(Pace::RealClock),
            _ => {}
        }
        let output = ended.map_err(|why| Reason::new(format!("case {id}"), why, cure.as_str()))?;
        let samples = match harness {
            HarnessKind::Criterion(times) => {
                if let Some(unit) = criterion::other_unit(&output.stdout) {
                    case.unit.get_or_init(|| unit.to_owned());
                }
                criterion::samples(scratch, times.at(pace))
            }
            HarnessKind::Divan => divan::samples(&output.stdout),
            HarnessKind::Gungraun => Err(gungraun::NO_TIME.to_owned()),
            HarnessKind::Libtest | HarnessKind::Bencher => {
                libtest::samples(&output.stdout, name, scratch)
            }
        };
        samples.map_err(|why| Reason::new(format!("case {id}"), why, cure))
    }
}

impl BenchExecutable {
    /// Returns possible ids of the case `name`, shortest first. The first one that no other case
    /// has becomes its id.
    fn ids(&self, name: &str) -> [String; 3] {
        let package = self.package.file_name().unwrap_or_default().to_string_lossy();
        [
            name.to_owned(),
            format!("{}/{name}", self.target),
            format!("{package}/{}/{name}", self.target),
        ]
    }

    /// Returns a command that starts the executable as `cargo bench` does.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(&self.package)
            .arg("--bench")
            .env("CARGO_MANIFEST_DIR", &self.package)
            .env("RUST_BACKTRACE", "0") // Of a panic, its message is what is kept.
            // Criterion stores its results elsewhere if these variables are set.
            .env_remove("CARGO_CRITERION_PORT")
            .env_remove("CRITERION_HOME");
        judged::isolate(&mut command);
        command
    }
}

/// Runs the runner that counts every case of an executable of gungraun, and returns its output.
fn output_of_counts(command: &mut Command, until: Instant) -> Result<String, String> {
    let home = tempfile::tempdir()
        .map_err(|error| format!("cannot create a temporary directory: {error}"))?;
    gungraun::ask_for_counts(command, home.path());
    let left = until.saturating_duration_since(Instant::now());
    run_to_success(command, left).map(|output| output.stdout)
}

/// Parses a line of `--list`, in the format of the test harness: `name: benchmark`.
fn listed_name(line: &str) -> Option<&str> {
    let name = line.strip_suffix(": benchmark").or_else(|| line.strip_suffix(": bench"))?;
    (!name.is_empty()).then_some(name)
}

fn invalid_case_name(target: &str, name: &str) -> Reason {
    let why = format!(
        "its case `{}` has a name that is not unique, or that contains control characters",
        name.escape_debug()
    );
    Reason::new(format!("bench target `{target}`"), why, "give the case another name")
}

/// Runs `command` and returns its output if it succeeds within `limit`, else the reason.
pub(super) fn run_to_success(
    command: &mut Command,
    limit: Duration,
) -> Result<ChildOutput, String> {
    let program = command.get_program().to_owned();
    let output = timed_child::run(command, Stderr::Keep, limit)
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    match output.status {
        Some(status) if status.success() => Ok(output),
        Some(status) => Err(format!("its process ended with {status}{}", last_words(&output))),
        None => Err(format!(
            "it did not end within {:.0} s{}",
            limit.as_secs_f64(),
            last_words(&output)
        )),
    }
}

/// Returns the last lines that a process wrote to standard error, or else to standard output.
fn last_words(output: &ChildOutput) -> String {
    const LINES: usize = 4;
    let text = if output.stderr.trim().is_empty() { &output.stdout } else { &output.stderr };
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    if last.is_empty() { String::new() } else { format!("; its last lines: {}", last.join(" | ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_listed_as_the_test_harness_lists_them() {
        for (line, name) in [
            ("fib/20: benchmark", Some("fib/20")),
            ("fib 20: bench", Some("fib 20")),
            ("parse: json: benchmark", Some("parse: json")),
            ("some::test: test", None),
            ("0 tests, 2 benchmarks", None),
            (": benchmark", None),
        ] {
            assert_eq!(listed_name(line), name, "{line}");
        }
    }

    /// Creates scripts that replace executables; each prints its list if called as Criterion is.
    fn list_scripts(scripts: &[(&str, &str)]) -> (tempfile::TempDir, Executables) {
        let dir = tempfile::tempdir().unwrap();
        let executables = scripts.iter().map(|(target, list)| {
            let program = dir.path().join(target);
            std::fs::write(
                &program,
                format!("#!/bin/sh\ncase $2 in --list) printf '{list}';; esac\n"),
            )
            .unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&program, mode).unwrap();
            BenchExecutable {
                program,
                target: (*target).to_owned(),
                package: dir.path().to_owned(),
            }
        });
        let listed = Executables::list(executables.collect(), None);
        (dir, listed)
    }

    #[test]
    fn a_name_that_two_executables_have_gets_the_target_before_it() {
        let (_dir, listed) = list_scripts(&[
            ("one", "sum: benchmark\\nfib: benchmark\\n"),
            ("two", "sum: benchmark\\n"),
            ("bare", "hello"),
        ]);
        let ids: Vec<&str> = listed.ids().map(CaseId::as_str).collect();
        assert_eq!(ids, ["fib", "one/sum", "two/sum"]);
        assert_eq!(listed.of(&"two/sum".parse().unwrap()).unwrap().target, "two");
        let [(target, left_out)] = listed.left_out.as_slice() else {
            panic!("{:?}", listed.left_out)
        };
        assert!(target == "bare" && left_out.cure.contains("--bench-format"), "{left_out}");
    }
}
