//! The models: the recommended device, runtime and precision of each, from the stored runs.

use rsb_report::html::element::table;
use rsb_report::{Tone, recommended};

use crate::address::PageView;
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::SourceResult;

pub(super) fn page<'v>(site: &Site<'_>, view: &'v PageView) -> SourceResult<Sheet<'v>> {
    let advice = site.source().advice()?;
    let mut sheet = Sheet::new("Models", Some(view));
    if advice.models.is_empty() {
        sheet.say(
            Tone::Caution,
            "No model was measured yet: `rusty-stack-bench models` measures some.",
        );
        return Ok(sheet);
    }
    sheet.paragraph(
        "The fastest measured device, runtime and precision of each model, on all machines. \
         `rusty-stack-bench recommend` also predicts, and chooses by throughput, cost or energy.",
    );
    let rows = table(&recommended::table(&advice), "Recommendation for each model");
    sheet.section("recommendations", "Recommendations", rows);
    Ok(sheet)
}
