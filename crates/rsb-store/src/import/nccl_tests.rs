//! nccl-tests and rccl-tests: one row per size, with microseconds and GB/s out of place and in
//! place.
//!
//! The algorithm bandwidth is size over time; the bus bandwidth is the algorithm bandwidth times a
//! factor of the collective. They have separate fields and never replace each other.

use rsb_model::{BenchmarkType, DeviceType, Dtype, Fields};

use super::error::Problem;
use super::nccl_log::{self, Columns, Part, Row, Section};
use super::rccl_table;
use super::sink::{ImportedCase, Sink};
use super::{Importer, Input};

pub(super) const IMPORTER: Importer = Importer {
    name: "nccl-tests",
    benchmark_type: BenchmarkType::GpuPerformance,
    device_type: Some(DeviceType::Gpu),
    is_document: rccl_table::is_document,
    keys: &["/size", "/algBw", "/busBw"],
    marks: &["algbw", "busbw"],
    read,
};

/// Adds each part of each row of each program in the log to the run.
fn read(input: &Input<'_>, sink: &mut Sink) -> Result<(), Problem> {
    if rccl_table::is_table(input.text) {
        return rccl_table::read(input.text, sink);
    }
    let sections = nccl_log::sections(input.text);
    if sections.is_empty() && nccl_log::is_before_2019(input.text) {
        let problem = "it is a log of nccl-tests from 2017 or 2018 (with columns `bytes`, `N` and \
                       `op`), which cannot be imported";
        return Err(Problem::refusal(problem, "measure with nccl-tests of 2019 or later"));
    }
    let by_file = nccl_log::program_of(input.path).filter(|_| sections.len() == 1);
    let tables: Result<Vec<Table<'_>>, Problem> = sections
        .into_iter()
        .map(|section| match section.name.map(str::to_owned).or_else(|| by_file.clone()) {
            Some(program) => Ok(Table { program, section }),
            None => Err(nameless(section.columns.as_ref())),
        })
        .collect();
    tables?.iter().for_each(|table| table.add(sink));
    Ok(())
}

fn nameless(columns: Option<&Columns<'_>>) -> Problem {
    let line = columns.map_or(0, |columns| columns.line);
    Problem::refusal(
        format!(
            "it is a log of nccl-tests or rccl-tests that does not name the collective of the \
             table in line {line} (nccl-tests before 2.16.7 and older rccl-tests do not print it)"
        ),
        "insert a line that names it, such as `# Collective test starting: all_reduce_perf`, \
         before the table, or name a file with one table after it, such as `all_reduce_perf.log`",
    )
}

/// Output of one program, with its name.
struct Table<'a> {
    program: String,
    section: Section<'a>,
}

impl Table<'_> {
    fn add(&self, sink: &mut Sink) {
        let Some(columns) = &self.section.columns else {
            let problem =
                "the program has no table: it failed before it measured, or the output was cut off";
            return sink.unreadable(&self.program, problem);
        };
        if self.section.has_repeated_rank() {
            let why = "a rank is listed twice: built without MPI, each process measured \
                       separately, and the rows are mixed";
            return sink.put_failed(&self.program, why);
        }
        for (number, line) in &self.section.rows {
            if let Some(row) = columns.row(line) {
                self.row(&row, sink);
            } else {
                let words = line.split_whitespace().count();
                let problem = format!(
                    "line {number} has {words} of {} columns: it was cut off",
                    columns.len()
                );
                sink.unreadable(&format!("{}/line {number}", self.program), &problem);
            }
        }
        if let [first, ..] = self.section.headless.as_slice() {
            let rows = self.section.headless.len();
            let problem = format!(
                "{rows} rows from line {first} on have no column names and no ranks: they are not \
                 read"
            );
            sink.unreadable(&format!("{}/line {first}", self.program), &problem);
        }
        if !self.section.is_ended {
            let problem = "the output ends before its average bus bandwidth: it was cut off";
            sink.unreadable(&format!("{}/end", self.program), problem);
        }
    }

    fn row(&self, row: &Row<'_>, sink: &mut Sink) {
        for part in &row.parts {
            let name = self.name(row, part.place);
            let time = part.figures.first().map_or("", |(_, time)| time);
            if time.eq_ignore_ascii_case("n/a") {
                sink.put_skipped(&name, &format!("it is not measured {}", part.place));
            } else if let Some(wrong) = self.wrong_in(part) {
                sink.put_failed(&name, &wrong);
            } else {
                sink.put(&name, self.found(row, part, time));
            }
        }
    }

    fn name(&self, row: &Row<'_>, place: &str) -> String {
        let mut parts = vec![self.program.clone(), format!("ranks={}", self.section.ranks())];
        parts.extend(
            Some(self.section.groups())
                .filter(|groups| *groups > 1)
                .map(|groups| format!("groups={groups}")),
        );
        parts.extend(row.parameters.iter().skip(2).map(|(name, value)| format!("{name}={value}")));
        let size = row.parameters.first().map_or("", |(_, size)| size);
        parts.extend([format!("size={size}"), place.to_owned()]);
        parts.join("/")
    }

    /// Returns a message about wrong values in this part, or in the whole table if the rows do not
    /// contain counts; `None` if there are none.
    fn wrong_in(&self, part: &Part<'_>) -> Option<String> {
        match part.figure("#wrong").map(str::parse::<f64>) {
            Some(Ok(0.0)) => None,
            Some(Ok(wrong)) => Some(wrong_values(wrong)),
            Some(Err(_)) | None if self.section.wrong > 0 => {
                let wrong = self.section.wrong;
                Some(format!(
                    "{wrong} values of the results are wrong, and the rows do not show which"
                ))
            }
            Some(Err(_)) | None => None,
        }
    }

    fn found(&self, row: &Row<'_>, part: &Part<'_>, time: &str) -> Result<ImportedCase, String> {
        let text = |index: usize| row.parameters.get(index).map_or("", |(_, value)| *value);
        let figure = |name: &str| part.figure(name).ok_or_else(|| format!("it has no `{name}`"));
        let mut found = Measured {
            program: &self.program,
            ranks: self.section.ranks(),
            size: text(0),
            dtype: text(2),
            place: part.place,
            time,
            algbw: figure("algbw")?,
            busbw: figure("busbw")?,
        }
        .to_case()?;
        let error = figure("#wrong").or_else(|_| figure("error"))?;
        found.note("verified", !error.eq_ignore_ascii_case("n/a"));
        let others = part.figures.iter().skip(1).filter(|(name, _)| !USUAL.contains(name));
        for (name, value) in others {
            found.note(name, value.parse::<f64>().ok());
        }
        Ok(found)
    }
}

/// Columns after the time that every version has; other columns are stored in the metadata under
/// their names.
const USUAL: [&str; 4] = ["algbw", "busbw", "#wrong", "error"];

pub(super) fn wrong_values(count: f64) -> String {
    format!("{count} values of the result are wrong")
}

/// One measurement, as printed: the size in bytes, the time in microseconds, the bandwidths in GB/s.
pub(super) struct Measured<'a> {
    pub(super) program: &'a str,
    /// Number of ranks; 0 if unknown.
    pub(super) ranks: usize,
    pub(super) size: &'a str,
    pub(super) dtype: &'a str,
    /// `out-of-place` or `in-place`.
    pub(super) place: &'a str,
    pub(super) time: &'a str,
    pub(super) algbw: &'a str,
    pub(super) busbw: &'a str,
}

impl Measured<'_> {
    pub(super) fn to_case(&self) -> Result<ImportedCase, String> {
        let mut fields = Fields::new()
            .with("operation", self.program)
            .with("time_us", parse_figure("time", self.time)?);
        fields.set("placement", self.place);
        if let Ok(size) = self.size.parse::<u64>() {
            fields.set("size_bytes", size);
        }
        if let Ok(dtype) = self.dtype.parse::<Dtype>() {
            fields.set("dtype", dtype.as_str());
        }
        if self.ranks > 0 {
            fields.set("num_gpus", self.ranks);
        }
        // Small messages are printed as 0.00 GB/s because of rounding, which does not mean a
        // bandwidth of zero.
        for (name, field, text) in
            [("algbw", "throughput_gb_s", self.algbw), ("busbw", "bandwidth_gb_s", self.busbw)]
        {
            let value = parse_figure(name, text)?;
            if value != 0.0 {
                fields.set(field, value);
            }
        }
        let mut found = ImportedCase::of(fields);
        found.note("throughput_gb_s_is", "algbw: size over time");
        found.note("bandwidth_gb_s_is", "busbw: algbw times the factor of the collective");
        Ok(found)
    }
}

fn parse_figure(name: &str, text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("the {name} is `{text}`, not a number"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rsb_model::{Outcome, Run, Timestamp};

    use crate::import::mutations::{read, sample};
    use crate::import::{Format, detect, import_text};

    /// Returns the ids in `run` without their common prefix.
    fn ids(run: &Run) -> Vec<&str> {
        let each = run.benchmarks.iter().map(|case| case.benchmark_id.as_str());
        each.map(|id| id.strip_prefix("gpu_performance/nccl-tests/").unwrap()).collect()
    }

    #[test]
    fn both_halves_of_a_row_are_cases_and_the_bandwidths_stay_apart() {
        let run = read(Format::NcclTests, sample(Format::NcclTests)).unwrap();
        let head = "all_reduce_perf/ranks=2/type=float/redop=sum/root=-1";
        assert_eq!(
            ids(&run),
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
        assert_eq!(
            (large.number("throughput_gb_s"), large.number("bandwidth_gb_s")),
            (Some(14.02), Some(24.54))
        );
        assert_eq!((large.number("num_gpus"), large.text("dtype")), (Some(2.0), Some("f32")));
        assert_eq!(run.benchmarks[3].outcome, Outcome::Skipped);
    }

    /// Returns the sample with messages of NCCL inside the rows, as with `NCCL_DEBUG=INFO`.
    fn with_messages(pieces: &[&str]) -> String {
        let whole = "8         2  float    sum    -1    13.50    0.00    0.00      0    13.10    0.00    0.00      0\n";
        let message = "0host:7:9 [1] NCCL INFO AllReduce: opCount 0 count 2\n";
        let text = sample(Format::NcclTests).replace("host:7:7 [0] NCCL", "0host:7:7 [0] NCCL");
        assert!(text.contains(whole));
        text.replace(whole, &format!("{}\n", pieces.join(&format!("{message}{message}"))))
    }

    #[test]
    fn rows_that_messages_split_are_read_unless_a_value_was_split() {
        let whole = read(Format::NcclTests, sample(Format::NcclTests)).unwrap();
        for pieces in [
            &["  8  2  float  sum  -1", "  13.50  0.00  0.00  0", "  13.10  0.00  0.00  0"][..],
            &["  8  2  float  sum  -1", "  13.50  0.00  0.00  0  13.10  0.00  0.00  0"],
            &["  8  2  float  sum  -1  13.50  0.00  0.00  0", "  13.10  0.00  0.00  0"],
        ] {
            let run = read(Format::NcclTests, &with_messages(pieces)).unwrap();
            assert_eq!(ids(&run), ids(&whole), "{pieces:?}");
            for (one, other) in run.benchmarks.iter().zip(&whole.benchmarks) {
                assert_eq!(one.fields(), other.fields(), "{pieces:?}");
            }
        }
        for pieces in [
            &["  8  2  float  sum  -1", "  1", "3.50  0.00  0.00  0  13.10  0.00  0.00  0"][..],
            &["  8  2  float  -1", "  1", "3.50  0.00  0.00  0  13.10  0.00  0.00  0"],
            &["  8  2  float  sum  -1", "  13.50  0.00  0.00  0", ""],
        ] {
            let run = read(Format::NcclTests, &with_messages(pieces)).unwrap();
            assert_eq!((run.counts().measured, run.counts().failed), (1, 1), "{pieces:?}");
            assert!(ids(&run)[1].contains("size=1048576"), "{:?}", ids(&run));
        }
    }

    #[test]
    fn wrong_values_and_cuts_are_failures() {
        let text = sample(Format::NcclTests);
        let wrong = read(Format::NcclTests, &text.replace("24.54      0", "24.54      3")).unwrap();
        assert!(wrong.benchmarks[2].reason.as_ref().unwrap().why.contains("3 values"));
        let unsaid = text.replace("#wrong", "error").replace("values : 0 OK", "values : 5 FAILED");
        assert_eq!(read(Format::NcclTests, &unsaid).unwrap().counts().measured, 0);
        let cut = read(Format::NcclTests, text.split("# Out of").next().unwrap()).unwrap();
        assert_eq!(ids(&cut).last(), Some(&"all_reduce_perf/end"));
        let torn = read(Format::NcclTests, &text.replace("74.78   14.02   24.54      0", "74.78"))
            .unwrap();
        assert_eq!(torn.counts().failed, 1, "{torn:?}");
        let none = read(
            Format::NcclTests,
            "# Collective test starting: sendrecv_perf\nhost: Test NCCL failure",
        )
        .unwrap();
        assert_eq!((none.counts().failed, ids(&none)), (1, vec!["sendrecv_perf"]));
    }

    fn table(title: &str, names: &str, row: &str) -> String {
        format!(
            "#    {title}\n#   {names}\n#   (B) (elements)\n{row}\n# Out of bounds values : 0 \
             OK\n# Avg bus bandwidth : 1\n#\n"
        )
    }

    const TITLE: &str = "out-of-place    in-place";
    const ONE_PART: &str = "size count type redop root time algbw busbw #wrong";
    const NAMES: &str =
        "size count type redop root time algbw busbw #wrong time algbw busbw #wrong";
    const ROW: &str = "8 2 float sum -1 9.00 1.00 1.50 0 8.00 2.00 3.00 N/A";

    #[test]
    fn each_program_has_its_own_name_ranks_and_errors() {
        let wrong = program("all_reduce_perf", 4)
            .replace("#wrong", "error")
            .replace("values : 0", "values : 2");
        let text =
            format!("{wrong}{}{}", program("all_gather_perf", 2), program("alltoall_perf", 2));
        let run = read(Format::NcclTests, &text).unwrap();
        let parts: Vec<String> = ids(&run)
            .iter()
            .map(|id| id.split('/').take(2).collect::<Vec<_>>().join("/"))
            .collect();
        let twice = ["all_reduce_perf/ranks=4", "all_gather_perf/ranks=2", "alltoall_perf/ranks=2"]
            .map(|id| [id, id]);
        assert_eq!(parts, twice.concat());
        assert_eq!(
            (run.counts().failed, run.counts().measured),
            (2, 4),
            "errors of one program must not count for the others"
        );
    }

    /// Returns the log of the program `name` with `count` ranks.
    fn program(name: &str, count: usize) -> String {
        let ranks: Vec<String> = (0..count)
            .map(|rank| format!("#  Rank {rank:2} Group  0 Pid 9 on host device {rank} [0x07] GPU"))
            .collect();
        let head = format!(
            "# Collective test starting: {name}\n# nThread 1 nGpus 1 minBytes 8\n#\n# Using \
             devices\n"
        );
        format!(
            "{head}{}\n{}# Collective test concluded: {name}\n\n",
            ranks.join("\n"),
            table(TITLE, NAMES, ROW)
        )
    }

    #[test]
    fn tagged_lines_are_read_like_others() {
        let plain = read(Format::NcclTests, sample(Format::NcclTests)).unwrap();
        for tag in
            ["[1,0]<stdout>:", "[prterun-host-9@1,0]<stdout>: ", "[host:123] ", "[0] ", "0: "]
        {
            let lines = sample(Format::NcclTests).lines().map(|line| format!("{tag}{line}\n"));
            // Log lines of another rank between the lines of the table.
            let text: String = lines
                .flat_map(|line| [line, "[1,1]<stdout>:host:8:8 [1] NCCL INFO x\n".to_owned()])
                .collect();
            assert_eq!(detect(Path::new("out.log"), &text), Some(Format::NcclTests), "{tag}");
            assert_eq!(
                read(Format::NcclTests, &text).unwrap().benchmarks,
                plain.benchmarks,
                "{tag}"
            );
        }
    }

    #[test]
    fn a_name_comes_from_the_log_or_the_file_or_is_asked_for() {
        let unnamed =
            sample(Format::NcclTests).replace("# Collective test starting: all_reduce_perf\n", "");
        for (file, text, name) in [
            (
                "out.log",
                format!("+ mpirun -np 2 ./build/all_gather_perf -b 8\n{unnamed}"),
                "all_gather_perf",
            ),
            ("out.log", format!("EXEC_CMD=/opt/bin/reduce_perf_mpi\n{unnamed}"), "reduce_perf_mpi"),
            (
                "out.log",
                format!("{unnamed}# Collective test concluded: gather_perf\n"),
                "gather_perf",
            ),
            ("out.log", format!("======== scatter_perf ========\n{unnamed}"), "scatter_perf"),
            ("rccl_alltoall_2.log", unnamed.clone(), "alltoall_perf"),
            ("all_gather.log", format!("$ ./sendrecv_perf\n{unnamed}"), "sendrecv_perf"),
            (
                "out.log",
                format!("$ ./all_gather_perf\n{unnamed}$ ./all_reduce_perf\n{unnamed}"),
                "all_gather_perf",
            ),
        ] {
            let run = import_text(Path::new(file), &text, None, Timestamp::UNIX_EPOCH).unwrap();
            assert!(ids(&run)[0].starts_with(&format!("{name}/ranks=2/")), "{:?}", ids(&run));
        }
        let built = "g++ -o build/all_reduce_perf\ng++ -o build/all_gather_perf\n";
        let command = "+ mpirun -np 2 build/all_reduce_perf -b 8 -g 1\n";
        let run = import_text(
            Path::new("out.log"),
            &format!("{built}{command}{unnamed}"),
            None,
            Timestamp::UNIX_EPOCH,
        )
        .unwrap();
        assert!(ids(&run)[0].starts_with("all_reduce_perf/ranks=2/"), "{:?}", ids(&run));
        for (file, text) in [
            ("out.log", unnamed.clone()),
            ("out.log", format!("{built}{unnamed}")),
            // Another program after the command may be the one that ran.
            ("out.log", format!("{command}{built}{unnamed}")),
            ("out.log", format!("{command}build/all_gather_perf -b 8\n{unnamed}")),
            ("all_reduce.log", format!("{unnamed}{unnamed}")),
            ("out.log", format!("{}{unnamed}", sample(Format::NcclTests))),
        ] {
            let error = import_text(Path::new(file), &text, None, Timestamp::UNIX_EPOCH)
                .unwrap_err()
                .to_string();
            let parts = [
                file,
                "refused",
                "does not name the collective",
                "# Collective test starting: ",
                "all_reduce_perf.log",
            ];
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    }

    #[test]
    fn tables_of_the_first_versions_are_refused_by_name() {
        let text = "# nThread 1 nGpus 2\n#     bytes  N  type  op  time  algbw  busbw  res  time  \
                    algbw  busbw  res\n8 2 float sum 1 2 3 0 1 2 3 0\n";
        let error = import_text(Path::new("x.log"), text, None, Timestamp::UNIX_EPOCH)
            .unwrap_err()
            .to_string();
        assert!(
            ["x.log", "refused", "2017 or 2018", "2019 or later"]
                .iter()
                .all(|part| error.contains(part)),
            "{error}"
        );
    }

    #[test]
    fn columns_are_taken_by_their_names() {
        let head = "# Collective test starting: x_perf\n# nThread 2 nGpus 4 minBytes 8\n";
        let per_iteration = NAMES.replace("#wrong", "#wrong i_min i_max i_p99 i_cv%");
        for (title, names, row, expected) in [
            // rccl-tests with only the in-place part.
            ("in-place", ONE_PART, "8 2 float sum -1 8.00 2.00 3.00 0", &[("in-place", 8.0)][..]),
            (
                TITLE,
                &NAMES.replace("time", "cputime"),
                ROW,
                &[("out-of-place", 9.0), ("in-place", 8.0)],
            ),
            (
                TITLE,
                &format!("{NAMES} #iters"),
                &format!("{ROW} 20"),
                &[("out-of-place", 9.0), ("in-place", 8.0)],
            ),
            (
                TITLE,
                &format!("{NAMES} timestamp"),
                &format!("{ROW} 2026-01-02 03:04:05"),
                &[("out-of-place", 9.0), ("in-place", 8.0)],
            ),
            (
                TITLE,
                &per_iteration,
                "8 2 float sum -1 9.00 1.00 1.50 0 1 2 3 4 8.00 2.00 3.00 0 1 2 3 4",
                &[("out-of-place", 9.0), ("in-place", 8.0)],
            ),
            // A second time column, from the GPU's events.
            (
                TITLE,
                &NAMES.replace("time", "time hipevt"),
                "8 2 float sum -1 9.00 8.50 1.00 1.50 0 8.00 7.50 2.00 3.00 N/A",
                &[("out-of-place", 9.0), ("in-place", 8.0)],
            ),
            // A collective without a reduction; the operation name is blank.
            (
                TITLE,
                NAMES,
                &ROW.replace("sum ", ""),
                &[("root=-1/size=8/out-of-place", 9.0), ("in-place", 8.0)],
            ),
        ] {
            let run =
                read(Format::NcclTests, &format!("{head}{}", table(title, names, row))).unwrap();
            assert_eq!(run.benchmarks.len(), expected.len(), "{names}: {run:?}");
            for (case, (end, time)) in run.benchmarks.iter().zip(expected) {
                assert!(case.benchmark_id.as_str().ends_with(end), "{}", case.benchmark_id);
                assert_eq!(case.fields().unwrap().number("time_us"), Some(*time), "{names}");
                assert_eq!(
                    case.fields().unwrap().number("num_gpus"),
                    Some(8.0),
                    "threads times GPUs, listed or not"
                );
            }
        }
        let untold = table("", ONE_PART, "8 2 float sum -1 8.00 2.00 3.00 0");
        assert_eq!(
            read(Format::NcclTests, &format!("{head}{untold}")).unwrap().counts().measured,
            0
        );
    }

    #[test]
    fn rows_without_a_head_are_not_silently_lost() {
        let text = sample(Format::NcclTests);
        let rows: Vec<&str> = text.lines().filter(|line| line.contains(" float ")).collect();
        let found =
            format!("{text}$ grep float other.log\n{}\n8 GPUs in 2 nodes\n", rows.join("\n"));
        let run = read(Format::NcclTests, &found).unwrap();
        assert_eq!((run.counts().measured, run.counts().failed), (3, 1));
        let why = &run.benchmarks[4].reason.as_ref().unwrap().why;
        assert!(why.contains("2 rows from line 16 on have no column names"), "{why}");
        let second = format!("{found}{text}");
        assert_eq!(read(Format::NcclTests, &second).unwrap().counts().measured, 6);
    }

    #[test]
    fn a_log_without_its_number_signs_is_read() {
        let text = sample(Format::NcclTests);
        let run = read(Format::NcclTests, &text.replace("# ", "").replace("#  ", "")).unwrap();
        let named = read(
            Format::NcclTests,
            &format!("# Collective test starting: all_reduce_perf\n{}", text.replace("# ", " ")),
        )
        .unwrap();
        assert_eq!(run.counts(), named.counts());
        assert_eq!(named.benchmarks, read(Format::NcclTests, text).unwrap().benchmarks);
    }

    #[test]
    fn the_head_of_rccl_tests_has_colons() {
        let head = "# nThread: 1 nGpus: 2 minBytes: 8 maxBytes: 8 step: 2(factor)\n#\n";
        let ranked = "# nThreads: 1 nGpus: 2 nRanks: 2 minBytes: 8 maxBytes: 8\n#\n";
        let table = table(TITLE, &NAMES.replace("#wrong", "error"), &ROW.replace(" 0 ", " 4e-07 "));
        let text =
            format!("./all_reduce_perf -b 8\n{head}{table}./broadcast_perf -b 8\n{ranked}{table}");
        let run = import_text(Path::new("x"), &text, None, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!((run.counts().measured, run.counts().failed), (4, 0), "{run:?}");
        assert!(ids(&run)[0].starts_with("all_reduce_perf/ranks=2/"), "{:?}", ids(&run));
        assert!(ids(&run)[2].starts_with("broadcast_perf/ranks=4/"), "{:?}", ids(&run));
    }

    #[test]
    fn columns_between_the_known_ones_are_noted() {
        let head = "# Collective test starting: x_perf\n# nThread 1 nGpus 2 minBytes 8\n";
        let names = ONE_PART.replace("time", "time hipevt");
        let text = table("out-of-place", &names, "8 2 float sum -1 9.00 8.50 1.00 1.50 0");
        let run = read(Format::NcclTests, &format!("{head}{text}")).unwrap();
        assert_eq!(run.benchmarks[0].metadata["hipevt"], 8.5);
        assert_eq!(run.benchmarks[0].fields().unwrap().number("bandwidth_gb_s"), Some(1.5));
    }

    #[test]
    fn processes_that_each_measured_alone_are_no_collective() {
        let text = sample(Format::NcclTests).replace("Rank  1", "Rank  0");
        let run = read(Format::NcclTests, &text).unwrap();
        assert_eq!((run.counts().measured, run.counts().failed), (0, 1));
        assert!(run.benchmarks[0].reason.as_ref().unwrap().why.contains("without MPI"));
        let split = sample(Format::NcclTests).replace("Rank  1 Group  0", "Rank  1 Group  1");
        let run = read(Format::NcclTests, &split).unwrap();
        assert!(ids(&run)[0].starts_with("all_reduce_perf/ranks=2/groups=2/"), "{:?}", ids(&run));
    }
}
