//! `hipblaslt-bench`: as rocblas-bench, each line of names with the number of its solution before it.

use super::Input;
use super::blas::{self, Tool};
use super::sink::Sink;

const TOOL: Tool = Tool { gflops: "hipblaslt-gflops", bandwidth: "hipblaslt-gb/s" };

/// Adds each solution.
pub(super) fn read(input: &Input<'_>, sink: &mut Sink) {
    blas::read(TOOL, input.text, sink);
}

#[cfg(test)]
mod tests {
    use crate::import::Format;
    use crate::import::mutations::{read, sample};

    #[test]
    fn the_number_before_the_names_is_the_solution() {
        let run = read(Format::HipblasltBench, sample(Format::HipblasltBench)).unwrap();
        let [first, second] = &run.benchmarks[..] else { panic!("{run:?}") };
        assert!(
            first.benchmark_id.as_str().starts_with("gpu_performance/hipblaslt-bench/solution=0,transA=N,transB=N,")
        );
        assert!(second.benchmark_id.as_str().contains("/solution=1,"));
        let fields = first.fields().unwrap();
        assert_eq!((fields.number("gflops"), fields.number("time_us")), (Some(20_000.0), Some(100.0)));
        assert_eq!((fields.text("dtype"), fields.number("k")), (Some("f16"), Some(1000.0)));
        assert_eq!(second.fields().unwrap().number("time_us"), Some(50.0));
    }
}
