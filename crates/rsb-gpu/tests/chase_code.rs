//! Tests how compilers for AMD GPUs read memory in the pointer chase: by vector loads, the path of
//! nearly all kernel reads, or by `s_load` through the scalar data cache. The address is the same
//! for all threads, so the compiler uses the scalar path unless the offset is hidden.
//!
//! Compiles the real source with hiprtc, the OpenCL source with clang, and only the method that
//! hides the offset, as LLVM IR, with llc. Each result is disassembled by llvm-objdump. Tests whose
//! tools are missing are skipped; no GPU is needed.
#![cfg(feature = "rocm")]
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::path::{Path, PathBuf};
use std::process::Command;

use rsb_gpu::hip::catalog::Module;
use rsb_gpu::hip::{HipCompiler, Source};

/// Targets that LLVM 14, the version of Debian bookworm, and later versions support, and for which
/// they used the scalar path.
const TARGETS: [&str; 4] = ["gfx906", "gfx908", "gfx90a", "gfx1030"];

/// Finds `name` on `PATH`, or else the `name-N` with the highest N.
fn tool(name: &str) -> Option<PathBuf> {
    let versions = (14..=21).rev().map(|version| format!("{name}-{version}"));
    let names: Vec<String> = std::iter::once(name.to_owned()).chain(versions).collect();
    let path = std::env::var_os("PATH")?;
    let mut files =
        names.iter().flat_map(|name| std::env::split_paths(&path).map(move |dir| dir.join(name)));
    files.find(|file| file.is_file())
}

/// Returns the tools, or `None` with a message about the first that is missing.
fn tools<const N: usize>(names: [&str; N]) -> Option<[PathBuf; N]> {
    let found: Vec<PathBuf> = names.iter().filter_map(|name| tool(name)).collect();
    if let Ok(all) = found.try_into() {
        return Some(all);
    }
    let lacking = names.iter().find(|name| tool(name).is_none()).unwrap();
    test_needs::missing(lacking, &format!("no {lacking} is on the path (apt install llvm clang)"));
    None
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// An instruction of a disassembly.
#[derive(Debug)]
struct Instruction {
    address: u64,
    text: String,
    /// Target address, if the instruction is a jump.
    target: Option<u64>,
}

/// Returns the instructions of function `symbol` in `object`.
fn instructions(objdump: &Path, object: &Path, target: &str, symbol: &str) -> Vec<Instruction> {
    let mut command = Command::new(objdump);
    command.args([
        "--disassemble",
        &format!("--mcpu={target}"),
        &format!("--disassemble-symbols={symbol}"),
    ]);
    let text = run(command.arg(object));
    let start = text.lines().find_map(|line| line.strip_suffix(&format!(" <{symbol}>:")));
    let start = u64::from_str_radix(
        start.unwrap_or_else(|| panic!("no {symbol} for {target}:\n{text}")),
        16,
    )
    .unwrap();
    // `	s_cbranch_scc1 65528    // 000000001D54: BF85FFF8 <symbol+0x34>`
    let parse = |line: &str| {
        let (text, comment) = line.split_once("//")?;
        let address = u64::from_str_radix(comment.split(':').next()?.trim(), 16).ok()?;
        let offset =
            comment.split_once(&format!("<{symbol}")).map(|(_, rest)| rest.trim_end_matches('>'));
        let offset =
            offset.map(|rest| u64::from_str_radix(rest.trim_start_matches("+0x"), 16).unwrap_or(0));
        Some(Instruction {
            address,
            text: text.trim().to_owned(),
            target: offset.map(|offset| start + offset),
        })
    };
    text.lines().filter_map(parse).collect()
}

/// Returns the opcodes of the loads within the loops of a function.
fn loads_in_loops(instructions: &[Instruction]) -> Vec<&str> {
    let loops: Vec<(u64, u64)> = instructions
        .iter()
        .filter_map(|jump| {
            Some((jump.target.filter(|&target| target <= jump.address)?, jump.address))
        })
        .collect();
    assert!(!loops.is_empty(), "no loop found in {instructions:#?}");
    let is_looped =
        |one: &&Instruction| loops.iter().any(|(from, to)| (*from..=*to).contains(&one.address));
    let names =
        instructions.iter().filter(is_looped).filter_map(|one| one.text.split_whitespace().next());
    names.filter(|name| name.contains("load")).collect()
}

fn assert_vector(loads: &[&str], what: &str) {
    let is_vector = |name: &&str| name.starts_with("global_load") || name.starts_with("flat_load");
    assert!(!loads.is_empty() && loads.iter().all(is_vector), "{what}: {loads:?}");
}

fn assert_scalar(loads: &[&str], what: &str) {
    assert!(
        !loads.is_empty() && loads.iter().all(|name| name.starts_with("s_load")),
        "{what}: {loads:?}"
    );
}

/// Checks what users run: both kernels compiled by hiprtc for each target that it supports.
#[test]
fn hiprtc_reads_by_the_vector_path_and_on_request_by_the_scalar_one() {
    let Some([objdump]) = tools(["llvm-objdump"]) else { return };
    let compiler = match HipCompiler::load() {
        Ok(compiler) => compiler,
        Err(reason) => return test_needs::missing("hiprtc", &reason.to_string()),
    };
    let dir = tempfile::tempdir().unwrap();
    for target in TARGETS {
        let source = Source { text: Module::Memory.source(), name: Module::Memory.file() };
        let compiled =
            compiler.compile(source, target, &[]).unwrap_or_else(|reason| panic!("{reason}"));
        let object = dir.path().join(target);
        std::fs::write(&object, compiled.code).unwrap();
        let vector = instructions(&objdump, &object, target, "rsb_pointer_chase");
        assert_vector(&loads_in_loops(&vector), target);
        let scalar = instructions(&objdump, &object, target, "rsb_pointer_chase_scalar");
        assert_scalar(&loads_in_loops(&scalar), target);
    }
}

/// Returns a pointer chase in LLVM IR. `{hidden}` is the code between loading an offset and using
/// it.
fn chase(pointers: [&str; 2], hidden: &str) -> String {
    let [bytes, words] = pointers;
    format!(
        "target triple = \"amdgcn-amd-amdhsa\"
define amdgpu_kernel void @chase({bytes} %nodes, {words} %position, i64 %accesses) #0 {{
entry:
  %start = load i64, {words} %position
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = phi i64 [ %start, %entry ], [ %found, %loop ]
{hidden}
  %node = getelementptr i8, {bytes} %nodes, i64 %offset
  %word = bitcast {bytes} %node to {words}
  %found = load i64, {words} %word
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %accesses
  br i1 %more, label %loop, label %end
end:
  store i64 %found, {words} %position
  ret void
}}
attributes #0 = {{ \"amdgpu-flat-work-group-size\"=\"1,1\" }}
"
    )
}

const PLAIN: &str = "  %offset = add i64 %at, 0";
const HIDDEN: &str = "  %lower = trunc i64 %at to i32
  %shifted = lshr i64 %at, 32
  %upper = trunc i64 %shifted to i32
  %halves = call { i32, i32 } asm sideeffect \"\", \"=v,=v,0,1\"(i32 %lower, i32 %upper)
  %low = extractvalue { i32, i32 } %halves, 0
  %high = extractvalue { i32, i32 } %halves, 1
  %low64 = zext i32 %low to i64
  %high64 = zext i32 %high to i64
  %placed = shl i64 %high64, 32
  %offset = or i64 %placed, %low64";

/// The method of `in_vector_registers` works, and is needed: without it the same loop reads by
/// `s_load`.
#[test]
fn llvm_reads_a_uniform_chase_by_the_scalar_path_unless_its_offset_is_hidden() {
    let Some([llc, objdump]) = tools(["llc", "llvm-objdump"]) else { return };
    let version = run(Command::new(&llc).arg("--version"));
    if !version.contains("amdgcn") {
        return test_needs::missing("llc", "it does not generate code for AMD GPUs");
    }
    let number = version
        .split("version ")
        .nth(1)
        .and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
    // From LLVM 15 on pointers have no element type.
    let pointers = if number.is_some_and(|number| number < 15) {
        ["i8 addrspace(1)*", "i64 addrspace(1)*"]
    } else {
        ["ptr addrspace(1)"; 2]
    };
    let dir = tempfile::tempdir().unwrap();
    let loads = |target: &str, hidden: &str| {
        let (source, object) = (dir.path().join("chase.ll"), dir.path().join("chase.o"));
        std::fs::write(&source, chase(pointers, hidden)).unwrap();
        let mut command = Command::new(&llc);
        command
            .args(["-O3", "-filetype=obj", &format!("-mcpu={target}")])
            .arg(&source)
            .arg("-o")
            .arg(&object);
        run(&mut command);
        instructions(&objdump, &object, target, "chase")
    };
    for target in TARGETS {
        assert_scalar(&loads_in_loops(&loads(target, PLAIN)), target);
        assert_vector(&loads_in_loops(&loads(target, HIDDEN)), target);
    }
}

/// Checks the kernel of the OpenCL backend as compiled by clang, on which the drivers of AMD and
/// Mesa are based. Also checks that the scalar path would be used if the compiler knew that the
/// work-item is the first of its group.
#[test]
fn clang_reads_the_chase_of_opencl_by_the_vector_path() {
    const PRELUDE: &str = include_str!("../../rsb-portable/kernels/opencl/prelude.cl");
    const MEMORY: &str = include_str!("../../rsb-portable/kernels/opencl/memory.cl");
    let Some([clang, objdump]) = tools(["clang", "llvm-objdump"]) else { return };
    if !run(Command::new(&clang).arg("-print-targets")).contains("amdgcn") {
        return test_needs::missing("clang", "it does not generate code for AMD GPUs");
    }
    let dir = tempfile::tempdir().unwrap();
    let (source, object) = (dir.path().join("memory.cl"), dir.path().join("memory.o"));
    // The definition in the drivers' device library, which is not linked here.
    let of_a_driver = "#define get_local_id(dimension) __builtin_amdgcn_workitem_id_x()\n";
    let known = "#define get_local_id(dimension) 0\n";
    for target in TARGETS {
        let made = |local_id: &str| {
            std::fs::write(&source, [local_id, PRELUDE, MEMORY].concat()).unwrap();
            let mut command = Command::new(&clang);
            command.args([
                "-x",
                "cl",
                "-cl-std=CL1.2",
                "-Xclang",
                "-finclude-default-header",
                "-nogpulib",
                "-O3",
            ]);
            command.args([
                "-target",
                "amdgcn-amd-amdhsa",
                "-DRSB_F32",
                "-DRSB_WIDTH=1",
                "-c",
                &format!("-mcpu={target}"),
            ]);
            run(command.arg(&source).arg("-o").arg(&object));
            instructions(&objdump, &object, target, "rsb_pointer_chase")
        };
        assert_vector(&loads_in_loops(&made(of_a_driver)), target);
        assert_scalar(&loads_in_loops(&made(known)), target);
    }
}
