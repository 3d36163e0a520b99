//! Tests of the default pair of runs on the comparison page, and of search messages.

use rsb_model::Verdict;
use rsb_model::record::{AlertDecision, AlertState};
use rsb_report::{BaselineRow, RunRow};

use super::{Bench, sample};
use crate::{Command, InterfaceSettings, Key, LoadedDocument, Message, Offer, OfferKind, Stage};

fn stored(id: &str, suite: &str, machine: &str) -> RunRow {
    RunRow { suite: suite.to_owned(), machine: machine.to_owned(), ..sample::stored(id, 0) }
}

fn baseline(name: &str, machine: &str) -> BaselineRow {
    BaselineRow {
        name: name.to_owned(),
        created: sample::at(0),
        commit: None,
        machine: machine.to_owned(),
        cases: 2,
        replicates: 5,
    }
}

/// Returns the comparison page after these runs and baselines arrived while another page was shown.
fn comparison_page(runs: Vec<RunRow>, baselines: Vec<BaselineRow>) -> Bench {
    let mut bench = Bench::new(100, 24, InterfaceSettings::default());
    bench.send(sample::offers());
    bench.send(Message::Loaded(LoadedDocument::Runs { runs, baselines }));
    go_to(&mut bench, Stage::Comparison);
    bench
}

fn go_to(bench: &mut Bench, stage: Stage) {
    bench.take();
    while bench.state.stage != stage {
        bench.press(&[Key::Tab]);
    }
}

fn compares(older: &str, newer: &str) -> Command {
    Command::Compare { baseline: older.to_owned(), current: newer.to_owned() }
}

#[test]
fn the_comparison_opens_on_the_newest_pair_of_one_suite_and_machine() {
    let runs = || {
        vec![
            stored("e", "full", "here"),
            stored("d", "quick", "there"),
            stored("c", "quick", "here"),
            stored("b", "full", "there"),
            stored("a", "quick", "here"),
        ]
    };
    let opened = |baselines| {
        let mut bench = comparison_page(runs(), baselines);
        let asked = bench.take();
        asked.into_iter().find(|command| matches!(command, Command::Compare { .. }))
    };
    assert_eq!(opened(Vec::new()), Some(compares("a", "c")));
    assert_eq!(
        opened(vec![baseline("full", "there")]),
        Some(compares("a", "c")),
        "a baseline of another machine must not be used"
    );
    assert_eq!(opened(vec![baseline("full", "here")]), Some(compares("full", "e")));
    let mut bench = comparison_page(runs(), Vec::new());
    bench.send(sample::compared());
    bench.take();
    bench.press(&[Key::Char('p')]);
    assert!(bench.take().contains(&compares("a", "c")), "the key must compare the same runs");
}

#[test]
fn without_a_comparable_pair_the_page_names_what_is_missing() {
    let bench = comparison_page(
        vec![
            stored("20261126T090000Z_c", "full", "here"),
            stored("b", "quick", "here"),
            stored("a", "quick", "there"),
        ],
        vec![baseline("full", "there")],
    );
    insta::assert_snapshot!("no-pair", bench.picture());
    let bench = comparison_page(vec![stored("a", "quick", "here")], Vec::new());
    assert!(
        bench.picture().contains("One run is stored, a of suite quick, and no baseline"),
        "{}",
        bench.picture()
    );
    let bench = comparison_page(Vec::new(), Vec::new());
    assert!(bench.picture().contains("No run is stored yet."), "{}", bench.picture());
}

#[test]
fn a_new_run_takes_the_comparison_of_other_runs_away() {
    let mut bench = comparison_page(
        vec![stored("b", "quick", "here"), stored("a", "quick", "here")],
        Vec::new(),
    );
    bench.send(sample::compared());
    bench.send(Message::Ended(Err("the run was stopped".to_owned())));
    assert!(!bench.picture().contains("REGRESSED"), "{}", bench.picture());
    let runs = ["c", "b", "a"].map(|id| stored(id, "quick", "here")).to_vec();
    bench.send(Message::Loaded(LoadedDocument::Runs { runs, baselines: Vec::new() }));
    assert!(bench.take().contains(&compares("b", "c")));
}

#[test]
fn only_a_comparison_that_passes_is_green_and_the_line_names_both_runs() {
    let mut bench = comparison_page(
        vec![stored("b", "quick", "here"), stored("a", "quick", "here")],
        Vec::new(),
    );
    for (verdict, is_green) in [
        (Verdict::Unchanged, true),
        (Verdict::Inconclusive, false),
        (Verdict::NotComparable, false),
    ] {
        let mut result = sample::comparison();
        result.comparisons.truncate(1);
        (result.verdict, result.comparisons[0].verdict) = (verdict, verdict);
        bench.send(Message::Loaded(LoadedDocument::Comparison(Box::new(result))));
        let green =
            format!("nothing in {} is worse by more than 5 % than in {}", sample::NEW, sample::OLD);
        assert_eq!(bench.picture().contains(&green), is_green, "{verdict:?}\n{}", bench.picture());
        assert_eq!(bench.picture().contains('✓'), is_green, "{verdict:?}\n{}", bench.picture());
    }
}

#[test]
fn a_page_says_that_it_filters_only_if_it_does() {
    let mut bench = Bench::new(100, 24, InterfaceSettings::default());
    for message in [sample::offers(), sample::runs(), sample::history()] {
        bench.send(message);
    }
    go_to(&mut bench, Stage::History);
    bench.press(&[Key::Char('/'), Key::Char('5'), Key::Char('1'), Key::Enter]);
    let title = |bench: &Bench| bench.picture().lines().nth(1).unwrap().trim().to_owned();
    assert_eq!(title(&bench), "only rows that contain `51`");
    assert!(!bench.picture().contains("256x256x256"), "{}", bench.picture());
    bench.press(&[Key::Right]);
    assert!(bench.picture().contains("512x512x512"), "{}", bench.picture());
    assert!(!bench.picture().contains("256x256x256"), "{}", bench.picture());
    bench.press(&[Key::Right, Key::Right]);
    assert_eq!(title(&bench), "only rows that contain `51`");
    assert!(!bench.picture().contains(sample::OLD), "no run contains it: {}", bench.picture());
    bench.press(&[Key::Right, Key::Esc]);
    assert!(bench.picture().contains("256x256x256"), "{}", bench.picture());
}

/// Returns the history page, with the stored runs of its step.
fn history_page() -> Bench {
    let mut bench = Bench::new(100, 24, InterfaceSettings::default());
    for message in [sample::offers(), sample::runs(), sample::history()] {
        bench.send(message);
    }
    go_to(&mut bench, Stage::History);
    bench.take();
    bench
}

#[test]
fn the_history_lists_moved_series_first_and_sorts_by_each_column() {
    let mut bench = history_page();
    let is_above =
        |bench: &Bench, upper: &str, lower: &str| bench.place_of(upper).1 < bench.place_of(lower).1;
    let picture = bench.picture();
    assert!(is_above(&bench, "f32/512x512x512", "f32/256x256x256"), "{picture}");
    assert!(picture.contains("+20.0 % since 2026-09-21"), "{picture}");
    assert!(picture.contains("commit a72b200c5d"), "{picture}");
    for (order, is_moved_first) in
        [("newest change first", true), ("by name", false), ("largest value first", true)]
    {
        bench.press(&[Key::Char('s')]);
        assert!(bench.picture().contains(order), "{}", bench.picture());
        let found = is_above(&bench, "f32/512x512x512 ", "f32/256x256x256 ");
        assert_eq!(found, is_moved_first, "{order}\n{}", bench.picture());
    }
}

#[test]
fn series_of_one_run_are_hidden_until_a_key_shows_them() {
    let mut bench = history_page();
    assert!(bench.picture().contains("1 of one run hidden"), "{}", bench.picture());
    assert!(!bench.picture().contains("64x64x64"), "{}", bench.picture());
    bench.press(&[Key::Char('a')]);
    assert!(bench.picture().contains("f32/64x64x64"), "{}", bench.picture());
    assert!(!bench.picture().contains("hidden"), "{}", bench.picture());
}

#[test]
fn a_cut_name_keeps_the_part_that_differs() {
    let Message::Loaded(LoadedDocument::History(mut page)) = sample::history() else {
        unreachable!()
    };
    for series in &mut page.trends.series {
        series.id.push_str("/provider=gemm/layout=row-major/threads=16");
    }
    let mut bench = Bench::new(60, 16, InterfaceSettings::default());
    bench.send(Message::Loaded(LoadedDocument::History(page)));
    bench.press(&[Key::Char('5')]);
    let listed: Vec<String> = bench.picture().lines().skip(4).take(2).map(str::to_owned).collect();
    let differs = ["256", "512"].iter().all(|part| listed.iter().any(|row| row.contains(part)));
    assert!(differs, "{}", bench.picture());
}

#[test]
fn enter_compares_the_runs_around_the_step() {
    let mut bench = history_page();
    bench.press(&[Key::Down, Key::Enter]);
    assert!(bench.picture().contains("no tracked step"), "{}", bench.picture());
    bench.press(&[Key::Up, Key::Enter]);
    assert!(bench.take().contains(&compares(sample::OLD, sample::NEW)));
    assert_eq!(bench.state.stage, Stage::Comparison);
}

#[test]
fn ids_and_commands_are_copied() {
    let mut bench = history_page();
    let id = sample::case("512x512x512").id.to_string();
    bench.press(&[Key::Char('y')]);
    assert_eq!(bench.take(), [Command::Copy(id.clone())]);
    assert!(bench.picture().contains("copied: "), "{}", bench.picture());
    bench.press(&[Key::Char('Y')]);
    assert_eq!(bench.take(), [Command::Copy(format!("rusty-stack-bench trend --case {id}"))]);
    bench.press(&[Key::Enter]);
    bench.take();
    bench.press(&[Key::Char('Y')]);
    let expected = format!("rusty-stack-bench compare {} {}", sample::OLD, sample::NEW);
    assert_eq!(bench.take(), [Command::Copy(expected)]);
    bench.state.sides = Some(("it's".to_owned(), "b".to_owned()));
    bench.press(&[Key::Char('Y')]);
    let expected = r"rusty-stack-bench compare 'it'\''s' b".to_owned();
    assert_eq!(bench.take(), [Command::Copy(expected)], "a shell must read the name as one word");
    go_to(&mut bench, Stage::Measure);
    bench.take();
    bench.press(&[Key::Char('Y')]);
    assert_eq!(bench.take(), [Command::Copy("rusty-stack-bench run --suite quick".to_owned())]);
}

#[test]
fn measured_models_have_a_page_in_the_history() {
    let Message::Loaded(LoadedDocument::History(mut page)) = sample::history() else {
        unreachable!()
    };
    page.models.models.push(sample::model());
    let mut bench = Bench::new(100, 24, InterfaceSettings::default());
    bench.send(sample::offers());
    bench.send(Message::Loaded(LoadedDocument::History(page)));
    go_to(&mut bench, Stage::History);
    bench.press(&[Key::Right, Key::Right, Key::Right, Key::Right]);
    let picture = bench.picture();
    assert!(picture.contains("5/5 models"), "{picture}");
    assert!(picture.contains("pytorch f32 on cpu:0"), "{picture}");
}

#[test]
fn the_chart_of_a_benchmark_is_next_to_the_list() {
    let mut bench = Bench::new(120, 40, InterfaceSettings::default());
    bench.send(sample::offers());
    assert!(!bench.picture().contains("arithmetic rate"), "{}", bench.picture());
    bench.send(Message::Loaded(LoadedDocument::Recent(Box::new(sample::run(sample::NEW)))));
    assert!(bench.picture().contains("gemm: arithmetic rate"), "{}", bench.picture());
    bench.press(&[Key::Down, Key::Down]);
    assert!(!bench.picture().contains("arithmetic rate"), "memory-bandwidth has no results");
}

#[test]
fn the_suite_of_components_has_a_bar_for_the_status_of_each() {
    let mut bench = Bench::new(120, 40, InterfaceSettings::default());
    let suite = Offer {
        stage: Stage::Components,
        kind: OfferKind::Suite,
        name: "component".to_owned(),
        about: "ML frameworks".to_owned(),
        rows: Vec::new(),
        cases: 0,
        profile: rsb_model::Profile::Quick,
    };
    bench.send(Message::Loaded(LoadedDocument::Offers(vec![suite])));
    bench.send(sample::components());
    go_to(&mut bench, Stage::Components);
    let picture = bench.picture();
    assert!(picture.contains("Components: targets met"), "{picture}");
    assert!(picture.contains("pytorch") && picture.contains("not run"), "{picture}");
}

#[test]
fn the_count_of_a_suite_is_that_of_its_plan() {
    let mut bench = Bench::new(100, 24, InterfaceSettings::default());
    let Message::Loaded(LoadedDocument::Offers(mut offers)) = sample::offers() else {
        unreachable!()
    };
    offers[0].cases = 36;
    bench.send(Message::Loaded(LoadedDocument::Offers(offers)));
    assert!(bench.picture().contains("36 cases, profile quick"), "{}", bench.picture());
}

#[test]
fn what_can_run_here_is_listed_first_and_the_reasons_of_the_rest_scroll() {
    let mut bench = Bench::new(80, 16, InterfaceSettings::default());
    let Message::Loaded(LoadedDocument::Offers(mut offers)) = sample::offers() else {
        unreachable!()
    };
    for row in &mut offers[1].rows {
        row.missing.get_or_insert_with(|| rsb_model::Reason::new("x", "no such unit", "none"));
    }
    bench.send(Message::Loaded(LoadedDocument::Offers(offers)));
    let [able, unable] = ["✓ memory-bandwidth", "✗ gemm"].map(|entry| bench.place_of(entry).1);
    assert!(able < unable, "{}", bench.picture());
    assert!(bench.picture().contains("cannot run on rocm"), "{}", bench.picture());
    bench.press(&[Key::Down, Key::Down]);
    assert!(bench.picture().contains("cannot run on rocm, cpu"), "{}", bench.picture());
    for _ in 0..3 {
        bench.press(&[Key::Right]);
    }
    assert!(bench.picture().contains("cpu: no such unit"), "{}", bench.picture());
    bench.press(&[Key::Up]);
    assert!(bench.picture().contains("Copies and triads"), "another entry starts at its top");
}

#[test]
fn the_mark_of_a_component_agrees_with_its_status() {
    let mut bench = Bench::new(80, 24, InterfaceSettings::default());
    bench.send(sample::offers());
    for (status, expected) in
        [("passed", "✓ pytorch passed"), ("failed", "✗ pytorch failed"), ("missing", "✗ pytorch")]
    {
        let row = crate::ComponentRow {
            name: "pytorch".to_owned(),
            status: status.to_owned(),
            text: String::new(),
            checks: Vec::new(),
        };
        bench.send(Message::Loaded(LoadedDocument::Components(vec![row])));
        go_to(&mut bench, Stage::Components);
        assert!(bench.picture().contains(expected), "{}", bench.picture());
    }
}

#[test]
fn either_side_of_the_comparison_is_chosen_from_a_list() {
    let runs = ["c", "b", "a"].map(|id| stored(id, "quick", "here")).to_vec();
    let mut bench = comparison_page(runs, Vec::new());
    bench.send(sample::compared());
    bench.take();
    bench.press(&[Key::Char('b'), Key::Down, Key::Enter]);
    assert!(bench.take().contains(&compares("a", "c")), "the list starts at the shown side");
    bench.press(&[Key::Char('b'), Key::Tab]);
    assert!(bench.picture().contains("Compare which run?"), "{}", bench.picture());
    bench.press(&[Key::Down, Key::Enter]);
    assert!(bench.take().contains(&compares("a", "b")));
}

#[test]
fn a_branch_or_a_commit_is_chosen_as_a_side() {
    let of = |id: &str, branch: &str, commit: &str| RunRow {
        branch: Some(branch.to_owned()),
        commit: Some(commit.to_owned()),
        ..stored(id, "quick", "here")
    };
    let runs = vec![
        of("c", "feature", "2222222222"),
        of("b", "main", "1111111111"),
        of("a", "main", "1111111111"),
    ];
    let mut bench = comparison_page(runs, Vec::new());
    bench.send(sample::compared());
    bench.press(&[Key::Char('b')]);
    let picture = bench.picture();
    for part in ["branch feature, 1 run", "branch main, 2 runs", "commit 1111111, 2 runs"] {
        assert!(picture.contains(part), "no {part} in\n{picture}");
    }
    assert!(!picture.contains("commit 2222222"), "its only run is listed anyway:\n{picture}");
    bench.take();
    bench.press(&[Key::Up, Key::Up, Key::Up, Key::Enter]);
    assert!(bench.take().contains(&compares("main", "c")));
}

#[test]
fn number_keys_go_to_pages() {
    let mut bench = Bench::new(80, 24, InterfaceSettings::default());
    for (number, &stage) in ('1'..).zip(Stage::shown(false)) {
        bench.press(&[Key::Char(number)]);
        assert_eq!(bench.state.stage, stage);
        let expected = format!(" {number} {} ", stage.title());
        assert!(bench.picture().contains(expected.trim()), "{}", bench.picture());
    }
}

#[test]
fn the_list_of_actions_finds_one_by_its_words() {
    let mut bench = history_page();
    bench.press(&[Key::Char(':')]);
    for letter in "run single q".chars() {
        bench.press(&[Key::Char(letter)]);
    }
    assert!(bench.picture().contains("no action has these words"), "{}", bench.picture());
    bench.press(&[Key::Enter]);
    assert!(bench.take().is_empty(), "nothing is done if nothing is listed");
    bench.press(&[Key::Char(':')]);
    for letter in "run singlex".chars() {
        bench.press(&[Key::Char(letter)]);
    }
    bench.press(&[Key::Backspace, Key::Enter]);
    assert!(bench.picture().contains("f32/64x64x64"), "{}", bench.picture());
    bench.press(&[Key::Char(':'), Key::Char('d'), Key::Char('o'), Key::Char('c'), Key::Enter]);
    assert_eq!(bench.state.stage, Stage::Doctor);
}

#[test]
fn pasted_text_is_typed_where_text_is_typed_and_never_read_as_keys() {
    let mut bench = history_page();
    bench.send(Message::Pasted("q\n:4".to_owned()));
    assert_eq!((bench.take(), bench.state.stage), (Vec::new(), Stage::History));
    assert!(bench.picture().contains("not read as keys"), "{}", bench.picture());
    bench.press(&[Key::Char('/')]);
    bench.send(Message::Pasted("512\n\u{1b}x".to_owned()));
    assert!(bench.picture().contains("search: 512x"), "{}", bench.picture());
    assert_eq!(bench.state.stage, Stage::History);
    bench.press(&[Key::Enter, Key::Char(':')]);
    bench.send(Message::Pasted("machine\n".to_owned()));
    assert!(bench.picture().contains("Action: machine"), "{}", bench.picture());
}

#[test]
fn the_counts_of_the_backends_add_up_to_that_of_the_suite() {
    let mut bench = Bench::new(80, 24, InterfaceSettings::default());
    let Message::Loaded(LoadedDocument::Offers(mut offers)) = sample::offers() else {
        unreachable!()
    };
    // A planned benchmark that lacks equipment is skipped by the run, but is one of its cases.
    offers[0].rows[1].missing = Some(rsb_model::Reason::new("x", "no counters", "none"));
    bench.send(Message::Loaded(LoadedDocument::Offers(offers)));
    let picture = bench.picture();
    assert!(picture.contains("24 cases, profile quick"), "{picture}");
    let cpu = picture.lines().find(|line| line.contains(" cpu ")).unwrap();
    assert!(cpu.split_whitespace().any(|word| word == "24"), "{picture}");
}

#[test]
fn the_selected_change_is_acknowledged_with_a_note_and_then_known() {
    let settings = InterfaceSettings { author: "Ada".to_owned(), ..InterfaceSettings::default() };
    let mut bench = Bench::new(100, 24, settings);
    for message in [sample::offers(), sample::runs(), sample::history()] {
        bench.send(message);
    }
    go_to(&mut bench, Stage::History);
    bench.take();
    let type_text = |bench: &mut Bench, text: &str| {
        text.chars().for_each(|letter| bench.press(&[Key::Char(letter)]));
    };
    bench.press(&[Key::Char('A'), Key::Enter]);
    assert!(bench.take().is_empty() && bench.picture().contains("write a note"), "no empty note");
    type_text(&mut bench, "wanted: q and 5x");
    bench.press(&[Key::Backspace]);
    insta::assert_snapshot!("note", bench.picture());
    bench.press(&[Key::Esc]);
    assert!(bench.take().is_empty(), "Esc records nothing");
    bench.press(&[Key::Char('A')]);
    bench.send(Message::Pasted("wanted\n".to_owned()));
    bench.press(&[Key::Enter]);
    let asked = |seen| Command::Acknowledge {
        alert: "a-ac88c1da".to_owned(),
        because: "wanted".to_owned(),
        seen,
    };
    assert_eq!(bench.take(), [asked(0)]);
    // A note that could not be recorded is there again.
    let why = "nothing was recorded: the disk is full".to_owned();
    bench.send(Message::Unavailable { subject: crate::Subject::Run, why });
    assert!(bench.picture().contains("the disk is full"), "{}", bench.picture());
    bench.press(&[Key::Char('A')]);
    assert!(bench.picture().contains("Note: wanted"), "{}", bench.picture());
    bench.press(&[Key::Enter]);
    assert_eq!(bench.take(), [asked(0)]);
    let Message::Loaded(LoadedDocument::History(mut page)) = sample::history() else {
        unreachable!()
    };
    page.alerts[0].state = AlertState::Acknowledged;
    page.alerts[0].because = Some("wanted".to_owned());
    page.alerts[0].decisions.push(AlertDecision {
        state: AlertState::Acknowledged,
        because: "wanted".to_owned(),
        author: "Ada".to_owned(),
        at: sample::at(0),
        caused_by: None,
    });
    bench.send(Message::Loaded(LoadedDocument::History(page)));
    let picture = bench.picture();
    assert!(picture.contains("acknowledged by Ada: wanted"), "{picture}");
    assert!(picture.contains(" known\n"), "{picture}");
    bench.press(&[Key::Char('A')]);
    assert!(!bench.picture().contains("Note: wanted"), "a recorded note is not offered again");
    bench.press(&[Key::Esc, Key::Down, Key::Char('A')]);
    assert!(bench.picture().contains("no tracked step to acknowledge"), "{}", bench.picture());
}
