//! A probe of the machine: CPUs, memory, GPUs, drivers, Python, frameworks, and the current load.
//!
//! Facts are read from files. Processes are started only for `git status`, and for Python if no
//! file contains its version. Facts that cannot be read are unknown (`None`), never zero. Each part
//! is read in a separate thread, which is abandoned if it hangs, so a faulty GPU or network
//! directory does not affect the other facts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rsb_model::Environment;

mod cgroup;
mod child;
mod cpu;
mod cuda;
pub mod doctor;
pub mod energy;
mod git;
mod gpu;
mod host;
mod hypervisor;
mod limit;
mod options;
mod os;
mod plausible;
mod python;
mod rocm;
mod state;
pub mod telemetry;

pub use git::{commits_between, git, knows_commit, origin, user_name};
pub use options::{ProbeError, ProbeOptions};
pub use python::FRAMEWORKS;
pub use state::{StateSample, runnable_tasks, sample, state, state_between};

use host::Host;
use limit::Pending;

/// Time after which a part is left out. On a healthy machine, a part takes a hundredth of this. The
/// limit is generous because a GPU answers late while it wakes from sleep, and fields that are
/// sometimes missing would make runs incomparable.
const HANG_LIMIT: Duration = Duration::from_secs(3);

/// Reads the facts about this machine. `git` and `state` are left empty: see [`git()`] and
/// [`state()`].
pub fn environment(options: &ProbeOptions) -> Environment {
    environment_of(&Arc::new(Host::of(options)), HANG_LIMIT)
}

/// Returns the shared caches of the GPU at the PCI address `address` (`0000:03:00.0`), lowest level
/// first, from AMD's compute driver and a table by PCI ID; empty if neither has them.
pub fn gpu_caches(options: &ProbeOptions, address: &str) -> Vec<rsb_model::environment::Cache> {
    gpu::caches::shared_caches(&Host::of(options), address)
}

/// Returns the interpreter that framework workloads start: the one in an environment variable, that
/// of the active environment, that of the environment made by this project, or the one on `PATH`.
pub fn python_program() -> Option<std::path::PathBuf> {
    python::program(&Host::here())
}

/// Returns the interpreter that a flag or a variable of this project names, even if there is no
/// such interpreter.
pub fn named_python() -> Option<std::path::PathBuf> {
    python::configured_program(&Host::here())
}

/// Selects the interpreter for the rest of this process, as a flag does. It has precedence over
/// every environment variable. Only the first call has an effect.
pub fn choose_python(program: std::path::PathBuf) {
    host::choose_python(program);
}

/// Returns the directory of the environment that this project makes for its user; `None` if the
/// user has no home directory.
pub fn own_python_environment() -> Option<std::path::PathBuf> {
    python::own_environment(&Host::here())
}

fn environment_of(host: &Arc<Host>, limit: Duration) -> Environment {
    let deadline = Instant::now() + limit;
    let gpus = gpu::start(host, deadline);
    let mut found = Environment::default();
    if host.is_whole() {
        let system = start(host, |host| (os::name(host), os::kernel(host), os::memory_gb(host)));
        let cpu = start(host, cpu::read);
        let rocm = start(host, rocm::installations);
        let cuda = start(host, cuda::version);
        let python = start(host, python::read);
        (found.os, found.kernel, found.memory_gb) = system.latest(deadline).unwrap_or_default();
        found.cpu = cpu.latest(deadline);
        found.rocm_installations = rocm.latest(deadline).unwrap_or_default();
        found.cuda = cuda.latest(deadline).flatten();
        let python = python.latest(deadline).unwrap_or_default();
        (found.python, found.frameworks) = (python.version, python.frameworks);
        // Wheels come last, because native programs do not search there.
        found.rocm_installations.extend(python.rocm);
        found.rocm = rocm::version(&found.rocm_installations);
    }
    let gpu::GpuInventory { gpus, unread } = gpus.finish(deadline);
    (found.gpus, found.unread_gpus) = (gpus, unread);
    found
}

/// Runs `read` on `host` in its own thread.
fn start<T: Send + 'static>(host: &Arc<Host>, read: fn(&Host) -> T) -> Pending<T> {
    let host = Arc::clone(host);
    Pending::start(move |report| report(read(&host)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_cpu_and_a_name() {
        let here = environment(&ProbeOptions::default());
        let cpu = here.cpu.expect("a CPU");
        assert!(cpu.usable_cores >= 1);
        assert_eq!(cpu.architecture, std::env::consts::ARCH);
        assert!(here.os.is_some());
        if cfg!(target_os = "linux") {
            assert!(here.kernel.is_some());
            assert!(here.memory_gb.is_some_and(|gb| gb > 0.01), "{:?}", here.memory_gb);
        }
        assert_eq!((here.git, here.state), (None, None));
    }

    #[test]
    fn a_directory_for_sysfs_leaves_out_the_host() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("class/drm")).unwrap();
        let options = ProbeOptions { sysfs_root: Some(dir.path().to_owned()) };
        assert_eq!(options.check(), Ok(()));
        assert_eq!(environment(&options), Environment::default());
    }

    #[test]
    fn a_directory_that_is_no_sysfs_is_refused_with_the_cure() {
        let dir = tempfile::tempdir().unwrap();
        for root in [dir.path().to_owned(), dir.path().join("missing")] {
            let refused =
                ProbeOptions { sysfs_root: Some(root.clone()) }.check().unwrap_err().to_string();
            assert!(
                refused.starts_with(&root.display().to_string())
                    && refused.contains("instead of /sys"),
                "{refused}"
            );
        }
        assert_eq!(ProbeOptions::default().check(), Ok(()));
    }
}
