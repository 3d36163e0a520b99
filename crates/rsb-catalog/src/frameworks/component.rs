//! Types of components and their workloads.

use rsb_model::factor::PYTHON;
use rsb_model::{DeviceRef, Params};
use rsb_workloads::{AxisInfo, Breadth};

use super::workloads::WORKLOADS;

/// Packages of ONNX Runtime, one for each type of hardware.
pub(super) const ONNX_RUNTIMES: &[&str] = &[
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-migraphx",
    "onnxruntime-openvino",
    "onnxruntime-rocm",
];

/// Framework, which is also a subcommand.
#[derive(Debug)]
pub struct Component {
    /// Name of the component and of its subcommand, such as `pytorch`.
    pub name: &'static str,
    /// Description for `--help`, one line.
    pub about: &'static str,
    /// Packages of which at least one must be installed, by normalized name. Empty if Python itself
    /// is sufficient.
    pub packages: &'static [&'static str],
    /// Packages whose version can change a result, by normalized name. Python itself always counts.
    pub factors: &'static [&'static str],
    /// Packages that `python setup` installs for the component.
    pub install: &'static [&'static str],
    /// Approximate disk space in GB of an environment with the component, installed from `PyPI`
    /// wheels for Linux on x86-64.
    pub disk_gb: f64,
    /// Environment into which `python setup` installs the component.
    pub place: InstallPlace,
}

/// Environment of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallPlace {
    /// Shared with other components.
    Shared,
    /// Separate, because it needs other versions of packages.
    Apart,
}

/// Workload of a component: a function of its Python file.
#[derive(Debug)]
pub struct Workload {
    /// Name of the function, with dashes.
    pub name: &'static str,
    /// Parameters, in the order used in ids.
    pub axes: &'static [AxisInfo],
    /// Points on a CPU.
    pub cpu: Grids,
    /// Points on a GPU, large enough to keep it busy.
    pub gpu: Grids,
}

/// Points of a workload: `dtype=f32,bf16 shape=512x512x512`, in every combination.
#[derive(Debug)]
pub struct Grids {
    /// Points of a quick run.
    pub quick: &'static [&'static str],
    /// Additional points of a thorough run.
    pub more: &'static [&'static str],
}

impl Grids {
    /// Returns the points for `breadth`.
    pub fn of(&self, breadth: Breadth) -> impl Iterator<Item = &'static str> {
        let more: &[&str] = if breadth == Breadth::Quick { &[] } else { self.more };
        self.quick.iter().chain(more).copied()
    }
}

impl Component {
    /// Returns the workloads of the component.
    pub fn workloads(&self) -> &'static [Workload] {
        WORKLOADS.get(self.name).map_or(&[], Vec::as_slice)
    }

    /// Returns the names of the factors that a case with `params` depends on, in addition to those
    /// of its device. A case of `models` depends on its runtime only.
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
    /// Returns the points for `device`.
    pub const fn grids(&self, device: DeviceRef) -> &Grids {
        if device.is_cpu() { &self.cpu } else { &self.gpu }
    }
}
