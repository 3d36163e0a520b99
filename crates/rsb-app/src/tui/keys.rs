//! Converts terminal events to messages of the interface.

use ratatui::crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use rsb_tui::{Key, Message};

/// Returns the message for `event`; `None` if it has no meaning here.
pub(super) fn message(event: &Event) -> Option<Message> {
    match event {
        Event::Key(key) => self::key(key).map(Message::Key),
        Event::Mouse(mouse) => self::mouse(*mouse),
        Event::Resize(..) => Some(Message::Resized),
        Event::Paste(text) => Some(Message::Pasted(text.clone())),
        _ => None,
    }
}

/// Returns whether `event` is Ctrl-Z, which stops the program as in a shell.
pub(super) fn is_suspend(event: &Event) -> bool {
    event.as_key_press_event().is_some_and(|key| {
        key.code == KeyCode::Char('z') && key.modifiers.contains(KeyModifiers::CONTROL)
    })
}

fn key(event: &KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let control = event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    Some(match event.code {
        KeyCode::Char('c') if event.modifiers.contains(KeyModifiers::CONTROL) => Key::Interrupt,
        KeyCode::Char(_) if control => return None,
        KeyCode::Char(letter) => Key::Char(letter),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}

fn mouse(event: MouseEvent) -> Option<Message> {
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => {
            Some(Message::Click { column: event.column, row: event.row })
        }
        MouseEventKind::ScrollUp => Some(Message::Key(Key::Up)),
        MouseEventKind::ScrollDown => Some(Message::Key(Key::Down)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_mean_something_are_known_and_the_others_are_left_alone() {
        let control = KeyModifiers::CONTROL;
        let release =
            KeyEvent::new_with_kind(KeyCode::Enter, KeyModifiers::NONE, KeyEventKind::Release);
        for (event, expected) in [
            (KeyEvent::from(KeyCode::Char('?')), Some(Key::Char('?'))),
            (KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(Key::Char('G'))),
            (KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT), Some(Key::BackTab)),
            (KeyEvent::new(KeyCode::Char('c'), control), Some(Key::Interrupt)),
            (KeyEvent::new(KeyCode::Char('q'), control), None),
            (release, None),
            (KeyEvent::from(KeyCode::F(1)), None),
        ] {
            assert_eq!(key(&event), expected, "{event:?}");
        }
    }
}
