//! The GPU architecture table as a page of the documentation.

use itertools::Itertools as _;
use rsb_model::Dtype;
use rsb_model::architecture::{Architecture, Engine, Rate, toolkit};

use crate::label::group_by_key;
use crate::table::{Cell, Column, Table};

const HEAD: &str = "\
# GPU architectures of AMD, NVIDIA and Intel

<!-- Generated from crates/rsb-model/src/architecture/table.rs by `cargo xtask codegen`. -->

Operations of each instruction set per clock. Peak = compute units × operations of a unit per
clock × clock; a multiply-add counts as two operations. `gpu-capability` prints the dense peaks of
the installed GPUs.

- **Engines.** `sparse` is the matrix unit if two of every four elements of A are zero; they count
  as multiplied, as in data sheets. Vector rates assume the best instructions (packed on CDNA 2,
  dual-issued on RDNA 3 and 4, dot products for integers); other code reaches half or less.
- **Types.** bf8 is e5m2, fp8 e4m3, fp6 e2m3, fp4 e2m1.
- **Clock.** The highest that the driver lists. On RDNA boards the highest of that, the boost
  clock below and the last line of `pp_dpm_sclk` (`peak_clock_mhz`, `peak_clock_source`). A result
  above the peak at the listed clock has a note. Power and heat keep real clocks lower.
- **NVIDIA.** A compute unit is a streaming multiprocessor, a wavefront a warp. Data sheets assume
  a lower clock for tensor cores (H100 SXM: 1830 MHz, driver 1980 MHz), so peaks here are higher.
  GeForce GPUs sum f16, bf16, tf32, fp8 and bf8 products in f32 at half the rate shown and are
  compared with that half; i8, i4, fp4 and professional GPUs keep the full rate. On sm\\_100 and
  sm\\_103 `mma` reaches only part of the rates other than f64, so `tensor-core` reports no share
  of them.
- **Intel.** A compute unit is an Xe core, reached through OpenCL and Vulkan. Only
  `gpu-capability` shows these peaks.
- **Compiler since** is the first release whose runtime compiler (hiprtc, NVRTC) generates code
  for the target. CUDA 12.9 is the last for targets before sm\\_75.
- An architecture that is not in the table has no peak, and results give the reason.
";

/// Returns the whole page as Markdown.
pub fn markdown() -> String {
    let mut out = format!("{HEAD}\n## Units\n\n{}", units().markdown());
    out.push_str(&format!("\n## Boost clocks\n\n{}", boards().markdown()));
    let heading = "Operations per compute unit and clock";
    out.push_str(&format!("\n## {heading}\n\n{}", rates().markdown()));
    let heading = "Tiles of the matrix instructions (m × n × k, one block)";
    out.push_str(&format!("\n## {heading}\n\n{}", tiles().markdown()));
    out
}

fn units() -> Table {
    let columns =
        ["target", "family", "GPUs", "matrix unit", "wavefront", "compiler since", "source"];
    let mut table = Table::new(columns.map(Column::left));
    for row in Architecture::all() {
        let matrix = row.matrix.map_or_else(|| "none".to_owned(), |unit| unit.to_string());
        let since = match row.since {
            (0, 0) => "-".to_owned(),
            (major, minor) => format!("{} {major}.{minor}", toolkit(row.target)),
        };
        let cells = [
            row.target,
            row.family,
            row.gpus,
            &matrix,
            &row.wavefront.to_string(),
            &since,
            row.source,
        ];
        table.push(cells.map(Cell::from));
    }
    table
}

fn boards() -> Table {
    let names = ["target", "board"].map(Column::left).into_iter();
    let mut table =
        Table::new(names.chain(["compute units", "boost clock, MHz"].map(Column::right)));
    for (row, board) in
        Architecture::all().flat_map(|row| row.boards.iter().map(move |board| (row, board)))
    {
        let cells = [
            row.target,
            board.name,
            &board.compute_units.to_string(),
            &board.boost_mhz.to_string(),
        ];
        table.push(cells.map(Cell::from));
    }
    table
}

/// Groups the architectures that have the same rates, and joins the names of their targets.
fn alike() -> Vec<(String, &'static Architecture)> {
    let groups = group_by_key(Architecture::all().map(|row| ((row.rates, row.matrix), row)));
    let groups = groups.into_iter();
    groups.map(|(_, rows)| (rows.iter().map(|row| row.target).join(", "), rows[0])).collect()
}

fn rates() -> Table {
    let names = ["targets", "engine"].map(Column::left).into_iter();
    let mut table = Table::new(names.chain(Dtype::ALL.map(|dtype| Column::right(dtype.as_str()))));
    for (targets, row) in alike() {
        for engine in [Engine::Matrix, Engine::Sparse, Engine::Vector] {
            let mut figures = Vec::new();
            for dtype in Dtype::ALL {
                let rate = row.per_clock_per_cu(dtype, engine);
                figures.push(rate.map_or_else(String::new, |rate| rate.to_string()));
            }
            if figures.iter().any(|figure| !figure.is_empty()) {
                let names = [targets.clone(), engine.as_str().to_owned()];
                table.push(names.into_iter().chain(figures).map(Cell::from));
            }
        }
    }
    table
}

fn tiles() -> Table {
    let mut table = Table::new(["targets", "types", "engine", "tiles"].map(Column::left));
    for (targets, row) in alike() {
        // Types of one engine with the same tiles share a row.
        let mut rows: Vec<(Vec<String>, Engine, String)> = Vec::new();
        for Rate { dtype, tiles, engine, .. } in
            row.rates.iter().filter(|rate| rate.engine != Engine::Vector)
        {
            let shown: Vec<String> = tiles.iter().map(|[m, n, k]| format!("{m}×{n}×{k}")).collect();
            let shown = shown.join(", ");
            match rows.iter_mut().find(|known| known.1 == *engine && known.2 == shown) {
                Some(known) => known.0.push(dtype.to_string()),
                None => rows.push((vec![dtype.to_string()], *engine, shown)),
            }
        }
        for (types, engine, shown) in rows {
            let named = [targets.clone(), types.join(", "), engine.as_str().to_owned(), shown];
            table.push(named.map(Cell::from));
        }
    }
    table
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
                let shown = page.contains(&format!("| {} ", rate.per_clock_per_cu));
                assert!(shown, "{} {}", row.target, rate.dtype);
            }
        }
        assert_eq!(page.matches("| gfx950 | matrix |").count(), 1);
        assert!(page.contains("| gfx1201 | RX 9070 XT | 64 | 2970 |"), "boost clocks");
    }
}
