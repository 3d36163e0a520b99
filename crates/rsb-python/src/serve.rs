//! The request loop: reads a line, writes its answer. Requests are passed to Python unparsed,
//! except samples, which are the most frequent and must have little overhead.

use std::io::{BufRead, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;

use pyo3::prelude::*;
use rsb_model::protocol::{Request, Response};
use rsb_model::{CaseId, Reason};

use crate::{interpreter, occupancy, sources};

/// Adjustment of a sample's time in nanoseconds: unchanged, unless a test of the gate injects a
/// slowdown.
pub type Adjust = fn(&CaseId, f64) -> f64;

/// Serves one case on standard input and output, in the Python that the first argument names.
pub fn serve(adjust: Adjust) -> ExitCode {
    // If the system does not support it, this process still exits at the end of its input.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let Ok(mut answers) = private_stdout() else { return ExitCode::FAILURE };
    let Some(program) = std::env::args_os().nth(1) else {
        let _ = writeln!(
            std::io::stderr(),
            "usage: rsb-python-worker PYTHON; it is started by rusty-stack-bench"
        );
        return ExitCode::from(2);
    };
    if let Err(reason) = start(Path::new(&program)) {
        // Write errors are ignored: the reader may have gone.
        let _ = say(&mut answers, &Response::Failed { reason });
        return ExitCode::FAILURE;
    }
    match Python::attach(|py| converse(py, &mut answers, adjust)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn start(program: &Path) -> Result<(), Reason> {
    let what = format!("Python at {}", program.display());
    let sources = sources::dir().map_err(|error| {
        let why = format!("cannot write the workloads: {error}");
        Reason::new(&what, why, "set XDG_CACHE_HOME to a writable directory with free space")
    })?;
    interpreter::start(program, &sources).map_err(|error| {
        let cure = "recreate the environment, or choose another with MLSTACK_BENCHMARK_PYTHON";
        Reason::new(&what, format!("it cannot be started: {error}"), cure)
    })
}

fn converse(py: Python<'_>, answers: &mut impl Write, adjust: Adjust) -> PyResult<()> {
    let worker = Worker::start(py)?;
    let mut prepared = None;
    loop {
        let mut line = String::new();
        // The framework's own threads continue while this one waits.
        if py.detach(|| std::io::stdin().lock().read_line(&mut line))? == 0 {
            return Ok(());
        }
        let request = serde_json::from_str(&line);
        let answer = match request {
            Ok(Request::Sample { iters }) => worker.sample(iters)?,
            _ => worker.answer(&line)?,
        };
        let answer = adjust_response(answer, prepared.as_ref(), adjust);
        say(answers, &answer)?;
        match (request, answer) {
            (Ok(Request::Prepare { case }), _) => prepared = Some(case.id),
            // Do this while the other side reads the answer, so that it does not add to the
            // overhead of a sample.
            (_, Response::Sampled { .. }) => worker.look()?,
            _ => {}
        }
    }
}

/// A `Worker` of `rusty_stack_bench.workloads`.
struct Worker<'py> {
    object: Bound<'py, PyAny>,
    sample: Bound<'py, PyAny>,
    look: Bound<'py, PyAny>,
}

impl<'py> Worker<'py> {
    fn start(py: Python<'py>) -> PyResult<Self> {
        let object = py.import("rusty_stack_bench.workloads.worker")?.getattr("Worker")?.call0()?;
        let (sample, look) = (object.getattr("sample")?, object.getattr("look")?);
        Ok(Self { object, sample, look })
    }

    /// Takes a sample without parsing or writing JSON in Python.
    fn sample(&self, iters: u64) -> PyResult<Response> {
        match self.sample.call1((iters,)).and_then(|time_ns| time_ns.extract()) {
            Ok(time_ns) => Ok(Response::Sampled { time_ns }),
            Err(error) => {
                let error = error.into_value(self.object.py());
                Ok(understood(
                    &self.object.call_method1("explained", (error,))?.extract::<String>()?,
                ))
            }
        }
    }

    /// Records the memory use of the case.
    fn look(&self) -> PyResult<()> {
        self.look.call0().map(drop)
    }

    /// Answers any other request, which is passed to Python unparsed.
    fn answer(&self, line: &str) -> PyResult<Response> {
        Ok(understood(
            &self.object.call_method1("answer", (line.trim_end(),))?.extract::<String>()?,
        ))
    }
}

/// Adjusts the time of a sample, and adds the occupancy to the fields of a finished case.
fn adjust_response(response: Response, case: Option<&CaseId>, adjust: Adjust) -> Response {
    match (response, case) {
        (Response::Sampled { time_ns }, Some(case)) => {
            Response::Sampled { time_ns: adjust(case, time_ns) }
        }
        (Response::Finished { mut fields }, _) => {
            occupancy::add(&mut fields);
            Response::Finished { fields }
        }
        (other, _) => other,
    }
}

/// Parses a workload's answer, or returns a failure if it does not follow the protocol.
fn understood(answer: &str) -> Response {
    serde_json::from_str(answer).unwrap_or_else(|error| {
        let why = format!("cannot parse its response `{answer}`: {error}");
        Response::Failed { reason: Reason::new("Python workload", why, "report this as a bug") }
    })
}

fn say(answers: &mut impl Write, response: &Response) -> std::io::Result<()> {
    let mut line = serde_json::to_string(response)?;
    line.push('\n');
    answers.write_all(line.as_bytes())
}

/// Returns the original standard output for responses only, and redirects the output of frameworks
/// to standard error.
fn private_stdout() -> std::io::Result<std::fs::File> {
    let own = std::io::stdout().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdout(std::io::stderr())?;
    Ok(own.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_none_is_a_failure_that_quotes_it() {
        assert_eq!(
            understood(r#"{"answer":"sampled","time_ns":1.5}"#),
            Response::Sampled { time_ns: 1.5 }
        );
        let Response::Failed { reason } = understood("hello") else { panic!() };
        assert!(reason.why.contains("hello"));
    }

    #[test]
    fn the_time_of_a_sample_alone_is_adjusted() {
        let id = CaseId::from_segments(&["component_specific", "pytorch"]);
        let twice: Adjust = |_, time_ns| 2.0 * time_ns;
        let sampled = adjust_response(Response::Sampled { time_ns: 1.5 }, Some(&id), twice);
        assert_eq!(sampled, Response::Sampled { time_ns: 3.0 });
        let reason = Reason::new("a", "b", "c");
        let failed = Response::Failed { reason };
        assert_eq!(adjust_response(failed.clone(), Some(&id), twice), failed);
    }
}
