//! From the first picture to the last: what comes in, what is drawn, how it ends.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread;
use std::time::Instant;

use anyhow::{Context, anyhow};
use ratatui::crossterm::event;
use rsb_engine::measure::interrupt;
use rsb_report::ThemeName;
use rsb_tui::{AnimationStyle, Command, InterfaceSettings, Key, Message, Palette, State, update};

use super::jobs::JobWorker;
use super::keys;
use super::pace::FramePacer;
use super::screen::{self, Screen};
use crate::cli::{PaletteArg, TuiArgs};
use crate::commands::settings;
use crate::config::{Animation, Config};
use crate::exit::{CliError, CliResult, Exit};

/// Something for the thread that draws.
pub(super) enum Incoming {
    /// A message.
    Message(Message),
    /// The engine tells something, and waits until it is taken over.
    Engine(Message, SyncSender<()>),
    /// The terminal is gone.
    Lost(std::io::Error),
}

/// The verb `tui`.
pub(super) fn run(args: &TuiArgs) -> CliResult {
    let (config, directories) = settings::load(&args.places)?;
    let wanted = interface(args, &config)?;
    let (mut screen, said) = Screen::take()?;
    let (tell, incoming) = channel();
    let (ask, asked) = channel();
    let worker = JobWorker::new(args.places.clone(), config, directories, tell.clone());
    thread::spawn(move || worker.work(&asked));
    let hear = tell.clone();
    thread::spawn(move || {
        screen::listen(said, |line| drop(hear.send(Incoming::Message(Message::Said(line)))));
    });
    let signal = tell.clone();
    // Another handler (a test harness) may be there already: then signals are theirs.
    if let Err(error) = ctrlc::set_handler(move || {
        drop(signal.send(Incoming::Message(Message::Key(Key::Interrupt))));
    }) {
        tracing::warn!("cannot install the handler of signals: {error}");
    }
    thread::spawn(move || read_terminal(&tell));
    Session { state: State::new(wanted), screen: &mut screen, pace: FramePacer::default(), ask }
        .until_quit(&incoming)
}

fn read_terminal(tell: &Sender<Incoming>) {
    loop {
        let sent = match event::read() {
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
    /// Goes on until somebody quits.
    fn until_quit(mut self, incoming: &Receiver<Incoming>) -> CliResult {
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
                    // The engine waits: now is the time for the picture, however long ago the last
                    // one was.
                    if let Some(wait) = self.pace.wait(Instant::now()) {
                        thread::sleep(wait);
                        self.draw()?;
                    }
                    let _ = drawn.send(());
                    exit
                }
                Ok(Incoming::Lost(error)) => {
                    interrupt::ask();
                    return Err(anyhow::Error::new(error).context("the terminal is gone").into());
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.draw()?;
                    None
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(anyhow!("nobody tells anything any more").into());
                }
            };
            if let Some(exit) = exit {
                return Ok(exit);
            }
        }
    }

    /// Takes a message over and hands on what is to be done; how the program ends, where it does.
    fn take(&mut self, message: Message) -> Result<Option<Exit>, CliError> {
        #[cfg(feature = "fault-injection")]
        panic_if_asked(&message);
        for command in update(&mut self.state, message) {
            match command {
                Command::Draw => self.pace.want(),
                Command::Stop => {
                    interrupt::ask();
                }
                Command::Quit(0) => return Ok(Some(Exit::Pass)),
                Command::Quit(_) => return Ok(Some(Exit::Interrupted)),
                other => {
                    if matches!(other, Command::Measure(_) | Command::Resume(_)) {
                        // Here and not where it is measured: who asks to stop from now on means
                        // this run.
                        interrupt::forget();
                    }
                    self.ask.send(other).map_err(|_| anyhow!("nobody does anything any more"))?;
                }
            }
        }
        Ok(None)
    }

    fn draw(&mut self) -> Result<(), CliError> {
        self.screen.draw(&mut self.state).context("cannot write to the terminal")?;
        self.pace.drawn(Instant::now());
        Ok(())
    }
}

/// Breaks on purpose at the key `!`, to prove that the terminal is given back.
#[cfg(feature = "fault-injection")]
fn panic_if_asked(message: &Message) {
    let is_asked = matches!(message, Message::Key(Key::Char('!')))
        && std::env::var_os("RSB_TEST_PANIC").is_some();
    assert!(!is_asked, "RSB_TEST_PANIC asks for it");
}

fn interface(args: &TuiArgs, config: &Config) -> Result<InterfaceSettings, CliError> {
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
        palette: palette(args.palette, |name| std::env::var(name).ok()),
        ascii_only: args.ascii_only,
        theme: config
            .charts
            .theme(ThemeName::Dark)
            .map_err(|why| CliError::usage(anyhow!("{why}")))?,
        glyphs: config.charts.glyphs.unwrap_or_default(),
    })
}

/// The colors that were asked for, or as many as the terminal says it has.
fn palette(asked: PaletteArg, variable: impl Fn(&str) -> Option<String>) -> Palette {
    if variable("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return Palette::Plain;
    }
    match asked {
        PaletteArg::Ansi => Palette::Ansi,
        PaletteArg::Indexed => Palette::Indexed,
        PaletteArg::Truecolor => Palette::TrueColor,
        PaletteArg::Colorblind => Palette::ColorBlind,
        PaletteArg::Auto if variable("TERM").as_deref() == Some("dumb") => Palette::Plain,
        PaletteArg::Auto => detect_palette(&|name: &str, words: &[&str]| {
            variable(name).is_some_and(|value| words.iter().any(|word| value.contains(word)))
        }),
    }
}

/// As many colors as the terminal says it has.
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
                PaletteArg::Auto,
                &[("COLORTERM", "truecolor"), ("TERM", "xterm-256color")][..],
                Palette::TrueColor,
            ),
            (PaletteArg::Auto, &[("TERM", "tmux-256color")], Palette::Indexed),
            (PaletteArg::Auto, &[("TERM", "linux")], Palette::Ansi),
            (PaletteArg::Auto, &[("TERM", "dumb")], Palette::Plain),
            (PaletteArg::Colorblind, &[("TERM", "linux")], Palette::ColorBlind),
            (PaletteArg::Truecolor, &[("NO_COLOR", "1")], Palette::Plain),
            (PaletteArg::Indexed, &[("NO_COLOR", "")], Palette::Indexed),
        ] {
            let found = palette(asked, |name| {
                let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
                Some((*value).to_owned())
            });
            assert_eq!(found, expected, "{asked:?} {variables:?}");
        }
    }
}
