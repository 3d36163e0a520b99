use std::collections::BTreeMap;

use rsb_model::gpu::{Answer, Ecc, EccCount, GpuKind, Pcie, PcieLink, UnreadGpu};
use rsb_model::rocm::{RocmInstallation, RocmSource};

use super::*;
use crate::doctor::facts::{Access, DeviceFile, HostFacts, Library, Remnant, Stale};

/// Returns a healthy RX 7900 XTX.
fn gpu() -> Gpu {
    let link = Some(PcieLink::new(16.0, 16));
    Gpu {
        name: Some("AMD Radeon RX 7900 XTX".into()),
        pci_id: Some("1002:744c".into()),
        kind: Some(GpuKind::Discrete),
        gfx_target: Some("gfx1100".into()),
        driver: Some("amdgpu 6.12.1".into()),
        kfd_node: Some(1),
        render_node: Some("renderD128".into()),
        pcie: Pcie { now: link, max: link, saves_power: Some(false), replays: Some(0) },
        power_cap_w: Some(339.0),
        power_cap_default_w: Some(339.0),
        performance_level: Some("auto".into()),
        asleep: Some(false),
        ecc: Some(Ecc::default()),
        ..Gpu::default()
    }
}

fn integrated() -> Gpu {
    Gpu {
        index: 1,
        name: Some("AMD Radeon Graphics (Raphael)".into()),
        pci_id: Some("1002:164e".into()),
        kind: Some(GpuKind::Integrated),
        gfx_target: Some("gfx1036".into()),
        driver: Some("amdgpu 6.12.1".into()),
        kfd_node: Some(2),
        render_node: Some("renderD129".into()),
        ..Gpu::default()
    }
}

fn library(name: &str, major: u32, targets: &[&str]) -> Library {
    Library {
        name: name.into(),
        path: Some(format!("/opt/rocm-6.4.2/lib/{name}.so.{major}")),
        major: Some(major),
        targets: targets.iter().map(|&target| target.to_owned()).collect(),
    }
}

fn device(path: &str, access: Access) -> DeviceFile {
    DeviceFile { path: path.into(), access, group: Some("render".into()), is_listed: false }
}

fn installation(version: &str, path: &str, components: &[(&str, &str)]) -> RocmInstallation {
    RocmInstallation {
        version: Some(version.into()),
        path: path.into(),
        components: components
            .iter()
            .map(|&(name, version)| (name.to_owned(), version.to_owned()))
            .collect(),
        ..RocmInstallation::default()
    }
}

/// Returns a machine without problems.
fn healthy() -> DoctorInput {
    let host = HostFacts {
        user: "ada".into(),
        devices: vec![
            device("/dev/kfd", Access::Granted),
            device("/dev/dri/renderD128", Access::Granted),
        ],
        libraries: vec![
            library("libamdhip64", 6, &[]),
            library("libhiprtc", 6, &[]),
            library("libhsa-runtime64", 1, &[]),
            library("librocblas", 4, &["gfx1100", "gfx90a"]),
        ],
        installations: vec![installation(
            "6.4.2",
            "/opt/rocm-6.4.2",
            &[("hip", "6.4.43484"), ("hsa", "1.15.60402"), ("rocblas", "4.4.60402")],
        )],
        ..HostFacts::default()
    };
    DoctorInput {
        gpus: vec![gpu()],
        has_kfd: true,
        has_drm: true,
        host: Some(host),
        ..DoctorInput::default()
    }
}

/// Returns the findings that are not `Ok` after `change` to a healthy machine.
fn wrong(change: impl FnOnce(&mut DoctorInput)) -> Vec<Finding> {
    let mut facts = healthy();
    change(&mut facts);
    findings(&facts).into_iter().filter(|finding| finding.severity != FindingSeverity::Ok).collect()
}

/// Asserts that `change` gives exactly one finding, with this severity and these words in `what`,
/// `why` and `cure`.
fn check(change: impl FnOnce(&mut DoctorInput), severity: FindingSeverity, words: [&str; 3]) {
    let found = wrong(change);
    let [one] = found.as_slice() else { panic!("{words:?}: {found:#?}") };
    assert_eq!(one.severity, severity, "{one:?}");
    let cure = one.cure.as_deref().unwrap_or_default();
    for (text, word) in [one.what.as_str(), one.why.as_str(), cure].into_iter().zip(words) {
        assert!(text.contains(word), "`{word}` is not in `{text}`: {one:?}");
    }
}

fn with_gpu(change: impl FnOnce(&mut Gpu)) -> impl FnOnce(&mut DoctorInput) {
    move |facts| change(&mut facts.gpus[0])
}

fn host(change: impl FnOnce(&mut HostFacts)) -> impl FnOnce(&mut DoctorInput) {
    move |facts| change(facts.host.as_mut().unwrap())
}

fn remove(name: &'static str) -> impl FnOnce(&mut DoctorInput) {
    host(move |host| {
        host.libraries.iter_mut().filter(|one| one.name == name).for_each(|one| one.path = None);
    })
}

fn set(name: &'static str, value: &'static str) -> impl FnOnce(&mut DoctorInput) {
    host(move |host| drop(host.variables.insert(name.into(), value.into())))
}

#[test]
fn a_healthy_machine_has_nothing_but_good_findings() {
    assert_eq!(wrong(|_| ()), []);
    let fine = findings(&healthy());
    assert!(fine.len() >= 8 && fine.iter().all(|finding| finding.cure.is_none()), "{fine:#?}");
}

#[test]
fn gpus() {
    use FindingSeverity::{Error, Note, Warning};
    check(
        with_gpu(|gpu| (gpu.driver, gpu.kfd_node, gpu.ecc) = (None, None, None)),
        Error,
        ["GPU 0 (AMD Radeon RX 7900 XTX): no driver", "PCI bus", "modprobe amdgpu"],
    );
    let undriven = |id: &str| {
        let id = (!id.is_empty()).then(|| id.to_owned());
        let beside = Gpu { index: 1, pci_id: id, kind: Some(GpuKind::Discrete), ..Gpu::default() };
        move |facts: &mut DoctorInput| facts.gpus.push(beside)
    };
    for (id, cure) in [
        ("10de:2335", "modprobe nvidia`"),
        ("8086:56a0", "modprobe xe`"),
        ("", "install the driver of the GPU's vendor"),
    ] {
        check(undriven(id), Warning, ["no driver", "PCI bus", cure]);
    }
    check(
        with_gpu(|gpu| (gpu.driver, gpu.kfd_node) = (Some("vfio-pci".into()), None)),
        Warning,
        ["vfio-pci", "virtual machine", ""],
    );
    check(
        with_gpu(|gpu| gpu.kfd_node = None),
        Warning,
        ["does not list it", "PCIe atomics", "dmesg"],
    );
    check(
        |facts| {
            facts.gpus[0].kfd_node = None;
            facts.has_kfd = false;
        },
        Error,
        ["compute driver is missing", "/sys/class/kfd", "CONFIG_HSA_AMD"],
    );
    check(
        with_gpu(|gpu| gpu.pcie.now = Some(PcieLink::new(16.0, 4))),
        Warning,
        ["x4 (7.9 GB/s) of 16 GT/s x16", "transfers", "seat"],
    );
    check(
        with_gpu(|gpu| {
            gpu.pcie = Pcie {
                now: Some(PcieLink::new(2.5, 16)),
                saves_power: Some(true),
                ..gpu.pcie.clone()
            }
        }),
        Note,
        ["2.5 GT/s", "save power", "under load"],
    );
    check(
        with_gpu(|gpu| gpu.pcie.replays = Some(5000)),
        Warning,
        ["5000 packets", "errors", "cables"],
    );
    let counted = |uncorrectable, correctable| {
        let count = EccCount { uncorrectable, correctable, deferred: 0 };
        Some(Ecc { total: count, blocks: BTreeMap::from([("umc".to_owned(), count)]) })
    };
    check(
        with_gpu(|gpu| gpu.ecc = counted(2, 9)),
        Error,
        ["2 memory errors were not corrected", "umc", "replaced"],
    );
    check(
        with_gpu(|gpu| gpu.ecc = counted(0, 9)),
        Note,
        ["9 memory errors were corrected", "umc", "grows"],
    );
    check(
        with_gpu(|gpu| gpu.power_cap_w = Some(200.0)),
        Note,
        ["200 W of 339 W", "below the default", "same cap"],
    );
    check(
        with_gpu(|gpu| gpu.performance_level = Some("manual".into())),
        Note,
        ["set manually (manual)", "", "auto"],
    );
    check(with_gpu(|gpu| gpu.asleep = Some(true)), Note, ["is asleep", "wake", ""]);
    check(
        with_gpu(|gpu| gpu.virtual_function = Some(true)),
        Note,
        ["virtual function", "share", ""],
    );
    check(
        with_gpu(|gpu| gpu.partition = Some("CPX/NPS4".into())),
        Note,
        ["CPX/NPS4", "own", "SPX"],
    );
    check(
        |facts| {
            facts.gpus[0].gfx_target = Some("gfx1999".into());
            facts.host.as_mut().unwrap().libraries[3].targets.push("gfx1999".into());
        },
        Note,
        ["gfx1999", "peaks", "table.rs"],
    );
}

#[test]
fn a_virtual_function_on_its_host_needs_no_driver() {
    for driver in [None, Some("vfio-pci 6.17.0"), Some("xe-vfio-pci"), Some("amdgpu 6.12.1")] {
        let share = Gpu {
            index: 1,
            name: Some("AMD Instinct MI300X VF".into()),
            pci_id: Some("1002:74b5".into()),
            kind: Some(GpuKind::Discrete),
            driver: driver.map(str::to_owned),
            virtual_function: Some(true),
            physical_function: Some("0000:03:00.0".into()),
            ..Gpu::default()
        };
        check(
            |facts| {
                facts.gpus[0].pci_address = Some("0000:03:00.0".into());
                facts.gpus.push(share);
            },
            FindingSeverity::Note,
            ["virtual function of GPU 0 on this host", "share of that GPU", "same kind of share"],
        );
    }
}

fn unread(place: &str, answer: Answer) -> UnreadGpu {
    UnreadGpu { place: place.into(), asked: "its clocks".into(), answer }
}

#[test]
fn gpus_that_were_not_read() {
    use Answer::{Denied, Failed, Late};
    let add = |places: &'static [(&'static str, Answer)]| {
        move |facts: &mut DoctorInput| {
            facts.unread_gpus.extend(places.iter().map(|(place, answer)| unread(place, *answer)));
        }
    };
    let error = FindingSeverity::Error;
    check(
        add(&[("card0", Late)]),
        error,
        ["card0 does not answer", "reading its clocks did not end", "dmesg"],
    );
    check(add(&[("node 4", Failed)]), error, ["node 4 cannot be read", "an error", "restart"]);
    let hidden = &[("node 2", Denied), ("node 3", Denied), ("node 4", Denied)];
    check(
        add(hidden),
        FindingSeverity::Note,
        ["node 2, node 3 and node 4 are not shown here", "container", "--device"],
    );
    let alone = findings(&DoctorInput {
        unread_gpus: vec![unread("card0", Late)],
        ..DoctorInput::default()
    });
    assert!(alone.iter().all(|finding| !finding.what.contains("no GPU")), "{alone:#?}");
    // The unread node may be that of the GPU, so the GPU is not reported as unlisted.
    let apart = |facts: &mut DoctorInput| {
        facts.gpus[0].kfd_node = None;
        facts.unread_gpus = vec![unread("node 1", Late)];
    };
    check(apart, error, ["node 1 does not answer", "", ""]);
}

#[test]
fn a_tree_alone_is_judged_by_what_it_tells() {
    let only = |has_kfd, has_drm, gpu: Gpu| {
        let found =
            findings(&DoctorInput { gpus: vec![gpu], has_kfd, has_drm, ..DoctorInput::default() });
        let (first, rest) = found.split_first().unwrap();
        assert_eq!(
            (first.severity, first.what.as_str()),
            (FindingSeverity::Note, "only a sysfs tree was examined")
        );
        rest.to_vec()
    };
    let kfd = Gpu { driver: None, pcie: Pcie::default(), ecc: None, ..gpu() };
    let told = only(true, false, kfd);
    assert!(
        told.len() == 1 && told[0].what.ends_with("the compute driver lists it"),
        "expected only the compute driver finding: {told:?}"
    );
    let drm = Gpu { kfd_node: None, ..gpu() };
    assert!(only(false, true, drm).iter().all(|finding| finding.severity == FindingSeverity::Ok));
    let none = findings(&DoctorInput { has_drm: true, ..DoctorInput::default() });
    assert!(
        none.len() == 1
            && none[0].severity == FindingSeverity::Note
            && none[0].what.contains("no GPU"),
        "{none:?}"
    );
}

#[test]
fn a_machine_without_a_gpu_is_no_error() {
    let bare = HostFacts { user: "ada".into(), ..HostFacts::default() };
    let found =
        findings(&DoctorInput { has_drm: true, host: Some(bare), ..DoctorInput::default() });
    assert!(found.len() == 1 && found[0].severity == FindingSeverity::Note, "{found:?}");
    assert!(found[0].cure.as_deref().is_some_and(|cure| cure.contains("runs on the CPU")));
    let with_rocm = wrong(|facts| facts.gpus.clear());
    let whats: Vec<&str> = with_rocm.iter().map(|finding| finding.what.as_str()).collect();
    assert_eq!(whats, ["no GPU was found", "ROCm is installed, but there is no AMD GPU"]);
}

#[test]
fn the_cpus_own_graphics() {
    let both = |facts: &mut DoctorInput| {
        facts.gpus.push(integrated());
        let host = facts.host.as_mut().unwrap();
        host.devices.push(device("/dev/dri/renderD129", Access::Granted));
        host.libraries[3].targets.push("gfx1036".into());
    };
    let found = wrong(both);
    let shadow = found.iter().find(|finding| finding.what.contains("integrated graphics")).unwrap();
    assert_eq!(
        (shadow.severity, shadow.cure.as_deref().map(|cure| &cure[..29])),
        (FindingSeverity::Note, Some("export HIP_VISIBLE_DEVICES=0,"))
    );
    let first = wrong(|facts| {
        both(facts);
        (facts.gpus[0].kfd_node, facts.gpus[1].kfd_node) = (Some(2), Some(1));
    });
    let shadow = first.iter().find(|finding| finding.what.contains("integrated graphics")).unwrap();
    assert_eq!(shadow.severity, FindingSeverity::Warning);
    assert!(
        shadow
            .cure
            .as_deref()
            .is_some_and(|cure| cure.starts_with("export HIP_VISIBLE_DEVICES=1,")),
        "{shadow:?}"
    );
    let chosen = wrong(|facts| {
        both(facts);
        set("HIP_VISIBLE_DEVICES", "0")(facts);
    });
    assert!(
        chosen.iter().all(|finding| !finding.what.contains("integrated graphics")),
        "{chosen:?}"
    );
    let without_kernels = wrong(|facts| {
        both(facts);
        facts.host.as_mut().unwrap().libraries[3].targets.pop();
    });
    let kernels =
        without_kernels.iter().find(|finding| finding.what.contains("no kernels")).unwrap();
    assert_eq!(
        kernels.severity,
        FindingSeverity::Warning,
        "another GPU works, so this is only a warning"
    );
}

#[test]
fn permissions() {
    use FindingSeverity::Error;
    let kfd = |access, group: &'static str, is_listed| {
        host(move |host| {
            host.devices[0] = DeviceFile {
                access,
                group: Some(group.into()),
                is_listed,
                ..host.devices[0].clone()
            };
        })
    };
    check(
        kfd(Access::Denied, "render", false),
        Error,
        ["ada may not use /dev/kfd", "group is render", "usermod -aG render ada"],
    );
    check(kfd(Access::Denied, "render", true), Error, ["/dev/kfd", "render", "log out and log in"]);
    check(kfd(Access::Denied, "109", false), Error, ["/dev/kfd", "109", "--group-add 109"]);
    check(kfd(Access::Denied, "root", false), Error, ["/dev/kfd", "root", "udev"]);
    check(
        kfd(Access::Missing, "render", false),
        Error,
        ["/dev/kfd does not exist", "container", "--device /dev/kfd"],
    );
    check(
        host(|host| drop(host.devices.pop())),
        Error,
        ["/dev/dri/renderD128 does not exist", "", "--device"],
    );
}

#[test]
fn variables() {
    use FindingSeverity::{Error, Note, Warning};
    check(
        set("HSA_OVERRIDE_GFX_VERSION", "10.3.0"),
        Warning,
        ["10.3.0", "gfx1030, but this machine has gfx1100", "unset"],
    );
    check(set("HSA_OVERRIDE_GFX_VERSION", "11.0.0"), Note, ["11.0.0", "gfx1100 anyway", "unset"]);
    check(
        set("HSA_OVERRIDE_GFX_VERSION", "gfx1030"),
        Error,
        ["gfx1030", "three numbers", "10.3.0"],
    );
    check(
        set("HIP_VISIBLE_DEVICES", "0"),
        Note,
        ["HIP_VISIBLE_DEVICES is 0", "only these", "unset"],
    );
    check(set("ROCR_VISIBLE_DEVICES", "-1"), Warning, ["-1", "hides every GPU", "unset"]);
}

#[test]
fn libraries() {
    use FindingSeverity::{Error, Note, Warning};
    check(
        remove("libhsa-runtime64"),
        Error,
        ["libhsa-runtime64 is missing", "incomplete", "hsa-rocr"],
    );
    check(remove("libhiprtc"), Error, ["libhiprtc is missing", "compile", "hip-runtime-amd"]);
    check(remove("librocblas"), Warning, ["librocblas is missing", "slower", "rocblas"]);
    let without = wrong(remove("libamdhip64"));
    assert!(
        without[0].severity == FindingSeverity::Error
            && without[0].why.contains("librocblas are installed"),
        "{without:?}"
    );
    check(
        host(|host| *host = HostFacts { libraries: vec![], installations: vec![], ..host.clone() }),
        Note,
        ["ROCm is not installed", "AMD GPU", "install"],
    );
    let wheel = RocmInstallation {
        source: RocmSource::Wheel,
        ..installation("7.10.0", "/venv/_rocm_sdk_core", &[])
    };
    check(
        host(|host| {
            *host = HostFacts { libraries: vec![], installations: vec![wheel], ..host.clone() }
        }),
        Note,
        [
            "ROCm 7.10.0 is only installed for Python",
            "native programs",
            "ROCM_PATH=/venv/_rocm_sdk_core",
        ],
    );
    // Release 5 may include the compiler in the HIP library.
    assert_eq!(
        wrong(|facts| {
            remove("libhiprtc")(facts);
            let host = facts.host.as_mut().unwrap();
            host.libraries[0].major = Some(5);
        }),
        []
    );
}

#[test]
fn versions() {
    use FindingSeverity::{Error, Warning};
    let second = || installation("5.7", "/usr/lib/x86_64-linux-gnu", &[("hip", "5.7.31921")]);
    check(
        host(|host| host.installations.push(second())),
        Warning,
        ["2 ROCm installations: 6.4.2 in /opt/rocm-6.4.2; 5.7 in", "crash", "ROCM_PATH"],
    );
    let component = |name: &'static str, version: &'static str| {
        host(move |host| drop(host.installations[0].components.insert(name.into(), version.into())))
    };
    check(
        component("rocblas", "4.2.60204"),
        Warning,
        ["rocblas 4.2.60204", "ROCm 6.4", "release 6.4"],
    );
    check(component("hip", "5.7.31921"), Warning, ["hip 5.7.31921", "6.4", ""]);
    for (name, version) in
        [("rocblas", "4.4.60400"), ("hip", "6"), ("miopen", "1.0"), ("rccl", "1.0.7.2")]
    {
        assert_eq!(wrong(component(name, version)), [], "{name} {version}");
    }
    // Later releases number HIP separately.
    assert_eq!(
        wrong(host(|host| host.installations[0] =
            installation("7.10.0", "/opt/rocm", &[("hip", "7.2.53150"), ("rocblas", "5.1.0")]))),
        []
    );
    let elsewhere = Some("/home/ada/lib/librocblas.so.4".to_owned());
    check(
        host(|host| host.libraries[3].path = elsewhere),
        Warning,
        ["several directories", "librocblas from /home/ada/lib", "LD_LIBRARY_PATH"],
    );
    let left = |path: &str, why: &str| Remnant { path: path.into(), why: why.into() };
    check(
        host(|host| host.remnants.push(left("/opt/rocm-6.0.0", "it contains no libamdhip64"))),
        Warning,
        ["/opt/rocm-6.0.0", "libamdhip64", "rm -r /opt/rocm-6.0.0"],
    );
    check(
        host(|host| {
            host.remnants
                .push(left("/gone", "ROCM_PATH is set to this directory, but it does not exist"));
        }),
        Error,
        ["/gone", "ROCM_PATH", "unset"],
    );
    let gone = Stale {
        name: "libamdhip64.so.6".into(),
        path: "/opt/rocm-6.0.0/lib/libamdhip64.so.6".into(),
    };
    check(
        host(|host| host.stale.push(gone)),
        Warning,
        ["a ROCm library that is missing", "/opt/rocm-6.0.0", "ldconfig"],
    );
}

#[test]
fn kernels() {
    let targets = |known: &'static [&'static str]| {
        host(move |host| {
            host.libraries[3].targets = known.iter().map(|&target| target.to_owned()).collect();
        })
    };
    check(
        targets(&["gfx90a", "gfx942"]),
        FindingSeverity::Error,
        ["no kernels for gfx1100", "gfx90a, gfx942", "HIP_VISIBLE_DEVICES"],
    );
    check(targets(&[]), FindingSeverity::Error, ["no kernels for gfx1100", "no kernel files", ""]);
    assert_eq!(wrong(targets(&["gfx11-generic"])), []);
    check(
        targets(&["gfx9-generic", "gfx10-3-generic"]),
        FindingSeverity::Error,
        ["gfx1100", "", ""],
    );
}

#[test]
fn what_holds_for_several_gpus_is_said_once() {
    let two = findings(&DoctorInput {
        gpus: (0..4).map(|index| Gpu { index, ..gpu() }).chain([integrated()]).collect(),
        ..healthy()
    });
    let drivers: Vec<&str> = two
        .iter()
        .map(|finding| finding.what.as_str())
        .filter(|what| what.contains("is bound"))
        .collect();
    let expected = [
        "GPUs 0 to 3 (AMD Radeon RX 7900 XTX): amdgpu 6.12.1 is bound",
        "GPU 1 (AMD Radeon Graphics (Raphael)): amdgpu 6.12.1 is bound",
    ];
    assert_eq!(drivers, expected);
    assert_eq!(
        [&[3][..], &[0, 1], &[0, 2, 5], &[2, 3, 4]].map(numbers),
        ["GPU 3", "GPUs 0 and 1", "GPUs 0, 2 and 5", "GPUs 2 to 4"]
    );
    let severities: Vec<FindingSeverity> = two.iter().map(|finding| finding.severity).collect();
    assert!(
        severities.windows(2).all(|pair| pair[0] >= pair[1]),
        "the most severe findings come first"
    );
}

#[test]
fn several_gpus_behind_an_iommu() {
    let found = wrong(|facts| {
        for index in 0..2 {
            facts.gpus[0].iommu = Some("DMA-FQ".into());
            if index == 1 {
                facts.gpus.push(Gpu { index, ..facts.gpus[0].clone() });
            }
        }
    });
    assert!(
        found.len() == 1
            && found[0].what.starts_with("GPUs 0 and 1")
            && found[0].cure.as_deref().is_some_and(|cure| cure.contains("iommu=pt")),
        "{found:?}"
    );
    assert_eq!(
        wrong(with_gpu(|gpu| gpu.iommu = Some("DMA".into()))),
        [],
        "no finding for a single GPU"
    );
}
