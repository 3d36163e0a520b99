//! Memory of the GPU, memory of the host and the link between them, side by side: what it costs to keep a tensor where.

use rsb_device::operation::{HostMemory, MemoryStream, Stores, StreamPattern, Transfer, TransferDirection};
use rsb_device::{Device, DeviceInfo, Operation, Options, Registry};
use rsb_model::{Dtype, Params, Reason};

use super::memory_transfer::{largest, rates, whole};
use super::{axis, bandwidth, bytes, grid, sizes};
use crate::axis::{AxisInfo, AxisKind};
use crate::benchmark::{Benchmark, Breadth, Failure, Grid, Prepared, RunsOn};
use crate::timed::{PreparedCase, Timed};

/// Copies within each memory, transfers over the link.
pub(super) struct MemoryTiers;

const TIERS: &[&str] = &["device", "host", "host-to-device", "device-to-host"];

const AXES: &[AxisInfo] = &[
    AxisInfo::value(
        "tier",
        "memory of the device (a copy), of the host (a copy by all threads), or the link between, either way",
        AxisKind::Choice(TIERS),
    ),
    AxisInfo::value("size", "bytes in each array", AxisKind::Bytes),
];

impl MemoryTiers {
    fn is_of_the_host(params: &Params) -> bool {
        params.text("tier") == Some("host")
    }
}

impl Benchmark for MemoryTiers {
    fn name(&self) -> &'static str {
        "memory-tiers"
    }

    fn about(&self) -> &'static str {
        "The GPU's memory, the host's memory and the link between them, compared"
    }

    fn runs_on(&self) -> RunsOn {
        RunsOn::Gpus
    }

    fn axes(&self) -> &'static [AxisInfo] {
        AXES
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        let large = largest(device);
        let chosen = match breadth {
            Breadth::Quick => vec![large],
            Breadth::Standard => vec![large / 16, large],
            Breadth::Full => vec![large / 256, large / 64, large / 16, large / 4, large],
        };
        vec![grid([axis("tier", TIERS), sizes("size", &chosen)])]
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let size = whole(bytes(params, "size")?)?;
        let transfer = |direction| Transfer { direction, host_memory: HostMemory::Pinned, bytes: size };
        let copy =
            |stores| MemoryStream { pattern: StreamPattern::Copy, dtype: Dtype::F32, elements: size / 4, stores };
        Ok(match params.text("tier") {
            Some("host-to-device") => Operation::Transfer(transfer(TransferDirection::HostToDevice)),
            Some("device-to-host") => Operation::Transfer(transfer(TransferDirection::DeviceToHost)),
            Some("host") => Operation::Stream(copy(Stores::NonTemporal)),
            _ => Operation::Stream(copy(Stores::Temporal)),
        })
    }

    fn footprint_bytes(&self, params: &Params) -> Result<u64, Reason> {
        let needed = self.operation(params)?.footprint_bytes();
        Ok(if Self::is_of_the_host(params) { 0 } else { needed })
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> Result<Box<dyn Prepared + 'd>, Failure> {
        self.prepare_with(params, device, &Registry::default())
    }

    fn prepare_with<'d>(
        &self,
        params: &Params,
        device: &'d dyn Device,
        backends: &Registry,
    ) -> Result<Box<dyn Prepared + 'd>, Failure> {
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        let size = bytes(params, "size").map_err(Failure::Skipped)?;
        let tier = params.text("tier").unwrap_or("device").to_owned();
        let timed: Timed<'d> = if Self::is_of_the_host(params) {
            let host = host(backends).map_err(Failure::Skipped)?;
            let options = Options { threads: Some(host.info().units), ..Options::default() };
            Timed::prepare(host, operation, options)?
        } else {
            Timed::prepare(device, operation, Options::default())?
        };
        Ok(PreparedCase::boxed(timed, move |timed, time_ns| {
            let mut fields = match &timed.operation {
                Operation::Stream(stream) => bandwidth::fields(timed, time_ns, stream.stores.as_str(), size)?,
                _ => rates(timed, time_ns)?.with("size_bytes", size),
            };
            fields.set("memory_tier", tier.clone());
            Ok(fields)
        }))
    }
}

/// The CPU, beside the GPU that the case is about. It lives as long as the process, which is a worker with this
/// one case: nobody else would own it.
fn host(backends: &Registry) -> Result<&'static dyn Device, Reason> {
    Ok(Box::leak(backends.open("cpu:0")?))
}
