//! Catalog of models: family, class and configuration of each, and properties known without
//! building it.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::OnceLock;

use rsb_model::Reason;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::detect;

rsb_model::named_enum! {
    serde
    /// Family of a model.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Family {
        /// BERT and similar models.
        EncoderOnly = "encoder-only",
        /// GPT and similar models.
        DecoderOnly = "decoder-only",
        /// T5 and similar models.
        EncoderDecoder = "encoder-decoder",
        /// Image to label.
        Vision = "vision",
        /// Images combined with text, such as CLIP.
        VisionEncoderTextDecoder = "vision-encoder-text-decoder",
        /// Speech to text.
        Speech = "speech",
        /// Text that contains images.
        Multimodal = "multimodal",
        /// Image generation from noise.
        Diffusion = "diffusion",
        /// Decoders in which each token uses some of the experts.
        MixtureOfExperts = "mixture-of-experts",
        /// Mamba and similar models.
        StateSpace = "state-space",
        /// Retriever combined with a generator.
        Rag = "rag",
    }
}

rsb_model::named_enum! {
    serde
    /// Size of a model by its number of parameters.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    pub enum SizeClass {
        /// Less than 100 million.
        Tiny = "tiny",
        /// From 100 million to less than 500 million.
        Small = "small",
        /// From 500 million to less than 1 billion.
        Base = "base",
        /// From 1 billion to less than 7 billion.
        Large = "large",
        /// From 7 billion to less than 13 billion.
        Xl = "xl",
        /// 13 billion parameters or more.
        Xxl = "xxl",
    }
}

impl SizeClass {
    /// Smallest number of parameters of each class after the first.
    pub const BOUNDARIES: [u64; 5] =
        [100_000_000, 500_000_000, 1_000_000_000, 7_000_000_000, 13_000_000_000];

    /// Returns the class of a model with `parameters` parameters.
    pub fn of(parameters: u64) -> Self {
        let below = Self::BOUNDARIES.iter().take_while(|boundary| parameters >= **boundary).count();
        Self::ALL.get(below).copied().unwrap_or(Self::Xxl)
    }
}

/// Unknown name of a family or size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not one of {1}")]
pub struct UnknownModelTerm(String, String);

macro_rules! parsed_by_name {
    ($type:ty) => {
        impl FromStr for $type {
            type Err = UnknownModelTerm;

            fn from_str(text: &str) -> Result<Self, UnknownModelTerm> {
                Self::find(text)
                    .ok_or_else(|| UnknownModelTerm(text.to_owned(), Self::NAMES.join(", ")))
            }
        }
    };
}

parsed_by_name!(Family);
parsed_by_name!(SizeClass);

/// Dimensions of a model. Values that do not apply are zero or absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelShape {
    /// Number of consecutive blocks.
    pub layers: u64,
    /// Elements per position.
    pub hidden: u64,
    /// Vocabulary size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<u64>,
    /// Elements of keys and values per input position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<u64>,
    /// Elements of state per sequence, independent of its length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<u64>,
    /// Maximum input length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions: Option<u64>,
    /// Fixed input length, if it cannot be chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// Positions that an image uses in the sequence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_tokens: Option<u64>,
    /// Experts per layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experts: Option<u64>,
    /// Experts used per token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experts_used: Option<u64>,
}

/// Work of one pass, as counted by `python/checks/recommendation/work.py`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelWork {
    /// Coefficients a, c and d of b (a + c s + d s²), the number of arithmetic operations for b
    /// sequences of s positions. A multiply-add counts as two.
    pub flops: [f64; 3],
    /// Coefficients p and q of p + q s, the number of PyTorch kernel calls.
    pub operations: [f64; 2],
}

/// Model: an entry of the catalog or of a user-defined file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRow {
    /// Name on the command line and in ids.
    pub name: String,
    /// Family of the model.
    pub family: Family,
    /// Class in `library` that builds the model. For a model directory, the class named in its
    /// config.json.
    #[serde(default)]
    pub class: String,
    /// Package that contains the class.
    #[serde(default = "transformers")]
    pub library: String,
    /// Number of parameters as published by the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// Source of the published number. `None` if no such model was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Number of parameters; shared parameters count once. Zero if not counted yet.
    #[serde(default)]
    pub parameters: u64,
    /// Parameters used per token, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_parameters: Option<u64>,
    /// Dimensions of the model.
    #[serde(default)]
    pub shape: ModelShape,
    /// Work of one pass. `None` if it was not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<ModelWork>,
    /// Directory with configuration and weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Arguments of the class's configuration.
    #[serde(default)]
    pub config: serde_json::Map<String, serde_json::Value>,
    /// Inputs of a pass that replace those of the family: each argument with `kind` and `shape`.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub inputs: serde_json::Map<String, serde_json::Value>,
    /// Additional networks, by role.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, ModelPart>,
    /// Reason why the model cannot be measured, if known; for example, no model was found for a
    /// user-defined name.
    #[serde(skip)]
    pub refused: Option<Reason>,
}

/// Network that belongs to a model, such as the text encoder of a diffusion model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPart {
    /// Class in `library`.
    pub class: String,
    /// Package that contains the class.
    #[serde(default = "transformers")]
    pub library: String,
    /// Arguments of the class's configuration.
    #[serde(default)]
    pub config: serde_json::Map<String, serde_json::Value>,
}

fn transformers() -> String {
    "transformers".to_owned()
}

/// Returns the length of an input with an image of `image_tokens` positions and a few words.
pub(super) const fn with_words(image_tokens: u64) -> u64 {
    image_tokens.saturating_add(16)
}

impl ModelRow {
    /// Returns a row for a name for which no model was found, with the reason.
    pub fn from_refusal(name: &str, reason: Reason) -> Self {
        let is_kept =
            |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' };
        Self {
            name: name.trim_matches('/').chars().map(is_kept).collect(),
            family: Family::EncoderOnly,
            class: String::new(),
            library: String::new(),
            published: None,
            source: None,
            parameters: 0,
            active_parameters: None,
            shape: ModelShape::default(),
            work: None,
            path: None,
            config: serde_json::Map::new(),
            inputs: serde_json::Map::new(),
            parts: BTreeMap::new(),
            refused: Some(reason),
        }
    }

    /// Returns the size class of the model.
    pub fn size(&self) -> SizeClass {
        SizeClass::of(self.parameters)
    }

    /// Returns the default input length: the fixed one, or 128, adjusted to the model's limits.
    pub fn usual_length(&self) -> u64 {
        const USUAL: u64 = 128;
        let ModelShape { length, positions, image_tokens, .. } = self.shape;
        length.unwrap_or_else(|| {
            USUAL.max(image_tokens.map_or(1, with_words)).min(positions.unwrap_or(u64::MAX))
        })
    }

    /// Returns whether the model generates tokens.
    pub const fn generates(&self) -> bool {
        self.shape.cache.is_some() || self.shape.state.is_some()
    }

    /// Returns the definition sent to the worker, as JSON.
    pub fn definition(&self) -> String {
        // Serialization cannot fail, because all map keys are text.
        serde_json::to_string(&Self { published: None, source: None, work: None, ..self.clone() })
            .unwrap_or_default()
    }
}

/// Error in a file of models; the message describes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CatalogueError(String);

/// Parses the rows of a file. They are deserialized as JSON, like those in runs, because a second
/// deserializer for the type would double the code.
fn rows(text: &str) -> Result<Vec<ModelRow>, String> {
    let file: serde_json::Map<String, Value> =
        toml::from_str(text).map_err(|error| error.to_string())?;
    if let Some(other) = file.keys().find(|key| *key != "model") {
        return Err(format!("unknown field `{other}`, expected `model`"));
    }
    let listed = file.get("model").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut rows = Vec::new();
    for (at, row) in (1_usize..).zip(listed) {
        let named = row
            .get("name")
            .and_then(Value::as_str)
            .map_or_else(|| at.to_string(), |name| format!("`{name}`"));
        let row = ModelRow::deserialize(row).map_err(|error| format!("model {named}: {error}"))?;
        rows.push(row);
    }
    Ok(rows)
}

/// Parses a file of models: `[[model]]` entries with `name`, `family`, `class` and `config`.
///
/// # Errors
/// If the text is not valid TOML, contains no models or an unknown field, has a duplicate or
/// invalid name, or a model lacks both `class` and `path`.
pub fn parse(text: &str) -> Result<Vec<ModelRow>, CatalogueError> {
    let mut models = rows(text).map_err(CatalogueError)?;
    if models.is_empty() {
        let form = "write [[model]] with name, family, class and config";
        return Err(CatalogueError(format!("it contains no model; {form}")));
    }
    let mut seen = std::collections::BTreeSet::new();
    if let Some(twice) = models.iter().find(|row| !seen.insert(row.name.as_str())) {
        return Err(CatalogueError(format!(
            "the model `{}` is defined twice; rename one",
            twice.name
        )));
    }
    let is_name =
        |row: &&ModelRow| row.name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    if let Some(wrong) = models.iter().find(|row| row.name.is_empty() || !is_name(row)) {
        return Err(CatalogueError(format!(
            "`{}` is not a valid name; use letters, digits, dashes, underscores and dots",
            wrong.name
        )));
    }
    if let Some(bare) = models.iter().find(|row| row.class.is_empty() && row.path.is_none()) {
        return Err(CatalogueError(format!(
            "the model `{}` has neither a `class` nor a `path`; give one",
            bare.name
        )));
    }
    for row in &mut models {
        if let Some(wrong) = row.inputs.iter().find(|(_, input)| !is_input(input)) {
            let form = "write { kind = \"tokens\", shape = [\"batch\", \"length\"] }, or kind \
                        noise or ones, and numbers";
            return Err(CatalogueError(format!(
                "the input `{}` of `{}` is not valid; {form}",
                wrong.0, row.name
            )));
        }
        if row.shape == ModelShape::default() && !row.config.is_empty() {
            row.shape = detect::shape(&Value::Object(row.config.clone()), row.family);
        }
    }
    Ok(models)
}

/// Returns whether `input` has a valid kind and shape.
fn is_input(input: &Value) -> bool {
    let is_shape = input["shape"]
        .as_array()
        .is_some_and(|shape| !shape.is_empty() && shape.iter().all(is_size));
    is_shape
        && ["tokens", "noise", "ones"].iter().any(|kind| input["kind"] == *kind)
        && (input["below"].is_null() || input["below"].as_u64() > Some(5))
        && input.as_object().is_some_and(|fields| {
            fields.keys().all(|name| ["kind", "shape", "below"].contains(&name.as_str()))
        })
}

fn is_size(size: &Value) -> bool {
    size.as_u64() > Some(0) || size == "batch" || size == "length"
}

/// Returns all models that are built into this program.
pub fn catalogue() -> &'static [ModelRow] {
    static ROWS: OnceLock<Vec<ModelRow>> = OnceLock::new();
    // A test checks that the embedded file parses.
    ROWS.get_or_init(|| parse(include_str!("catalogue.toml")).unwrap_or_default())
}

/// Returns the model called `name`. User-defined models have priority.
pub fn find<'a>(name: &str, own: &'a [ModelRow]) -> Option<&'a ModelRow> {
    let mut all = own.iter().chain(catalogue());
    all.find(|row| row.name == name)
}

/// Returns the most similar name.
pub fn nearest<'a>(name: &str, own: &'a [ModelRow]) -> Option<&'a str> {
    similar(name, own).first().copied()
}

/// Returns similar names, most similar first.
fn similar<'a>(name: &str, own: &'a [ModelRow]) -> Vec<&'a str> {
    let all = own.iter().chain(catalogue()).map(|row| row.name.as_str());
    let mut similar: Vec<(f64, &str)> =
        all.map(|known| (strsim::jaro_winkler(name, known), known)).collect();
    similar.retain(|(likeness, _)| *likeness > 0.75);
    similar.sort_by(|a, b| b.0.total_cmp(&a.0));
    similar.into_iter().map(|(_, known)| known).collect()
}

/// Returns the model that represents a family and size.
pub fn representative(family: Family, size: SizeClass) -> Option<&'static ModelRow> {
    catalogue().iter().find(|row| row.family == family && row.size() == size)
}

/// Returns the reason why `name` is unknown, with similar names.
pub fn unknown(name: &str, own: &[ModelRow]) -> Reason {
    let similar: Vec<String> =
        similar(name, own).iter().take(3).map(|near| format!("`{near}`")).collect();
    let near = if similar.is_empty() {
        String::new()
    } else {
        format!("did you mean {}? ", similar.join(", "))
    };
    let cure = format!(
        "{near}`models list` shows them all; a name with a slash is a directory or a model of the \
         Hugging Face hub"
    );
    Reason::new(format!("model {name}"), "it is not in the catalogue", cure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_has_every_family_and_its_counts_are_those_that_were_published() {
        assert!(
            parse(include_str!("catalogue.toml")).is_ok(),
            "{:?}",
            parse(include_str!("catalogue.toml"))
        );
        for family in Family::ALL {
            let tiny = catalogue()
                .iter()
                .find(|row| row.family == family && row.size() == SizeClass::Tiny);
            assert!(tiny.is_some(), "{family}");
        }
        for (name, published) in [
            ("bert-base", 109.5e6),
            ("gpt2", 124.4e6),
            ("vit-base", 86.6e6),
            ("whisper-tiny", 37.8e6),
            ("t5-small", 60.5e6),
            ("clip-vit-b32", 151.3e6),
            ("llama-2-7b", 6_738.4e6),
            ("mixtral-8x7b", 46_703e6),
            ("mamba-130m", 129.1e6),
            ("rag-token-nq", 515e6),
        ] {
            let counted = find(name, &[]).unwrap().parameters as f64;
            assert!((counted / published - 1.0).abs() < 2e-3, "{name}: {counted}");
        }
        assert_eq!(find("mixtral-8x7b", &[]).unwrap().active_parameters, Some(12_879_925_248));
    }

    #[test]
    fn sizes_are_told_by_the_boundaries() {
        for (parameters, size) in [
            (0, SizeClass::Tiny),
            (99_999_999, SizeClass::Tiny),
            (100_000_000, SizeClass::Small),
            (700_000_000, SizeClass::Base),
            (6_738_415_616, SizeClass::Large),
            (8_030_261_248, SizeClass::Xl),
            (13_000_000_000, SizeClass::Xxl),
        ] {
            assert_eq!(SizeClass::of(parameters), size, "{parameters}");
        }
    }

    #[test]
    fn a_row_of_one_s_own_is_read_and_its_mistakes_are_named() {
        let row =
            "[[model]]\nname = \"mine\"\nfamily = \"decoder-only\"\nclass = \"GPT2LMHeadModel\"\n";
        let own = parse(&format!("{row}config = {{ n_layer = 2 }}\n")).unwrap();
        assert_eq!(
            (own[0].library.as_str(), own[0].config["n_layer"].as_u64()),
            ("transformers", Some(2))
        );
        assert_eq!(find("mine", &own).unwrap().family, Family::DecoderOnly);
        assert_eq!(nearest("bert-bass", &own), Some("bert-base"));
        assert!(similar("bert-bass", &own).len() > 1 && similar("zzz", &own).is_empty());
        let config = "config = { n_layer = 2, n_embd = 64, n_head = 4 }\n";
        let input = "inputs = { input_ids = { kind = \"tokens\", shape = [\"batch\", 8] } }\n";
        let own = parse(&format!("{row}{config}{input}")).unwrap();
        assert_eq!(
            (own[0].shape.layers, own[0].shape.cache),
            (2, Some(2 * 2 * 64)),
            "the configuration determines layers and cache size"
        );
        assert!(own[0].definition().contains("tokens") && own[0].generates());
        for (text, expected) in [
            (&*format!("{row}{}", input.replace("tokens", "words")), "kind noise"),
            (&*format!("{row}{}", input.replace("batch", "batches")), "input_ids"),
            ("", "[[model]]"),
            (&*row.replace("decoder-only", "decoder"), "encoder-only"),
            (&*row.replace("class =", "clas ="), "clas"),
            (&*format!("{row}{row}"), "twice"),
            (&*row.replace("mine", "a/b"), "not a valid name"),
            ("[[model]]\nname = \"x\"\nfamily = \"rag\"\n", "neither"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}\n{error}");
        }
    }
}
