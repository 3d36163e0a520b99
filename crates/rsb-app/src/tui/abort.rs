//! Restores the terminal when the program is aborted, also by a library, or killed with a core
//! dump. Nothing else runs after such a signal, so its handler does this.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGABRT, SIGQUIT};
use signal_hook::low_level::{emulate_default_handler, register};

/// Releases the mouse, bracketed paste and the alternate screen, and shows the cursor.
const RELEASE: &[u8] = b"\x1b[?1006l\x1b[?1015l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?2004l\
                         \x1b[?1049l\x1b[?25h";

/// The terminal, and its modes before it was taken over.
struct Restored {
    terminal: OwnedFd,
    modes: Termios,
}

static RESTORED: OnceLock<Restored> = OnceLock::new();

/// Restores the current modes of `terminal` at SIGABRT and SIGQUIT, before their default action.
/// Only the first call has an effect.
///
/// # Errors
/// If the modes cannot be read, or a handler cannot be installed.
pub(super) fn restore_on_abort(terminal: OwnedFd) -> std::io::Result<()> {
    let modes = tcgetattr(&terminal)?;
    if RESTORED.set(Restored { terminal, modes }).is_err() {
        return Ok(());
    }
    for signal in [SIGABRT, SIGQUIT] {
        // SAFETY: the handler only reads a static that is already set, makes two system calls and
        // calls a function that is documented as async-signal-safe. It neither allocates, locks
        // nor panics.
        #[expect(unsafe_code, reason = "a signal handler is the only code that runs then")]
        unsafe {
            register(signal, move || restore(signal))?;
        }
    }
    Ok(())
}

fn restore(signal: i32) {
    if let Some(Restored { terminal, modes }) = RESTORED.get() {
        // The program ends in any case, so errors are ignored.
        let _ = rustix::io::write(terminal, RELEASE);
        let _ = tcsetattr(terminal, OptionalActions::Now, modes);
    }
    let _ = emulate_default_handler(signal);
}
