//! Runs every operation on every OpenCL and Vulkan device of this host, and compares the results
//! with the reference. Debian's PoCL and lavapipe suffice. An unsupported operation must be one
//! that is expected to be unsupported.
#![cfg(any(feature = "opencl", feature = "vulkan"))]
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use rsb_device::operation::{
    Convolution, Elementwise, ElementwiseOp, Gemm, HostMemory, Launch, LaunchMode, MemoryStream,
    Normalize, NormalizeOp, PeakArithmetic, PointerChase, QuantizedProduct, Rearrange, Reduce,
    ReduceOp, Stores, StreamPattern, Transfer, TransferDirection,
};
use rsb_device::reference::mutation;
use rsb_device::scripted::{Script, ScriptedDevice};
use rsb_device::{Backend, Buffer, Device, DeviceError, Operation, Options, Role, reference};
use rsb_model::Dtype;

const SEED: u64 = 11;
const FLOATS: [Dtype; 4] = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16];

/// Opens every device of `backend`. If there is none, reports the reason as a missing test
/// requirement and returns an empty list.
fn devices(backend: &dyn Backend) -> Vec<Box<dyn Device>> {
    match backend.devices() {
        Ok(found) => (0..found.len() as u32).map(|index| backend.open(index).unwrap()).collect(),
        Err(reason) => {
            test_needs::missing(backend.id().as_str(), &reason.to_string());
            Vec::new()
        }
    }
}

/// Runs `operation`, verifies the result, and repeats this unless a launch changes its own inputs.
/// Returns the provider.
fn run(
    device: &dyn Device,
    operation: &Operation,
    provider: Option<&str>,
) -> Result<String, DeviceError> {
    let options = Options { provider: provider.map(str::to_owned), ..Options::default() };
    let specs = operation.buffers();
    let buffers: Vec<Buffer> =
        specs.iter().map(|spec| device.allocate(spec.bytes())).collect::<Result<_, _>>()?;
    reference::fill(device, operation, &buffers, SEED)?;
    let mut kernel = device.prepare(operation, &options, &buffers)?;
    let mut stream = device.stream()?;
    let from = stream.record()?;
    kernel.launch()?;
    let to = stream.record()?;
    stream.synchronize()?;
    let time = stream.elapsed_ns(from, to)?;
    assert!(time >= 0.0 && time.is_finite(), "{operation:?} took {time} ns");
    reference::verify(device, operation, &buffers, SEED, None)?;
    if specs.iter().all(|spec| spec.role != Role::InOut) {
        kernel.launch()?;
        stream.synchronize()?;
        reference::verify(device, operation, &buffers, SEED, None)?;
    }
    Ok(kernel.provider())
}

/// Runs `operations` on every device and verifies them. An operation may be unsupported only if
/// `may_lack` returns true for it.
fn check(
    backend: &dyn Backend,
    operations: &[Operation],
    may_lack: impl Fn(&Operation, &dyn Device) -> bool,
) {
    for device in devices(backend) {
        for operation in operations {
            match run(&*device, operation, None) {
                Ok(_) => {}
                Err(DeviceError::Unsupported(reason)) => {
                    assert!(may_lack(operation, &*device), "{operation:?}: {reason}");
                }
                Err(DeviceError::Failed(reason)) => {
                    panic!("{}: {operation:?}: {reason}", device.info().name)
                }
            }
        }
    }
}

fn convolution(dtype: Dtype) -> Operation {
    Operation::Convolution(Convolution {
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
        dilation: 2,
        groups: 2,
    })
}

fn kernels() -> Vec<Operation> {
    let mut all = Vec::new();
    for dtype in FLOATS {
        for pattern in StreamPattern::ALL {
            // One size that is not a multiple of 16 bytes, and one for which a reduction needs
            // several groups.
            for elements in [5003, 70_001] {
                all.push(Operation::Stream(MemoryStream {
                    pattern,
                    dtype,
                    elements,
                    stores: Stores::Temporal,
                }));
            }
        }
        for op in ElementwiseOp::ALL {
            all.push(Operation::Elementwise(Elementwise { op, dtype, elements: 3001 }));
        }
        for op in ReduceOp::ALL {
            for elements in [1, 3, 100_003] {
                all.push(Operation::Reduce(Reduce { op, dtype, elements }));
            }
        }
        for op in NormalizeOp::ALL {
            for columns in [302, 301, 1] {
                all.push(Operation::Normalize(Normalize { op, dtype, rows: 7, columns }));
            }
        }
        for rotary in [false, true] {
            let order = Rearrange {
                dtype,
                batch: 2,
                rows: 5,
                columns: 3,
                width: 8,
                capacity: 11,
                position: 4,
                rotary,
            };
            all.push(Operation::Rearrange(order));
        }
        all.push(convolution(dtype));
        // One row of C or several, and rows of weights that do or do not fill the last quantization
        // group.
        for (m, n, k, weights) in [
            (1, 20, 4096, Dtype::I4),
            (7, 18, 160, Dtype::I4),
            (1, 10, 160, Dtype::I8),
            (6, 24, 2048, Dtype::I8),
        ] {
            all.push(Operation::Quantized(QuantizedProduct {
                dtype,
                weights,
                m,
                n,
                k,
                group: 128,
            }));
        }
        all.push(Operation::PeakArithmetic(PeakArithmetic {
            dtype,
            operations: 7 * PeakArithmetic::UNIT,
        }));
    }
    all.push(Operation::PointerChase(PointerChase {
        nodes: 500,
        line_bytes: 128,
        accesses: 700,
        seed: SEED,
    }));
    all.extend(TransferDirection::ALL.iter().flat_map(|&direction| {
        HostMemory::ALL.iter().map(move |&host_memory| {
            Operation::Transfer(Transfer { direction, host_memory, bytes: 40_000 })
        })
    }));
    all.extend(
        LaunchMode::ALL.iter().map(|&way| Operation::Launch(Launch { kernels: 100, mode: way })),
    );
    all
}

/// Checks products of every type and layout, with the default provider and with each kernel.
fn check_products(backend: &dyn Backend) {
    for device in devices(backend) {
        for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8] {
            let alpha = if dtype == Dtype::I8 { 2.0 } else { 0.5 };
            let mut shapes = vec![Gemm { beta: 2.0 * alpha, ..Gemm::new(dtype, 64, 64, 16) }];
            for (transpose_a, transpose_b) in
                [(false, false), (true, false), (false, true), (true, true)]
            {
                let batched = Gemm {
                    batch: 2,
                    transpose_a,
                    transpose_b,
                    alpha,
                    ..Gemm::new(dtype, 70, 45, 33)
                };
                shapes.extend([None, Some(1501)].map(|stride_b| Gemm { stride_b, ..batched }));
                shapes.push(Gemm { transpose_a, transpose_b, ..Gemm::new(dtype, 130, 94, 70) });
            }
            shapes.push(Gemm::new(dtype, 3, 5, 9));
            for gemm in shapes {
                for provider in [None, Some("native"), Some("native-tiled"), Some("native-naive")] {
                    match run(&*device, &Operation::Gemm(gemm), provider) {
                        Ok(_) => {}
                        Err(DeviceError::Unsupported(reason)) => {
                            assert_eq!(dtype, Dtype::F64, "{gemm:?}: {reason}");
                        }
                        Err(DeviceError::Failed(reason)) => {
                            panic!("{}: {gemm:?} by {provider:?}: {reason}", device.info().name)
                        }
                    }
                }
            }
        }
    }
}

/// Checks device functions other than operations: copies, a flush, and the rejection of invalid
/// ranges and of buffers of another device.
fn check_rest(backend: &dyn Backend) {
    for device in devices(backend) {
        let (a, b) = (device.allocate(1000).unwrap(), device.allocate(1000).unwrap());
        device.write(&a, 0, &[42; 1000]).unwrap();
        device.prepare_copy(&a, &b).unwrap().launch().unwrap();
        device.flush_caches().unwrap();
        let mut found = [0; 999];
        device.read(&b, 1, &mut found).unwrap();
        assert_eq!(found, [42; 999]);
        assert!(
            device.write(&a, 1, &[0; 1000]).is_err()
                && device.read(&a, u64::MAX, &mut [0]).is_err()
        );
        assert!(device.allocate(u64::MAX / 2).is_err());
        let small = Operation::Elementwise(Elementwise {
            op: ElementwiseOp::Relu,
            dtype: Dtype::F32,
            elements: 1000,
        });
        assert!(
            device.prepare(&small, &Options::default(), &[a, b]).is_err(),
            "buffers that are too small"
        );
        let host = ScriptedDevice::new(Script::default());
        let foreign = vec![host.allocate(4000).unwrap(), host.allocate(4000).unwrap()];
        assert!(
            device.prepare(&small, &Options::default(), &foreign).is_err(),
            "buffers of another device"
        );
        assert!(backend.open(1000).is_err());
    }
}

#[cfg(feature = "opencl")]
mod opencl {
    use super::*;
    use rsb_device::StreamClock;
    use rsb_portable::opencl::OpenclBackend;
    use std::time::Instant;

    /// The time between two events is positive and within the host's time if there are commands
    /// between them, and zero otherwise.
    #[test]
    fn times_are_those_of_the_commands_between_two_marks() {
        for device in devices(&OpenclBackend::Every) {
            let triad = MemoryStream {
                pattern: StreamPattern::Triad,
                dtype: Dtype::F32,
                elements: 1 << 20,
                stores: Stores::Temporal,
            };
            let triad = Operation::Stream(triad);
            let buffers: Vec<Buffer> =
                triad.buffers().iter().map(|spec| device.allocate(spec.bytes()).unwrap()).collect();
            let mut kernel = device.prepare(&triad, &Options::default(), &buffers).unwrap();
            let mut stream = device.stream().unwrap();
            kernel.launch().unwrap();
            stream.synchronize().unwrap();
            let begin = Instant::now();
            let marks = [0, 3, 1, 0].map(|launches| {
                kernel.launch_times(launches).unwrap();
                stream.record().unwrap()
            });
            stream.synchronize().unwrap();
            let host_ns = begin.elapsed().as_nanos() as f64;
            let mut between =
                |from: usize, to: usize| stream.elapsed_ns(marks[from], marks[to]).unwrap();
            let [three, one, all, none] =
                [between(0, 1), between(1, 2), between(0, 2), between(2, 3)];
            if stream.clock() == StreamClock::Device {
                assert!(three > 0.0 && one > 0.0 && three + one <= all, "{three} + {one} of {all}");
                assert!(all <= 1.2 * host_ns, "{all} ns of {host_ns}");
                assert!(none.abs() < f64::EPSILON, "{none}");
            } else {
                // The backend has rejected the driver's clock, which depends on the machine. Times
                // by the host clock must still be plausible.
                assert!(three > 0.0 && three <= host_ns, "{three} ns of {host_ns}");
            }
        }
    }

    #[test]
    fn every_operation_is_right() {
        check(&OpenclBackend::Every, &kernels(), |operation, _| match operation {
            Operation::PeakArithmetic(op) => op.dtype != Dtype::F32,
            Operation::Launch(op) => op.mode == LaunchMode::Graph,
            Operation::Transfer(op) => op.direction == TransferDirection::Bidirectional,
            other => other.dtype() == Some(Dtype::F64),
        });
    }

    #[test]
    fn every_product_is_right() {
        check_products(&OpenclBackend::Every);
    }

    #[test]
    fn what_is_off_is_refused() {
        check_rest(&OpenclBackend::Every);
    }
}

#[cfg(feature = "vulkan")]
mod vulkan {
    use super::*;
    use rsb_portable::vulkan::VulkanBackend;

    #[test]
    fn every_operation_is_right() {
        let narrow = |dtype: Dtype| matches!(dtype, Dtype::F16 | Dtype::Bf16);
        check(&VulkanBackend, &kernels(), |operation, _| match operation {
            Operation::PeakArithmetic(op) => op.dtype != Dtype::F32,
            Operation::Normalize(op) if narrow(op.dtype) => op.columns % 2 == 1,
            Operation::Transfer(op) => {
                op.host_memory == HostMemory::Pageable
                    || op.direction == TransferDirection::Bidirectional
            }
            other => other.dtype() == Some(Dtype::F64),
        });
    }

    #[test]
    fn every_product_is_right() {
        check_products(&VulkanBackend);
    }

    #[test]
    fn what_is_off_is_refused() {
        check_rest(&VulkanBackend);
    }
}

/// Checks that each kernel of each device is correct for `seeds` seeds, and that verification
/// detects mutated results.
fn check_mutations(backend: &dyn Backend, seeds: u64, mutated: u64) {
    for device in devices(backend) {
        let reports = mutation::check_device(&*device, &[None], 0..seeds, mutated).unwrap();
        assert!(reports.len() > 50, "{}: {}", device.info().name, reports.len());
        println!("{}\n{}", device.info().name, mutation::table(&reports));
        assert_eq!(mutation::list_survivors(&reports), Vec::<String>::new());
    }
}

#[cfg(feature = "opencl")]
#[test]
fn no_mutation_survives_by_opencl() {
    check_mutations(&rsb_portable::opencl::OpenclBackend::Every, 20, 1);
}

#[cfg(feature = "vulkan")]
#[test]
fn no_mutation_survives_by_vulkan() {
    check_mutations(&rsb_portable::vulkan::VulkanBackend, 20, 1);
}

#[cfg(all(feature = "opencl", feature = "vulkan"))]
#[test]
#[ignore = "a thousand seeds take half an hour; cargo xtask test --slow"]
fn slow_no_mutation_survives_on_a_thousand_seeds() {
    check_mutations(
        &rsb_portable::opencl::OpenclBackend::Every,
        mutation::seeds_of_slow_test(),
        20,
    );
    check_mutations(&rsb_portable::vulkan::VulkanBackend, mutation::seeds_of_slow_test(), 20);
}
