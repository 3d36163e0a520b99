//! Checks that a device computes every operation correctly. Runs each operation once at a small
//! size on every device of a backend, compares the result with the reference and prints the library
//! or kernel that computed it, then runs every collective over all devices.
//!
//! `cargo run --example device_check -- rocm` exits with 1 if any check fails.
#![allow(clippy::print_stderr)] // A tool for whoever works on this: its messages may end it.

use std::process::ExitCode;

use rsb_catalog::backends::registry;
use rsb_device::operation::{
    Attention, Collective, CollectiveKind, CollectiveLauncher, Convolution, Elementwise,
    ElementwiseOp, Epilogue, Gather, Gemm, HostMemory, Launch, LaunchMode, MemoryStream, Normalize,
    NormalizeOp, OutputWidth, PeakArithmetic, Placement, PointerChase, QuantizedProduct, Rearrange,
    Reduce, ReduceOp, Stores, StreamPattern, Transfer, TransferDirection,
};
use rsb_device::{
    Buffer, Device, DeviceError, Operation, Options, Role, child, convert, reference,
};
use rsb_model::Dtype;

const SEED: u64 = 7;
/// Argument that selects the checks other than operations.
const REST: &str = "rest";
/// Argument that selects the collectives over several devices.
const COLLECTIVES: &str = "collectives";
/// Providers of products. A backend reports the other vendor's library as unsupported.
const LIBRARIES: [&str; 4] = ["rocblas", "cublas", "native", "native-naive"];
const FLOATS: [Dtype; 4] = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16];

/// Checks the devices of the backend named by the first argument.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let backend = arguments.next().unwrap_or_else(|| "rocm".to_owned());
    if backend == child::ARGUMENT {
        let answered = child::answer(&registry(), &arguments.next().unwrap_or_default());
        return if answered.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    // The second argument selects operations whose description contains it.
    let only = arguments.next().unwrap_or_default();
    let devices = backend.parse().map_err(|error| format!("{error}")).and_then(|backend| {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        child::devices(&program, backend, child::LIMIT).map_err(|reason| reason.to_string())
    });
    let devices = match devices {
        Ok(devices) => devices,
        Err(reason) => {
            eprintln!("{reason}");
            return ExitCode::FAILURE;
        }
    };
    let mut wrong = 0;
    for info in devices {
        println!("{info:#?}");
        wrong += match registry().open(&info.device.to_string()) {
            Ok(device) => check_device(&*device, &only),
            Err(reason) => {
                println!("FAILED to open: {reason}");
                1
            }
        };
    }
    println!("{wrong} failed");
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn check_device(device: &dyn Device, only: &str) -> usize {
    let mut wrong = 0;
    for (operation, options) in cases() {
        let described = describe(&operation, &options);
        if !described.contains(only) {
            continue;
        }
        match run(device, &operation, &options) {
            Ok((provider, error, ns)) => {
                println!("ok {described} by {provider}: error {error:.1e}, {ns:.0} ns");
            }
            Err(DeviceError::Unsupported(reason)) => println!("-- {described}: {reason}"),
            Err(DeviceError::Failed(reason)) => {
                wrong += 1;
                println!("FAILED {described}: {reason}");
            }
        }
    }
    if only.is_empty() || only == REST {
        wrong += usize::from(!check_rest(device));
    }
    if only.is_empty() || only == COLLECTIVES {
        wrong += check_collectives(device);
    }
    wrong
}

/// Runs every collective over this device and its peers with the backend's library, and returns the
/// number of failures. Only device 0 runs them.
fn check_collectives(device: &dyn Device) -> usize {
    let peers = device.peers();
    if device.info().device.index != 0 || peers.is_empty() {
        println!(
            "-- collectives: skipped on {} with {} peers; device 0 of several devices runs them",
            device.info().device,
            peers.len()
        );
        return 0;
    }
    let opened: Result<Vec<&dyn Device>, DeviceError> = std::iter::once(Ok(device))
        .chain(peers.into_iter().map(|index| device.peer(index)))
        .collect();
    let devices = match opened {
        Ok(devices) => devices,
        Err(error) => {
            println!("FAILED collectives: cannot open a peer: {error:?}");
            return 1;
        }
    };
    let mut wrong = 0;
    for kind in CollectiveKind::ALL {
        let placements = Placement::ALL
            .iter()
            .filter(|&&place| place == Placement::OutOfPlace || kind.can_be_in_place());
        for (dtype, &placement) in placements.flat_map(|place| FLOATS.map(|dtype| (dtype, place))) {
            let plain = Collective::of_bytes(kind, dtype, dtype.bytes(1001), devices.len() as u64);
            for launcher in CollectiveLauncher::ALL {
                let call = Collective { placement, launcher, ..plain };
                let name = format!("{kind} {dtype} {placement} {launcher}");
                match collective(&devices, &call) {
                    Ok(provider) => println!("ok {name} by {provider}"),
                    Err(DeviceError::Unsupported(reason)) => println!("-- {name}: {reason}"),
                    Err(DeviceError::Failed(reason)) => {
                        wrong += 1;
                        println!("FAILED {name}: {reason}");
                    }
                }
            }
        }
    }
    wrong
}

/// Returns an integer small enough for exact sums over eight devices in every type.
fn sent_value(rank: u64, element: u64) -> f64 {
    ((rank * 5 + element * 3) % 16) as f64
}

/// Runs `call` once over `devices` and compares every element on each.
fn collective(devices: &[&dyn Device], call: &Collective) -> Result<String, DeviceError> {
    let mut pairs = Vec::new();
    for (rank, device) in (0..).zip(devices) {
        let is_in_place = call.placement == Placement::InPlace;
        let sent = if is_in_place { call.elements } else { call.elements_sent() };
        let from = device.allocate(call.dtype.bytes(sent))?;
        let to = if is_in_place {
            from.clone()
        } else {
            device.allocate(call.dtype.bytes(call.elements_received()))?
        };
        let values: Vec<f64> =
            (0..call.elements_sent()).map(|element| sent_value(rank, element)).collect();
        let at = call.dtype.bytes(call.places(rank)[0]);
        device.write(&from, at, &convert::encode(call.dtype, &values))?;
        pairs.push((from, to));
    }
    let first = devices.first().ok_or_else(|| collective_error("no device given".to_owned()))?;
    let mut kernel = first.prepare_collective(call, &pairs)?;
    kernel.launch()?;
    for device in devices {
        device.stream()?.synchronize()?;
    }
    for ((rank, device), (_, to)) in (0..).zip(devices).zip(&pairs) {
        for part in call.parts(rank) {
            let mut bytes = vec![0; call.dtype.bytes(part.elements) as usize];
            device.read(
                to,
                call.dtype.bytes(call.places(rank)[1] + part.received_at),
                &mut bytes,
            )?;
            for (element, found) in (part.sent_at..).zip(convert::decode(call.dtype, &bytes)) {
                let right: f64 = match part.from {
                    Some(from) => sent_value(from, element),
                    None => (0..call.devices).map(|from| sent_value(from, element)).sum(),
                };
                // Integers of this size are exact.
                if found.to_bits() != right.to_bits() {
                    return Err(collective_error(format!(
                        "element {element} on device {rank} is {found}, not {right}"
                    )));
                }
            }
        }
    }
    Ok(kernel.provider())
}

fn collective_error(why: String) -> DeviceError {
    DeviceError::Failed(rsb_model::Reason::new(
        "collective",
        why,
        "check the copies between the GPUs",
    ))
}

fn describe(operation: &Operation, options: &Options) -> String {
    let dtype = operation.dtype().map(|dtype| format!(" {dtype}")).unwrap_or_default();
    let provider = options.provider.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
    format!("{}{dtype}{provider} {operation:?}", operation.name())
}

/// Launches the operation twice, as in timing. The second launch must leave the same result if it
/// depends only on the inputs.
fn run(
    device: &dyn Device,
    operation: &Operation,
    options: &Options,
) -> Result<(String, f64, f64), DeviceError> {
    let specs = operation.buffers();
    let buffers: Vec<Buffer> =
        specs.iter().map(|spec| device.allocate(spec.bytes())).collect::<Result<_, _>>()?;
    reference::fill(device, operation, &buffers, SEED)?;
    let mut kernel = device.prepare(operation, options, &buffers)?;
    let mut stream = device.stream()?;
    let from = stream.record()?;
    kernel.launch()?;
    let to = stream.record()?;
    stream.synchronize()?;
    let time = stream.elapsed_ns(from, to)?;
    let mut error = reference::verify(device, operation, &buffers, SEED, kernel.sums_in())?;
    let repeatable = specs.iter().all(|spec| spec.role != Role::InOut);
    if repeatable {
        kernel.launch()?;
        stream.synchronize()?;
        error = error.max(reference::verify(device, operation, &buffers, SEED, kernel.sums_in())?);
    }
    Ok((kernel.provider(), error, time))
}

/// Returns by how many bytes an allocation of 64 MiB reduces the free memory reported by the
/// driver; `None` if the driver does not report it.
fn measure_allocation(device: &dyn Device) -> Result<Option<u64>, DeviceError> {
    let Some(before) = device.free_bytes() else { return Ok(None) };
    let buffer = device.allocate(HELD)?;
    let after = device.free_bytes();
    drop(buffer);
    Ok(after.map(|after| before.saturating_sub(after)))
}

const HELD: u64 = 64 << 20;

/// Returns whether a copy between two buffers arrives intact.
fn check_copy(device: &dyn Device) -> Result<bool, DeviceError> {
    let (a, b) = (device.allocate(1000)?, device.allocate(1000)?);
    device.write(&a, 0, &[42; 1000])?;
    let mut kernel = device.prepare_copy(&a, &b)?;
    kernel.launch()?;
    device.stream()?.synchronize()?;
    let mut found = [0; 1000];
    device.read(&b, 0, &mut found)?;
    Ok(found == [42; 1000])
}

/// Checks everything that is not an operation: a copy between two buffers, free memory, occupancy,
/// a flush.
fn check_rest(device: &dyn Device) -> bool {
    let copied = check_copy(device);
    println!("copy between buffers: {copied:?}");
    let held = measure_allocation(device);
    println!("decrease of free bytes by an allocation of {HELD}: {held:?}");
    let triad = stream(StreamPattern::Triad, Dtype::F32, 1 << 16, Stores::Temporal);
    match device.occupancy(&triad, &Options { block_size: Some(512), ..Options::default() }) {
        Ok(occupancy) => {
            println!("occupancy of triad: {occupancy:?}, {:.0} %", occupancy.percent());
        }
        Err(error) => println!("occupancy: {error}"),
    }
    let flushed = device.flush_caches();
    println!("flush of the caches: {flushed:?}");
    let is_held = held.is_ok_and(|bytes| bytes.is_none_or(|bytes| bytes >= HELD));
    let is_copied = !matches!(copied, Ok(false) | Err(DeviceError::Failed(_)));
    is_copied && is_held && !matches!(flushed, Err(DeviceError::Failed(_)))
}

fn stream(pattern: StreamPattern, dtype: Dtype, elements: u64, stores: Stores) -> Operation {
    Operation::Stream(MemoryStream { pattern, dtype, elements, stores })
}

fn cases() -> Vec<(Operation, Options)> {
    let mut all: Vec<Operation> = Vec::new();
    for dtype in FLOATS {
        for pattern in StreamPattern::ALL {
            for stores in Stores::ALL {
                all.push(stream(pattern, dtype, 5003, stores));
            }
        }
        all.extend(
            ElementwiseOp::ALL
                .iter()
                .map(|&op| Operation::Elementwise(Elementwise { op, dtype, elements: 3001 })),
        );
        all.extend(
            ReduceOp::ALL
                .iter()
                .map(|&op| Operation::Reduce(Reduce { op, dtype, elements: 20_011 })),
        );
        all.extend(
            NormalizeOp::ALL
                .iter()
                .map(|&op| Operation::Normalize(Normalize { op, dtype, rows: 7, columns: 301 })),
        );
        all.push(Operation::Convolution(convolution(dtype)));
        // A single query, several tiles of 16 and 32, and the longest heads.
        for (queries, head_dim, causal) in [(1, 64, false), (70, 40, true), (33, 128, false)] {
            let (batch, heads, kv_heads, positions, capacity) = (2, 6, 3, 300, 310);
            let op = Attention {
                dtype,
                batch,
                heads,
                kv_heads,
                head_dim,
                queries,
                positions,
                capacity,
                causal,
            };
            all.push(Operation::Attention(op));
        }
        all.extend(quantized_products(dtype));
        all.push(Operation::Gather(Gather { dtype, of: 9, rows: 5, width: 8 }));
        for rotary in [false, true] {
            let cache = Rearrange {
                dtype,
                batch: 2,
                rows: 5,
                columns: 3,
                width: 8,
                capacity: 11,
                position: 4,
                rotary,
            };
            all.push(Operation::Rearrange(cache));
        }
    }
    for dtype in [Dtype::I8, Dtype::I4] {
        let of_numbers =
            |&op: &ElementwiseOp| Operation::Elementwise(Elementwise { op, dtype, elements: 3001 });
        all.extend([ElementwiseOp::Add, ElementwiseOp::Relu].iter().map(of_numbers));
        all.extend(
            ReduceOp::ALL
                .iter()
                .map(|&op| Operation::Reduce(Reduce { op, dtype, elements: 20_011 })),
        );
    }
    for dtype in Dtype::ALL {
        all.push(Operation::PeakArithmetic(PeakArithmetic {
            dtype,
            operations: 64 * PeakArithmetic::UNIT,
        }));
    }
    all.push(Operation::PointerChase(PointerChase {
        nodes: 500,
        line_bytes: 128,
        accesses: 700,
        seed: SEED,
    }));
    for direction in TransferDirection::ALL {
        for host_memory in HostMemory::ALL {
            all.push(Operation::Transfer(Transfer { direction, host_memory, bytes: 40_000 }));
        }
    }
    for way in LaunchMode::ALL {
        all.push(Operation::Launch(Launch { kernels: 5, mode: way }));
    }
    let plain = all.into_iter().map(|operation| (operation, Options::default()));
    plain.chain(products()).chain(vector_peaks()).chain(sparse_peaks()).collect()
}

fn convolution(dtype: Dtype) -> Convolution {
    Convolution {
        dtype,
        batch: 2,
        in_channels: 4,
        out_channels: 6,
        height: 9,
        width: 11,
        kernel_height: 3,
        kernel_width: 2,
        stride: 2,
        padding: 1,
        dilation: 1,
        groups: 2,
    }
}

/// Returns products for one, a few and many tokens, several tiles of 64, with whole and shorter
/// groups.
fn quantized_products(dtype: Dtype) -> impl Iterator<Item = Operation> {
    let sizes = [(1, 76, 4096, 128), (3, 18, 160, 128), (16, 70, 224, 64), (70, 130, 320, 128)];
    let both = [Dtype::I8, Dtype::I4].into_iter();
    both.flat_map(move |weights| {
        sizes.map(|(m, n, k, group)| {
            Operation::Quantized(QuantizedProduct { dtype, weights, m, n, k, group })
        })
    })
}

fn vector_peaks() -> impl Iterator<Item = (Operation, Options)> {
    [Dtype::F64, Dtype::F32, Dtype::F16].into_iter().map(|dtype| {
        let peak = PeakArithmetic { dtype, operations: 3 * PeakArithmetic::UNIT };
        (Operation::PeakArithmetic(peak), by("vector"))
    })
}

fn sparse_peaks() -> impl Iterator<Item = (Operation, Options)> {
    Dtype::ALL.into_iter().map(|dtype| {
        let peak = PeakArithmetic { dtype, operations: 64 * PeakArithmetic::UNIT };
        (Operation::PeakArithmetic(peak), by("sparse"))
    })
}

fn products() -> Vec<(Operation, Options)> {
    let mut all = Vec::new();
    for dtype in FLOATS {
        for provider in LIBRARIES {
            for (transpose_a, transpose_b) in
                [(false, false), (true, false), (false, true), (true, true)]
            {
                let gemm = Gemm {
                    batch: 2,
                    transpose_a,
                    transpose_b,
                    alpha: 0.5,
                    ..Gemm::new(dtype, 70, 45, 33)
                };
                all.extend(
                    [None, Some(1600)]
                        .map(|stride_b| (Operation::Gemm(Gemm { stride_b, ..gemm }), by(provider))),
                );
            }
            let beta = Gemm { beta: 0.25, ..Gemm::new(dtype, 64, 64, 16) };
            all.push((Operation::Gemm(beta), by(provider)));
        }
    }
    for provider in ["rocblas", "cublas", "native"] {
        for transpose_b in [false, true] {
            let narrow = Gemm {
                stored: OutputWidth::AsInputs,
                beta: 0.5,
                transpose_b,
                ..Gemm::new(Dtype::Bf16, 70, 45, 33)
            };
            all.push((Operation::Gemm(narrow), by(provider)));
        }
    }
    for provider in LIBRARIES {
        for (transpose_a, transpose_b) in [(false, false), (true, true)] {
            let gemm =
                Gemm { batch: 2, transpose_a, transpose_b, ..Gemm::new(Dtype::I8, 72, 48, 36) };
            all.push((Operation::Gemm(gemm), by(provider)));
        }
    }
    all.extend(light_products());
    all
}

/// Returns products for every type, epilogue and choice of algorithm of hipBLASLt and cuBLASLt,
/// with B stored as in layers, and products in xf32.
fn light_products() -> Vec<(Operation, Options)> {
    let mut all = Vec::new();
    for dtype in [Dtype::F32, Dtype::Tf32, Dtype::F16, Dtype::Bf16, Dtype::Fp8, Dtype::I8] {
        let plain = layer_product(dtype);
        for gemm in [plain, Gemm { stride_b: Some(5000), ..plain }] {
            all.extend(by_light_libraries(gemm, None));
        }
    }
    for epilogue in Epilogue::ALL {
        let plain = layer_product(Dtype::Bf16);
        let gemm = Gemm { epilogue, stored: OutputWidth::AsInputs, ..plain };
        all.extend(by_light_libraries(gemm, Some(8)));
    }
    for provider in ["rocblas", "cublas"] {
        all.push((Operation::Gemm(layer_product(Dtype::Tf32)), by(provider)));
    }
    all
}

/// Returns a batch of two products with B stored as in layers.
fn layer_product(dtype: Dtype) -> Gemm {
    Gemm { batch: 2, transpose_b: true, ..Gemm::new(dtype, 64, 48, 96) }
}

fn by_light_libraries(gemm: Gemm, algorithms: Option<u32>) -> [(Operation, Options); 2] {
    ["hipblaslt", "cublaslt"]
        .map(|provider| (Operation::Gemm(gemm), Options { algorithms, ..by(provider) }))
}

fn by(provider: &str) -> Options {
    Options { provider: Some(provider.to_owned()), ..Options::default() }
}
