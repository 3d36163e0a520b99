//! What cannot be, as far as that can be told without building a model: the rules, each with the
//! nearest that works.

use rsb_model::{BackendId, DeviceRef, Dtype, Reason};

use super::catalogue::{Family, ModelRow, with_words};

/// What a model runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runtime {
    /// On the command line and in ids.
    pub name: &'static str,
    /// The package that it comes in.
    pub package: &'static str,
    /// The backends whose devices it drives.
    pub backends: &'static [BackendId],
    /// The families in which it writes tokens here, and does not only pass through a model.
    pub writes: &'static [Family],
    /// The types that models are verified in; the usual one first.
    pub dtypes: &'static [Dtype],
}

/// Every runtime, the usual one first.
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
        // Those that go on with a text, or write one behind an encoder, and keep keys and values of
        // it, and nothing else.
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
    // Apple's GPUs have the memory of the host.
    Runtime {
        name: "mps",
        package: "torch",
        backends: &[BackendId::Cpu],
        writes: &[],
        dtypes: &[Dtype::F32, Dtype::F16, Dtype::Bf16],
    },
];

/// The names of the runtimes, in the same order.
pub const RUNTIME_NAMES: &[&str] = &["pytorch", "openvino", "onnxruntime", "qnn", "mps"];

/// The types that models are verified in, the usual one first.
pub const PRECISIONS: [Dtype; 4] = [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8];

/// The runtime called `name`.
pub fn runtime(name: &str) -> Option<&'static Runtime> {
    RUNTIMES.iter().find(|runtime| runtime.name == name)
}

/// The workload that writes tokens.
pub const GENERATE: &str = "generate";

/// The workload of requests that arrive at random times.
pub const LOAD: &str = "load";

/// One point of a sweep.
#[derive(Debug, Clone, Copy)]
pub struct ModelConfiguration<'a> {
    /// The model.
    pub row: &'a ModelRow,
    /// `forward` or `generate`.
    pub workload: &'a str,
    /// By name.
    pub runtime: &'a str,
    /// Of the weights.
    pub dtype: Dtype,
    /// Positions of the input.
    pub length: u64,
    /// Tokens that are written after it.
    pub tokens: u64,
    /// Where.
    pub device: DeviceRef,
}

/// Why `wanted` cannot be, and the nearest that can; nothing where no rule speaks against it.
pub fn refusal(wanted: &ModelConfiguration<'_>) -> Option<Reason> {
    let ModelConfiguration { row, workload, runtime: name, dtype, device, .. } = *wanted;
    let what = format!("{} in {dtype} by {name}", row.name);
    let runtime = runtime(name)?;
    if !runtime.backends.contains(&device.backend) {
        let why = format!("{name} does not drive {device}");
        return Some(Reason::new(
            what,
            why,
            format!("choose only --backend {name}, or pytorch on {device}"),
        ));
    }
    if workload == GENERATE && !row.generates() {
        let why = format!("a {} of this class writes no tokens one after another", row.class);
        return Some(Reason::new(what, why, "choose --workload forward"));
    }
    if workload == GENERATE && !row.inputs.is_empty() && !row.inputs.contains_key("input_ids") {
        let why = "tokens are written after those of `input_ids`, which its own inputs lack";
        return Some(Reason::new(
            what,
            why,
            "add input_ids to its inputs, or choose --workload forward",
        ));
    }
    if workload == GENERATE && !runtime.writes.contains(&row.family) {
        let why = match runtime.writes {
            [] => format!("{name} does single passes here, and writes no tokens"),
            known => {
                let known: Vec<&str> = known.iter().map(|family| family.as_str()).collect();
                format!(
                    "{name} writes tokens of {} here, and none of {}",
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
        let why =
            "openvino writes tokens in f32, f16 and bf16 here, whole numbers are for single passes";
        return Some(Reason::new(what, why, "choose --precision bf16"));
    }
    if name == "onnxruntime" && row.shape.image_tokens.is_some() {
        let why = "PyTorch's exporter has no ONNX for images within a text (masked_scatter)";
        return Some(Reason::new(what, why, "choose --backend openvino"));
    }
    wrong_type(runtime, dtype, device, what)
        .or_else(|| wrong_length(row, wanted.length, wanted.tokens))
}

/// A type that a runtime does not have there.
fn wrong_type(runtime: &Runtime, dtype: Dtype, device: DeviceRef, what: String) -> Option<Reason> {
    let known: Vec<&str> = runtime.dtypes.iter().map(|known| known.as_str()).collect();
    let why = match dtype {
        Dtype::I8 if !device.is_cpu() => "PyTorch only quantizes for CPUs".to_owned(),
        _ if runtime.dtypes.contains(&dtype) => return None,
        _ => format!(
            "{} runs models in {}, and {dtype} is none of them",
            runtime.name,
            known.join(", ")
        ),
    };
    let nearest = match (dtype, known.as_slice()) {
        (_, [only]) => *only,
        (Dtype::F64 | Dtype::Tf32, _) => "f32",
        _ if !runtime.dtypes.contains(&Dtype::Bf16) => "f32",
        _ => "bf16",
    };
    Some(Reason::new(what, why, format!("choose --precision {nearest}")))
}

/// Why `row` does not take `length` positions, or not so many `tokens` after them.
pub fn wrong_length(row: &ModelRow, length: u64, tokens: u64) -> Option<Reason> {
    let what = format!("{length} positions");
    if let Some(most) = row.shape.positions.filter(|most| length > *most) {
        let why = format!("{} has {most}", row.name);
        return Some(Reason::new(what, why, format!("choose --sequence {most} or less")));
    }
    // Where a decoder of its own writes them, they are not among the positions of the input.
    let is_one_sequence =
        matches!(row.family, Family::DecoderOnly | Family::MixtureOfExperts | Family::Multimodal);
    if let Some(most) =
        row.shape.positions.filter(|most| is_one_sequence && length.saturating_add(tokens) > *most)
    {
        let why = format!("{} has {most} for both", row.name);
        let cure = match (most.saturating_sub(tokens), most - length) {
            (0, 0) => "choose fewer of both: --sequence, and --axis output_length".to_owned(),
            (0, left) => format!("choose --axis output_length={left} or less"),
            (left, _) => format!("choose --sequence {left} or less"),
        };
        return Some(Reason::new(format!("{what} and {tokens} tokens after them"), why, cure));
    }
    let image = row.shape.image_tokens.filter(|image| length <= *image)?;
    let why = format!("an image alone takes {image} of {}", row.name);
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
