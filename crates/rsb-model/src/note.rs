//! What a reader of a run should know, as a type: stored as a code, its sentence and the data that the code needs.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::DeviceRef;

/// What a reader of a run should know.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Record", try_from = "Stored")]
pub enum Note {
    /// Somebody stopped the run: the cases that had ended are in it.
    Interrupted,
    /// The run was cut off; what had ended comes from its journal.
    CutOff {
        /// Cases that had ended.
        ended: usize,
        /// Cases that were planned, where the journal says so.
        planned: Option<u64>,
        /// Lines of the journal that could not be read.
        torn_lines: usize,
    },
    /// The time limit of the whole run was over before every replicate was taken.
    OutOfTime,
    /// Cases were made slower on purpose: `<part of an id>=<factor>`.
    Slowed {
        /// As the variable said it.
        slowdown: String,
    },
    /// Another run was measuring at the same time.
    Shared,
    /// So little memory of a device is free that cases are smaller than they should be.
    SizedDown {
        /// The device.
        device: DeviceRef,
        /// The sentence, with the sizes.
        text: String,
    },
    /// It comes from a file without a checksum, so nothing tells whether the file was changed.
    Unsealed,
    /// A sentence that nothing but a reader asks for.
    Text(String),
}

/// What a note is about, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Code {
    /// Somebody stopped the run.
    Interrupted,
    /// The run was cut off and recovered from its journal.
    CutOff,
    /// The time limit of the whole run was over.
    OutOfTime,
    /// Cases were made slower on purpose.
    Slowed,
    /// Another run was measuring at the same time.
    Shared,
    /// Cases are smaller for want of memory.
    SizedDown,
    /// It comes from a file without a checksum.
    Unsealed,
    /// Nothing but a sentence.
    #[serde(other)]
    Text,
}

/// A note as documents carry it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct Record {
    /// What it is about.
    code: Code,
    /// The sentence for people.
    #[serde(default)]
    text: String,
    /// Of `slowed`: `<part of an id>=<factor>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slowdown: Option<String>,
    /// Of `sized_down`: the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    device: Option<DeviceRef>,
    /// Of `cut_off`: cases that had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<usize>,
    /// Of `cut_off`: cases that were planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    planned: Option<u64>,
    /// Of `cut_off`: lines of the journal that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    torn_lines: Option<usize>,
}

/// A note as a file may hold it: format 1 had sentences alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Sentence(String),
    Record(Record),
}

impl JsonSchema for Note {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Note".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Record::json_schema(generator)
    }
}

const INTERRUPTED: &str = "interrupted: the cases before were measured, the rest were not";
const OUT_OF_TIME: &str = "the time limit of the whole run was over before every replicate was taken";
const SLOWED: &str = "slowed on purpose: ";
const SHARED: &str =
    "another run of this program was measuring at the same time: its figures and these disturb each other";
const SIZED_DOWN: &str = " lets a benchmark take ";
const UNSEALED: &str = "its file is of a version before checksums: nothing tells whether it was changed since";

impl Note {
    /// Whether cases are missing from the run.
    pub const fn is_interruption(&self) -> bool {
        matches!(self, Self::Interrupted | Self::CutOff { .. })
    }

    const fn code(&self) -> Code {
        match self {
            Self::Interrupted => Code::Interrupted,
            Self::CutOff { .. } => Code::CutOff,
            Self::OutOfTime => Code::OutOfTime,
            Self::Slowed { .. } => Code::Slowed,
            Self::Shared => Code::Shared,
            Self::SizedDown { .. } => Code::SizedDown,
            Self::Unsealed => Code::Unsealed,
            Self::Text(_) => Code::Text,
        }
    }

    /// The note that a sentence of format 1 was. These are the words of that format: they stay as they are when a
    /// sentence of today is worded anew.
    fn of_sentence(text: String) -> Self {
        const INTERRUPTED: &str = "interrupted";
        const OUT_OF_TIME: &str = "the time limit of the whole run was over";
        const SLOWED: &str = "slowed on purpose: ";
        const SHARED: &str = "another run of this program was measuring at the same time";
        let sized_down = || text.split_once(SIZED_DOWN)?.0.parse().ok();
        if let Some(slowdown) = text.strip_prefix(SLOWED) {
            return Self::Slowed { slowdown: slowdown.to_owned() };
        }
        match text.as_str() {
            said if said.starts_with(INTERRUPTED) => cut_off(said).unwrap_or(Self::Interrupted),
            said if said.starts_with(OUT_OF_TIME) => Self::OutOfTime,
            said if said.starts_with(SHARED) => Self::Shared,
            UNSEALED => Self::Unsealed,
            _ => match sized_down() {
                Some(device) => Self::SizedDown { device, text },
                None => Self::Text(text),
            },
        }
    }
}

/// What a recovered run of format 1 says: `interrupted: 2 of the 5 planned cases had ended when the run was cut off; 1
/// torn lines of its journal were dropped`.
fn cut_off(text: &str) -> Option<Note> {
    let (cases, torn) = text.strip_prefix("interrupted: ")?.split_once(" cases had ended when the run was cut off")?;
    let (ended, planned) = match cases.split_once(" of the ") {
        Some((ended, planned)) => (ended, Some(planned.strip_suffix(" planned")?.parse().ok()?)),
        None => (cases, None),
    };
    let torn = torn.strip_prefix("; ").and_then(|torn| torn.split(' ').next()?.parse().ok());
    Some(Note::CutOff { ended: ended.parse().ok()?, planned, torn_lines: torn.unwrap_or_default() })
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str(INTERRUPTED),
            Self::CutOff { ended, planned, torn_lines } => {
                let of = planned.map_or_else(String::new, |planned| format!(" of the {planned} planned"));
                write!(f, "interrupted: {ended}{of} cases had ended when the run was cut off")?;
                match torn_lines {
                    0 => Ok(()),
                    1 => f.write_str("; 1 torn line of its journal was dropped"),
                    torn => write!(f, "; {torn} torn lines of its journal were dropped"),
                }
            }
            Self::OutOfTime => f.write_str(OUT_OF_TIME),
            Self::Slowed { slowdown } => write!(f, "{SLOWED}{slowdown}"),
            Self::Shared => f.write_str(SHARED),
            Self::Unsealed => f.write_str(UNSEALED),
            Self::SizedDown { text, .. } | Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<Note> for Record {
    fn from(note: Note) -> Self {
        let blank = Self {
            code: note.code(),
            text: note.to_string(),
            slowdown: None,
            device: None,
            ended: None,
            planned: None,
            torn_lines: None,
        };
        match note {
            Note::CutOff { ended, planned, torn_lines } => {
                Self { ended: Some(ended), planned, torn_lines: Some(torn_lines), ..blank }
            }
            Note::Slowed { slowdown } => Self { slowdown: Some(slowdown), ..blank },
            Note::SizedDown { device, .. } => Self { device: Some(device), ..blank },
            Note::Interrupted | Note::OutOfTime | Note::Shared | Note::Unsealed | Note::Text(_) => blank,
        }
    }
}

/// A note that lacks what its code needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a note with the code `{code}` needs `{field}`")]
struct NoteError {
    code: &'static str,
    field: &'static str,
}

impl TryFrom<Stored> for Note {
    type Error = NoteError;

    fn try_from(stored: Stored) -> Result<Self, NoteError> {
        let record = match stored {
            Stored::Sentence(text) => return Ok(Self::of_sentence(text)),
            Stored::Record(record) => record,
        };
        let lacks = |code, field| NoteError { code, field };
        Ok(match record.code {
            Code::Interrupted => Self::Interrupted,
            Code::CutOff => Self::CutOff {
                ended: record.ended.ok_or_else(|| lacks("cut_off", "ended"))?,
                planned: record.planned,
                torn_lines: record.torn_lines.unwrap_or_default(),
            },
            Code::OutOfTime => Self::OutOfTime,
            Code::Slowed => Self::Slowed { slowdown: record.slowdown.ok_or_else(|| lacks("slowed", "slowdown"))? },
            Code::Shared => Self::Shared,
            Code::Unsealed => Self::Unsealed,
            Code::SizedDown => Self::SizedDown {
                device: record.device.ok_or_else(|| lacks("sized_down", "device"))?,
                text: record.text,
            },
            Code::Text => Self::Text(record.text),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn every() -> Vec<Note> {
        vec![
            Note::Interrupted,
            Note::CutOff { ended: 2, planned: Some(5), torn_lines: 0 },
            Note::CutOff { ended: 2, planned: None, torn_lines: 3 },
            Note::OutOfTime,
            Note::Slowed { slowdown: "gelu=1.15".to_owned() },
            Note::Shared,
            Note::Unsealed,
            Note::SizedDown { device: DeviceRef::CPU, text: "cpu:0 lets a benchmark take 1 GiB alone".to_owned() },
            Note::Text("vllm: 2 requests failed".to_owned()),
        ]
    }

    #[test]
    fn every_note_survives_a_round_trip_and_its_sentence_alone_does_too() {
        for note in every() {
            let document = serde_json::to_value(&note).unwrap();
            assert_eq!(document["text"], note.to_string());
            assert_eq!(serde_json::from_value::<Note>(document).unwrap(), note);
            assert_eq!(serde_json::from_value::<Note>(json!(note.to_string())).unwrap(), note);
        }
    }

    #[test]
    fn a_note_carries_its_code_and_what_that_needs() {
        let slowed = serde_json::to_value(&every()[4]).unwrap();
        assert_eq!(slowed, json!({"code": "slowed", "text": "slowed on purpose: gelu=1.15", "slowdown": "gelu=1.15"}));
        for lacking in
            [json!({"code": "slowed"}), json!({"code": "cut_off", "text": "interrupted"}), json!({}), json!(1)]
        {
            assert!(serde_json::from_value::<Note>(lacking.clone()).is_err(), "{lacking}");
        }
        let later = json!({"code": "of_a_later_program", "text": "x"});
        assert_eq!(serde_json::from_value::<Note>(later).unwrap(), Note::Text("x".to_owned()));
    }

    #[test]
    fn sentences_of_format_1_are_known() {
        let torn = "interrupted: 2 of the 5 planned cases had ended when the run was cut off; 1 torn lines of its journal were dropped";
        let sized =
            "rocm:1 lets a benchmark take 1.5 GiB alone: arrays of 1GiB are 256MiB, which its caches may hold in part";
        for (text, note) in [
            ("interrupted: the cases before were measured, the rest were not", Note::Interrupted),
            (torn, Note::CutOff { ended: 2, planned: Some(5), torn_lines: 1 }),
            ("slowed on purpose: gemm=1.15", Note::Slowed { slowdown: "gemm=1.15".to_owned() }),
            (sized, Note::SizedDown { device: "rocm:1".parse().unwrap(), text: sized.to_owned() }),
            ("something else", Note::Text("something else".to_owned())),
        ] {
            assert_eq!(serde_json::from_value::<Note>(json!(text)).unwrap(), note);
        }
        assert!(every().iter().filter(|note| note.is_interruption()).count() == 3);
    }
}
