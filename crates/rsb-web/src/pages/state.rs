//! Saved baselines and the findings of the doctor, as the subcommands print them.

use rsb_report::html::element::{class, linked_table, prose};
use rsb_report::{Tone, doctor as examined, list};

use crate::address::PageView;
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::SourceResult;

pub(super) fn baselines<'v>(site: &Site<'_>, view: &'v PageView) -> SourceResult<Sheet<'v>> {
    let rows = site.source().baselines()?;
    let mut sheet = Sheet::new("Baselines", Some(view));
    if rows.is_empty() {
        sheet.say(
            Tone::Caution,
            "No baselines are saved yet. `rusty-stack-bench baseline save` saves the latest run.",
        );
    }
    sheet.push(&linked_table(&list::baselines_table(&rows), "Saved baselines", &|_, _| None));
    Ok(sheet)
}

pub(super) fn doctor<'v>(site: &Site<'_>, view: &'v PageView) -> SourceResult<Sheet<'v>> {
    let findings = site.source().doctor()?;
    let mut sheet = Sheet::new("Doctor", Some(view)).under("The machine that serves this page.");
    let worst = findings
        .iter()
        .map(|finding| examined::tone(finding.severity))
        .find(|tone| *tone == Tone::Bad);
    sheet.say(worst.unwrap_or(Tone::Good), &examined::summary(&findings));
    for finding in findings.iter() {
        let tone = class(examined::tone(finding.severity)).unwrap_or_default();
        let cure = finding
            .cure
            .as_ref()
            .map_or_else(String::new, |cure| format!("<p>Cure: {}</p>\n", prose(cure)));
        sheet.push(&format!(
            "<div class=\"finding\"><h2 class=\"{tone}\">{}: {}</h2>\n<p>{}</p>\n{cure}</div>\n",
            finding.severity.as_str(),
            prose(&finding.what),
            prose(&finding.why)
        ));
    }
    Ok(sheet)
}
