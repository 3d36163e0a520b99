//! nccl-tests and rccl-tests: a row for each size, out of place and in place, each with microseconds and GB/s.
//!
//! The algorithm's bandwidth is size over time; the bus bandwidth is it times a factor of the collective. They are
//! two fields and never stand for each other. A row of the log may stand between the rows of the table.

use rsb_model::{Dtype, Fields};

use super::Input;
use super::sink::{ImportedCase, Sink};

/// Columns of one half of a row: time, algbw, busbw, error.
const HALF: usize = 4;
const HALVES: [&str; 2] = ["out-of-place", "in-place"];

/// What the lines before a row say.
struct Table<'a> {
    collective: &'a str,
    ranks: usize,
    columns: Vec<&'a str>,
    wrong: u64,
}

/// Adds both halves of each row.
pub(super) fn read(input: &Input<'_>, sink: &mut Sink) {
    let mut table = Table { collective: collective(input.text), ranks: 0, columns: Vec::new(), wrong: 0 };
    table.wrong = out_of_bounds(input.text);
    let mut is_open = false;
    for (index, line) in input.text.lines().enumerate() {
        let trimmed = line.trim();
        if let Some(comment) = trimmed.strip_prefix('#') {
            is_open = (is_open || is_header(comment)) && !comment.contains("Avg bus bandwidth");
            table.take(comment);
        } else if !table.columns.is_empty() && is_row(trimmed) {
            table.add(index + 1, trimmed, sink);
        }
    }
    if is_open {
        sink.unreadable("end", "the output ends before its average bus bandwidth: it was cut off");
    }
}

/// The name that newer versions print, such as `all_reduce_perf`.
fn collective(text: &str) -> &str {
    let named = text.lines().find_map(|line| line.split_once("Collective test starting:"));
    named.map_or("collective", |(_, name)| name.trim())
}

/// How many values the checks of all rows together found wrong.
fn out_of_bounds(text: &str) -> u64 {
    let counts = text.lines().filter_map(|line| line.split_once("Out of bounds values :"));
    counts.filter_map(|(_, rest)| rest.split_whitespace().next()?.parse::<u64>().ok()).fold(0, u64::saturating_add)
}

fn is_header(comment: &str) -> bool {
    ["size", "time", "algbw", "busbw"].iter().all(|name| comment.split_whitespace().any(|word| word == *name))
}

/// Rows begin with the size in bytes; what else stands between them is the log.
fn is_row(line: &str) -> bool {
    line.split_whitespace().next().is_some_and(|first| first.parse::<u64>().is_ok())
}

impl<'a> Table<'a> {
    fn take(&mut self, comment: &'a str) {
        let words: Vec<&str> = comment.split_whitespace().collect();
        if is_header(comment) {
            self.columns = words;
        } else if words.first() == Some(&"Rank") {
            self.ranks += 1;
        }
    }

    /// Names before the figures: size, count, type and, by version, redop and root.
    fn parameters(&self) -> usize {
        self.columns.len().saturating_sub(HALVES.len() * HALF)
    }

    fn add(&self, number: usize, line: &str, sink: &mut Sink) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let figures = words.len().saturating_sub(HALVES.len() * HALF);
        // A collective that reduces nothing leaves `redop` blank in some versions.
        if figures < 3 || figures > self.parameters() {
            let problem = format!("line {number} has {} columns of {}: it was cut", words.len(), self.columns.len());
            return sink.unreadable(&format!("line {number}"), &problem);
        }
        let (parameters, halves) = words.split_at(figures);
        for (place, half) in HALVES.into_iter().zip(halves.chunks(HALF)) {
            let name = self.name(parameters, place);
            if half.first().is_some_and(|time| time.eq_ignore_ascii_case("n/a")) {
                sink.skipped(&name, &format!("it is not measured {place}"));
            } else if let Some(wrong) = self.wrong_in(half) {
                sink.failed(&name, &wrong);
            } else {
                sink.put(&name, self.found(parameters, half));
            }
        }
    }

    fn name(&self, parameters: &[&str], place: &str) -> String {
        let mut parts = vec![self.collective.to_owned(), format!("ranks={}", self.ranks)];
        parts.extend(self.columns.iter().zip(parameters).skip(2).map(|(name, value)| format!("{name}={value}")));
        parts.extend([format!("size={}", parameters.first().unwrap_or(&"")), place.to_owned()]);
        parts.join("/")
    }

    /// Values found wrong in this half, or somewhere, where the rows themselves do not tell.
    fn wrong_in(&self, half: &[&str]) -> Option<String> {
        let counted = self.columns.last() == Some(&"#wrong");
        let told = half.last().filter(|_| counted);
        match told.map(|text| text.parse::<f64>()) {
            Some(Ok(0.0)) => None,
            Some(Ok(wrong)) => Some(format!("{wrong} values of the result are wrong")),
            Some(Err(_)) | None if self.wrong > 0 => {
                Some(format!("{} values of the results are wrong, and the rows do not tell which", self.wrong))
            }
            Some(Err(_)) | None => None,
        }
    }

    fn found(&self, parameters: &[&str], half: &[&str]) -> Result<ImportedCase, String> {
        let [time, algbw, busbw, error] = half else { return Err("it has no four figures".to_owned()) };
        let number =
            |name: &str, text: &str| text.parse::<f64>().map_err(|_| format!("the {name} is `{text}`, not a number"));
        let mut fields = Fields::new().with("operation", self.collective).with("time_us", number("time", time)?);
        if let Some(size) = parameters.first().and_then(|text| text.parse::<u64>().ok()) {
            fields.set("size_bytes", size);
        }
        if let Some(dtype) = parameters.get(2).and_then(|text| text.parse::<Dtype>().ok()) {
            fields.set("dtype", dtype.as_str());
        }
        if self.ranks > 0 {
            fields.set("num_gpus", self.ranks);
        }
        // Small messages show as 0.00 GB/s: too little for the digits in print, not a bandwidth of zero.
        for (name, field, text) in [("algbw", "throughput_gb_s", algbw), ("busbw", "bandwidth_gb_s", busbw)] {
            let value = number(name, text)?;
            if value != 0.0 {
                fields.set(field, value);
            }
        }
        let mut found = ImportedCase::of(fields);
        found.note("throughput_gb_s_is", "algbw: size over time");
        found.note("bandwidth_gb_s_is", "busbw: algbw times the factor of the collective");
        found.note("verified", !error.eq_ignore_ascii_case("n/a"));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use rsb_model::Outcome;

    use crate::import::Format;
    use crate::import::mutations::{read, sample};

    #[test]
    fn both_halves_of_a_row_are_cases_and_the_bandwidths_stay_apart() {
        let run = read(Format::NcclTests, sample(Format::NcclTests)).unwrap();
        let ids: Vec<&str> = run.benchmarks.iter().map(|case| case.benchmark_id.as_str()).collect();
        let head = "gpu_performance/nccl-tests/all_reduce_perf/ranks=2/type=float/redop=sum/root=-1";
        assert_eq!(
            ids,
            [
                format!("{head}/size=8/out-of-place"),
                format!("{head}/size=8/in-place"),
                format!("{head}/size=1048576/out-of-place"),
                format!("{head}/size=1048576/in-place")
            ]
        );
        let small = run.benchmarks[0].fields().unwrap();
        assert_eq!((small.number("time_us"), small.number("bandwidth_gb_s")), (Some(13.5), None));
        let large = run.benchmarks[2].fields().unwrap();
        assert_eq!((large.number("throughput_gb_s"), large.number("bandwidth_gb_s")), (Some(14.02), Some(24.54)));
        assert_eq!((large.number("num_gpus"), large.text("dtype")), (Some(2.0), Some("f32")));
        assert_eq!(run.benchmarks[3].outcome, Outcome::Skipped);
    }

    #[test]
    fn wrong_values_and_cuts_are_failures() {
        let text = sample(Format::NcclTests);
        let wrong = read(Format::NcclTests, &text.replace("24.54      0", "24.54      3")).unwrap();
        assert!(wrong.benchmarks[2].reason.as_ref().unwrap().why.contains("3 values"));
        let unsaid = text.replace("#wrong", "error").replace("values : 0 OK", "values : 5 FAILED");
        assert_eq!(read(Format::NcclTests, &unsaid).unwrap().counts().measured, 0);
        let cut = read(Format::NcclTests, text.split("# Out of").next().unwrap()).unwrap();
        assert_eq!(cut.benchmarks.last().unwrap().benchmark_id.as_str(), "gpu_performance/nccl-tests/end");
        let torn = read(Format::NcclTests, &text.replace("74.78   14.02   24.54      0", "74.78")).unwrap();
        assert_eq!(torn.counts().failed, 1, "{torn:?}");
    }
}
