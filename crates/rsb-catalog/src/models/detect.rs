//! Detection of a model's family from the config.json of its directory. No I/O.

use rsb_model::json;
use serde_json::Value;

use super::catalogue::{Family, ModelRow, ModelShape};

/// Parts of class names and their families. The first match is used.
const CLASSES: [(&str, Family); 22] = [
    ("Rag", Family::Rag),
    ("Mamba", Family::StateSpace),
    ("Rwkv", Family::StateSpace),
    ("Whisper", Family::Speech),
    ("ForCTC", Family::Speech),
    ("SpeechSeq2Seq", Family::Speech),
    ("Clip", Family::VisionEncoderTextDecoder),
    ("CLIP", Family::VisionEncoderTextDecoder),
    ("Blip", Family::VisionEncoderTextDecoder),
    ("VisionEncoderDecoder", Family::VisionEncoderTextDecoder),
    ("Llava", Family::Multimodal),
    ("Flava", Family::Multimodal),
    ("PaliGemma", Family::Multimodal),
    ("ImageTextToText", Family::Multimodal),
    ("UNet", Family::Diffusion),
    ("ImageClassification", Family::Vision),
    ("ObjectDetection", Family::Vision),
    ("Mixtral", Family::MixtureOfExperts),
    ("Moe", Family::MixtureOfExperts),
    ("SwitchTransformers", Family::MixtureOfExperts),
    ("ForConditionalGeneration", Family::EncoderDecoder),
    ("ForCausalLM", Family::DecoderOnly),
];

/// Returns the row of the model directory `path` whose config.json contains `text`. `parameters` is
/// the number of parameters in its files, or zero if unknown.
///
/// # Errors
/// If config.json is not valid JSON, names no architecture, or describes a part of a diffusers
/// pipeline other than its `UNet`. The error is a description.
pub fn detect(path: &str, text: &str, parameters: u64) -> Result<ModelRow, String> {
    let config: Value =
        json::parse(text).map_err(|error| format!("config.json is not JSON: {error}"))?;
    let of_diffusers = config["_class_name"].as_str();
    let class = config["architectures"][0].as_str().or(of_diffusers);
    let class = class.ok_or("config.json names no architecture; add `architectures`")?.to_owned();
    if of_diffusers.is_some() && !class.contains("UNet") {
        return Err(format!(
            "it is a {class} of diffusers; only the UNet of a pipeline can be measured: name its \
             directory"
        ));
    }
    let named = CLASSES.iter().find(|(part, _)| class.contains(part)).map(|(_, family)| *family);
    let has_experts =
        ["num_local_experts", "num_experts"].iter().any(|name| config[*name].as_u64() > Some(1));
    let family = match named {
        Some(Family::DecoderOnly) if has_experts => Family::MixtureOfExperts,
        Some(family) => family,
        None if config["is_encoder_decoder"] == true => Family::EncoderDecoder,
        None => Family::EncoderOnly,
    };
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
    Ok(ModelRow {
        name: name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' })
            .collect(),
        family,
        class,
        library: if of_diffusers.is_some() { "diffusers" } else { "transformers" }.to_owned(),
        published: None,
        source: None,
        parameters,
        active_parameters: None,
        shape: shape(&config, family),
        work: None,
        path: Some(path.to_owned()),
        config: serde_json::Map::new(),
        inputs: serde_json::Map::new(),
        parts: std::collections::BTreeMap::new(),
        refused: None,
    })
}

/// Reads the dimensions from a configuration, under the field names that models use. A model that
/// generates tokens has a cache even if its configuration does not contain the size; the size is
/// then zero.
pub(super) fn shape(config: &Value, family: Family) -> ModelShape {
    let text = if config["text_config"].is_object() { &config["text_config"] } else { config };
    let (layers, hidden) = (
        first_number(text, &["num_hidden_layers", "n_layer", "decoder_layers", "num_layers"]),
        first_number(text, &["hidden_size", "n_embd", "d_model"]),
    );
    let heads = first_number(
        text,
        &["num_attention_heads", "n_head", "decoder_attention_heads", "num_heads"],
    );
    let of_keys = first_number(text, &["num_key_value_heads"]).or(heads);
    let width = first_number(text, &["head_dim", "d_kv"]).or_else(|| Some(hidden? / heads?.max(1)));
    let writes = matches!(
        family,
        Family::DecoderOnly
            | Family::EncoderDecoder
            | Family::MixtureOfExperts
            | Family::Multimodal
            | Family::Rag
    );
    let cache =
        [layers, of_keys, width].into_iter().try_fold(2_u64, |all, part| all.checked_mul(part?));
    // For Mamba: the state and the last inputs of the convolution.
    let inner = first_number(text, &["intermediate_size"])
        .or_else(|| Some(hidden? * first_number(text, &["expand"]).unwrap_or(2)));
    let kept = first_number(text, &["state_size"]).unwrap_or(16)
        + first_number(text, &["conv_kernel"]).unwrap_or(4);
    let state = layers
        .zip(inner)
        .map_or(0, |(layers, inner)| layers.saturating_mul(inner).saturating_mul(kept));
    ModelShape {
        layers: layers.unwrap_or(0),
        hidden: hidden.unwrap_or(0),
        vocabulary: first_number(text, &["vocab_size"]),
        cache: writes.then(|| cache.unwrap_or(0)),
        state: (family == Family::StateSpace).then_some(state),
        positions: first_number(text, &["max_position_embeddings", "n_positions"]),
        ..ModelShape::default()
    }
}

/// Returns the first of the fields `names` that is a number.
fn first_number(config: &Value, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| config[*name].as_u64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_s_family_is_told_by_its_configuration() {
        for (config, family) in [
            (r#"{"architectures": ["BertForMaskedLM"], "hidden_size": 8}"#, Family::EncoderOnly),
            (r#"{"architectures": ["LlamaForCausalLM"]}"#, Family::DecoderOnly),
            (r#"{"architectures": ["Qwen3MoeForCausalLM"]}"#, Family::MixtureOfExperts),
            (
                r#"{"architectures": ["OlmoeForCausalLM"], "num_experts": 64}"#,
                Family::MixtureOfExperts,
            ),
            (r#"{"architectures": ["T5ForConditionalGeneration"]}"#, Family::EncoderDecoder),
            (r#"{"architectures": ["WhisperForConditionalGeneration"]}"#, Family::Speech),
            (r#"{"architectures": ["LlavaForConditionalGeneration"]}"#, Family::Multimodal),
            (r#"{"architectures": ["CLIPModel"]}"#, Family::VisionEncoderTextDecoder),
            (r#"{"architectures": ["ViTForImageClassification"]}"#, Family::Vision),
            (r#"{"architectures": ["FalconMambaForCausalLM"]}"#, Family::StateSpace),
            (r#"{"_class_name": "UNet2DConditionModel"}"#, Family::Diffusion),
            (r#"{"architectures": ["RagTokenForGeneration"]}"#, Family::Rag),
        ] {
            assert_eq!(detect("/models/mine", config, 0).unwrap().family, family, "{config}");
        }
        let llama = r#"{"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2, "hidden_size": 64,
            "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256}"#;
        let row = detect("/models/my llama/", llama, 7).unwrap();
        assert_eq!(
            (row.name.as_str(), row.shape.cache, row.shape.positions),
            ("my-llama", Some(2 * 2 * 2 * 16), Some(256))
        );
        assert_eq!((row.parameters, row.library.as_str()), (7, "transformers"));
        let mamba = r#"{"architectures": ["MambaForCausalLM"], "num_hidden_layers": 24, "hidden_size": 768}"#;
        assert_eq!(
            detect("x", mamba, 0).unwrap().shape.state,
            Some(737_280),
            "the state size of mamba-130m"
        );
        let unet = detect("x", r#"{"_class_name": "UNet2DConditionModel"}"#, 0).unwrap();
        assert_eq!((unet.library.as_str(), unet.generates()), ("diffusers", false));
        assert!(
            detect("x", r#"{"_class_name": "AutoencoderKL"}"#, 0).unwrap_err().contains("UNet")
        );
        assert!(detect("x", "{}", 0).unwrap_err().contains("architectures"));
        assert!(detect("x", "{", 0).unwrap_err().contains("JSON"));
    }
}
