//! Snapshots of the interface at four sizes, and the colors of verdicts.

use ratatui::style::{Color, Modifier};
use rsb_model::RunStatus;

use super::{Bench, sample};
use crate::{Command, InterfaceSettings, Key, Message, Palette, RunEnd, Stage, StoredRun, Subject};

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 40), (200, 60), (60, 16)];

/// Returns a state with everything loaded, on `stage`.
fn on(stage: Stage, (width, height): (u16, u16)) -> Bench {
    let mut bench = Bench::new(width, height, InterfaceSettings::default());
    for message in [
        sample::offers(),
        sample::components(),
        sample::runs(),
        sample::history(),
        sample::machine(),
    ] {
        bench.send(message);
    }
    while bench.state.stage != stage {
        bench.press(&[Key::Tab]);
    }
    if stage == Stage::Comparison {
        bench.send(sample::compared());
    }
    bench
}

/// Returns a run in progress: one replicate of each case is measured.
fn measuring(size: (u16, u16), settings: InterfaceSettings) -> Bench {
    let mut bench = Bench::new(size.0, size.1, settings);
    bench.send(sample::offers());
    bench.press(&[Key::Enter]);
    bench.send(Message::Planned(Ok(crate::PlanSummary {
        cases: 2,
        profile: "quick".into(),
        ..Default::default()
    })));
    bench.press(&[Key::Enter]);
    for event in sample::events().into_iter().take(7) {
        bench.send(sample::happened(event));
    }
    bench
}

fn ended(bench: &mut Bench, status: RunStatus, stored: StoredRun) {
    bench.send(Message::Ended(Ok(Box::new(RunEnd {
        run: sample::run(sample::NEW),
        status,
        stored,
    }))));
}

#[test]
fn every_stage_at_four_sizes() {
    for &stage in Stage::shown(false) {
        for size in SIZES {
            let name =
                format!("{}-{}x{}", stage.title().to_lowercase().replace(' ', "-"), size.0, size.1);
            insta::assert_snapshot!(name, on(stage, size).picture());
        }
    }
}

#[test]
fn a_run_and_its_end_at_four_sizes() {
    for size in SIZES {
        let mut bench = measuring(size, InterfaceSettings::default());
        insta::assert_snapshot!(format!("measuring-{}x{}", size.0, size.1), bench.picture());
        ended(
            &mut bench,
            RunStatus::Complete,
            StoredRun::Kept("benchmark_results/runs/x.json".into()),
        );
        insta::assert_snapshot!(format!("ended-{}x{}", size.0, size.1), bench.picture());
    }
}

#[test]
fn what_covers_a_page() {
    let mut bench = on(Stage::Measure, (80, 24));
    bench.press(&[Key::Char('?')]);
    insta::assert_snapshot!("help", bench.picture());
    bench.press(&[Key::Esc, Key::Down, Key::Char(' '), Key::Enter]);
    let without = vec![(
        5,
        rsb_model::Reason::new("backend rocm", "libamdhip64.so is not here", "install ROCm"),
    )];
    let plan =
        crate::PlanSummary { cases: 12, profile: "quick".into(), without, notes: Vec::new() };
    bench.send(Message::Planned(Ok(plan)));
    insta::assert_snapshot!("start", bench.picture());
    let mut bench = on(Stage::Comparison, (80, 24));
    bench.press(&[Key::Char('b')]);
    insta::assert_snapshot!("pick", bench.picture());
    bench.press(&[Key::Esc, Key::Char(':')]);
    insta::assert_snapshot!("actions", bench.picture());
}

#[test]
fn a_small_terminal_says_what_it_would_need() {
    let bench = on(Stage::Measure, (40, 5));
    insta::assert_snapshot!("small", bench.picture());
}

#[test]
fn a_page_of_forty_columns_and_ten_rows_still_has_the_finding() {
    for (stage, finding) in [
        (Stage::Measure, "✓ suite quick"),
        (Stage::Components, "✗ pytorch not run"),
        (Stage::Comparison, "REGRESSED"),
        (Stage::History, "+20.0 % since 2026-09-21"),
        (Stage::Doctor, "ada may not use /dev/kfd"),
    ] {
        let picture = on(stage, (40, 10)).picture();
        assert!(picture.contains(finding), "{picture}");
        assert!(picture.lines().last().unwrap().contains("q quit"), "{picture}");
    }
    insta::assert_snapshot!("comparison-40x10", on(Stage::Comparison, (40, 10)).picture());
    insta::assert_snapshot!("history-40x10", on(Stage::History, (40, 10)).picture());
    let mut bench = measuring((40, 10), InterfaceSettings::default());
    assert!(bench.picture().contains("step 3 of 4"), "{}", bench.picture());
    bench.press(&[Key::Char('q')]);
    assert!(bench.picture().contains("Quitting stops it"), "{}", bench.picture());
}

#[test]
fn verdicts_and_alerts_have_their_colors_and_words() {
    let bench = on(Stage::Comparison, (100, 30));
    let color = |bench: &Bench, text: &str| bench.buffer()[bench.place_of(text)].fg;
    assert_eq!(color(&bench, "REGRESSED"), Color::LightRed);
    assert_eq!(color(&bench, "⚠ 1 value"), Color::LightRed);
    assert_eq!(color(&bench, "Regressed [1]"), Color::LightRed);
    let (x, y) = bench.place_of("Comparison");
    assert!(
        bench.buffer()[(x, y)].modifier.contains(Modifier::REVERSED),
        "the stage shown must be highlighted"
    );
    let doctor = on(Stage::Doctor, (80, 24));
    assert_eq!(color(&doctor, "error"), Color::LightRed);
    assert_eq!(color(&doctor, "ok"), Color::Green);
    let launch = on(Stage::Measure, (80, 24));
    assert_eq!(color(&launch, "24 cases, profile quick"), Color::Green);
    assert_eq!(color(&launch, "cannot run on rocm"), Color::Yellow);
}

#[test]
fn without_colors_nothing_has_one_and_ascii_is_ascii() {
    let settings = InterfaceSettings {
        palette: Palette::Plain,
        ascii_only: true,
        ..InterfaceSettings::default()
    };
    let mut bench = measuring((100, 30), settings);
    ended(&mut bench, RunStatus::Complete, StoredRun::Kept("x.json".into()));
    for _ in 0..3 {
        for cell in &bench.buffer().content {
            assert!(cell.symbol().is_ascii(), "{:?}\n{}", cell.symbol(), bench.picture());
            assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
        }
        bench.press(&[Key::Right]);
    }
}

#[test]
fn a_comparison_follows_a_whole_run_where_that_is_wanted() {
    for (wanted, status, expected) in [
        (true, RunStatus::Complete, true),
        (false, RunStatus::Complete, false),
        (true, RunStatus::Interrupted, false),
    ] {
        let settings =
            InterfaceSettings { compares_after_run: wanted, ..InterfaceSettings::default() };
        let mut bench = measuring((80, 24), settings);
        ended(&mut bench, status, StoredRun::Kept("x.json".into()));
        assert!(bench.take().contains(&Command::Load(Subject::Runs)));
        bench.send(sample::runs());
        let compares =
            Command::Compare { baseline: sample::OLD.into(), current: sample::NEW.into() };
        assert_eq!(bench.take().contains(&compares), expected, "{wanted} {status:?}");
        assert_eq!(bench.state.stage == Stage::Comparison, expected);
    }
}

#[test]
fn a_run_that_is_not_kept_is_kept_by_a_key() {
    let mut bench = measuring((80, 24), InterfaceSettings::default());
    ended(&mut bench, RunStatus::Complete, StoredRun::NotKept("/tmp/x.json".into()));
    assert!(bench.picture().contains("not kept yet"));
    bench.take();
    bench.press(&[Key::Char('q')]);
    assert!(
        bench.take().is_empty() && bench.picture().contains("Quitting loses it"),
        "{}",
        bench.picture()
    );
    bench.press(&[Key::Esc, Key::Char('s')]);
    assert_eq!(bench.take(), [Command::KeepRun]);
    bench.send(Message::Kept("runs/x.json".into()));
    assert!(bench.picture().contains("stored in runs/x.json"), "{}", bench.picture());
}

#[test]
fn what_is_underlined_can_be_clicked() {
    let mut bench = on(Stage::Measure, (80, 24));
    bench.click("History");
    assert_eq!(bench.state.stage, Stage::History);
    bench.click("? help");
    assert!(bench.picture().contains("shows the next chart or page"));
    bench.click("shows the next chart or page");
    bench.press(&[Key::Esc]);
    assert!(bench.picture().contains("2/4 changes"), "{}", bench.picture());
    bench.click("‹");
    assert!(bench.picture().contains("1/4"), "{}", bench.picture());
    bench.click("Measure");
    bench.take();
    bench.click("✓ memory-bandwidth");
    assert_eq!(bench.take(), [], "one click must only select");
    bench.click("✓ memory-bandwidth");
    assert!(matches!(bench.take()[..], [Command::Plan(_)]), "a second click must start the run");
    for (area, _) in bench.state.shown.targets() {
        assert!(area.right() <= 80 && area.bottom() <= 24, "{area:?}");
    }
}

#[test]
fn every_key_of_the_last_line_is_underlined_and_a_target() {
    for &stage in Stage::shown(false) {
        let bench = on(stage, (80, 24));
        let buffer = bench.buffer();
        for x in 0..80 {
            let cell = &buffer[(x, 23)];
            if cell.modifier.contains(Modifier::UNDERLINED) {
                assert!(
                    bench.state.shown.action_at(x, 23).is_some(),
                    "{stage:?} {x} {}",
                    bench.picture()
                );
            }
        }
        let last = bench.picture().lines().last().unwrap().to_owned();
        assert!(last.contains("? help") && last.contains("q quit"), "{last}");
    }
}
