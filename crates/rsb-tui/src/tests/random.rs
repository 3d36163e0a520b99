//! Random keys, clicks, sizes and messages must not cause a panic.

use ratatui::backend::TestBackend;
use rsb_model::random::Generator;

use super::{Bench, sample};
use crate::{InterfaceSettings, Key, Message, RunEnd, StoredRun};

const KEYS: [Key; 15] = [
    Key::Up,
    Key::Down,
    Key::Left,
    Key::Right,
    Key::PageUp,
    Key::PageDown,
    Key::Home,
    Key::End,
    Key::Enter,
    Key::Esc,
    Key::Tab,
    Key::BackTab,
    Key::Backspace,
    Key::Interrupt,
    Key::Char('\u{1b}'),
];
const LETTERS: &str = " 1234567:/?abcghjklnopqrsuwxyYG";

fn message(random: &mut Generator, size: (u16, u16)) -> Message {
    let mut pick = |count: usize| (random.word() % count as u64) as usize;
    match pick(200) {
        0 => sample::offers(),
        1 => sample::components(),
        2 => sample::runs(),
        3 => sample::compared(),
        4 => sample::history(),
        5 => sample::machine(),
        10 => sample::campaign(),
        11 => Message::Due(crate::Subject::Fleet),
        6 => sample::happened(sample::events().swap_remove(pick(12))),
        7 => Message::Ended(Ok(Box::new(RunEnd {
            run: sample::run(sample::NEW),
            status: rsb_model::RunStatus::Complete,
            stored: vec![
                StoredRun::Kept("x".into()),
                StoredRun::NotKept("y".into()),
                StoredRun::Failed("z".into()),
            ]
            .swap_remove(pick(3)),
        }))),
        8 => Message::Planned(Ok(crate::PlanSummary { cases: pick(3), ..Default::default() })),
        9 => {
            Message::Unavailable { subject: crate::Subject::History, why: "it is not there".into() }
        }
        12..=40 => Message::Click {
            column: pick(usize::from(size.0)) as u16,
            row: pick(usize::from(size.1)) as u16,
        },
        41..=120 => Message::Key(KEYS[pick(KEYS.len())]),
        _ => Message::Key(Key::Char(LETTERS.chars().nth(pick(LETTERS.len())).unwrap())),
    }
}

#[test]
fn a_hundred_thousand_random_keys_and_messages_never_panic() {
    let mut random = Generator::new(17);
    let sizes = [(80, 24), (40, 10), (60, 16), (1, 1), (200, 60), (80, 3), (24, 6), (30, 7)];
    let settings = InterfaceSettings { has_fleet: true, ..InterfaceSettings::default() };
    let mut bench = Bench::new(80, 24, settings);
    let mut size = sizes[0];
    for turn in 0..100_000_u32 {
        if turn % 500 == 0 {
            size = sizes[(turn / 500) as usize % sizes.len()];
            bench.terminal.backend_mut().resize(size.0, size.1);
            bench.send(Message::Resized);
        }
        let message = message(&mut random, size);
        // Every message changes the state. Drawing after each one would take minutes and find no
        // more errors.
        let _ = crate::update(&mut bench.state, message);
        if turn % 100 == 0 {
            bench.draw();
        }
    }
    let _: &TestBackend = bench.terminal.backend();
}
