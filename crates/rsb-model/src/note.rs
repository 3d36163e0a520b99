//! Notes for readers of a run, stored as a code, a text and the data that belongs to the code.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::DeviceRef;

/// Note for readers of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Record", try_from = "Record")]
pub enum Note {
    /// The user stopped the run, which contains only the cases that had ended.
    Interrupted,
    /// The run was cut off. Its results were recovered from the journal.
    CutOff {
        /// Cases that had ended.
        ended: usize,
        /// Cases that were planned, if the journal contains the number.
        planned: Option<u64>,
        /// Lines of the journal that could not be read.
        torn_lines: usize,
    },
    /// The time limit of the whole run expired before all replicates were taken.
    OutOfTime,
    /// Cases were slowed down on purpose.
    Slowed {
        /// Value of the environment variable: `<part of an id>=<factor>`.
        slowdown: String,
    },
    /// Another run was measuring at the same time.
    Shared,
    /// Little device memory is free, so cases are smaller than intended.
    SizedDown {
        /// Device with little free memory.
        device: DeviceRef,
        /// Text with the sizes.
        text: String,
    },
    /// Text without data for programs.
    Text(String),
}

/// Topic of a note, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Code {
    /// The user stopped the run.
    Interrupted,
    /// The run was cut off and recovered from its journal.
    CutOff,
    /// The time limit of the whole run expired.
    OutOfTime,
    /// Cases were slowed down on purpose.
    Slowed,
    /// Another run was measuring at the same time.
    Shared,
    /// Cases are smaller because little memory is free.
    SizedDown,
    /// Any other topic.
    #[serde(other)]
    Text,
}

/// Note in a document.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct Record {
    /// Topic of the note.
    code: Code,
    /// Text of the note.
    #[serde(default)]
    text: String,
    /// For `slowed`: `<part of an id>=<factor>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slowdown: Option<String>,
    /// For `sized_down`: the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    device: Option<DeviceRef>,
    /// For `cut_off`: number of cases that had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<usize>,
    /// For `cut_off`: number of cases that were planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    planned: Option<u64>,
    /// For `cut_off`: number of journal lines that could not be read.
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

const INTERRUPTED: &str = "interrupted: the remaining cases were not measured";
const OUT_OF_TIME: &str = "the run's time limit expired before all replicates were taken";
const SLOWED: &str = "slowed on purpose: ";
const SHARED: &str = "another run of this program was measuring at the same time: the two runs \
                      disturbed each other";

impl Note {
    /// Returns whether the run lacks cases because it was interrupted.
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

/// Missing field that the code of a note requires.
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
                text: "cpu:0 has only 1 GiB for a benchmark".to_owned(),
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
