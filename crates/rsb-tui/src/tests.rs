//! Tests: pictures at four sizes, verdict colors, recorded events, random keys, and a simulated
//! user who only reads the help.

mod fleet;
mod newcomer;
mod pages;
mod pictures;
mod random;
mod replay;
mod sample;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use crate::{Command, InterfaceSettings, Key, Message, State, update, view};

struct Bench {
    state: State,
    terminal: Terminal<TestBackend>,
    /// Commands that have not been answered yet, without draw commands.
    asked: Vec<Command>,
}

impl Bench {
    fn new(width: u16, height: u16, settings: InterfaceSettings) -> Self {
        let terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let mut bench = Self { state: State::new(settings), terminal, asked: Vec::new() };
        bench.send(Message::Resized);
        bench
    }

    /// Handles a message, and draws if requested.
    fn send(&mut self, message: Message) {
        let commands = update(&mut self.state, message);
        if commands.contains(&Command::Draw) {
            self.draw();
        }
        self.asked.extend(commands.into_iter().filter(|command| *command != Command::Draw));
    }

    fn draw(&mut self) {
        let (state, mut shown) = (&self.state, crate::DrawnPage::default());
        self.terminal.draw(|frame| shown = view(state, frame)).unwrap();
        self.state.drawn(shown);
    }

    fn press(&mut self, keys: &[Key]) {
        for key in keys {
            self.send(Message::Key(*key));
        }
    }

    /// Returns the commands since the last call.
    fn take(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.asked)
    }

    fn buffer(&self) -> &Buffer {
        self.terminal.backend().buffer()
    }

    fn picture(&self) -> String {
        let buffer = self.buffer();
        let line = |y: u16| {
            let line: String = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect();
            line.trim_end().to_owned()
        };
        (0..buffer.area.height).map(line).collect::<Vec<_>>().join("\n")
    }

    fn place_of(&self, text: &str) -> (u16, u16) {
        let picture = self.picture();
        // A text that ends in a newline must be at the end of its line.
        let (text, ends) = text.strip_suffix('\n').map_or((text, false), |text| (text, true));
        let at = |line: &str| line.find(text).filter(|at| !ends || line.len() == at + text.len());
        let found = picture.lines().enumerate().find_map(|(y, line)| Some((at(line)?, y, line)));
        let (at, y, line) =
            found.unwrap_or_else(|| panic!("`{text}` is not on the screen:\n{picture}"));
        (line[..at].chars().count() as u16, y as u16)
    }

    fn click(&mut self, text: &str) {
        let (column, row) = self.place_of(text);
        self.send(Message::Click { column, row });
    }
}
