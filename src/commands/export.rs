//! Every stored result, for other programs.

use rsb_engine::gate;
use rsb_store::{HistoryFilter, export};

use super::settings;
use crate::cli::{ExportArgs, ExportFormat};
use crate::console;
use crate::exit::CliResult;

/// The verb `export`.
///
/// # Errors
/// When the results cannot be read, or the file cannot be written.
pub fn run(args: &ExportArgs) -> CliResult {
    let (_, directories) = settings::load(&args.places)?;
    let store = gate::open(&directories, &mut console::tell)?;
    let text = match args.format {
        ExportFormat::Csv => {
            let mut bytes = Vec::new();
            export::write_csv(&store.history(&HistoryFilter::default())?, &mut bytes)?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        ExportFormat::Json => {
            let ids = store.runs()?.into_iter().map(|run| run.run_id);
            let runs = ids.map(|id| store.run(&id.0)).collect::<Result<Vec<_>, _>>()?;
            rsb_report::document("runs", &runs)?
        }
    };
    super::report::to(args.output.as_deref(), &text)
}
