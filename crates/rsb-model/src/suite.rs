//! How thoroughly to measure, and the named selections of benchmarks.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::{BackendId, DeviceType, ParseIdError};

/// How thoroughly to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// A glance: about a second a case.
    Quick,
    /// The default of a whole suite.
    Standard,
    /// For baselines that shall last.
    Thorough,
}

impl Profile {
    /// Every one, the fastest first.
    pub const ALL: [Self; 3] = [Self::Quick, Self::Standard, Self::Thorough];

    /// The name on the command line and in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Thorough => "thorough",
        }
    }

    /// What it is for, in a few words for `--help`.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Quick => "A glance: about a second a case",
            Self::Standard => "The default of a whole suite",
            Self::Thorough => "For baselines that shall last",
        }
    }
}

impl FromStr for Profile {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let found =
            Self::ALL.into_iter().find(|profile| profile.as_str().eq_ignore_ascii_case(text));
        found.ok_or_else(|| {
            ParseIdError::new(
                text,
                format!("a profile ({})", Self::ALL.map(Self::as_str).join(", ")),
            )
        })
    }
}

/// A named selection of benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Suite {
    /// What tells about the hardware before any ML stack is installed.
    PreInstallation,
    /// ML frameworks and other installed components.
    Component,
    /// Native kernels on GPUs.
    GpuPerformance,
    /// Native kernels on the CPU.
    CpuPerformance,
    /// A few points of every native benchmark on whatever is here.
    Quick,
    /// Every point of every benchmark on whatever is here.
    Full,
    /// The same points on every backend of each GPU, and of the CPU.
    HardwareAcceleration,
    /// The `[[custom]]` entries of the configuration file.
    Custom,
}

impl Suite {
    /// Every one.
    pub const ALL: [Self; 8] = [
        Self::PreInstallation,
        Self::Component,
        Self::GpuPerformance,
        Self::CpuPerformance,
        Self::Quick,
        Self::Full,
        Self::HardwareAcceleration,
        Self::Custom,
    ];

    /// The name on the command line and in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreInstallation => "pre-installation",
            Self::Component => "component",
            Self::GpuPerformance => "gpu-performance",
            Self::CpuPerformance => "cpu-performance",
            Self::Quick => "quick",
            Self::Full => "full",
            Self::HardwareAcceleration => "hardware-acceleration",
            Self::Custom => "custom",
        }
    }

    /// What is in it, in a few words for `--help`.
    pub const fn about(self) -> &'static str {
        match self {
            Self::PreInstallation => {
                "What tells about the hardware before any ML stack is installed"
            }
            Self::Component => "ML frameworks and other installed components",
            Self::GpuPerformance => "Native kernels on GPUs",
            Self::CpuPerformance => "Native kernels on the CPU",
            Self::Quick => "A few points of every native benchmark on whatever is here",
            Self::Full => "Every point of every benchmark on whatever is here",
            Self::HardwareAcceleration => {
                "The same points on every backend of each GPU, and of the CPU"
            }
            Self::Custom => "The `[[custom]]` entries of the configuration file",
        }
    }

    /// Whether it runs what uses the host's tools for GPUs that need not be here; whoever lists
    /// benchmarks names what is meant.
    pub const fn uses_host_tools(self) -> bool {
        matches!(self, Self::PreInstallation | Self::Full | Self::Custom)
    }

    /// Whether it runs on devices of this kind, reached through this backend.
    pub fn wants(self, backend: BackendId, device_type: DeviceType) -> bool {
        match self {
            Self::GpuPerformance => backend != BackendId::Cpu,
            Self::CpuPerformance => device_type == DeviceType::Cpu,
            _ => true,
        }
    }

    /// Whether a GPU is measured through every backend that reaches it, and not through one alone.
    pub fn compares_backends(self) -> bool {
        self == Self::HardwareAcceleration
    }

    /// The profile when none is asked for.
    pub const fn profile(self) -> Profile {
        match self {
            // Every point thoroughly would take a day.
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
        let found = Self::ALL.into_iter().find(|suite| suite.as_str() == text);
        found.ok_or_else(|| {
            ParseIdError::new(text, format!("a suite ({})", Self::ALL.map(Self::as_str).join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_an_unknown_one_names_those_there_are() {
        for suite in Suite::ALL {
            assert_eq!(suite.as_str().parse(), Ok(suite));
        }
        for profile in Profile::ALL {
            assert_eq!(profile.as_str().parse(), Ok(profile));
        }
        let error = "fast".parse::<Suite>().unwrap_err().to_string();
        assert!(error.contains("pre-installation"), "{error}");
        assert!("fast".parse::<Profile>().is_err());
    }
}
