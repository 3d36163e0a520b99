//! Results of SQL queries, printed in the requested format.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rsb_app::{ProjectContext, query};
use rsb_report::Style;
use rsb_store::{SqlAnswer, SqlError};

use crate::cli::AnswerArgs;
use crate::exit::{CliResult, Exit};
use crate::{console, show};

/// Runs `sql` on the index and prints the result.
pub(super) fn show(sql: &str, args: &AnswerArgs, style: Style) -> CliResult {
    let store = ProjectContext::open(&args.places.paths())?.store(&mut console::tell)?;
    let waiting = end_after(args.timeout);
    let answer = store.select(sql, args.timeout).map_err(rsb_app::sql_error)?;
    drop(waiting);
    print(&answer, args, style)
}

/// Prints the result of a query.
pub(super) fn print(answer: &SqlAnswer, args: &AnswerArgs, style: Style) -> CliResult {
    if args.json {
        show::json(&query::document(answer))?;
    } else if args.csv {
        show::text(&query::csv(answer)?)?;
    } else if answer.rows.is_empty() {
        show::text("no rows")?;
    } else {
        show::text(&query::table(answer).text(style))?;
    }
    Ok(Exit::Pass)
}

/// Grace period for a query after its time limit.
const GRACE: Duration = Duration::from_secs(1);

/// Terminates the program if the returned sender is not dropped soon after `limit`. Databases check
/// their time limit only between steps, and a single step can take arbitrarily long. The program
/// only reads, so no data is lost.
pub(super) fn end_after(limit: Duration) -> mpsc::Sender<()> {
    let (waiting, answered) = mpsc::channel();
    thread::spawn(move || {
        if answered.recv_timeout(limit.saturating_add(GRACE)) == Err(RecvTimeoutError::Timeout) {
            console::say(&format!("error: {}", SqlError::TimedOut { limit }));
            std::process::exit(Exit::Usage as i32);
        }
    });
    waiting
}
