//! A simulated first-time user, who presses only keys that the help or the last line has just
//! shown.

use rsb_model::RunStatus;

use super::{Bench, sample};
use crate::{Command, InterfaceSettings, Key, Message, PlanSummary, RunEnd, StoredRun, Subject};

impl Bench {
    /// Opens the help, reads the key for `what`, closes it, and presses that key.
    fn do_as_the_help_says(&mut self, what: &str) {
        self.press(&[Key::Char('?')]);
        let help = self.picture();
        let line = help.lines().find(|line| line.contains(what));
        let line =
            line.unwrap_or_else(|| panic!("the help does not say how to get `{what}`:\n{help}"));
        let key = key(line.split_whitespace().next().unwrap());
        self.press(&[Key::Esc, key]);
    }

    /// Answers the commands like a machine with two stored runs of the quick suite.
    fn answer(&mut self) {
        for command in self.take() {
            let answer = match command {
                Command::Load(Subject::Offers) => sample::offers(),
                Command::Load(Subject::Components) => sample::components(),
                Command::Load(Subject::Runs) => sample::runs(),
                Command::Load(Subject::History) => sample::history(),
                Command::Load(_) => sample::machine(),
                Command::Plan(_) => Message::Planned(Ok(PlanSummary {
                    cases: 2,
                    profile: "quick".into(),
                    ..PlanSummary::default()
                })),
                Command::Measure(wish) => {
                    assert_eq!(wish.suite, Some(rsb_model::Suite::Quick));
                    for event in sample::events() {
                        self.send(sample::happened(event));
                    }
                    let stored = StoredRun::Kept("benchmark_results/runs/x.json".into());
                    let end = RunEnd {
                        run: sample::run(sample::NEW),
                        status: RunStatus::Complete,
                        stored,
                    };
                    Message::Ended(Ok(Box::new(end)))
                }
                Command::Compare { baseline, current } => {
                    assert_eq!((baseline.as_str(), current.as_str()), (sample::OLD, sample::NEW));
                    sample::compared()
                }
                other => panic!("unexpected command {other:?}"),
            };
            self.send(answer);
        }
        if !self.asked.is_empty() {
            self.answer();
        }
    }
}

/// Returns the key with this name.
fn key(name: &str) -> Key {
    match name {
        "Enter" => Key::Enter,
        "Tab" => Key::Tab,
        "Esc" => Key::Esc,
        "→" => Key::Right,
        "↓" => Key::Down,
        letter => Key::Char(letter.chars().next().unwrap()),
    }
}

#[test]
fn somebody_who_reads_the_help_alone_measures_compares_and_finds_the_slow_case() {
    // The comparison is opened manually, so that the path to it is tested as well.
    let settings = InterfaceSettings { compares_after_run: false, ..InterfaceSettings::default() };
    let mut bench = Bench::new(80, 24, settings);
    bench.answer();
    assert!(bench.picture().contains("? help"), "the first page must name the key for the help");
    bench.do_as_the_help_says("runs the selected suite");
    bench.answer();
    assert!(bench.picture().contains("2 cases to measure"), "{}", bench.picture());
    assert!(bench.picture().lines().last().unwrap().contains("Enter start"));
    bench.press(&[Key::Enter]);
    bench.answer();
    assert!(bench.picture().contains("is complete"), "{}", bench.picture());
    bench.do_as_the_help_says("compares this run with the previous one");
    bench.answer();
    let picture = bench.picture();
    assert!(
        picture.contains("REGRESSED") && picture.contains("the worst is gemm f32/512x512x512"),
        "{picture}"
    );
    assert!(
        picture.contains("30 % slower, and the interval agrees"),
        "the page must show the reason:\n{picture}"
    );
}

#[test]
fn the_help_of_every_stage_names_a_key_for_all_that_can_be_done() {
    let mut bench = Bench::new(80, 24, InterfaceSettings::default());
    bench.answer();
    for _ in crate::Stage::shown(false) {
        let all = crate::bindings(&bench.state);
        bench.press(&[Key::Char('?')]);
        let help = bench.picture().replace('\n', " ");
        for binding in all.iter().filter(|binding| !binding.word.is_empty()) {
            assert!(help.contains(binding.about), "{binding:?}\n{}", bench.picture());
        }
        bench.press(&[Key::Esc, Key::Tab]);
        bench.answer();
    }
}
