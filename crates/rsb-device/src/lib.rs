//! The contract between what is measured and what it runs on.
//!
//! A workload describes an [`Operation`] and its buffers; a [`Device`] does it; the module
//! [`mod@reference`] says what is right. A backend implements [`Backend`], [`Device`], [`Kernel`]
//! and [`Stream`] in a crate of its own; those of a build come together in a [`Registry`].

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
