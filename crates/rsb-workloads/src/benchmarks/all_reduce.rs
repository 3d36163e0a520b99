//! A sum over all GPUs, each of which has the whole of it in the end: what data-parallel training does with its
//! gradients. By our own ring over copies between GPUs, and by the vendor's library where it is found.

use rsb_device::operation::{HostMemory, Transfer, TransferDirection};
use rsb_device::{Device, DeviceInfo, Operation, convert};
use rsb_model::unit::gigabytes_per_second;
use rsb_model::{BackendId, Fields, Params, Reason};

use super::{axis, by_kind, bytes, dtype, grid, number, sizes};
use crate::axis::{AxisInfo, AxisKind, DTYPE};
use crate::benchmark::{Benchmark, Breadth, Failure, Grid, Prepared, RunsOn};
use crate::device_group::devices;
use crate::plausibility::check_bandwidth;
use crate::ring::{Ring, Summing};
use crate::timed::check_time;

/// All-reduce.
pub(super) struct AllReduce;

const AXES: &[AxisInfo] = &[
    DTYPE,
    AxisInfo::value("size", "bytes on each GPU", AxisKind::Bytes),
    AxisInfo::named("num_gpus", "GPUs that take part", "2", AxisKind::Count),
    AxisInfo::named(
        "provider",
        "ring: our own, by copies between GPUs; rccl: AMD's library",
        "ring",
        AxisKind::Choice(&["ring", "rccl"]),
    ),
];

const MIB: u64 = 1 << 20;

/// Buffers of its size that a GPU holds: its own numbers, what arrives, and the sum.
const BUFFERS: u64 = 3;

impl Benchmark for AllReduce {
    fn name(&self) -> &'static str {
        "all-reduce"
    }

    fn about(&self) -> &'static str {
        "Sum over several GPUs, with bus and algorithm bandwidth"
    }

    fn runs_on(&self) -> RunsOn {
        RunsOn::Gpus
    }

    fn fewest_gpus(&self) -> usize {
        2
    }

    fn axes(&self) -> &'static [AxisInfo] {
        AXES
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        // The ring is the same from wherever one looks at it.
        if device.device.index != 0 {
            return Vec::new();
        }
        let f32 = || axis("dtype", &["f32"]);
        let large = by_kind(device, 64 * MIB, 4 * MIB);
        let mut grids = vec![grid([f32(), sizes("size", &[large])])];
        if device.device.backend == BackendId::Rocm {
            grids.push(grid([f32(), sizes("size", &[large]), axis("provider", &["rccl"])]));
        }
        if breadth >= Breadth::Standard {
            grids.push(grid([f32(), sizes("size", &[MIB, large]), axis("num_gpus", &["2", "4", "8"])]));
            grids.push(grid([axis("dtype", &["f16", "bf16"]), sizes("size", &[large])]));
        }
        if breadth == Breadth::Full {
            let every = sizes("size", &[64 << 10, MIB, 16 * MIB, 256 * MIB]);
            grids.push(grid([
                axis("dtype", &["f32", "f16", "bf16"]),
                every,
                axis("num_gpus", &["2", "3", "4", "6", "8"]),
            ]));
        }
        grids
    }

    fn footprint_bytes(&self, params: &Params) -> Result<u64, Reason> {
        let (dtype, size) = (dtype(params)?, bytes(params, "size")?);
        if !convert::is_known(dtype) || convert::epsilon(dtype) == 0.0 {
            return Err(Reason::new(
                format!("all-reduce of {dtype}"),
                "there is no kernel that adds numbers of this type",
                "choose f64, f32, f16 or bf16",
            ));
        }
        if size < dtype.bytes(1) {
            return Err(Reason::new(format!("{size} bytes"), "one number is larger", "choose a larger size"));
        }
        Ok(size.saturating_mul(BUFFERS))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> Result<Box<dyn Prepared + 'd>, Failure> {
        self.footprint_bytes(params).map_err(Failure::Skipped)?;
        let (dtype, size) =
            (dtype(params).map_err(Failure::Skipped)?, bytes(params, "size").map_err(Failure::Skipped)?);
        let count: u32 = number(params, "num_gpus").map_err(Failure::Skipped)?;
        if count < 2 {
            return Err(Failure::Skipped(Reason::new(
                "all-reduce on one GPU",
                "there is nothing to add up",
                "choose num_gpus=2 or more",
            )));
        }
        let summing = if params.text("provider") == Some("rccl") { Summing::ByLibrary } else { Summing::ByRing };
        let ring = Ring::prepare(&devices(device, count)?, dtype, size / dtype.bytes(1), summing)?;
        Ok(Box::new(Case { ring, device, dtype: dtype.as_str(), size, count }))
    }
}

struct Case<'d> {
    ring: Ring<'d>,
    device: &'d dyn Device,
    dtype: &'static str,
    size: u64,
    count: u32,
}

impl Prepared for Case<'_> {
    fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        self.ring.sample(iters)
    }

    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure> {
        check_time(time_ns)?;
        // As nccl-tests defines them: what the sum as a whole achieves, and what each link had to carry for it.
        let algorithm = gigabytes_per_second(self.size as f64, time_ns);
        let bus = algorithm * 2.0 * f64::from(self.count - 1) / f64::from(self.count);
        // Every byte over a link is read from one GPU's memory and written to another's.
        let copy = Transfer {
            direction: TransferDirection::DeviceToDevice,
            host_memory: HostMemory::Pinned,
            bytes: self.size,
        };
        check_bandwidth(bus, &Operation::Transfer(copy), self.device.info(), 1)?;
        let fields = Fields::new().with("operation", "all-reduce").with("dtype", self.dtype);
        let fields = fields.with("provider", self.ring.provider()).with("size_bytes", self.size);
        let fields = fields.with("num_gpus", self.count).with("init", "random uniform in [-1, 1)");
        let fields = fields.with("accuracy_error", self.ring.accuracy_error).with("time_us", time_ns / 1e3);
        Ok(fields.with("bandwidth_gb_s", bus).with("throughput_gb_s", algorithm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::scripted::{Clock, Fault, Script, ScriptedDevice};

    fn machine(script: Script, gpus: u32) -> ScriptedDevice {
        ScriptedDevice::new(Script { peers: gpus - 1, ..script })
    }

    fn params(dtype: &str, size: &str, count: u32) -> Params {
        let params = Params::new().with("dtype", dtype).with("size", size);
        params.with("num_gpus", count.to_string()).with("provider", "ring")
    }

    #[test]
    fn every_gpu_ends_with_the_sum_of_all_however_many_there_are() {
        for count in 2..=8 {
            let device = machine(Script::default(), count);
            for (dtype, size) in [("f32", "4KiB"), ("f16", "1002B"), ("f64", "8B"), ("bf16", "6KiB")] {
                let prepared = AllReduce.prepare(&params(dtype, size, count), &device);
                assert!(prepared.is_ok(), "{count} {dtype} {size}: {:?}", prepared.err());
            }
        }
    }

    #[test]
    fn the_bus_carries_more_than_the_sum_is_large() {
        let device = machine(Script::with_clock(Clock::Constant(1000.0)), 4);
        let mut prepared = AllReduce.prepare(&params("f32", "64KiB", 4), &device).unwrap();
        let time = prepared.sample(5).unwrap() / 5.0;
        let fields = prepared.fields(time).unwrap();
        let (bus, algorithm) = (fields.number("bandwidth_gb_s").unwrap(), fields.number("throughput_gb_s").unwrap());
        assert!((bus / algorithm - 1.5).abs() < 1e-9, "{bus} {algorithm}");
        assert!((algorithm - 65_536.0 / time).abs() < 1e-9);
        assert!(matches!(prepared.fields(1e-3), Err(Failure::Failed(_))), "faster than any memory");
    }

    #[test]
    fn a_wrong_sum_is_never_timed() {
        let device = machine(Script::with_fault(Fault::WrongResult { launch: 0 }), 3);
        match AllReduce.prepare(&params("f32", "4KiB", 3), &device).err() {
            Some(Failure::Failed(reason)) => assert!(reason.what.contains("wrong result"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_is_skipped_with_the_cure() {
        let check = |params: &Params, gpus: u32, word: &str| match AllReduce
            .prepare(params, &machine(Script::default(), gpus))
            .err()
        {
            Some(Failure::Skipped(reason)) => assert!(reason.to_string().contains(word), "{reason}"),
            other => panic!("{other:?}"),
        };
        check(&params("f32", "4KiB", 2), 1, "num_gpus");
        check(&params("f32", "4KiB", 1), 2, "nothing to add up");
        check(&params("i8", "4KiB", 2), 2, "f64, f32, f16 or bf16");
        check(&params("f32", "4KiB", 2).with("provider", "rccl"), 2, "provider=ring");
    }
}
