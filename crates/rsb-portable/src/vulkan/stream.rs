//! Device queue and clock. Events are timestamps that the device writes between its kernels.

use std::rc::Rc;
use std::time::Instant;

use ash::vk;

use super::core::Core;
use super::failure::{Failure, WithCall as _};
use crate::portable::defect;
use rsb_device::device::{DeviceError, Stream, StreamClock, StreamEvent};

/// Maximum number of events kept. Older ones are overwritten, since a case records millions of
/// events.
const MARKS: u32 = 64;

/// A stream: the queue of a device, and its recorded events.
pub(super) struct VulkanStream {
    core: Rc<Core>,
    clock: Clock,
    /// Number of events recorded.
    made: u64,
}

/// Source of timestamps.
enum Clock {
    /// Device timestamps.
    Device(vk::QueryPool),
    /// Host times after waits, for devices without timestamps.
    Host(Vec<Instant>),
}

impl VulkanStream {
    pub(super) fn new(core: &Rc<Core>) -> Result<Self, Failure> {
        let clock = if core.traits.timestamp_bits == 0 {
            Clock::Host(Vec::new())
        } else {
            let create = vk::QueryPoolCreateInfo::default()
                .query_type(vk::QueryType::TIMESTAMP)
                .query_count(MARKS);
            // SAFETY: the device is live.
            Clock::Device(
                unsafe { core.raw.create_query_pool(&create, None) }
                    .with_call("vkCreateQueryPool")?,
            )
        };
        Ok(Self { core: Rc::clone(core), clock, made: 0 })
    }

    fn place(&self, mark: StreamEvent) -> Result<u32, DeviceError> {
        let known = mark.0 < self.made && self.made - mark.0 <= u64::from(MARKS);
        if !known {
            let why = format!(
                "an event does not belong to this stream, or {MARKS} newer events replaced it"
            );
            return Err(defect("time between two events", why));
        }
        Ok((mark.0 % u64::from(MARKS)) as u32)
    }

    /// Returns the device ticks of an event.
    fn ticks(&self, pool: vk::QueryPool, place: u32) -> Result<u64, Failure> {
        let mut ticks = [0_u64];
        // SAFETY: `place` is a query of this pool. The caller has waited for the queue, and if the
        // result is not available the call returns an error.
        unsafe {
            self.core.raw.get_query_pool_results(
                pool,
                place,
                &mut ticks,
                vk::QueryResultFlags::TYPE_64,
            )
        }
        .with_call("vkGetQueryPoolResults")?;
        Ok(ticks.first().copied().unwrap_or_default())
    }
}

impl Stream for VulkanStream {
    fn record(&mut self) -> Result<StreamEvent, DeviceError> {
        let mark = StreamEvent(self.made);
        let place = (self.made % u64::from(MARKS)) as u32;
        match &mut self.clock {
            Clock::Device(pool) => {
                let pool = *pool;
                // SAFETY: `place` is a query of this pool, which is destroyed only after waiting
                // for the queue.
                self.core.record(|device, commands| unsafe {
                    device.cmd_reset_query_pool(commands, pool, place, 1);
                    device.cmd_write_timestamp(
                        commands,
                        vk::PipelineStageFlags::BOTTOM_OF_PIPE,
                        pool,
                        place,
                    );
                })?;
            }
            Clock::Host(marks) => {
                self.core.synchronize()?;
                match marks.get_mut(place as usize) {
                    Some(old) => *old = Instant::now(),
                    None => marks.push(Instant::now()),
                }
            }
        }
        self.made += 1;
        Ok(mark)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(self.core.synchronize()?)
    }

    fn clock(&self) -> StreamClock {
        match self.clock {
            Clock::Device(_) => StreamClock::Device,
            Clock::Host(_) => StreamClock::Host,
        }
    }

    fn elapsed_ns(&mut self, from: StreamEvent, to: StreamEvent) -> Result<f64, DeviceError> {
        let (from, to) = (self.place(from)?, self.place(to)?);
        match &self.clock {
            Clock::Device(pool) => {
                let traits = self.core.traits;
                let ticks = ticks_between(
                    self.ticks(*pool, from)?,
                    self.ticks(*pool, to)?,
                    traits.timestamp_bits,
                );
                Ok(ticks as f64 * traits.timestamp_period)
            }
            Clock::Host(marks) => {
                let (to, from) = (instant_of(marks, to)?, instant_of(marks, from)?);
                Ok(to.saturating_duration_since(from).as_nanos() as f64)
            }
        }
    }
}

fn instant_of(marks: &[Instant], place: u32) -> Result<Instant, DeviceError> {
    marks.get(place as usize).copied().ok_or_else(|| defect("event", "it is missing"))
}

/// Returns the ticks between two readings of a counter that wraps around after `bits` bits.
fn ticks_between(from: u64, to: u64, bits: u32) -> u64 {
    let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    to.wrapping_sub(from) & mask
}

impl Drop for VulkanStream {
    fn drop(&mut self) {
        let _ = self.core.synchronize();
        if let Clock::Device(pool) = self.clock {
            // SAFETY: the commands that write to the pool have completed, and nothing else destroys
            // it.
            unsafe { self.core.raw.destroy_query_pool(pool, None) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_may_begin_anew() {
        assert_eq!(ticks_between(5, 12, 64), 7);
        assert_eq!(ticks_between((1 << 36) - 2, 3, 36), 5);
        assert_eq!(ticks_between(u64::MAX, 1, 64), 2);
    }
}
