//! The GPU architecture table as a page of the documentation.

use itertools::Itertools as _;
use rsb_model::Dtype;
use rsb_model::architecture::{Architecture, Engine, Rate, toolkit};

use crate::label::group_by_key;
use crate::table::{Cell, Column, Table};

const HEAD: &str = "\
# Architectures of AMD's, NVIDIA's and Intel's GPUs

<!-- Generated from crates/rsb-model/src/architecture/table.rs by `cargo xtask codegen`. -->

Operations per clock of each instruction set. A peak is compute units × operations per unit and clock × clock; a
multiply-add counts as two operations. The engine `sparse` is the matrix unit if two of every four elements of A are zero:
they count as if they were multiplied, as in data sheets. bf8 is e5m2, fp8 e4m3, fp6 e2m3 and fp4 e2m1. `gpu-capability` prints
the dense peaks of the GPUs of this machine.

Notes:

- The clock is the highest that the driver lists. Power and heat keep real clocks below it. RDNA boards also run above it: their
  peak is at the highest of the listed clock, the boost clock below and the last line of `pp_dpm_sclk`, and the record has the
  clock and its source (`peak_clock_mhz`, `peak_clock_source`). A result above the peak at the listed clock has a note.
- A rate of the vector unit assumes its best instructions: packed on CDNA 2, dual-issued on RDNA 3 and 4, dot products
  for integers. Code without them reaches half or less.
- On NVIDIA GPUs, a compute unit is a streaming multiprocessor and a wavefront is a warp. Data sheets assume a lower clock
  for tensor cores than the highest that the driver lists (H100 SXM: 1830 MHz, 1980 MHz), so a peak here is higher than
  theirs by that ratio. GeForce GPUs sum products of f16, bf16, tf32, fp8 and bf8 in f32 at half the rate shown, and are compared with
  that half; i8, i4 and fp4 keep their rate, as do all types on professional GPUs.
- On sm\\_100 and sm\\_103 the instruction `mma` reaches only a part of the rates other than f64. `tensor-core`, which uses it, reports no
  share of them.
- On Intel GPUs, a compute unit is a Xe core. They are used through OpenCL and Vulkan, and only `gpu-capability` shows their peaks.
- *Compiler since* is the first release whose runtime compiler (hiprtc, NVRTC) is known to support the target. CUDA 12.9
  is the last that supports targets before sm\\_75.
- An architecture that is not in the table has no peak: results are shown without one, with the reason.
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
    let mut table = Table::new(["targets", "type", "engine", "tiles"].map(Column::left));
    for (targets, row) in alike() {
        for Rate { dtype, tiles, engine, .. } in
            row.rates.iter().filter(|rate| rate.engine != Engine::Vector)
        {
            let shown: Vec<String> = tiles.iter().map(|[m, n, k]| format!("{m}×{n}×{k}")).collect();
            let named =
                [targets.clone(), dtype.to_string(), engine.as_str().to_owned(), shown.join(", ")];
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
