//! `query`: queries the stored results in SQL, read-only.

use rsb_app::{ProjectContext, query};
use rsb_report::Style;

use super::answer;
use crate::cli::{QueryArgs, QueryEngine};
use crate::console;
use crate::exit::CliResult;

/// Runs the subcommand `query`.
///
/// # Errors
/// If the results cannot be read, or the query fails.
pub fn run(args: &QueryArgs, style: Style) -> CliResult {
    if args.engine == QueryEngine::Sqlite {
        return answer::show(&args.sql, &args.answer, style);
    }
    let store = ProjectContext::open(&args.answer.places.paths())?.store(&mut console::tell)?;
    let limit = args.answer.timeout;
    let found = query::by_duckdb(&store, &args.sql, limit, &mut console::tell, || {
        answer::end_after(limit)
    })?;
    answer::print(&found, &args.answer, style)
}
