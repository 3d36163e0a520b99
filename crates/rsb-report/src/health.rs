//! The health page: the state of a machine's benchmarks.

use rsb_model::CaseId;
use rsb_model::record::{HealthDocument, HealthItem, OverallStatus, Recommendation};

use crate::label::Shortener;
use crate::number::{count_words, format_count, format_percent};
use crate::style::{Style, Tone};

const SHOWN: usize = 10;

/// Formats the page for a terminal.
pub fn text(page: &HealthDocument, style: Style) -> String {
    let (word, tone) = status(page.status);
    let mut out = format!("{}: {}\n", style.paint(tone, word), sentence(page));
    if page.latest.is_none() {
        return out;
    }
    if page.status == OverallStatus::Healthy {
        out.push_str(if page.recommendations.is_empty() {
            "nothing to do; `rusty-stack-bench trend` lists every series\n"
        } else {
            "nothing urgent; `rusty-stack-bench doctor` checks the machine\n"
        });
        return out;
    }
    out.push_str(&recommendations(&page.recommendations, "Do first", style));
    for section in sections(page) {
        let HealthSection { title, items, .. } = section;
        if items.is_empty() {
            continue;
        }
        out.push_str(&format!("\n{}\n", style.paint(Tone::Strong, title)));
        let ids: Vec<CaseId> = items.iter().filter_map(|item| item.id.parse().ok()).collect();
        let names = Shortener::of(&ids);
        for item in items.iter().take(SHOWN) {
            out.push_str(&style.wrap(&section.line(item, &names), 2));
        }
        if items.len() > SHOWN {
            let more = format!("and {} more (--json has all)", items.len() - SHOWN);
            out.push_str(&style.wrap(&more, 2));
        }
    }
    out
}

/// Formats recommendations for a terminal, below `heading`; empty if there are none.
pub(crate) fn recommendations(all: &[Recommendation], heading: &str, style: Style) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{}\n", style.paint(Tone::Strong, heading));
    for advice in all {
        out.push_str(&style.wrap(&advice.action, 2));
        out.push_str(&style.wrap(&advice.evidence, 4));
    }
    out
}

/// Formats the page as a Markdown document.
pub fn markdown(page: &HealthDocument) -> String {
    use crate::markdown::escape;
    let mut out = format!("# Health: {}\n\n{}\n", status(page.status).0, escape(&sentence(page)));
    for section in sections(page) {
        if !section.items.is_empty() {
            out.push_str(&format!("\n## {}\n\n", section.title));
        }
        for item in section.items {
            let line = section.line(item, &Shortener::default());
            out.push_str(&format!("- {}\n", escape(&line)));
        }
    }
    if !page.recommendations.is_empty() {
        out.push_str("\n## Recommendations\n\n");
    }
    for advice in &page.recommendations {
        let (action, evidence) = (escape(&advice.action), escape(&advice.evidence));
        out.push_str(&format!("- {action}\\\n  {evidence}\n"));
    }
    out
}

/// Items of one kind.
#[derive(Debug, Clone, Copy)]
pub struct HealthSection<'a> {
    /// Title of the kind.
    pub title: &'static str,
    /// Items.
    pub items: &'a [HealthItem],
    /// Whether the percentages of the items are changes, which have a sign.
    has_changes: bool,
}

/// Returns the items that need attention, grouped by kind.
pub fn sections(page: &HealthDocument) -> [HealthSection<'_>; 5] {
    [
        HealthSection { title: "Degraded", items: &page.degraded, has_changes: true },
        HealthSection { title: "Improving", items: &page.improving, has_changes: true },
        HealthSection { title: "Noisy", items: &page.noisy, has_changes: false },
        HealthSection { title: "Missing", items: &page.missing, has_changes: false },
        HealthSection {
            title: "Not measured recently",
            items: &page.unmeasured,
            has_changes: false,
        },
    ]
}

impl HealthSection<'_> {
    /// Returns `item` of this section as one line.
    pub fn line(&self, item: &HealthItem, names: &Shortener) -> String {
        let name = item.id.parse().map_or_else(|_| item.id.clone(), |id| names.full(&id));
        let metric = item.metric.as_deref().map_or_else(String::new, |metric| format!(" {metric}"));
        let percent = match item.percent {
            Some(percent) if self.has_changes => format!(" {}", format_percent(percent)),
            Some(percent) => format!(" {percent:.0} %"),
            None => String::new(),
        };
        let alert = item.alert.as_deref().map_or_else(String::new, |alert| format!(" [{alert}]"));
        format!("{name}{metric}{percent}: {}{alert}", item.evidence)
    }
}

/// Returns the state of a machine as a word, and its color.
pub const fn status(status: OverallStatus) -> (&'static str, Tone) {
    match status {
        OverallStatus::Healthy => ("healthy", Tone::Good),
        OverallStatus::Warning => ("warning", Tone::Caution),
        OverallStatus::Critical => ("critical", Tone::Bad),
    }
}

/// Summarizes the page: `12 runs of amd-epyc-2c, the last on 2026-11-22: 1 degraded, 2 improving, 3
/// noisy.`
pub fn sentence(page: &HealthDocument) -> String {
    let (Some(latest), Some(machine)) = (&page.latest, &page.machine) else {
        return "nothing is stored yet; each `rusty-stack-bench run` adds a point to every metric"
            .to_owned();
    };
    let runs = format_count(page.runs, "run", "runs");
    // A new degradation is not healthy.
    let is_acknowledged = page.status == OverallStatus::Healthy;
    let degraded = if is_acknowledged { "degraded and acknowledged" } else { "degraded" };
    let counts = [
        (page.degraded.len(), degraded),
        (page.improving.len(), "improving"),
        (page.noisy.len(), "noisy"),
        (page.missing.len(), "missing"),
        (page.unmeasured.len(), "not measured recently"),
    ];
    let mut words = count_words(&counts);
    if words.is_empty() {
        words.push_str(match page.runs {
            1 => "a second run is needed to detect changes",
            _ => "nothing needs attention",
        });
    }
    let when = if page.runs == 1 { " on" } else { ", the last on" };
    format!("{runs} of {machine}{when} {}: {words}.", latest.timestamp.strftime("%Y-%m-%d"))
}

#[cfg(test)]
mod tests {
    use rsb_model::Timestamp;
    use rsb_model::record::RunPoint;

    use super::*;

    fn page(status: OverallStatus, recommendations: Vec<Recommendation>) -> HealthDocument {
        HealthDocument {
            format_version: 1,
            status,
            machine: Some("box".to_owned()),
            latest: Some(RunPoint { timestamp: Timestamp::UNIX_EPOCH, run_id: None, commit: None }),
            runs: 3,
            degraded: Vec::new(),
            improving: Vec::new(),
            noisy: Vec::new(),
            missing: Vec::new(),
            unmeasured: Vec::new(),
            recommendations,
        }
    }

    #[test]
    fn a_healthy_store_has_two_lines_and_another_begins_with_what_to_do() {
        let advice = Recommendation { action: "do this".to_owned(), evidence: "seen".to_owned() };
        for all in [Vec::new(), vec![advice.clone()]] {
            let text = text(&page(OverallStatus::Healthy, all), Style::PLAIN);
            assert_eq!(text.lines().count(), 2, "{text}");
        }
        let text = text(&page(OverallStatus::Warning, vec![advice]), Style::PLAIN);
        assert!(text.lines().nth(2) == Some("Do first") && text.contains("do this"), "{text}");
    }

    #[test]
    fn a_healthy_store_says_what_is_degraded_and_what_one_run_cannot_tell() {
        let degraded = HealthItem {
            id: "a".to_owned(),
            metric: None,
            percent: None,
            alert: None,
            evidence: String::new(),
        };
        let mut page = page(OverallStatus::Healthy, Vec::new());
        page.degraded = vec![degraded];
        assert!(sentence(&page).ends_with(": 1 degraded and acknowledged."), "{}", sentence(&page));
        (page.degraded, page.runs) = (Vec::new(), 1);
        let expected = "1 run of box on 1970-01-01: a second run is needed to detect changes.";
        assert_eq!(sentence(&page), expected);
    }
}
