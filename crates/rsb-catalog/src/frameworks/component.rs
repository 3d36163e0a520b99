//! What a component and a workload of it are.

use rsb_model::factor::PYTHON;
use rsb_model::{DeviceRef, Params};
use rsb_workloads::{AxisInfo, Breadth};

use super::workloads::WORKLOADS;

/// Packages of ONNX Runtime, of which each build for a kind of hardware is one.
pub(super) const ONNX_RUNTIMES: &[&str] = &[
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-migraphx",
    "onnxruntime-openvino",
    "onnxruntime-rocm",
];

/// A framework, which is also a verb.
#[derive(Debug)]
pub struct Component {
    /// Also its verb: `pytorch`.
    pub name: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
    /// The packages of which one must be installed, by normalized name; none where Python itself is
    /// enough.
    pub packages: &'static [&'static str],
    /// Packages whose version may change a result, by normalized name; Python itself always counts.
    pub factors: &'static [&'static str],
    /// What `python setup` installs for it.
    pub install: &'static [&'static str],
    /// About how much an environment with it takes of a disk in GB, with `PyPI`'s wheels for Linux
    /// on x86-64.
    pub disk_gb: f64,
    /// Where `python setup` installs it.
    pub place: InstallPlace,
}

/// Where a component is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallPlace {
    /// Together with the others.
    Shared,
    /// Apart: it wants other versions than they do.
    Apart,
}

/// Something that is measured of a component: a function of its Python file.
#[derive(Debug)]
pub struct Workload {
    /// The function's name, with dashes.
    pub name: &'static str,
    /// Its parameters, in the order in which they show in an id.
    pub axes: &'static [AxisInfo],
    /// Its points on a CPU, which has other work too.
    pub cpu: Grids,
    /// Its points on a GPU, which small ones would leave idle.
    pub gpu: Grids,
}

/// Points of a workload: `dtype=f32,bf16 shape=512x512x512`, every combination.
#[derive(Debug)]
pub struct Grids {
    /// Those for a glance.
    pub quick: &'static [&'static str],
    /// Those beside them for a thorough look.
    pub more: &'static [&'static str],
}

impl Grids {
    /// Those of `breadth`.
    pub fn of(&self, breadth: Breadth) -> impl Iterator<Item = &'static str> {
        let more: &[&str] = if breadth == Breadth::Quick { &[] } else { self.more };
        self.quick.iter().chain(more).copied()
    }
}

impl Component {
    /// What is measured of it.
    pub fn workloads(&self) -> &'static [Workload] {
        WORKLOADS.get(self.name).map_or(&[], Vec::as_slice)
    }

    /// Names of the factors that a case with `params` depends on, in addition to those of its
    /// device. A case of `models` depends on its runtime alone.
    pub fn factors(&self, params: &Params) -> Vec<&'static str> {
        let own: &[&str] = match params.text("runtime") {
            Some("openvino") => &["openvino"],
            Some("onnxruntime" | "qnn") => ONNX_RUNTIMES,
            _ => self.factors,
        };
        [&[PYTHON], own].concat()
    }
}

impl Workload {
    /// The points for `device`.
    pub const fn grids(&self, device: DeviceRef) -> &Grids {
        if device.is_cpu() { &self.cpu } else { &self.gpu }
    }
}
