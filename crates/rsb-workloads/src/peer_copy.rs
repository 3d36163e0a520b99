//! A copy from one GPU to another.

use rsb_device::operation::{HostMemory, Transfer, TransferDirection};
use rsb_device::{Buffer, Device, Kernel, Operation, Stream, reference};
use rsb_model::unit::gigabytes_per_second;
use rsb_model::{Fields, Reason};

use crate::accuracy::Accuracy;
use crate::benchmark::{Failure, Prepared};
use crate::device_group::position;
use crate::plausibility::{check_bandwidth, set_note};
use crate::timed::{SEED, check_time};

/// A copy from one GPU to another, checked where it arrives.
pub(crate) struct PeerCopy<'d> {
    device: &'d dyn Device,
    operation: Operation,
    size: u64,
    peer: u32,
    kernel: Box<dyn Kernel + 'd>,
    stream: Box<dyn Stream + 'd>,
    accuracy: Accuracy,
    _buffers: [Buffer; 2],
}

impl<'d> PeerCopy<'d> {
    /// Of `size` bytes to the device at position `peer`, done once and verified there.
    pub(crate) fn prepare(device: &'d dyn Device, peer: Option<u32>, size: u64) -> Result<Self, Failure> {
        let peer = peer.filter(|&peer| peer != position(device)).ok_or_else(|| {
            Failure::Skipped(Reason::new(
                format!("a copy from {} to itself", device.info().device),
                "that is no copy between GPUs",
                "choose another `peer`; memory-transfer measures copies within a GPU",
            ))
        })?;
        let bytes = size / 4 * 4;
        let copy = Transfer { direction: TransferDirection::DeviceToDevice, host_memory: HostMemory::Pinned, bytes };
        let operation = Operation::Transfer(copy);
        let other = device.peer(peer)?;
        let buffers = [device.allocate(size)?, other.allocate(size)?];
        let [from, to] = &buffers;
        reference::fill(device, &operation, std::slice::from_ref(from), SEED)?;
        reference::mark_unwritten(other, to)?;
        let mut kernel = device.prepare_copy(from, to)?;
        let mut stream = device.stream()?;
        kernel.launch()?;
        stream.synchronize()?;
        let error = reference::verify(other, &operation, &buffers, SEED, None)?;
        let accuracy = Accuracy { error, limit: reference::tolerance(&operation, None) };
        Ok(Self { device, operation, size, peer, kernel, stream, accuracy, _buffers: buffers })
    }
}

impl Prepared for PeerCopy<'_> {
    fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        let start = self.stream.record()?;
        for _ in 0..iters {
            self.kernel.launch()?;
        }
        let end = self.stream.record()?;
        self.stream.synchronize()?;
        let time = self.stream.elapsed_ns(start, end)?;
        check_time(time)?;
        Ok(time)
    }

    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure> {
        check_time(time_ns)?;
        let rate = gigabytes_per_second(self.size as f64, time_ns);
        let note = check_bandwidth(rate, &self.operation, self.device.info(), 1)?;
        let fields = Fields::new().with("operation", "peer-copy").with("provider", self.kernel.provider());
        let fields = fields.with("size_bytes", self.size).with("num_gpus", 2).with("peer", self.peer);
        let fields = fields.with("init", reference::init(&self.operation));
        let mut fields = fields.with("time_us", time_ns / 1e3).with("bandwidth_gb_s", rate);
        self.accuracy.set(&mut fields);
        set_note(&mut fields, note.as_deref());
        Ok(fields)
    }
}
