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
    use rsb_model::{Outcome, Run};

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
    fn columns_of_old_versions_and_of_clocks_are_no_part_of_an_id() {
        let id = |run: &Run| run.benchmarks[0].benchmark_id.as_str().to_owned();
        let gemm = "transA,transB,M,N,K";
        let plain = format!("{gemm},rocblas-Gflops,us\nN,N,1000,1000,1000,20000,100\n");
        let plain = read(Format::RocblasBench, &plain).unwrap();
        for (names, values) in [
            ("rocblas-Gflops,us,CPU-Gflops,us,norm-error", "20000,100,50,40000,1e-7"),
            ("rocblas-Gflops, (us) ,CPU-Gflops,(us),norm_error_1", "20000, 100 ,50,40000,0"),
            ("lowest-avg-freq,avg-MCLK,rocblas-Gflops,us", "1100,900, 20000, 100"),
        ] {
            let text = format!("{gemm},{names}\nN,N,1000,1000,1000,{values}\n");
            let run = read(Format::RocblasBench, &text).unwrap();
            assert_eq!(id(&run), id(&plain), "{names}");
            assert_eq!(run.benchmarks[0].fields(), plain.benchmarks[0].fields(), "{names}");
        }
        for (text, time, bandwidth) in [
            (
                "N,incx,rocblas-Gflops,rocblas-GB/s,rocblas-us,CPU-Gflops\n9,1,2,12,1.5,3\n",
                Some(1.5),
                Some(12.0),
            ),
            ("N,incx,rocblas-Gflops,rocblas-GB/s,\n9,1,2,12,\n", None, Some(12.0)),
            ("N,incx,rocblas-Gflops,rocblas-GB/s,CPU-Gflops,us\n9,1,2,12,3,4\n", None, Some(12.0)),
            ("N,incx,rocblas-us,CPU-us\n9,1,1.5,9\n", Some(1.5), None),
        ] {
            let run = read(Format::RocblasBench, text).unwrap();
            let fields = run.benchmarks[0].fields().unwrap();
            assert!(id(&run).ends_with("/N=9,incx=1"), "{text}");
            assert_eq!(
                (fields.number("time_us"), fields.number("bandwidth_gb_s")),
                (time, bandwidth),
                "{text}"
            );
        }
    }

    #[test]
    fn log_lines_with_commas_are_no_rows() {
        let log = "with 64 GB memory, max. SCLK 1700 MHz, compute capability 9.0\n";
        let text = sample(Format::RocblasBench).replace('\n', &format!("\n{log}"));
        let run = read(Format::RocblasBench, &text).unwrap();
        assert_eq!((run.counts().measured, run.counts().failed), (2, 0), "{run:?}");
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
