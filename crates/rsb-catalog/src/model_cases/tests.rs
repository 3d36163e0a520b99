//! Tests of model plans.

use super::*;
use crate::models::{MODELS, parse};

fn device(usable_memory_bytes: u64) -> DeviceInfo {
    let cpu = crate::backends::backends()[0].devices().unwrap().remove(0);
    DeviceInfo { usable_memory_bytes, ..cpu }
}

fn planned(
    axes: &[(&str, &str)],
    own: &[ModelRow],
    breadth: Breadth,
) -> Result<Vec<CaseOrReason>, UsageError> {
    let values = |text: &str| text.split(',').map(str::to_owned).collect();
    let axes: Vec<(String, Vec<String>)> =
        axes.iter().map(|(name, text)| ((*name).to_owned(), values(text))).collect();
    let info = device(16 << 30);
    let component = frameworks::find(MODELS).unwrap();
    cases(component, DeviceRef::CPU, Some(&info), ModelSelection { breadth, axes: &axes, own })
}

fn ids(cases: &[CaseOrReason]) -> Vec<&str> {
    cases.iter().map(|case| id(case).as_str()).collect()
}

#[test]
fn a_glance_is_one_pass_of_a_tiny_model_of_each_family() {
    let planned = planned(&[], &[], Breadth::Quick).unwrap();
    assert_eq!(planned.len(), Family::ALL.len());
    assert!(planned.iter().all(Result::is_ok), "{planned:?}");
    assert_eq!(ids(&planned)[0], "component_specific/models/cpu:0/forward/bert-tiny/f32");
    assert!(
        ids(&planned)
            .contains(&"component_specific/models/cpu:0/forward/vit-tiny/f32/sequence_length=197")
    );
}

#[test]
fn a_sweep_is_every_combination_and_a_length_that_cannot_be_chosen_stays() {
    let axes = [
        ("family", "decoder-only,vision"),
        ("workload", "forward"),
        ("runtime", "pytorch,openvino"),
        ("batch_size", "1,2"),
        ("sequence_length", "16,32"),
        ("dtype", "f32,bfloat16"),
    ];
    let swept = planned(&axes, &[], Breadth::Quick).unwrap();
    assert_eq!(swept.len(), 2 * 2 * 2 * (2 + 1), "vision models have no sequence-length sweep");
    let last = "component_specific/models/cpu:0/forward/stories-15m/bf16/batch_size=2/sequence_length=32/runtime=openvino";
    assert!(ids(&swept).contains(&last), "{:?}", ids(&swept));
}

#[test]
fn what_does_not_fit_or_is_not_there_says_what_does() {
    let reason = |axes: &[(&str, &str)]| match planned(axes, &[], Breadth::Quick).unwrap().remove(0)
    {
        Ok(case) => panic!("{} must be skipped", case.id),
        Err((_, reason)) => reason,
    };
    let large = reason(&[("model", "llama-2-70b")]);
    assert!(large.cure.contains("tinyllama-1.1b") && large.what.contains("GB"), "{large}");
    let gap = reason(&[("family", "rag"), ("size", "xxl")]);
    assert!(gap.cure.contains("--sizes tiny,small,base,large,xl,"), "{gap}");
    assert!(gap.why.starts_with("none published: searched"), "{gap}");
    let wrong = reason(&[("model", "gpt-2,bert-tiny")]);
    assert!(wrong.cure.contains("did you mean `gpt2`"), "{wrong}");
    let error = planned(&[("workload", "forwards")], &[], Breadth::Quick).unwrap_err().to_string();
    assert!(error.contains("generate"), "{error}");
}

#[test]
fn tokens_are_asked_for_where_they_are_written_and_a_model_of_ones_own_is_one_of_them() {
    let row = "[[model]]\nname = \"mine\"\nfamily = \"decoder-only\"\nclass = \
               \"GPT2LMHeadModel\"\nshape = { cache = 8 }\n";
    let own = parse(row).unwrap();
    let planned =
        planned(&[("model", "mine,bert-tiny"), ("batch_size", "1")], &own, Breadth::Standard)
            .unwrap();
    assert_eq!(
        ids(&planned),
        [
            "component_specific/models/cpu:0/forward/mine/f32",
            "component_specific/models/cpu:0/generate/mine/f32",
            "component_specific/models/cpu:0/forward/bert-tiny/f32",
        ]
    );
    let Ok(case) = &planned[1] else { panic!("{planned:?}") };
    let definition: ModelRow = serde_json::from_str(case.params.text(DEFINITION).unwrap()).unwrap();
    assert_eq!((definition.name.as_str(), case.params.text("output_length")), ("mine", Some("8")));
}

#[test]
fn a_name_that_is_no_model_is_skipped_beside_those_that_are() {
    let reason =
        Reason::new("model org/other", "it is not on this machine", "`hf download org/other`");
    let own = [ModelRow::from_refusal("org/other", reason)];
    let planned =
        planned(&[("model", "bert-tiny,bert-tny,org-other")], &own, Breadth::Quick).unwrap();
    let wrong: Vec<Option<&str>> = planned
        .iter()
        .map(|case| match case {
            Ok(case) | Err((case, _)) => wrong_name(case),
        })
        .collect();
    assert_eq!(wrong, [None, Some("bert-tny"), Some("org-other")]);
    assert_eq!(ids(&planned)[2], "component_specific/models/cpu:0/org-other");
    let Err((_, reason)) = &planned[2] else { panic!("{planned:?}") };
    assert!(reason.cure.contains("hf download"), "{reason}");
}

#[test]
fn load_is_for_who_asks_for_it_and_qnn_has_a_precision_of_its_own() {
    let axes = [
        ("model", "bert-tiny"),
        ("workload", "load"),
        ("request_rate", "2,0"),
        ("concurrency", "2"),
    ];
    let loaded = planned(&axes, &[], Breadth::Quick).unwrap();
    assert_eq!(
        ids(&loaded),
        [
            "component_specific/models/cpu:0/load/bert-tiny/f32/request_rate=2/concurrency=2",
            "component_specific/models/cpu:0/load/bert-tiny/f32/concurrency=2",
        ]
    );
    let axes = [
        ("model", "bert-tiny"),
        ("runtime", "pytorch,qnn"),
        ("performance_hint", "latency,throughput"),
    ];
    let planned = planned(&axes, &[], Breadth::Quick).unwrap();
    assert_eq!(
        ids(&planned)[2],
        "component_specific/models/cpu:0/forward/bert-tiny/i8/runtime=qnn"
    );
    let refused = planned
        .iter()
        .filter_map(|case| case.as_ref().err())
        .map(|(_, reason)| reason.cure.as_str());
    assert_eq!(refused.collect::<Vec<_>>(), ["choose --backend openvino, or --hint latency"; 2]);
}

#[test]
fn models_of_ones_own_are_of_their_family_and_a_name_of_another_family_is_skipped() {
    let own = parse(
        "[[model]]\nname = \"mine\"\nfamily = \"decoder-only\"\nclass = \"LlamaForCausalLM\"\n",
    )
    .unwrap();
    let found = planned(&[("family", "decoder-only")], &own, Breadth::Quick).unwrap();
    let mine = "component_specific/models/cpu:0/forward/mine/f32";
    assert_eq!(ids(&found), ["component_specific/models/cpu:0/forward/stories-15m/f32", mine]);
    let found = planned(&[("family", "vision")], &own, Breadth::Quick).unwrap();
    assert!(!ids(&found).contains(&mine), "{:?}", ids(&found));
    let found = planned(&[("size", "tiny")], &own, Breadth::Quick).unwrap();
    let Some(Err((_, uncounted))) = found.last() else { panic!("{found:?}") };
    assert!(uncounted.cure.contains("--model mine"), "{uncounted}");
    let mut counted = own;
    counted[0].parameters = 1_000_000;
    let found = planned(&[("size", "tiny")], &counted, Breadth::Quick).unwrap();
    assert!(ids(&found).contains(&mine), "{:?}", ids(&found));
    let found = planned(&[("size", "small")], &counted, Breadth::Quick).unwrap();
    assert!(!ids(&found).contains(&mine), "{:?}", ids(&found));
    let found =
        planned(&[("family", "vision"), ("model", "bert-tiny,vit-tiny")], &[], Breadth::Quick)
            .unwrap();
    let [Err((_, reason)), Ok(_)] = found.as_slice() else { panic!("{found:?}") };
    assert!(reason.why.contains("encoder-only") && reason.cure.contains("families"), "{reason}");
}
