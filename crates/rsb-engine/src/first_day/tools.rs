//! Other programs that measure or list the same things: finding them, running them, and parsing
//! their output.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rsb_model::{BackendId, DeviceRef, Reason, Unit};
use rsb_store::import::{self, Format};
use timed_child::Stderr;

use super::evidence::{ListedGpu, LoadPath, OwnCase, VendorToolResult};

/// Time limit of one of these programs.
const LIMIT: Duration = Duration::from_mins(2);

/// Finds a program on PATH, then in the directories of a ROCm installation.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(rocm_dirs(&["bin"]));
    dirs.map(|dir| dir.join(name)).find(|program| program.is_file())
}

/// Returns directories below that of ROCm, which is `ROCM_PATH` or `/opt/rocm`.
fn rocm_dirs(below: &[&str]) -> Vec<PathBuf> {
    let root =
        std::env::var_os("ROCM_PATH").map_or_else(|| PathBuf::from("/opt/rocm"), PathBuf::from);
    below.iter().map(|dir| root.join(dir)).collect()
}

/// Runs `program` to its end and returns its standard output.
///
/// # Errors
/// If it cannot be started, fails, or takes longer than the limit.
pub(super) fn output(program: &Path, arguments: &[String]) -> Result<String, Reason> {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let answer = timed_child::run(Command::new(program).args(arguments), Stderr::Keep, LIMIT)
        .map_err(|error| failure_of(&name, format!("cannot start it: {error}")))?;
    match answer.status {
        Some(status) if status.success() => Ok(answer.stdout),
        Some(status) => {
            let last = answer
                .stderr
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .unwrap_or_default()
                .to_owned();
            Err(failure_of(&name, format!("{status} {last}").trim_end().to_owned()))
        }
        None => Err(failure_of(&name, format!("it did not end within {} s", LIMIT.as_secs()))),
    }
}

fn failure_of(tool: &str, why: String) -> Reason {
    Reason::new(tool, why, "run it by hand to see its output")
}

fn not_installed(name: &str) -> Reason {
    Reason::new(
        name,
        "it is not installed",
        format!("install it and put {name} on PATH to compare with it"),
    )
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

// Inventory.

/// A tool that lists the GPUs of `backend`, its arguments, and the parser of its output.
pub(super) struct ListTool {
    pub(super) backend: BackendId,
    pub(super) name: &'static str,
    arguments: &'static str,
    read: fn(&str) -> Vec<ListedGpu>,
    /// Variables that hide GPUs from other programs but not from this tool.
    pub(super) hiding: &'static [&'static str],
}

/// Every tool that lists GPUs.
pub(super) const LIST_TOOLS: [ListTool; 2] = [
    ListTool {
        backend: BackendId::Rocm,
        name: "rocminfo",
        arguments: "",
        read: rocminfo,
        hiding: &["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"],
    },
    ListTool {
        backend: BackendId::Cuda,
        name: "nvidia-smi",
        arguments: "--query-gpu=name,pci.bus_id,compute_cap,clocks.max.sm \
                    --format=csv,noheader,nounits",
        read: nvidia_smi,
        hiding: &["CUDA_VISIBLE_DEVICES"],
    },
];

impl ListTool {
    /// Runs the tool and returns the GPUs; `None` if it is not installed.
    pub(super) fn ask(&self) -> Option<Result<Vec<ListedGpu>, Reason>> {
        let program = find(self.name)?;
        Some(output(&program, &words(self.arguments)).map(|text| (self.read)(&text)))
    }
}

/// Parses the output of rocminfo: a block of `name: value` lines per agent, of which only GPUs are
/// returned.
pub(super) fn rocminfo(text: &str) -> Vec<ListedGpu> {
    let mut gpus = Vec::new();
    for agent in text.split("\nAgent ").skip(1) {
        if agent_value(agent, "Device Type") != Some("GPU") {
            continue;
        }
        let domain = agent_number(agent, "Domain").unwrap_or(0);
        gpus.push(ListedGpu {
            name: agent_value(agent, "Marketing Name").unwrap_or_default().to_owned(),
            arch: agent_value(agent, "Name").map(str::to_owned),
            units: agent_number(agent, "Compute Unit").and_then(|units| u32::try_from(units).ok()),
            max_clock_mhz: agent_number(agent, "Max Clock Freq. (MHz)").map(|clock| clock as f64),
            pci_address: agent_number(agent, "BDFID").map(|bdf| pci_address(domain, bdf)),
        });
    }
    gpus
}

/// Returns the first value of `name` in the block of an agent.
fn agent_value<'a>(agent: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = agent.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(known, _)| known.trim() == name).map(|(_, value)| value.trim())
}

fn agent_number(agent: &str, name: &str) -> Option<u64> {
    agent_value(agent, name)?.split(['(', ' ']).next()?.parse().ok()
}

/// Formats a PCI address. HSA packs bus, device and function into one number.
fn pci_address(domain: u64, bdf: u64) -> String {
    format!("{domain:04x}:{:02x}:{:02x}.{}", (bdf >> 8) & 0xff, (bdf >> 3) & 0x1f, bdf & 7)
}

/// Parses the output of nvidia-smi: name, PCI address, compute capability, highest clock.
pub(super) fn nvidia_smi(text: &str) -> Vec<ListedGpu> {
    let mut gpus = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [name, address, capability, clock] = fields.as_slice() else { continue };
        // nvidia-smi writes domains with eight digits, sysfs with four.
        let address = address.to_lowercase();
        let address = address
            .strip_prefix("0000")
            .filter(|rest| rest.len() == 12)
            .map_or(address.clone(), str::to_owned);
        gpus.push(ListedGpu {
            name: (*name).to_owned(),
            arch: Some(format!("sm_{}", capability.replace('.', ""))),
            units: None,
            max_clock_mhz: clock.parse().ok(),
            pci_address: Some(address),
        });
    }
    gpus
}

// The pointer chase.

/// Kernel of `memory-latency` on ROCm and CUDA.
const CHASE: &str = "rsb_pointer_chase";

/// Determines how the pointer chase in the code object `code` reads memory, with ROCm's
/// disassembler.
pub(super) fn chase_loads(code: &Path) -> LoadPath {
    let dirs = rocm_dirs(&["llvm/bin", "lib/llvm/bin"]);
    let Some(program) =
        dirs.into_iter().map(|dir| dir.join("llvm-objdump")).find(|program| program.is_file())
    else {
        let why = "ROCm's llvm-objdump is not installed";
        return LoadPath::Unknown(Reason::new(
            "disassembly",
            why,
            "install rocm-llvm, or set ROCM_PATH",
        ));
    };
    let arguments =
        ["-d".to_owned(), format!("--disassemble-symbols={CHASE}"), code.display().to_string()];
    match output(&program, &arguments) {
        Ok(text) => loads_of(&text),
        Err(reason) => LoadPath::Unknown(reason),
    }
}

/// One instruction of a disassembly.
struct Instruction<'t> {
    mnemonic: &'t str,
    address: u64,
    /// Address of the branch target, for a branch.
    target: Option<u64>,
}

/// Parses a disassembly by llvm-objdump. Every kernel reads its arguments with scalar loads, so
/// only loops count: a chase through the vector caches has a vector load in each loop.
pub(super) fn loads_of(disassembly: &str) -> LoadPath {
    let heading = format!("<{CHASE}>:");
    let Some((before, body)) = disassembly.split_once(&heading) else {
        return unknown_loads("it contains no pointer chase");
    };
    let start = before
        .lines()
        .last()
        .and_then(|line| u64::from_str_radix(line.trim(), 16).ok())
        .unwrap_or(0);
    let body = body.split_once(">:").map_or(body, |(own, _)| own);
    let code: Vec<Instruction<'_>> =
        body.lines().filter_map(|line| instruction(line, start)).collect();
    let mut loops = 0;
    for branch in &code {
        let Some(target) = branch.target.filter(|target| *target <= branch.address) else {
            continue;
        };
        let mut inside = code.iter().filter(|one| (target..=branch.address).contains(&one.address));
        if !inside.any(is_vector_load) {
            return LoadPath::Scalar;
        }
        loops += 1;
    }
    if loops > 0 { LoadPath::Vector } else { unknown_loads("the pointer chase contains no loop") }
}

fn unknown_loads(why: &str) -> LoadPath {
    LoadPath::Unknown(Reason::new("disassembly", why, "report this with your ROCm version"))
}

fn is_vector_load(instruction: &Instruction<'_>) -> bool {
    ["global_load", "flat_load", "buffer_load"]
        .iter()
        .any(|load| instruction.mnemonic.starts_with(load))
}

/// Parses a line such as `s_cbranch_scc1 65520 // 000000001010: BF85FFF0 <rsb_pointer_chase+0x8>`.
fn instruction(line: &str, start: u64) -> Option<Instruction<'_>> {
    let (text, comment) = line.split_once("//")?;
    let (address, rest) = comment.trim().split_once(':')?;
    let offset =
        rest.split_once(&format!("<{CHASE}+0x")).and_then(|(_, offset)| offset.split_once('>'));
    Some(Instruction {
        mnemonic: text.split_whitespace().next()?,
        address: u64::from_str_radix(address, 16).ok()?,
        target: offset
            .and_then(|(offset, _)| u64::from_str_radix(offset, 16).ok())
            .map(|offset| start + offset),
    })
}

// The same work by other programs.

/// Number of f32 elements per array: 1 GiB, as in this program's cases.
const ELEMENTS: &str = "268435456";

/// Runs `BabelStream` on `device`, for comparison with the copy of `memory-bandwidth`.
pub(super) fn babelstream(device: DeviceRef) -> VendorToolResult {
    let names: &[&str] = match device.backend {
        BackendId::Rocm => &["hip-stream", "rocm-stream"],
        BackendId::Cuda => &["cuda-stream"],
        _ => &["ocl-stream"],
    };
    let index = device.index;
    let arguments =
        words(&format!("--csv --float --numtimes 50 --arraysize {ELEMENTS} --device {index}"));
    let program = names.iter().find_map(|name| find(name));
    let rate = match program {
        None => Err(not_installed(names[0])),
        Some(program) => output(&program, &arguments).and_then(|text| {
            copy_of_babelstream(&text)
                .ok_or_else(|| unreadable("BabelStream", "a row `Copy` with max_mbytes_per_sec"))
        }),
    };
    VendorToolResult {
        device,
        tool: "BabelStream".to_owned(),
        own: OwnCase {
            benchmark: "memory-bandwidth",
            params: &[("operation", "copy"), ("dtype", "f32")],
            field: "bandwidth_gb_s",
            unit: Unit::GigabytesPerSecond,
        },
        rate,
        below_percent: 5.0,
        above_percent: Some(5.0),
    }
}

fn unreadable(tool: &str, lacks: &str) -> Reason {
    Reason::new(tool, format!("its output lacks {lacks}"), "run it by hand to see its output")
}

/// Parses the rate of `Copy` in GB/s from the CSV output of `BabelStream`.
pub(super) fn copy_of_babelstream(text: &str) -> Option<f64> {
    let mut columns: Option<usize> = None;
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        match fields.first().copied() {
            Some("function") => {
                columns = fields.iter().position(|name| *name == "max_mbytes_per_sec");
            }
            Some("Copy") => return Some(fields.get(columns?)?.parse::<f64>().ok()? / 1e3),
            _ => {}
        }
    }
    None
}

/// Runs the vendor's own benchmarks of a large f16 product on `device`.
pub(super) fn products(device: DeviceRef, torch: Option<&Path>) -> Vec<VendorToolResult> {
    let size = "-m 8192 -n 8192 -k 8192 --alpha 1 --beta 0 --cold_iters 5 --iters 20";
    let index = device.index;
    let mut rivals = Vec::new();
    if device.backend == BackendId::Rocm {
        let types =
            "--a_type f16_r --b_type f16_r --c_type f16_r --d_type f16_r --compute_type f32_r";
        let leading = "--lda 8192 --ldb 8192 --ldc 8192 --ldd 8192";
        let arguments = format!(
            "-f gemm_ex --transposeA N --transposeB N {size} {types} {leading} --device {index}"
        );
        rivals.push(by_bench(
            device,
            "rocblas-bench",
            &arguments,
            Format::RocblasBench,
            BY_ROCBLAS,
        ));
        let arguments = format!(
            "--transA N --transB N {size} --precision f16_r --compute_type f32_r --device {index}"
        );
        rivals.push(by_bench(
            device,
            "hipblaslt-bench",
            &arguments,
            Format::HipblasltBench,
            BY_HIPBLASLT,
        ));
    }
    if let Some(python) = torch {
        let arguments = ["-c".to_owned(), TORCH_PRODUCT.to_owned(), index.to_string()];
        let rate = output(python, &arguments).and_then(|text| {
            let number = text.lines().rev().find_map(|line| line.trim().parse::<f64>().ok());
            number.ok_or_else(|| unreadable("PyTorch", "a number"))
        });
        rivals.push(product_rival(device, "PyTorch", rate, ANY_PROVIDER, 2.0, None));
    }
    rivals
}

type Params = &'static [(&'static str, &'static str)];

const BY_ROCBLAS: Params = &[("dtype", "f16"), ("provider", "rocblas")];
const BY_HIPBLASLT: Params = &[("dtype", "f16"), ("provider", "hipblaslt")];
const ANY_PROVIDER: Params = &[("dtype", "f16")];

fn by_bench(
    device: DeviceRef,
    name: &'static str,
    arguments: &str,
    format: Format,
    params: Params,
) -> VendorToolResult {
    let rate = match find(name) {
        None => Err(not_installed(name)),
        Some(program) => {
            output(&program, &words(arguments)).and_then(|text| best_product(name, &text, format))
        }
    };
    product_rival(device, name, rate, params, 3.0, Some(3.0))
}

fn product_rival(
    device: DeviceRef,
    tool: &str,
    rate: Result<f64, Reason>,
    params: Params,
    below_percent: f64,
    above_percent: Option<f64>,
) -> VendorToolResult {
    let own = OwnCase { benchmark: "gemm", params, field: "tflops", unit: Unit::Teraflops };
    VendorToolResult { device, tool: tool.to_owned(), own, rate, below_percent, above_percent }
}

/// Returns the highest rate in TFLOP/s in the output of a vendor's benchmark, parsed by the
/// importer.
pub(super) fn best_product(name: &str, text: &str, format: Format) -> Result<f64, Reason> {
    let file =
        tempfile::NamedTempFile::new().map_err(|error| failure_of(name, error.to_string()))?;
    std::fs::write(file.path(), text).map_err(|error| failure_of(name, error.to_string()))?;
    let run = import::import(file.path(), Some(format))
        .map_err(|error| failure_of(name, error.to_string()))?;
    let rates = run.benchmarks.iter().filter_map(|result| result.fields()?.number("gflops"));
    rates.reduce(f64::max).map(|gflops| gflops / 1e3).ok_or_else(|| unreadable(name, "a rate"))
}

/// Script that times an f16 product by `torch.matmul` with events. Its last line is the rate in
/// TFLOP/s.
const TORCH_PRODUCT: &str = "\
import sys, torch
n, device = 8192, torch.device('cuda', int(sys.argv[1]))
a, b = (torch.rand(n, n, device=device).sub_(0.5).half() for _ in range(2))
def run(times):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(times):
        torch.matmul(a, b)
    end.record()
    torch.cuda.synchronize(device)
    return start.elapsed_time(end) / times
with torch.cuda.device(device):
    run(50)
    print(2 * n**3 / min(run(20) for _ in range(3)) / 1e9)
";

// Kernel times.

/// Returns the time of the copy kernel in microseconds, from the output files of the profiler
/// `tool`.
pub(super) fn kernel_time_of(tool: &'static str, files: &[PathBuf]) -> Result<f64, Reason> {
    let trace = if tool == "nsys" {
        let report = find_file(files, ".nsys-rep").ok_or_else(|| unreadable(tool, "a report"))?;
        let program = find(tool).ok_or_else(|| not_installed(tool))?;
        let report = report.display().to_string();
        let arguments =
            ["stats", "--report", "cuda_gpu_trace", "--format", "csv", "--quiet", &report];
        output(&program, &arguments.map(str::to_owned))?
    } else {
        let trace = find_file(files, "kernel_trace.csv")
            .ok_or_else(|| unreadable(tool, "a kernel trace"))?;
        std::fs::read_to_string(trace)
            .map_err(|error| unreadable(tool, &format!("a readable trace: {error}")))?
    };
    kernel_time_us(&trace).ok_or_else(|| unreadable(tool, "kernels named rsb_copy"))
}

fn find_file<'f>(files: &'f [PathBuf], ending: &str) -> Option<&'f PathBuf> {
    files.iter().find(|file| file.to_string_lossy().ends_with(ending))
}

/// Returns the median time in microseconds of the kernels whose name contains `rsb_copy`, from a
/// profiler's kernel trace: the CSV of rocprofv3, or of `nsys stats --report cuda_gpu_trace`.
pub(super) fn kernel_time_us(trace: &str) -> Option<f64> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(trace.as_bytes());
    let names = reader.headers().ok()?.clone();
    let name_column = column(&names, "Kernel_Name").or_else(|| column(&names, "Name"))?;
    let duration = column(&names, "Duration (ns)");
    let bounds = column(&names, "Start_Timestamp").zip(column(&names, "End_Timestamp"));
    let mut times = Vec::new();
    for row in reader.records().filter_map(Result::ok) {
        // Skip copies by the driver, such as `[CUDA memcpy Host-to-Device]`.
        if !row.get(name_column).is_some_and(|name| name.contains("rsb_copy")) {
            continue;
        }
        let time = match (duration, bounds) {
            (Some(column), _) => number_at(&row, column),
            (None, Some((start, end))) => {
                number_at(&row, end).zip(number_at(&row, start)).map(|(end, start)| end - start)
            }
            (None, None) => None,
        };
        times.extend(time);
    }
    rsb_stats::median(&times).map(|nanoseconds| nanoseconds / 1e3)
}

fn column(names: &csv::StringRecord, name: &str) -> Option<usize> {
    names.iter().position(|known| known == name)
}

fn number_at(row: &csv::StringRecord, column: usize) -> Option<f64> {
    row.get(column)?.trim().parse().ok()
}
