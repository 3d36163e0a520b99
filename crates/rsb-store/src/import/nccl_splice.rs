//! Rows that messages of NCCL split. With `NCCL_DEBUG`, the program and NCCL print to the same
//! stream, and the program prints a row in pieces: its parameters, and each measured half.

use std::borrow::Cow;
use std::collections::HashSet;

use super::nccl_log::Columns;

/// Finds messages of NCCL, `HOST:PID:TID [DEVICE] NCCL INFO …`, also after other text in a line.
#[derive(Default)]
pub(super) struct Messages<'a> {
    /// Hosts of the messages that have a line to themselves.
    hosts: HashSet<&'a str>,
}

impl<'a> Messages<'a> {
    /// Returns the text before the message in `line`; `None` if it contains no message.
    pub(super) fn text_before(&mut self, line: &'a str) -> Option<&'a str> {
        let (tag, _) = line.split_once(" NCCL ")?;
        let (ids, device) = tag.rsplit_once(" [")?;
        let mut ids = ids.rsplitn(3, ':');
        let (thread, process, head) = (ids.next()?, ids.next()?, ids.next()?);
        if !(is_number(device.strip_suffix(']')?) && is_number(process) && is_number(thread)) {
            return None;
        }
        // No space separates the text from the name of the host, which may begin with a digit.
        let texts = self.hosts.iter().filter_map(|host| head.strip_suffix(host));
        if let Some(text) = texts.min_by_key(|text| text.len()) {
            return Some(text.trim());
        }
        if head.contains(char::is_whitespace) {
            return None;
        }
        self.hosts.insert(head);
        Some("")
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A row of which only some pieces were read.
pub(super) struct SplitRow<'a> {
    /// Line number of the first piece.
    pub(super) line: usize,
    pieces: Vec<&'a str>,
}

impl<'a> SplitRow<'a> {
    pub(super) fn new(line: usize, piece: &'a str) -> Self {
        Self { line, pieces: vec![piece] }
    }

    /// Adds a piece, unless it is text that a row cannot contain.
    pub(super) fn push(&mut self, piece: &'a str) {
        if !piece.is_empty() && is_measured(piece) {
            self.pieces.push(piece);
        }
    }

    /// Returns whether the pieces are a whole row of `columns`. A number that was split must not
    /// become two, so each piece has to end with the parameters or with a half.
    pub(super) fn is_complete(&self, columns: &Columns<'_>) -> bool {
        let mut words = 0;
        let ends: Vec<usize> = self
            .pieces
            .iter()
            .map(|piece| {
                words += piece.split_whitespace().count();
                words
            })
            .collect();
        columns.have_pieces_at(&ends)
    }

    /// Returns the whole row, or only its first piece if others are missing.
    pub(super) fn join(self, columns: &Columns<'_>) -> Cow<'a, str> {
        if self.is_complete(columns) {
            Cow::Owned(self.pieces.join(" "))
        } else {
            Cow::Borrowed(self.pieces.first().copied().unwrap_or_default())
        }
    }
}

/// Returns whether `text` has only measured values, as a half of a row has.
pub(super) fn is_measured(text: &str) -> bool {
    text.split_whitespace().all(|word| word.parse::<f64>().is_ok() || word == "N/A")
}
