use super::trial::{ByCriterion, Slowed, Trial, TrialKind};
use super::{List, function_of, table};

#[test]
fn listed_commits_are_whole_hashes() {
    let list = List::read().unwrap();
    let hashes =
        list.project.iter().map(|project| &project.commit).chain(
            list.regression.iter().flat_map(|regression| [&regression.good, &regression.bad]),
        );
    for hash in hashes {
        assert!(hash.len() == 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
    }
}

#[test]
fn listed_projects_are_twelve_and_half_of_them_are_reported() {
    let list = List::read().unwrap();
    assert_eq!(list.project.len(), 12);
    assert_eq!(list.project.iter().filter(|project| !project.tuning).count(), 6);
    assert!(list.regression.len() >= 10);
}

#[test]
fn functions_that_move_code_grow_with_the_trial() {
    assert!(function_of(2).len() > function_of(1).len());
}

fn trial(kind: TrialKind, project: &str) -> Trial {
    let mut trial = Trial::new(kind, project, &"a".repeat(40), 8);
    trial.seconds = 100.0;
    trial.building_seconds = Some(40.0);
    trial.cases = 10;
    trial.unchanged = 8;
    trial
}

#[test]
fn table_counts_false_calls_apart_for_tuned_and_reported_projects() {
    let list = List::read().unwrap();
    let mut called = trial(TrialKind::Unchanged, "httparse");
    called.exit = 3;
    called.regressed = vec![Slowed { id: "uri/1".to_owned(), percent: 12.0 }];
    let mut open = trial(TrialKind::Unchanged, "arrayvec");
    open.exit = 4;
    open.undecided = 2;
    let text = table::render(&list, &[called, open]);
    assert!(
        text.contains(
            "| 8 | not tuned on | 1 | 1 (100.0 %, at most 100.0 %) | 0 (0.0 %, at most 95.0 %) | 10 | 0 "
        ),
        "{text}"
    );
    assert!(text.contains("| 8 | tuned on | 1 | 0 (0.0 %, at most 95.0 %) | 1 (100.0 %"), "{text}");
    assert!(text.contains("| 8 | all | 2 | 1 (50.0 %"), "{text}");
    assert!(text.contains("| 2 | 60 s |"), "{text}");
}

#[test]
fn table_names_slower_cases_that_the_documentation_does_not() {
    let list = List::read().unwrap();
    let documented = &list.regression[0];
    let mut found = trial(TrialKind::Regression, &documented.project);
    found.commit.clone_from(&documented.bad);
    found.base = Some(documented.good.clone());
    found.exit = 3;
    found.regressed = vec![
        Slowed { id: format!("x/{}1", documented.cases[0]), percent: 250.0 },
        Slowed { id: "elsewhere".to_owned(), percent: 11.0 },
    ];
    found.criterion =
        Some(ByCriterion { cases: 9, regressed: 4, over_five_percent: 3, seconds: 60.0 });
    let text = table::render(&list, &[found]);
    assert!(
        text.contains("| 8 | 1, up to +250 % | elsewhere +11 % | 0 | 3 | 60 s | 4 of 9 | 3 |"),
        "{text}"
    );
}
