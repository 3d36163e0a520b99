//! Injected faults: no completed measurement is lost, and no process is left.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::common::preload::with_functions;
use crate::common::{Bench, SMALL, says, words};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rusty-stack-bench");

/// Arguments that measure a small product.
const SMALL_GEMM: [&str; 6] = ["run", "gemm", "--axis", "shape=32x32x32", "--axis", "dtype=f32"];

const LONG: [&str; 8] =
    ["run", "tensor-ops", "gemm", "--replicates", "50", "--profile", "quick", "--json"];

/// Starts a long run and returns when the journal has a case.
fn started(bench: &Bench) -> std::process::Child {
    started_as(bench, &LONG)
}

/// Starts a run like [`started`], with other arguments.
fn started_as(bench: &Bench, arguments: &[&str]) -> std::process::Child {
    let mut child =
        bench.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_mins(2);
    while journal_lines(bench) < 4 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(child.try_wait().unwrap().is_none(), "the run ended before it could be interrupted");
    child
}

fn journal_lines(bench: &Bench) -> usize {
    let Ok(entries) = std::fs::read_dir(bench.path("benchmark_results/runs")) else { return 0 };
    let texts = entries.filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok());
    texts.map(|text| text.lines().count()).sum()
}

fn signal(child: &std::process::Child, signal: Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

fn measured(bench: &Bench) -> usize {
    let history = bench.run("history --json").expect(0).json();
    usize::try_from(history["runs"][0]["measured"].as_u64().unwrap()).unwrap()
}

/// Returns the number of live workers whose current directory is that of the bench.
fn workers(bench: &Bench) -> usize {
    let here = bench.dir.path().canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter(|process| {
            std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == here)
        })
        .count()
}

fn assert_no_process_left(bench: &Bench) {
    let until = Instant::now() + Duration::from_secs(20);
    while workers(bench) > 0 {
        assert!(Instant::now() < until, "a worker outlived its run");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn kill_9_loses_nothing_measured_and_leaves_no_process() {
    let bench = Bench::new();
    let mut child = started(&bench);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert_no_process_left(&bench);
    assert!(measured(&bench) >= 1);
    let run: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&bench.run_files()[0]).unwrap()).unwrap();
    let ids: Vec<&str> = run["benchmarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["benchmark_id"].as_str().unwrap())
        .collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "each case must appear once, with all its replicates");
}

#[test]
fn kill_9_again_and_again_loses_no_case_that_its_journal_had() {
    let bench = Bench::new();
    for kill in 0..2 {
        let mut child =
            bench.command(&LONG).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let until = Instant::now() + Duration::from_mins(2);
        // Wait until the journal contains enough finished cases.
        while cases_in_journals(&bench) < 1 + kill && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let acknowledged = cases_in_journals(&bench);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_no_process_left(&bench);
        let runs = bench.run("history --json").expect(0).json();
        let runs = runs["runs"].as_array().unwrap();
        assert_eq!(runs.len(), kill + 1, "each run must be listed once");
        assert!(
            runs[0]["measured"].as_u64().unwrap() >= acknowledged as u64,
            "{acknowledged} acknowledged cases must be in {:#}",
            runs[0]
        );
    }
    bench.run("store check").expect(0);
}

/// Returns the number of cases with a result in the journal of a run.
fn cases_in_journals(bench: &Bench) -> usize {
    let Ok(entries) = std::fs::read_dir(bench.path("benchmark_results/runs")) else { return 0 };
    let paths = entries.map(|entry| entry.unwrap().path());
    let journals = paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let cases = |text: String| {
        let results = text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n') && line.starts_with("{\"result\""));
        let ids =
            results.filter_map(|line| line.split("\"benchmark_id\":\"").nth(1)?.split('"').next());
        ids.collect::<std::collections::BTreeSet<_>>().len()
    };
    journals.filter_map(|path| std::fs::read_to_string(path).ok()).map(cases).sum()
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_exits_130() {
    let bench = Bench::new();
    let mut child = started(&bench);
    signal(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_no_process_left(&bench);
    assert!(measured(&bench) >= 1);
    let run = std::fs::read_to_string(&bench.run_files()[0]).unwrap();
    assert!(run.contains("interrupted"));
}

/// SIGHUP is sent when the terminal is closed.
#[test]
fn a_hangup_or_sigterm_keeps_what_was_measured_and_exits_130() {
    for sent in [Signal::HUP, Signal::TERM] {
        let bench = Bench::new();
        let mut child = started(&bench);
        signal(&child, sent);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{sent:?}");
        assert_no_process_left(&bench);
        assert!(measured(&bench) >= 1, "{sent:?}");
    }
}

/// A scheduler stops every process of a job, the command of a case perhaps before the run.
#[test]
fn a_command_that_is_stopped_shortly_before_its_run_is_no_failure() {
    let bench = Bench::new();
    bench.write(
        "stopped.sh",
        "run=$(awk '/^PPid/ { print $2 }' /proc/$PPID/status)\n\
         setsid sh -c \"sleep 0.05; kill -TERM $run\" > /dev/null 2>&1 &\n\
         kill -TERM $$\n",
    );
    bench.write(
        "custom.toml",
        "[[benchmark]]\nname = \"stopped\"\ncommand = [\"sh\", \"stopped.sh\"]\n",
    );
    bench.run(&["run", "stopped", "--custom", "custom.toml"]).expect(130);
    for path in bench.run_files() {
        let run: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(run["benchmarks"][0]["obstacle"], "not_reached", "{run:#}");
    }
}

#[test]
fn a_run_that_was_stopped_and_continued_is_complete() {
    let bench = Bench::new();
    let short = words(
        "run tensor-ops --axis operation=add,relu,gelu,sum --axis shape=8x64 --replicates 5 \
         --runs 10 --warmup 1",
    );
    let mut child = started_as(&bench, &short);
    signal(&child, Signal::STOP);
    let stat = format!("/proc/{}/stat", child.id());
    let until = Instant::now() + Duration::from_mins(1);
    while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
        assert!(Instant::now() < until, "the run does not stop");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(1));
    signal(&child, Signal::CONT);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(measured(&bench) >= 4);
}

/// Simulates a cpuset of one CPU.
#[test]
fn a_run_on_one_cpu_records_that_it_had_one() {
    if Command::new("taskset").arg("--version").output().is_err() {
        return test_needs::missing("taskset", "the program `taskset` is not here; install it");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let cpu = allowed.trim().split([',', '-']).next().unwrap();
    let pinned = [&["--cpu-list", cpu, PROGRAM][..], &SMALL_GEMM, &["--json"], &SMALL].concat();
    let run = Bench::new().run_of(Path::new("taskset"), &pinned).expect(0).json();
    assert_eq!(run["environment"]["cpu"]["usable_cores"], 1, "{run:#}");
    assert_eq!(run["benchmarks"][0]["outcome"], "measured", "{run:#}");
}

#[test]
fn ctrl_c_in_doctor_keeps_what_was_measured_and_saves_no_baseline() {
    let bench = Bench::new();
    bench.write(
        "rusty-stack-bench.toml",
        "[run]\nreplicates = 90\nruns = 10\nwarmup = 1\nbackend = \"cpu\"\n",
    );
    let command = &["doctor", "--baseline"];
    let mut child =
        bench.command(command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_mins(2);
    while cases_in_journals(&bench) < 1 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_no_process_left(&bench);
    assert_eq!(bench.run_files().len(), 1);
    assert!(!bench.path("baselines").exists(), "an interrupted run must not become a baseline");
}

#[test]
fn a_directory_that_cannot_be_written_is_exit_2_before_anything_is_measured() {
    let bench = Bench::new();
    bench.write("occupied", "a file, not a directory");
    let ended = bench.run("gemm --results-dir occupied").expect(2);
    assert!(ended.stderr.contains("--results-dir"), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(bench.path("occupied")).unwrap(), "a file, not a directory");
}

/// Simulates a disk error, after which the kernel remounts the file system read-only.
#[test]
fn a_read_only_file_system_is_read_and_refuses_a_run_before_it_measures() {
    // The working directory must be entered again to be on the new mount.
    const MOUNT: &str = "mount --bind \"$PWD\" \"$PWD\" && mount -o remount,ro,bind \"$PWD\" && cd \
                         \"$PWD\" && exec \"$@\"";
    let bench = Bench::new();
    bench.run(&[&SMALL_GEMM[..], &SMALL].concat()).expect(0);
    let unshare = Path::new("unshare");
    let mounted =
        |words: &[&'static str]| [&["--mount", "sh", "-c", MOUNT, "sh"][..], words].concat();
    let tried = bench.command_of(unshare, &mounted(&["true"])).status();
    if !tried.is_ok_and(|status| status.success()) {
        return test_needs::missing("mount", "mount namespaces are not allowed here");
    }
    let history = bench.run_of(unshare, &mounted(&[PROGRAM, "history", "--json"])).expect(0).json();
    assert_eq!(history["runs"].as_array().unwrap().len(), 1);
    let run = [&[PROGRAM][..], &SMALL_GEMM, &SMALL].concat();
    let refused = bench.run_of(unshare, &mounted(&run)).expect(2);
    says(&refused.stderr, &["Read-only file system", "make the directory writable"]);
    assert_eq!(bench.run_files().len(), 1);
}

#[test]
fn a_disk_that_fails_at_every_fsync_refuses_a_run_before_it_measures() {
    let functions = "#include <errno.h>\n\
                     int fsync(int file) { (void)file; errno = EIO; return -1; }\n\
                     int fdatasync(int file) { (void)file; errno = EIO; return -1; }\n";
    let Some(bench) = with_functions(Bench::new(), functions) else { return };
    let refused = bench.run(&[&SMALL_GEMM[..], &SMALL].concat()).expect(2);
    says(&refused.stderr, &["Input/output error", "--results-dir"]);
    assert_eq!((bench.run_files().len(), journal_lines(&bench)), (0, 0));
}

/// Simulates a directory on NFS without a lock service.
#[test]
fn a_file_system_without_locks_stores_runs_and_finds_them() {
    let functions = "#include <errno.h>\n\
                     int flock(int file, int how)\n\
                     { (void)file; (void)how; errno = ENOLCK; return -1; }\n";
    let Some(bench) = with_functions(Bench::new(), functions) else { return };
    let stored = bench.run(&[&SMALL_GEMM[..], &SMALL].concat()).expect(0);
    says(&stored.stderr, &["cannot check whether another run is measuring", "No locks available"]);
    assert_eq!(bench.run("history --json").expect(0).json()["runs"].as_array().unwrap().len(), 1);
    bench.run("store check").expect(0);
}

#[test]
fn a_deleted_database_is_made_again_from_the_run_files() {
    let bench = Bench::new();
    bench.run(&[&SMALL_GEMM[..], &SMALL].concat()).expect(0);
    std::fs::remove_file(bench.path("benchmark_results/benchmarks.db")).unwrap();
    let history = bench.run("history --json").expect(0).json();
    assert_eq!(history["runs"].as_array().unwrap().len(), 1);
    bench.run("store check").expect(0);
}

#[test]
fn a_corrupt_database_is_rebuilt_from_the_run_files() {
    let bench = Bench::new();
    bench.run(&[&["gemm", "--axis", "shape=32x32x32"][..], &SMALL].concat()).expect(0);
    std::fs::write(
        bench.path("benchmark_results/benchmarks.db"),
        "this is no database, and long enough to be taken for one",
    )
    .unwrap();
    let ended = bench.run("history --json").expect(0);
    assert_eq!(ended.json()["runs"].as_array().unwrap().len(), 1);
    assert!(ended.stderr.contains("note:"), "{}", ended.stderr);
}

#[test]
fn two_runs_at_once_are_both_kept() {
    let bench = Bench::new();
    let arguments =
        [&["gemm", "--axis", "shape=32x32x32", "--axis", "dtype=f32"][..], &SMALL].concat();
    let mut children: Vec<_> = (0..2)
        .map(|_| {
            bench.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
    assert_eq!(bench.run_files().len(), 2);
    assert_eq!(bench.run("history --json").expect(0).json()["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn an_interrupted_run_says_what_had_no_turn_and_is_no_baseline() {
    let bench = Bench::new();
    let mut child = started(&bench);
    signal(&child, Signal::INT);
    child.wait().unwrap();
    let run: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&bench.run_files()[0]).unwrap()).unwrap();
    let cases = run["benchmarks"].as_array().unwrap();
    assert!(cases.iter().any(|case| case["outcome"] == "skipped"
        && case["why"].as_str().unwrap().contains("interrupted")));
    let ended = bench.run("baseline save").expect(2);
    assert!(ended.stderr.contains("interrupted"), "{}", ended.stderr);
}

#[test]
fn a_stopped_run_is_measured_on_in_its_own_file() {
    let bench = Bench::new();
    let small = ["--runs", "10", "--warmup", "1"];
    let begun = words(
        "run tensor-ops --axis operation=add,relu,gelu,sum --axis shape=8x64 \
         --replicates",
    );
    let mut child = started_as(&bench, &[&begun[..], &["90"], &small].concat());
    signal(&child, Signal::INT);
    child.wait().unwrap();
    let read = || -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(&bench.run_files()[0]).unwrap()).unwrap()
    };
    let before = read();
    let kept = |run: &serde_json::Value| {
        let cases = run["benchmarks"].as_array().unwrap().clone();
        cases
            .into_iter()
            .map(|case| (case["benchmark_id"].clone(), case["samples"].clone()))
            .collect::<Vec<_>>()
    };
    let replicates = |run: &serde_json::Value| -> Vec<usize> {
        kept(run).iter().map(|(_, samples)| samples.as_array().map_or(0, Vec::len)).collect()
    };
    let wanted = (replicates(&before).into_iter().max().unwrap() + 1).to_string();
    let on = [&["run", "--resume", "--replicates", &wanted][..], &small].concat();
    let ended = bench.run(&on).expect(0);
    assert!(ended.stdout.contains("resumed at"), "{}", ended.stdout);
    let after = read();
    assert_eq!(
        (bench.run_files().len(), &after["run_id"]),
        (1, &before["run_id"]),
        "the run must be continued, not repeated"
    );
    assert!(
        replicates(&after).iter().all(|count| count.to_string() == wanted),
        "{:?}",
        replicates(&after)
    );
    for (id, samples) in kept(&before) {
        let now = kept(&after).into_iter().find(|(known, _)| *known == id).unwrap().1;
        let (now, samples) =
            (now.as_array().unwrap(), samples.as_array().cloned().unwrap_or_default());
        assert_eq!(now[..samples.len()], samples, "earlier samples must stay");
    }
    let ended = bench.run(&on).expect(2);
    assert!(ended.stderr.contains("is complete"), "{}", ended.stderr);
}

#[test]
fn the_time_limit_of_a_run_holds_within_a_case() {
    let bench = Bench::new();
    bench.write("rusty-stack-bench.toml", "[time_limits]\nsuite_seconds = 5\n");
    let arguments = words("gemm --axis shape=16x16x16,9000x9000x9000 --axis dtype=f64 --json");
    let document = bench.run(&[&arguments[..], &SMALL].concat()).expect(0).json();
    // The second product takes far longer than 5 s on any single thread.
    let outcomes: Vec<&str> = document["benchmarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["outcome"].as_str().unwrap())
        .collect();
    assert!(
        outcomes.contains(&"measured")
            && outcomes.contains(&"skipped")
            && !outcomes.contains(&"failed"),
        "{outcomes:?}"
    );
}

#[test]
fn absurd_numbers_are_no_crash() {
    let bench = Bench::new();
    let tiny = ["gemm", "--axis", "shape=16x16x16", "--axis", "dtype=f32"];
    bench.run(&[&tiny[..], &["--timeout", "18446744073709551615"], &SMALL].concat()).expect(0);
    bench.write("rusty-stack-bench.toml", "[run]\nruns = 1000000000000\n");
    bench.run(&tiny).expect(2);
}
