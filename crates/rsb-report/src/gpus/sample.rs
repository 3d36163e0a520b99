//! Sample GPUs.

use rsb_model::gpu::{
    Ecc, Gpu, GpuCache, GpuCacheKind, GpuKind, GpuLink, GpuMemory, Pcie, PcieLink,
};

/// Returns two connected accelerators, and a GPU with all properties known.
pub(crate) fn gpus() -> Vec<Gpu> {
    let gpu = Gpu {
        index: 2,
        name: Some("AMD Radeon RX 7900 XTX".into()),
        pci_id: Some("1002:744c".into()),
        pci_address: Some("0000:83:00.0".into()),
        kind: Some(GpuKind::Discrete),
        gfx_target: Some("gfx1100".into()),
        compute_units: Some(96),
        max_mhz: Some(2500.0),
        limit_mhz: Some(2735.0),
        vram_gb: Some(25.75),
        memory_bandwidth_gb_s: Some(960.0),
        memory: GpuMemory {
            kind: Some("GDDR6".into()),
            width_bits: Some(384),
            max_mhz: Some(1250.0),
            ..GpuMemory::default()
        },
        caches: vec![cache(1, 32 << 10, 96), cache(2, 6 << 20, 1), cache(3, 96 << 20, 1)],
        pcie: Pcie {
            now: Some(PcieLink::new(2.5, 16)),
            max: Some(PcieLink::new(16.0, 16)),
            ..Pcie::default()
        },
        driver: Some("amdgpu 6.12.1".into()),
        ecc: Some(Ecc::default()),
        power_cap_w: Some(290.0),
        power_cap_default_w: Some(339.0),
        sensors: vec!["temperature edge".into(), "power".into()],
        backends: vec!["rocm".into(), "vulkan".into()],
        ..Gpu::default()
    };
    vec![accelerator(0), accelerator(1), gpu]
}

fn accelerator(index: u32) -> Gpu {
    Gpu {
        index,
        name: Some("AMD Instinct MI210".into()),
        pci_id: Some("1002:740f".into()),
        pci_address: Some(format!("0000:{}3:00.0", 3 + index)),
        kind: Some(GpuKind::Discrete),
        gfx_target: Some("gfx90a".into()),
        compute_units: Some(104),
        max_mhz: Some(1700.0),
        memory: GpuMemory { kind: Some("HBM2e".into()), ..GpuMemory::default() },
        links: vec![GpuLink {
            kind: "xgmi".into(),
            peer: Some(1 - index),
            weight: Some(15),
            gb_s: Some(50.0),
        }],
        ..Gpu::default()
    }
}

fn cache(level: u32, size_bytes: u64, count: u32) -> GpuCache {
    GpuCache { level, kind: GpuCacheKind::Data, size_bytes, count }
}
