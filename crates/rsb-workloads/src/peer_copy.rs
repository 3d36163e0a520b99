//! Copies from one GPU to another, optionally in both directions at once.

use rsb_device::operation::{HostMemory, Transfer, TransferDirection};
use rsb_device::{Buffer, Device, Kernel, Operation, Stream, reference};
use rsb_model::unit::gigabytes_per_second;
use rsb_model::{Fields, Reason};

use crate::accuracy::Accuracy;
use crate::benchmark::{Failure, Prepared};
use crate::collective::longest;
use crate::device_group::position;
use crate::plausibility::{check_bandwidth, set_note};
use crate::timed::{SEED, check_time};

/// One direction of a copy, in the stream of the source GPU.
struct OneWayCopy<'d> {
    kernel: Box<dyn Kernel + 'd>,
    _buffers: [Buffer; 2],
}

impl<'d> OneWayCopy<'d> {
    /// Runs the copy once and verifies the destination.
    fn prepare(
        [from, to]: [&'d dyn Device; 2],
        operation: &Operation,
        bytes: u64,
        stream: &mut dyn Stream,
    ) -> Result<(Self, f64), Failure> {
        let buffers = [from.allocate(bytes)?, to.allocate(bytes)?];
        let [source, target] = &buffers;
        reference::fill(from, operation, std::slice::from_ref(source), SEED)?;
        reference::mark_unwritten(to, target)?;
        let mut kernel = from.prepare_copy(source, target)?;
        kernel.launch()?;
        stream.synchronize()?;
        let error = reference::verify(to, operation, &buffers, SEED, None)?;
        Ok((Self { kernel, _buffers: buffers }, error))
    }
}

/// Direction of a copy between two GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerDirection {
    OneWay,
    BothWays,
}

impl PeerDirection {
    /// Returns the name of the operation.
    const fn name(self) -> &'static str {
        match self {
            Self::OneWay => "peer-copy",
            Self::BothWays => "peer-exchange",
        }
    }
}

/// Copies between two GPUs, verified at the destination.
pub(crate) struct PeerCopy<'d> {
    device: &'d dyn Device,
    operation: Operation,
    size: u64,
    peer: u32,
    direction: PeerDirection,
    ways: Vec<OneWayCopy<'d>>,
    /// One per direction.
    streams: Vec<Box<dyn Stream + 'd>>,
    accuracy: Accuracy,
}

impl<'d> PeerCopy<'d> {
    /// Prepares a copy of `size` bytes to the device at position `peer`, and in the reverse
    /// direction as well if `direction` requires it.
    pub(crate) fn prepare(
        device: &'d dyn Device,
        peer: Option<u32>,
        size: u64,
        direction: PeerDirection,
    ) -> Result<Self, Failure> {
        let peer = peer.filter(|&peer| peer != position(device)).ok_or_else(|| {
            Failure::Skipped(Reason::new(
                format!("a copy from {} to itself", device.info().device),
                "source and target are the same GPU",
                "choose another `peer`; memory-transfer measures copies within a GPU",
            ))
        })?;
        let bytes = size / 4 * 4;
        let copy = Transfer {
            direction: TransferDirection::DeviceToDevice,
            host_memory: HostMemory::Pinned,
            bytes,
        };
        let operation = Operation::Transfer(copy);
        let other = device.peer(peer)?;
        let ends: &[[&'d dyn Device; 2]] = match direction {
            PeerDirection::OneWay => &[[device, other]],
            PeerDirection::BothWays => &[[device, other], [other, device]],
        };
        let (mut ways, mut streams, mut accuracy) = (Vec::new(), Vec::new(), Accuracy::default());
        for &ends in ends {
            let mut stream = ends[0].stream()?;
            let (way, error) = OneWayCopy::prepare(ends, &operation, size, &mut *stream)?;
            accuracy =
                accuracy.worst(Accuracy { error, limit: reference::tolerance(&operation, None) });
            ways.push(way);
            streams.push(stream);
        }
        Ok(Self { device, operation, size, peer, direction, ways, streams, accuracy })
    }
}

impl Prepared for PeerCopy<'_> {
    fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        let ways = &mut self.ways;
        longest(&mut self.streams, |_| {
            Ok((0..iters)
                .try_for_each(|_| ways.iter_mut().try_for_each(|way| way.kernel.launch()))?)
        })
    }

    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure> {
        check_time(time_ns)?;
        let bytes = self.size as f64 * self.ways.len() as f64;
        let rate = gigabytes_per_second(bytes, time_ns);
        let note = check_bandwidth(rate, &self.operation, self.device.info(), 1)?;
        let provider = self.ways.first().map(|way| way.kernel.provider()).unwrap_or_default();
        let fields =
            Fields::new().with("operation", self.direction.name()).with("provider", provider);
        let fields =
            fields.with("size_bytes", self.size).with("num_gpus", 2).with("peer", self.peer);
        let fields = fields.with("init", reference::init(&self.operation));
        let mut fields = fields.with("time_us", time_ns / 1e3).with("bandwidth_gb_s", rate);
        self.accuracy.set(&mut fields);
        set_note(&mut fields, note.as_deref());
        Ok(fields)
    }
}
