//! Instruction counts of this program, from CPU counters, or from Valgrind if it runs this program.

use rsb_model::Reason;

/// Result of [`count_instructions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionCount {
    /// User-space instructions of all threads, counted by the CPU.
    Counted(u64),
    /// Counted by Valgrind, which prints the count when the program ends.
    ByValgrind,
}

/// Runs `work` and counts the instructions that this program executes meanwhile.
///
/// # Errors
/// If no counters are available; `work` is not run then.
pub fn count_instructions<T>(work: impl FnOnce() -> T) -> Result<(T, InstructionCount), Reason> {
    if valgrind::is_around() {
        return Ok((valgrind::count_with_callgrind(work), InstructionCount::ByValgrind));
    }
    let (worked, count) = counters::count_with_perf(work)?;
    Ok((worked, InstructionCount::Counted(count)))
}

/// Checks that the instruction counters of the CPU work.
///
/// # Errors
/// If the counters cannot be read or report implausible counts.
pub fn check_counters() -> Result<(), Reason> {
    let (_, count) = counters::count_with_perf(|| {
        std::hint::black_box(vec![1_u64; 10_000]).iter().sum::<u64>()
    })?;
    if count >= 10_000 {
        return Ok(());
    }
    Err(Reason::new(
        "instruction counters",
        format!("implausible value: {count} instructions for a sum of 10000 numbers"),
        "run on bare metal, or enable performance counters (vPMU) for the virtual machine",
    ))
}

#[cfg(target_os = "linux")]
mod counters {
    use std::io;

    use perf_event::events::{Event, Hardware};
    use perf_event::{Builder, Counter};
    use rsb_model::Reason;

    use crate::counters::refusal_reason;

    pub(super) fn count_with_perf<T>(work: impl FnOnce() -> T) -> Result<(T, u64), Reason> {
        let refusal =
            |error: io::Error| refusal_reason("instruction counters", "instructions", &error);
        let mut counters = of_every_thread(&Hardware::INSTRUCTIONS).map_err(refusal)?;
        counters.iter_mut().try_for_each(Counter::enable).map_err(refusal)?;
        let worked = work();
        counters.iter_mut().try_for_each(Counter::disable).map_err(refusal)?;
        Ok((worked, total(&mut counters).map_err(refusal)?))
    }

    /// Opens one counter for each existing thread. A counter includes threads that its thread
    /// starts later.
    pub(super) fn of_every_thread<E: Event + Clone>(event: &E) -> io::Result<Vec<Counter>> {
        let mut counters = Vec::new();
        for entry in std::fs::read_dir("/proc/self/task")? {
            let Some(thread) = entry?.file_name().to_str().and_then(|name| name.parse().ok())
            else {
                continue;
            };
            counters.push(Builder::new(event.clone()).observe_pid(thread).inherit(true).build()?);
        }
        Ok(counters)
    }

    /// Returns the total of all counters. Fails if a counter was multiplexed, since its count is
    /// then incomplete.
    pub(super) fn total(counters: &mut [Counter]) -> io::Result<u64> {
        let mut total = 0;
        for counter in counters {
            let seen = counter.read_count_and_time()?;
            if seen.time_running < seen.time_enabled {
                return Err(io::Error::other("the counter was multiplexed with others"));
            }
            total += seen.count;
        }
        Ok(total)
    }
}

#[cfg(not(target_os = "linux"))]
mod counters {
    use rsb_model::Reason;

    pub(super) fn count_with_perf<T>(_: impl FnOnce() -> T) -> Result<(T, u64), Reason> {
        Err(Reason::new(
            "instruction counters",
            "only Linux makes them available to programs",
            "count instructions on Linux",
        ))
    }
}

/// Client requests to Valgrind, encoded as instructions that have no effect without it
/// (`valgrind.h`, `callgrind.h`).
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod valgrind {
    const IS_AROUND: u64 = 0x1001;
    const CALLGRIND: u64 = (b'C' as u64) << 24 | (b'T' as u64) << 16;
    const BEGIN_COUNTING: u64 = CALLGRIND + 4;
    const END_COUNTING: u64 = CALLGRIND + 5;

    /// Returns whether Valgrind runs this program.
    pub(super) fn is_around() -> bool {
        request(IS_AROUND) > 0
    }

    /// Runs `work` while Callgrind counts. Other Valgrind tools ignore the request.
    pub(super) fn count_with_callgrind<T>(work: impl FnOnce() -> T) -> T {
        request(BEGIN_COUNTING);
        let worked = work();
        request(END_COUNTING);
        worked
    }

    /// Returns Valgrind's response to request `code`, or 0 without Valgrind.
    fn request(code: u64) -> u64 {
        let words: [u64; 6] = [code, 0, 0, 0, 0, 0];
        let mut answer = 0_u64;
        // SAFETY: on a CPU, the rotations of rdi add up to 128 bits and leave it unchanged, and rbx
        // is exchanged with itself. Valgrind recognizes the sequence, reads the six words at rax,
        // which outlive it, and sets rdx.
        unsafe {
            std::arch::asm!(
                "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
                in("rax") words.as_ptr(), inout("rdx") answer, options(nostack)
            );
        }
        answer
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod valgrind {
    /// Returns false; requests are implemented only for x86-64.
    pub(super) fn is_around() -> bool {
        false
    }

    pub(super) fn count_with_callgrind<T>(work: impl FnOnce() -> T) -> T {
        work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_valgrind_nobody_answers() {
        assert!(!valgrind::is_around());
        assert_eq!(valgrind::count_with_callgrind(|| 5), 5);
    }

    #[test]
    fn instructions_are_counted_or_it_is_said_why_not() {
        match check_counters() {
            Ok(()) => assert!(count_of_sum(1_000_000) > 2 * count_of_sum(100_000)),
            Err(reason) => assert!(!reason.why.is_empty() && !reason.cure.is_empty(), "{reason}"),
        }
    }

    fn count_of_sum(length: usize) -> u64 {
        let counted =
            count_instructions(|| std::hint::black_box(vec![1_u64; length]).iter().sum::<u64>());
        match counted.unwrap() {
            (_, InstructionCount::Counted(count)) => count,
            (_, InstructionCount::ByValgrind) => panic!("this test does not run under Valgrind"),
        }
    }

    /// Uses a software event, since virtual machines may have no hardware counters.
    #[cfg(target_os = "linux")]
    #[test]
    fn every_thread_is_counted() {
        let (ask, asked) = std::sync::mpsc::channel::<()>();
        let (answer, answered) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            for () in asked {
                let began = std::time::Instant::now();
                while began.elapsed() < std::time::Duration::from_millis(20) {
                    std::hint::spin_loop();
                }
                answer.send(()).unwrap();
            }
        });
        let mut counters =
            match counters::of_every_thread(&perf_event::events::Software::TASK_CLOCK) {
                Ok(counters) => counters,
                Err(error) => return test_needs::missing("perf", &error.to_string()),
            };
        assert!(counters.len() >= 2);
        for counter in &mut counters {
            counter.enable().unwrap();
        }
        ask.send(()).unwrap();
        answered.recv().unwrap();
        for counter in &mut counters {
            counter.disable().unwrap();
        }
        let spent: u64 = counters.iter_mut().map(|counter| counter.read().unwrap()).sum();
        assert!(spent > 1_000_000, "counted only {spent} ns in threads that worked for 20 ms");
        drop(ask);
        thread.join().unwrap();
    }
}
