//! Tests of other programs' output, children, plans, and redaction.

use std::path::Path;
use std::time::Duration;

use rsb_catalog::plan::{Machine, Selection};
use rsb_device::scripted::{Script, ScriptedDevice};
use rsb_device::{DeviceError, Operation};
use rsb_model::{BackendId, Profile, Suite};
use rsb_store::import::Format;

use super::*;
use crate::first_day::evidence::{ListedGpu, LoadPath, OperationMutants};
use crate::first_day::{Redaction, child, plan, tools};

const ROCMINFO: &str = "\
ROCk module is loaded
==========               
HSA Agents               
==========               
*******                  
Agent 1                  
*******                  
  Name:                    AMD EPYC 9654 96-Core Processor    
  Marketing Name:          AMD EPYC 9654 96-Core Processor    
  Device Type:             CPU                                
  Max Clock Freq. (MHz):   3707                               
  Compute Unit:            192                                
*******                  
Agent 2                  
*******                  
  Name:                    gfx942                             
  Uuid:                    GPU-0123456789abcdef               
  Marketing Name:          AMD Instinct MI300X                
  Vendor Name:             AMD                                
  Device Type:             GPU                                
  Chip ID:                 29857(0x74a1)                      
  Max Clock Freq. (MHz):   2100                               
  BDFID:                   12544                              
  Compute Unit:            304                                
  ISA Info:                
    ISA 1                    
      Name:                    amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-
";

#[test]
fn the_lists_of_vendors_are_read() {
    let expected = ListedGpu {
        name: "AMD Instinct MI300X".to_owned(),
        arch: Some("gfx942".to_owned()),
        units: Some(304),
        max_clock_mhz: Some(2100.0),
        pci_address: Some("0000:31:00.0".to_owned()),
    };
    assert_eq!(tools::rocminfo(ROCMINFO), [expected]);
    assert_eq!(tools::rocminfo("ROCk module is NOT loaded, possibly no GPU devices\n"), []);
    let text = "NVIDIA H100 80GB HBM3, 00000000:1B:00.0, 9.0, 1980\nNVIDIA GeForce RTX 4090, \
                00010000:01:00.0, 8.9, [N/A]\n";
    let gpus = tools::nvidia_smi(text);
    assert_eq!(gpus[0].arch.as_deref(), Some("sm_90"));
    assert_eq!(
        (gpus[0].pci_address.as_deref(), gpus[0].max_clock_mhz),
        (Some("0000:1b:00.0"), Some(1980.0))
    );
    assert_eq!(
        (gpus[1].pci_address.as_deref(), gpus[1].max_clock_mhz),
        (Some("00010000:01:00.0"), None)
    );
    assert_eq!(tools::nvidia_smi("No devices were found\n"), []);
}

#[test]
fn a_disassembly_tells_vector_loads_from_scalar_ones() {
    // Output format of llvm-objdump: scalar loads of the arguments, then the loop.
    let code = |load: &str, branch: &str| {
        format!(
            "\nmemory:\tfile format elf64-amdgpu\n\nDisassembly of section .text:\n\n\
             0000000000001000 <rsb_pointer_chase>:\n\
             \ts_load_dwordx4 s[0:3], s[4:5], 0x0   // 000000001000: C00A0002 00000000\n\
             \tglobal_load_dwordx2 v[0:1], v2, s[2:3]   // 000000001008: DC548000 00020002\n\
             \t{load}   // 000000001010: DC548000 00040004\n\
             \ts_cmp_lg_u64 s[0:1], 0   // 000000001018: BF138000\n\
             \t{branch}\n\
             \tglobal_store_dwordx2 v0, v[2:3], s[2:3]   // 000000001020: DC748000 00020200\n\
             \ts_endpgm   // 000000001028: BF810000\n"
        )
    };
    let back = "s_cbranch_scc1 65532   // 00000000101C: BF85FFFC <rsb_pointer_chase+0x10>";
    let on = "s_cbranch_scc1 1   // 00000000101C: BF850001 <rsb_pointer_chase+0x28>";
    assert_eq!(
        tools::loads_of(&code("global_load_dwordx2 v[2:3], v[4:5], off", back)),
        LoadPath::Vector
    );
    assert_eq!(
        tools::loads_of(&code("s_load_dwordx2 s[6:7], s[6:7], 0x0", back)),
        LoadPath::Scalar
    );
    for text in
        [code("s_load_dwordx2 s[6:7], s[6:7], 0x0", on), "file format elf64-amdgpu\n".to_owned()]
    {
        assert!(matches!(tools::loads_of(&text), LoadPath::Unknown(_)), "{text}");
    }
}

#[test]
fn rates_of_other_programs_are_read() {
    let babelstream = "phase,n_elements,sizeof,max_mbytes_per_sec,runtime\nInit,268435456,4,100.0,1\n\
        function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime\n\
        Copy,50,268435456,4,4123456.7,0.00052,0.00053,0.00052\nMul,50,268435456,4,1.0,1,1,1\n";
    let rate = tools::copy_of_babelstream(babelstream).unwrap();
    assert!((rate - 4123.4567).abs() < 1e-6, "{rate}");
    assert_eq!(tools::copy_of_babelstream("HIP-Stream\nCopy        4123456.7\n"), None);
    let rocblas = "Query device success: there are 1 devices\n\
        transA,transB,M,N,K,alpha,lda,beta,ldb,ldc,ldd,batch_count,rocblas-Gflops,us\n\
        N,N,8192,8192,8192,1,8192,0,8192,8192,8192,1, 600000, 1832.5\n";
    let rate = tools::best_product("rocblas-bench", rocblas, Format::RocblasBench).unwrap();
    assert!((rate - 600.0).abs() < 1e-9, "{rate}");
    assert!(
        tools::best_product("rocblas-bench", "error: no kernel\n", Format::RocblasBench).is_err()
    );
}

#[test]
fn kernel_times_come_from_either_profiler() {
    let rocprof = "\"Kind\",\"Agent_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n\
        \"KERNEL_DISPATCH\",1,\"rsb_copy\",1000,3000\n\"KERNEL_DISPATCH\",1,\"rsb_flush\",4000,90000\n\
        \"KERNEL_DISPATCH\",1,\"rsb_copy\",100000,104000\n\"KERNEL_DISPATCH\",1,\"rsb_copy\",200000,203000\n";
    assert_eq!(tools::kernel_time_us(rocprof), Some(3.0));
    let nsys = "Start (ns),Duration (ns),CorrId,GrdX,Name\n100,2500,1,64,\"rsb_copy\"\n\
        9000,700,2,,\"[CUDA memcpy Host-to-Device]\"\n";
    assert_eq!(tools::kernel_time_us(nsys), Some(2.5));
    assert_eq!(tools::kernel_time_us("Start (ns),Duration (ns),Name\n"), None);
    assert_eq!(tools::kernel_time_us(""), None);
}

#[test]
fn mutants_are_tried_on_one_operation_of_each_kind_and_type() {
    let device = ScriptedDevice::new(Script::default());
    let survivors: child::Survivors = |_, operation| match operation {
        Operation::Gemm(_) => Ok(OperationMutants { tried: 3, ..OperationMutants::default() }),
        Operation::Stream(_) => Err(DeviceError::Failed(Reason::new("stream", "lost", "x"))),
        _ => Err(DeviceError::Unsupported(Reason::new("mutants", "none", "x"))),
    };
    let of = child::mutants_of(&device, survivors, || true);
    let late = child::mutants_of(&device, survivors, || false);
    assert!(
        late.len() == of.len() && late.iter().all(|one| one.tried == 0 && one.skipped.is_some()),
        "{late:#?}"
    );
    let names: Vec<&str> = of.iter().map(|one| one.operation.as_str()).collect();
    for name in ["gemm f32", "gemm f16"] {
        assert_eq!(names.iter().filter(|known| **known == name).count(), 1, "{names:?}");
    }
    assert!(
        of.iter().any(|one| one.tried == 3) && of.iter().any(|one| one.failed.is_some()),
        "{of:#?}"
    );
    assert!(
        !names.iter().any(|name| name.starts_with("launch") || name.starts_with("churn")),
        "{names:?}"
    );
}

/// Creates a shell script that takes the place of a child and answers as it does.
#[cfg(unix)]
fn program(dir: &Path, script: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = dir.join("program");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
#[cfg(unix)]
fn a_child_that_crashes_or_hangs_is_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let device = "rocm:0".parse().unwrap();
    let ask =
        |script: &str, limit: Duration| child::mutants(&program(dir.path(), script), device, limit);
    let long = Duration::from_mins(1);
    let answer = r#"echo '{"Ok":[{"operation":"gemm f16","tried":2,"survived":[],"skipped":null,"failed":null}]}' > "$3""#;
    assert_eq!(ask(answer, long).unwrap()[0].tried, 2);
    for (script, limit, word) in [
        ("echo lost >&2; kill -ABRT $$", long, "lost"),
        ("exec sleep 600", Duration::from_millis(50), "did not end within"),
        (r#"echo nonsense > "$3""#, long, "cannot parse its response"),
        (r#"echo '{"Err":{"what":"device","why":"gone","cure":"x"}}' > "$3""#, long, "gone"),
    ] {
        let why = ask(script, limit).unwrap_err().to_string();
        assert!(why.contains(word), "{script}: {why}");
    }
}

fn machine(names: &[(&str, DeviceType)]) -> Machine {
    let devices = names
        .iter()
        .map(|(name, device_type)| DeviceInfo { device_type: *device_type, ..device(name) });
    Machine {
        devices: devices.collect(),
        missing: Vec::new(),
        broken: Vec::new(),
        sensors: Vec::new(),
        readiness: |_| Ok(()),
    }
}

fn selection() -> Selection {
    Selection::new(Suite::Quick, Profile::Quick)
}

#[test]
fn cards_are_checked_and_without_any_the_drivers_for_the_cpu() {
    use DeviceType::{Cpu, Gpu};
    let targets = |machine: &Machine, selection: &Selection| -> Vec<String> {
        plan::targets(selection, machine)
            .unwrap()
            .iter()
            .map(|device| device.device.to_string())
            .collect()
    };
    let cards = machine(&[("cpu:0", Cpu), ("rocm:0", Gpu), ("rocm:1", Gpu), ("vulkan:0", Cpu)]);
    assert_eq!(targets(&cards, &selection()), ["rocm:0"]);
    assert_eq!(targets(&cards, &Selection { devices: vec![1], ..selection() }), ["rocm:1"]);
    assert_eq!(
        targets(&cards, &Selection { backends: vec![BackendId::Cpu], ..selection() }),
        ["cpu:0"]
    );
    let host = machine(&[("cpu:0", Cpu), ("vulkan:0", Cpu), ("opencl:0", Cpu), ("opencl:1", Cpu)]);
    assert_eq!(targets(&host, &selection()), ["cpu:0", "vulkan:0", "opencl:0"]);
}

/// Each entry names axes and values that its benchmark has; otherwise planning fails.
#[test]
fn every_check_of_cases_has_a_plan_on_every_device() {
    use DeviceType::{Cpu, Gpu, Simulated};
    let kinds = [
        ("cpu:0", Cpu),
        ("rocm:0", Gpu),
        ("rocm:0", Simulated),
        ("cuda:0", Gpu),
        ("vulkan:0", Cpu),
        ("opencl:0", Gpu),
    ];
    for (name, kind) in kinds {
        let two = [(name, kind), (if name == "cpu:0" { "vulkan:0" } else { "cpu:0" }, Cpu)];
        let machine = machine(&two);
        for check in &CHECKS {
            let plan = plan::of_check(check.number, &machine.devices[..1], &machine).unwrap();
            let ids: Vec<&str> = plan.cases.iter().map(|case| case.id.as_str()).collect();
            let is_empty = matches!(check.number, 1 | 2 | 5 | 15 | 16)
                || name == "cpu:0" && matches!(check.number, 6 | 11 | 13);
            assert_eq!(ids.is_empty(), is_empty, "{name} {kind:?} {}: {ids:?}", check.number);
            if check.number == 7 && kind == Gpu {
                assert!(ids.iter().all(|id| id.contains("/1GiB")), "{ids:?}");
            }
        }
    }
    let eight: Vec<(String, DeviceType)> =
        (0..8).map(|index| (format!("rocm:{index}"), Gpu)).collect();
    let eight: Vec<(&str, DeviceType)> =
        eight.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    let machine = machine(&eight);
    let plan = plan::of_check(15, &machine.devices[..1], &machine).unwrap();
    for part in ["num_gpus=8", "communication_backend=rccl", "operation=all-to-all", "1GiB"] {
        assert!(plan.cases.iter().any(|case| case.id.as_str().contains(part)), "{part}");
    }
}

#[test]
fn walks_follow_the_table_of_the_card_or_its_caches() {
    let ids = |name: &str| -> Vec<String> {
        let machine = machine(&[(name, device(name).device_type)]);
        let plan = plan::of_check(9, &machine.devices, &machine).unwrap();
        plan.cases.iter().map(|case| case.params.text("size").unwrap().to_owned()).collect()
    };
    assert_eq!(ids("rocm:0"), ["16KiB", "2MiB", "64MiB", "2GiB"]);
    assert_eq!(ids("cpu:0"), ["16KiB", "2MiB", "64MiB"]);
}

#[test]
fn names_of_the_user_and_the_host_are_left_out_as_words() {
    let redaction = Redaction::new(Some("ada"), Some("node7.lab.example"), Some("/home/ada"));
    for (text, expected) in [
        ("ada may not use /dev/kfd", "USER may not use /dev/kfd"),
        ("/home/ada/.cache and /data/ada/x", "~/.cache and /data/USER/x"),
        ("on node7.lab.example, node7 and node77", "on HOST, HOST and node77"),
        ("a cadaver, ada_2, ada", "a cadaver, ada_2, USER"),
    ] {
        assert_eq!(redaction.text(text), expected);
    }
    let mut value = serde_json::json!({"ada": ["ada", 1, {"x": "/home/ada"}]});
    redaction.value(&mut value);
    assert_eq!(value, serde_json::json!({"ada": ["USER", 1, {"x": "~"}]}));
    let ordinary = Redaction::new(Some("root"), Some("gpu"), Some("/root"));
    assert_eq!(
        ordinary.text("root on gpu in /root/x"),
        "root on gpu in /root/x",
        "common names reveal nothing and stay"
    );
}
