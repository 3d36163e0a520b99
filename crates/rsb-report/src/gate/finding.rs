//! The findings of a comparison: its rows, missing cases that have no row, and the verdict itself
//! if no row or case explains it. All machine-readable formats are built from these, so they report
//! the same result.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use itertools::Itertools as _;
use rsb_model::record::Comparison;
use rsb_model::{CaseId, ComparisonResult, ReasonCode, Verdict};

use crate::comparison::{by_importance, verdict_sentence};
use crate::label::Shortener;
use crate::number::{format_interval, format_percent, format_quantity, format_threshold};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FindingKind {
    /// Fails the gate.
    Regressed,
    /// Leaves the gate without a verdict.
    NoVerdict,
    /// Informational.
    Improved,
    /// Not reported.
    Unchanged,
}

pub(super) struct GateFinding<'a> {
    pub(super) verdict: Verdict,
    pub(super) code: ReasonCode,
    pub(super) reason: Cow<'a, str>,
    /// The case; `None` if the finding concerns all cases.
    pub(super) id: Option<&'a CaseId>,
    /// The row; `None` for a missing case and for the verdict itself.
    pub(super) row: Option<&'a Comparison>,
}

impl<'a> GateFinding<'a> {
    fn of(row: &'a Comparison) -> Self {
        let (verdict, code, reason) = (row.verdict, row.reason_code, row.reason.as_str().into());
        Self { verdict, code, reason, id: Some(&row.id), row: Some(row) }
    }

    fn from_missing(id: &'a CaseId) -> Self {
        let reason = "the baseline has it and the run does not: run it, or save a new baseline if \
                      it is gone for good";
        let (verdict, code) = (Verdict::Inconclusive, ReasonCode::Missing);
        Self { verdict, code, reason: reason.into(), id: Some(id), row: None }
    }

    fn whole(result: &ComparisonResult) -> Self {
        let code = match result.verdict {
            Verdict::Regressed => ReasonCode::AboveThreshold,
            _ => ReasonCode::TooFewSamples,
        };
        let reason = verdict_sentence(result).1.into();
        Self { verdict: result.verdict, code, reason, id: None, row: None }
    }

    pub(super) const fn kind(&self) -> FindingKind {
        match self.verdict {
            Verdict::Regressed => FindingKind::Regressed,
            Verdict::Inconclusive | Verdict::NotComparable => FindingKind::NoVerdict,
            Verdict::Improved => FindingKind::Improved,
            Verdict::Unchanged => FindingKind::Unchanged,
        }
    }

    /// Returns the case and metric: `gemm f32/1024x1024x1024 time_ms`.
    pub(super) fn name(&self, names: &Shortener) -> String {
        let case = self.id.map_or_else(|| "the whole comparison".to_owned(), |id| names.full(id));
        self.row.map_or_else(|| case.clone(), |row| format!("{case} {}", row.metric))
    }

    /// Returns the known values: `20.6 ms before, 23.9 ms now, +15.9 %, 95 % interval [+12.1,
    /// +19.8] %, threshold 10 %`.
    pub(super) fn figures(&self) -> String {
        let Some(row) = self.row else { return String::new() };
        let unit = &row.unit;
        let parts = [
            row.baseline_value.map(|value| format!("{} before", format_quantity(value, unit))),
            row.current_value.map(|value| format!("{} now", format_quantity(value, unit))),
            row.difference_percent.map(format_percent),
            row.confidence_interval
                .map(|interval| format!("95 % interval {}", format_interval(interval))),
            Some(format!("threshold {}", format_threshold(row.threshold_percent))),
        ];
        parts.into_iter().flatten().join(", ")
    }
}

/// Returns all findings of `result`, worst first. Missing cases and the verdict itself come last.
pub(super) fn findings(result: &ComparisonResult) -> Vec<GateFinding<'_>> {
    let mut all: Vec<GateFinding<'_>> =
        by_importance(result).into_iter().map(GateFinding::of).collect();
    let compared: HashSet<&CaseId> = result.comparisons.iter().map(|row| &row.id).collect();
    all.extend(
        result.missing.iter().filter(|id| !compared.contains(id)).map(GateFinding::from_missing),
    );
    let whole = GateFinding::whole(result);
    let fails = matches!(whole.kind(), FindingKind::Regressed | FindingKind::NoVerdict);
    if fails && all.iter().all(|finding| finding.kind() != whole.kind()) {
        all.push(whole);
    }
    all
}

/// Findings with the same reason: the first of them, and their number.
pub(super) struct Group<'f, 'a> {
    pub(super) first: &'f GateFinding<'a>,
    pub(super) count: usize,
}

/// Groups the findings of `kind`. Findings without a verdict are grouped if they share a reason;
/// all others are groups of one.
pub(super) fn group_findings<'f, 'a>(
    all: &'f [GateFinding<'a>],
    kind: FindingKind,
) -> Vec<Group<'f, 'a>> {
    let mut groups: Vec<Group<'f, 'a>> = Vec::new();
    let mut known: HashMap<(Verdict, &str), usize> = HashMap::new();
    for finding in all.iter().filter(|finding| finding.kind() == kind) {
        let place = *known.entry((finding.verdict, &*finding.reason)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) if kind == FindingKind::NoVerdict => group.count += 1,
            _ => groups.push(Group { first: finding, count: 1 }),
        }
    }
    groups
}

pub(super) fn names(all: &[GateFinding<'_>]) -> Shortener {
    Shortener::of(all.iter().filter_map(|finding| finding.id))
}
