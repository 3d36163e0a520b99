//! A model in a directory, or one that was downloaded from the hub before, by name.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use rsb_catalog::models::{self, ModelRow};
use rsb_model::Reason;
use serde_json::Value;

/// Maximum size in bytes of the header of a weights file.
const HEADER: u64 = 100 << 20;

/// Returns whether `name` refers to a directory or the hub, not to the catalogue.
pub(super) fn is_meant(name: &str) -> bool {
    name.contains('/') || Path::new(name).is_dir()
}

/// Reads the model that `name` refers to.
pub(super) fn model(name: &str) -> Result<ModelRow, Reason> {
    let given = PathBuf::from(name);
    let is_here = given.is_dir();
    let dir = if is_here { Some(given) } else { find_snapshot(name) };
    let dir = dir.ok_or_else(|| {
        let why = format!("no directory {name} exists, and no model of that name was downloaded");
        let cure = if Path::new(name).is_absolute() || name.starts_with('.') {
            "correct the path, or name a model of `models list`".to_owned()
        } else {
            format!("download it with `hf download {name}`, or name a model of `models list`")
        };
        Reason::new(format!("model {name}"), why, cure)
    })?;
    let dir = dir.canonicalize().map_err(|error| unreadable(name, error.to_string()))?;
    let dir = of_pipeline(dir).map_err(|why| unreadable(name, why))?;
    let path = dir.join("config.json");
    let text = rsb_store::read_text(&path)
        .map_err(|error| unreadable(name, format!("{}: {error}", path.display())))?;
    let mut row = models::detect(&dir.to_string_lossy(), &text, weights(&dir))
        .map_err(|why| unreadable(name, why))?;
    if name.matches('/').count() == 1 && !is_here {
        row.name = name.replace('/', "-");
    }
    Ok(row)
}

fn unreadable(name: &str, why: String) -> Reason {
    Reason::new(format!("model {name}"), why, "name a directory with config.json and safetensors")
}

/// Returns the directory in which the package of the hub stores a downloaded model.
fn find_snapshot(name: &str) -> Option<PathBuf> {
    let home = match std::env::var_os("HF_HOME") {
        Some(home) => PathBuf::from(home),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".cache/huggingface"),
    };
    let hub = home.join("hub");
    let snapshots = hub.join(format!("models--{}", name.replace('/', "--"))).join("snapshots");
    let found = std::fs::read_dir(snapshots).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    found
        .filter(|dir| {
            ["config.json", "model_index.json"].iter().any(|file| dir.join(file).is_file())
        })
        .max()
}

/// Returns the directory of the `UNet` of a diffusers pipeline, which does nearly all of the work.
fn of_pipeline(dir: PathBuf) -> Result<PathBuf, String> {
    if dir.join("config.json").is_file() || !dir.join("model_index.json").is_file() {
        return Ok(dir);
    }
    let unet = dir.join("unet");
    if unet.join("config.json").is_file() {
        return Ok(unet);
    }
    Err("it is a diffusers pipeline without a UNet, and only the UNet of a pipeline can be measured"
        .to_owned())
}

/// Returns the number of weights in the files of `dir`, according to their headers; zero if there
/// are no such files or they cannot be read.
fn weights(dir: &Path) -> u64 {
    let index = ["model.safetensors.index.json", "diffusion_pytorch_model.safetensors.index.json"];
    let listed = index.iter().find_map(|name| rsb_store::read_text(&dir.join(name)).ok());
    let files: Vec<String> = match listed.and_then(|text| rsb_model::json::parse(&text).ok()) {
        Some(index) => {
            let named = index["weight_map"].as_object().into_iter().flatten();
            let names: std::collections::BTreeSet<&str> =
                named.filter_map(|(_, file)| file.as_str()).collect();
            names.into_iter().map(str::to_owned).collect()
        }
        None => {
            ["model.safetensors", "diffusion_pytorch_model.safetensors"].map(str::to_owned).to_vec()
        }
    };
    // A name with a slash could lead to another directory.
    let files = files.iter().filter(|name| !name.contains('/'));
    files.filter_map(|name| of_file(&dir.join(name))).fold(0, u64::saturating_add)
}

/// Returns the number of weights in a safetensors file, whose header has the shapes of its tensors.
fn of_file(path: &Path) -> Option<u64> {
    let mut file = rsb_store::open(path).ok()?;
    let mut size = [0; 8];
    file.read_exact(&mut size).ok()?;
    let size = u64::from_le_bytes(size);
    let mut header = String::new();
    file.take(size.min(HEADER)).read_to_string(&mut header).ok()?;
    let header: Value = rsb_model::json::parse(&header).ok()?;
    let tensors = header.as_object()?.iter().filter(|(name, _)| *name != "__metadata__");
    tensors
        .map(|(_, tensor)| count_weights(tensor))
        .try_fold(0_u64, |all, one| all.checked_add(one?))
}

fn count_weights(tensor: &Value) -> Option<u64> {
    tensor["shape"].as_array()?.iter().try_fold(1_u64, |all, size| all.checked_mul(size.as_u64()?))
}
