//! Matrix units, as `VK_KHR_cooperative_matrix` shows them: which of their shapes the one kernel for them needs.

use ash::vk;

use super::info::Presence;
use super::instance::Instance;

/// The extensions that the kernel needs.
pub(super) const EXTENSIONS: [&std::ffi::CStr; 2] = [vk::KHR_COOPERATIVE_MATRIX_NAME, vk::KHR_VULKAN_MEMORY_MODEL_NAME];

/// Rows, columns and length of the sums in the kernel.
const SIDE: u32 = 16;

/// The kernel has room for the results of 16 subgroups in a group of 256.
const FEWEST_LANES: u32 = 16;

/// Whether a device that has the [`EXTENSIONS`] can run the kernel.
pub(super) fn units(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    subgroup: &vk::PhysicalDeviceSubgroupProperties<'_>,
) -> Presence {
    let mut matrix = vk::PhysicalDeviceCooperativeMatrixFeaturesKHR::default();
    let mut model = vk::PhysicalDeviceVulkanMemoryModelFeatures::default();
    let mut all = vk::PhysicalDeviceFeatures2::default().push_next(&mut matrix).push_next(&mut model);
    // SAFETY: the chain holds structures of extensions that the device has, each live for the call.
    unsafe { instance.raw.get_physical_device_features2(physical, &mut all) };
    if matrix.cooperative_matrix == vk::FALSE || model.vulkan_memory_model == vk::FALSE {
        return Presence::No;
    }
    let extension = ash::khr::cooperative_matrix::Instance::new(&instance.entry, &instance.raw);
    // SAFETY: the device is of this instance, and has the extension.
    let shapes = unsafe { extension.get_physical_device_cooperative_matrix_properties(physical) }.unwrap_or_default();
    let suits = subgroup.subgroup_size >= FEWEST_LANES
        && subgroup.supported_stages.contains(vk::ShaderStageFlags::COMPUTE)
        && shapes.iter().any(is_of_the_kernel);
    if suits { Presence::Yes } else { Presence::No }
}

fn is_of_the_kernel(shape: &vk::CooperativeMatrixPropertiesKHR<'_>) -> bool {
    let (half, single) = (vk::ComponentTypeKHR::FLOAT16, vk::ComponentTypeKHR::FLOAT32);
    [shape.m_size, shape.n_size, shape.k_size] == [SIDE; 3]
        && (shape.a_type, shape.b_type) == (half, half)
        && (shape.c_type, shape.result_type) == (single, single)
        && shape.scope == vk::ScopeKHR::SUBGROUP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_shape_and_the_types_of_the_kernel_will_do() {
        let (half, single) = (vk::ComponentTypeKHR::FLOAT16, vk::ComponentTypeKHR::FLOAT32);
        let shape = vk::CooperativeMatrixPropertiesKHR::default()
            .m_size(16)
            .n_size(16)
            .k_size(16)
            .a_type(half)
            .b_type(half)
            .c_type(single)
            .result_type(single)
            .scope(vk::ScopeKHR::SUBGROUP);
        assert!(is_of_the_kernel(&shape));
        for (what, other) in [
            ("flat", shape.n_size(8)),
            ("long", shape.k_size(32)),
            ("sums in f16", shape.c_type(half).result_type(half)),
            ("bytes", shape.a_type(vk::ComponentTypeKHR::SINT8)),
            ("a whole group", shape.scope(vk::ScopeKHR::WORKGROUP)),
        ] {
            assert!(!is_of_the_kernel(&other), "{what}");
        }
    }
}
