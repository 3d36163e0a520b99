//! A step of data-parallel training on several GPUs, and its metrics.

use rsb_device::{Device, Options};
use rsb_model::Fields;
use rsb_model::unit::gigaflops;

use super::Task;
use crate::benchmark::{Failure, Prepared};
use crate::data_parallel::{DataParallel, GradientSync, StepShape};
use crate::device_group::devices;
use crate::plausibility::check_compute;
use crate::timed::check_time;

/// A step of data-parallel training on several GPUs.
pub(super) struct Training<'d> {
    device: &'d dyn Device,
    task: Task,
    count: u32,
    shape: StepShape,
    step: DataParallel<'d>,
}

impl<'d> Training<'d> {
    /// Allocates and fills the buffers, runs one step and verifies it.
    pub(super) fn prepare(device: &'d dyn Device, task: Task, count: u32) -> Result<Self, Failure> {
        let shape = task.step(if task.weak { 1 } else { u64::from(count) });
        let step =
            DataParallel::prepare(&devices(device, count)?, shape, task.gradient_sync(count))?;
        Ok(Self { device, task, count, shape, step })
    }
}

impl Prepared for Training<'_> {
    fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        self.step.sample(iters)
    }

    fn fields(&mut self, time_ns: f64) -> Result<Fields, Failure> {
        const TURNS: u32 = 7;
        check_time(time_ns)?;
        let (parts, info) = (f64::from(self.count), self.device.info());
        let of_one = gigaflops(self.shape.flops(), time_ns);
        check_compute(of_one, self.device, self.task.dtype, &Options::default())?;
        let [with, without] = self.step.beside(TURNS)?;
        // The whole batch on one GPU, or one part of it under weak scaling.
        let alone = match self.count {
            1 => time_ns,
            _ => DataParallel::prepare(&[self.device], self.task.step(1), GradientSync::Never)?
                .beside(TURNS)?[0],
        };
        let speedup = if self.task.weak { parts * alone / time_ns } else { alone / time_ns };
        let [product, sum] = self.step.providers();
        let provider = [product, sum.clone()].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let batch = self.shape.rows * u64::from(self.count);
        let held = self.shape.footprint_bytes() as f64 / info.usable_memory_bytes.max(1) as f64;
        let mut fields = Fields::new()
            .with("operation", "data-parallel")
            .with("dtype", self.task.dtype.as_str());
        fields.set("provider", provider);
        fields.set("communication_backend", sum.unwrap_or_else(|| "none".to_owned()));
        fields.set("overlap", if self.task.overlapped { "on" } else { "off" });
        fields.set("scaling", if self.task.weak { "weak" } else { "strong" });
        fields.set("num_gpus", self.count);
        fields.set("size_bytes", self.shape.model_bytes());
        fields.set("model_size_gb", self.shape.model_bytes() as f64 / 1e9);
        fields.set("batch_size", batch);
        fields.set("init", "random uniform in [-1, 1)");
        self.step.accuracy.set(&mut fields);
        fields.set("time_ms", time_ns / 1e6);
        fields.set("time_per_step_ms", time_ns / 1e6);
        fields.set("communication_overhead_ms", (with - without).max(0.0) / 1e6);
        fields.set("communication_overhead_percent", 100.0 * (1.0 - without / with).max(0.0));
        fields.set("memory_utilization_percent", 100.0 * held);
        fields.set("tflops", parts * of_one / 1e3);
        fields.set("throughput_samples_per_second", batch as f64 / (time_ns / 1e9));
        fields.set("speedup", speedup);
        fields.set("efficiency", speedup / parts);
        Ok(fields)
    }
}
