//! Checks whether the patterns of a policy can match a case at all. A pattern that matches nothing
//! in a run may be meant for another run. A pattern that cannot match any case known to this
//! version is a mistake. If it were accepted, the gate could silently ignore, excuse or require the
//! wrong cases.

use rsb_model::{BackendId, BenchmarkType, Dtype};
use rsb_stats::policy::PolicyPattern;
use rsb_store::import::Format;
use rsb_workloads::{AxisInfo, AxisKind, IdForm};

use rsb_catalog::{frameworks, models, selection};

/// Number of devices per backend that a pattern may name.
const DEVICES: u32 = 64;

/// Names less similar than this are not suggested.
const ALIKE: f64 = 0.85;

/// A pattern that matches nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` ({key}) matches no case of these runs and none that this version can name{}; \
         `rusty-stack-bench list` lists the benchmarks", .near.as_ref().map(|near| format!(", did you mean `{near}`?")).unwrap_or_default())]
pub struct UnknownPattern {
    key: &'static str,
    pattern: String,
    near: Option<String>,
}

/// Checks `patterns`.
///
/// # Errors
/// The first pattern that neither matches one of `ids` nor could match another case.
pub(super) fn check(patterns: &[PolicyPattern<'_>], ids: &[&str]) -> Result<(), UnknownPattern> {
    let known: Vec<IdVocabulary> = all_words().collect();
    let unknown = patterns.iter().find(|one| !one.fits(ids) && !could_fit(one.pattern, &known));
    match unknown {
        None => Ok(()),
        Some(one) => Err(UnknownPattern {
            key: one.key,
            pattern: one.pattern.to_owned(),
            near: nearest(one.pattern, &known, ids),
        }),
    }
}

/// Words that the ids of one benchmark are made of.
struct IdVocabulary {
    fixed: Vec<String>,
    axes: Vec<AxisInfo>,
    /// Whether ids may contain other words, too, because another tool chooses the names of its
    /// cases.
    open: bool,
}

fn all_words() -> impl Iterator<Item = IdVocabulary> {
    let native = rsb_workloads::all_benchmarks().map(|benchmark| {
        let kinds = [BenchmarkType::CpuPerformance, BenchmarkType::GpuPerformance];
        IdVocabulary::new(&kinds, benchmark.name(), &[]).with(benchmark.axes())
    });
    let components = frameworks::all_and_models().flat_map(|component| {
        component.workloads().iter().map(|workload| {
            IdVocabulary::new(&[BenchmarkType::ComponentSpecific], component.name, &[workload.name])
                .with(workload.axes)
        })
    });
    let imported = Format::ALL.into_iter().map(|format| IdVocabulary {
        open: true,
        ..IdVocabulary::new(&[format.benchmark_type()], format.as_str(), &[])
    });
    let every = std::iter::once(IdVocabulary::new(&BenchmarkType::ALL, selection::ALL, &[]));
    // Cases of bench executables, `code-size/TARGET`.
    let executables =
        IdVocabulary { fixed: vec!["code-size".to_owned()], axes: Vec::new(), open: true };
    native.chain(components).chain(imported).chain(every).chain(std::iter::once(executables))
}

impl IdVocabulary {
    fn new(kinds: &[BenchmarkType], benchmark: &str, more: &[&str]) -> Self {
        let names = kinds
            .iter()
            .map(|kind| kind.as_str())
            .chain([benchmark, "none"])
            .chain(more.iter().copied());
        let mut fixed: Vec<String> = names.map(str::to_owned).collect();
        for backend in BackendId::ALL {
            fixed.push(backend.to_string());
            fixed.extend((0..DEVICES).map(|index| format!("{backend}:{index}")));
        }
        Self { fixed, axes: Vec::new(), open: false }
    }

    fn with(mut self, axes: &[AxisInfo]) -> Self {
        for axis in axes {
            let values = match axis.kind {
                AxisKind::Choice(words) => words.to_vec(),
                AxisKind::Dtype => Dtype::ALL.map(Dtype::as_str).to_vec(),
                AxisKind::Path(word) => vec![word],
                AxisKind::Name(_) => {
                    models::catalogue().iter().map(|row| row.name.as_str()).collect()
                }
                _ => Vec::new(),
            };
            for value in values {
                self.fixed.push(match axis.form {
                    IdForm::Value => value.to_owned(),
                    IdForm::Named => format!("{}={value}", axis.name),
                });
            }
        }
        self.axes = axes.to_vec();
        self
    }

    /// Returns whether a part of an id may contain `fragment`.
    fn hold(&self, fragment: &Fragment<'_>) -> bool {
        self.fixed.iter().any(|word| fragment.is_of(word))
            || self.axes.iter().any(|axis| fragment.is_value_of(axis))
    }
}

/// A piece of a pattern without wildcards and slashes. A wildcard next to it stands for more of the
/// same part.
#[derive(Debug, Clone, Copy)]
struct Fragment<'a> {
    text: &'a str,
    begins: bool,
    ends: bool,
}

impl Fragment<'_> {
    fn is_of(&self, word: &str) -> bool {
        match (self.begins, self.ends) {
            (true, true) => word == self.text,
            (true, false) => word.starts_with(self.text),
            (false, true) => word.ends_with(self.text),
            (false, false) => word.contains(self.text),
        }
    }

    /// Returns whether this fragment is, or may be a part of, a value of `axis` as shown in an id.
    fn is_value_of(&self, axis: &AxisInfo) -> bool {
        match (axis.form, self.text.split_once('=')) {
            (IdForm::Value, _) => self.may_be(axis),
            (IdForm::Named, Some((name, value))) => {
                let name = Fragment { text: name, ends: true, ..*self };
                name.is_of(axis.name)
                    && (value.is_empty()
                        || Fragment { text: value, begins: true, ..*self }.may_be(axis))
            }
            (IdForm::Named, None) if self.begins => !self.ends && axis.name.starts_with(self.text),
            (IdForm::Named, None) => {
                self.may_be(axis) || (!self.ends && axis.name.contains(self.text))
            }
        }
    }

    /// Returns whether this fragment may be a value of `axis`; false if the axis has a fixed list
    /// of values.
    fn may_be(&self, axis: &AxisInfo) -> bool {
        let is_open =
            !matches!(axis.kind, AxisKind::Choice(_) | AxisKind::Dtype | AxisKind::Name(_));
        if self.begins && self.ends {
            return is_open && axis.canonical(self.text).is_some();
        }
        let letters = match axis.kind {
            AxisKind::Choice(_) | AxisKind::Dtype | AxisKind::Name(_) => return false, // Among the fixed words.
            AxisKind::Bytes => "KMGTiB.",
            AxisKind::Shape(..) => "x",
            AxisKind::Count | AxisKind::CountOrZero => "",
            AxisKind::Number | AxisKind::NumberOrZero => ".-+e",
            AxisKind::Architecture | AxisKind::ArchitectureOrHere => "abcdefgxsm_hr",
            AxisKind::BusAddressOrHere => "abcdefhr:.",
            AxisKind::Path(_) | AxisKind::Word => return true,
        };
        self.text.chars().all(|c| c.is_ascii_digit() || letters.contains(c))
    }
}

/// Returns the pieces of `pattern` between its wildcards and slashes.
fn fragments(pattern: &str) -> Vec<Fragment<'_>> {
    let mut found = Vec::new();
    for part in pattern.split('/') {
        let mut rest = part;
        let mut begins = true;
        while !rest.is_empty() {
            let end = rest.find(['*', '?']).unwrap_or(rest.len());
            let (text, after) = rest.split_at(end);
            if !text.is_empty() {
                found.push(Fragment { text, begins, ends: after.is_empty() });
            }
            rest = after.trim_start_matches(['*', '?']);
            begins = false;
        }
    }
    found
}

fn could_fit(pattern: &str, known: &[IdVocabulary]) -> bool {
    let pieces = fragments(pattern);
    known.iter().any(|words| {
        let mut held = pieces.iter().map(|piece| words.hold(piece));
        if words.open {
            held.any(|held| held) && names_tool(&pieces, words)
        } else {
            held.all(|held| held)
        }
    })
}

/// Returns whether one of the pieces is the name of the tool, rather than only a kind or device
/// that every benchmark has.
fn names_tool(pieces: &[Fragment<'_>], words: &IdVocabulary) -> bool {
    let tool = words
        .fixed
        .iter()
        .find(|word| Format::ALL.iter().any(|format| format.as_str() == word.as_str()));
    tool.is_some_and(|tool| {
        pieces.iter().any(|piece| piece.begins && piece.ends && piece.text == tool)
    })
}

/// Returns the name most similar to the first piece that matches nothing; `None` if no name is
/// similar, or every piece matches something.
fn nearest(pattern: &str, known: &[IdVocabulary], ids: &[&str]) -> Option<String> {
    let pieces = fragments(pattern);
    let strange = pieces.iter().find(|piece| {
        !ids.iter().flat_map(|id| id.split('/')).any(|part| piece.is_of(part))
            && known.iter().all(|words| !words.hold(piece))
    })?;
    let names = known
        .iter()
        .flat_map(|words| &words.fixed)
        .map(String::as_str)
        .filter(|word| !word.contains(':'));
    let axes = known.iter().flat_map(|words| &words.axes).map(|axis| axis.name);
    let parts = ids.iter().flat_map(|id| id.split('/'));
    let wanted = strange.text.split('=').next().unwrap_or(strange.text);
    let alike =
        names.chain(axes).chain(parts).map(|name| (strsim::jaro_winkler(wanted, name), name));
    alike
        .filter(|(like, _)| *like > ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_must_fit_what_can_be_named_or_what_was_run() {
        let foreign = ["group/case-5", "flight/plan/step1"];
        for (pattern, ids, near) in [
            ("*", &[][..], Ok(())),
            ("*/gemm/*", &[], Ok(())),
            ("*gemm*", &[], Ok(())),
            ("*/gemm/cpu:0/f32/1024x1024x1024*", &[], Ok(())),
            ("*/gemm/*/f16/*", &[], Ok(())),
            ("*/memory-bandwidth/*/cache=cold*", &[], Ok(())),
            ("gpu_performance/memory-transfer/*/host-to-device/256MiB", &[], Ok(())),
            ("gpu_performance/multi-gpu/*/f32/64MiB/scaling=weak/num_gpus=4", &[], Ok(())),
            ("cpu_performance/control/*", &[], Ok(())),
            ("component_specific/pytorch/*", &[], Ok(())),
            ("*/hyperfine/cmd 3", &[], Ok(())),
            ("*/threads=4", &[], Ok(())),
            ("group/case-*", &foreign, Ok(())),
            ("flight/plan/*", &foreign, Ok(())),
            ("*/gmm/*", &[], Err(Some("gemm"))),
            ("*/gemm/*/cach=cold*", &[], Err(Some("cache"))),
            ("*/memory-bandwidth/*/cache=warm", &[], Err(Some("cache"))),
            ("cpu_perfomance/gemm/*", &[], Err(Some("cpu_performance"))),
            ("group/caes-5", &foreign, Err(Some("case-5"))),
            ("flight/plan/*", &[], Err(None)),
            // Each part is known, but no benchmark has all of them.
            ("*/control/*/scaling=weak", &[], Err(None)),
        ] {
            let found = check(&[PolicyPattern { key: "threshold", pattern }], ids)
                .map_err(|error| error.near);
            assert_eq!(found, near.map_err(|near| near.map(str::to_owned)), "{pattern}");
        }
    }

    #[test]
    fn every_pattern_of_our_own_policy_fits_something() {
        let text = include_str!("../../../../baselines/policy.toml");
        let policy =
            rsb_stats::Policy::try_from(toml::from_str::<rsb_stats::PolicyFile>(text).unwrap())
                .unwrap();
        check(&policy.patterns(), &[]).unwrap();
        let aimed_at: Vec<&str> = policy.patterns().iter().map(|one| one.pattern).collect();
        for component in frameworks::all_and_models().filter(|component| component.name != "all") {
            let start = format!("component_specific/{}/", component.name);
            assert!(
                aimed_at.iter().any(|pattern| pattern.starts_with(&start)),
                "no pattern of the policy matches {}",
                component.name
            );
        }
    }
}
