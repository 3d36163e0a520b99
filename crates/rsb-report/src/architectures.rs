//! The GPU architecture table as a page of the documentation.

use itertools::Itertools as _;
use rsb_model::Dtype;
use rsb_model::architecture::{Architecture, Engine};

use crate::label::group_by_key;
use crate::table::{Cell, Column, Table};

const HEAD: &str = "\
# GPU architectures of AMD, NVIDIA and Intel

<!-- Generated from crates/rsb-model/src/architecture/table.rs by `cargo xtask codegen`. -->

Peak rate = compute units × operations of a unit per clock × clock; a multiply-add counts as two
operations. `gpu-capability` prints the dense peaks of the installed GPUs. An architecture that is
not listed has no peak, and results give the reason.

- **Engines.** `sparse` is the matrix unit if two of every four elements of A are zero; they count
  as multiplied, as in data sheets. Vector rates assume the best instructions (packed on CDNA 2,
  dual-issued on RDNA 3 and 4, dot products for integers); other code reaches half or less.
- **Types.** bf8 is e5m2, fp8 e4m3, fp6 e2m3, fp4 e2m1.
- **Clock.** The highest that the driver lists. On RDNA the highest of that, the boost clock below
  and the last line of `pp_dpm_sclk` (`peak_clock_mhz`, `peak_clock_source`). Real clocks are lower.
- **NVIDIA.** A compute unit is a streaming multiprocessor, a wavefront a warp. Data sheets assume
  a lower clock for tensor cores (H100 SXM: 1830 MHz, driver 1980 MHz), so peaks here are higher.
  GeForce GPUs sum f16, bf16, tf32, fp8 and bf8 products in f32 at half the rate shown and are
  compared with that half. On sm\\_100 and sm\\_103 `mma` reaches only part of the rates other than
  f64, so `tensor-core` reports no share of them.
- **Intel.** A compute unit is an Xe core, reached through OpenCL and Vulkan. Only
  `gpu-capability` shows these peaks.
";

/// Returns the whole page as Markdown.
pub fn markdown() -> String {
    let compiler = "*Toolkit since*: first ROCm or CUDA whose runtime compiler (hiprtc, NVRTC) generates \
                    code for the target. CUDA 12.9 is the last for targets before sm\\_75.\n";
    let sections = [
        ("Units", format!("{compiler}\n{}\nSources:\n\n{}", units().markdown(), sources())),
        ("Boost clocks (compute units × MHz)", boards()),
        ("Operations per compute unit and clock", {
            let note = "After a slash: the rate of the `sparse` engine.\n";
            format!("{note}\n{}", rates().markdown())
        }),
        ("Tiles of the matrix instructions (m × n × k, one block)", tiles()),
    ];
    let sections = sections.map(|(heading, text)| format!("\n## {heading}\n\n{text}"));
    format!("{HEAD}{}", sections.concat())
}

fn units() -> Table {
    let columns = ["target", "family", "GPUs", "matrix unit", "wavefront", "toolkit since"];
    let mut table = Table::new(columns.map(Column::left));
    for row in Architecture::all() {
        let matrix = row.matrix.map_or_else(|| "none".to_owned(), |unit| unit.to_string());
        let since = match row.since {
            (0, 0) => "-".to_owned(),
            (major, minor) => format!("{major}.{minor}"),
        };
        let wavefront = row.wavefront.to_string();
        let cells = [row.target, row.family, row.gpus, &matrix, &wavefront, &since];
        table.push(cells.map(Cell::from));
    }
    table
}

fn sources() -> String {
    let groups = group_by_key(Architecture::all().map(|row| (row.source, row.target)));
    list(groups.into_iter().map(|(source, targets)| (targets.join(", "), source.to_owned())))
}

fn boards() -> String {
    list(Architecture::all().filter(|row| !row.boards.is_empty()).map(|row| {
        let boards = row.boards.iter();
        let boards = boards
            .map(|board| format!("{} {}×{}", board.name, board.compute_units, board.boost_mhz));
        (row.target.to_owned(), boards.collect::<Vec<_>>().join(", "))
    }))
}

/// Returns a Markdown list of names and texts.
fn list(lines: impl Iterator<Item = (String, String)>) -> String {
    let lines = lines.map(|(name, text)| format!("- {name}: {text}\n"));
    lines.collect::<String>().replace('_', "\\_")
}

/// Groups the architectures that have the same rates, and joins the names of their targets.
fn alike() -> Vec<(String, &'static Architecture)> {
    let groups = group_by_key(Architecture::all().map(|row| ((row.rates, row.matrix), row)));
    let groups = groups.into_iter();
    groups.map(|(_, rows)| (rows.iter().map(|row| row.target).join(", "), rows[0])).collect()
}

/// Returns the rates: a row for the matrix unit, dense and sparse, and one for the vector unit.
fn rates() -> Table {
    let mut rows: Vec<[String; 2]> = Vec::new();
    let mut columns: Vec<(&str, Vec<String>)> =
        Dtype::ALL.iter().map(|dtype| (dtype.as_str(), Vec::new())).collect();
    for (targets, row) in alike() {
        for engine in [Engine::Matrix, Engine::Vector] {
            if row.rates.iter().all(|rate| rate.engine != engine) {
                continue;
            }
            rows.push([targets.clone(), engine.as_str().to_owned()]);
            for (dtype, (_, cells)) in Dtype::ALL.into_iter().zip(&mut columns) {
                let rates =
                    [engine, Engine::Sparse].map(|engine| row.per_clock_per_cu(dtype, engine));
                cells.push(match rates {
                    [None, _] => String::new(),
                    [Some(dense), Some(sparse)] if engine == Engine::Matrix => {
                        format!("{dense}/{sparse}")
                    }
                    [Some(rate), _] => rate.to_string(),
                });
            }
        }
    }
    // Types with the same rates everywhere share a column.
    let columns = group_by_key(columns.into_iter().map(|(name, cells)| (cells, name)));
    let names = ["targets", "engine"].map(Column::left).into_iter();
    let types = columns.iter().map(|(_, names)| Column::right(&names.join(", ")));
    let mut table = Table::new(names.chain(types));
    for (index, row) in rows.into_iter().enumerate() {
        let rates = columns.iter().map(|(cells, _)| cells[index].clone());
        table.push(row.into_iter().chain(rates).map(Cell::from));
    }
    table
}

fn tiles() -> String {
    list(alike().into_iter().filter(|(_, row)| row.matrix.is_some()).map(|(targets, row)| {
        let [dense, sparse] = [Engine::Matrix, Engine::Sparse].map(|engine| {
            let rates = row.rates.iter().filter(|rate| rate.engine == engine);
            // Types with the same tiles share an entry.
            let groups = group_by_key(rates.map(|rate| {
                let tiles = rate.tiles.iter().map(|[m, n, k]| format!("{m}×{n}×{k}"));
                (tiles.collect::<Vec<_>>().join(", "), rate.dtype.as_str())
            }));
            let entries = groups.into_iter();
            let entries = entries.map(|(tiles, types)| format!("{} {tiles}", types.join(", ")));
            entries.collect::<Vec<_>>().join("; ")
        });
        let sparse = if sparse.is_empty() { sparse } else { format!(". Sparse: {sparse}") };
        (targets, format!("{dense}{sparse}"))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_architecture_and_every_rate_is_on_the_page() {
        let page = markdown().replace("\\_", "_"); // As it reads: Markdown escapes underscores.
        for row in Architecture::all() {
            assert!(page.contains(row.target) && page.contains(row.source), "{}", row.target);
            for rate in row.rates {
                let rate_text = rate.per_clock_per_cu;
                let shown = ["| ", "/"].iter().any(|before| {
                    page.contains(&format!("{before}{rate_text} "))
                        || page.contains(&format!("{before}{rate_text}/"))
                });
                assert!(shown, "{} {}", row.target, rate.dtype);
            }
        }
        assert_eq!(page.matches("| gfx950 | matrix |").count(), 1);
        assert_eq!(page.matches("- gfx950: f64 16×16×4;").count(), 1);
        assert!(page.contains("RX 9070 XT 64×2970"), "boost clocks");
    }
}
