//! The conversation: a line in, its answer out. Python is given the line as it came, but for
//! samples: they are asked for most often, and what they take beside the work must be little.

use std::io::{BufRead, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;

use pyo3::prelude::*;
use rsb_model::protocol::{Request, Response};
use rsb_model::{CaseId, Reason};

use crate::{interpreter, occupancy, sources};

/// What becomes of the time of a sample: as it was, unless a test of the gate makes a case slower
/// on purpose.
pub type Adjust = fn(&CaseId, f64) -> f64;

/// Serves one case on standard input and output, in the Python that the first argument names.
pub fn serve(adjust: Adjust) -> ExitCode {
    // Where the system cannot do it, this process still ends when its input does.
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
        // Nobody may be listening any more: then there is nobody to tell.
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
        let why = format!("the workloads cannot be written for it: {error}");
        Reason::new(&what, why, "set XDG_CACHE_HOME to a directory with room")
    })?;
    interpreter::start(program, &sources).map_err(|said| {
        let cure = "make the environment anew, or choose another with MLSTACK_BENCHMARK_PYTHON";
        Reason::new(&what, format!("it cannot be started: {said}"), cure)
    })
}

fn converse(py: Python<'_>, answers: &mut impl Write, adjust: Adjust) -> PyResult<()> {
    let worker = Worker::start(py)?;
    let mut prepared = None;
    loop {
        let mut line = String::new();
        // A framework's own threads go on while this one waits.
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
            // While the other side reads the answer: it is no part of what a sample takes beside
            // the work.
            (_, Response::Sampled { .. }) => worker.look()?,
            _ => {}
        }
    }
}

/// The worker of `rusty_stack_bench.workloads`.
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

    /// Iterations, without a line parsed and written in Python.
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

    /// What the case holds of memory.
    fn look(&self) -> PyResult<()> {
        self.look.call0().map(drop)
    }

    /// Any other request, as it came.
    fn answer(&self, line: &str) -> PyResult<Response> {
        Ok(understood(
            &self.object.call_method1("answer", (line.trim_end(),))?.extract::<String>()?,
        ))
    }
}

/// The answer with what this side knows of it.
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

/// What a workload answered, or that it is none of the words of the protocol.
fn understood(answer: &str) -> Response {
    serde_json::from_str(answer).unwrap_or_else(|error| {
        let why = format!("it answered `{answer}`: {error}");
        Response::Failed { reason: Reason::new("workload in Python", why, "report this as a bug") }
    })
}

fn say(answers: &mut impl Write, response: &Response) -> std::io::Result<()> {
    let mut line = serde_json::to_string(response)?;
    line.push('\n');
    answers.write_all(line.as_bytes())
}

/// Standard output for answers alone: what a framework prints goes to standard error instead.
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
