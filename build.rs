//! Packs the schemas of the documents, and lets the linker fold functions of the same code into one: half a megabyte less of
//! generic code that was compiled several times.

use std::path::Path;
use std::process::Command;
use std::{env, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // There, and unless somebody chose another, rustc links with its own lld, which knows how; other linkers refuse the option.
    let chosen = |flags: String| ["fuse-ld", "linker", "self-contained"].iter().any(|word| flags.contains(word));
    let is_lld = is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && env::var_os("RUSTC_LINKER").is_none()
        && !env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(chosen);
    if is_lld && is("PROFILE", "release") {
        println!("cargo:rustc-link-arg-bin=rusty-stack-bench=-Wl,--icf=all");
        if reads_packed_relocations() {
            println!("cargo:rustc-link-arg-bin=rusty-stack-bench=-Wl,-z,pack-relative-relocs");
        }
    }
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    packed_files::pack(Path::new("schemas"), ".schema.json", &Path::new(&out).join("schemas.pack"))
}

/// Whether the C library here, for which is built, reads relocations of one bit in place of 24 bytes: glibc does from 2.36 on, and
/// an older one refuses such a program by name. They were half a megabyte.
fn reads_packed_relocations() -> bool {
    let Ok(told) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else { return false };
    let text = String::from_utf8_lossy(&told.stdout);
    let version = text.trim().strip_prefix("glibc 2.").and_then(|minor| minor.parse::<u32>().ok());
    env::var("HOST") == env::var("TARGET") && version.is_some_and(|minor| minor >= 36)
}
