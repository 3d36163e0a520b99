use rsb_model::Dtype;

use super::*;
use crate::operation::{Elementwise, ElementwiseOp};
use crate::reference::{fill, verify};

fn relu() -> Operation {
    Operation::Elementwise(Elementwise {
        op: ElementwiseOp::Relu,
        dtype: Dtype::F32,
        elements: 100,
    })
}

/// Runs all steps of a workload, up to the first failure. Returns the error of the result and the
/// time of three launches.
fn run(device: &ScriptedDevice) -> Result<(f64, f64), DeviceError> {
    let operation = relu();
    let buffers = operation
        .buffers()
        .iter()
        .map(|spec| device.allocate(spec.bytes()))
        .collect::<Result<Vec<_>, _>>()?;
    fill(device, &operation, &buffers, 1)?;
    let mut kernel = device.prepare(&operation, &Options::default(), &buffers)?;
    let mut stream = device.stream()?;
    kernel.launch()?;
    let error = verify(device, &operation, &buffers, 1, None)?;
    let from = stream.record()?;
    for _ in 0..3 {
        kernel.launch()?;
    }
    let to = stream.record()?;
    stream.synchronize()?;
    Ok((error, stream.elapsed_ns(from, to)?))
}

#[test]
fn without_faults_it_is_right_and_keeps_time() {
    let constant = ScriptedDevice::new(Script::with_clock(Clock::Constant(50.0)));
    assert_eq!(run(&constant), Ok((0.0, 150.0)));
    assert_eq!(
        constant.counts(),
        ScriptedCounts { allocations: 2, live_buffers: 0, launches: 4, flushes: 0 }
    );
    let list = ScriptedDevice::new(Script::with_clock(Clock::List(vec![1.0, 10.0, 100.0])));
    assert_eq!(run(&list), Ok((0.0, 111.0)));
    let function =
        ScriptedDevice::new(Script::with_clock(Clock::Function(Box::new(|launch, _| {
            launch as f64
        }))));
    assert_eq!(run(&function), Ok((0.0, 6.0)));
    assert_eq!(function.info().device_type, DeviceType::Simulated);
}

#[test]
fn each_fault_shows_where_it_should() {
    for (fault, word) in [
        (Fault::OutOfMemory { allocation: 1 }, "memory"),
        (Fault::LaunchFailure { launch: 0 }, "launch"),
        (Fault::LaunchFailure { launch: 2 }, "launch"),
        (Fault::WrongResult { launch: 0 }, "wrong result"),
        (Fault::NotANumber { launch: 0 }, "NaN"),
        (Fault::DeviceLost { launch: 0 }, "lost"),
        (Fault::DeviceLost { launch: 3 }, "lost"),
    ] {
        let error = run(&ScriptedDevice::new(Script::with_fault(fault))).unwrap_err();
        assert!(error.to_string().contains(word), "{fault:?}: {error}");
    }
    let lying = ScriptedDevice::new(Script::with_fault(Fault::LyingClock { elapsed_ns: 0.0 }));
    assert_eq!(run(&lying), Ok((0.0, 0.0)));
}
