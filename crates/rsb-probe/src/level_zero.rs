//! Whether Level Zero's loader is here, and which devices it sees: asked in a child process, once.
//!
//! The loader starts the drivers of every device in the process that asks, and one that does not fit the kernel is known
//! to crash or hang there. What has survived in a child is then loaded into this process, where sensors are read often.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use rsb_model::Reason;
use serde::{Deserialize, Serialize};

use crate::child::{self, Ended};
use crate::gpu::card;
use crate::host::{Host, read_line};

/// The argument that makes a program answer: see [`answer`].
pub const ARGUMENT: &str = "__level_zero";

/// How long the drivers may take to start.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// Libraries may print to standard output too; the answer is the line that starts so.
const MARK: &str = "rsb-level-zero:";

/// The program that answers.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// What there is of Level Zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LevelZero {
    /// The loader, and what it sees.
    Here(Seen),
    /// There is no loader.
    Missing(Reason),
    /// It could not be asked, or ended the process that asked.
    Broken(Reason),
}

/// What the loader sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The loader's file.
    pub loader: String,
    /// GPUs, in its own order.
    pub devices: Vec<Device>,
    /// Whether sysman, the interface of sensors, has started, or why it has not.
    pub sysman: Result<(), Reason>,
}

/// A GPU that Level Zero sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Marketing name.
    pub name: String,
    /// Address on the bus, as in [`rsb_model::gpu::Gpu::pci_address`].
    pub address: Option<String>,
    /// Whether its sensors can be read, or why they cannot.
    pub sensors: Result<(), Reason>,
}

/// From now on `program`, started with [`ARGUMENT`], is who answers. The first choice stays; without one nothing is asked.
pub fn ask_through(program: PathBuf) {
    let _ = PROGRAM.set(program);
}

/// What there is here. Asked once; later answers are the same. None where nobody was named who answers,
/// or this build cannot.
pub fn here() -> Option<&'static LevelZero> {
    static ANSWER: OnceLock<LevelZero> = OnceLock::new();
    let program = PROGRAM.get().filter(|_| cfg!(feature = "level-zero"))?;
    Some(ANSWER.get_or_init(|| asked(program, LIMIT)))
}

/// Asks `program`.
fn asked(program: &Path, limit: Duration) -> LevelZero {
    let mut command = Command::new(program);
    command.arg(ARGUMENT);
    let why = match child::run(command, limit) {
        Ended::Well(text) => match text.lines().rev().find_map(|line| line.strip_prefix(MARK)) {
            Some(line) => match serde_json::from_str(line) {
                Ok(answer) => return answer,
                Err(error) => format!("its answer cannot be read: {error}"),
            },
            None => "the process that asked ended without an answer".to_owned(),
        },
        Ended::Badly => "starting it ended the process that asked".to_owned(),
        Ended::Late => format!("it did not answer within {} s", limit.as_secs_f64()),
        Ended::Missing => format!("{} cannot be started", program.display()),
    };
    LevelZero::Broken(Reason::new(
        "Level Zero",
        why,
        "look into the kernel's log (dmesg) for i915 or xe, and reinstall Intel's driver for Level Zero; \
         RSB_LEVEL_ZERO_LIBRARY names another loader",
    ))
}

/// Tells on standard output what there is here; for the child alone.
///
/// # Errors
/// When standard output cannot be written.
#[cfg(feature = "level-zero")]
pub fn answer() -> std::io::Result<()> {
    use std::io::Write as _;

    let text = serde_json::to_string(&in_this_process())?;
    // On a line of its own, whatever a library has printed before.
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{MARK}{text}")?;
    out.flush()
}

#[cfg(feature = "level-zero")]
fn in_this_process() -> LevelZero {
    let reason = |missing: level_zero_sys::Unavailable| Reason::new(missing.what, missing.why, missing.cure);
    let open = match level_zero_sys::LevelZero::open() {
        Ok(open) => open,
        Err(missing) => return LevelZero::Missing(reason(missing)),
    };
    let unplaced = || Reason::new("sensors", "it does not tell its place on the bus", "update Intel's driver");
    let described = |device: level_zero_sys::Device| {
        // A sensor that ends the process must do so here.
        let read = |address: &String| open.read(address).map(drop).map_err(reason);
        let sensors = device.address.as_ref().map_or_else(|| Err(unplaced()), read);
        Device { name: device.name, address: device.address, sensors }
    };
    LevelZero::Here(Seen {
        loader: open.path().display().to_string(),
        devices: open.devices().into_iter().map(described).collect(),
        sysman: open.sensors_work().map_err(reason),
    })
}

/// What there is on `host`, where it matters to somebody.
pub(crate) fn of(host: &Host) -> Option<&'static LevelZero> {
    (host.is_here() && (is_named() || matters(host))).then(here).flatten()
}

/// Whether there is a card of Intel's, or the graphics of its processors and no other maker's card beside them: nobody who
/// has one of those wants to hear of it.
fn matters(host: &Host) -> bool {
    let folders = card::folders(host);
    let made_by = |folder: &PathBuf, makers: &[&str]| {
        read_line(&folder.join("vendor")).is_some_and(|maker| makers.contains(&maker.as_str()))
    };
    let of_intel: Vec<&PathBuf> = folders.iter().filter(|folder| made_by(folder, &[INTEL])).collect();
    let is_card = |folder: &&PathBuf| card::address(folder).as_deref() != Some(PROCESSOR);
    let has_others = folders.iter().any(|folder| made_by(folder, &OTHERS));
    of_intel.iter().any(is_card) || (!of_intel.is_empty() && !has_others)
}

/// Intel's number among makers of PCI devices.
pub(crate) const INTEL: &str = "0x8086";

/// AMD and NVIDIA.
const OTHERS: [&str; 2] = ["0x1002", "0x10de"];

/// Where the graphics of Intel's processors always are.
const PROCESSOR: &str = "0000:00:02.0";

/// Whether a test names a loader of its own, for cards that are not in this machine.
pub(crate) fn is_named() -> bool {
    std::env::var_os("RSB_LEVEL_ZERO_LIBRARY").is_some_and(|file| !file.is_empty())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::host::fake::Tree;
    use std::os::unix::fs::PermissionsExt as _;

    const LONG: Duration = Duration::from_mins(1);

    /// A machine with cards of these makers at these places.
    fn machine(cards: &[(&str, &str)]) -> Tree {
        let tree = Tree::new(&[]);
        for (number, (maker, address)) in cards.iter().enumerate() {
            let folder = format!("sys/class/drm/card{number}/device");
            tree.write(&format!("{folder}/vendor"), &format!("{maker}\n"));
            tree.write(&format!("{folder}/uevent"), &format!("PCI_SLOT_NAME={address}\n"));
        }
        tree
    }

    #[test]
    fn it_matters_to_those_with_a_card_of_intels() {
        let (arc, graphics) = ((INTEL, "0000:03:00.0"), (INTEL, PROCESSOR));
        let (amd, management) = (("0x1002", "0000:0a:00.0"), ("0x1a03", "0000:02:00.0"));
        for (cards, expected) in [
            (&[arc][..], true),
            (&[graphics], true),
            (&[graphics, management], true),
            (&[graphics, arc, amd], true),
            (&[graphics, amd], false),
            (&[amd], false),
            (&[management], false),
            (&[], false),
        ] {
            assert_eq!(matters(&machine(cards).host()), expected, "{cards:?}");
        }
        assert_eq!(of(&machine(&[arc]).host()), None, "a tree is not asked");
    }

    fn asked_of(script: &str, limit: Duration) -> LevelZero {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        asked(&program, limit)
    }

    #[test]
    fn an_answer_comes_through_whatever_else_is_printed() {
        let seen = LevelZero::Here(Seen {
            loader: "/usr/lib/libze_loader.so.1".to_owned(),
            devices: vec![Device { name: "Arc".to_owned(), address: Some("0000:03:00.0".to_owned()), sensors: Ok(()) }],
            sysman: Ok(()),
        });
        let line = serde_json::to_string(&seen).unwrap();
        assert_eq!(asked_of(&format!("echo noise; echo '{MARK}{line}'; echo more"), LONG), seen);
        assert_eq!(asked_of(&format!("test $1 = {ARGUMENT} && echo '{MARK}{line}'"), LONG), seen);
    }

    #[test]
    fn each_way_to_die_is_a_reason() {
        for (script, limit, word) in [
            ("kill -SEGV $$", LONG, "ended the process that asked"),
            ("exec tail -f /dev/null", Duration::from_millis(50), "did not answer within"),
            ("echo rsb-level-zero:nonsense", LONG, "cannot be read"),
            ("true", LONG, "without an answer"),
        ] {
            let LevelZero::Broken(reason) = asked_of(script, limit) else { panic!("{script}") };
            assert!(reason.why.contains(word), "{script}: {reason}");
        }
        let LevelZero::Broken(reason) = asked(Path::new("/nonexistent"), LONG) else { panic!("it was started") };
        assert!(reason.why.contains("cannot be started"), "{reason}");
    }
}
