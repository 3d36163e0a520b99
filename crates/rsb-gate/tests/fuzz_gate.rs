//! Whatever happens to the files that a gate reads, a case that is 50 % slower, missing or
//! unreadable never passes.
//!
//! Each try takes a baseline of twelve cases, a run in which one of them has become bad, and a
//! policy or none. It changes one of the files at a few random places, as an editor, a merge, a
//! disk or another program may, and judges. `RSB_FUZZ_TRIES` sets the number of tries,
//! `RSB_FUZZ_SEED` the first seed:
//!
//! ```text
//! RSB_FUZZ_TRIES=200000 cargo test --release -p rsb-gate --test fuzz_gate -- --nocapture
//! ```
//!
//! A file with a valid checksum is as reliable as its writer. If the checksum is recomputed after a
//! change, the bad case itself is not changed, since nothing else records that it was bad. Data of
//! earlier runs, which half of the baselines contain, may be changed in any way, including that of
//! the bad case. Changed policies count only if they still judge the case with a threshold below 50
//! %.

#![allow(clippy::unwrap_used)] // In a test a failed step is a failed test.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rsb_engine::ErrorKind;
use rsb_gate::Directories;
use rsb_gate::gate::{self, Basis, Judge, StoredRequest};
use rsb_gate::policy::Thresholds;
use rsb_model::environment::Cpu;
use rsb_model::random::Generator;
use rsb_model::record::PAST_PROCESSES;
use rsb_model::{BenchmarkResult, CaseId, Environment, Outcome, Run, RunId, Samples, Timestamp};
use rsb_stats::{Policy, PolicyFile};
use rsb_store::{Baseline, page, sealed_text};
use serde_json::{Value, json};

const CASES: u64 = 12;
const PROCESSES: u32 = 3;
const SAMPLES: u64 = 12;
/// The case that became bad.
const BAD: usize = 5;

const POLICY: &str = r#"threshold_percent = 10.0
alpha = 0.05
miss_percent = 5.0
percentiles = [50]

[ignore]
cases = ["*/case-9/*"]

[[threshold]]
id = "*/case-5/*"
percent = 20.0

[control]
cases = ["*/case-1/*"]
moved_percent = 5.0
when_moved = "refuse"

[[target]]
id = "*/case-2/*"
metric = "gflops"
above = 1.0
"#;

/// How the case is bad.
#[derive(Debug, Clone, Copy)]
enum Badness {
    Slower,
    Missing,
    Unreadable,
}

/// The file to change.
#[derive(Debug, Clone, Copy)]
enum Target {
    BaselineText,
    CurrentText,
    BaselineSealed,
    CurrentSealed,
    PastSealed,
    Policy,
    CriterionBaseline,
    CriterionCurrent,
    /// A run in an HTML page, as `report --format html` writes it.
    PageBaseline,
    PageCurrent,
}

const TARGETS: [Target; 10] = [
    Target::BaselineText,
    Target::CurrentText,
    Target::BaselineSealed,
    Target::CurrentSealed,
    Target::PastSealed,
    Target::Policy,
    Target::CriterionBaseline,
    Target::CriterionCurrent,
    Target::PageBaseline,
    Target::PageCurrent,
];

fn id(case: u64) -> CaseId {
    CaseId::from_segments(&[
        "cpu_performance".to_owned(),
        format!("case-{case}"),
        "cpu:0".to_owned(),
        "f32".to_owned(),
    ])
}

/// A run of every case, its processes about 1 % apart.
fn run(name: &str, random: &mut Generator) -> Run {
    let environment = Environment {
        cpu: Some(Cpu { model: Some("CPU".into()), usable_cores: 2, ..Cpu::default() }),
        ..Environment::default()
    };
    let mut run =
        Run::begin(RunId(name.to_owned()), Timestamp::UNIX_EPOCH, "quick", "quick", environment);
    run.finished = Some(Timestamp::UNIX_EPOCH);
    for case in 0..CASES {
        let mut samples = Vec::new();
        for replicate in 0..PROCESSES {
            let level = 1e4 * (case + 1) as f64 * (1.0 + 0.01 * random.unit());
            let times = (0..SAMPLES).map(|_| level * (1.0 + 0.01 * random.unit()));
            samples.push(Samples {
                replicate,
                iters: vec![1; SAMPLES as usize],
                times_ns: times.collect(),
            });
        }
        run.benchmarks.push(BenchmarkResult {
            category: Some(format!("case-{case}")),
            samples,
            ..BenchmarkResult::new(id(case), Timestamp::UNIX_EPOCH, Outcome::Measured)
        });
    }
    run
}

fn slow(run: &mut Run) {
    let samples = run.benchmarks[BAD].samples.iter_mut();
    samples.flat_map(|samples| &mut samples.times_ns).for_each(|time| *time *= 1.5);
}

/// Writes the first process of `run` as an output directory of Criterion.
fn write_criterion(dir: &Path, run: &Run) {
    for case in &run.benchmarks {
        let dir = dir.join(case.benchmark_id.as_str().replace('/', "_")).join("new");
        fs::create_dir_all(&dir).unwrap();
        let samples = &case.samples[0];
        let iters: Vec<f64> = samples.iters.iter().map(|&count| count as f64).collect();
        fs::write(
            dir.join("sample.json"),
            json!({ "iters": iters, "times": samples.times_ns }).to_string(),
        )
        .unwrap();
        fs::write(dir.join("benchmark.json"), json!({ "full_id": case.benchmark_id }).to_string())
            .unwrap();
    }
}

/// Returns a junk value of any kind.
fn junk(random: &mut Generator) -> Value {
    let all = [
        json!(null),
        json!(-1),
        json!(0),
        json!(1e300),
        json!(1e-300),
        json!(u64::MAX),
        json!(""),
        json!("*"),
        json!("x"),
        json!([]),
        json!({}),
        json!(true),
        json!([1, 2]),
        json!("measured"),
        json!("skipped"),
        json!("failed"),
        json!("simulated"),
        json!({ "a": 1 }),
        json!(0.5),
        json!(2),
    ];
    all[random.below(all.len() as u64) as usize].clone()
}

/// Changes a random place of `value`, except in the case whose id is `spared`.
fn mutate(value: &mut Value, spared: Option<&str>, random: &mut Generator) {
    let is_spared = |value: &Value| {
        spared.is_some_and(|id| value.get("benchmark_id").is_some_and(|own| own == id))
    };
    let holds = |value: &Value| spared.is_some_and(|id| value.to_string().contains(id));
    let mut place = value;
    for _ in 0..8 {
        let descend = random.below(4) != 0;
        match place {
            Value::Object(map) if !map.is_empty() => {
                let key = map.keys().nth(random.below(map.len() as u64) as usize).unwrap().clone();
                if is_spared(&map[&key]) {
                    return;
                }
                if descend && (map[&key].is_object() || map[&key].is_array()) {
                    place = map.get_mut(&key).unwrap();
                    continue;
                }
                if holds(&map[&key]) {
                    return;
                }
                match random.below(3) {
                    0 => drop(map.shift_remove(&key)),
                    1 => drop(map.insert(key, junk(random))),
                    _ => drop(map.insert("unknown".to_owned(), junk(random))),
                }
                return;
            }
            Value::Array(list) if !list.is_empty() => {
                let at = random.below(list.len() as u64) as usize;
                if is_spared(&list[at]) {
                    return;
                }
                if descend && (list[at].is_object() || list[at].is_array()) {
                    place = &mut list[at];
                    continue;
                }
                if holds(&list[at]) {
                    return;
                }
                let other = random.below(list.len() as u64) as usize;
                match random.below(4) {
                    0 => drop(list.remove(at)),
                    1 => list[at] = junk(random),
                    2 => list.push(list[at].clone()),
                    _ => list.swap(at, other),
                }
                return;
            }
            // An empty list or object.
            _ => return,
        }
    }
}

/// Gives every case of the baseline `saved` the processes of up to five earlier runs.
fn keep_past(saved: &mut Value, random: &mut Generator) {
    let runs = 1 + random.below(5);
    for (case, level) in cases_of(saved).iter_mut().zip(1..) {
        let mut process = |_| json!(0.01 * f64::from(level) * (1.0 + 0.01 * random.unit()));
        let past: Vec<Value> =
            (0..runs).map(|_| (0..PROCESSES).map(&mut process).collect()).collect();
        case["metadata"][PAST_PROCESSES] = Value::from(past);
    }
}

/// Replaces the data of earlier runs in a baseline, for the bad case and a few others, by junk or
/// by processes with any noise.
fn mutate_past(saved: &mut Value, random: &mut Generator) {
    for (at, case) in cases_of(saved).iter_mut().enumerate() {
        if at != BAD && random.below(4) != 0 {
            continue;
        }
        let past = &mut case["metadata"][PAST_PROCESSES];
        match random.below(4) {
            0 => *past = junk(random),
            1 => mutate(past, None, random),
            _ => {
                let spread = 10_f64.powi(random.below(5) as i32 - 3);
                let processes = past
                    .as_array_mut()
                    .unwrap()
                    .iter_mut()
                    .flat_map(|run| run.as_array_mut().unwrap());
                for process in processes {
                    *process =
                        json!(process.as_f64().unwrap() * (spread * (random.unit() - 0.5)).exp());
                }
            }
        }
    }
}

fn cases_of(saved: &mut Value) -> &mut Vec<Value> {
    saved["runs"][0]["benchmarks"].as_array_mut().unwrap()
}

/// Returns `document` in a page like that of a report.
fn page(document: &str) -> String {
    let data = page::data_element(document);
    format!(
        "<!doctype html>\n<html \
         lang=\"en\"><head><title>run</title></head>\n<body>\n{data}</body></html>\n"
    )
}

/// Changes a few bytes of `text`: flips, cuts, doubles or moves a piece.
fn scramble(text: &str, random: &mut Generator) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len() as u64) as usize;
        let end = (at + random.below(40) as usize).min(bytes.len());
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.truncate(at),
            3 => {
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len() as u64) as usize;
                bytes.splice(to..to, piece);
            }
            4 => bytes[at] = b"0123456789{}[],:\"-e."[random.below(20) as usize],
            // Remove a whole line, as a merge does.
            _ => {
                let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
                let line = random.below(lines.len() as u64) as usize;
                let kept = lines.iter().enumerate().filter(|(index, _)| *index != line);
                bytes = kept.flat_map(|(_, line)| line.to_vec()).collect();
            }
        }
    }
    bytes
}

/// The files of one try.
struct Files {
    dir: tempfile::TempDir,
    baseline: Run,
    current: Run,
}

impl Files {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes the files of a try, one of them changed, and returns the sides.
    fn write(&self, target: Target, badness: Badness, random: &mut Generator) -> [String; 2] {
        let bad = id(BAD as u64);
        let [baseline, current] = ["baseline.json", "current.json"].map(|name| self.path(name));
        let saved =
            Baseline::new("quick", Timestamp::UNIX_EPOCH, std::slice::from_ref(&self.baseline))
                .unwrap();
        let mut saved = serde_json::to_value(&saved).unwrap();
        if matches!(target, Target::PastSealed) || random.below(2) == 0 {
            keep_past(&mut saved, random);
        }
        let mut run = self.current.clone();
        match badness {
            Badness::Slower => slow(&mut run),
            Badness::Missing => drop(run.benchmarks.remove(BAD)),
            Badness::Unreadable => run.benchmarks[BAD].samples[0].times_ns[2] = -1.0,
        }
        let mut judged = serde_json::to_value(&run).unwrap();
        match target {
            Target::BaselineSealed => mutate(&mut saved, Some(bad.as_str()), random),
            Target::CurrentSealed => mutate(&mut judged, Some(bad.as_str()), random),
            Target::PastSealed => mutate_past(&mut saved, random),
            _ => {}
        }
        let mut texts =
            [&saved, &judged].map(|document| sealed_text(document).unwrap().into_bytes());
        match target {
            Target::BaselineText => {
                texts[0] = scramble(&String::from_utf8_lossy(&texts[0]), random);
            }
            Target::CurrentText => texts[1] = scramble(&String::from_utf8_lossy(&texts[1]), random),
            _ => {}
        }
        if matches!(target, Target::PageBaseline | Target::PageCurrent) {
            let mut pages =
                [&self.baseline, &run].map(|run| page(&sealed_text(run).unwrap()).into_bytes());
            let side = usize::from(matches!(target, Target::PageCurrent));
            pages[side] = scramble(&String::from_utf8_lossy(&pages[side]), random);
            texts = pages;
        }
        fs::write(&baseline, &texts[0]).unwrap();
        fs::write(&current, &texts[1]).unwrap();
        let _ = fs::remove_file(self.path("policy.toml"));
        if matches!(target, Target::Policy) {
            fs::write(self.path("policy.toml"), scramble(POLICY, random)).unwrap();
        }
        if !matches!(target, Target::CriterionBaseline | Target::CriterionCurrent) {
            return [baseline, current].map(|path| path.display().to_string());
        }
        let dirs = ["before", "after"].map(|name| self.path(name));
        for (dir, run) in dirs.iter().zip([&self.baseline, &run]) {
            let _ = fs::remove_dir_all(dir);
            write_criterion(dir, run);
        }
        let side = usize::from(matches!(target, Target::CriterionCurrent));
        // In a baseline directory, change only other cases: without the bad case, it would look as
        // if that case had never existed.
        let mut case = random.below(CASES);
        if side == 0 && case == BAD as u64 {
            case += 1;
        }
        let own = dirs[side].join(id(case).as_str().replace('/', "_")).join("new");
        if own.exists() {
            let file =
                own.join(if random.below(2) == 0 { "sample.json" } else { "benchmark.json" });
            match random.below(3) {
                0 => fs::remove_file(&file).unwrap(),
                1 => drop(fs::remove_dir_all(&own)),
                _ => {
                    fs::write(&file, scramble(&fs::read_to_string(&file).unwrap(), random))
                        .unwrap();
                }
            }
        }
        dirs.map(|path| path.display().to_string())
    }

    /// Returns whether the policy judges the case with a threshold below 50 %, or cannot be read.
    fn is_judged(&self) -> bool {
        let Ok(text) = fs::read_to_string(self.path("policy.toml")) else { return true };
        let Some(policy) =
            toml::from_str::<PolicyFile>(&text).ok().and_then(|file| Policy::try_from(file).ok())
        else {
            return true;
        };
        let bad = id(BAD as u64);
        !policy.ignores_case(bad.as_str())
            && policy.threshold_percent_for(bad.as_str(), "time_ms") < 50.0
    }

    /// Returns the exit code of the gate.
    fn gate(&self, [baseline, current]: [String; 2]) -> u8 {
        let policy = Some(self.path("policy.toml")).filter(|path| path.exists());
        let directories =
            Directories::new(Some(self.path("results")), Some(self.path("baselines")), policy);
        let of_error = |kind: ErrorKind| if kind == ErrorKind::NoVerdict { 4 } else { 2 };
        let judge =
            match Judge::load(directories, &Thresholds::new(), None, Vec::new(), &mut |_| {}) {
                Ok(judge) => judge,
                Err(error) => return of_error(error.kind),
            };
        let request = StoredRequest {
            baseline: vec![baseline],
            current: vec![current],
            ..StoredRequest::default()
        };
        match gate::judge_stored(&judge, &request, &mut |_| {}) {
            Ok(judgment) if matches!(judgment.basis, Basis::Figures { .. }) => {
                rsb_stats::exit_code(&judgment.result)
            }
            Ok(_) => 4,
            Err(error) => of_error(error.kind),
        }
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn a_case_that_became_bad_never_ends_green_whatever_became_of_the_files() {
    let (tries, seed) = (number("RSB_FUZZ_TRIES", 100), number("RSB_FUZZ_SEED", 14));
    let began = Instant::now();
    let mut data = Generator::new(7);
    let files = Files {
        dir: tempfile::tempdir().unwrap(),
        baseline: run("before", &mut data),
        current: run("after", &mut data),
    };
    let (mut judged, mut ends) = (0, [0_u64; 5]);
    for at in 0..tries {
        let mut random = Generator::new(seed.wrapping_add(at));
        let target = TARGETS[random.below(TARGETS.len() as u64) as usize];
        let badness =
            [Badness::Slower, Badness::Missing, Badness::Unreadable][random.below(3) as usize];
        let sides = files.write(target, badness, &mut random);
        if !files.is_judged() {
            continue;
        }
        let code = files.gate(sides);
        judged += 1;
        ends[usize::from(code)] += 1;
        assert_ne!(
            code,
            0,
            "seed {}: {target:?}, {badness:?}: the files are in {}",
            seed + at,
            files.dir.keep().display()
        );
    }
    println!(
        "{judged} of {tries} tries judged (the others by a policy that lets it pass), seed {seed}, \
         {:.0} s: exit 2 {}, 3 {}, 4 {}",
        began.elapsed().as_secs_f64(),
        ends[2],
        ends[3],
        ends[4],
    );
    assert!(
        ends[2] > 0 && ends[3] > 0 && ends[4] > 0,
        "exit codes 2, 3 and 4 must all occur: {ends:?}"
    );
}

/// Checks the premise of the test: files without changes and without a bad case pass.
#[test]
fn the_files_themselves_end_green() {
    let mut data = Generator::new(7);
    let files = Files {
        dir: tempfile::tempdir().unwrap(),
        baseline: run("before", &mut data),
        current: run("after", &mut data),
    };
    let saved =
        Baseline::new("quick", Timestamp::UNIX_EPOCH, std::slice::from_ref(&files.baseline))
            .unwrap();
    saved.write(&files.path("baseline.json")).unwrap();
    fs::write(files.path("current.json"), sealed_text(&files.current).unwrap()).unwrap();
    fs::write(
        files.path("policy.toml"),
        POLICY.replace("\n[[target]]\nid = \"*/case-2/*\"\nmetric = \"gflops\"\nabove = 1.0\n", ""),
    )
    .unwrap();
    let sides =
        ["baseline.json", "current.json"].map(|name| files.path(name).display().to_string());
    assert_eq!(files.gate(sides), 0);
}
