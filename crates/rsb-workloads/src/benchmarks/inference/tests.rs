//! Tests of the fields of cases on a scripted device.

use super::*;
use rsb_device::scripted::{Script, ScriptedDevice};

fn params(phase: &str) -> Params {
    let params = Params::new()
        .with("phase", phase)
        .with("dtype", "f32")
        .with("heads", "2x8")
        .with("kv_heads", "0");
    params
        .with("batch_size", "3")
        .with("sequence_length", "10")
        .with("layers", "1")
        .with("threads", "1")
        .with("vocabulary", "0")
        .with("output_length", "1")
}

#[test]
fn prefill_handles_the_whole_prompt_and_decode_one_token_of_each_sequence() {
    let device = ScriptedDevice::new(Script::default());
    for (phase, tokens) in [("prefill", 30.0), ("decode", 3.0)] {
        let mut prepared = Inference.prepare(&params(phase), &device).unwrap();
        let fields = prepared.fields(1e6).unwrap();
        assert!((fields.number("tokens_per_second").unwrap() - tokens * 1e3).abs() < 1e-6);
        assert_eq!(
            (fields.text("operation"), fields.number("sequence_length")),
            (Some(phase), Some(10.0))
        );
        // 12 matrices with the width as both dimensions, and four norm rows of that width.
        assert_eq!(fields.number("parameter_count"), Some(12.0 * 256.0 + 64.0));
        let bytes = Inference.footprint_bytes(&params(phase)).unwrap() as f64;
        assert!((fields.number("memory_used_mb").unwrap() - bytes / 1e6).abs() < 1e-9);
    }
}

#[test]
fn fused_attention_takes_the_memory_of_its_scores_less() {
    let device = ScriptedDevice::new(Script::default());
    let memory = |phase, attention| {
        let params = params(phase).with("attention", attention);
        let fields = Inference.prepare(&params, &device).unwrap().fields(1e6).unwrap();
        let bytes = Inference.footprint_bytes(&params).unwrap() as f64;
        let found = fields.number("memory_used_mb").unwrap();
        assert!((found - bytes / 1e6).abs() < 1e-9, "{phase} {attention}");
        bytes
    };
    // Buffers of staged attention, for three sequences and two heads: scores, mask, masked scores
    // and probabilities. A single token needs no mask.
    for (phase, tables) in [("prefill", 4.0 * 100.0), ("decode", 2.0 * 10.0)] {
        let less = memory(phase, "staged") - memory(phase, "fused");
        assert!((less - 4.0 * 6.0 * tables).abs() < 1e-9, "{phase}: {less}");
    }
}

#[test]
fn tokens_one_after_another_count_each_with_the_positions_that_it_looks_at() {
    let device = ScriptedDevice::new(Script::default());
    for vocabulary in ["0", "50"] {
        let of = |steps: &str| {
            params("decode").with("output_length", steps).with("vocabulary", vocabulary)
        };
        let bytes = Inference.footprint_bytes(&of("4")).unwrap() as f64;
        let all = Inference.prepare(&of("4"), &device).unwrap().fields(4e6).unwrap();
        let each = |name: &str| {
            let alone = |positions: u64| {
                let params = of("1").with("sequence_length", positions.to_string());
                Inference
                    .prepare(&params, &device)
                    .unwrap()
                    .fields(1e6)
                    .unwrap()
                    .number(name)
                    .unwrap()
            };
            (10..14).map(alone).sum::<f64>() / 4.0
        };
        for name in ["gflops", "bandwidth_gb_s", "tokens_per_second", "forward_time_ms"] {
            let found = all.number(name).unwrap();
            assert!(
                (found / each(name) - 1.0).abs() < 1e-12,
                "{name}: {found}, not {}",
                each(name)
            );
        }
        assert!((all.number("memory_used_mb").unwrap() - bytes / 1e6).abs() < 1e-9);
        assert_eq!((all.number("time_ms"), all.number("output_length")), (Some(4.0), Some(4.0)));
        assert_eq!(all.number("tpot_ms"), (vocabulary == "50").then_some(1.0));
        let columns = if vocabulary == "50" { 50 } else { 16 };
        assert_eq!(all.text("output_shape"), Some(format!("3x4x{columns}").as_str()));
    }
    let prefill = params("prefill").with("output_length", "4");
    assert!(Inference.footprint_bytes(&prefill).unwrap_err().cure.contains("decode"));
}

#[test]
fn a_grouped_gated_block_says_what_it_is_and_odd_groups_are_refused() {
    let device = ScriptedDevice::new(Script::default());
    let of = |kv_heads: &str| {
        params("decode").with("heads", "4x8").with("kv_heads", kv_heads).with("mlp", "swiglu")
    };
    let fields = Inference.prepare(&of("2"), &device).unwrap().fields(1e6).unwrap();
    // Two matrices for queries and output, two of half the width for keys and values, three of 3.5
    // times the width, and four norm rows.
    assert_eq!(fields.number("parameter_count"), Some(13.5 * 1024.0 + 128.0));
    assert_eq!(
        (fields.number("num_kv_heads"), fields.text("output_shape")),
        (Some(2.0), Some("3x1x32"))
    );
    let read = 4.0 * (13.5 * 1024.0 + 128.0 + 2.0 * 3.0 * 10.0 * 16.0);
    assert!((fields.number("bandwidth_gb_s").unwrap() - read / 1e6).abs() < 1e-9);
    assert!(Inference.footprint_bytes(&of("3")).is_err());
}

#[test]
fn blocks_of_llama_say_so_and_pairs_are_turned_alone() {
    let device = ScriptedDevice::new(Script::default());
    let of = |heads: &str| {
        params("decode").with("heads", heads).with("norm", "rms").with("positions", "rotary")
    };
    let fields = Inference.prepare(&of("2x8"), &device).unwrap().fields(1e6).unwrap();
    // As with layer norm, but without its two bias rows.
    assert_eq!(fields.number("parameter_count"), Some(12.0 * 256.0 + 32.0));
    assert!(Inference.footprint_bytes(&of("2x7")).unwrap_err().cure.contains("even"));
    assert_eq!(model_name(&LLAMA_3_8B), Some("blocks of Llama 3 8B"));
    let whole = Shape { layers: 32, vocabulary: 128_256, queries: 9, positions: 9, ..LLAMA_3_8B };
    // Parameter count published by the authors.
    assert_eq!(
        (model_name(&whole), whole.weights()),
        (Some("Llama 3 8B, its weights at random"), 8_030_261_248)
    );
    assert_eq!(whole.weights() - whole.weights_read(), (128_256 - 9) * 4096);
}

#[test]
fn with_a_vocabulary_words_come_in_and_logits_go_out() {
    let device = ScriptedDevice::new(Script::default());
    for (phase, first, later) in [("prefill", Some(1.0), None), ("decode", None, Some(1.0))] {
        let params = params(phase).with("vocabulary", "50");
        let fields = Inference.prepare(&params, &device).unwrap().fields(1e6).unwrap();
        assert_eq!((fields.number("ttft_ms"), fields.number("tpot_ms")), (first, later));
        assert_eq!(
            (fields.text("output_shape"), fields.number("vocabulary_size")),
            (Some("3x1x50"), Some(50.0))
        );
        // Weights of the blocks, of the table and the head, and of the last norm.
        assert_eq!(fields.number("parameter_count"), Some(12.0 * 256.0 + 64.0 + 1600.0 + 32.0));
        let bytes = Inference.footprint_bytes(&params).unwrap() as f64;
        assert!((fields.number("memory_used_mb").unwrap() - bytes / 1e6).abs() < 1e-9);
    }
}

#[test]
fn weights_of_the_standard_decode_lie_in_memory() {
    let mut info = ScriptedDevice::new(Script::default()).info().clone();
    for megabytes in [8, 105, 512] {
        info.caches = vec![rsb_model::environment::Cache {
            level: 3,
            size_bytes: megabytes << 20,
            shared_by: None,
        }];
        let blocks = from_memory(&info, "f32", &["decode"]);
        let layers: u64 =
            blocks.iter().find(|(name, _)| *name == "layers").unwrap().1[0].parse().unwrap();
        let shape = Shape { layers, ..LLAMA_3_8B };
        assert!(shape.dtype.bytes(shape.weights()) >= (4 * megabytes) << 20, "{megabytes}");
    }
}

#[test]
fn weights_of_few_bits_are_counted_as_narrow_as_they_are() {
    let device = ScriptedDevice::new(Script::default());
    let of = |phase: &str, weights: &str, vocabulary: &str| {
        let params = params(phase)
            .with("heads", "2x32")
            .with("weights", weights)
            .with("vocabulary", vocabulary);
        let fields = Inference.prepare(&params, &device).unwrap().fields(1e6).unwrap();
        let bytes = Inference.footprint_bytes(&params).unwrap() as f64;
        assert!(
            (fields.number("memory_used_mb").unwrap() - bytes / 1e6).abs() < 1e-9,
            "{phase} {weights}"
        );
        fields
    };
    // Matrix rows of 64 weights have one scale, rows of 256 have two; the last matrix has 64 of the
    // latter. With a vocabulary, the head is quantized, too.
    for (vocabulary, matrices, scales, rest) in
        [("0", 49_152.0, 640.0, 256.0), ("50", 52_352.0, 690.0, 256.0 + 64.0 * 52.0)]
    {
        for phase in ["prefill", "decode"] {
            let whole = of(phase, "as-inputs", vocabulary);
            assert_eq!((whole.text("weight_dtype"), whole.number("group_size")), (None, None));
            for (weights, bytes) in [("i8", 1.0), ("i4", 0.5)] {
                let fields = of(phase, weights, vocabulary);
                assert_eq!(
                    (fields.text("weight_dtype"), fields.number("group_size")),
                    (Some(weights), Some(128.0))
                );
                let narrow = matrices * bytes + 2.0 * scales;
                assert!(
                    (fields.number("model_size_gb").unwrap() * 1e9 - narrow - 4.0 * rest).abs()
                        < 1e-3,
                    "{weights}"
                );
                assert_eq!(fields.number("parameter_count"), whole.number("parameter_count"));
                let less = |name: &str| whole.number(name).unwrap() - fields.number(name).unwrap();
                assert!(
                    (less("memory_used_mb") * 1e6 - 4.0 * matrices + narrow).abs() < 1e-3,
                    "{phase} {weights}"
                );
                if phase == "decode" {
                    assert!(
                        (less("bandwidth_gb_s") * 1e6 - 4.0 * matrices + narrow).abs() < 1e-3,
                        "{weights}"
                    );
                }
            }
        }
    }
    let odd = params("decode").with("weights", "i4");
    match Inference.prepare(&odd, &device).err() {
        Some(Failure::Skipped(reason)) => {
            assert!(reason.cure.contains("multiple of 32"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_device_decodes_with_weights_of_few_bits_and_on_gpus_they_lie_in_memory() {
    let mut info = ScriptedDevice::new(Script::default()).info().clone();
    info.caches =
        vec![rsb_model::environment::Cache { level: 3, size_bytes: 256 << 20, shared_by: None }];
    let value = |grid: &Grid, name: &str| {
        grid.iter().find(|(axis, _)| *axis == name).map(|(_, values)| values.clone())
    };
    for (name, device_type) in
        [("rocm:0", DeviceType::Gpu), ("cpu:0", DeviceType::Cpu), ("opencl:0", DeviceType::Cpu)]
    {
        info.device = name.parse().unwrap();
        info.device_type = device_type;
        let grids = Inference.grids(Breadth::Standard, &info);
        let found = grids.iter().find(|grid| {
            value(grid, "weights").is_some_and(|all| all.ends_with(&["i4".to_owned()]))
        });
        let found = found.unwrap_or_else(|| panic!("{name}"));
        assert_eq!(value(found, "phase"), Some(vec!["decode".to_owned()]));
        if device_type == DeviceType::Gpu {
            let layers = value(found, "layers").unwrap()[0].parse().unwrap();
            let shape = Shape { layers, narrow: Some(Dtype::I4), dtype: Dtype::F16, ..LLAMA_3_8B };
            assert!(are_beyond_caches(shape.bytes_read(), &info) && shape.weight_bytes() < 2 << 30);
        }
    }
}

#[test]
fn absurd_sizes_are_refused_for_want_of_memory_and_do_not_overflow() {
    let huge = params("prefill")
        .with("heads", "4294967295x4294967295")
        .with("sequence_length", "4000000000");
    assert!(Inference.footprint_bytes(&huge).unwrap() > 1 << 50);
    assert!(Inference.footprint_bytes(&huge.with("weights", "i4")).unwrap() > 1 << 50);
}

#[test]
fn the_form_of_the_blocks_is_in_the_record() {
    let device = ScriptedDevice::new(Script::default());
    let form = |params: &Params| {
        let fields = Inference.prepare(params, &device).unwrap().fields(1e6).unwrap();
        ["attention", "launch_mode", "mlp", "norm", "positions"]
            .map(|name| fields.text(name).unwrap().to_owned())
    };
    assert_eq!(form(&params("decode")), ["staged", "stream", "gelu", "layer", "none"]);
    let other =
        params("decode").with("mlp", "swiglu").with("norm", "rms").with("positions", "rotary");
    assert_eq!(form(&other), ["staged", "stream", "swiglu", "rms", "rotary"]);
}

#[test]
fn a_gpu_decodes_out_of_memory_at_a_glance_and_blocks_of_70_billion_in_full() {
    let mut info = ScriptedDevice::new(Script::default()).info().clone();
    info.device = "rocm:0".parse().unwrap();
    info.device_type = DeviceType::Gpu;
    let has = |breadth, wanted: &[(&str, &str)]| {
        Inference.grids(breadth, &info).iter().any(|grid| {
            wanted.iter().all(|(axis, value)| {
                grid.iter()
                    .any(|(name, values)| name == axis && values.iter().any(|known| known == value))
            })
        })
    };
    assert!(has(Breadth::Quick, &[("phase", "decode"), ("heads", "32x128"), ("kv_heads", "8")]));
    assert!(has(Breadth::Full, &[("heads", "64x128"), ("kv_heads", "8"), ("layers", "1")]));
}
