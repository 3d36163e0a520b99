//! Origin of a level change: differences of the machine between the two runs, and the commits
//! between them.

use std::path::Path;

use rsb_model::environment::{Environment, MachineState};
use rsb_model::fingerprint::{Difference, Fingerprint};
use rsb_model::record::TrackedAlert;
use rsb_model::{Run, RunId, factor};
use rsb_store::Store;

const NAMED: usize = 20;

/// Minimum change of the clock that is named, in percent; governors cause smaller ones all the
/// time.
const CLOCK: f64 = 10.0;

/// Minimum change of the temperature that is named, in °C.
const WARMER: f64 = 10.0;

/// Minimum change of the load average that is named.
const LOAD: f64 = 1.0;

/// Fills in the origin of `alert`, as far as it is known from the runs of `store` and the
/// repository in `tree`.
pub(super) fn fill(alert: &mut TrackedAlert, store: &Store, tree: &Path) {
    let (before, after) = (&alert.range.last_before, &alert.range.first_after);
    let run_before = stored_run(store, before.run_id.as_ref());
    let run_after = stored_run(store, after.run_id.as_ref());
    alert.environment_changes = match (run_before, run_after) {
        (Some(before), Some(after)) => changes(&before, &after, &alert.id),
        _ => Vec::new(),
    };
    alert.commits = match (&before.commit, &after.commit) {
        (Some(before), Some(after)) if before != after => commits(tree, before, after),
        _ => Vec::new(),
    };
}

fn stored_run(store: &Store, id: Option<&RunId>) -> Option<Run> {
    store.run(&id?.0).ok()
}

/// Returns the differences between the machines of two runs that may affect the speed of the case
/// `id`.
fn changes(before: &Run, after: &Run, id: &str) -> Vec<Difference> {
    let software = match (case_factors(before, id), case_factors(after, id)) {
        (Some(before), Some(after)) => factor::differences(&before, &after, &[]),
        _ => Vec::new(),
    };
    let (before, after) = (&before.environment, &after.environment);
    let mut found = Fingerprint::of(before).differences(&Fingerprint::of(after));
    found.extend(software);
    push_if_changed(&mut found, "kernel", before.kernel.as_deref(), after.kernel.as_deref());
    push_if_changed(&mut found, "os", before.os.as_deref(), after.os.as_deref());
    push_if_changed(&mut found, "hypervisor", hypervisor(before), hypervisor(after));
    if let (Some(before), Some(after)) = (&before.state, &after.state) {
        let (old, new) = (before.governor.as_deref(), after.governor.as_deref());
        push_if_changed(&mut found, "governor", old, new);
        found.extend(state_changes(before, after));
    }
    found
}

fn case_factors(run: &Run, id: &str) -> Option<factor::Factors> {
    let result = run.benchmarks.iter().find(|result| result.benchmark_id.as_str() == id)?;
    Some(result.factors_in(&run.environment).into_owned())
}

/// Adds a difference if both values are known and differ.
fn push_if_changed(
    found: &mut Vec<Difference>,
    field: &str,
    before: Option<&str>,
    after: Option<&str>,
) {
    if let (Some(before), Some(after)) = (before, after)
        && before != after
    {
        found.push(difference(field, before, after));
    }
}

fn hypervisor(environment: &Environment) -> Option<&str> {
    environment.cpu.as_ref()?.hypervisor.as_deref()
}

fn state_changes(before: &MachineState, after: &MachineState) -> Vec<Difference> {
    let mut found = Vec::new();
    if let (Some(a), Some(b)) = (before.mhz, after.mhz)
        && (b - a).abs() >= CLOCK / 100.0 * a.abs()
    {
        found.push(number_difference("mhz", a, b));
    }
    if let (Some(a), Some(b)) = (before.temperature_c, after.temperature_c)
        && (b - a).abs() >= WARMER
    {
        found.push(number_difference("temperature_c", a, b));
    }
    if let (Some(a), Some(b)) = (before.load_average, after.load_average)
        && (b - a).abs() >= LOAD
    {
        found.push(number_difference("load_average", a, b));
    }
    if let (Some(a), Some(b)) = (before.throttle_events, after.throttle_events)
        && b > a
    {
        found.push(number_difference("throttle_events", a as f64, b as f64));
    }
    found
}

fn number_difference(field: &str, before: f64, after: f64) -> Difference {
    difference(field, &format!("{before:.1}"), &format!("{after:.1}"))
}

fn difference(field: &str, before: &str, after: &str) -> Difference {
    Difference { field: field.to_owned(), baseline: before.to_owned(), current: after.to_owned() }
}

/// Returns the commits after `before` up to `after`, oldest first; empty if the repository does not
/// contain both.
fn commits(tree: &Path, before: &str, after: &str) -> Vec<String> {
    // A run file is untrusted: only a hash may become an argument of git.
    if ![before, after].into_iter().all(is_hash) {
        return Vec::new();
    }
    let Some(all) = rsb_probe::commits_between(tree, before, after) else { return Vec::new() };
    let mut named: Vec<String> =
        all.iter().take(NAMED).map(|line| rsb_model::shown::clean(line)).collect();
    if all.len() > NAMED {
        named.push(format!("and {} more: git log {before}..{after}", all.len() - NAMED));
    }
    named
}

/// Returns whether `text` can be a commit hash.
fn is_hash(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rsb_model::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn commits_between_two_runs_are_named_and_what_is_no_hash_reaches_no_git() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "--quiet"]);
        let [first, _, last] =
            ["first", "second", "third"].map(|subject| commit(dir.path(), subject));
        let named = commits(dir.path(), &first, &last);
        assert_eq!(
            named.iter().map(|line| line.split_once(' ').unwrap().1).collect::<Vec<_>>(),
            ["second", "third"]
        );
        let victim = dir.path().join("victim");
        for (before, after) in [
            (format!("--output={}/", dir.path().display()), "/victim".to_owned()),
            (format!("--output={}", victim.display()), last.clone()),
            (first, "HEAD".to_owned()),
            (String::new(), String::new()),
        ] {
            assert_eq!(commits(dir.path(), &before, &after), Vec::<String>::new());
        }
        assert!(!victim.exists());
    }

    fn git(dir: &Path, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name); // Set while a hook of git runs.
        }
        let output = command.current_dir(dir).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(dir: &Path, subject: &str) -> String {
        let arguments = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@localhost",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            subject,
        ];
        git(dir, &arguments);
        git(dir, &["rev-parse", "HEAD"])
    }

    #[test]
    fn what_may_move_a_figure_is_named_and_what_always_varies_is_not() {
        let old = machine("6.8.0", "6.2.0", state(3000.0, 0.1, 4));
        assert_eq!(changed_fields(&old, &old, ON_GPU), Vec::<String>::new());
        assert_eq!(
            changed_fields(&old, &machine("6.8.0", "6.2.1", state(3100.0, 0.9, 4)), ON_GPU),
            Vec::<String>::new()
        );
        let new = machine("6.9.0", "6.3.0", state(2000.0, 12.0, 9));
        assert_eq!(
            changed_fields(&old, &new, ON_GPU),
            ["rocm", "kernel", "mhz", "temperature_c", "load_average", "throttle_events"]
        );
        assert_eq!(
            changed_fields(&old, &Environment::default(), ON_GPU),
            Vec::<String>::new(),
            "an unknown value is not a change"
        );
        assert_eq!(
            changed_fields(&old, &machine("6.8.0", "6.3.0", state(3000.0, 0.1, 4)), ON_GPU),
            ["rocm"]
        );
        assert_eq!(
            changed_fields(&old, &machine("6.8.0", "6.3.0", state(3000.0, 0.1, 4)), ON_CPU),
            Vec::<String>::new()
        );
    }

    const ON_GPU: &str = "gpu_performance/gemm/rocm:0/f16";
    const ON_CPU: &str = "cpu_performance/gemm/cpu:0/f16";

    fn state(mhz: f64, load: f64, throttle_events: u64) -> MachineState {
        MachineState {
            mhz: Some(mhz),
            load_average: Some(load),
            throttle_events: Some(throttle_events),
            temperature_c: Some(50.0 + load),
            governor: Some("performance".to_owned()),
            ..MachineState::default()
        }
    }

    fn machine(kernel: &str, rocm: &str, state: MachineState) -> Environment {
        Environment {
            kernel: Some(kernel.to_owned()),
            rocm: Some(rocm.to_owned()),
            state: Some(state),
            ..Environment::default()
        }
    }

    /// Creates a run with one case on a GPU and one on the CPU.
    fn run(environment: &Environment) -> Run {
        let mut run =
            Run::begin(RunId("x".to_owned()), Timestamp::UNIX_EPOCH, "x", "x", environment.clone());
        for id in [ON_GPU, ON_CPU] {
            let kind = id.split('/').next().unwrap();
            let result = json!({"benchmark_id": id, "timestamp": Timestamp::UNIX_EPOCH, "benchmark_type": kind, "results": []});
            run.benchmarks.push(serde_json::from_value(result).unwrap());
        }
        run
    }

    fn changed_fields(before: &Environment, after: &Environment, id: &str) -> Vec<String> {
        let found = changes(&run(before), &run(after), id);
        found.into_iter().map(|difference| difference.field).collect()
    }
}
