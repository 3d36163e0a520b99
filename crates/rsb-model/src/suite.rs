//! Measurement profiles and the named selections of benchmarks.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::{BackendId, DeviceType, ParseIdError};

named_enum! {
    serde
    /// How thoroughly a run measures.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Profile {
        /// Quick overview: about one second per case.
        Quick = "quick",
        /// Default of the suites `gpu-performance`, `cpu-performance` and `custom`.
        Standard = "standard",
        /// For baselines that are kept for a long time.
        Thorough = "thorough",
    }
}

impl Profile {
    /// Returns a short description for `--help`.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Quick => "Quick overview: about one second per case",
            Self::Standard => "Default of a whole suite",
            Self::Thorough => "For baselines that are kept for a long time",
        }
    }
}

impl FromStr for Profile {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let found =
            Self::ALL.into_iter().find(|profile| profile.as_str().eq_ignore_ascii_case(text));
        found.ok_or_else(|| {
            ParseIdError::new(text, format!("a profile ({})", Self::NAMES.join(", ")))
        })
    }
}

named_enum! {
    serde
    /// Named selection of benchmarks.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Suite {
        /// Hardware benchmarks that need no installed ML stack.
        #[serde(alias = "pre_installation")]
        PreInstallation = "pre-installation",
        /// ML frameworks and other installed components.
        #[serde(alias = "component_specific", alias = "component-specific")]
        Component = "component",
        /// Native kernels on GPUs.
        #[serde(alias = "gpu_performance")]
        GpuPerformance = "gpu-performance",
        /// Native kernels on the CPU.
        #[serde(alias = "cpu_performance")]
        CpuPerformance = "cpu-performance",
        /// A few points of every native benchmark, on every device of this machine.
        Quick = "quick",
        /// Every point of every benchmark, on every device of this machine.
        Full = "full",
        /// The same points on every backend of each GPU and on the CPU.
        #[serde(alias = "hardware_acceleration")]
        HardwareAcceleration = "hardware-acceleration",
        /// `[[custom]]` entries of the configuration file.
        Custom = "custom",
    }
}

impl Suite {
    /// Returns the other names that are accepted.
    pub const fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::PreInstallation => &["pre_installation"],
            Self::Component => &["component_specific", "component-specific"],
            Self::GpuPerformance => &["gpu_performance"],
            Self::CpuPerformance => &["cpu_performance"],
            Self::HardwareAcceleration => &["hardware_acceleration"],
            Self::Quick | Self::Full | Self::Custom => &[],
        }
    }

    /// Returns a short description for `--help`.
    pub const fn about(self) -> &'static str {
        match self {
            Self::PreInstallation => "Hardware benchmarks that need no ML stack",
            Self::Component => "ML frameworks and the smallest model of each family",
            Self::GpuPerformance => "Native kernels on GPUs",
            Self::CpuPerformance => "Native kernels on the CPU",
            Self::Quick => "A few points of every native benchmark, on every device here",
            Self::Full => "Every point of every benchmark, on every device here",
            Self::HardwareAcceleration => {
                "The same points on every backend of each GPU, and of the CPU"
            }
            Self::Custom => "The `[[custom]]` entries of the configuration file",
        }
    }

    /// Returns whether the suite includes benchmarks that run host tools instead of using a device.
    /// If the user names benchmarks, the plan includes these benchmarks in any suite.
    pub const fn uses_host_tools(self) -> bool {
        matches!(self, Self::PreInstallation | Self::Full | Self::Custom)
    }

    /// Returns whether the suite measures devices of type `device_type` through `backend`.
    pub fn wants(self, backend: BackendId, device_type: DeviceType) -> bool {
        match self {
            Self::GpuPerformance => backend != BackendId::Cpu,
            Self::CpuPerformance => device_type == DeviceType::Cpu,
            _ => true,
        }
    }

    /// Returns whether the suite measures a GPU through every backend that reaches it, instead of
    /// through one.
    pub fn compares_backends(self) -> bool {
        self == Self::HardwareAcceleration
    }

    /// Returns the default profile of the suite.
    pub const fn profile(self) -> Profile {
        match self {
            // With a longer profile, every point of every benchmark would take a day.
            Self::Quick
            | Self::PreInstallation
            | Self::Component
            | Self::Full
            | Self::HardwareAcceleration => Profile::Quick,
            _ => Profile::Standard,
        }
    }
}

impl FromStr for Suite {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let found = Self::ALL
            .into_iter()
            .find(|suite| suite.as_str() == text || suite.aliases().contains(&text));
        found
            .ok_or_else(|| ParseIdError::new(text, format!("a suite ({})", Self::NAMES.join(", "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_an_unknown_one_names_those_there_are() {
        for suite in Suite::ALL {
            for name in [suite.as_str()].iter().chain(suite.aliases()) {
                assert_eq!(name.parse(), Ok(suite));
                assert_eq!(serde_json::from_value::<Suite>((*name).into()).unwrap(), suite);
            }
        }
        for profile in Profile::ALL {
            assert_eq!(profile.as_str().parse(), Ok(profile));
        }
        let error = "fast".parse::<Suite>().unwrap_err().to_string();
        assert!(error.contains("pre-installation"), "{error}");
        assert!("fast".parse::<Profile>().is_err());
    }
}
