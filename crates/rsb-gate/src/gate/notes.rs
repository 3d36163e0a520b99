//! Notes on the two sides of a verdict: the judged runs, wrong clocks, and machines that are
//! unknown or differ.

use jiff::SignedDuration;
use rsb_model::record::{ComparisonNote, ComparisonNoteCode};
use rsb_model::{Run, Timestamp};

/// Maximum number of runs described one by one.
const TOLD: usize = 3;
/// Tolerated difference between the clocks of two machines.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_mins(2);

/// Returns the notes on a comparison of `baseline` and `current`, made at `now`.
pub(super) fn of(baseline: &[Run], current: &[Run], now: Timestamp) -> Vec<ComparisonNote> {
    let mut notes: Vec<ComparisonNote> =
        current.iter().take(TOLD).map(|run| judged_run_note(run, now)).collect();
    if current.len() > TOLD {
        let text = format!("{} more runs are judged with these", current.len() - TOLD);
        notes.push(ComparisonNote::new(ComparisonNoteCode::JudgedRun, text));
    }
    notes.extend(baseline.iter().chain(current).find_map(|run| ahead(run, now)));
    for (side, runs) in [("baseline", baseline), ("current side", current)] {
        notes.extend(unknown_machine(side, runs));
    }
    notes.extend(unlike(baseline, current));
    notes
}

fn judged_run_note(run: &Run, now: Timestamp) -> ComparisonNote {
    let ended = run.finished.unwrap_or(run.started);
    let done = if run.imported { "written" } else { "measured" };
    let commit = run.environment.git.as_ref().map_or_else(String::new, |git| {
        let changed = if git.dirty { " with uncommitted changes" } else { "" };
        format!(" on the commit {}{changed}", git.commit.get(..7).unwrap_or(&git.commit))
    });
    let text =
        format!("the run {} was {done} {}{commit}", run.run_id, age(now.duration_since(ended)));
    ComparisonNote::new(ComparisonNoteCode::JudgedRun, text)
}

/// Formats an age, such as `3 h ago`.
fn age(since: SignedDuration) -> String {
    let seconds = since.as_secs();
    match seconds {
        ..0 => "in the future".to_owned(),
        0..120 => "just now".to_owned(),
        120..7200 => format!("{} min ago", seconds / 60),
        7200..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

fn ahead(run: &Run, now: Timestamp) -> Option<ComparisonNote> {
    (run.started.duration_since(now) > CLOCKS_DIFFER).then(|| {
        let text = format!(
            "the run {} started at {}, which is in the future: a clock is wrong",
            run.run_id, run.started
        );
        ComparisonNote::new(ComparisonNoteCode::Clock, text)
    })
}

fn unknown_machine(side: &str, runs: &[Run]) -> Option<ComparisonNote> {
    runs.iter().any(|run| run.environment.cpu.is_none()).then(|| {
        let text = format!(
            "machine unknown: the {side} does not record its machine; pass `--environment {}=FILE` \
             with the output of `rusty-stack-bench probe --json` on that machine",
            if side == "baseline" { "baseline" } else { "current" }
        );
        ComparisonNote::new(ComparisonNoteCode::MachineUnknown, text)
    })
}

/// Returns notes on differences that do not prevent a comparison: hypervisor and operating system.
fn unlike(baseline: &[Run], current: &[Run]) -> Vec<ComparisonNote> {
    let (Some(before), Some(after)) = (baseline.first(), current.first()) else {
        return Vec::new();
    };
    let sides = [&before.environment, &after.environment];
    let hypervisor = sides.map(|side| {
        side.cpu.as_ref().map(|cpu| cpu.hypervisor.clone().unwrap_or_else(|| "none".into()))
    });
    let family = sides.map(|side| side.os.as_deref().and_then(family_of).map(str::to_owned));
    let fields = [("hypervisor", hypervisor), ("operating system", family)];
    let mut notes = Vec::new();
    for (name, sides) in fields {
        let [Some(before), Some(after)] = sides else { continue };
        if before != after {
            let text = format!("the {name} differs: {before} before, {after} now");
            notes.push(ComparisonNote::new(ComparisonNoteCode::MachineDiffers, text));
        }
    }
    notes
}

/// Returns the name of an operating system without its version.
fn family_of(os: &str) -> Option<&str> {
    os.split(|c: char| c.is_ascii_digit()).next().map(str::trim).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::environment::{Cpu, Git};
    use rsb_model::{Environment, RunId};

    fn run(change: impl FnOnce(&mut Run)) -> Run {
        let environment = Environment {
            os: Some("Debian GNU/Linux 12 (bookworm)".into()),
            cpu: Some(Cpu::default()),
            git: Some(Git { commit: "1a2b3c4d5e".into(), dirty: true, ..Git::default() }),
            ..Environment::default()
        };
        let mut run =
            Run::begin(RunId("x".into()), Timestamp::UNIX_EPOCH, "quick", "quick", environment);
        change(&mut run);
        run
    }

    type Change = fn(&mut Run);

    #[test]
    fn each_thing_that_a_reader_should_know_is_said_once() {
        use ComparisonNoteCode::{Clock, JudgedRun, MachineDiffers, MachineUnknown};
        let plain = notes_after(|_| {});
        assert_eq!(plain.len(), 1, "{plain:?}");
        assert_eq!(
            plain[0].text,
            "the run x was measured 3 h ago on the commit 1a2b3c4 with uncommitted changes"
        );
        let cases: [(Change, ComparisonNoteCode, &str); 4] = [
            (
                |run| run.started = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(4),
                Clock,
                "in the future",
            ),
            (|run| run.environment.cpu = None, MachineUnknown, "--environment current=FILE"),
            (
                |run| run.environment.os = Some("Ubuntu 24.04".into()),
                MachineDiffers,
                "operating system",
            ),
            (
                |run| run.environment.cpu.as_mut().unwrap().hypervisor = Some("KVM".into()),
                MachineDiffers,
                "none before, KVM now",
            ),
        ];
        for (change, code, word) in cases {
            let notes = notes_after(change);
            let [judged, note] = notes.as_slice() else { panic!("{notes:?}") };
            assert!(
                (judged.code, note.code) == (JudgedRun, code) && note.text.contains(word),
                "{notes:?}"
            );
        }
        assert!(
            notes_after(|run| run.environment.os = Some("Debian GNU/Linux 12.5".into())).len() == 1,
            "only the name of the system must be compared"
        );
    }

    /// Returns the notes on an unchanged run and one after `change`, three hours later.
    fn notes_after(change: Change) -> Vec<ComparisonNote> {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(3);
        of(&[run(|_| {})], &[run(change)], now)
    }

    #[test]
    fn ages_are_as_exact_as_a_reader_needs_them() {
        for (seconds, expected) in [
            (-5, "in the future"),
            (5, "just now"),
            (300, "5 min ago"),
            (10_000, "2 h ago"),
            (900_000, "10 days ago"),
        ] {
            assert_eq!(age(SignedDuration::from_secs(seconds)), expected);
        }
    }
}
