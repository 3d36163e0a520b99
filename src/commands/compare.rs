//! `compare`: compares two sides and adds textbook statistics. The exit code depends on the verdict
//! only with `--check`.

use rsb_app::compare::{ComparedSides, compare_sides};
use rsb_app::{chart, judge};
use rsb_gate::gate::JudgedSides;
use rsb_report::{GateFormat, Style, charts};

use super::verdict;
use crate::cli::CompareArgs;
use crate::exit::{CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `compare`.
///
/// # Errors
/// If a side cannot be read.
pub fn run(args: &CompareArgs, style: Style) -> CliResult {
    let (paths, options) = (args.judge.places.paths(), args.judge.options());
    let (project, judge) = judge::open(&paths, &options, &mut console::tell)?;
    let ComparedSides { baseline, current, result } =
        compare_sides(&judge, &args.baseline, args.current.as_slice())?;
    judge::keep(&judge, &result, &mut console::tell);
    // The statistics are only displayed; the verdict and the stored comparison do not include them.
    let exit = if args.check { judge::exit_of(&result) } else { Exit::Pass };
    let shown = rsb_stats::with_statistics(result, &baseline, &current);
    if verdict::format(&args.judge) == GateFormat::Text && show::has_room_for_pictures(style) {
        let charts = charts::comparison(&shown);
        let picture = chart::at_a_glance(charts.as_slice(), &project.config.charts, style)?;
        if !picture.is_empty() {
            show::text(&picture)?;
            show::text("")?;
        }
    }
    let request = judge::request(
        &judge,
        &paths,
        &options,
        std::slice::from_ref(&args.baseline),
        args.current.as_slice(),
    );
    let sides = JudgedSides::of(&baseline, &current);
    let context = || judge::comment_context(&shown, &sides, &request);
    let look = verdict::Look { style, context: &context };
    let exit = verdict::deliver(&args.judge, &shown, None, &look, exit);
    verdict::advise(&shown, &sides, &request);
    Ok(exit)
}
