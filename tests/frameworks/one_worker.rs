//! Runs many cases in one process of the real worker. The program starts a process for each case,
//! and loading a framework takes seconds, so only a few cases are tested with the program.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use rsb_catalog::frameworks::{ComponentSelection, cases, find};
use rsb_engine::python_worker::command;
use rsb_model::protocol::{Request, Response};
use rsb_model::{Case, DeviceRef};
use rsb_workloads::Breadth;
use serde_json::{Value, json};

use super::common::Bench;
use super::{assert_no_process_left, bench_with};

/// Returns the results of every case of `grids`, such as `pytorch workload=matmul dtype=f32,bf16`,
/// on the CPU, in the format of a run; `None` if the environment does not have `package`.
pub fn answered(package: &str, grids: &[&str]) -> Option<Vec<Value>> {
    let bench = bench_with(package)?;
    let cases: Vec<Case> = grids.iter().flat_map(|grid| cases_of(grid)).collect();
    let mut worker = Worker::start(&bench, &cases[0].benchmark);
    let results = cases.iter().map(|case| worker.result(case)).collect();
    worker.leave();
    assert_no_process_left(&bench);
    Some(results)
}

fn cases_of(grid: &str) -> Vec<Case> {
    let (component, axes) = grid.split_once(' ').unwrap();
    let axis = |axis: &str| {
        let (name, values) = axis.split_once('=').unwrap();
        (name.to_owned(), values.split(',').map(str::to_owned).collect())
    };
    let axes: Vec<(String, Vec<String>)> = axes.split(' ').map(axis).collect();
    let wish = ComponentSelection { breadth: Breadth::Quick, axes: &axes };
    cases(find(component).unwrap(), DeviceRef::CPU, wish).unwrap()
}

struct Worker {
    child: Child,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    /// Starts the worker as the program does.
    fn start(bench: &Bench, component: &str) -> Self {
        let how = command(Path::new(env!("CARGO_BIN_EXE_rusty-stack-bench")), component).unwrap();
        let mut worker = Command::new(how.program);
        worker.args(how.args).current_dir(bench.dir.path()).env("OMP_NUM_THREADS", "1");
        worker.envs(how.environment.into_iter().filter_map(|(name, value)| Some((name, value?))));
        let mut child = worker.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, answers }
    }

    fn ask(&mut self, request: &Request) -> Response {
        let line = serde_json::to_string(request).unwrap();
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
        let answer = self
            .answers
            .next()
            .unwrap_or_else(|| panic!("the worker ended at the request {line}"))
            .unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    /// Prepares and verifies a case, runs one iteration and returns its result.
    fn result(&mut self, case: &Case) -> Value {
        let ready = self.ask(&Request::Prepare { case: case.clone() });
        let Response::Ready { device_type, .. } = ready else { return skipped(case, ready) };
        let sampled = self.ask(&Request::Sample { iters: 1 });
        let Response::Sampled { time_ns } = sampled else { return skipped(case, sampled) };
        let finished = self.ask(&Request::Finish { time_ns });
        let Response::Finished { fields } = finished else { return skipped(case, finished) };
        json!({ "benchmark_id": case.id, "outcome": "measured", "device_type": device_type, "results": [fields] })
    }

    fn leave(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

fn skipped(case: &Case, answer: Response) -> Value {
    let Response::Skipped { reason } = answer else { panic!("{}: {answer:?}", case.id) };
    let mut result = json!({ "benchmark_id": case.id, "outcome": "skipped" });
    for (name, text) in [("what", reason.what), ("why", reason.why), ("cure", reason.cure)] {
        result[name] = text.into();
    }
    result
}
