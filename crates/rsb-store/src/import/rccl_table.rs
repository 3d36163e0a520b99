//! Files that rccl-tests writes with `-x FILE -Z csv` or `-Z json`: a row per size and placement.
//!
//! The cases have the same names as those of the printed table, but without the root, which these
//! files do not contain.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::error::Problem;
use super::json;
use super::nccl_log;
use super::nccl_tests::{Measured, wrong_values};
use super::sink::{ImportedCase, Sink};

/// Values of a row by column name, in lower case.
type Columns = BTreeMap<String, String>;

/// Returns whether `document` is a row, or a list of rows.
pub(super) fn is_document(document: &Value) -> bool {
    let row = document.as_array().map_or(Some(document), |rows| rows.first());
    row.is_some_and(|row| json::has_keys(row, &["size", "algBw", "busBw"]))
}

/// Returns whether `text` is a CSV or JSON file in this format.
pub(super) fn is_table(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default().to_ascii_lowercase();
    let is_csv = ["size", "time", "algbw", "busbw"]
        .iter()
        .all(|name| first.split(',').any(|own| own.trim() == *name));
    is_csv || json::first(text).is_some_and(|document| is_document(&document))
}

/// Adds each row as a case.
pub(super) fn read(text: &str, sink: &mut Sink) -> Result<(), Problem> {
    if text.trim_start().starts_with(['{', '[']) {
        for document in json::documents(text)? {
            match document {
                Value::Array(rows) => rows.iter().for_each(|row| add(&columns_of(row), sink)),
                row => add(&columns_of(&row), sink),
            }
        }
        return Ok(());
    }
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.trim_start().as_bytes());
    let names = reader.headers().map_err(|error| Problem::shape(error.to_string()))?;
    let names: Vec<String> = names.iter().map(str::to_ascii_lowercase).collect();
    let with_nodes = with_nodes(&names);
    for (index, record) in reader.records().enumerate() {
        match record {
            // A second file that was appended begins with its own column names.
            Ok(record) if record.iter().map(str::to_ascii_lowercase).eq(names.iter().cloned()) => {}
            Ok(record) if [names.len(), with_nodes.len()].contains(&record.len()) => {
                let names = if record.len() == names.len() { &names } else { &with_nodes };
                add(&names.iter().cloned().zip(record.iter().map(str::to_owned)).collect(), sink);
            }
            Ok(record) => {
                let (values, columns) = (record.len(), names.len());
                let problem = format!("it has {values} of {columns} values: it was cut off");
                sink.unreadable(&format!("row {}", index + 1), &problem);
            }
            Err(error) => sink.unreadable(&format!("row {}", index + 1), &error.to_string()),
        }
    }
    Ok(())
}

/// Returns the column names with `nodes` added: some versions write this value in the rows but not
/// its name in the header.
fn with_nodes(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    if let Some(ranks) = names.iter().position(|name| name == "ranks")
        && !names.iter().any(|name| name == "nodes")
    {
        names.insert(ranks, "nodes".to_owned());
    }
    names
}

fn columns_of(row: &Value) -> Columns {
    let entries = row.as_object().into_iter().flatten();
    entries
        .map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (name.to_ascii_lowercase(), text)
        })
        .collect()
}

fn add(columns: &Columns, sink: &mut Sink) {
    let row = Row { columns };
    let name = row.name();
    match row.text("#wrong").or_else(|| row.text("wrong")).map(str::parse::<f64>) {
        Some(Ok(wrong)) if wrong != 0.0 => sink.put_failed(&name, &wrong_values(wrong)),
        wrong => sink.put(
            &name,
            row.to_case().map(|mut found| {
                found.note("verified", matches!(wrong, Some(Ok(_))));
                found
            }),
        ),
    }
}

struct Row<'a> {
    columns: &'a Columns,
}

impl<'a> Row<'a> {
    /// Returns the value in the column `name`; `None` if it is empty.
    fn text(&self, name: &str) -> Option<&'a str> {
        self.columns.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// Returns the name of the program, such as `all_reduce_perf` for `AllReduce`.
    fn program(&self) -> String {
        let collective = self.text("name").or_else(|| self.text("collective"));
        let collective = collective.unwrap_or("unnamed");
        nccl_log::program_of(Path::new(collective)).unwrap_or_else(|| collective.to_owned())
    }

    /// Returns the number of ranks, each of which may have several GPUs.
    fn ranks(&self) -> Option<&'a str> {
        self.text("ranks").or_else(|| self.text("gpus"))
    }

    fn place(&self) -> &'static str {
        match self.text("inplace") {
            Some("1" | "true") => "in-place",
            _ => "out-of-place",
        }
    }

    fn name(&self) -> String {
        let mut parts = vec![self.program()];
        parts.extend(self.ranks().map(|ranks| format!("ranks={ranks}")));
        let cycle = self.text("numcycle").filter(|cycle| *cycle != "0");
        parts.extend(cycle.map(|cycle| format!("cycle={cycle}")));
        for column in ["type", "redop", "size"] {
            parts.extend(self.text(column).map(|value| format!("{column}={value}")));
        }
        parts.push(self.place().to_owned());
        parts.join("/")
    }

    fn to_case(&self) -> Result<ImportedCase, String> {
        let needed = |name: &str| self.text(name).ok_or_else(|| format!("it has no `{name}`"));
        Measured {
            program: &self.program(),
            ranks: self.ranks().and_then(|ranks| ranks.parse().ok()).unwrap_or_default(),
            size: needed("size")?,
            dtype: self.text("type").unwrap_or_default(),
            place: self.place(),
            time: needed("time")?,
            algbw: needed("algbw")?,
            busbw: needed("busbw")?,
        }
        .to_case()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rsb_model::{Outcome, Run, Timestamp};

    use crate::import::{Format, detect, import_text};

    fn read(text: &str) -> Run {
        assert_eq!(detect(Path::new("out"), text), Some(Format::NcclTests), "{text}");
        import_text(Path::new("out"), text, None, Timestamp::UNIX_EPOCH).unwrap()
    }

    #[test]
    fn tables_of_every_version_are_read() {
        for text in [
            "numCycle,name,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inPlace,time,algBw,busBw,wrong\n\
             0,\"AllReduce\",1,8,8,1,1048576,\"float\",\"sum\",1,55.66,18.84,32.97,\"0\"\n",
            // The header lacks the number of nodes.
            "numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,busbw,#wrong\n\
             0,\"AllReduce\",1,8,8,1,1048576,\"float\",\"sum\",1,55.66,18.84,32.97,\"0\"\n",
            "numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\r\n\
             0,AllReduce,8,1048576,float,sum,1,55.66,18.84,32.97,0\r\n",
            r##"{"#wrong":"0","algBw":18.84,"busBw":32.97,"gpus":8,"inPlace":1,"name":"AllReduce",
                "redop":"sum","size":1048576,"time":55.66,"type":"float"}"##,
            r#"[{"numCycle":0, "name":"AllReduce", "nodes":1, "ranks":8, "size":1048576, "type":"float", "redop":"sum",
                "inPlace":1, "time":55.66, "algBw":18.84, "busBw":32.97, "wrong":"0"}]"#,
        ] {
            let run = read(text);
            let [case] = &run.benchmarks[..] else { panic!("{run:?}") };
            assert_eq!(
                case.benchmark_id.as_str(),
                "gpu_performance/nccl-tests/all_reduce_perf/ranks=8/type=float/redop=sum/size=1048576/in-place"
            );
            let fields = case.fields().unwrap();
            assert_eq!(
                ["time_us", "throughput_gb_s", "bandwidth_gb_s", "num_gpus", "size_bytes"]
                    .map(|name| fields.number(name)),
                [55.66, 18.84, 32.97, 8.0, 1_048_576.0].map(Some)
            );
            assert_eq!(case.metadata["verified"], true);
            let twice = read(&format!("{text}\n{text}"));
            assert_eq!((twice.counts().measured, twice.counts().failed), (2, 0), "{text}");
        }
    }

    #[test]
    fn wrong_values_and_cut_rows_cost_their_own_case() {
        let run = read(
            "name,ranks,size,type,redop,inPlace,time,algBw,busBw,wrong\n\
             Broadcast,8,8,float,none,0,5.5,1,1,3\nBroadcast,8,16,float,none,0,5.5,1,1,N/A\nBroadcast,8,3\n",
        );
        let outcomes: Vec<Outcome> = run.benchmarks.iter().map(|case| case.outcome).collect();
        assert_eq!(outcomes, [Outcome::Failed, Outcome::Measured, Outcome::Failed]);
        assert_eq!(run.benchmarks[1].metadata["verified"], false);
    }

    #[test]
    fn repeated_cycles_are_cases_of_their_own() {
        let row =
            r#"{"name":"AllGather","ranks":2,"size":8,"time":1,"algBw":1,"busBw":1,"numCycle":"#;
        let run = read(&format!("{row}0}}\n{row}1}}"));
        let ids: Vec<&str> = run.benchmarks.iter().map(|case| case.benchmark_id.as_str()).collect();
        let head = "gpu_performance/nccl-tests/all_gather_perf/ranks=2";
        assert_eq!(
            ids,
            [format!("{head}/size=8/out-of-place"), format!("{head}/cycle=1/size=8/out-of-place")]
        );
    }
}
