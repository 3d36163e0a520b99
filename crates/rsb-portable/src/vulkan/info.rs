//! Device enumeration and properties. A property that a driver does not report is unknown, not
//! zero.

use std::ffi::CStr;

use ash::vk;
use rsb_model::{BackendId, DeviceRef, DeviceType, Reason};

use super::failure::WithCall as _;
use super::instance::{self, Instance};
use super::matrix::{self, EXTENSIONS, MatrixUnits};
use crate::caches::{self, GpuIdentity};
use crate::portable::version_in;
use rsb_device::device::DeviceInfo;

/// A device with the data needed to open it.
pub(super) struct PhysicalCandidate {
    pub(super) info: DeviceInfo,
    pub(super) physical: vk::PhysicalDevice,
    pub(super) traits: Traits,
    /// Shapes of matrix units that the driver reports.
    pub(super) matrix_shapes: Vec<String>,
}

/// Features and limits of a device.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Traits {
    /// Index of the queue family in use.
    pub(super) family: u32,
    /// Number of valid timestamp bits in this queue family; 0 if it does not support timestamps.
    pub(super) timestamp_bits: u32,
    /// Nanoseconds per tick.
    pub(super) timestamp_period: f64,
    /// Maximum bytes of one buffer.
    pub(super) buffer_bytes: u64,
    /// Maximum groups of a launch.
    pub(super) most_groups: u32,
    /// Number of compute units; [`MANY_UNITS`] if unknown.
    pub(super) units: u32,
    pub(super) f64: Presence,
    pub(super) f16: Presence,
    /// Whether pipelines can choose the subgroup size (`VK_EXT_subgroup_size_control`).
    pub(super) size_control: Presence,
    /// Subgroup size that pipelines require for kernels that reduce values in subgroups; `None` if
    /// these kernels use whole groups instead.
    pub(super) subgroup_lanes: Option<u32>,
    /// Shape of the matrix kernel, which multiplies f16 and accumulates in f32.
    pub(super) matrix: Option<matrix::Shape>,
}

/// Whether a device has a feature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Presence {
    Yes,
    #[default]
    No,
}

impl From<u32> for Presence {
    fn from(value: u32) -> Self {
        if value == vk::FALSE { Self::No } else { Self::Yes }
    }
}

/// Number of compute units assumed if no extension reports it. Since large GPUs have about this
/// many, kernels start enough groups for every GPU.
const MANY_UNITS: u32 = 256;

/// Threads per group in every kernel.
const THREADS: u32 = crate::portable::GROUP;

/// Returns every device that supports compute, in the loader's order.
pub(super) fn devices(instance: &Instance) -> Result<Vec<PhysicalCandidate>, Reason> {
    // SAFETY: the instance is live.
    let physical = unsafe { instance.raw.enumerate_physical_devices() }
        .with_call("vkEnumeratePhysicalDevices")?;
    let mut found: Vec<PhysicalCandidate> = Vec::new();
    for physical in physical {
        let index = u32::try_from(found.len()).unwrap_or(u32::MAX);
        found.extend(describe(instance, physical, DeviceRef { backend: BackendId::Vulkan, index }));
    }
    if found.is_empty() {
        let why = "the installed drivers find no Vulkan 1.1 device that supports groups of 256";
        return Err(Reason::new("Vulkan devices", why, instance::CURE));
    }
    Ok(found)
}

/// Describes a device. Returns `None` if its Vulkan version is too old or its maximum group size
/// too small.
fn describe(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    reference: DeviceRef,
) -> Option<PhysicalCandidate> {
    let extensions = extensions(instance, physical);
    let has = |name: &CStr| extensions.iter().any(|known| known.as_c_str() == name);
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut allocation = vk::PhysicalDeviceMaintenance3Properties::default();
    let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
    let mut amd = vk::PhysicalDeviceShaderCorePropertiesAMD::default();
    let mut nvidia = vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV::default();
    let mut bus = vk::PhysicalDevicePCIBusInfoPropertiesEXT::default();
    let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
    let mut all = vk::PhysicalDeviceProperties2::default()
        .push_next(&mut allocation)
        .push_next(&mut subgroup);
    if has(vk::KHR_DRIVER_PROPERTIES_NAME) {
        all = all.push_next(&mut driver);
    }
    if has(vk::AMD_SHADER_CORE_PROPERTIES_NAME) {
        all = all.push_next(&mut amd);
    }
    if has(vk::NV_SHADER_SM_BUILTINS_NAME) {
        all = all.push_next(&mut nvidia);
    }
    if has(vk::EXT_PCI_BUS_INFO_NAME) {
        all = all.push_next(&mut bus);
    }
    if has(vk::EXT_SUBGROUP_SIZE_CONTROL_NAME) {
        all = all.push_next(&mut sizes);
    }
    // SAFETY: the chain holds structures of extensions that the device supports, each live for the
    // call.
    unsafe { instance.raw.get_physical_device_properties2(physical, &mut all) };
    let properties = all.properties;
    let limits = properties.limits;
    let too_small = limits.max_compute_work_group_invocations < THREADS
        || limits.max_compute_work_group_size[0] < THREADS;
    if properties.api_version < vk::API_VERSION_1_1 || too_small {
        return None;
    }
    let (family, timestamp_bits) = queue_family(instance, physical)?;
    let (f64, f16) = features(
        instance,
        physical,
        Presence::from(u32::from(has(vk::KHR_SHADER_FLOAT16_INT8_NAME))),
    );
    let size_control = if has(vk::EXT_SUBGROUP_SIZE_CONTROL_NAME) {
        size_control(instance, physical)
    } else {
        Presence::No
    };
    let has_matrix = f16 == Presence::Yes
        && EXTENSIONS.into_iter().all(has)
        && subgroup.supported_stages.contains(vk::ShaderStageFlags::COMPUTE);
    let matrix = if has_matrix {
        // A driver may run fewer lanes than it reports (Mesa's Intel driver), but no fewer than the
        // minimum subgroup size.
        let fewest =
            [sizes.min_subgroup_size, subgroup.subgroup_size].into_iter().find(|&lanes| lanes > 0);
        matrix::units(instance, physical, fewest.unwrap_or(0))
    } else {
        MatrixUnits::default()
    };
    let traits = Traits {
        family,
        timestamp_bits,
        timestamp_period: f64::from(limits.timestamp_period),
        buffer_bytes: u64::from(limits.max_storage_buffer_range)
            .min(allocation.max_memory_allocation_size),
        most_groups: limits.max_compute_work_group_count[0],
        units: match properties.device_type {
            vk::PhysicalDeviceType::CPU => 1,
            _ => units(&amd, &nvidia).unwrap_or(MANY_UNITS),
        },
        f64,
        f16,
        size_control,
        subgroup_lanes: subgroup_lanes(&subgroup, &sizes).filter(|_| size_control == Presence::Yes),
        matrix: matrix.kernel,
    };
    let driver_name = text(driver.driver_name_as_c_str()).filter(|name| !name.is_empty());
    let name = name(&properties, driver_name.as_deref());
    let description = text(driver.driver_info_as_c_str()).unwrap_or_default();
    let version = driver_version(&description, properties.driver_version);
    let driver = driver_name.map(|name| format!("{name} {version}"));
    let device_type = if properties.device_type == vk::PhysicalDeviceType::CPU {
        DeviceType::Cpu
    } else {
        DeviceType::Gpu
    };
    let pci_address = has(vk::EXT_PCI_BUS_INFO_NAME).then(|| pci_address(&bus));
    let gpu = GpuIdentity {
        address: pci_address.as_deref(),
        vendor: Some(properties.vendor_id),
        reported: None,
    };
    let caches = if device_type == DeviceType::Gpu { caches::of_gpu(gpu) } else { Vec::new() };
    let info = DeviceInfo {
        pci_address,
        driver,
        units: traits.units,
        usable_memory_bytes: usable_memory(instance, physical)
            .min(traits.buffer_bytes.saturating_mul(8)),
        caches,
        ..DeviceInfo::new(reference, name, device_type)
    };
    let info = if device_type == DeviceType::Cpu { crate::portable::on_cpu(info) } else { info };
    Some(PhysicalCandidate { info, physical, traits, matrix_shapes: matrix.listed })
}

/// Returns the names of the device and its driver, since several drivers may expose the same GPU.
fn name(properties: &vk::PhysicalDeviceProperties, driver: Option<&str>) -> String {
    let device = text(properties.device_name_as_c_str()).unwrap_or_default();
    driver.map_or_else(|| device.clone(), |driver| format!("{device} [{driver}]"))
}

/// Returns the version in the driver's description, or otherwise the driver's version number, which
/// is always 0.0.1 in some releases of lavapipe.
fn driver_version(description: &str, number: u32) -> String {
    version_in(description).map_or_else(
        || format!("{}.{}.{}", number >> 22, (number >> 12) & 0x3ff, number & 0xfff),
        str::to_owned,
    )
}

fn text(found: Result<&CStr, std::ffi::FromBytesUntilNulError>) -> Option<String> {
    found.ok().map(|text| text.to_string_lossy().trim().to_owned())
}

/// Formats a PCI address as in sysfs: `0000:03:00.0`.
fn pci_address(bus: &vk::PhysicalDevicePCIBusInfoPropertiesEXT<'_>) -> String {
    format!(
        "{:04x}:{:02x}:{:02x}.{:x}",
        bus.pci_domain, bus.pci_bus, bus.pci_device, bus.pci_function
    )
}

fn extensions(instance: &Instance, physical: vk::PhysicalDevice) -> Vec<std::ffi::CString> {
    // SAFETY: the instance is live, and it enumerated the device.
    let known =
        unsafe { instance.raw.enumerate_device_extension_properties(physical) }.unwrap_or_default();
    known
        .iter()
        .filter_map(|extension| extension.extension_name_as_c_str().ok().map(CStr::to_owned))
        .collect()
}

/// Returns the index and the timestamp bits of a queue family with compute support, preferring
/// families with timestamps.
fn queue_family(instance: &Instance, physical: vk::PhysicalDevice) -> Option<(u32, u32)> {
    // SAFETY: the instance is live, and it enumerated the device.
    let families = unsafe { instance.raw.get_physical_device_queue_family_properties(physical) };
    let computing = (0_u32..)
        .zip(families)
        .filter(|(_, family)| family.queue_flags.contains(vk::QueueFlags::COMPUTE));
    let computing: Vec<(u32, u32)> =
        computing.map(|(index, family)| (index, family.timestamp_valid_bits)).collect();
    computing.iter().find(|(_, bits)| *bits > 0).or(computing.first()).copied()
}

/// Returns whether the device supports f64 and f16 arithmetic.
fn features(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    has_small: Presence,
) -> (Presence, Presence) {
    let mut small = vk::PhysicalDeviceShaderFloat16Int8Features::default();
    let mut all = vk::PhysicalDeviceFeatures2::default();
    if has_small == Presence::Yes {
        all = all.push_next(&mut small);
    }
    // SAFETY: the chain holds a structure of an extension that the device supports, live for the
    // call.
    unsafe { instance.raw.get_physical_device_features2(physical, &mut all) };
    let f64 = all.features.shader_float64.into();
    (f64, small.shader_float16.into())
}

/// Returns whether pipelines can choose the subgroup size.
fn size_control(instance: &Instance, physical: vk::PhysicalDevice) -> Presence {
    let mut control = vk::PhysicalDeviceSubgroupSizeControlFeatures::default();
    let mut all = vk::PhysicalDeviceFeatures2::default().push_next(&mut control);
    // SAFETY: the chain holds a structure of an extension that the device supports, live for the
    // call.
    unsafe { instance.raw.get_physical_device_features2(physical, &mut all) };
    control.subgroup_size_control.into()
}

/// Returns the subgroup size to require for kernels with subgroup operations. Returns `None` if the
/// device cannot require a size or if subgroups have one lane; kernels then use whole groups.
///
/// If no size is required, a driver may report more lanes than it runs (Mesa's Intel driver reports
/// 32 and runs 8). Loops that stride by the reported size would then skip elements.
fn subgroup_lanes(
    reported: &vk::PhysicalDeviceSubgroupProperties<'_>,
    sizes: &vk::PhysicalDeviceSubgroupSizeControlProperties<'_>,
) -> Option<u32> {
    let needed = vk::SubgroupFeatureFlags::BASIC | vk::SubgroupFeatureFlags::ARITHMETIC;
    let compute = vk::ShaderStageFlags::COMPUTE;
    let can = reported.supported_stages.contains(compute)
        && reported.supported_operations.contains(needed);
    let can_require = sizes.required_subgroup_size_stages.contains(compute)
        && sizes.min_subgroup_size <= sizes.max_subgroup_size;
    if !can || !can_require {
        return None;
    }
    let lanes = reported.subgroup_size.clamp(sizes.min_subgroup_size, sizes.max_subgroup_size);
    (lanes > 1 && THREADS.div_ceil(lanes) <= sizes.max_compute_workgroup_subgroups).then_some(lanes)
}

/// Returns the number of compute units, if an AMD or NVIDIA extension reports it.
fn units(
    amd: &vk::PhysicalDeviceShaderCorePropertiesAMD<'_>,
    nvidia: &vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV<'_>,
) -> Option<u32> {
    let amd = amd.shader_engine_count
        * amd.shader_arrays_per_engine_count
        * amd.compute_units_per_shader_array;
    [amd, nvidia.shader_sm_count].into_iter().find(|&units| units > 0)
}

/// Returns nine tenths of the largest device-local heap, in bytes.
fn usable_memory(instance: &Instance, physical: vk::PhysicalDevice) -> u64 {
    // SAFETY: the instance is live, and it enumerated the device.
    let memory = unsafe { instance.raw.get_physical_device_memory_properties(physical) };
    let heaps = memory.memory_heaps_as_slice();
    let own = heaps.iter().filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL));
    own.map(|heap| heap.size).max().unwrap_or(0) / 10 * 9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_as_sysfs_does() {
        let bus = vk::PhysicalDevicePCIBusInfoPropertiesEXT::default()
            .pci_bus(0xc3)
            .pci_device(0x1f)
            .pci_function(1);
        assert_eq!(pci_address(&bus), "0000:c3:1f.1");
    }

    #[test]
    fn a_driver_without_a_version_in_its_description_has_its_number() {
        let number = vk::make_api_version(0, 38, 1, 2);
        assert_eq!(driver_version("v1.r38p1-01eac0", number), "38.1.2");
        assert_eq!(driver_version("Mesa 23.2.1-1ubuntu3 (LLVM 15.0.7)", 1), "23.2.1");
    }

    #[test]
    fn subgroups_need_their_sums_in_kernels() {
        let all = vk::PhysicalDeviceSubgroupProperties {
            subgroup_size: 32,
            supported_stages: vk::ShaderStageFlags::ALL,
            supported_operations: vk::SubgroupFeatureFlags::BASIC
                | vk::SubgroupFeatureFlags::ARITHMETIC,
            ..Default::default()
        };
        let sizes = vk::PhysicalDeviceSubgroupSizeControlProperties {
            min_subgroup_size: 8,
            max_subgroup_size: 32,
            max_compute_workgroup_subgroups: 64,
            required_subgroup_size_stages: vk::ShaderStageFlags::COMPUTE,
            ..Default::default()
        };
        assert_eq!(subgroup_lanes(&all, &sizes), Some(32));
        let wave_of_64 = vk::PhysicalDeviceSubgroupProperties { subgroup_size: 64, ..all };
        assert_eq!(
            subgroup_lanes(&wave_of_64, &sizes),
            Some(32),
            "the size must be within the range that can be required"
        );
        let few = vk::PhysicalDeviceSubgroupSizeControlProperties {
            max_compute_workgroup_subgroups: 4,
            ..sizes
        };
        let fixed = vk::PhysicalDeviceSubgroupSizeControlProperties {
            required_subgroup_size_stages: vk::ShaderStageFlags::empty(),
            ..sizes
        };
        for lacking in [few, fixed, vk::PhysicalDeviceSubgroupSizeControlProperties::default()] {
            assert_eq!(
                subgroup_lanes(&all, &lacking),
                None,
                "kernels must use whole groups instead of subgroups"
            );
        }
        let graphics = vk::PhysicalDeviceSubgroupProperties {
            supported_stages: vk::ShaderStageFlags::VERTEX,
            ..all
        };
        let basic = vk::PhysicalDeviceSubgroupProperties {
            supported_operations: vk::SubgroupFeatureFlags::BASIC,
            ..all
        };
        for lacking in [graphics, basic, vk::PhysicalDeviceSubgroupProperties::default()] {
            assert_eq!(subgroup_lanes(&lacking, &sizes), None);
        }
        let single = vk::PhysicalDeviceSubgroupSizeControlProperties {
            min_subgroup_size: 1,
            max_subgroup_size: 1,
            ..sizes
        };
        assert_eq!(subgroup_lanes(&all, &single), None, "subgroups of one lane must not be used");
    }

    #[test]
    fn units_are_those_of_whichever_extension_tells() {
        let amd = vk::PhysicalDeviceShaderCorePropertiesAMD::default()
            .shader_engine_count(4)
            .shader_arrays_per_engine_count(2)
            .compute_units_per_shader_array(10);
        let nvidia = vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV::default().shader_sm_count(132);
        let (no_amd, no_nvidia) = (
            vk::PhysicalDeviceShaderCorePropertiesAMD::default(),
            vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV::default(),
        );
        assert_eq!(units(&amd, &no_nvidia), Some(80));
        assert_eq!(units(&no_amd, &nvidia), Some(132));
        assert_eq!(units(&no_amd, &no_nvidia), None);
    }
}
