//! Shared parsing of rocblas-bench and hipblaslt-bench: lines of column names, each followed by
//! lines of values.
//!
//! The columns differ between functions and versions, and a row may have fewer values than columns.
//! Such a row is accepted only if rate times time equals the operations of the matrix product;
//! otherwise it was cut or shifted.
//!
//! The two tools use different units for the columns named GB/s.

use rsb_model::{Dtype, Fields};

use super::sink::{ImportedCase, Sink};

#[derive(Clone, Copy)]
pub(super) struct Tool {
    pub(super) gflops: &'static str,
    pub(super) bandwidth: &'static str,
    /// Size of the unit that the tool calls GB, in 10⁹ bytes.
    pub(super) gigabyte: f64,
    /// Additional columns with measured values instead of parameters. A name that ends with `*` is
    /// a prefix.
    pub(super) measured: &'static [&'static str],
}

/// Maximum relative difference between rate times time and the number of operations, both of which
/// are printed rounded.
const ROUNDING: f64 = 0.05;

struct Header<'a> {
    line: usize,
    solution: Option<&'a str>,
    names: Vec<&'a str>,
    rows: usize,
    /// Whether rows may follow.
    is_open: bool,
}

pub(super) fn read(tool: Tool, text: &str, sink: &mut Sink) {
    let mut header: Option<Header<'_>> = None;
    let mut is_winner = false;
    for (index, line) in text.lines().enumerate() {
        if let Some(next) = header_of(tool, line, index + 1) {
            without_rows(header.as_ref(), sink);
            // The best solution may differ between runs, so its case is named `best` instead of its
            // number.
            let solution = if is_winner { Some("best") } else { next.solution };
            header = Some(Header { solution, ..next });
            is_winner = false;
        } else if line.trim() == "Winner:" {
            is_winner = true;
        } else if let (Some(header), Some(solution)) = (&mut header, solution_of(line)) {
            // Another solution with the same columns.
            header.solution = Some(solution);
            header.is_open = true;
        } else if let Some(header) =
            header.as_mut().filter(|header| header.is_open && line.contains(','))
        {
            // No value contains a space, so this is a log line between the tables.
            if split_values(line).iter().any(|value| value.contains(char::is_whitespace)) {
                continue;
            }
            header.rows += 1;
            add(tool, header, line, sink);
        } else if let Some(header) = header.as_mut().filter(|header| header.rows > 0) {
            header.is_open = false;
        }
    }
    without_rows(header.as_ref(), sink);
}

/// Parses the column names in `line`, which must include a measured value. They may follow the
/// number of a solution, as in `[0]:`, or `[0]` in an old version.
fn header_of(tool: Tool, line: &str, number: usize) -> Option<Header<'_>> {
    let line_names = line.trim();
    let (solution, names) = match line_names.strip_prefix('[').and_then(|rest| rest.split_once(']'))
    {
        Some((solution, names)) => (Some(solution), names.trim_start_matches(':')),
        None => (None, line_names),
    };
    let names = split_values(names);
    let is_header = names.iter().any(|name| {
        [tool.gflops, tool.bandwidth, "rocblas-us"].iter().any(|own| name.eq_ignore_ascii_case(own))
    });
    is_header.then_some(Header { line: number, solution, names, rows: 0, is_open: true })
}

/// Returns the number of the solution in a line that contains nothing else, as in `[1]:`.
fn solution_of(line: &str) -> Option<&str> {
    let (solution, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
    let is_number = solution.bytes().all(|byte| byte.is_ascii_digit()) && !solution.is_empty();
    (is_number && rest.trim_start_matches(':').trim().is_empty()).then_some(solution)
}

fn without_rows(header: Option<&Header<'_>>, sink: &mut Sink) {
    if let Some(header) = header.filter(|header| header.rows == 0) {
        let line = format!("line {}", header.line);
        let problem = "has column names, but no values follow: the output was cut off";
        sink.unreadable(&line, &format!("{line} {problem}"));
    }
}

fn add(tool: Tool, header: &Header<'_>, line: &str, sink: &mut Sink) {
    let values = split_values(line);
    let Some(columns) = align_columns(tool, &header.names, &values) else {
        let (names, values) = (header.names.len(), values.len());
        let problem = format!("`{}` has {values} values for {names} columns", line.trim());
        return sink.unreadable(&format!("line {} row {}", header.line, header.rows), &problem);
    };
    let row = Row { tool, columns };
    let mut name: Vec<String> =
        header.solution.map(|number| format!("solution={number}")).into_iter().collect();
    name.extend(row.shape().map(|(name, value)| format!("{name}={value}")));
    let is_short = values.len() < header.names.len();
    sink.put(&name.join(","), row.to_case(is_short));
}

/// Splits a line at its commas, except within parentheses, which enclose a complex number. A comma
/// at the end of the line is ignored.
fn split_values(line: &str) -> Vec<&str> {
    let line = line.trim();
    let mut depth = 0_usize;
    let is_separator = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    line.strip_suffix(',').unwrap_or(line).split(is_separator).map(str::trim).collect()
}

/// Pairs values with column names. If values are missing, parameters are matched from the left and
/// measured values from the right.
fn align_columns<'a>(
    tool: Tool,
    names: &[&'a str],
    values: &[&'a str],
) -> Option<Vec<(&'a str, &'a str)>> {
    if names.len() == values.len() {
        return Some(names.iter().copied().zip(values.iter().copied()).collect());
    }
    let figures = names.iter().rev().take_while(|name| tool.is_figure(name)).count();
    let (parameters, rest) = (names.len() - figures, values.len().checked_sub(figures)?);
    if rest == 0 || rest > parameters {
        return None;
    }
    let left = names.iter().zip(values).take(rest);
    let right = names.iter().skip(parameters).zip(values.iter().skip(rest));
    Some(left.chain(right).map(|(name, value)| (*name, *value)).collect())
}

impl Tool {
    fn is_figure(self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let is_named =
            |own: &str| own.strip_suffix('*').map_or(name == *own, |start| name.starts_with(start));
        [self.gflops, self.bandwidth].contains(&name.as_str())
            || COMMON.iter().chain(self.measured).any(|own| is_named(own))
    }
}

const COMMON: &[&str] = &[
    "us",
    "rocblas-us",
    "(us)",
    "cpu-*",
    "atol",
    "rtol",
    "error",
    "norm_error*",
    "norm-error*",
    "frobenius_norm_error",
    // Clocks, spelled with `_` or, in older versions, with `-`.
    "lowest_*",
    "lowest-*",
    "avg_*",
    "avg-*",
    "median_*",
    "median-*",
];

/// Names of the column of the time in microseconds. Old versions of rocblas-bench use all of them.
const TIMES: [&str; 3] = ["us", "rocblas-us", "(us)"];

/// Returns the data type of an input matrix from a name such as `bf16_r`. Both kinds of 8-bit
/// floats map to the same type.
fn factor(text: &str) -> Option<Dtype> {
    let name = text.strip_suffix("_r")?;
    if ["f8", "bf8"].iter().any(|kind| name == *kind || name.starts_with(&format!("{kind}_"))) {
        return Some(Dtype::Fp8);
    }
    name.parse().ok()
}

/// Returns whether a column is of the comparison with the CPU.
fn is_of_cpu(name: &str) -> bool {
    name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("cpu-"))
}

struct Row<'a> {
    tool: Tool,
    columns: Vec<(&'a str, &'a str)>,
}

impl<'a> Row<'a> {
    /// Returns the parameters of the call.
    fn shape(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.columns.iter().copied().filter(|(name, _)| !self.tool.is_figure(name))
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.columns.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    fn number(&self, name: &str) -> Result<Option<f64>, String> {
        let Some(text) = self.text(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| format!("`{name}` is `{text}`, not a number"))
    }

    /// Returns the time in microseconds; `None` if the function prints only a rate.
    fn time_us(&self) -> Result<Option<f64>, String> {
        // In old versions, a time after the rate of the CPU is that of the CPU.
        let of_gpu = self.columns.iter().take_while(|(name, _)| !is_of_cpu(name));
        let mut names = of_gpu.map(|(name, _)| *name);
        let name = names.find(|name| TIMES.iter().any(|time| name.eq_ignore_ascii_case(time)));
        name.map_or(Ok(None), |name| self.number(name))
    }

    fn to_case(&self, is_short: bool) -> Result<ImportedCase, String> {
        let time_us = self.time_us()?;
        let gflops = self.number(self.tool.gflops)?;
        self.check(gflops.zip(time_us).map(|(gflops, time_us)| gflops * time_us * 1e3), is_short)?;
        let mut fields = self.parameters()?;
        if let Some(time_us) = time_us {
            fields.set("time_us", time_us);
        }
        // Functions without arithmetic, or with very little, print a rate of zero.
        let bandwidth = self.number(self.tool.bandwidth)?.map(|rate| rate * self.tool.gigabyte);
        for (field, value) in [("gflops", gflops), ("bandwidth_gb_s", bandwidth)] {
            if let Some(value) = value.filter(|value| *value != 0.0) {
                fields.set(field, value);
            }
        }
        Ok(ImportedCase::of(fields))
    }

    fn parameters(&self) -> Result<Fields, String> {
        let mut fields = Fields::new();
        for (name, field) in [("m", "m"), ("n", "n"), ("k", "k"), ("batch_count", "batch_size")] {
            if let Some(value) = self.number(name)? {
                fields.set(field, value);
            }
        }
        if let (Some(a), Some(b)) = (self.text("transA"), self.text("transB")) {
            fields.set("transpose", format!("{a}{b}").to_ascii_lowercase());
        }
        if let Some(dtype) = self.dtype() {
            fields.set("dtype", dtype.as_str());
        }
        Ok(fields)
    }

    /// Returns the data type of the product: that of both input matrices, or the one that they are
    /// converted to. `None` if the two types differ; the id contains all types. The type of the
    /// result is not used (f8 gives f16, i8 gives i32).
    fn dtype(&self) -> Option<Dtype> {
        let (a, b) = (factor(self.text("a_type")?)?, factor(self.text("b_type")?)?);
        let computed = self.text("compute_type").unwrap_or_default().to_ascii_lowercase();
        if a == Dtype::F32 && b == Dtype::F32 {
            match computed.as_str() {
                "xf32_r" => return Some(Dtype::Tf32),
                "f32_f16_r" => return Some(Dtype::F16),
                "f32_bf16_r" => return Some(Dtype::Bf16),
                _ => {}
            }
        }
        (a == b).then_some(a)
    }

    /// Checks that `operations`, computed from the measured values, match the matrix product, or
    /// four times as many for complex numbers. `None` if a value is not printed.
    fn check(&self, operations: Option<f64>, is_short: bool) -> Result<(), String> {
        let is_product =
            ["transA", "transB", "m", "n", "k"].iter().all(|name| self.text(name).is_some())
                && self.text("uplo").is_none()
                && self.text("grouped_gemm").is_none_or(|grouped| grouped == "0");
        let Some(operations) = operations.filter(|_| is_product) else {
            let problem = || {
                "it has fewer values than columns, and they cannot be checked against a matrix \
                 product"
                    .to_owned()
            };
            return if is_short { Err(problem()) } else { Ok(()) };
        };
        let mut expected = 2.0 * self.number("batch_count")?.unwrap_or(1.0);
        for name in ["m", "n", "k"] {
            expected *= self.number(name)?.unwrap_or(f64::NAN);
        }
        let agrees = [1.0, 4.0]
            .iter()
            .any(|factor| (operations / (factor * expected) - 1.0).abs() <= ROUNDING);
        if agrees {
            return Ok(());
        }
        Err(format!(
            "rate × time is {operations:.3e} operations, but the product has {expected:.3e}: the \
             row was cut off"
        ))
    }
}
