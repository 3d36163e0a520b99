//! Events as the engine sends them: synthetic ones, and those of a recorded run.

use rsb_model::{
    BenchmarkResult, Case, DeviceRef, Event, Outcome, Params, Run, RunStatus, Timestamp,
};
use serde_json::Value;

use super::{Bench, sample};
use crate::{Command, InterfaceSettings, Key, Message, PlanSummary, RunEnd, StoredRun, update};

/// Journal of a real run, as its recorder wrote it: three products on a CPU with two replicates
/// each, and five skips.
const RECORDED: &str = include_str!("recorded.partial.jsonl");

/// Returns the engine events of that journal, with their times.
fn recorded() -> Vec<(Timestamp, Event)> {
    let mut lines = RECORDED.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let run: Run = serde_json::from_value(lines.next().unwrap()["run"].take()).unwrap();
    let mut events = vec![(run.started, Event::RunStarted { run_id: run.run_id, cases: 3 })];
    let results = lines.filter_map(|mut line| {
        serde_json::from_value::<BenchmarkResult>(line.get_mut("result")?.take()).ok()
    });
    for (index, result) in results.enumerate() {
        if result.outcome == Outcome::Measured {
            let case = Case {
                id: result.benchmark_id.clone(),
                benchmark: result.category.clone().unwrap(),
                benchmark_type: result.benchmark_type,
                device: DeviceRef::CPU.into(),
                params: Params::new(),
            };
            let before = events.last().unwrap().0;
            events.push((
                before,
                Event::ReplicateStarted { case: Box::new(case), step: index - 4, steps: 6 },
            ));
        }
        events.push((result.timestamp, Event::CaseUpdated(Box::new(result))));
    }
    let last = events.last().unwrap().0;
    events.push((last, Event::RunEnded(RunStatus::Complete)));
    events
}

#[test]
fn a_recorded_journal_is_shown_as_it_was_written() {
    let mut bench = begun(InterfaceSettings::default());
    let mut seen = Vec::new();
    for (at, event) in recorded() {
        bench.send(Message::Happened { event, at });
        let picture = bench.picture();
        seen.extend(
            picture.lines().find(|line| line.contains("step ")).map(|line| line.trim().to_owned()),
        );
    }
    seen.dedup();
    assert_eq!(seen.len(), 7, "each step and the end must appear once: {seen:#?}");
    assert!(seen[4].contains("step 5 of 6, 3 cases, 1 s left"), "{seen:#?}");
    let page = bench.state.run.as_ref().unwrap();
    let samples: Vec<usize> =
        page.run.benchmarks.iter().map(|result| result.samples.len()).collect();
    assert_eq!(samples, [0, 0, 0, 0, 0, 2, 2, 2], "each case must have its latest samples");
    insta::assert_snapshot!("recorded-100x30", bench.picture());
    bench.press(&[Key::Right]);
    insta::assert_snapshot!("recorded-chart-100x30", bench.picture());
}

fn begun(settings: InterfaceSettings) -> Bench {
    let mut bench = Bench::new(100, 30, settings);
    bench.send(sample::offers());
    bench.press(&[Key::Enter]);
    bench.send(Message::Planned(Ok(PlanSummary {
        cases: 2,
        profile: "quick".into(),
        ..PlanSummary::default()
    })));
    bench.press(&[Key::Enter]);
    bench
}

/// Returns for each event whether it requests drawing.
fn drawn(bench: &mut Bench) -> Vec<bool> {
    let mut drawn = Vec::new();
    for event in sample::events() {
        let commands = update(&mut bench.state, sample::happened(event));
        drawn.push(commands.contains(&Command::Draw));
    }
    bench.draw();
    drawn
}

#[test]
fn pictures_are_asked_for_between_cases_and_never_within_one() {
    let mut bench = begun(InterfaceSettings::default());
    // Events: start, a skip, start and end of four replicates, a note, the end.
    assert_eq!(
        drawn(&mut bench),
        [true, false, true, false, true, false, true, false, true, false, false, true]
    );
    let hidden = InterfaceSettings { shows_live_progress: false, ..InterfaceSettings::default() };
    let drawn = drawn(&mut begun(hidden));
    assert_eq!(
        drawn.iter().filter(|drawn| **drawn).count(),
        2,
        "only the start and the end must be drawn"
    );
}

#[test]
fn a_replayed_run_shows_every_case_the_time_left_and_what_was_said() {
    let mut bench = begun(InterfaceSettings::default());
    for event in sample::events().into_iter().take(7) {
        bench.send(sample::happened(event));
    }
    let picture = bench.picture();
    for expected in [
        "step 3 of 4",
        "2 cases",
        "4 s left",
        "now gemm f32/256x256x256",
        "last gemm f32/512x512x512",
        "80.0 % of the roofline",
        "▁",
        "libamdhip64.so is not here",
        "cure: install ROCm",
    ] {
        assert!(picture.contains(expected), "{expected}\n{picture}");
    }
    for event in sample::events().into_iter().skip(7) {
        bench.send(sample::happened(event));
    }
    bench.press(&[Key::Left]);
    assert!(bench.picture().contains("note: the machine was busy"), "{}", bench.picture());
    bench.press(&[Key::Right, Key::Right]);
    assert!(bench.picture().contains("gemm: arithmetic rate"), "{}", bench.picture());
}

#[test]
fn a_stopped_run_is_measured_on_where_it_was() {
    let mut bench = begun(InterfaceSettings::default());
    bench.take();
    let mut run = sample::run(sample::NEW);
    run.notes.push(rsb_model::Note::Interrupted);
    run.finished = Some(run.started);
    let end = |stored| {
        let run = RunEnd { run: run.clone(), status: RunStatus::Interrupted, stored };
        Message::Ended(Ok(Box::new(run)))
    };
    bench.send(end(StoredRun::NotKept("elsewhere".into())));
    bench.take();
    bench.press(&[Key::Char('m')]);
    assert_eq!(bench.take(), [], "no command for a run that was not stored");
    bench.send(end(StoredRun::Kept("benchmark_results/runs/x.json".into())));
    bench.take();
    assert!(bench.picture().contains("m continue"), "{}", bench.picture());
    bench.press(&[Key::Char('m')]);
    assert_eq!(bench.take(), [Command::Resume(sample::NEW.to_owned())]);
    for event in sample::events().into_iter().take(3) {
        bench.send(sample::happened(event));
    }
    bench.press(&[Key::Char('s')]);
    assert_eq!(bench.take(), [Command::Stop]);
    bench.send(Message::Ended(Err(
        "the run was measured by another build of this program".to_owned()
    )));
    let picture = bench.picture();
    assert!(picture.contains("another build") && picture.contains("m continue"), "{picture}");
}

#[test]
fn nothing_else_is_asked_for_while_a_run_is_measured() {
    let mut bench = begun(InterfaceSettings::default());
    bench.take();
    for event in sample::events().into_iter().take(4) {
        bench.send(sample::happened(event));
    }
    for key in "uocpa12bwn/x".chars() {
        bench.press(&[Key::Char(key), Key::Esc, Key::Tab, Key::Enter]);
    }
    assert_eq!(bench.take(), [], "no command may start during a run");
    bench.press(&[Key::Tab]);
    assert!(bench.picture().contains("measuring quick"), "{}", bench.picture());
    bench.press(&[Key::Char('r'), Key::Char('s')]);
    assert_eq!(bench.take(), [Command::Stop]);
    bench.press(&[Key::Char('q')]);
    assert_eq!(bench.take(), [], "quitting must ask for confirmation");
    bench.press(&[Key::Esc, Key::Interrupt]);
    assert_eq!(bench.take(), [Command::Stop]);
    bench.press(&[Key::Interrupt]);
    assert_eq!(bench.take(), [Command::Quit(130)], "a second interrupt must quit");
}

#[test]
fn a_run_that_cannot_begin_says_why() {
    let mut bench = begun(InterfaceSettings::default());
    bench.send(Message::Ended(Err("cannot keep results in /x".into())));
    assert!(bench.picture().contains("cannot keep results in /x"), "{}", bench.picture());
}

#[test]
fn hostile_text_moves_nothing() {
    let mut bench = begun(InterfaceSettings::default());
    let mut run = sample::run("a\x1b[2J\u{202e}b");
    run.benchmarks[0].category = Some("x\x1b]0;t\x07\n\u{9b}31my".into());
    bench.send(Message::Loaded(crate::LoadedDocument::Run(Box::new(run))));
    bench.send(Message::Said("\x1b[31mred\u{2066}".into()));
    for _ in 0..4 {
        assert!(
            bench
                .buffer()
                .content
                .iter()
                .all(|cell| !cell.symbol().contains(rsb_model::shown::is_disguise))
        );
        bench.press(&[Key::Right]);
    }
}
