//! Level Zero: the devices by both of its interfaces, and the sensors by sysman. Nothing can be computed through it.

pub(super) mod devices;
pub(super) mod sensors;

use level_zero_sys::Structure;

use crate::sysman::{INVALID_HANDLE, INVALID_POINTER, INVALID_STRUCTURE, SUCCESS, Status, Sysman, with};

/// What a handle stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Driver = 0x41,
    Device,
    Temperature,
    Power,
    Clock,
    Engines,
    Memory,
}

/// A handle: its kind, its card, and which of the card's.
fn handle_of<T>(kind: Kind, card: usize, which: usize) -> *mut T {
    ((kind as usize) << 24 | card << 12 | which << 4) as *mut T
}

/// Card and which of a handle, when it is one of that kind and of a card that is there.
fn parts<T>(sysman: &Sysman, kind: Kind, handle: *mut T) -> Result<(usize, usize), Status> {
    let number = handle as usize;
    let (card, which) = (number >> 12 & 0xfff, number >> 4 & 0xff);
    let is_one = card < sysman.count() && handle == handle_of(kind, card, which);
    if is_one { Ok((card, which)) } else { Err(INVALID_HANDLE) }
}

/// Answers a call of sysman's; before `zesInit` that is refused.
fn answer(call: impl FnOnce(&mut Sysman) -> Result<(), Status>) -> Status {
    with(|sysman| sysman.started().and_then(|()| call(sysman))).err().unwrap_or(SUCCESS)
}

/// Tells how many `handles` there are; or, where there is room for some, tells them.
///
/// # Safety
/// `count` must be null or point to a number, and `to` be null or have room for so many.
unsafe fn tell<T>(count: *mut u32, to: *mut *mut T, handles: &[*mut T]) -> Result<(), Status> {
    if count.is_null() {
        return Err(INVALID_POINTER);
    }
    let all = u32::try_from(handles.len()).unwrap_or(0);
    // SAFETY: by the promise of the caller.
    let room = unsafe { count.read() };
    let written = if to.is_null() || room == 0 { all } else { room.min(all) };
    if !to.is_null() {
        // SAFETY: no more than there is room for, by the promise of the caller; no more than there are.
        unsafe { std::ptr::copy_nonoverlapping(handles.as_ptr(), to, room.min(all) as usize) };
    }
    // SAFETY: by the promise of the caller.
    unsafe { count.write(written) };
    Ok(())
}

/// Fills in a structure, when the caller has said of what type it is.
///
/// # Safety
/// `to` must be null or point to a structure that begins with the number of its type.
unsafe fn fill<S: Structure>(to: *mut S, write: impl FnOnce(&mut S)) -> Result<(), Status> {
    if to.is_null() {
        return Err(INVALID_POINTER);
    }
    let known = S::empty();
    // SAFETY: by the promise of the caller; ours begins so too.
    let (told, known) = unsafe { (to.cast::<u32>().read(), (&raw const known).cast::<u32>().read()) };
    if told != known {
        return Err(INVALID_STRUCTURE);
    }
    // SAFETY: by the promise of the caller, who has made it.
    write(unsafe { &mut *to });
    Ok(())
}

/// Writes a figure where the caller wants it.
///
/// # Safety
/// `to` must be null or point to room for one.
unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Status> {
    // SAFETY: by the promise of the caller.
    unsafe { super::put(to, value) }.map_err(|_| INVALID_POINTER)
}
