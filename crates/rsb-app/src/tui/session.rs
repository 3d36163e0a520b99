//! Runs a session from the first frame to the last: input, drawing and exit.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread;
use std::time::Instant;

use anyhow::{Context, anyhow};
use ratatui::crossterm::event;
use rsb_engine::Event;
use rsb_engine::measure::interrupt;
use rsb_report::ThemeName;
use rsb_tui::{AnimationStyle, Command, InterfaceSettings, Key, Message, Palette, State, update};
use signal_hook::consts::{SIGCONT, SIGTSTP};
use signal_hook::iterator::Signals;

use super::jobs::JobWorker;
use super::keys;
use super::pace::FramePacer;
use super::screen::{self, Screen};
use crate::config::{Animation, Config};
use crate::{AppError, Exit, ProjectContext, ProjectPaths, decision, fleet};

/// Input of the drawing thread.
pub(super) enum Incoming {
    /// A message.
    Message(Message),
    /// An event of the engine, which waits until it is handled.
    Engine(Message, SyncSender<()>),
    /// The program is to stop until SIGCONT, as after SIGTSTP or Ctrl-Z.
    Suspend,
    /// The program was stopped and continues.
    Resumed,
    /// The terminal was closed.
    Lost(std::io::Error),
}

/// Colors chosen by the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaletteChoice {
    /// As many as the terminal reports.
    Auto,
    /// The 16 colors of the terminal.
    Ansi,
    /// 256 fixed colors.
    Indexed,
    /// 24-bit colors.
    Truecolor,
    /// Blue and orange instead of green and red.
    Colorblind,
}

/// Look of the interface, and the paths of the project.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// The colors.
    pub palette: PaletteChoice,
    /// Whether only ASCII characters are drawn.
    pub ascii_only: bool,
    /// Whether charts draw simulated results, too.
    pub simulated: bool,
    /// The paths of the project.
    pub paths: ProjectPaths,
}

/// Shows the interface until the user quits; `tell` writes events of the engine to standard error.
///
/// # Errors
/// If there is no terminal, or the settings are invalid.
pub fn run(options: &SessionOptions, tell: fn(&Event)) -> Result<Exit, AppError> {
    let project = ProjectContext::open(&options.paths)?;
    let wanted = interface(options, &project.config)?;
    let (mut screen, output) = Screen::take()?;
    let (send, incoming) = channel();
    let (ask, commands) = channel();
    let worker = JobWorker::new(options.paths.clone(), project, tell, send.clone());
    thread::spawn(move || worker.work(&commands));
    let hear = send.clone();
    thread::spawn(move || {
        screen::listen(output, |line| drop(hear.send(Incoming::Message(Message::Said(line)))));
    });
    let signal = send.clone();
    // Another handler (such as a test harness) may already be installed and then receives the
    // signals.
    if let Err(error) = ctrlc::set_handler(move || {
        drop(signal.send(Incoming::Message(Message::Key(Key::Interrupt))));
    }) {
        tracing::warn!("cannot install the signal handler: {error}");
    }
    let mut stops = Signals::new([SIGTSTP, SIGCONT]).context("cannot handle SIGTSTP")?;
    let stop = send.clone();
    thread::spawn(move || {
        for signal in &mut stops {
            let next = if signal == SIGTSTP { Incoming::Suspend } else { Incoming::Resumed };
            drop(stop.send(next));
        }
    });
    thread::spawn(move || read_terminal(&send));
    Session { state: State::new(wanted), screen: &mut screen, pace: FramePacer::default(), ask }
        .until_quit(&incoming)
}

fn read_terminal(tell: &Sender<Incoming>) {
    loop {
        let sent = match event::read() {
            Ok(event) if keys::is_suspend(&event) => tell.send(Incoming::Suspend).is_ok(),
            Ok(event) => keys::message(&event)
                .is_none_or(|message| tell.send(Incoming::Message(message)).is_ok()),
            Err(error) => {
                let _ = tell.send(Incoming::Lost(error));
                return;
            }
        };
        if !sent {
            return;
        }
    }
}

struct Session<'s> {
    state: State,
    screen: &'s mut Screen,
    pace: FramePacer,
    ask: Sender<Command>,
}

impl Session<'_> {
    /// Runs until the user quits.
    fn until_quit(mut self, incoming: &Receiver<Incoming>) -> Result<Exit, AppError> {
        if let Some(exit) = self.take(Message::Resized)? {
            return Ok(exit);
        }
        loop {
            let next = match self.pace.wait(Instant::now()) {
                None => incoming.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => incoming.recv_timeout(wait),
            };
            let exit = match next {
                Ok(Incoming::Message(message)) => self.take(message)?,
                Ok(Incoming::Engine(message, drawn)) => {
                    let exit = self.take(message)?;
                    // The engine waits, so the pending frame is drawn before it continues.
                    if let Some(wait) = self.pace.wait(Instant::now()) {
                        thread::sleep(wait);
                        self.draw()?;
                    }
                    let _ = drawn.send(());
                    exit
                }
                Ok(Incoming::Suspend) => {
                    self.screen.suspend().context("cannot stop the program")?;
                    self.take(Message::Resized)?
                }
                Ok(Incoming::Resumed) => {
                    self.screen.resume().context("cannot take over the terminal")?;
                    self.take(Message::Resized)?
                }
                Ok(Incoming::Lost(error)) => {
                    interrupt::ask();
                    return Err(anyhow::Error::new(error)
                        .context("the terminal was closed")
                        .into());
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.draw()?;
                    None
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(anyhow!("the event threads ended unexpectedly").into());
                }
            };
            if let Some(exit) = exit {
                return Ok(exit);
            }
        }
    }

    /// Handles a message and forwards the resulting commands; returns the exit code if the program
    /// ends.
    fn take(&mut self, message: Message) -> Result<Option<Exit>, AppError> {
        #[cfg(feature = "fault-injection")]
        panic_if_requested(&message);
        for command in update(&mut self.state, message) {
            match command {
                Command::Draw => self.pace.want(),
                Command::Stop => {
                    interrupt::ask();
                }
                Command::Copy(text) => {
                    self.screen.copy(&text).context("cannot write to the terminal")?;
                }
                Command::Quit(0) => return Ok(Some(Exit::Pass)),
                Command::Quit(_) => return Ok(Some(Exit::Interrupted)),
                other => {
                    if matches!(other, Command::Measure(_) | Command::Resume(_)) {
                        // Reset here, not in the worker: an interrupt from now on refers to this
                        // run.
                        interrupt::forget();
                    }
                    self.ask
                        .send(other)
                        .map_err(|_| anyhow!("the worker thread ended unexpectedly"))?;
                }
            }
        }
        Ok(None)
    }

    fn draw(&mut self) -> Result<(), AppError> {
        self.screen.draw(&mut self.state).context("cannot write to the terminal")?;
        self.pace.drawn(Instant::now());
        Ok(())
    }
}

/// Panics on purpose at the key `!`, to test that the terminal is restored.
#[cfg(feature = "fault-injection")]
fn panic_if_requested(message: &Message) {
    let is_requested = matches!(message, Message::Key(Key::Char('!')))
        && std::env::var_os("RSB_TEST_PANIC").is_some();
    assert!(!is_requested, "RSB_TEST_PANIC is set");
}

fn interface(options: &SessionOptions, config: &Config) -> Result<InterfaceSettings, AppError> {
    let wanted = &config.tui;
    Ok(InterfaceSettings {
        shows_live_progress: wanted.show_live_progress,
        runs_on_selection: wanted.auto_run_on_selection,
        compares_after_run: wanted.show_comparison_after_run,
        animation: match wanted.animation_style {
            Animation::Spinner => AnimationStyle::Spinner,
            Animation::Bar => AnimationStyle::Bar,
            Animation::None => AnimationStyle::None,
        },
        palette: palette(options.palette, |name| std::env::var(name).ok()),
        ascii_only: options.ascii_only,
        theme: config
            .charts
            .theme(ThemeName::Dark)
            .map_err(|why| AppError::usage(anyhow!("{why}")))?,
        glyphs: config.charts.glyphs().map_err(|why| AppError::usage(anyhow!("{why}")))?,
        draws_simulated: options.simulated || config.charts.simulated,
        author: decision::default_author(),
        arguments: options.paths.arguments_of_store(),
        // If the campaigns cannot be listed, the page says why.
        has_fleet: fleet::campaigns().map_or(true, |campaigns| !campaigns.is_empty()),
    })
}

/// Returns the chosen palette, or the one that the terminal supports.
fn palette(choice: PaletteChoice, variable: impl Fn(&str) -> Option<String>) -> Palette {
    if variable("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return Palette::Plain;
    }
    match choice {
        PaletteChoice::Ansi => Palette::Ansi,
        PaletteChoice::Indexed => Palette::Indexed,
        PaletteChoice::Truecolor => Palette::TrueColor,
        PaletteChoice::Colorblind => Palette::ColorBlind,
        PaletteChoice::Auto if variable("TERM").as_deref() == Some("dumb") => Palette::Plain,
        PaletteChoice::Auto => detect_palette(&|name: &str, words: &[&str]| {
            variable(name).is_some_and(|value| words.iter().any(|word| value.contains(word)))
        }),
    }
}

/// Returns the palette with as many colors as the terminal reports.
fn detect_palette(holds: &impl Fn(&str, &[&str]) -> bool) -> Palette {
    if holds("COLORTERM", &["truecolor", "24bit"]) {
        Palette::TrueColor
    } else if holds("TERM", &["256color"]) {
        Palette::Indexed
    } else {
        Palette::Ansi
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_says_how_many_colors_it_has_and_no_color_is_heard() {
        for (asked, variables, expected) in [
            (
                PaletteChoice::Auto,
                &[("COLORTERM", "truecolor"), ("TERM", "xterm-256color")][..],
                Palette::TrueColor,
            ),
            (PaletteChoice::Auto, &[("TERM", "tmux-256color")], Palette::Indexed),
            (PaletteChoice::Auto, &[("TERM", "linux")], Palette::Ansi),
            (PaletteChoice::Auto, &[("TERM", "dumb")], Palette::Plain),
            (PaletteChoice::Colorblind, &[("TERM", "linux")], Palette::ColorBlind),
            (PaletteChoice::Truecolor, &[("NO_COLOR", "1")], Palette::Plain),
            (PaletteChoice::Indexed, &[("NO_COLOR", "")], Palette::Indexed),
        ] {
            let found = palette(asked, |name| {
                let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
                Some((*value).to_owned())
            });
            assert_eq!(found, expected, "{asked:?} {variables:?}");
        }
    }
}
