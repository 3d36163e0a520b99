//! The terminal, which is restored in any case. While the interface uses it, the standard output
//! and standard error of the program and its libraries are shown on the page instead of overwriting
//! it.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, PipeReader, Write as _, stderr, stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, anyhow};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rsb_tui::{State, view};
use signal_hook::consts::SIGTSTP;
use signal_hook::low_level::emulate_default_handler;

use super::abort::restore_on_abort;
use crate::AppError;

/// Maximum length of a line of output that is read as one piece.
const LONGEST: u64 = 4096;

/// Saved state of the terminal. Taking it restores the terminal, once.
static BEFORE: Mutex<Option<SavedTerminal>> = Mutex::new(None);

/// The original streams and terminal.
struct SavedTerminal {
    stdout: OwnedFd,
    stderr: OwnedFd,
    terminal: File,
}

/// The terminal, restored on drop.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<File>>,
}

impl Screen {
    /// Takes over the terminal. Also returns a reader of the program's output from now on.
    ///
    /// # Errors
    /// If standard input or output is not a terminal, or the terminal cannot be taken over.
    pub(super) fn take() -> Result<(Self, PipeReader), AppError> {
        if !stdin().is_terminal() || !stdout().is_terminal() {
            return Err(AppError::usage(anyhow!(
                "`tui` needs a terminal for its input and output; in a script `rusty-stack-bench \
                 run`, `compare`, `trend` \
                 and `components` do the same, each with --json"
            )));
        }
        give_back_in_panics();
        take()
            .inspect_err(|_| give_back())
            .context("cannot take over the terminal")
            .map_err(AppError::from)
    }

    /// Draws `state`.
    pub(super) fn draw(&mut self, state: &mut State) -> std::io::Result<()> {
        let mut shown = rsb_tui::DrawnPage::default();
        self.terminal.draw(|frame| shown = view(state, frame))?;
        state.drawn(shown);
        Ok(())
    }

    /// Stops the program as SIGTSTP does, with the terminal restored until it continues.
    pub(super) fn suspend(&mut self) -> std::io::Result<()> {
        release(self.terminal.backend_mut());
        emulate_default_handler(SIGTSTP)?;
        self.resume()
    }

    /// Takes over the terminal again, whose modes the shell may have changed meanwhile.
    pub(super) fn resume(&mut self) -> std::io::Result<()> {
        disable_raw_mode()?;
        occupy(self.terminal.backend_mut())?;
        execute!(self.terminal.backend_mut(), Clear(ClearType::All))?;
        // `Terminal::clear` would wait for the position of the cursor, which the thread that reads
        // keys receives. Afterwards both buffers are empty, so the next frame is drawn in full.
        self.terminal.swap_buffers();
        Ok(())
    }

    /// Copies `text` to the clipboard, if the terminal supports that (OSC 52).
    pub(super) fn copy(&mut self, text: &str) -> std::io::Result<()> {
        let terminal = self.terminal.backend_mut();
        write!(terminal, "\x1b]52;c;{}\x07", STANDARD.encode(text))?;
        std::io::Write::flush(terminal)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> std::io::Result<(Screen, PipeReader)> {
    let (reader, writer) = std::io::pipe()?;
    let mut terminal = File::from(clone_stdout()?);
    let before = SavedTerminal {
        stdout: clone_stdout()?,
        stderr: stderr().as_fd().try_clone_to_owned()?,
        terminal: File::from(clone_stdout()?),
    };
    *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
    restore_on_abort(clone_stdout()?)?;
    occupy(&mut terminal)?;
    rustix::stdio::dup2_stdout(&writer)?;
    rustix::stdio::dup2_stderr(&writer)?;
    Ok((Screen { terminal: Terminal::new(CrosstermBackend::new(terminal))? }, reader))
}

fn occupy(terminal: &mut impl std::io::Write) -> std::io::Result<()> {
    enable_raw_mode()?;
    execute!(terminal, EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste, Hide)
}

/// Releases the terminal as far as possible: errors of a closed one are ignored.
fn release(terminal: &mut impl std::io::Write) {
    let _ =
        execute!(terminal, DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

fn clone_stdout() -> std::io::Result<OwnedFd> {
    stdout().as_fd().try_clone_to_owned()
}

/// Restores the terminal, if it was taken over and not restored yet. Errors of a closed terminal
/// are ignored.
pub(super) fn give_back() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(mut before) = before {
        release(&mut before.terminal);
        let _ = rustix::stdio::dup2_stdout(&before.stdout);
        let _ = rustix::stdio::dup2_stderr(&before.stderr);
    }
}

/// Makes a panic of this thread restore the terminal before its message. A panic of another thread
/// is shown on the page, and the program continues.
fn give_back_in_panics() {
    let (drawing, previous) = (thread::current().id(), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        if thread::current().id() == drawing {
            give_back();
        }
        previous(panic);
    }));
}

/// Reads the output of the program, line by line, until all writers are closed.
pub(super) fn listen(output: PipeReader, mut hear: impl FnMut(String)) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        match std::io::Read::take(&mut output, LONGEST).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => hear(String::from_utf8_lossy(&line).trim_end().to_owned()),
        }
    }
}
