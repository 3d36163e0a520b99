//! The page of a campaign.

use rsb_model::record::CampaignDocument;

use super::{Bench, sample};
use crate::{Command, InterfaceSettings, Key, LoadedDocument, Message, Stage, Subject};

/// Opens the page of the made-up campaign.
fn fleet_page(width: u16, height: u16) -> Bench {
    let settings = InterfaceSettings { has_fleet: true, ..InterfaceSettings::default() };
    let mut bench = Bench::new(width, height, settings);
    bench.press(&[Key::Char('7')]);
    assert!(bench.take().contains(&Command::Load(Subject::Fleet)));
    bench.send(sample::campaign());
    bench
}

fn document() -> CampaignDocument {
    match sample::campaign() {
        Message::Loaded(LoadedDocument::Fleet(document)) => *document,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_campaign_at_three_sizes() {
    for (width, height) in [(80, 24), (120, 40), (40, 10)] {
        let name = format!("fleet-{width}x{height}");
        insta::assert_snapshot!(name, fleet_page(width, height).picture());
    }
}

#[test]
fn enter_shows_the_evidence_and_y_copies_the_command() {
    let mut bench = fleet_page(80, 24);
    bench.press(&[Key::Char('y')]);
    assert!(matches!(&bench.take()[..], [Command::Copy(text)] if text.starts_with("scontrol ")));
    bench.press(&[Key::Enter]);
    insta::assert_snapshot!("fleet-node-80x24", bench.picture());
    bench.press(&[Key::Right]);
    insta::assert_snapshot!("fleet-classes-80x24", bench.picture());
    bench.press(&[Key::Esc, Key::Down, Key::Char('y')]);
    let resume = Command::Copy("rusty-stack-bench fleet resume --campaign first".to_owned());
    assert_eq!(bench.take(), [resume]);
    bench.press(&[Key::Char('/'), Key::Char('1'), Key::Char('2'), Key::Enter]);
    let picture = bench.picture();
    assert!(picture.contains("n12") && !picture.contains("n8 "), "{picture}");
}

#[test]
fn without_a_campaign_there_is_no_page() {
    let mut bench = Bench::new(80, 24, InterfaceSettings::default());
    bench.press(&[Key::Char('7')]);
    assert_eq!(bench.state.stage, Stage::Measure);
    bench.press(&[Key::BackTab]);
    assert_eq!(bench.state.stage, Stage::Doctor);
    assert!(!bench.picture().contains("Fleet"), "{}", bench.picture());
}

#[test]
fn a_visible_campaign_is_read_again_while_its_jobs_run() {
    let mut bench = fleet_page(80, 24);
    bench.send(Message::Due(Subject::Fleet));
    assert_eq!(bench.take(), [Command::Load(Subject::Fleet)]);
    assert!(bench.picture().contains("n8"), "the known state stays until the new one arrives");
    bench.press(&[Key::Char('1')]);
    bench.take();
    bench.send(Message::Due(Subject::Fleet));
    assert_eq!(bench.take(), [], "a hidden page is not read");
    bench.press(&[Key::Char('7')]);
    assert_eq!(bench.take(), [Command::Load(Subject::Fleet)]);
}

#[test]
fn hostile_names_and_empty_campaigns_are_drawn() {
    let mut hostile = document();
    hostile.nodes[0].name = "n\u{1b}[2J\u{202e}<script>".repeat(30);
    hostile.campaign = "c\u{1b}[2J".to_owned();
    hostile.nodes[0].reason = "a\nb\u{7}".to_owned();
    let mut empty = document();
    empty.nodes.clear();
    for (document, expected) in [(hostile, "1 of 12 nodes slow"), (empty, "has no nodes")] {
        let mut bench = fleet_page(80, 24);
        bench.send(Message::Loaded(LoadedDocument::Fleet(Box::new(document))));
        for keys in [&[][..], &[Key::Enter], &[Key::Right]] {
            bench.press(keys);
            assert!(!bench.picture().contains('\u{1b}'));
        }
        bench.press(&[Key::Esc]);
        assert!(bench.picture().contains(expected), "{}", bench.picture());
    }
    let mut bench = fleet_page(80, 24);
    let why = "`campaign.json` is not a campaign".to_owned();
    bench.send(Message::Unavailable { subject: Subject::Fleet, why });
    assert!(bench.picture().contains("cannot be shown: `campaign.json`"), "{}", bench.picture());
}
