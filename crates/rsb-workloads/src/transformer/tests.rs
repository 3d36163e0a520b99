//! Tests with a scripted device on which decoders are correct, wrong at some point, or rejected.

use super::*;
use rsb_device::scripted::{Fault, Script, ScriptedDevice};

fn shape(dtype: Dtype, queries: u64, positions: u64) -> Shape {
    let (heads, kv_heads, mlp, norm) = (2, 2, Mlp::Gelu, NormalizeOp::LayerNorm);
    let (layers, head_dim, rotary, vocabulary, batch) = (1, 4, false, 0, 3);
    let steps = 1;
    Shape {
        dtype,
        layers,
        heads,
        head_dim,
        kv_heads,
        mlp,
        norm,
        rotary,
        vocabulary,
        batch,
        queries,
        positions,
        steps,
        fused: false,
        narrow: None,
    }
}

/// Returns the same shape with quantized weights, whose rows consist of whole vectors.
fn narrow(weights: Dtype, shape: Shape) -> Shape {
    Shape { head_dim: 32, narrow: Some(weights), ..shape }
}

/// Returns the same shape with the features of Llama.
fn like_llama(shape: Shape) -> Shape {
    Shape {
        kv_heads: 2,
        heads: 6,
        mlp: Mlp::SwiGlu,
        norm: NormalizeOp::RmsNorm,
        rotary: true,
        vocabulary: 11,
        ..shape
    }
}

#[test]
fn every_kind_of_pass_is_right_from_end_to_end() {
    let device = ScriptedDevice::new(Script::default());
    for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16] {
        let passes = [
            (7, 7, 1, 1),
            (1, 9, 1, 1),
            (3, 5, 1, 1),
            (4, 4, 3, 1),
            (1, 1, 2, 1),
            (1, 1, 2, 5),
            (1, 6, 3, 2),
        ];
        for (queries, positions, layers, steps) in passes {
            let plain = Shape { layers, steps, ..shape(dtype, queries, positions) };
            let grouped = Shape { heads: 4, kv_heads: 1, mlp: Mlp::SwiGlu, ..plain };
            let fused = Shape { fused: true, ..plain };
            let [i8, i4] = [Dtype::I8, Dtype::I4].map(|weights| narrow(weights, plain));
            for shape in
                [plain, grouped, like_llama(plain), fused, like_llama(fused), i8, like_llama(i4)]
            {
                let decoder =
                    Decoder::prepare(&device, shape, LaunchMode::Stream, &Options::default());
                assert!(decoder.is_ok(), "{shape:?}: {:?}", decoder.err());
                let mut model = block::model(&device, shape, &Options::default()).unwrap();
                let error = check::end_to_end(&mut model);
                assert!(error.is_ok(), "{shape:?}: {error:?}");
            }
        }
    }
}

#[test]
fn what_a_pass_takes_is_what_it_says() {
    for (queries, positions, layers, steps) in
        [(7, 7, 1, 1), (1, 9, 1, 1), (4, 6, 3, 1), (1, 9, 1, 4)]
    {
        let plain = Shape { layers, steps, ..shape(Dtype::F64, queries, positions) };
        let [i8, i4] = [Dtype::I8, Dtype::I4].map(|weights| narrow(weights, like_llama(plain)));
        for shape in [plain, like_llama(plain), Shape { fused: true, ..plain }, i8, i4] {
            let device = ScriptedDevice::new(Script::default());
            let model = block::model(&device, shape, &Options::default()).unwrap();
            assert_eq!(model.taken, shape.bytes(), "{shape:?}");
        }
    }
}

/// By definition, the product of a rotated query and a rotated key depends only on their distance.
#[test]
fn turning_by_positions_tells_distances() {
    let shape = Shape { head_dim: 8, ..shape(Dtype::F64, 1, 1) };
    assert_eq!((shape.turn(0, 3), shape.turn(1, 0)), ((1.0, 0.0), (1.0_f64.cos(), 1.0_f64.sin())));
    let turned = |position| {
        reference::rotate_row(shape, &[0.3, -0.7, 1.1, 0.2, 0.5, 0.9, -0.4, 0.8], position)
    };
    let product = |p, q| turned(p).iter().zip(turned(q)).map(|(a, b)| a * b).sum::<f64>();
    assert!(
        (product(9, 4) - product(105, 100)).abs() < 1e-9
            && (product(9, 4) - product(9, 8)).abs() > 0.1
    );
}

#[test]
fn a_wrong_stage_is_found_wherever_it_is() {
    let passes =
        [shape(Dtype::F32, 5, 5), Shape { steps: 3, ..shape(Dtype::F32, 1, 5) }].map(like_llama);
    let fused = |shape: Shape| [shape, Shape { fused: true, ..shape }, narrow(Dtype::I4, shape)];
    let passes = passes.into_iter().flat_map(fused);
    for (shape, &mode) in
        passes.flat_map(|shape| LaunchMode::ALL.iter().map(move |mode| (shape, mode)))
    {
        // A small pass launches each stage once, or twice if it is recorded as a graph. The real
        // pass is verified after it.
        let launches = {
            let device = ScriptedDevice::new(Script::default());
            Decoder::prepare(&device, shape, mode, &Options::default()).unwrap();
            device.counts().launches
        };
        for launch in 0..launches {
            let device = ScriptedDevice::new(Script::with_fault(Fault::WrongResult { launch }));
            match Decoder::prepare(&device, shape, mode, &Options::default()).err() {
                Some(Failure::Failed(reason)) => {
                    assert!(reason.what.contains("wrong result"), "{reason}");
                }
                other => panic!("launch {launch}: {other:?}"),
            }
        }
    }
}

/// Samples would miss this error, since it affects one of thousands of elements.
#[test]
fn one_wrong_element_of_any_product_is_found() {
    let plain = Shape { head_dim: 32, ..shape(Dtype::F32, 48, 48) };
    for shape in
        [plain, like_llama(plain), narrow(Dtype::I8, plain), narrow(Dtype::I4, like_llama(plain))]
    {
        let device = ScriptedDevice::new(Script::default());
        let mut model = block::model(&device, shape, &Options::default()).unwrap();
        let mut products = 0;
        let checked = model.check_passes(&mut |model, pass| {
            check::check_stages(model, pass, true)?;
            let is_product = |stage: &&Stage| {
                matches!(stage.operation, Operation::Gemm(_) | Operation::Quantized(_))
            };
            for stage in pass.retained_stages().filter(is_product) {
                let output = stage.buffers.last().unwrap();
                let middle = output.bytes() / 8 * 4;
                let mut right = [0; 4];
                device.read(output, middle, &mut right).unwrap();
                let wrong = f32::from_le_bytes(right) + 1.0;
                device.write(output, middle, &wrong.to_le_bytes()).unwrap();
                match check::check_stages(model, pass, true) {
                    Err(Failure::Failed(reason)) => {
                        assert!(reason.why.contains("Freivalds"), "{shape:?}: {reason}");
                    }
                    other => panic!("{shape:?}, {}: {other:?}", stage.operation.name()),
                }
                device.write(output, middle, &right).unwrap();
                products += 1;
            }
            Ok(())
        });
        assert!(checked.is_ok(), "{shape:?}: {checked:?}");
        assert!(products >= 8, "{shape:?}: {products} products");
    }
}

#[test]
fn whole_numbers_are_skipped_with_the_reason() {
    let device = ScriptedDevice::new(Script::default());
    match Decoder::prepare(&device, shape(Dtype::I8, 1, 4), LaunchMode::Stream, &Options::default())
        .err()
    {
        Some(Failure::Skipped(reason)) => assert!(reason.cure.contains("f16"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

/// Previous contents of a buffer must not be mistaken for results of a graph.
#[test]
fn a_graph_that_does_nothing_is_found() {
    let [one, several] = [shape(Dtype::F16, 1, 5), Shape { steps: 3, ..shape(Dtype::F32, 1, 5) }];
    for shape in [one, several, like_llama(several), shape(Dtype::F64, 4, 4)] {
        let device = ScriptedDevice::new(Script::default());
        let decoder =
            Decoder::prepare(&device, shape, LaunchMode::Graph, &Options::default()).unwrap();
        assert_eq!(decoder.provider, "scripted");
        let passes = &decoder.model.passes;
        assert!(passes.iter().all(|pass| pass.kernels.len() == 1 && pass.stages.len() > 10));
        let device = ScriptedDevice::new(Script::with_fault(Fault::EmptyGraph));
        match Decoder::prepare(&device, shape, LaunchMode::Graph, &Options::default()).err() {
            Some(Failure::Failed(reason)) => assert!(reason.why.contains("NaN"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}
