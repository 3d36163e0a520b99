//! Machines side by side: the newest run of each, and the time of every case that at least two of
//! them have.

use std::collections::BTreeMap;

use rsb_model::{Outcome, Run};
use rsb_report::html::element::{escape, linked_table};
use rsb_report::label::time_ns;
use rsb_report::trend::short;
use rsb_report::{
    Cell, Chart, Column, Table, Tone, charts as all_charts, environment, format_time,
};

use crate::address::{Address, CaseView, PageView};
use crate::figure::{Zoom, figures};
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::{SourceResult, StoredMachine};

/// Maximum number of machines side by side; a wider table is unreadable.
const SIDE_BY_SIDE: usize = 6;
/// Maximum number of shown cases that machines have in common.
const CASES: usize = 500;

pub(super) fn page<'v>(site: &Site<'_>, view: &'v PageView) -> SourceResult<Sheet<'v>> {
    let machines = site.source().machines()?;
    let mut sheet = Sheet::new("Machines", Some(view));
    if machines.is_empty() {
        sheet.say(
            Tone::Caution,
            "No machine has measured anything yet: `rusty-stack-bench run` makes the first run.",
        );
        return Ok(sheet);
    }
    sheet.push(&linked_table(&overview(site, &machines), "The machines", &|row, column| {
        let machine = machines.get(row).filter(|_| column == 2)?;
        Some(site.link(Address::page(PageView::Run { id: machine.latest.run_id.0.clone() })))
    }));
    sheet.section("times", "The same cases side by side", side_by_side(site, &machines));
    sheet.section("charts", "Charts", figures(site, view, &charts(site)?, &Zoom::Fixed));
    Ok(sheet)
}

pub(super) fn charts(site: &Site<'_>) -> SourceResult<Vec<Chart>> {
    let machines = site.source().machines()?;
    let runs: Vec<(&str, &Run)> = machines
        .iter()
        .take(SIDE_BY_SIDE)
        .map(|machine| (machine.slug.as_str(), &*machine.latest))
        .collect();
    Ok(all_charts::machines(&runs))
}

fn overview(site: &Site<'_>, machines: &[StoredMachine]) -> Table {
    Table::of(
        machines,
        &[
            (Column::left("machine"), &|machine| site.machine(&machine.slug).into()),
            (Column::right("runs"), &|machine| machine.runs.to_string().into()),
            (Column::left("newest run"), &|machine| {
                site.name_of_run(&machine.latest.run_id.0).into()
            }),
            (Column::elided("hardware"), &|machine| {
                environment::line(&machine.latest.environment).into()
            }),
        ],
    )
}

/// Returns a table with a column for each machine, and a row for each case that at least two of
/// their newest runs measured; the fastest is marked.
fn side_by_side(site: &Site<'_>, machines: &[StoredMachine]) -> String {
    let columns = machines.get(..machines.len().min(SIDE_BY_SIDE)).unwrap_or_default();
    let mut times: BTreeMap<&str, Vec<Option<f64>>> = BTreeMap::new();
    for (at, machine) in columns.iter().enumerate() {
        let results = machine.latest.benchmarks.iter();
        for result in results.filter(|result| result.outcome == Outcome::Measured) {
            let row = times.entry(result.benchmark_id.as_str()).or_default();
            row.resize(columns.len(), None);
            row[at] = time_ns(result);
        }
    }
    times.retain(|_, row| row.iter().flatten().count() > 1);
    if times.is_empty() {
        return "<p>No two machines have a case in common in their newest runs.</p>\n".to_owned();
    }
    let ids: Vec<&str> = times.keys().copied().take(CASES).collect();
    let mut table = Table::new(
        std::iter::once(Column::elided("case"))
            .chain(columns.iter().map(|machine| Column::right(&site.machine(&machine.slug)))),
    );
    for (id, row) in times.iter().take(CASES) {
        let best = row.iter().flatten().copied().reduce(f64::min);
        let mut cells = vec![Cell::from(short(id))];
        for time in row {
            let tone = if *time == best { Tone::Strong } else { Tone::Plain };
            cells.push(Cell::with_tone(time.map_or_else(String::new, format_time), tone));
        }
        table.push(cells);
    }
    let times_table = linked_table(&table, &escape("Times by machine"), &|row, column| {
        let id = ids.get(row).filter(|_| column == 0)?;
        Some(site.link(Address::page(PageView::Case(CaseView::of(id)))))
    });
    let more = times.len().saturating_sub(CASES);
    let more =
        if more > 0 { format!("<p>{more} more cases are left out.</p>\n") } else { String::new() };
    let left = machines.len() - columns.len();
    let left = if left > 0 {
        format!(
            "<p>Only the machines with the newest runs are shown; {left} more are left out.</p>\n"
        )
    } else {
        String::new()
    };
    format!(
        "<p>Time of an iteration in the newest run of each; the shortest is \
         bold.</p>\n{times_table}{more}{left}"
    )
}
