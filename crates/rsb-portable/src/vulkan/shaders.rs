//! The SPIR-V of every kernel, as `cargo xtask codegen` made it from the sources in kernels/vulkan.

use include_dir::{Dir, include_dir};
use rsb_model::Dtype;

use super::info::{Presence, Traits};
use crate::portable::{Module, unsupported_error};
use rsb_device::device::DeviceError;

static SHADERS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/kernels/vulkan/spirv");

/// The contents of the file `name`.spv.
fn spirv(name: &str) -> Option<&'static [u8]> {
    Some(SHADERS.get_file(format!("{name}.spv"))?.contents())
}

/// Kernels that bring values of a group together, by subgroups where the device has them.
const ACROSS_GROUPS: &[&str] =
    &["rsb_sum", "rsb_sum_end", "rsb_max", "rsb_max_end", "rsb_softmax", "rsb_layer_norm"];

/// Whether `kernel` works by subgroups on a device with these traits.
pub(super) fn by_subgroups(traits: Traits, kernel: &str) -> bool {
    traits.subgroup_lanes.is_some() && ACROSS_GROUPS.contains(&kernel)
}

/// The words of the file that holds `kernel` for `dtype`.
pub(super) fn words(
    traits: Traits,
    module: Module,
    dtype: Dtype,
    kernel: &str,
) -> Result<Vec<u32>, DeviceError> {
    check_type(traits, module, dtype)?;
    let matrix =
        traits.matrix.map(|[m, n, k]| format!("peak_matrix_{m}x{n}x{k}")).unwrap_or_default();
    let stem = match kernel {
        "rsb_sigmoid" | "rsb_gelu" | "rsb_softmax" => "exponential",
        "rsb_rms_norm" | "rsb_rotate" => "blocks",
        "rsb_peak_matrix" => matrix.as_str(),
        _ => module.stem(),
    };
    let form = if by_subgroups(traits, kernel) { "_subgroups" } else { "" };
    let name = format!("{stem}{form}_{dtype}");
    let file = spirv(&name).ok_or_else(|| {
        unsupported_error(
            &format!("{} of {dtype}", kernel.trim_start_matches("rsb_")),
            format!("there is no shader for it in {dtype}"),
            "choose another data type",
        )
    })?;
    Ok(file.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// 16-bit elements are packed by hand, which every device can; only computing in them is a feature,
/// as f64 is.
fn check_type(traits: Traits, module: Module, dtype: Dtype) -> Result<(), DeviceError> {
    let feature = match dtype {
        Dtype::F64 if traits.f64 == Presence::No => "shaderFloat64",
        Dtype::F16 if traits.f16 == Presence::No && module == Module::Peak => "shaderFloat16",
        _ => return Ok(()),
    };
    Err(unsupported_error(
        &format!("arithmetic in {dtype}"),
        format!("this driver lacks the feature {feature}"),
        "choose another data type, or another device",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_for_every_type_is_there_and_is_spirv() {
        const MAGIC: [u8; 4] = [0x03, 0x02, 0x23, 0x07];
        for module in Module::ALL {
            for dtype in module.dtypes() {
                let name = format!("{}_{dtype}", module.stem());
                let bytes = spirv(&name).unwrap_or_else(|| panic!("{name}"));
                assert_eq!(bytes.get(..4), Some(MAGIC.as_slice()), "{name}");
                assert!(bytes.len().is_multiple_of(4), "{name}");
            }
        }
    }

    #[test]
    fn every_kernel_that_goes_by_subgroups_has_its_file() {
        for dtype in Module::Reduce.dtypes() {
            for (module, kernel) in [
                (Module::Reduce, "rsb_sum"),
                (Module::Reduce, "rsb_max_end"),
                (Module::Normalize, "rsb_layer_norm"),
            ] {
                let by_groups = words(traits_with(Some(32)), module, *dtype, kernel).unwrap();
                assert_ne!(
                    by_groups,
                    words(traits_with(None), module, *dtype, kernel).unwrap(),
                    "{kernel} of {dtype}"
                );
            }
            let argmax = "rsb_argmax";
            assert_eq!(
                words(traits_with(Some(32)), Module::Reduce, *dtype, argmax).unwrap(),
                words(traits_with(None), Module::Reduce, *dtype, argmax).unwrap(),
                "places are not brought together by subgroups"
            );
        }
        assert!(
            words(traits_with(Some(32)), Module::Normalize, Dtype::Bf16, "rsb_softmax").is_ok()
        );
    }

    fn traits_with(subgroup_lanes: Option<u32>) -> Traits {
        Traits { subgroup_lanes, f64: Presence::Yes, f16: Presence::Yes, ..Traits::default() }
    }

    #[test]
    fn every_shape_of_matrix_units_has_a_kernel_of_its_own() {
        let of = |shape| {
            let traits = Traits { matrix: shape, f16: Presence::Yes, ..Traits::default() };
            words(traits, Module::Peak, Dtype::F16, "rsb_peak_matrix")
        };
        let [first, second, third] =
            super::super::matrix::KERNELS.map(|shape| of(Some(shape)).unwrap());
        assert!(first != second && second != third && third != first);
        assert!(of(None).is_err());
    }
}
