//! Matrix units, as reported by `VK_KHR_cooperative_matrix`: the shape that a kernel supports, and
//! all shapes that the driver reports.

use ash::vk;
use rsb_model::Dtype;

use super::instance::Instance;
use crate::portable::unsupported_error;
use rsb_device::device::DeviceError;

/// Extensions required by the kernels.
pub(super) const EXTENSIONS: [&std::ffi::CStr; 2] =
    [vk::KHR_COOPERATIVE_MATRIX_NAME, vk::KHR_VULKAN_MEMORY_MODEL_NAME];

/// Shapes with a kernel, in order of preference. AMD and NVIDIA support the first, Intel's Xe2 the
/// second and Xe-HPG the third.
pub(super) const KERNELS: [Shape; 3] = [[16, 16, 16], [8, 16, 16], [8, 8, 16]];

/// A shape [m, n, k] of a product of m × k by k × n.
pub(super) type Shape = [u32; 3];

/// Matrix units of a device.
#[derive(Debug, Default)]
pub(super) struct MatrixUnits {
    /// Shape of the kernel to use; `None` if no kernel supports the device.
    pub(super) kernel: Option<Shape>,
    /// Every shape that the driver reports, with its types: `8x16x16 f16 to f32`.
    pub(super) listed: Vec<String>,
}

/// Returns the matrix units of a device that supports [`EXTENSIONS`]. Its subgroups must have at
/// least `fewest_lanes` lanes.
pub(super) fn units(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    fewest_lanes: u32,
) -> MatrixUnits {
    let mut matrix = vk::PhysicalDeviceCooperativeMatrixFeaturesKHR::default();
    let mut model = vk::PhysicalDeviceVulkanMemoryModelFeatures::default();
    let mut all =
        vk::PhysicalDeviceFeatures2::default().push_next(&mut matrix).push_next(&mut model);
    // SAFETY: the chain holds structures of extensions that the device supports, each live for the
    // call.
    unsafe { instance.raw.get_physical_device_features2(physical, &mut all) };
    if matrix.cooperative_matrix == vk::FALSE || model.vulkan_memory_model == vk::FALSE {
        return MatrixUnits::default();
    }
    let extension = ash::khr::cooperative_matrix::Instance::new(&instance.entry, &instance.raw);
    // SAFETY: the instance enumerated the device, which supports the extension.
    let shapes = unsafe { extension.get_physical_device_cooperative_matrix_properties(physical) }
        .unwrap_or_default();
    MatrixUnits { kernel: choose(&shapes, fewest_lanes), listed: describe(&shapes) }
}

/// Returns the first kernel shape that the driver reports. A kernel's shared memory has room for
/// the results of 4096 / (m × n) subgroups per group of 256, which excludes devices with smaller
/// subgroups.
fn choose(shapes: &[vk::CooperativeMatrixPropertiesKHR<'_>], fewest_lanes: u32) -> Option<Shape> {
    KERNELS
        .into_iter()
        .filter(|[m, n, _]| fewest_lanes * 16 >= m * n)
        .find(|kernel| shapes.iter().any(|shape| is_of_kernel(shape, *kernel)))
}

fn is_of_kernel(shape: &vk::CooperativeMatrixPropertiesKHR<'_>, kernel: Shape) -> bool {
    let (half, single) = (vk::ComponentTypeKHR::FLOAT16, vk::ComponentTypeKHR::FLOAT32);
    [shape.m_size, shape.n_size, shape.k_size] == kernel
        && (shape.a_type, shape.b_type) == (half, half)
        && (shape.c_type, shape.result_type) == (single, single)
        && shape.scope == vk::ScopeKHR::SUBGROUP
}

/// Describes the shapes with their types, without duplicates.
fn describe(shapes: &[vk::CooperativeMatrixPropertiesKHR<'_>]) -> Vec<String> {
    let mut listed: Vec<String> = Vec::new();
    for shape in shapes {
        let [input, output] = [shape.a_type, shape.result_type].map(type_name);
        let text =
            format!("{}x{}x{} {input} to {output}", shape.m_size, shape.n_size, shape.k_size);
        if !listed.contains(&text) {
            listed.push(text);
        }
    }
    listed
}

fn type_name(of: vk::ComponentTypeKHR) -> String {
    let name = match of {
        vk::ComponentTypeKHR::FLOAT16 => "f16",
        vk::ComponentTypeKHR::FLOAT32 => "f32",
        vk::ComponentTypeKHR::FLOAT64 => "f64",
        vk::ComponentTypeKHR::SINT8 => "i8",
        vk::ComponentTypeKHR::SINT32 => "i32",
        vk::ComponentTypeKHR::UINT8 => "u8",
        vk::ComponentTypeKHR::UINT32 => "u32",
        other => return format!("type {}", other.as_raw()),
    };
    name.to_owned()
}

/// Returns the error for data types or shapes that no matrix kernel supports. `listed` contains the
/// shapes that the driver reports.
pub(super) fn no_kernel_error(dtype: Dtype, listed: &[String]) -> DeviceError {
    let kernels = KERNELS.map(|[m, n, k]| format!("{m}x{n}x{k}")).join(", ");
    let found = if listed.is_empty() { "none".to_owned() } else { listed.join(", ") };
    unsupported_error(
        &format!("matrix units for {dtype}"),
        format!(
            "the kernels support f16 summed in f32, in the shapes {kernels}; the driver reports \
             with VK_KHR_cooperative_matrix: {found}"
        ),
        "choose engine=vector, or use the GPU's native runtime or a newer driver",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: vk::ComponentTypeKHR = vk::ComponentTypeKHR::FLOAT16;
    const SINGLE: vk::ComponentTypeKHR = vk::ComponentTypeKHR::FLOAT32;

    fn shape([m, n, k]: Shape) -> vk::CooperativeMatrixPropertiesKHR<'static> {
        vk::CooperativeMatrixPropertiesKHR::default()
            .m_size(m)
            .n_size(n)
            .k_size(k)
            .a_type(HALF)
            .b_type(HALF)
            .c_type(SINGLE)
            .result_type(SINGLE)
            .scope(vk::ScopeKHR::SUBGROUP)
    }

    #[test]
    fn each_shape_of_a_kernel_is_chosen_where_the_driver_lists_it() {
        for kernel in KERNELS {
            assert_eq!(choose(&[shape([32, 32, 16]), shape(kernel)], 16), Some(kernel));
        }
        assert_eq!(
            choose(&KERNELS.map(shape), 32),
            Some([16, 16, 16]),
            "the preferred shape is chosen from several"
        );
        assert_eq!(choose(&[shape([8, 8, 16])], 8), Some([8, 8, 16]), "Intel Xe-HPG");
        assert_eq!(
            choose(&[shape([16, 16, 16])], 8),
            None,
            "not enough shared memory for the results of 32 subgroups"
        );
        assert_eq!(choose(&[], 32), None);
    }

    #[test]
    fn only_the_types_of_the_kernels_will_do() {
        let shape = shape([16, 16, 16]);
        for (what, other) in [
            ("flat", shape.n_size(8)),
            ("long", shape.k_size(32)),
            ("sums in f16", shape.c_type(HALF).result_type(HALF)),
            ("bytes", shape.a_type(vk::ComponentTypeKHR::SINT8)),
            ("a whole group", shape.scope(vk::ScopeKHR::WORKGROUP)),
        ] {
            assert_eq!(choose(&[other], 32), None, "{what}");
        }
    }

    #[test]
    fn a_skip_names_the_shapes_that_the_driver_lists() {
        let bytes = shape([8, 16, 32])
            .a_type(vk::ComponentTypeKHR::SINT8)
            .result_type(vk::ComponentTypeKHR::SINT32);
        let listed =
            describe(&[shape([8, 16, 8]), shape([8, 16, 8]).scope(vk::ScopeKHR::WORKGROUP), bytes]);
        assert_eq!(listed, ["8x16x8 f16 to f32", "8x16x32 i8 to i32"]);
        let skip = no_kernel_error(Dtype::F16, &listed).to_string();
        assert!(
            skip.contains("8x16x8 f16 to f32, 8x16x32 i8 to i32") && skip.contains("8x8x16"),
            "{skip}"
        );
        assert!(no_kernel_error(Dtype::F16, &[]).to_string().contains("none"));
    }
}
