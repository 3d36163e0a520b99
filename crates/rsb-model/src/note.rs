//! What a reader of a run should know, as a type: stored as a code, its sentence and the data that
//! the code needs.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::DeviceRef;

/// What a reader of a run should know.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Record", try_from = "Record")]
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

impl JsonSchema for Note {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Note".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Record::json_schema(generator)
    }
}

const INTERRUPTED: &str = "interrupted: the cases before were measured, the rest were not";
const OUT_OF_TIME: &str =
    "the time limit of the whole run was over before every replicate was taken";
const SLOWED: &str = "slowed on purpose: ";
const SHARED: &str = "another run of this program was measuring at the same time: its figures and \
                      these disturb each other";

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
            Self::Text(_) => Code::Text,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str(INTERRUPTED),
            Self::CutOff { ended, planned, torn_lines } => {
                let of = planned
                    .map_or_else(String::new, |planned| format!(" of the {planned} planned"));
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
            Note::Interrupted | Note::OutOfTime | Note::Shared | Note::Text(_) => blank,
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

impl TryFrom<Record> for Note {
    type Error = NoteError;

    fn try_from(record: Record) -> Result<Self, NoteError> {
        Ok(match record.code {
            Code::Interrupted => Self::Interrupted,
            Code::CutOff => Self::CutOff {
                ended: record.ended.ok_or(NoteError { code: "cut_off", field: "ended" })?,
                planned: record.planned,
                torn_lines: record.torn_lines.unwrap_or_default(),
            },
            Code::OutOfTime => Self::OutOfTime,
            Code::Slowed => Self::Slowed {
                slowdown: record.slowdown.ok_or(NoteError { code: "slowed", field: "slowdown" })?,
            },
            Code::Shared => Self::Shared,
            Code::SizedDown => Self::SizedDown {
                device: record.device.ok_or(NoteError { code: "sized_down", field: "device" })?,
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
            Note::SizedDown {
                device: DeviceRef::CPU,
                text: "cpu:0 lets a benchmark take 1 GiB alone".to_owned(),
            },
            Note::Text("vllm: 2 requests failed".to_owned()),
        ]
    }

    #[test]
    fn every_note_survives_a_round_trip() {
        for note in every() {
            let document = serde_json::to_value(&note).unwrap();
            assert_eq!(document["text"], note.to_string());
            assert_eq!(serde_json::from_value::<Note>(document).unwrap(), note);
        }
    }

    #[test]
    fn a_note_carries_its_code_and_what_that_needs() {
        let slowed = serde_json::to_value(&every()[4]).unwrap();
        assert_eq!(
            slowed,
            json!({"code": "slowed", "text": "slowed on purpose: gelu=1.15", "slowdown": "gelu=1.15"})
        );
        for lacking in [
            json!({"code": "slowed"}),
            json!({"code": "cut_off", "text": "interrupted"}),
            json!({}),
            json!(1),
        ] {
            assert!(serde_json::from_value::<Note>(lacking.clone()).is_err(), "{lacking}");
        }
        let later = json!({"code": "of_a_later_program", "text": "x"});
        assert_eq!(serde_json::from_value::<Note>(later).unwrap(), Note::Text("x".to_owned()));
    }
}
