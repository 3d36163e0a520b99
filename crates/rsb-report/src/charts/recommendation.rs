//! Recommended hardware for models: one cell per family and size, from measurements.

use itertools::Itertools as _;
use rsb_model::record::{ModelAdvice, ModelCandidate, ModelChoice, RecommendDocument};

use super::axis;
use crate::chart::{Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::number::format_count;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Advice {
    /// This combination of device, runtime and precision is best for every model in the cell.
    Best(String),
    /// Several combinations are equally good, or the best one depends on the model.
    NoClearWinner(usize),
    /// The only combination that was measured.
    OnlyOne(String),
}

/// Returns a chart of the best device, runtime and precision for each model family and size.
pub fn recommendation(document: &RecommendDocument) -> Option<Chart> {
    let words = PlaceWords::of(document);
    let mut families: Vec<&str> =
        document.models.iter().map(|advice| advice.architecture_type.as_str()).collect();
    families.dedup();
    // Sorted by parameter count, so that sizes are in ascending order.
    let mut models: Vec<&ModelAdvice> = document.models.iter().collect();
    models.sort_by_key(|advice| advice.parameter_count);
    let sizes: Vec<&str> = models.iter().map(|advice| size_of(advice)).unique().collect();
    let [mut best, mut even, mut only] = [Paint::Good, Paint::Warning, Paint::Faded]
        .map(|paint| Dataset::new(DatasetKind::Cells, paint, Vec::new()));
    for (row, family) in families.iter().enumerate() {
        for (column, size) in sizes.iter().enumerate() {
            let own = models
                .iter()
                .filter(|advice| advice.architecture_type == *family && size_of(advice) == *size);
            let (dataset, text) = match field(own, &words) {
                Some(Advice::Best(place)) => (&mut best, place),
                Some(Advice::NoClearWinner(count)) => {
                    (&mut even, format!("no clear winner among {count}"))
                }
                Some(Advice::OnlyOne(place)) => (&mut only, format!("{place} (only candidate)")),
                None => continue,
            };
            dataset.points.push(Point::at(column as f64, row as f64).saying(text));
        }
    }
    let datasets: Vec<Dataset> =
        [best, even, only].into_iter().filter(|set| !set.points.is_empty()).collect();
    let machines = format_count(words.machines, "machine", "machines");
    (!datasets.is_empty()).then(|| Chart {
        name: "recommendation".to_owned(),
        title: format!("Hardware for models, by {}", document.goal),
        subtitle: format!(
            "the fastest measured on {machines}, if no other is close to it{}",
            words.shared
        ),
        place: ChartPlace::Other,
        x_axis: axis::rows(sizes.into_iter().map(str::to_owned)),
        y_axis: axis::rows(families.into_iter().map(str::to_owned)),
        datasets,
        legend_position: Legend::Hidden,
    })
}

fn size_of(advice: &ModelAdvice) -> &str {
    advice.size.as_deref().unwrap_or("unknown size")
}

/// Returns the advice for a family and size: that of its models if they all agree, otherwise no
/// clear winner.
fn field<'a, 'm: 'a>(
    models: impl Iterator<Item = &'a &'m ModelAdvice>,
    words: &PlaceWords,
) -> Option<Advice> {
    let mut common: Option<Advice> = None;
    for advice in models {
        let own = match advice.choice {
            ModelChoice::Winner => Advice::Best(words.place(advice.candidates.first()?)),
            ModelChoice::NoClearWinner => Advice::NoClearWinner(advice.candidates.len()),
            ModelChoice::OnlyOne => Advice::OnlyOne(words.place(advice.candidates.first()?)),
            ModelChoice::Unknown => continue,
        };
        common = match common {
            Some(known) if known != own => Some(Advice::NoClearWinner(advice.candidates.len())),
            _ => Some(own),
        };
    }
    common
}

/// Labels of measured combinations (machine, device, runtime, precision). Parts that all
/// combinations share are in the subtitle instead.
struct PlaceWords {
    /// Whether combinations differ in machine, device, runtime and precision, in this order.
    differs: [bool; 4],
    machines: usize,
    shared: String,
}

impl PlaceWords {
    fn of(document: &RecommendDocument) -> Self {
        let all: Vec<[&str; 4]> =
            document.models.iter().flat_map(|advice| &advice.candidates).map(parts).collect();
        let first = all.first().copied().unwrap_or_default();
        let differs =
            std::array::from_fn(|part| all.iter().any(|other| other[part] != first[part]));
        // The subtitle shows the number of machines instead of a machine's name, which is long.
        let same = first.iter().zip(differs).skip(1).filter(|(_, differs)| !differs);
        let shared = same.map(|(part, _)| format!(", {part}")).collect();
        let machines = all.iter().map(|[machine, ..]| *machine).unique().count();
        Self { differs, machines, shared }
    }

    fn place(&self, candidate: &ModelCandidate) -> String {
        let [machine, device, backend, dtype] = parts(candidate);
        let [by_machine, by_device, _, by_dtype] = self.differs;
        let mut words = vec![backend];
        words.extend(Some(dtype).filter(|_| by_dtype));
        words.extend(Some(device).filter(|_| by_device));
        words.extend(Some(machine).filter(|_| by_machine));
        words.join(" ")
    }
}

fn parts(candidate: &ModelCandidate) -> [&str; 4] {
    let place = &candidate.place;
    [&place.machine, &place.device, &place.backend, &place.dtype].map(String::as_str)
}

#[cfg(test)]
pub(crate) mod tests {
    use rsb_model::record::{ModelBasis, ModelPlace};

    use super::*;

    /// Returns two families, one of them in two sizes.
    pub(crate) fn sample() -> RecommendDocument {
        document(vec![
            advice("vision", "tiny", ModelChoice::Winner, &["openvino", "pytorch"]),
            advice("vision", "base", ModelChoice::NoClearWinner, &["pytorch", "openvino"]),
            advice("speech", "tiny", ModelChoice::OnlyOne, &["pytorch"]),
        ])
    }

    fn candidate(machine: &str, backend: &str) -> ModelCandidate {
        ModelCandidate {
            place: ModelPlace {
                machine: machine.to_owned(),
                device: "cpu:0".to_owned(),
                backend: backend.to_owned(),
                dtype: "f32".to_owned(),
                threads: None,
            },
            basis: ModelBasis::Measured,
            cost_per_million_items: None,
            energy_per_item_j: None,
            rests_on: Vec::new(),
            batch_size: 1,
            time_per_item_ms: 1.0,
            time_per_item_interval_ms: [0.9, 1.1],
            accuracy_error: None,
            run_id: Some("run".to_owned()),
        }
    }

    fn advice(family: &str, size: &str, choice: ModelChoice, best: &[&str]) -> ModelAdvice {
        ModelAdvice {
            model_id: format!("{family}-{size}"),
            architecture_type: family.to_owned(),
            parameter_count: Some(if size == "tiny" { 1 } else { 1 << 30 }),
            size: Some(size.to_owned()),
            sequence_length: 128,
            choice,
            candidates: best.iter().map(|backend| candidate("box", backend)).collect(),
            unknown: Vec::new(),
        }
    }

    fn document(models: Vec<ModelAdvice>) -> RecommendDocument {
        RecommendDocument { format_version: 1, goal: "latency".to_owned(), currency: None, models }
    }

    fn chart_points(models: Vec<ModelAdvice>) -> Vec<(f64, f64, String)> {
        let chart = recommendation(&document(models)).unwrap();
        let points = chart.datasets.iter().flat_map(|dataset| &dataset.points);
        points.map(|point| (point.x, point.y, point.text.clone())).collect()
    }

    #[test]
    fn a_field_names_a_place_only_where_all_its_models_agree() {
        let openvino = advice("vision", "tiny", ModelChoice::Winner, &["openvino", "pytorch"]);
        let pytorch = advice("vision", "tiny", ModelChoice::Winner, &["pytorch", "openvino"]);
        let agreed = vec![openvino.clone(), openvino.clone()];
        assert_eq!(chart_points(agreed), [(0.0, 0.0, "openvino".to_owned())]);
        let torn = vec![openvino, pytorch];
        assert_eq!(chart_points(torn), [(0.0, 0.0, "no clear winner among 2".to_owned())]);
        let alone = advice("vision", "large", ModelChoice::OnlyOne, &["pytorch"]);
        let unknown = advice("rag", "tiny", ModelChoice::Unknown, &[]);
        assert_eq!(
            chart_points(vec![alone, unknown]),
            [(1.0, 0.0, "pytorch (only candidate)".to_owned())]
        );
    }

    #[test]
    fn what_tells_places_apart_is_said_and_nothing_else() {
        let mut two = advice("vision", "tiny", ModelChoice::Winner, &["pytorch"]);
        two.candidates.push(candidate("other", "pytorch"));
        assert_eq!(chart_points(vec![two]), [(0.0, 0.0, "pytorch box".to_owned())]);
        assert!(recommendation(&document(Vec::new())).is_none());
    }
}
