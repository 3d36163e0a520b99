//! The probe against trees captured from real machines. They lie outside of the repository: without them (`RSB_SHARED`,
//! or `../shared` beside it) these tests print that they were skipped.

#![allow(clippy::unwrap_used)] // In a test a failed step is a failed test.

use std::path::{Path, PathBuf};
use std::process::Command;

use rsb_model::environment::Gpu;
use rsb_probe::{ProbeOptions, environment};
use tempfile::TempDir;

fn capture(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("RSB_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let file = shared.join("captures").join(name);
    if file.is_file() {
        return Some(file);
    }
    eprintln!("skipped: {} is not here", file.display());
    None
}

/// Unpacks a capture and lays it out as `/sys` is.
fn tree(name: &str, layout: &[(&str, &str)]) -> Option<TempDir> {
    let archive = capture(name)?;
    let folder = tempfile::tempdir().unwrap();
    let unpacked = folder.path().join("unpacked");
    std::fs::create_dir(&unpacked).unwrap();
    let tar = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&unpacked).status();
    if !tar.is_ok_and(|status| status.success()) {
        eprintln!("skipped: tar is not installed");
        return None;
    }
    for (from, to) in layout {
        let to = folder.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::rename(unpacked.join(from), to).unwrap();
    }
    Some(folder)
}

fn probe(tree: &TempDir) -> Vec<Gpu> {
    let options = ProbeOptions { sysfs_root: Some(tree.path().to_owned()) };
    assert_eq!(options.check(), Ok(()));
    let found = environment(&options);
    assert!(found.os.is_none() && found.cpu.is_none() && found.memory_gb.is_none() && found.python.is_none());
    found.gpus
}

fn one(name: &str, layout: &[(&str, &str)]) -> Option<Gpu> {
    let mut found = probe(&tree(name, layout)?);
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found.pop()
}

#[test]
fn cards_of_the_drm_alone() {
    for (name, card, pci, address, marketing, target, vram) in [
        ("rx580", "card0", "1002:67df", "0000:09:00.0", "AMD Radeon RX 580 series", "gfx803", Some(4.294_967_296)),
        ("vega56", "card0", "1002:687f", "0000:0b:00.0", "AMD Radeon RX Vega", "gfx900", Some(8.573_157_376)),
        ("rx6900xt", "card0", "1002:73bf", "0000:0c:00.0", "AMD Radeon RX 6900 XT", "gfx1030", Some(17.163_091_968)),
        ("rx7900xtx", "card0", "1002:744c", "0000:03:00.0", "AMD Radeon RX 7900 series", "gfx1100", None),
        ("rx9070", "card1", "1002:7550", "0000:03:00.0", "AMD Radeon RX 9070 series", "gfx1201", None),
    ] {
        let layout = (format!("{name}/{card}"), format!("class/drm/{card}"));
        let Some(gpu) = one(&format!("sysfs/{name}.tar.gz"), &[(&layout.0, &layout.1)]) else { return };
        let expected = Gpu {
            name: Some(marketing.to_owned()),
            pci_id: Some(pci.to_owned()),
            pci_address: Some(address.to_owned()),
            gfx_target: Some(target.to_owned()),
            vram_gb: vram,
            driver: Some("amdgpu".to_owned()),
            ..Gpu::default()
        };
        assert_eq!(gpu, expected, "{name}: what the tree lacks is unknown");
    }
}

#[test]
fn a_part_with_both_trees_is_one_device() {
    let layout = [("strixpoint/card1", "class/drm/card1"), ("strixpoint/kfd", "class/kfd/kfd")];
    let Some(gpu) = one("sysfs/strixpoint.tar.gz", &layout) else { return };
    assert_eq!(gpu.pci_id.as_deref(), Some("1002:150e"));
    assert_eq!((gpu.gfx_target.as_deref(), gpu.compute_units), (Some("gfx1150"), Some(12)));
    assert_eq!(gpu.name.as_deref(), Some("AMD Radeon 880M / 890M"));
    assert_eq!(gpu.memory_bandwidth_gb_s, None, "the kind of the processor's memory is not told");
}

#[test]
fn nodes_of_the_kfd_alone() {
    let layout = [("testdata/topo-mi210-xgmi-pcie", "class/kfd/kfd/topology")];
    let Some(tree) = tree("kfd/kfd-topo-mi210-xgmi-pcie.tgz", &layout) else { return };
    let found = probe(&tree);
    assert_eq!(found.len(), 8, "the two nodes of processors are no devices");
    for gpu in &found {
        assert_eq!((gpu.name.as_deref(), gpu.pci_id.as_deref()), (Some("AMD Instinct MI210"), Some("1002:740f")));
        assert_eq!((gpu.gfx_target.as_deref(), gpu.compute_units), (Some("gfx90a"), Some(104)));
        assert_eq!((gpu.vram_gb, gpu.memory_bandwidth_gb_s, &gpu.driver), (None, None, &None));
    }
    let addresses: Vec<_> = found.iter().filter_map(|gpu| gpu.pci_address.as_deref()).collect();
    assert!(addresses.len() == 8 && addresses.is_sorted(), "{addresses:?}");
    assert!(addresses.contains(&"0000:63:00.0"), "{addresses:?}");
}

/// `rocminfo` of a real machine says what the table and the rule for targets must say too.
#[test]
fn the_table_agrees_with_rocminfo() {
    let Some(file) = capture("rocminfo/MI300X_x4_rocminfo.txt") else { return };
    let text = std::fs::read_to_string(file).unwrap();
    let value = |agent: &str, name: &str| {
        let line = agent.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap_or_default();
        line.trim_start_matches(':').trim().to_owned()
    };
    let mut seen = 0;
    for agent in text.split("*******").filter(|agent| agent.contains("Device Type:             GPU")) {
        let (chip, units) = (value(agent, "Chip ID"), value(agent, "Compute Unit"));
        let device: u32 = chip.split('(').next().unwrap().parse().unwrap();
        let units: u32 = units.parse().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let node = folder.path().join("class/kfd/kfd/topology/nodes/1");
        std::fs::create_dir_all(&node).unwrap();
        let simds = units * 4;
        let properties = format!("simd_count {simds}\nsimd_per_cu 4\nvendor_id 4098\ndevice_id {device}\n");
        std::fs::write(node.join("properties"), properties).unwrap();
        let gpu = probe(&folder).remove(0);
        assert_eq!(gpu.gfx_target, Some(value(agent, "Name")));
        assert_eq!(gpu.compute_units, Some(units));
        assert!(gpu.name.is_some_and(|name| name.starts_with(&value(agent, "Marketing Name"))));
        seen += 1;
    }
    assert_eq!(seen, 4, "four accelerators beside the processors");
}
