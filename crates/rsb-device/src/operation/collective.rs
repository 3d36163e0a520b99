//! What several devices send one another at once. Sizes and bandwidths are counted as nccl-tests
//! count them.

use rsb_model::Dtype;

use super::named;

/// Who has what in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectiveKind {
    /// Every device has the sum of all.
    AllReduce,
    /// Every device has the parts of all, one after another.
    AllGather,
    /// Every device has its own part of the sum of all.
    ReduceScatter,
    /// Every device has what the first had.
    Broadcast,
    /// Every device has its own part of what each of the others had.
    AllToAll,
    /// Every device has what the one before it had, the first what the last had.
    SendReceive,
}

named!(
    CollectiveKind,
    "collective operation",
    AllReduce = "all-reduce",
    AllGather = "all-gather",
    ReduceScatter = "reduce-scatter",
    Broadcast = "broadcast",
    AllToAll = "all-to-all",
    SendReceive = "send-receive"
);

/// Where the result goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Into memory of its own.
    OutOfPlace,
    /// Where the numbers are that are sent.
    InPlace,
}

named!(Placement, "placement", OutOfPlace = "out-of-place", InPlace = "in-place");

/// Where among the work of its devices a collective goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectiveLane {
    /// After what was launched before, and before what is launched next.
    InLine,
    /// After what was launched before, and beside what is launched next, until it is
    /// [joined](crate::Kernel::join).
    Beside,
}

/// Who calls the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectiveLauncher {
    /// One thread, for all devices in one group.
    OneThread,
    /// A thread for each device, all at once.
    Threads,
}

named!(CollectiveLauncher, "launcher", OneThread = "one-thread", Threads = "threads");

impl CollectiveKind {
    /// Whether each device has one part of as many as there are devices, of what it sends or
    /// receives.
    pub const fn is_in_parts(self) -> bool {
        matches!(self, Self::AllGather | Self::ReduceScatter | Self::AllToAll)
    }

    /// Whether numbers are added.
    pub const fn adds(self) -> bool {
        matches!(self, Self::AllReduce | Self::ReduceScatter)
    }

    /// Whether the result may go where the numbers came from: a part that was overwritten cannot be
    /// sent any more.
    pub const fn can_be_in_place(self) -> bool {
        !matches!(self, Self::AllToAll | Self::SendReceive)
    }

    /// Whether every device has the same in the end.
    pub const fn is_alike(self) -> bool {
        matches!(self, Self::AllReduce | Self::AllGather | Self::Broadcast)
    }

    /// What the slowest link carries over what the operation as a whole does, on so many devices,
    /// as nccl-tests define it.
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
    /// Which.
    pub kind: CollectiveKind,
    /// Type of an element.
    pub dtype: Dtype,
    /// Elements in the larger of what a device sends and receives.
    pub elements: u64,
    /// How many take part, above zero.
    pub devices: u64,
    /// Where the result goes.
    pub placement: Placement,
    /// When it goes on.
    pub lane: CollectiveLane,
    /// Who calls the library for it.
    pub launcher: CollectiveLauncher,
}

/// A stretch of what a device has in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectivePart {
    /// The device whose numbers they are; `None` for the sum of all.
    pub from: Option<u64>,
    /// Where it begins in what was sent.
    pub sent_at: u64,
    /// Where it begins in what is received.
    pub received_at: u64,
    /// Elements.
    pub elements: u64,
}

impl Collective {
    /// With as many elements as fit in `bytes`, whole parts where there are parts.
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

    /// Bytes that count, which are those of the larger side.
    pub fn bytes(&self) -> u64 {
        self.dtype.bytes(self.elements)
    }

    /// Elements of one part.
    pub fn part(&self) -> u64 {
        self.elements / self.devices
    }

    /// Elements that each device sends.
    pub fn elements_sent(&self) -> u64 {
        if self.kind == CollectiveKind::AllGather { self.part() } else { self.elements }
    }

    /// Elements that each device receives.
    pub fn elements_received(&self) -> u64 {
        if self.kind == CollectiveKind::ReduceScatter { self.part() } else { self.elements }
    }

    /// Where in one buffer of all elements device `rank` has what it sends, and what it receives,
    /// in place.
    pub fn places(&self, rank: u64) -> [u64; 2] {
        match (self.placement, self.kind) {
            (Placement::InPlace, CollectiveKind::AllGather) => [rank * self.part(), 0],
            (Placement::InPlace, CollectiveKind::ReduceScatter) => [0, rank * self.part()],
            _ => [0, 0],
        }
    }

    /// What device `rank` has in the end.
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

    /// A part from each device, all of them sent from `sent_at` on.
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

    /// The factors of the published page (`doc/PERFORMANCE.md` of nccl-tests) as fractions of n;
    /// that of send and receive stands in its `src/sendrecv.cu` alone.
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
        // What their programs print for eight ranks.
        let eight = CollectiveKind::ALL.iter().map(|kind| kind.bus_factor(8)).collect::<Vec<_>>();
        assert_eq!(eight, [1.75, 0.875, 0.875, 1.0, 0.875, 1.0]);
    }

    #[test]
    fn every_element_is_received_once_and_comes_from_what_was_sent() {
        for &kind in CollectiveKind::ALL {
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
