use super::*;

const FILE: &str = "currency = \"EUR\"\n[[price]]\nmachine = \"dear\"\nper_hour = \
                    36.0\n[[price]]\ndevice = \"cpu:0\"\nper_hour = 3.6\n";

fn one(backend: &str, time: f64, half: f64, run: &str, batch_size: u64) -> ModelCandidate {
    ModelCandidate {
        place: ModelPlace {
            machine: "box".to_owned(),
            device: "cpu:0".to_owned(),
            backend: backend.to_owned(),
            dtype: "f32".to_owned(),
            threads: Some(1),
        },
        basis: ModelBasis::Measured,
        batch_size,
        time_per_item_ms: time,
        time_per_item_interval_ms: [time - half, time + half],
        cost_per_million_items: None,
        energy_per_item_j: None,
        accuracy_error: None,
        run_id: Some(run.to_owned()),
        rests_on: Vec::new(),
    }
}

fn decided(candidates: Vec<ModelCandidate>, asked: RecommendRequest<'_>) -> ModelAdvice {
    let mut advice = advice(find("bert-tiny", &[]).unwrap(), 128);
    for candidate in candidates {
        consider(&mut advice.candidates, candidate);
    }
    advice.candidates = best_batches(advice.candidates);
    decide(&mut advice, asked);
    advice
}

#[test]
fn the_fastest_wins_only_where_no_other_reaches_it() {
    let asked = RecommendRequest::LATENCY;
    for (half, choice) in [(0.4, ModelChoice::Winner), (0.5, ModelChoice::NoClearWinner)] {
        let advice = decided(
            vec![one("pytorch", 3.0, half, "a", 1), one("openvino", 2.0, half, "a", 1)],
            asked,
        );
        assert_eq!(
            (advice.choice, advice.candidates[0].place.backend.as_str()),
            (choice, "openvino")
        );
    }
    assert_eq!(decided(vec![one("pytorch", 3.0, 0.1, "a", 1)], asked).choice, ModelChoice::OnlyOne);
    assert_eq!(decided(Vec::new(), asked).choice, ModelChoice::Unknown);
}

#[test]
fn of_one_batch_the_newest_run_counts_and_of_a_place_its_best_batch() {
    let mut two_threads = one("pytorch", 1.5, 0.1, "old", 1);
    two_threads.place.threads = Some(2);
    let newest_first = vec![
        one("pytorch", 3.0, 0.1, "new", 1),
        one("pytorch", 2.5, 0.1, "old", 8),
        one("pytorch", 1.0, 0.1, "old", 1),
        two_threads,
    ];
    let advice = decided(newest_first, RecommendRequest::LATENCY);
    let seen: Vec<(u64, Option<u64>)> =
        advice.candidates.iter().map(|one| (one.batch_size, one.place.threads)).collect();
    assert_eq!(seen, [(1, Some(2)), (8, Some(1))]);
}

#[test]
fn a_model_of_the_catalogue_is_predicted_beside_where_it_was_measured_and_counts_without_its_samples()
 {
    let mut run: Run =
        serde_json::from_str(include_str!("../../../../docs/gallery/models.json")).unwrap();
    run.benchmarks.retain(|result| {
        parameter(result, "model") != Some("bert-tiny")
            || parameter(result, "runtime") != Some("openvino")
    });
    for result in &mut run.benchmarks {
        result.samples.clear();
    }
    let asked = RecommendRequest {
        is_predicting: true,
        model: Some("bert-tiny"),
        ..RecommendRequest::LATENCY
    };
    let found = recommend(&[run], asked).models;
    let bases = |backend: &str| {
        let candidates = found.iter().flat_map(|advice| &advice.candidates);
        candidates
            .filter(|one| one.place.backend == backend)
            .map(|one| one.basis)
            .collect::<Vec<_>>()
    };
    assert!(bases("pytorch").contains(&ModelBasis::Measured), "{found:?}");
    assert!(bases("openvino").contains(&ModelBasis::Predicted), "{found:?}");
}

#[test]
fn the_cheapest_is_another_than_the_fastest_and_what_has_no_price_is_unknown() {
    let prices = Prices::parse(FILE).unwrap();
    let asked =
        RecommendRequest { goal: Goal::Cost, prices: Some(&prices), ..RecommendRequest::LATENCY };
    let mut dear = one("pytorch", 1.0, 0.1, "a", 1);
    dear.place.machine = "a-dear-one".to_owned();
    let mut unpriced = one("pytorch", 0.1, 0.01, "a", 1);
    unpriced.place.device = "cuda:0".to_owned();
    let advice = decided(vec![dear, one("pytorch", 2.0, 0.1, "a", 1), unpriced], asked);
    let costs: Vec<Option<f64>> =
        advice.candidates.iter().map(|one| one.cost_per_million_items).collect();
    // A million items of 2 ms take 2000 s at a thousandth of a euro, and of 1 ms 1000 s at a
    // hundredth.
    assert_eq!((advice.choice, costs), (ModelChoice::Winner, vec![Some(2.0), Some(10.0)]));
    let unknown = &advice.unknown[0].reason;
    assert!(unknown.why.contains("cuda:0") && unknown.cure.contains("machine = "), "{unknown}");
}

#[test]
fn energy_is_known_only_where_power_was_read() {
    let asked = RecommendRequest { goal: Goal::Energy, ..RecommendRequest::LATENCY };
    let mut read = one("pytorch", 2.0, 0.1, "a", 1);
    read.place.device = "cuda:0".to_owned();
    read.energy_per_item_j = Some(0.6);
    let advice = decided(vec![one("pytorch", 1.0, 0.1, "a", 1), read], asked);
    assert_eq!(
        (advice.choice, advice.candidates[0].place.device.as_str()),
        (ModelChoice::OnlyOne, "cuda:0")
    );
    let unread = &advice.unknown[0].reason;
    assert!(
        unread.why.contains("power readings of the CPU") && unread.cure.contains("energy_uj"),
        "{unread}"
    );
}

#[test]
fn energy_on_a_cpu_is_its_power_over_the_time_of_an_item() {
    let mut run: Run =
        serde_json::from_str(include_str!("../../../../docs/gallery/models.json")).unwrap();
    let is_it = |result: &BenchmarkResult| {
        is_pass(result) && parameter(result, "model") == Some("bert-tiny")
    };
    let asked = RecommendRequest {
        goal: Goal::Energy,
        model: Some("bert-tiny"),
        ..RecommendRequest::LATENCY
    };
    assert_eq!(recommend(std::slice::from_ref(&run), asked).models[0].choice, ModelChoice::Unknown);
    for result in run.benchmarks.iter_mut().filter(|result| is_it(result)) {
        for fields in &mut result.results {
            fields.set("cpu_power_w", 50.0);
            fields.set("gpu_power_w", 3.0); // Of a GPU beside it, which did nothing.
        }
    }
    let best = &recommend(&[run], asked).models[0].candidates[0];
    let energy = best.energy_per_item_j.unwrap();
    assert!((energy - 50.0 * best.time_per_item_ms / 1e3).abs() < 1e-9, "{best:?}");
    assert_eq!(best.rests_on[1].field, "cpu_power_w");
}

#[test]
fn a_file_of_prices_with_a_mistake_is_refused_by_name() {
    for (text, expected) in [
        ("", "no price"),
        ("[[price]]\nper_hour = -1.0\n", "not a price"),
        ("[[price]]\nper_hour = nan\n", "not a price"),
        ("[[price]]\nper_our = 1.0\n", "per_our"),
        ("[[price]]\nmachine = \"x\"\n", "per_hour"),
    ] {
        let error = Prices::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn without_a_model_there_is_one_of_each_family_and_size_once_anything_was_measured() {
    let asked = RecommendRequest { is_predicting: true, ..RecommendRequest::LATENCY };
    assert!(recommend(&[], asked).models.is_empty());
    let run: Run =
        serde_json::from_str(include_str!("../../../../docs/gallery/models.json")).unwrap();
    let found = recommend(std::slice::from_ref(&run), asked).models;
    for row in representatives() {
        let advice = found.iter().find(|advice| advice.model_id == row.name).unwrap();
        // Places that were not measured are predicted, or have a reason why not.
        let is_measured = advice.candidates.iter().any(|one| one.basis == ModelBasis::Measured);
        assert_eq!(is_measured, row.size() == SizeClass::Tiny, "{advice:?}");
        assert!(!advice.candidates.is_empty() || !advice.unknown.is_empty(), "{advice:?}");
    }
    let huge = found.iter().find(|advice| advice.model_id == "llama-2-70b").unwrap();
    assert!(
        huge.choice == ModelChoice::Unknown && huge.unknown[0].reason.why.contains("of memory"),
        "{huge:?}"
    );
    let mine = "[[model]]\nname = \"mine\"\nfamily = \"vision\"\nclass = \"ViTModel\"\n";
    let own = rsb_catalog::models::parse(mine).unwrap();
    let found =
        recommend(&[run], RecommendRequest { own: &own, model: Some("mine"), ..asked }).models;
    assert_eq!((found.len(), found[0].parameter_count, found[0].size.clone()), (1, None, None));
    assert!(
        found[0].unknown.iter().all(|one| one.reason.why.contains("operations of this model")),
        "{found:?}"
    );
}

#[test]
fn a_price_is_above_zero_and_its_machine_is_named_in_letters_of_any_case() {
    assert!(
        Prices::parse("[[price]]\nper_hour = 0").unwrap_err().to_string().contains("above zero")
    );
    let prices = Prices::parse("[[price]]\nmachine = \"Cheap\"\nper_hour = 3.6").unwrap();
    let mut one = one("pytorch", 1.0, 0.1, "a", 1);
    one.place.machine = "a-cheap-one".to_owned();
    assert_eq!(prices.of_million(&one), Some(1.0));
}

#[test]
fn what_was_measured_is_told_by_the_figure_of_the_run() {
    let run: Run =
        serde_json::from_str(include_str!("../../../../docs/gallery/models.json")).unwrap();
    let found = recommend(std::slice::from_ref(&run), RecommendRequest::LATENCY).models;
    let candidates: Vec<&ModelCandidate> =
        found.iter().flat_map(|advice| &advice.candidates).collect();
    for one in &candidates {
        let [low, high] = one.time_per_item_interval_ms;
        assert!(low <= one.time_per_item_ms && one.time_per_item_ms <= high, "{one:?}");
        let of_case = |result: &&BenchmarkResult| {
            result.benchmark_id.to_string() == one.rests_on[0].benchmark_id
        };
        let stored =
            run.benchmarks.iter().find(of_case).unwrap().fields().unwrap().number("time_ms");
        assert_eq!(
            (one.rests_on[0].field.as_str(), Some(one.rests_on[0].value)),
            ("time_ms", stored)
        );
    }
    assert!(!candidates.is_empty());
}
