//! Compatibility rules for models, which can be checked without building a model. Each rejection
//! names the closest alternative that works.

use rsb_model::{BackendId, DeviceRef, Dtype, Reason};

use super::catalogue::{Family, ModelRow, with_words};

/// Runtime for models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runtime {
    /// Name on the command line and in ids.
    pub name: &'static str,
    /// Python package that contains the runtime.
    pub package: &'static str,
    /// Backends whose devices the runtime supports.
    pub backends: &'static [BackendId],
    /// Families for which the runtime can generate tokens here. For other families, it runs single
    /// passes only.
    pub writes: &'static [Family],
    /// Data types in which models are verified, default first.
    pub dtypes: &'static [Dtype],
}

/// All runtimes, default first.
pub const RUNTIMES: [Runtime; 5] = [
    Runtime {
        name: "pytorch",
        package: "torch",
        backends: &[BackendId::Cpu, BackendId::Rocm, BackendId::Cuda],
        writes: &Family::ALL,
        dtypes: &PRECISIONS,
    },
    Runtime {
        name: "openvino",
        package: "openvino",
        backends: &[BackendId::Cpu],
        // Families that continue a text or generate one from an encoder's output, and whose only
        // state is keys and values.
        writes: &[
            Family::DecoderOnly,
            Family::EncoderDecoder,
            Family::Speech,
            Family::MixtureOfExperts,
        ],
        dtypes: &PRECISIONS,
    },
    Runtime {
        name: "onnxruntime",
        package: "onnxruntime",
        backends: &[BackendId::Cpu],
        writes: &[],
        dtypes: &[Dtype::F32, Dtype::I8],
    },
    Runtime {
        name: "qnn",
        package: "onnxruntime-qnn",
        backends: &[BackendId::Cpu],
        writes: &[],
        dtypes: &[Dtype::I8],
    },
    // Apple GPUs share the memory of the host.
    Runtime {
        name: "mps",
        package: "torch",
        backends: &[BackendId::Cpu],
        writes: &[],
        dtypes: &[Dtype::F32, Dtype::F16, Dtype::Bf16],
    },
];

/// Names of the runtimes, in the same order.
pub const RUNTIME_NAMES: &[&str] = &["pytorch", "openvino", "onnxruntime", "qnn", "mps"];

/// Data types in which models are verified, default first.
pub const PRECISIONS: [Dtype; 4] = [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8];

/// Returns the runtime called `name`.
pub fn runtime(name: &str) -> Option<&'static Runtime> {
    RUNTIMES.iter().find(|runtime| runtime.name == name)
}

/// Workload that generates tokens.
pub const GENERATE: &str = "generate";

/// Workload of requests that arrive at random times.
pub const LOAD: &str = "load";

/// Configuration of a model: one point of a sweep.
#[derive(Debug, Clone, Copy)]
pub struct ModelConfiguration<'a> {
    /// Model.
    pub row: &'a ModelRow,
    /// Name of the workload: `forward`, `generate` or `load`.
    pub workload: &'a str,
    /// Name of the runtime.
    pub runtime: &'a str,
    /// Data type of the weights.
    pub dtype: Dtype,
    /// Input length in positions.
    pub length: u64,
    /// Number of tokens generated after the input.
    pub tokens: u64,
    /// Device.
    pub device: DeviceRef,
}

/// Returns why `wanted` cannot run, with the closest alternative; `None` if no rule excludes it.
pub fn refusal(wanted: &ModelConfiguration<'_>) -> Option<Reason> {
    let ModelConfiguration { row, workload, runtime: name, dtype, device, .. } = *wanted;
    let what = format!("{} in {dtype} by {name}", row.name);
    let runtime = runtime(name)?;
    if !runtime.backends.contains(&device.backend) {
        let why = format!("{name} does not support {device}");
        return Some(Reason::new(
            what,
            why,
            format!("choose only --backend {name}, or pytorch on {device}"),
        ));
    }
    if workload == GENERATE && !row.generates() {
        let why = format!("a {} does not generate tokens", row.class);
        return Some(Reason::new(what, why, "choose --workload forward"));
    }
    if workload == GENERATE && !row.inputs.is_empty() && !row.inputs.contains_key("input_ids") {
        let why = "token generation needs `input_ids`, which its inputs lack";
        return Some(Reason::new(
            what,
            why,
            "add input_ids to its inputs, or choose --workload forward",
        ));
    }
    if workload == GENERATE && !runtime.writes.contains(&row.family) {
        let why = match runtime.writes {
            [] => format!("{name} supports only single passes here, not token generation"),
            known => {
                let known: Vec<&str> = known.iter().map(|family| family.as_str()).collect();
                format!(
                    "{name} generates tokens only for {} here, not for {}",
                    known.join(", "),
                    row.family
                )
            }
        };
        return Some(Reason::new(
            what,
            why,
            "choose --workload forward, or --backend cpu for pytorch",
        ));
    }
    if workload == GENERATE && name == "openvino" && dtype == Dtype::I8 {
        let why = "openvino generates tokens only in f32, f16 and bf16 here; integers are for \
                   single passes";
        return Some(Reason::new(what, why, "choose --precision bf16"));
    }
    if name == "onnxruntime" && row.shape.image_tokens.is_some() {
        let why = "PyTorch's ONNX exporter does not support images within a text (masked_scatter)";
        return Some(Reason::new(what, why, "choose --backend openvino"));
    }
    wrong_type(runtime, dtype, device, what)
        .or_else(|| wrong_length(row, wanted.length, wanted.tokens))
}

/// Returns the reason if the runtime does not support the data type on the device.
fn wrong_type(runtime: &Runtime, dtype: Dtype, device: DeviceRef, what: String) -> Option<Reason> {
    let known: Vec<&str> = runtime.dtypes.iter().map(|known| known.as_str()).collect();
    let why = match dtype {
        Dtype::I8 if !device.is_cpu() => "PyTorch quantizes models only for CPUs".to_owned(),
        _ if runtime.dtypes.contains(&dtype) => return None,
        _ => format!("{} runs models only in {}, not in {dtype}", runtime.name, known.join(", ")),
    };
    let nearest = match (dtype, known.as_slice()) {
        (_, [only]) => *only,
        (Dtype::F64 | Dtype::Tf32, _) => "f32",
        _ if !runtime.dtypes.contains(&Dtype::Bf16) => "f32",
        _ => "bf16",
    };
    Some(Reason::new(what, why, format!("choose --precision {nearest}")))
}

/// Returns the reason if `row` does not support inputs of `length` positions followed by `tokens`
/// generated tokens.
pub fn wrong_length(row: &ModelRow, length: u64, tokens: u64) -> Option<Reason> {
    let what = format!("{length} positions");
    if let Some(most) = row.shape.positions.filter(|most| length > *most) {
        let why = format!("{} supports at most {most}", row.name);
        return Some(Reason::new(what, why, format!("choose --sequence {most} or less")));
    }
    // Tokens generated by a separate decoder do not use positions of the input.
    let is_one_sequence =
        matches!(row.family, Family::DecoderOnly | Family::MixtureOfExperts | Family::Multimodal);
    if let Some(most) =
        row.shape.positions.filter(|most| is_one_sequence && length.saturating_add(tokens) > *most)
    {
        let why =
            format!("{} supports at most {most} positions, including generated tokens", row.name);
        let cure = match (most.saturating_sub(tokens), most - length) {
            (0, 0) => "choose fewer of both: --sequence, and --axis output_length".to_owned(),
            (0, left) => format!("choose --axis output_length={left} or less"),
            (left, _) => format!("choose --sequence {left} or less"),
        };
        return Some(Reason::new(
            format!("{what} followed by {tokens} generated tokens"),
            why,
            cure,
        ));
    }
    let image = row.shape.image_tokens.filter(|image| length <= *image)?;
    let why = format!("an image takes {image} positions of {}", row.name);
    Some(Reason::new(what, why, format!("choose --sequence {} or more", with_words(image))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::find;

    #[test]
    fn what_cannot_be_is_refused_with_the_nearest_that_can() {
        let gpu = DeviceRef { backend: BackendId::Rocm, index: 0 };
        for (model, workload, runtime, dtype, length, device, cure) in [
            ("gpt2", "generate", "pytorch", Dtype::Bf16, 128, DeviceRef::CPU, None),
            ("gpt2", "forward", "pytorch", Dtype::F16, 128, gpu, None),
            ("gpt2", "forward", "openvino", Dtype::F16, 128, gpu, Some("pytorch on rocm:0")),
            ("gpt2", "generate", "openvino", Dtype::F32, 128, DeviceRef::CPU, None),
            ("mixtral-tiny", "generate", "openvino", Dtype::Bf16, 128, DeviceRef::CPU, None),
            (
                "gpt2",
                "generate",
                "openvino",
                Dtype::I8,
                128,
                DeviceRef::CPU,
                Some("--precision bf16"),
            ),
            ("t5-small", "generate", "openvino", Dtype::F32, 128, DeviceRef::CPU, None),
            ("whisper-tiny", "generate", "openvino", Dtype::F32, 1500, DeviceRef::CPU, None),
            (
                "mamba-tiny",
                "generate",
                "openvino",
                Dtype::F32,
                128,
                DeviceRef::CPU,
                Some("--backend cpu for pytorch"),
            ),
            (
                "gpt2",
                "generate",
                "onnxruntime",
                Dtype::F32,
                128,
                DeviceRef::CPU,
                Some("--workload forward"),
            ),
            (
                "bert-base",
                "generate",
                "pytorch",
                Dtype::F32,
                128,
                DeviceRef::CPU,
                Some("--workload forward"),
            ),
            ("gpt2", "forward", "pytorch", Dtype::I8, 128, DeviceRef::CPU, None),
            ("gpt2", "forward", "pytorch", Dtype::I8, 128, gpu, Some("--precision bf16")),
            (
                "gpt2",
                "forward",
                "openvino",
                Dtype::F64,
                128,
                DeviceRef::CPU,
                Some("--precision f32"),
            ),
            ("gpt2", "forward", "onnxruntime", Dtype::I8, 128, DeviceRef::CPU, None),
            (
                "gpt2",
                "forward",
                "onnxruntime",
                Dtype::Bf16,
                128,
                DeviceRef::CPU,
                Some("--precision f32"),
            ),
            (
                "llava-tiny",
                "forward",
                "onnxruntime",
                Dtype::F32,
                128,
                DeviceRef::CPU,
                Some("--backend openvino"),
            ),
            ("gpt2", "forward", "qnn", Dtype::I8, 128, DeviceRef::CPU, None),
            ("gpt2", "forward", "qnn", Dtype::F32, 128, DeviceRef::CPU, Some("--precision i8")),
            (
                "gpt2",
                "forward",
                "pytorch",
                Dtype::F32,
                2048,
                DeviceRef::CPU,
                Some("--sequence 1024"),
            ),
            ("gpt2", "forward", "pytorch", Dtype::F32, 1024, DeviceRef::CPU, None),
            ("gpt2", "generate", "pytorch", Dtype::F32, 1016, DeviceRef::CPU, None),
            (
                "gpt2",
                "generate",
                "pytorch",
                Dtype::F32,
                1024,
                DeviceRef::CPU,
                Some("--sequence 1016"),
            ),
            ("rag-token-tiny", "generate", "pytorch", Dtype::F32, 1024, DeviceRef::CPU, None),
            (
                "llava-1.5-7b",
                "forward",
                "pytorch",
                Dtype::F32,
                128,
                DeviceRef::CPU,
                Some("--sequence 592"),
            ),
        ] {
            let row = find(model, &[]).unwrap();
            let tokens = if workload == GENERATE { 8 } else { 0 };
            let refused = refusal(&ModelConfiguration {
                row,
                workload,
                runtime,
                dtype,
                length,
                tokens,
                device,
            });
            let said = refused.as_ref().map(|reason| reason.cure.as_str());
            assert_eq!(said.is_some(), cure.is_some(), "{model} {workload} {runtime}: {refused:?}");
            assert!(said.unwrap_or_default().contains(cure.unwrap_or_default()), "{refused:?}");
        }
        let gpt2 = find("gpt2", &[]).unwrap();
        let refused = wrong_length(gpt2, 24, 2000).unwrap();
        assert!(refused.cure.contains("output_length=1000 or less"), "{refused:?}");
        let refused = wrong_length(gpt2, 1024, 2000).unwrap();
        assert!(refused.cure.contains("fewer of both"), "{refused:?}");
        assert_eq!(RUNTIMES.map(|runtime| runtime.name), RUNTIME_NAMES);
    }
}
