//! `hipblaslt-bench`: like rocblas-bench, with the number of the solution before each line of
//! column names.
//!
//! The values that it prints as GB/s are GiB/s: `testing_matmul.hpp` divides the bytes by 1024³,
//! and `argument_model.hpp` prints the result.

use rsb_model::{BenchmarkType, DeviceType};

use super::Importer;
use super::blas::{self, Tool};

const TOOL: Tool = Tool {
    gflops: "hipblaslt-gflops",
    bandwidth: "hipblaslt-gb/s",
    gigabyte: 1.073_741_824,
    measured: &[
        // Columns of HIPBLASLT_BENCH_EFF.
        "total_gran",
        "tiles_per_cu",
        "num_cu's",
        "tile_0_granularity",
        "tile_1_granularity",
        "cu_gran",
        "wave_gran",
        "mem_read_bytes",
        "mem_write_bytes",
        "efficiency",
        // Columns of the mode that measures until the time is steady.
        "batch",
        "samples",
        "hot_iters",
        "min_us",
        "cv",
        "status",
        // Columns for solutions from the file in HIPBLASLT_TUNING_FILE.
        "solution_index",
        "soulution_index",
        "kernel_name",
        "solution_name",
        "gcnarchname",
        "cus",
    ],
};

pub(super) const IMPORTER: Importer = Importer {
    name: "hipblaslt-bench",
    benchmark_type: BenchmarkType::GpuPerformance,
    device_type: Some(DeviceType::Gpu),
    is_document: |_| false,
    keys: &[],
    marks: &["hipblaslt-gflops"],
    read: |input, sink| {
        blas::read(TOOL, input.text, sink);
        Ok(())
    },
};

#[cfg(test)]
mod tests {
    use crate::import::Format;
    use crate::import::mutations::{read, sample};

    const HEAD: &str = "transA,transB,grouped_gemm,batch_count,m,n,k,alpha,a_type,b_type,c_type,d_type,compute_type";

    /// Returns a table with one matrix product of size 1000 in each dimension. `names` are the
    /// columns after the types.
    fn table(types: &str, names: &str, values: &str) -> String {
        format!(
            "[0]:{HEAD},{names}\n    N,T,0,1,1000,1000,1000,1,{types},{values}\n    --Solution \
             index: 7\n"
        )
    }

    #[test]
    fn the_number_before_the_names_is_the_solution() {
        for colon in ["", ":"] {
            let text =
                sample(Format::HipblasltBench).replace("]:transA", &format!("]{colon}transA"));
            let run = read(Format::HipblasltBench, &text).unwrap();
            let [first, second] = &run.benchmarks[..] else { panic!("{run:?}") };
            let head = "gpu_performance/hipblaslt-bench/solution=0,transA=N,transB=N,";
            assert!(first.benchmark_id.as_str().starts_with(head), "{}", first.benchmark_id);
            assert!(second.benchmark_id.as_str().contains("/solution=1,"));
            let fields = first.fields().unwrap();
            assert_eq!(
                (fields.number("gflops"), fields.number("time_us")),
                (Some(20_000.0), Some(100.0))
            );
            assert_eq!((fields.text("dtype"), fields.number("k")), (Some("f16"), Some(1000.0)));
            assert_eq!(second.fields().unwrap().number("time_us"), Some(50.0));
        }
    }

    #[test]
    fn gigabytes_are_counted_in_powers_of_ten() {
        // 8 MB of f64 in each matrix, in 100 us: 24 MB are 240 GB/s, which the tool prints in
        // GiB/s.
        let text = table(
            "f64_r,f64_r,f64_r,f64_r,f64_r",
            "hipblaslt-Gflops,hipblaslt-GB/s,us",
            "20000,223.517,100",
        );
        let run = read(Format::HipblasltBench, &text).unwrap();
        let bandwidth = run.benchmarks[0].fields().unwrap().number("bandwidth_gb_s").unwrap();
        assert!((bandwidth - 240.0).abs() < 0.001, "{bandwidth}");
    }

    #[test]
    fn the_type_is_that_of_the_factors() {
        for (types, dtype) in [
            ("bf16_r,bf16_r,f32_r,f32_r,f32_r", Some("bf16")),
            ("f8_r,bf8_r,f16_r,f16_r,f32_r", Some("fp8")),
            ("f8_fnuz_r,f8_fnuz_r,bf16_r,bf16_r,f32_r", Some("fp8")),
            ("i8_r,i8_r,i32_r,i32_r,i32_r", Some("i8")),
            ("f32_r,f32_r,f32_r,f32_r,f32_r", Some("f32")),
            ("f32_r,f32_r,f32_r,f32_r,xf32_r", Some("tf32")),
            ("f32_r,f32_r,f32_r,f32_r,f32_bf16_r", Some("bf16")),
            ("f8_r,f16_r,f16_r,f16_r,f32_r", None),
            ("f4_r,f4_r,f16_r,f16_r,f32_r", None),
            ("f32_c,f32_c,f32_c,f32_c,f32_c", None),
        ] {
            let run =
                read(Format::HipblasltBench, &table(types, "hipblaslt-Gflops,us", "20000,100"))
                    .unwrap();
            assert_eq!(
                run.benchmarks[0].fields().unwrap().text("dtype"),
                dtype,
                "{types}: {run:?}"
            );
        }
        // An old version printed only the type of the result, which does not determine the types of
        // the inputs.
        let text = "[0]transA,transB,m,n,k,d_type,compute_type,hipblaslt-Gflops,us\nN,N,1000,1000,1000,f16_r,f32_r,20000,100\n";
        let run = read(Format::HipblasltBench, text).unwrap();
        assert_eq!(run.benchmarks[0].fields().unwrap().text("dtype"), None);
    }

    #[test]
    fn what_was_measured_is_no_part_of_an_id() {
        let types = "f16_r,f16_r,f16_r,f16_r,f32_r";
        let plain =
            read(Format::HipblasltBench, &table(types, "flush,hipblaslt-Gflops,us", "1,20000,100"))
                .unwrap();
        for (names, values) in [
            (
                "flush,lowest_avg_freq,avg_MCLK,hipblaslt-Gflops,efficiency,us",
                "1,1096,900,20000,81.3,100",
            ),
            (
                "flush,avg-freq_0,median-freq_0,median-MCLK,hipblaslt-Gflops,us",
                "1,143,141,900,20000,100",
            ),
            (
                "flush,hipblaslt-Gflops,us,CPU-Gflops,CPU-us,norm_error,atol,rtol",
                "1,20000,100,4,1025,2e-7,failed,1e-5",
            ),
            (
                "flush,hipblaslt-Gflops,us,batch,samples,hot_iters,median_us,min_us,cv,status",
                "1,20000,100,8,9,72,99,98,0.1,noisy",
            ),
            (
                "flush,hipblaslt-Gflops,us,solution_index,kernel_name,solution_name",
                "1,20000,100,56537,Cijk_Ailk_Bljk,Cijk_Ailk_Bljk_MT16x16x32",
            ),
            (
                "flush,hipblaslt-Gflops,us,solution_index,gcnArchName,CUs",
                "1,20000,100,56537,gfx942,304",
            ),
        ] {
            let run = read(Format::HipblasltBench, &table(types, names, values)).unwrap();
            assert_eq!(run.benchmarks[0].benchmark_id, plain.benchmarks[0].benchmark_id, "{names}");
            assert_eq!(run.counts().measured, 1, "{run:?}");
        }
    }

    #[test]
    fn solutions_may_share_one_line_of_column_names() {
        let row = "N,N,1000,1000,1000,f16_r,f16_r,f32_r,20000,100\n    --Solution index: 7\n";
        let names = "transA,transB,m,n,k,a_type,b_type,compute_type,hipblaslt-Gflops,us\n";
        let text = format!("{names}[0]:\n{row}[1]:\n    {row}note: a,b,c\n");
        let run = read(Format::HipblasltBench, &text).unwrap();
        let ids: Vec<&str> = run.benchmarks.iter().map(|case| case.benchmark_id.as_str()).collect();
        assert_eq!((run.counts().measured, run.counts().failed), (2, 0), "{ids:?}");
        assert!(ids[0].contains("/solution=0,transA=N") && ids[1].contains("/solution=1,"));
    }

    #[test]
    fn the_best_solution_has_an_id_that_does_not_say_which_it_is() {
        let plain = table("f16_r,f16_r,f16_r,f16_r,f32_r", "hipblaslt-Gflops,us", "20000,100");
        let other = plain.replace("[0]", "[1]");
        for best in [&plain, &other] {
            let text = format!("{plain}{other}Winner: \n{best}");
            let run = read(Format::HipblasltBench, &text).unwrap();
            let solutions: Vec<&str> = run
                .benchmarks
                .iter()
                .map(|case| case.benchmark_id.as_str().split([',', '/']).nth(2).unwrap())
                .collect();
            assert_eq!(solutions, ["solution=0", "solution=1", "solution=best"]);
        }
    }
}
