//! Faults of disks, clocks, limits and workers, injected with preloaded functions: what was stored
//! before can still be read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::io::Errno;
use serde_json::Value;

use crate::common::made_up::template;
use crate::common::preload::with_functions;
use crate::common::{Bench, ProgramOutput, says, words};
use crate::stored_runs::{ids, write_days};

const RUN: &str = "run gemm --axis shape=32x32x32 --axis dtype=f32 --replicates 1 --runs 10 \
                   --warmup 1";

/// Makes write number `FAULT_AT` to regular files below `FAULT_UNDER` fail with `FAULT_ERROR`, and
/// all later ones too unless that is EIO. The file `FAULT_MARK` is created when one fails.
const FAILING_WRITES: &str = r#"#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int fails(int file) {
    static int writes;
    const char *at = getenv("FAULT_AT"), *under = getenv("FAULT_UNDER");
    char link[64], path[4096];
    struct stat status;
    if (!at || !under || fstat(file, &status) || !S_ISREG(status.st_mode)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    if (strncmp(path, under, strlen(under))) return 0;
    int number = __atomic_add_fetch(&writes, 1, __ATOMIC_SEQ_CST);
    int error = atoi(getenv("FAULT_ERROR"));
    if (number < atoi(at) || (number > atoi(at) && error == EIO)) return 0;
    close(open(getenv("FAULT_MARK"), O_CREAT | O_WRONLY, 0600));
    errno = error;
    return 1;
}
ssize_t write(int file, const void *bytes, size_t count)
{ return fails(file) ? -1 : syscall(SYS_write, file, bytes, count); }
ssize_t writev(int file, const struct iovec *parts, int count)
{ return fails(file) ? -1 : syscall(SYS_writev, file, parts, count); }
ssize_t pwrite(int file, const void *bytes, size_t count, off_t at)
{ return fails(file) ? -1 : syscall(SYS_pwrite64, file, bytes, count, at); }
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at)
{ return fails(file) ? -1 : syscall(SYS_pwrite64, file, bytes, count, at); }
"#;

/// Number of runs that are stored before a write fails.
const STORED: u32 = 6;

/// Result of a command during which writes failed.
struct Outcome<'a> {
    bench: &'a Bench,
    ended: &'a ProgramOutput,
    /// Ids of the runs that can be read afterwards.
    stored: BTreeSet<String>,
    /// The fault, for messages.
    fault: &'a str,
}

impl Outcome<'_> {
    fn holds_every_earlier_run(&self) -> bool {
        days(0..STORED).is_subset(&self.stored)
    }

    /// Returns the ids in the lines of standard output that begin with `start`.
    fn reported(&self, start: &str) -> BTreeSet<String> {
        let lines = self.ended.stdout.lines();
        lines.filter_map(|line| line.strip_prefix(start)).map(str::to_owned).collect()
    }
}

fn days(range: std::ops::Range<u32>) -> BTreeSet<String> {
    range.map(|day| format!("day-{day:03}")).collect()
}

/// Returns the number of the first failing write and its error: each of the first three with every
/// error, some later ones with one error each.
fn faults() -> impl Iterator<Item = (u32, Errno)> {
    const ERRORS: [Errno; 3] = [Errno::NOSPC, Errno::IO, Errno::DQUOT];
    const LATER: [u32; 11] = [5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610];
    let first = [1, 2, 3].into_iter().flat_map(|at| ERRORS.map(|error| (at, error)));
    first.chain(LATER.into_iter().zip(ERRORS.into_iter().cycle()))
}

/// Runs `command` with each fault in a directory with stored runs, until no write fails, and calls
/// `check` each time. After every fault, the directory must be intact and without temporary files.
fn with_each_fault(command: &str, check: impl Fn(&Outcome<'_>)) {
    let (bench, run) = template("add,relu");
    let Some(bench) = with_functions(bench, FAILING_WRITES) else { return };
    let under = format!("{}/", bench.dir.path().canonicalize().unwrap().display());
    let [mark, scratch] = ["mark", "scratch"].map(|name| bench.cache.path().join(name));
    std::fs::create_dir(&scratch).unwrap();
    let bench = bench
        .set("FAULT_UNDER", &under)
        .set("FAULT_MARK", mark.to_str().unwrap())
        .set("TMPDIR", scratch.to_str().unwrap());
    write_days(&bench, &run, STORED + 3, "theirs");
    for (at, error) in faults() {
        for written in ["benchmark_results", "baselines"].map(|name| bench.path(name)) {
            let _ = std::fs::remove_dir_all(written);
        }
        write_days(&bench, &run, STORED, "benchmark_results");
        bench.write("out.json", "before");
        let (number, code) = (at.to_string(), error.raw_os_error().to_string());
        let mut faulty = bench.command(command);
        faulty.env("FAULT_AT", number).env("FAULT_ERROR", code);
        let ended = ProgramOutput::of(&faulty.output().unwrap());
        let fault = format!("{error:?} at write {at}:\n{}\n{}", ended.stdout, ended.stderr);
        let stored = ids(&bench.run("history --limit 100 --json").expect(0)).into_iter().collect();
        bench.run("store check").expect(0);
        assert_eq!(temporary_files(bench.dir.path()), Vec::<PathBuf>::new(), "{fault}");
        check(&Outcome { bench: &bench, ended: &ended, stored, fault: &fault });
        if !mark.exists() {
            assert_eq!(ended.code, 0, "{fault}");
            return;
        }
        std::fs::remove_file(&mark).unwrap();
    }
    panic!("`{command}` has more writes than this test makes fail");
}

/// Returns the temporary files in `dir` and below.
fn temporary_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(temporary_files(&path));
        } else if path.extension().is_some_and(|end| end == "tmp") {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_run_whose_writes_fail_keeps_earlier_runs_and_its_own_values() {
    with_each_fault(RUN, |after| {
        let Outcome { bench, ended, fault, .. } = after;
        assert!(after.holds_every_earlier_run(), "{fault}");
        let own = after.stored.len() - STORED as usize;
        match ended.code {
            0 => assert_eq!(own, 1, "{fault}"),
            1 => {
                says(&ended.stderr, &["it was written to ", "free some space"]);
                let rescued = rescued_run(&bench.cache.path().join("scratch"));
                assert_eq!(rescued["benchmarks"][0]["outcome"], "measured", "{fault}");
            }
            2 => {
                assert_eq!(own, 0, "{fault}");
                says(&ended.stderr, &["--results-dir"]);
            }
            code => panic!("exit {code}: {fault}"),
        }
    });
}

/// Reads and removes the run file in the directory for temporary files.
fn rescued_run(scratch: &Path) -> Value {
    let paths = std::fs::read_dir(scratch).unwrap().map(|entry| entry.unwrap().path());
    let runs: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    let run = serde_json::from_str(&std::fs::read_to_string(&runs[0]).unwrap()).unwrap();
    std::fs::remove_file(&runs[0]).unwrap();
    run
}

#[test]
fn a_baseline_whose_writes_fail_is_saved_whole_or_not_at_all() {
    with_each_fault("baseline save --run day-002", |after| {
        let Outcome { bench, ended, fault, .. } = after;
        assert!(after.holds_every_earlier_run(), "{fault}");
        let listed = bench.run("baseline list --json").expect(0);
        let saved = listed.json()["baselines"].as_array().unwrap().len();
        assert!(!listed.stderr.contains("warning"), "{}", listed.stderr);
        match ended.code {
            0 => assert_eq!(saved, 1, "{fault}"),
            2 => {
                assert_eq!(saved, 0, "{fault}");
                says(&ended.stderr, &["--baselines-dir"]);
            }
            code => panic!("exit {code}: {fault}"),
        }
    });
}

#[test]
fn an_import_whose_writes_fail_can_be_repeated() {
    with_each_fault("import theirs", |after| {
        let Outcome { bench, ended, fault, .. } = after;
        assert!(after.holds_every_earlier_run(), "{fault}");
        assert!(after.reported("imported: ").is_subset(&after.stored), "{fault}");
        assert!([0, 1].contains(&ended.code), "exit {}: {fault}", ended.code);
        bench.run("import theirs").expect(0);
        let stored = ids(&bench.run("history --limit 100 --json").expect(0));
        assert_eq!(stored.len(), STORED as usize + 3, "{fault}");
    });
}

#[test]
fn a_prune_whose_writes_fail_deletes_what_it_reports_and_nothing_else() {
    with_each_fault("prune --days 0 --keep 1", |after| {
        let Outcome { ended, fault, .. } = after;
        let deleted = after.reported("deleted: ");
        assert_eq!(after.stored, &days(0..STORED) - &deleted, "{fault}");
        assert!([0, 1].contains(&ended.code), "exit {}: {fault}", ended.code);
    });
}

#[test]
fn an_export_whose_writes_fail_leaves_the_former_file() {
    with_each_fault("export --format json --output out.json", |after| {
        let Outcome { bench, ended, fault, .. } = after;
        assert!(after.holds_every_earlier_run(), "{fault}");
        let text = std::fs::read_to_string(bench.path("out.json")).unwrap();
        match ended.code {
            0 => assert_eq!(exported(&text), STORED as usize, "{fault}"),
            1 => {
                assert_eq!(text, "before", "{fault}");
                says(&ended.stderr, &["cannot write out.json"]);
            }
            code => panic!("exit {code}: {fault}"),
        }
    });
}

/// Returns the number of runs in an export.
fn exported(text: &str) -> usize {
    serde_json::from_str::<Value>(text).unwrap()["runs"].as_array().unwrap().len()
}

/// Measures a small product with an environment variable, and returns the id of the run.
fn measured(bench: &Bench, variable: &str, value: &str) -> String {
    let output = bench.command(&format!("{RUN} --json")).env(variable, value).output().unwrap();
    let run = ProgramOutput::of(&output).expect(0).json();
    run["run_id"].as_str().unwrap().to_owned()
}

/// Returns the id of the run that `gate` judges, whatever the verdict, and its output.
fn judged(bench: &Bench, more: &[&str]) -> (String, String) {
    let ended = bench.run(&[&["gate", "--json", "--budget", "0s"], more].concat());
    let id = ended.json()["current_run_id"].as_str().unwrap_or_default().to_owned();
    (id, ended.stdout)
}

#[test]
fn a_clock_that_is_wrong_by_a_year_loses_no_run_and_leaves_the_order_to_the_user() {
    const SHIFTED_CLOCK: &str = "#define _GNU_SOURCE\n\
        #include <stdlib.h>\n\
        #include <sys/syscall.h>\n\
        #include <time.h>\n\
        #include <unistd.h>\n\
        int clock_gettime(clockid_t clock, struct timespec *time) {\n\
            const char *seconds = getenv(\"CLOCK_SHIFT\");\n\
            int result = syscall(SYS_clock_gettime, clock, time);\n\
            if (clock == CLOCK_REALTIME && seconds) time->tv_sec += atol(seconds);\n\
            return result;\n\
        }\n";
    let Some(bench) = with_functions(Bench::new(), SHIFTED_CLOCK) else { return };
    let measured = |seconds: &str| measured(&bench, "CLOCK_SHIFT", seconds);
    let is_undecided = |by_time: &str, by_number: &str| {
        let ended = bench.run("gate --budget 0s").expect(4);
        let doubt = format!("the run {by_time} is the latest by time, and {by_number} by sequence");
        says(&ended.stdout, &[&doubt]);
        assert_eq!(judged(&bench, &["--current", by_number]).0, by_number);
    };
    let first = measured("0");
    bench.run("baseline save").expect(0);
    let a_year_ago = measured("-31536000");
    is_undecided(&first, &a_year_ago);
    let in_a_year = measured("31536000");
    let (id, text) = judged(&bench, &[]);
    assert_eq!(id, in_a_year);
    says(&text, &["in the future: a clock is wrong"]);
    let last = measured("0");
    is_undecided(&in_a_year, &last);
    let by_time = [in_a_year, last, first, a_year_ago];
    assert_eq!(ids(&bench.run("history --json").expect(0)), by_time);
    bench.run("store check").expect(0);
}

#[test]
fn a_time_zone_that_changes_between_runs_reorders_nothing() {
    let bench = Bench::new();
    // By local time, the second run is 25 hours before the first.
    let first = measured(&bench, "TZ", "<+14>-14");
    bench.run("baseline save").expect(0);
    let second = measured(&bench, "TZ", "<-11>11");
    assert_eq!(judged(&bench, &[]).0, second);
    assert_eq!(ids(&bench.run("history --json").expect(0)), [second, first]);
    let checked = bench.run("store check").expect(0);
    assert!(!checked.stderr.contains("the clock went back"), "{}", checked.stderr);
}

#[test]
fn a_run_with_too_few_file_descriptors_keeps_earlier_runs() {
    const LIMITED: &str = "ulimit -n \"$0\" && exec \"$@\"";
    const PROGRAM: &str = env!("CARGO_BIN_EXE_rusty-stack-bench");
    let (bench, run) = template("add,relu");
    let scratch = bench.cache.path().to_str().unwrap().to_owned();
    let bench = bench.set("TMPDIR", &scratch);
    write_days(&bench, &run, STORED, "benchmark_results");
    let mut codes = Vec::new();
    for limit in ["6", "9", "12", "15", "18", "21", "24", "128"] {
        let command = [&["-c", LIMITED, limit, PROGRAM], &words(RUN)[..]].concat();
        let ended = bench.run_of(Path::new("sh"), &command);
        codes.push(ended.code);
        let said = format!("at most {limit} files: exit {}: {}", ended.code, ended.stderr);
        assert!([0, 1, 2].contains(&ended.code) && !said.contains("panicked"), "{said}");
        let stored = ids(&bench.run("history --limit 100 --json").expect(0)).into_iter().collect();
        assert!(days(0..STORED).is_subset(&stored), "{said}");
        bench.run("store check").expect(0);
    }
    assert!(codes[0] != 0 && codes.ends_with(&[0]), "{codes:?}");
}

#[test]
fn a_run_a_prune_and_an_export_at_once_lose_and_invent_nothing() {
    let (bench, run) = template("add,relu");
    write_days(&bench, &run, STORED, "benchmark_results");
    let all = [RUN, "prune --days 0 --keep 1", "export --format json --output out.json"];
    let children = all.map(|command| {
        bench.command(command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    });
    let codes = children.map(|mut child| child.wait().unwrap().code().unwrap());
    assert_eq!(codes[..2], [0, 0]);
    // A run may be deleted between its listing and its reading.
    match (codes[2], std::fs::read_to_string(bench.path("out.json"))) {
        (0, Ok(text)) => assert!((1..=STORED as usize + 1).contains(&exported(&text)), "{text}"),
        (code, text) => assert!(code == 1 && text.is_err(), "exit {code}: {text:?}"),
    }
    let stored = ids(&bench.run("history --json").expect(0));
    assert!(stored.len() == 2 && stored[1] == "day-005", "{stored:?}");
    bench.run("store check").expect(0);
    bench.run("export --format json --output out.json").expect(0);
}

/// Measures with workers that run the C `statement` first, and checks that the case is measured.
fn measures_although_a_worker_does(statement: &str) {
    let source = format!(
        "#include <string.h>\n#include <unistd.h>\n\
         __attribute__((constructor)) static void begin(int argc, char **argv) {{\n\
         if (argc > 1 && !strcmp(argv[1], \"__worker\")) {{ {statement} }}\n}}\n"
    );
    let Some(bench) = with_functions(Bench::new(), &source) else { return };
    let run = bench.run(&format!("{RUN} --json")).expect(0).json();
    assert_eq!(run["benchmarks"][0]["outcome"], "measured", "{run:#}");
    assert_eq!(bench.run_files().len(), 1);
}

#[test]
fn a_worker_that_changes_its_directory_is_measured() {
    measures_although_a_worker_does("if (chdir(\"/\")) _exit(9);");
}

#[test]
fn a_worker_that_prints_4_mb_of_errors_is_measured() {
    measures_although_a_worker_does(
        "static char line[100]; memset(line, 'x', 99); line[99] = '\\n';\n\
         for (int n = 0; n < 40000; n++) if (write(2, line, 100) != 100) _exit(9);",
    );
}
