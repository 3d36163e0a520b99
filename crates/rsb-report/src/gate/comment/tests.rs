use rsb_model::Better::{Higher, Lower};
use rsb_model::CaseId;
use rsb_model::record::ComparisonSummary;

use super::*;
use crate::sample;

fn context() -> CommentContext {
    CommentContext {
        baseline: Some("e1822db".repeat(6).get(..40).unwrap().to_owned()),
        current: Some("a72b200".repeat(6).get(..40).unwrap().to_owned()),
        forge: Forge::from_remote("git@github.com:owner/name.git"),
        machine: Some("amd-epyc-2c".to_owned()),
        reproduce: Some("rusty-stack-bench gate --against e1822db".to_owned()),
        bisect: None,
        fails_fast: false,
    }
}

/// A change of one case in percent, with half the width of its interval.
struct Change {
    percent: f64,
    width: f64,
    verdict: Verdict,
}

/// Returns a comparison of cases with these changes.
fn comparison(changes: impl IntoIterator<Item = Change>) -> ComparisonResult {
    let mut result = sample::comparison();
    let template = result.comparisons[2].clone();
    result.comparisons.clear();
    for (at, Change { percent, width, verdict }) in changes.into_iter().enumerate() {
        let [low, high] = [percent - width, percent + width];
        let size = 64 * (at + 1);
        let (code, reason) = match verdict {
            Verdict::Regressed => (ReasonCode::AboveThreshold, "above the threshold of 10 %"),
            Verdict::Improved => (ReasonCode::BetterThanThreshold, "beyond the threshold of 10 %"),
            Verdict::Unchanged => (ReasonCode::WithinNoise, "no clear change"),
            _ => {
                (ReasonCode::TooNoisy, "too noisy to exclude a change above the threshold of 10 %")
            }
        };
        result.comparisons.push(Comparison {
            id: format!("cpu_performance/gemm/cpu:0/f32/{size}x{size}x{size}").parse().unwrap(),
            current_value: Some(20.6 * (1.0 + percent / 100.0)),
            difference_percent: Some(percent),
            confidence_interval: Some([low, high]),
            verdict,
            reason: format!("{percent} % slower (95 % interval {low} to {high} %), {reason}"),
            reason_code: code,
            ..template.clone()
        });
    }
    result.verdict = if result.comparisons.iter().any(|row| row.verdict == Verdict::Regressed) {
        Verdict::Regressed
    } else {
        result.comparisons.last().map_or(Verdict::Inconclusive, |row| row.verdict)
    };
    (result.missing, result.new, result.threshold_checks) = Default::default();
    result.summary = ComparisonSummary::default();
    result
}

fn unchanged(count: u32) -> impl Iterator<Item = Change> {
    (0..count).map(|at| Change {
        percent: f64::from(at % 5) / 2.0 - 1.0,
        width: 2.0,
        verdict: Verdict::Unchanged,
    })
}

fn undecided(count: u32) -> impl Iterator<Item = Change> {
    (0..count).map(|at| Change {
        percent: f64::from(at % 7) - 3.0,
        width: 20.0 + 2.0 * f64::from(at),
        verdict: Verdict::Inconclusive,
    })
}

fn slower(same: u32) -> ComparisonResult {
    let changed = |percent, verdict| Change { percent, width: 3.0, verdict };
    let changes = [
        changed(23.4, Verdict::Regressed),
        changed(12.1, Verdict::Regressed),
        changed(-18.0, Verdict::Improved),
    ];
    comparison(changes.into_iter().chain(unchanged(same)))
}

/// Returns the lines that are shown before a reader opens anything.
fn unfolded(text: &str) -> Vec<&str> {
    let mut is_folded = false;
    let mut lines = Vec::new();
    for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
        if line.starts_with("<details") {
            lines.push(line);
            is_folded = true;
        } else if line == "</details>" {
            is_folded = false;
        } else if !is_folded {
            lines.push(line);
        }
    }
    lines
}

#[test]
fn each_comment_as_it_looks() {
    let bisect = "rusty-stack-bench bisect e1822db a72b200 --case gemm/f32/64x64x64";
    let with_bisect = CommentContext { bisect: Some(bisect.to_owned()), ..context() };
    insta::with_settings!({ omit_expression => true }, {
        let clean = comparison(unchanged(4));
        insta::assert_snapshot!("clean", comment(&clean, Detail::Brief, &context()));
        insta::assert_snapshot!("slower", comment(&slower(5), Detail::Brief, &with_bisect));
        let noisy = comparison(unchanged(3).chain(undecided(22)));
        insta::assert_snapshot!("undecided", comment(&noisy, Detail::Brief, &context()));
        let bare = CommentContext::default();
        insta::assert_snapshot!("failed", comment(&sample::comparison(), Detail::Brief, &bare));
    });
}

#[test]
fn a_clean_comment_is_short_and_a_shared_reason_is_printed_once() {
    let clean = comment(&comparison(unchanged(69)), Detail::Brief, &context());
    assert!(unfolded(&clean).len() <= 10, "{clean}");
    assert!(clean.contains("**PASS · 0 slower · 0 faster · 69 unchanged**"), "{clean}");

    let noisy = comment(&comparison(undecided(22)), Detail::Brief, &context());
    assert!(
        noisy.contains("<summary>22 undecided: noise above ±10 %, widest ±62 %</summary>"),
        "{noisy}"
    );
    assert_eq!(noisy.matches("too noisy to exclude").count(), 1, "{noisy}");
    assert!(unfolded(&noisy).len() <= 10, "{noisy}");
}

#[test]
fn only_changed_cases_have_rows() {
    let text = comment(&slower(69), Detail::Brief, &context());
    assert!(text.contains("**REGRESSED · 2 slower · 1 faster · 69 unchanged**"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("| ")).count(), 2 + 3, "{text}");
    let link = "[a72b200](https://github.com/owner/name/commit/a72b200";
    assert!(text.contains(link), "{text}");
}

#[test]
fn cases_that_fail_fast_left_open_are_not_settled() {
    let result = slower_then_undecided();
    let open = comment(&result, Detail::Brief, &context());
    assert!(open.contains("1 slower · 0 faster · 0 unchanged · 3 undecided**"), "{open}");
    let context = CommentContext { fails_fast: true, ..context() };
    let stopped = comment(&result, Detail::Brief, &context);
    assert!(stopped.contains("1 slower · 0 faster · 0 unchanged · 3 not settled**"), "{stopped}");
}

#[test]
fn a_large_change_without_a_verdict_is_in_the_headline() {
    let large = Change { percent: 704.0, width: 20.0, verdict: Verdict::Inconclusive };
    let text = comment(&comparison(std::iter::once(large)), Detail::Brief, &context());
    says(&text, "0 slower · 0 faster · 0 unchanged · 1 undecided, of which 1 looks slower");
}

#[track_caller]
fn says(text: &str, part: &str) {
    assert!(text.contains(part), "no {part} in\n{text}");
}

fn slower_then_undecided() -> ComparisonResult {
    let slower = Change { percent: 30.0, width: 2.0, verdict: Verdict::Regressed };
    comparison(std::iter::once(slower).chain(undecided(3)))
}

#[test]
fn verbose_comments_are_unfolded() {
    let text = comment(&slower(69), Detail::Full, &context());
    assert!(text.contains("<details open>") && !text.contains("<details>"), "{text}");
}

#[test]
fn commands_and_links_cannot_leave_their_place() {
    let hostile = "x`<b>\n| [y](z) @all -->";
    let context = CommentContext {
        baseline: Some(hostile.into()),
        current: Some("A".repeat(40)),
        machine: Some(hostile.into()),
        reproduce: Some(hostile.into()),
        bisect: Some(hostile.into()),
        ..context()
    };
    let text = comment(&slower(69), Detail::Brief, &context);
    let (commands, others): (Vec<&str>, Vec<&str>) = text
        .lines()
        .partition(|line| line.starts_with("Reproduce at ") || line.starts_with("Find"));
    assert!(commands.len() == 2 && commands.iter().all(|line| line.contains(": `` x`<b>")));
    for part in ["<b>", "@all", "[y](z)"] {
        assert!(!others.iter().any(|line| line.contains(part)), "{part}: {text}");
    }
}

#[test]
fn bars_are_scaled_to_the_largest_change_and_worse_is_right() {
    struct Bar {
        percent: f64,
        interval: Option<[f64; 2]>,
        better: Better,
        drawn: &'static str,
    }
    let bar = |percent, interval, better, drawn| Bar { percent, interval, better, drawn };
    let mut result = sample::comparison();
    let row = result.comparisons.swap_remove(2);
    let scale = Scale { end: 20.0 };
    for Bar { percent, interval, better, drawn } in [
        bar(0.0, None, Lower, "········●···┊····"),
        bar(16.0, Some([12.0, 20.0]), Lower, "········│···┊─●──"),
        bar(-16.0, Some([-20.0, -12.0]), Higher, "········│···┊─●──"),
        bar(-16.0, Some([-20.0, -12.0]), Lower, "──●─····│···┊····"),
        bar(4.0, Some([-30.0, 80.0]), Lower, "◂───────┼─●─┼───▸"),
        bar(20.0, Some([12.0, 28.0]), Lower, "········│···┊───●"),
        bar(500.0, Some([400.0, 600.0]), Lower, "········│···┊··●▸"),
        bar(-1e300, None, Lower, "◂●······│···┊····"),
    ] {
        let changed = Comparison {
            difference_percent: Some(percent),
            confidence_interval: interval,
            better,
            ..row.clone()
        };
        assert_eq!(scale.bar(&changed).as_deref(), Some(drawn), "{percent}");
    }
    let of = |percent| Comparison { difference_percent: Some(percent), ..row.clone() };
    let end = |changes: [f64; 2]| format!("{:.1}", Scale::of(changes.map(of).iter()).end);
    let ends = [end([12.0, -35.0]), end([12.0, 5000.0])];
    assert_eq!(ends, ["35.0", "100.0"], "an enormous change is at most ten thresholds wide");
}

#[test]
fn names_too_long_for_a_comment_stay_different() {
    let mut result = sample::comparison();
    let long = |end: &str| CaseId::from_segments(&[&("x".repeat(400) + end + &"y".repeat(400))]);
    result.new = ["1", "2"].map(long).to_vec();
    let text = comment(&result, Detail::Brief, &CommentContext::default());
    let names: Vec<&str> = text.lines().filter(|line| line.contains("xxxx")).collect();
    assert!(names.len() == 2 && names[0] != names[1], "{names:?}");
}
