//! Interface between workloads and the devices they run on.
//!
//! A workload describes an [`Operation`] and its buffers, a [`Device`] runs it, and the module
//! [`mod@reference`] verifies the result. A backend implements [`Backend`], [`Device`], [`Kernel`]
//! and [`Stream`] in its own crate; a [`Registry`] holds the backends of a build.

pub mod child;
pub mod compiler;
pub mod convert;
pub mod device;
pub mod error;
pub mod held;
pub mod host_cpu;
pub mod operation;
pub mod random;
pub mod reference;
pub mod registry;
#[cfg(any(test, feature = "testing"))]
pub mod scripted;

pub use device::{
    Absence, Backend, Buffer, CacheCounters, CacheCounts, Device, DeviceInfo, Kernel, Launcher,
    Occupancy, Stream, StreamClock, StreamEvent,
};
pub use error::DeviceError;
pub use operation::{BufferSpec, Operation, Options, Role};
pub use registry::Registry;
