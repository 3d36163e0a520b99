//! `rocblas-bench`: for each call, a line of column names and a line of values, in GFLOP/s and
//! microseconds.

use rsb_model::{BenchmarkType, DeviceType};

use super::Importer;
use super::blas::{self, Tool};

const TOOL: Tool =
    Tool { gflops: "rocblas-gflops", bandwidth: "rocblas-gb/s", gigabyte: 1.0, measured: &[] };

pub(super) const IMPORTER: Importer = Importer {
    name: "rocblas-bench",
    benchmark_type: BenchmarkType::GpuPerformance,
    device_type: Some(DeviceType::Gpu),
    is_document: |_| false,
    keys: &[],
    marks: &["rocblas-gflops"],
    read: |input, sink| {
        blas::read(TOOL, input.text, sink);
        Ok(())
    },
};

#[cfg(test)]
mod tests {
    use rsb_model::Outcome;

    use crate::import::Format;
    use crate::import::mutations::{read, sample};

    #[test]
    fn shapes_rates_and_times_are_told_apart() {
        let run = read(Format::RocblasBench, sample(Format::RocblasBench)).unwrap();
        let [gemm, axpy] = &run.benchmarks[..] else { panic!("{run:?}") };
        let id = "gpu_performance/rocblas-bench/transA=N,transB=T,M=1000,N=1000,K=1000,alpha=1,lda=1000,beta=0,ldb=1000,ldc=1000";
        assert_eq!(gemm.benchmark_id.as_str(), id);
        let fields = gemm.fields().unwrap();
        assert_eq!(
            (fields.number("gflops"), fields.number("time_us")),
            (Some(20_000.0), Some(100.0))
        );
        assert_eq!((fields.number("m"), fields.text("transpose")), (Some(1000.0), Some("nt")));
        let fields = axpy.fields().unwrap();
        assert_eq!(
            (fields.number("bandwidth_gb_s"), fields.number("time_us")),
            (Some(12.0), Some(1.0))
        );
        assert_eq!((fields.number("n"), fields.number("m")), (Some(1000.0), None));
    }

    #[test]
    fn complex_numbers_are_one_value() {
        let text = "transA,transB,M,N,K,alpha,lda,beta,ldb,ldc,rocblas-Gflops,us,\n\
                    N,N,1000,1000,1000,(1,0),1000,(0,-2.5),1000,1000, 80000, 100,\n";
        let run = read(Format::RocblasBench, text).unwrap();
        let [gemm] = &run.benchmarks[..] else { panic!("{run:?}") };
        let id = gemm.benchmark_id.as_str();
        assert!(id.contains(",alpha=(1,0),lda=1000,beta=(0,-2.5),ldb=1000,"), "{id}");
        assert_eq!(gemm.fields().unwrap().number("gflops"), Some(80_000.0));
    }

    #[test]
    fn a_row_shorter_than_its_names_counts_only_where_its_figures_agree() {
        let names =
            "transA,transB,M,N,K,alpha,lda,beta,ldb,ldc,ldd,batch_count,rocblas-Gflops,us\n";
        for (row, outcome) in [
            ("N,T,1000,1000,1000,1,1000,0,1000,1000, 20000, 100", Outcome::Measured),
            ("N,T,1000,1000,1000,1,1000,0,1000,1000,1000,1, 20000, 100", Outcome::Measured),
            ("N,T,1000,1000,1000,1,1000,0,1000,1000,1000,1, 20000, 10", Outcome::Failed),
            ("N,T,1000,1000,1000,1,1000,0,1000,1000,1000,1, 20000", Outcome::Failed),
            ("N,T,1000,1000,1000,1,1000,0,1000,1000,1000,1, nan, 100", Outcome::Failed),
            ("N,T,1000,1000,1000,1,1000,0,1000,1000,1000,1, 20000, -100", Outcome::Failed),
            ("N,T,1000,1000,1000,1,1000,0,1000,1000,1000,1, 20000, 100, 7", Outcome::Failed),
            ("N,T,1000", Outcome::Failed),
            ("", Outcome::Failed),
        ] {
            let run = read(Format::RocblasBench, &format!("{names}{row}")).unwrap();
            assert_eq!((run.benchmarks.len(), run.benchmarks[0].outcome), (1, outcome), "{row}");
        }
    }
}
