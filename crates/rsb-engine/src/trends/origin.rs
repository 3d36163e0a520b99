//! Where a change of level comes from: what of the machine is unlike between the two runs, and the
//! commits between them.

use std::path::Path;

use rsb_model::environment::{Environment, MachineState};
use rsb_model::fingerprint::{Difference, Fingerprint};
use rsb_model::record::TrackedAlert;
use rsb_model::{Run, factor};
use rsb_store::Store;

use crate::revisions::git;

/// Commits that are named at most.
const NAMED: usize = 20;

/// A clock this much slower or faster is named, in percent: below it is what governors do all day.
const CLOCK: f64 = 10.0;

/// A temperature this much higher or lower is named, in °C.
const WARMER: f64 = 10.0;

/// A load this much higher or lower is named.
const LOAD: f64 = 1.0;

/// Fills in what `alert` comes from, as far as the runs of `store` and the repository in `tree`
/// tell.
pub(super) fn fill(alert: &mut TrackedAlert, store: &Store, tree: &Path) {
    let run = |id: &Option<rsb_model::RunId>| store.run(&id.as_ref()?.0).ok();
    let (before, after) = (&alert.range.last_before, &alert.range.first_after);
    alert.environment_changes = match (run(&before.run_id), run(&after.run_id)) {
        (Some(before), Some(after)) => changes(&before, &after, &alert.id),
        _ => Vec::new(),
    };
    alert.commits = match (&before.commit, &after.commit) {
        (Some(before), Some(after)) if before != after => commits(tree, before, after),
        _ => Vec::new(),
    };
}

/// Returns what differs between the machines of two runs and may change the speed of the case `id`.
fn changes(before: &Run, after: &Run, id: &str) -> Vec<Difference> {
    let factors = |run: &Run| {
        let result = run.benchmarks.iter().find(|result| result.benchmark_id.as_str() == id)?;
        Some(result.factors_in(&run.environment).into_owned())
    };
    let software = match (factors(before), factors(after)) {
        (Some(before), Some(after)) => factor::differences(&before, &after, &[]),
        _ => Vec::new(),
    };
    let (before, after) = (&before.environment, &after.environment);
    let mut found = Fingerprint::of(before).differences(&Fingerprint::of(after));
    found.extend(software);
    let mut texts = |field: &str, before: Option<&str>, after: Option<&str>| {
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            found.push(difference(field, before, after));
        }
    };
    texts("kernel", before.kernel.as_deref(), after.kernel.as_deref());
    texts("os", before.os.as_deref(), after.os.as_deref());
    let hypervisor = |of: &Environment| of.cpu.as_ref().and_then(|cpu| cpu.hypervisor.clone());
    texts("hypervisor", hypervisor(before).as_deref(), hypervisor(after).as_deref());
    if let (Some(before), Some(after)) = (&before.state, &after.state) {
        texts("governor", before.governor.as_deref(), after.governor.as_deref());
        found.extend(state_changes(before, after));
    }
    found
}

fn state_changes(before: &MachineState, after: &MachineState) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut numbers =
        |field: &str, before: Option<f64>, after: Option<f64>, tells: &dyn Fn(f64, f64) -> bool| {
            if let (Some(before), Some(after)) = (before, after)
                && tells(before, after)
            {
                found.push(difference(field, &format!("{before:.1}"), &format!("{after:.1}")));
            }
        };
    numbers("mhz", before.mhz, after.mhz, &|a, b| (b - a).abs() >= CLOCK / 100.0 * a.abs());
    numbers("temperature_c", before.temperature_c, after.temperature_c, &|a, b| {
        (b - a).abs() >= WARMER
    });
    numbers("load_average", before.load_average, after.load_average, &|a, b| (b - a).abs() >= LOAD);
    let throttled = |of: &MachineState| of.throttle_events.map(|count| count as f64);
    numbers("throttle_events", throttled(before), throttled(after), &|a, b| b > a);
    found
}

fn difference(field: &str, before: &str, after: &str) -> Difference {
    Difference { field: field.to_owned(), baseline: before.to_owned(), current: after.to_owned() }
}

/// The commits after `before` up to `after`, oldest first; none where the repository does not know
/// both.
fn commits(tree: &Path, before: &str, after: &str) -> Vec<String> {
    // A run file may be anybody's: what is no hash is no argument of git.
    if ![before, after].into_iter().all(is_hash) {
        return Vec::new();
    }
    let range = format!("{before}..{after}");
    let Ok(text) =
        git(tree, &["log", "--reverse", "--format=%h %s", "--end-of-options", &range, "--"])
    else {
        return Vec::new();
    };
    let all: Vec<&str> = text.lines().collect();
    let mut named: Vec<String> =
        all.iter().take(NAMED).map(|line| rsb_model::shown::clean(line)).collect();
    if all.len() > NAMED {
        named.push(format!("and {} more: git log {range}", all.len() - NAMED));
    }
    named
}

/// Whether `text` can be the hash of a commit.
fn is_hash(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use rsb_model::{RunId, Timestamp};
    use serde_json::json;

    use super::*;

    #[test]
    fn commits_between_two_runs_are_named_and_what_is_no_hash_reaches_no_git() {
        let dir = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| git(dir.path(), arguments).unwrap();
        git(&["init", "--quiet"]);
        let commit = |subject: &str| {
            git(&[
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@localhost",
                "commit",
                "--quiet",
                "--allow-empty",
                "-m",
                subject,
            ]);
            git(&["rev-parse", "HEAD"])
        };
        let [first, _, last] = ["first", "second", "third"].map(commit);
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

    #[test]
    fn what_may_move_a_figure_is_named_and_what_always_varies_is_not() {
        let state = |mhz, load, throttle_events| MachineState {
            mhz: Some(mhz),
            load_average: Some(load),
            throttle_events: Some(throttle_events),
            temperature_c: Some(50.0 + load),
            governor: Some("performance".to_owned()),
            ..MachineState::default()
        };
        let machine = |kernel: &str, rocm: &str, state| Environment {
            kernel: Some(kernel.to_owned()),
            rocm: Some(rocm.to_owned()),
            state: Some(state),
            ..Environment::default()
        };
        let (on_gpu, on_cpu) =
            ("gpu_performance/gemm/rocm:0/f16", "cpu_performance/gemm/cpu:0/f16");
        let run = |environment: &Environment| {
            let mut run = Run::begin(
                RunId("x".to_owned()),
                Timestamp::UNIX_EPOCH,
                "x",
                "x",
                environment.clone(),
            );
            for id in [on_gpu, on_cpu] {
                let kind = id.split('/').next().unwrap();
                let result = json!({"benchmark_id": id, "timestamp": Timestamp::UNIX_EPOCH, "benchmark_type": kind, "results": []});
                run.benchmarks.push(serde_json::from_value(result).unwrap());
            }
            run
        };
        let of_case = |a: &Environment, b: &Environment, id: &str| {
            changes(&run(a), &run(b), id).into_iter().map(|found| found.field).collect::<Vec<_>>()
        };
        let named = |a: &Environment, b: &Environment| of_case(a, b, on_gpu);
        let old = machine("6.8.0", "6.2.0", state(3000.0, 0.1, 4));
        assert_eq!(named(&old, &old), Vec::<String>::new());
        assert_eq!(
            named(&old, &machine("6.8.0", "6.2.1", state(3100.0, 0.9, 4))),
            Vec::<String>::new()
        );
        let new = machine("6.9.0", "6.3.0", state(2000.0, 12.0, 9));
        assert_eq!(
            named(&old, &new),
            ["rocm", "kernel", "mhz", "temperature_c", "load_average", "throttle_events"]
        );
        assert_eq!(
            named(&old, &Environment::default()),
            Vec::<String>::new(),
            "an unknown value is no change"
        );
        assert_eq!(
            of_case(&old, &machine("6.8.0", "6.3.0", state(3000.0, 0.1, 4)), on_gpu),
            ["rocm"]
        );
        assert_eq!(
            of_case(&old, &machine("6.8.0", "6.3.0", state(3000.0, 0.1, 4)), on_cpu),
            Vec::<String>::new()
        );
    }
}
