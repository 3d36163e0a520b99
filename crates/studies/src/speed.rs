//! `cargo xtask speed`: prints a Markdown table of our rates and times next to those of a peer from
//! the same run, with their ratios.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

use crate::workspace::{release_program, root};

/// Number of interleaved measurements of each side.
const ROUNDS: usize = 5;

/// Measures and prints every row; with `only`, the rows whose first column contains these words.
pub(crate) fn run(only: &[String]) -> Result<()> {
    let program = Program::build(only.join(" "))?;
    println!("| what | ours | peer | ratio or limit |\n|---|---|---|---|");
    copy_against_c(&program)?;
    gemm_against_providers(&program)?;
    rates(&program)?;
    harness_cost(&program)?;
    start_up(&program)?;
    if program.wanted.get() == 0 {
        bail!("no row contains {:?}; docs/speed.md lists the rows", program.only);
    }
    Ok(())
}

struct Program {
    path: PathBuf,
    scratch: PathBuf,
    /// Text that the first column of a row to measure contains.
    only: String,
    /// Number of rows that contain it.
    wanted: Cell<usize>,
}

impl Program {
    fn build(only: String) -> Result<Self> {
        let path = release_program()?;
        let scratch =
            std::env::temp_dir().join(format!("rusty-stack-bench-speed-{}", std::process::id()));
        std::fs::create_dir_all(&scratch)?;
        Ok(Self { path, scratch, only, wanted: Cell::new(0) })
    }

    fn wants(&self, what: &str) -> bool {
        let is_wanted = what.contains(&self.only);
        self.wanted.set(self.wanted.get() + usize::from(is_wanted));
        is_wanted
    }

    /// Measures with these arguments and returns the results.
    fn measure(&self, arguments: &[&str]) -> Result<Vec<Value>> {
        self.measure_beside(&[], arguments)
    }

    /// Measures with these environment variables and arguments and returns the results.
    fn measure_beside(
        &self,
        environment: &[(&str, &str)],
        arguments: &[&str],
    ) -> Result<Vec<Value>> {
        let mut command = Command::new(&self.path);
        command
            .args(arguments)
            .envs(environment.iter().copied())
            .arg("--json")
            .arg("--results-dir")
            .arg(self.scratch.join("results"))
            .current_dir(&self.scratch);
        let output =
            command.output().with_context(|| format!("cannot start {}", self.path.display()))?;
        let document: Value = serde_json::from_slice(&output.stdout).with_context(|| {
            format!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr))
        })?;
        Ok(document["benchmarks"].as_array().cloned().unwrap_or_default())
    }

    /// Returns the rate of a product on `threads` threads; `None` if it was skipped.
    fn gemm(
        &self,
        shape: &Shape,
        threads: &str,
        provider: &str,
        environment: &[(&str, &str)],
    ) -> Result<Option<f64>> {
        let more = [
            format!("dtype={}", shape.dtype),
            format!("threads={threads}"),
            format!("provider={provider}"),
        ];
        let axes = shape
            .axes
            .iter()
            .copied()
            .chain(more.iter().map(String::as_str))
            .flat_map(|axis| ["--axis", axis]);
        let arguments: Vec<&str> = ["gemm", "--replicates", "1"].into_iter().chain(axes).collect();
        self.figure_beside(environment, &arguments, "gflops")
    }

    /// Returns a metric of the only case that `arguments` select; `None` if it was skipped.
    fn figure(&self, arguments: &[&str], metric: &str) -> Result<Option<f64>> {
        self.figure_beside(&[], arguments, metric)
    }

    fn figure_beside(
        &self,
        environment: &[(&str, &str)],
        arguments: &[&str],
        metric: &str,
    ) -> Result<Option<f64>> {
        let results = self.measure_beside(environment, arguments)?;
        let case = results.first().ok_or_else(|| anyhow!("{arguments:?} selects no case"))?;
        Ok(case["results"][0][metric].as_f64())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // If the directory cannot be removed, the system cleans up its temporary files.
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Measures both sides alternately and returns their medians.
fn measure_interleaved(
    mut ours: impl FnMut() -> Result<Option<f64>>,
    mut peer: impl FnMut() -> Result<Option<f64>>,
) -> Result<(Option<f64>, Option<f64>)> {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        left.extend(ours()?);
        right.extend(peer()?);
    }
    Ok((median(left), median(right)))
}

fn row(what: &str, unit: &str, ours: Option<f64>, peer: Option<f64>) {
    let ratio =
        ours.zip(peer).map_or_else(|| "-".to_owned(), |(ours, peer)| format!("{:.3}", ours / peer));
    let (ours, peer) = (format_figure(ours, unit), format_figure(peer, unit));
    println!("| {what} | {ours} | {peer} | {ratio} |");
}

fn format_figure(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "not available".to_owned(), |value| format!("{value:.1} {unit}"))
}

fn copy_against_c(program: &Program) -> Result<()> {
    let binary = program.scratch.join("stream_copy");
    let source = root().join("scripts/stream_copy.c");
    let compiled = Command::new("cc")
        .args(["-O3", "-march=native", "-fno-tree-loop-distribute-patterns", "-o"])
        .arg(&binary)
        .arg(source)
        .status();
    if !compiled.is_ok_and(|status| status.success()) {
        bail!("cc cannot compile scripts/stream_copy.c; install a C compiler");
    }
    let bytes = beyond_caches();
    let (size, shown) = (format!("size={bytes}B"), format!("{} MiB", bytes >> 20));
    for (stores, peer) in
        [("non-temporal", "non-temporal"), ("non-temporal", "plain"), ("temporal", "plain")]
    {
        let what = format!("copy, {shown}, {stores} stores, against C STREAM, {peer} stores");
        if !program.wants(&what) {
            continue;
        }
        let stores_axis = format!("stores={stores}");
        let arguments = [
            "memory-bandwidth",
            "--replicates",
            "1",
            "--axis",
            "operation=copy",
            "--axis",
            "dtype=f32",
            "--axis",
            &size,
            "--axis",
            "threads=1",
            "--axis",
            "cache=hot",
            "--axis",
            &stores_axis,
        ];
        let (our_rate, peer_rate) = measure_interleaved(
            || program.figure(&arguments, "bandwidth_gb_s"),
            || stream_copy(&binary, bytes, peer),
        )?;
        row(&what, "GB/s", our_rate, peer_rate);
    }
    Ok(())
}

/// Returns the array size in bytes: at least four times the largest cache of the first CPU, as
/// STREAM requires, rounded up to 64 MiB. 128 MiB if the cache sizes are unknown.
fn beyond_caches() -> u64 {
    let largest = (0..8).filter_map(cache_kibibytes).max().unwrap_or(32 << 10);
    (4 * 1024 * largest).next_multiple_of(64 << 20)
}

fn cache_kibibytes(index: u32) -> Option<u64> {
    let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
    std::fs::read_to_string(path).ok()?.trim().strip_suffix('K')?.parse().ok()
}

/// Returns the rate of the C program; `None` if it does not support these stores on this CPU.
fn stream_copy(binary: &Path, bytes: u64, stores: &str) -> Result<Option<f64>> {
    let around = (stores == "non-temporal").then_some("around");
    let output =
        Command::new(binary).args([bytes.to_string(), "40".to_owned()]).args(around).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().ok())
}

/// An instruction set to which both sides are limited.
struct Cap {
    name: &'static str,
    /// Our provider limited to this instruction set.
    ours: &'static str,
    /// Environment variables that limit the peers to it.
    peers: [(&'static str, &'static str); 3],
}

/// AVX2, with VNNI if the CPU supports it.
const AVX2: Cap = Cap {
    name: "AVX2",
    ours: "native-avx2",
    peers: [
        ("ONEDNN_MAX_CPU_ISA", "AVX2_VNNI"),
        ("OPENBLAS_CORETYPE", "Haswell"),
        ("MKL_ENABLE_INSTRUCTIONS", "AVX2"),
    ],
};

/// AVX-512, for CPUs that also have AMX.
const AVX512: Cap = Cap {
    name: "AVX-512",
    ours: "native-avx512",
    peers: [
        ("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16"),
        ("OPENBLAS_CORETYPE", "SkylakeX"),
        ("MKL_ENABLE_INSTRUCTIONS", "AVX512"),
    ],
};

/// A product, and its description in a table.
struct Shape {
    dtype: &'static str,
    axes: &'static [&'static str],
    shown: &'static str,
}

impl Shape {
    const fn square_1024(dtype: &'static str) -> Self {
        Self { dtype, axes: &["shape=1024x1024x1024"], shown: "1024³" }
    }

    const fn square_2048(dtype: &'static str) -> Self {
        Self { dtype, axes: &["shape=2048x2048x2048"], shown: "2048³" }
    }

    /// Returns a row times the transposed weights of a layer, as for a single token.
    const fn token(dtype: &'static str) -> Self {
        Self {
            dtype,
            axes: &["shape=1x4096x4096", "transpose=nt"],
            shown: "1×4096×4096, B transposed",
        }
    }
}

/// Compares the default provider with each peer, on one thread and on all; then our kernels with
/// the peers, all limited to the same instruction set.
fn gemm_against_providers(program: &Program) -> Result<()> {
    let all = std::thread::available_parallelism()?.to_string();
    let threads = if all == "1" { vec!["1"] } else { vec!["1", all.as_str()] };
    let squares = [Shape::square_2048("f32"), Shape::square_2048("bf16"), Shape::square_2048("i8")];
    let shapes = [
        Shape::square_2048("f16"),
        Shape::square_1024("f32"),
        Shape::square_1024("f64"),
        Shape::token("bf16"),
        Shape::token("i8"),
    ];
    for shape in squares.iter().chain(&shapes) {
        for threads in &threads {
            for peer in ["gemm", "openblas", "mkl", "onednn"] {
                gemm_against(program, shape, threads, peer, None)?;
            }
        }
    }
    let has_tiles = program.gemm(&Shape::square_1024("bf16"), "1", "native-amx", &[])?.is_some();
    for cap in has_tiles.then_some(&AVX512).into_iter().chain([&AVX2]) {
        for shape in &squares {
            for threads in &threads {
                for peer in ["openblas", "mkl", "onednn"] {
                    gemm_against(program, shape, threads, peer, Some(cap))?;
                }
            }
        }
    }
    Ok(())
}

/// Prints a row that compares a product on `threads` threads with a peer; none if the peer does not
/// support it.
fn gemm_against(
    program: &Program,
    shape: &Shape,
    threads: &str,
    peer: &str,
    cap: Option<&Cap>,
) -> Result<()> {
    let ours = cap.map_or("auto", |cap| cap.ours);
    if cap.is_some() && (peer, shape.dtype) == ("mkl", "bf16") {
        // If limited to AVX-512, MKL ignores the number of threads for bf16 and uses every CPU.
        return Ok(());
    }
    let capped = cap.map_or_else(String::new, |cap| format!(", both capped to {}", cap.name));
    let what =
        format!("gemm {} {}, threads: {threads}, against {peer}{capped}", shape.dtype, shape.shown);
    if !program.wants(&what) {
        return Ok(());
    }
    let environment: &[(&str, &str)] = cap.map_or(&[], |cap| &cap.peers);
    let gemm = |provider: &str| program.gemm(shape, threads, provider, environment);
    if gemm(peer)?.is_none() {
        return Ok(());
    }
    let (our_rate, peer_rate) = measure_interleaved(|| gemm(ours), || gemm(peer))?;
    row(&what, "GFLOP/s", our_rate, peer_rate);
    Ok(())
}

fn rates(program: &Program) -> Result<()> {
    for operation in ["add", "multiply", "relu", "gelu", "sigmoid", "sum", "max", "mean", "argmax"]
    {
        let what = format!("{operation} f32, one thread");
        if !program.wants(&what) {
            continue;
        }
        let operation_axis = format!("operation={operation}");
        let arguments =
            ["tensor-ops", "--axis", &operation_axis, "--axis", "dtype=f32", "--axis", "threads=1"];
        let rates = program
            .measure(&arguments)?
            .iter()
            .filter_map(|case| case["results"][0]["throughput_gb_s"].as_f64())
            .collect();
        let limit = if matches!(operation, "sum" | "max" | "mean" | "argmax") { 5.0 } else { 10.0 };
        let shown = median(rates)
            .map_or_else(|| "not available".to_owned(), |rate| format!("{rate:.1} GB/s"));
        println!("| {what} | {shown} | - | above {limit} GB/s |");
    }
    Ok(())
}

fn harness_cost(program: &Program) -> Result<()> {
    if !program.wants("harness, preparing and verifying") {
        return Ok(());
    }
    let results = program.measure(&["run", "--suite", "quick"])?;
    let replicates = total(&results, "replicates");
    let harness = total(&results, "harness_ms") / replicates;
    println!(
        "| harness beyond preparing and measuring, per replicate of a case | {harness:.1} ms | - | \
         at most 40 ms |"
    );
    let each = results
        .iter()
        .filter_map(|case| {
            Some(metadata_number(case, "prepare_ms")? / metadata_number(case, "replicates")?)
        })
        .collect();
    if let Some(median) = median(each) {
        println!(
            "| preparing and verifying, per replicate of the median case | {median:.1} ms | - | at \
             most 20 ms |"
        );
    }
    let mean = total(&results, "prepare_ms") / replicates;
    println!(
        "| the same on average, including arrays larger than the caches | {mean:.1} ms | - | - |"
    );
    Ok(())
}

fn total(results: &[Value], name: &str) -> f64 {
    results.iter().filter_map(|case| metadata_number(case, name)).sum()
}

fn metadata_number(case: &Value, name: &str) -> Option<f64> {
    case["metadata"][name].as_f64()
}

fn start_up(program: &Program) -> Result<()> {
    for (arguments, limit) in [(["--help"].as_slice(), 20), (&["probe", "--json"], 150)] {
        let what = format!("`{}`", arguments.join(" "));
        if !program.wants(&what) {
            continue;
        }
        let mut times = Vec::new();
        for _ in 0..21 {
            let began = Instant::now();
            let output =
                Command::new(&program.path).args(arguments).current_dir(root()).output()?;
            times.push(began.elapsed().as_secs_f64() * 1e3);
            if !output.status.success() {
                bail!("{arguments:?} failed");
            }
        }
        let shown = median(times).unwrap_or_default();
        println!("| {what} | {shown:.1} ms | - | at most {limit} ms |");
    }
    Ok(())
}
