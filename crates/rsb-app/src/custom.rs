//! Benchmarks that users define in Rust.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

pub use rsb_catalog::custom::OwnBenchmark;
pub use rsb_model::{Params, Reason};
pub use rsb_workloads::Failure;

use rsb_model::{Field, Fields};
use rsb_stats::policy_file::TargetFile;
use rsb_workloads::Prepared;

/// Result of a set-up. An error fails the case; a [`Failure`] can also state that the case cannot
/// run here.
pub type SetUp<S> = Result<S, Box<dyn Error>>;

type SetUpFn<S> = dyn Fn(&Params) -> SetUp<S> + Send + Sync;
type FigureFn<S> = dyn Fn(&S, f64) -> f64 + Send + Sync;
type Figures<S> = Vec<(&'static str, Box<FigureFn<S>>)>;

/// Function that computes a metric from the state of a case and the seconds per iteration.
pub type CaseMetric<I> = fn(&I, f64) -> f64;

/// A benchmark of another crate: its cases, and how one is set up, run and verified. In a program
/// with [`CaseBenchmark`]s, every subcommand works with them.
pub trait CaseBenchmark: Send + Sync + 'static {
    /// State of a case.
    type Input: 'static;
    /// Result of one iteration.
    type Output: 'static;

    /// Returns the name: a letter, then letters, digits, dashes and underscores.
    fn name(&self) -> &'static str;

    /// Returns a description of one line.
    fn about(&self) -> &'static str;

    /// Returns the axes with their values; every combination is a case.
    fn axes(&self) -> Vec<(&'static str, Vec<String>)> {
        Vec::new()
    }

    /// Creates the state of a case in each process. It is not timed.
    ///
    /// # Errors
    /// An error fails the case; [`Failure::Skipped`] skips it.
    fn set_up(&self, case: &Params) -> SetUp<Self::Input>;

    /// Runs one timed iteration.
    fn run(&self, input: &mut Self::Input) -> Self::Output;

    /// Checks the result of the first iteration, before anything is timed.
    ///
    /// # Errors
    /// Why the result is wrong.
    fn verify(&self, input: &mut Self::Input, output: Self::Output) -> Result<(), String>;

    /// Returns metrics in addition to the time: fields of docs/glossary.md and how each follows
    /// from the state and the seconds per iteration.
    fn metrics(&self) -> Vec<(&'static str, CaseMetric<Self::Input>)> {
        Vec::new()
    }

    /// Returns the benchmark for a program's list of benchmarks.
    fn benchmark(self) -> OwnBenchmark
    where
        Self: Sized,
    {
        let this = Arc::new(self);
        let [set_up, run, verify] = [&this, &this, &this].map(Arc::clone);
        let mut described =
            CustomBenchmark::new(this.name(), this.about()).set_up(move |case| set_up.set_up(case));
        for (axis, values) in this.axes() {
            described = described.axis(axis, values);
        }
        for (field, metric) in this.metrics() {
            described = described.figure(field, metric);
        }
        described
            .measure(move |input| run.run(input), move |input, output| verify.verify(input, output))
    }
}

/// Builder of a benchmark; `S` is the value returned by its set-up.
pub struct CustomBenchmark<S = ()> {
    name: &'static str,
    about: &'static str,
    axes: Vec<(&'static str, Vec<String>)>,
    targets: Vec<TargetFile>,
    set_up: Box<SetUpFn<S>>,
    figures: Figures<S>,
}

impl CustomBenchmark {
    /// Creates a benchmark called `name`: a letter, then letters, digits, dashes and underscores.
    pub fn new(name: &'static str, about: &'static str) -> Self {
        let set_up = Box::new(|_: &Params| Ok(()));
        Self { name, about, axes: Vec::new(), targets: Vec::new(), set_up, figures: Vec::new() }
    }

    /// Sets the function that creates the state for each case and process, which is not timed. Call
    /// it before `figure`.
    #[must_use]
    pub fn set_up<S>(
        self,
        set_up: impl Fn(&Params) -> SetUp<S> + Send + Sync + 'static,
    ) -> CustomBenchmark<S> {
        let Self { name, about, axes, targets, .. } = self;
        CustomBenchmark {
            name,
            about,
            axes,
            targets,
            set_up: Box::new(set_up),
            figures: Vec::new(),
        }
    }
}

impl<S: 'static> CustomBenchmark<S> {
    /// Adds an axis; every combination of the values of all axes is a case.
    #[must_use]
    pub fn axis<V: ToString>(
        mut self,
        name: &'static str,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.axes.push((name, values.into_iter().map(|value| value.to_string()).collect()));
        self
    }

    /// Adds a metric in addition to the time: a field of docs/glossary.md, computed from the state
    /// and the seconds per iteration.
    #[must_use]
    pub fn figure(
        mut self,
        field: &'static str,
        figure: impl Fn(&S, f64) -> f64 + Send + Sync + 'static,
    ) -> Self {
        self.figures.push((field, Box::new(figure)));
        self
    }

    /// Adds a target: more than `limit` of `metric`, in its unit. A miss is shown but is not a
    /// failure.
    #[must_use]
    pub fn above(self, metric: &str, limit: f64) -> Self {
        self.target(metric, Some(limit), None)
    }

    /// Adds a target: less than `limit` of `metric`, in its unit. A miss is shown but is not a
    /// failure.
    #[must_use]
    pub fn below(self, metric: &str, limit: f64) -> Self {
        self.target(metric, None, Some(limit))
    }

    fn target(mut self, metric: &str, above: Option<f64>, below: Option<f64>) -> Self {
        let (id, metric) = ("*".to_owned(), metric.to_owned());
        self.targets.push(TargetFile { id, metric, above, below, fail: false, reference: None });
        self
    }

    /// Sets the timed `operation`. Its first result is passed to `verify`; nothing is timed before
    /// it is verified.
    pub fn measure<R: 'static>(
        self,
        operation: impl Fn(&mut S) -> R + Send + Sync + 'static,
        verify: impl Fn(&mut S, R) -> Result<(), String> + Send + Sync + 'static,
    ) -> OwnBenchmark {
        let Self { name, about, axes, targets, set_up, figures } = self;
        let (operation, figures) = (Arc::new(operation), Arc::new(figures));
        let prepare = move |params: &Params| {
            let mut state = set_up(params).map_err(|error| not_set_up(name, error))?;
            let first = operation(&mut state);
            verify(&mut state, first)
                .map_err(|why| case_failure(name, why, "fix the operation, or its verification"))?;
            let (operation, figures) = (Arc::clone(&operation), Arc::clone(&figures));
            Ok(Box::new(ClosureCase { name, state, operation, figures }) as Box<dyn Prepared>)
        };
        let own = OwnBenchmark::new(name, about, Box::new(prepare));
        let own = axes.into_iter().fold(own, |own, (axis, values)| own.axis(axis, values));
        targets.into_iter().fold(own, OwnBenchmark::target)
    }
}

fn case_failure(name: &str, why: String, cure: &str) -> Failure {
    Failure::Failed(Reason::new(format!("benchmark {name}"), why, cure))
}

fn not_set_up(name: &str, error: Box<dyn Error>) -> Failure {
    match error.downcast::<Failure>() {
        Ok(failure) => *failure,
        Err(error) => case_failure(
            name,
            format!("its setup failed: {error}"),
            "fix the setup, or the values of its axes",
        ),
    }
}

/// A case of a closure, after set-up and verification.
struct ClosureCase<S, F> {
    name: &'static str,
    state: S,
    operation: Arc<F>,
    figures: Arc<Figures<S>>,
}

impl<S, R, F: Fn(&mut S) -> R> Prepared for ClosureCase<S, F> {
    fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        let began = Instant::now();
        for _ in 0..iters {
            black_box((self.operation)(black_box(&mut self.state)));
        }
        Ok(began.elapsed().as_nanos() as f64)
    }

    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure> {
        let mut fields = Fields::new().with("operation", self.name).with("provider", "native");
        fields.set("time_ms", time_ns / 1e6);
        for (name, figure) in self.figures.iter() {
            let field = Field::find(name).ok_or_else(|| {
                case_failure(
                    self.name,
                    format!("unknown metric `{name}`"),
                    "use a metric of docs/glossary.md, such as throughput_gb_s",
                )
            })?;
            let value = figure(&self.state, time_ns / 1e9);
            if !value.is_finite() {
                return Err(case_failure(
                    self.name,
                    format!("the value of {name} is {value}"),
                    "fix the closure that computes this value",
                ));
            }
            fields.set(field.name, value);
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures a benchmark that adds up `n` numbers and verifies the sum to be `expected`.
    fn measure_sum(n: &str, figure: (&'static str, f64), expected: u64) -> Result<Fields, Failure> {
        let benchmark = CustomBenchmark::new("sum", "for a test")
            .set_up(|case| Ok((0..case.get::<u64>("n")?).collect::<Vec<u64>>()))
            .figure(figure.0, move |_, seconds| figure.1 / seconds)
            .measure(
                |numbers| numbers.iter().sum::<u64>(),
                move |_, sum| {
                    if sum == expected { Ok(()) } else { Err(format!("the sum is {sum}")) }
                },
            );
        let mut prepared = benchmark.prepare_case(&Params::new().with("n", n))?;
        assert!(prepared.sample(10)? > 0.0);
        prepared.fields(2e9)
    }

    #[test]
    fn a_closure_is_verified_timed_and_has_its_figures() {
        let fields = measure_sum("10", ("gflops", 4.0), 45).unwrap();
        assert_eq!((fields.number("time_ms"), fields.number("gflops")), (Some(2000.0), Some(2.0)));
    }

    #[test]
    fn each_mistake_is_a_failure_with_its_cure() {
        for (n, figure, expected, told) in [
            ("10", ("gflops", 1.0), 46, "the sum is 45"),
            ("ten", ("gflops", 1.0), 45, "its setup failed: `ten` is not a value of `n`"),
            ("10", ("gflops", f64::NAN), 45, "gflops is NaN"),
            ("10", ("speediness", 1.0), 45, "unknown metric `speediness`"),
        ] {
            let Err(Failure::Failed(reason)) = measure_sum(n, figure, expected) else {
                panic!("{told}")
            };
            assert!(reason.why.contains(told) && !reason.cure.is_empty(), "{reason}");
        }
        let skipped = Failure::Skipped(Reason::new("GPU", "there is none", "add one"));
        assert_eq!(not_set_up("sum", Box::new(skipped.clone())), skipped);
    }
}
