//! Queue and clock of a device. The time between two events is from the start of the first command
//! between them to the end of the last one, as profiled by the driver.

use std::rc::Rc;
use std::time::Instant;

use super::core::Core;
use super::events::Gap;
use crate::portable::defect;
use rsb_device::device::{DeviceError, Stream, StreamClock, StreamEvent};

/// Maximum number of events kept. Older ones are released, since a case records millions of events.
const MARKS: usize = 64;

/// A recorded event.
enum Mark {
    /// A position in the queue; the driver times the commands around it.
    Queue(Gap),
    /// Host time at which all earlier commands had completed.
    Host(Instant),
}

/// A stream: the queue of a device, and its recorded events.
pub(super) struct ClStream {
    core: Rc<Core>,
    marks: Vec<Mark>,
    /// Number of events recorded.
    made: u64,
    clock: StreamClock,
}

/// Duration of one kernel by both clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ClockReading {
    /// Duration in the driver's profile; NaN if there is no profile.
    pub(super) device_ns: f64,
    /// Duration by the host clock, including the launch and the wait.
    pub(super) host_ns: f64,
}

impl ClockReading {
    /// Returns whether the driver's clock is within 20 % of the host clock. The host time includes
    /// a launch and a wait of some tens of microseconds, so the comparison is meaningful only for
    /// kernels that run for milliseconds.
    fn agrees(self) -> bool {
        const APART: f64 = 0.2;
        (self.device_ns - self.host_ns).abs() <= APART * self.host_ns
    }
}

/// Returns the driver's clock if it agrees with the host clock in most of `readings`, which are of
/// the same kernel; otherwise the host clock. Other programs can delay the host, so single readings
/// may disagree.
pub(super) fn choose_clock(readings: &[ClockReading]) -> StreamClock {
    let agreeing = readings.iter().filter(|reading| reading.agrees()).count();
    if 2 * agreeing > readings.len() { StreamClock::Device } else { StreamClock::Host }
}

impl ClStream {
    /// Creates a stream timed by `clock`.
    pub(super) fn new(core: &Rc<Core>, clock: StreamClock) -> Self {
        if clock == StreamClock::Device {
            core.commands.borrow_mut().begin();
        }
        Self { core: Rc::clone(core), marks: Vec::with_capacity(MARKS), made: 0, clock }
    }

    fn mark(&self, mark: StreamEvent) -> Result<&Mark, DeviceError> {
        let known = mark.0 < self.made && self.made - mark.0 <= MARKS as u64;
        let found = self.marks.get((mark.0 % MARKS as u64) as usize).filter(|_| known);
        found.ok_or_else(|| {
            let why = format!(
                "an event does not belong to this stream, or {MARKS} newer events replaced it"
            );
            defect("time between two events", why)
        })
    }
}

impl Stream for ClStream {
    fn record(&mut self) -> Result<StreamEvent, DeviceError> {
        let mark = match self.clock {
            StreamClock::Device => Mark::Queue(self.core.commands.borrow_mut().gap()),
            StreamClock::Host => {
                self.core.synchronize()?;
                Mark::Host(Instant::now())
            }
        };
        let number = StreamEvent(self.made);
        match self.marks.get_mut((self.made % MARKS as u64) as usize) {
            Some(old) => *old = mark,
            None => self.marks.push(mark),
        }
        self.made += 1;
        Ok(number)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(self.core.synchronize()?)
    }

    fn clock(&self) -> StreamClock {
        self.clock
    }

    fn elapsed_ns(&mut self, from: StreamEvent, to: StreamEvent) -> Result<f64, DeviceError> {
        match (self.mark(from)?, self.mark(to)?) {
            (Mark::Queue(from), Mark::Queue(to)) => match from.commands_until(to) {
                Some((first, last)) => Ok(last.end_ns()? as f64 - first.start_ns()? as f64),
                None => Ok(0.0),
            },
            (Mark::Host(from), Mark::Host(to)) => {
                Ok(to.saturating_duration_since(*from).as_nanos() as f64)
            }
            _ => Err(defect("time between two events", "the events are from different clocks")),
        }
    }
}

impl Drop for ClStream {
    fn drop(&mut self) {
        if self.clock == StreamClock::Device {
            self.core.commands.borrow_mut().end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_a_fifth_off_most_of_the_time_is_not_believed() {
        struct Row {
            name: &'static str,
            readings: [ClockReading; 3],
            clock: StreamClock,
        }
        let alike = |name, reading, clock| Row { name, readings: [reading; 3], clock };
        for row in [
            alike("equal", reading(5.0, 5.0), StreamClock::Device),
            alike("host time includes launch and wait", reading(4.9, 5.0), StreamClock::Device),
            alike("81 %", reading(8.1, 10.0), StreamClock::Device),
            alike("79 %", reading(7.9, 10.0), StreamClock::Host),
            alike("121 %", reading(12.1, 10.0), StreamClock::Host),
            alike(
                "microseconds reported instead of milliseconds",
                reading(0.005, 5.0),
                StreamClock::Host,
            ),
            alike("backwards", reading(-5.0, 5.0), StreamClock::Host),
            alike("always 0", reading(0.0, 5.0), StreamClock::Host),
            alike("no profile", reading(f64::NAN, 5.0), StreamClock::Host),
            Row {
                name: "the host was delayed in one reading",
                readings: [reading(5.0, 5.1), reading(5.0, 9.0), reading(5.0, 5.1)],
                clock: StreamClock::Device,
            },
            Row {
                name: "right once by chance",
                readings: [reading(0.1, 5.0), reading(5.0, 5.0), reading(-3.0, 5.0)],
                clock: StreamClock::Host,
            },
        ] {
            assert_eq!(choose_clock(&row.readings), row.clock, "{}", row.name);
        }
        assert_eq!(
            choose_clock(&[]),
            StreamClock::Host,
            "without readings, the host clock is used"
        );
    }

    fn reading(device_ms: f64, host_ms: f64) -> ClockReading {
        ClockReading { device_ns: 1e6 * device_ms, host_ns: 1e6 * host_ms }
    }
}
