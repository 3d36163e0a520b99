//! Which devices `auto` takes: each card once, through its native run time where that is here, and the processor as
//! itself alone, not through the drivers of Vulkan and OpenCL that run on it.

use rsb_device::DeviceInfo;
use rsb_model::{BackendId, DeviceType, Reason};

use super::backend_of;

/// Who made a card, as far as its name tells. Run times name one card differently, so that nothing finer is certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Maker {
    Amd,
    Nvidia,
    Intel,
    Other,
}

const WORDS: &[(Maker, &[&str])] = &[
    (Maker::Nvidia, &["nvidia", "geforce", "quadro", "tesla"]),
    (Maker::Amd, &["amd", "radeon", "instinct", "gfx", "radv"]),
    (Maker::Intel, &["intel", "arc"]),
];

fn maker(device: &DeviceInfo) -> Maker {
    match backend_of(device) {
        Some(BackendId::Rocm) => return Maker::Amd,
        Some(BackendId::Cuda) => return Maker::Nvidia,
        _ => {}
    }
    let name = device.name.to_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let is_of = |known: &[&str]| known.iter().any(|known| words.iter().any(|word| word.starts_with(known)));
    WORDS.iter().find(|(_, known)| is_of(known)).map_or(Maker::Other, |(maker, _)| *maker)
}

/// Whether `auto` takes `device`, one of all that are here.
pub(super) fn takes(device: &DeviceInfo, all: &[DeviceInfo]) -> bool {
    let Some(backend) = backend_of(device) else { return false };
    match (backend, device.device_type) {
        (BackendId::Cpu, _) => true,
        (_, DeviceType::Cpu) => false,
        _ => {
            let own = maker(device);
            let same = all.iter().filter(|other| other.device_type != DeviceType::Cpu && maker(other) == own);
            // The order of the identifiers is the order of preference.
            same.filter_map(backend_of).min() == Some(backend)
        }
    }
}

/// The backends that have devices of which `auto` takes none, each with the reason.
pub(super) fn left_out(all: &[DeviceInfo]) -> Vec<(BackendId, Reason)> {
    let of = |backend: BackendId| all.iter().filter(move |device| backend_of(device) == Some(backend));
    let untaken = |backend: &BackendId| of(*backend).next().is_some() && of(*backend).all(|device| !takes(device, all));
    let reason = |backend: BackendId| {
        let names = of(backend).map(|device| device.name.as_str()).collect::<Vec<_>>().join(", ");
        let why = if of(backend).all(|device| device.device_type == DeviceType::Cpu) {
            format!("{names} runs on the processor, which auto measures as itself")
        } else {
            format!("{names} is measured once, through a run time closer to it")
        };
        (backend, Reason::new(format!("devices of {backend}"), why, format!("ask for them: --backend {backend}")))
    };
    BackendId::ALL.into_iter().filter(untaken).map(reason).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::device::DeviceRefText;

    fn device(id: &str, name: &str, device_type: DeviceType) -> DeviceInfo {
        DeviceInfo {
            device: DeviceRefText(id.into()),
            name: name.into(),
            device_type,
            arch: None,
            units: 8,
            max_clock_mhz: None,
            usable_memory_bytes: 8 << 30,
            caches: Vec::new(),
            peak_bandwidth_gb_s: None,
        }
    }

    fn taken(all: &[DeviceInfo]) -> Vec<&str> {
        all.iter().filter(|device| takes(device, all)).map(|device| device.device.0.as_str()).collect()
    }

    #[test]
    fn each_card_is_taken_once_and_natively() {
        use DeviceType::{Cpu, Gpu};
        let here = [
            device("cpu:0", "AMD EPYC", Cpu),
            device("rocm:0", "Radeon RX 7900 XTX", Gpu),
            device("vulkan:0", "AMD Radeon RX 7900 XTX (RADV NAVI31)", Gpu),
            device("vulkan:1", "NVIDIA GeForce RTX 4090 (NVIDIA)", Gpu),
            device("vulkan:2", "llvmpipe (LLVM 15.0.6, 256 bits)", Cpu),
            device("opencl:0", "gfx1100 (AMD Accelerated Parallel Processing)", Gpu),
            device("opencl:1", "AMD EPYC (Portable Computing Language)", Cpu),
            device("opencl:2", "Intel(R) Arc(TM) A770 Graphics (Intel(R) OpenCL Graphics)", Gpu),
            device("oneapi:0", "Intel(R) Arc(TM) A770 Graphics (Intel(R) OpenCL Graphics)", Gpu),
        ];
        assert_eq!(taken(&here), ["cpu:0", "rocm:0", "vulkan:1", "opencl:2"]);
        let [(BackendId::Oneapi, reason)]: [(BackendId, Reason); 1] = left_out(&here).try_into().unwrap() else {
            panic!()
        };
        assert!(reason.why.contains("Arc") && reason.cure.contains("--backend oneapi"), "{reason}");
    }

    #[test]
    fn drivers_for_the_processor_are_left_out_with_a_word_about_it() {
        let here = [device("cpu:0", "x", DeviceType::Cpu), device("vulkan:0", "llvmpipe [llvmpipe]", DeviceType::Cpu)];
        assert_eq!(taken(&here), ["cpu:0"]);
        let [(BackendId::Vulkan, reason)]: [(BackendId, Reason); 1] = left_out(&here).try_into().unwrap() else {
            panic!()
        };
        assert!(reason.why.contains("llvmpipe") && reason.cure.contains("--backend vulkan"), "{reason}");
    }

    #[test]
    fn before_rocm_is_there_a_card_is_taken_through_vulkan() {
        let here = [
            device("cpu:0", "x", DeviceType::Cpu),
            device("vulkan:0", "AMD Radeon Graphics (RADV GFX1100)", DeviceType::Gpu),
            device("opencl:0", "Radeon (rusticl)", DeviceType::Gpu),
        ];
        assert_eq!(taken(&here), ["cpu:0", "vulkan:0"]);
    }
}
