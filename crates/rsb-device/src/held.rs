//! Helpers for backends with their own memory: access to a buffer's storage, copies to and from the
//! host, lazily created values, and convolution sizes for kernels.

use std::cell::RefCell;

use rsb_model::Reason;

use crate::device::{Buffer, DeviceError};
use crate::operation::Convolution;

/// Host side of a copy between device and host.
pub enum HostSide<'a> {
    /// Destination on the host.
    To(&'a mut [u8]),
    /// Source on the host.
    From(&'a [u8]),
}

/// Returns the storage of a buffer as a `T`.
///
/// # Errors
/// If the buffer is missing or belongs to another backend.
pub fn storage<T: 'static>(buffer: Option<&Buffer>) -> Result<&T, DeviceError> {
    buffer.and_then(Buffer::storage::<T>).ok_or_else(|| {
        DeviceError::Failed(Reason::new(
            "buffer",
            "it belongs to another device",
            "report this as a bug with the case id",
        ))
    })
}

/// A value created on first use and then kept.
pub struct LazyCell<T>(RefCell<Option<T>>);

impl<T> Default for LazyCell<T> {
    fn default() -> Self {
        Self(RefCell::new(None))
    }
}

impl<T> LazyCell<T> {
    /// Calls `does` with the value, after creating it with `make` on first use.
    ///
    /// # Errors
    /// If `make` or `does` fails.
    pub fn with<R, E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
        does: impl FnOnce(&mut T) -> Result<R, E>,
    ) -> Result<R, E> {
        let mut kept = self.0.borrow_mut();
        match &mut *kept {
            Some(known) => does(known),
            none => does(none.insert(make()?)),
        }
    }
}

/// Largest size of a convolution that kernels with 32-bit numbers accept.
const LARGEST: u64 = 1 << 24;

/// Returns the arguments of convolution kernels, in their order.
///
/// # Errors
/// If the sizes are not those of a convolution, or are too large for such kernels.
pub fn convolution_sizes(op: &Convolution) -> Result<[u64; 13], DeviceError> {
    let unsupported =
        |why: String, cure: &str| DeviceError::Unsupported(Reason::new("convolution", why, cure));
    let (rows, columns) = op.output_size().ok_or_else(|| {
        let why =
            "the kernel does not fit into the input, or the groups do not divide the channels";
        unsupported(why.to_owned(), "choose other sizes")
    })?;
    let sizes = [
        op.batch,
        op.in_channels,
        op.out_channels,
        op.height,
        op.width,
        op.kernel_height,
        op.kernel_width,
        rows,
        columns,
        op.stride,
        op.padding,
        op.dilation,
        op.groups,
    ];
    if sizes.iter().any(|&size| size > LARGEST) {
        return Err(unsupported(format!("a size is above {LARGEST}"), "choose a smaller size"));
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_made_once_and_a_failure_is_not_kept() {
        let kept = LazyCell::<u32>::default();
        assert_eq!(value_of(&kept, Err("no memory")), Err("no memory"));
        assert_eq!(value_of(&kept, Ok(3)), Ok(3));
        assert_eq!(value_of(&kept, Ok(4)), Ok(3));
    }

    fn value_of(
        kept: &LazyCell<u32>,
        made: Result<u32, &'static str>,
    ) -> Result<u32, &'static str> {
        kept.with(|| made, |known| Ok(*known))
    }

    #[test]
    fn storage_of_another_backend_is_a_defect_and_no_panic() {
        let buffer = Buffer::new(4, 7_u32);
        assert_eq!(storage::<u32>(Some(&buffer)), Ok(&7));
        assert!(matches!(storage::<u64>(Some(&buffer)), Err(DeviceError::Failed(_))));
        assert!(storage::<u32>(None).is_err());
    }
}
