//! Collective communication of several devices. Sizes and bandwidths are counted as in nccl-tests.

use rsb_model::Dtype;

use super::named;

rsb_model::named_enum! {
    /// Type of collective, defined by the result on each device.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CollectiveKind {
        /// Every device receives the sum of the data of all devices.
        AllReduce = "all-reduce",
        /// Every device receives the concatenated parts of all devices.
        AllGather = "all-gather",
        /// Every device receives its own part of the sum.
        ReduceScatter = "reduce-scatter",
        /// Every device receives the data of the first.
        Broadcast = "broadcast",
        /// Every device receives, from each other device, the part intended for it.
        AllToAll = "all-to-all",
        /// Every device receives the data of its predecessor; the first receives that of the last.
        SendReceive = "send-receive",
    }
}

named!(CollectiveKind, "collective operation");

rsb_model::named_enum! {
    /// Buffer that receives the result.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Placement {
        /// A separate output buffer.
        OutOfPlace = "out-of-place",
        /// The input buffer.
        InPlace = "in-place",
    }
}

named!(Placement, "placement");

/// Whether a collective may run concurrently with other work of its devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectiveLane {
    /// After all previous launches, and before all subsequent ones.
    InLine,
    /// After all previous launches, and concurrent with subsequent ones until it is
    /// [joined](crate::Kernel::join).
    Beside,
}

rsb_model::named_enum! {
    /// Threads that call the library.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CollectiveLauncher {
        /// One thread, which groups the calls for all devices.
        OneThread = "one-thread",
        /// One thread per device; the threads call the library concurrently.
        Threads = "threads",
    }
}

named!(CollectiveLauncher, "launcher");

impl CollectiveKind {
    /// Returns whether the data sent or received is divided into one part per device.
    pub const fn is_in_parts(self) -> bool {
        matches!(self, Self::AllGather | Self::ReduceScatter | Self::AllToAll)
    }

    /// Returns whether the collective adds numbers.
    pub const fn adds(self) -> bool {
        matches!(self, Self::AllReduce | Self::ReduceScatter)
    }

    /// Returns whether the result may overwrite the input. It may not if an overwritten part would
    /// still have to be sent.
    pub const fn can_be_in_place(self) -> bool {
        !matches!(self, Self::AllToAll | Self::SendReceive)
    }

    /// Returns whether every device receives the same data.
    pub const fn is_alike(self) -> bool {
        matches!(self, Self::AllReduce | Self::AllGather | Self::Broadcast)
    }

    /// Returns the factor from the bandwidth of the whole operation on `devices` devices to the
    /// bandwidth of the slowest link, as defined by nccl-tests.
    pub fn bus_factor(self, devices: u32) -> f64 {
        let (devices, others) = (f64::from(devices), f64::from(devices.saturating_sub(1)));
        match self {
            Self::AllReduce => 2.0 * others / devices,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => others / devices,
            Self::Broadcast | Self::SendReceive => 1.0,
        }
    }
}

/// One collective over several devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collective {
    /// Type of collective.
    pub kind: CollectiveKind,
    /// Type of an element.
    pub dtype: Dtype,
    /// Elements that a device sends or receives, whichever is more.
    pub elements: u64,
    /// Number of devices, above zero.
    pub devices: u64,
    /// Destination of the result.
    pub placement: Placement,
    /// Whether it may run concurrently with other work of the devices.
    pub lane: CollectiveLane,
    /// Threads that call the library.
    pub launcher: CollectiveLauncher,
}

/// A contiguous part of the result on one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectivePart {
    /// Device that the data comes from; `None` for the sum of all.
    pub from: Option<u64>,
    /// Offset in the data sent.
    pub sent_at: u64,
    /// Offset in the data received.
    pub received_at: u64,
    /// Number of elements.
    pub elements: u64,
}

impl Collective {
    /// Creates a collective with as many elements as fit in `bytes`. If the data is divided into
    /// parts, all parts are equal.
    pub fn of_bytes(kind: CollectiveKind, dtype: Dtype, bytes: u64, devices: u64) -> Self {
        let elements = bytes / dtype.bytes(1);
        let rest = if kind.is_in_parts() { elements % devices } else { 0 };
        Self {
            kind,
            dtype,
            elements: elements - rest,
            devices,
            placement: Placement::OutOfPlace,
            lane: CollectiveLane::InLine,
            launcher: CollectiveLauncher::OneThread,
        }
    }

    /// Returns the bytes sent or received, whichever is larger. Bandwidths are computed from this
    /// size.
    pub fn bytes(&self) -> u64 {
        self.dtype.bytes(self.elements)
    }

    /// Returns the number of elements of one part.
    pub fn part(&self) -> u64 {
        self.elements / self.devices
    }

    /// Returns the number of elements that each device sends.
    pub fn elements_sent(&self) -> u64 {
        if self.kind == CollectiveKind::AllGather { self.part() } else { self.elements }
    }

    /// Returns the number of elements that each device receives.
    pub fn elements_received(&self) -> u64 {
        if self.kind == CollectiveKind::ReduceScatter { self.part() } else { self.elements }
    }

    /// Returns the offsets, in elements, at which device `rank` sends and receives within one
    /// buffer of all elements. Both are 0 unless the collective is in place.
    pub fn places(&self, rank: u64) -> [u64; 2] {
        match (self.placement, self.kind) {
            (Placement::InPlace, CollectiveKind::AllGather) => [rank * self.part(), 0],
            (Placement::InPlace, CollectiveKind::ReduceScatter) => [0, rank * self.part()],
            _ => [0, 0],
        }
    }

    /// Returns the parts of the result on device `rank`.
    pub fn parts(&self, rank: u64) -> Vec<CollectivePart> {
        let whole =
            |from| CollectivePart { from, sent_at: 0, received_at: 0, elements: self.elements };
        let part = self.part();
        match self.kind {
            CollectiveKind::AllReduce => vec![whole(None)],
            CollectiveKind::Broadcast => vec![whole(Some(0))],
            CollectiveKind::SendReceive => {
                vec![whole(Some((rank + self.devices - 1) % self.devices))]
            }
            CollectiveKind::ReduceScatter => {
                vec![CollectivePart {
                    from: None,
                    sent_at: rank * part,
                    received_at: 0,
                    elements: part,
                }]
            }
            CollectiveKind::AllGather => self.part_of_each(0),
            CollectiveKind::AllToAll => self.part_of_each(rank * part),
        }
    }

    /// Returns one part from each device. Each device sends it from offset `sent_at`.
    fn part_of_each(&self, sent_at: u64) -> Vec<CollectivePart> {
        let elements = self.part();
        (0..self.devices)
            .map(|from| CollectivePart {
                from: Some(from),
                sent_at,
                received_at: from * elements,
                elements,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the factors published in `doc/PERFORMANCE.md` of nccl-tests, as fractions of
    /// n. The factor of send and receive is only in `src/sendrecv.cu`.
    #[test]
    fn the_bus_carries_what_nccl_tests_say_for_every_number_of_ranks() {
        for n in 1..=16_u32 {
            let ranks = f64::from(n);
            for (kind, published) in [
                (CollectiveKind::AllReduce, 2.0 * (ranks - 1.0) / ranks),
                (CollectiveKind::ReduceScatter, (ranks - 1.0) / ranks),
                (CollectiveKind::AllGather, (ranks - 1.0) / ranks),
                (CollectiveKind::Broadcast, 1.0),
                (CollectiveKind::AllToAll, (ranks - 1.0) / ranks),
                (CollectiveKind::SendReceive, 1.0),
            ] {
                assert!((kind.bus_factor(n) - published).abs() < 1e-12, "{kind} of {n}");
            }
        }
        // Values that nccl-tests prints for eight ranks.
        let eight = CollectiveKind::ALL.iter().map(|kind| kind.bus_factor(8)).collect::<Vec<_>>();
        assert_eq!(eight, [1.75, 0.875, 0.875, 1.0, 0.875, 1.0]);
    }

    #[test]
    fn every_element_is_received_once_and_comes_from_what_was_sent() {
        for kind in CollectiveKind::ALL {
            for devices in 1..=8 {
                let call = Collective::of_bytes(kind, Dtype::F32, 4 * 101, devices);
                assert_eq!(
                    call.elements,
                    if kind.is_in_parts() { 101 / devices * devices } else { 101 },
                    "{kind}"
                );
                let is_alike = (1..devices).all(|rank| call.parts(rank) == call.parts(0));
                assert!(is_alike == kind.is_alike() || devices == 1, "{kind} of {devices}");
                for rank in 0..devices {
                    let mut next = 0;
                    for part in call.parts(rank) {
                        assert_eq!(part.received_at, next, "{kind} of {devices}");
                        assert!(
                            part.sent_at + part.elements <= call.elements_sent()
                                && part.from < Some(devices)
                        );
                        assert_eq!(part.from.is_none(), kind.adds());
                        next += part.elements;
                    }
                    assert_eq!(next, call.elements_received(), "{kind} of {devices}");
                }
            }
        }
    }

    #[test]
    fn in_place_each_device_has_its_part_at_its_rank() {
        assert_eq!(in_place(CollectiveKind::AllGather).places(3), [6, 0]);
        assert_eq!(in_place(CollectiveKind::ReduceScatter).places(3), [0, 6]);
        assert_eq!(in_place(CollectiveKind::AllReduce).places(3), [0, 0]);
        assert!(
            !CollectiveKind::AllToAll.can_be_in_place()
                && CollectiveKind::Broadcast.can_be_in_place()
        );
    }

    fn in_place(kind: CollectiveKind) -> Collective {
        Collective {
            placement: Placement::InPlace,
            ..Collective::of_bytes(kind, Dtype::F16, 16, 4)
        }
    }
}
