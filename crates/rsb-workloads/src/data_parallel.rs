//! A step of data-parallel training over several devices, without the optimizer. Each device has
//! all weights and its part of a batch, runs a forward and a backward pass through linear layers,
//! and all-reduces the gradients of each layer.

use rsb_device::operation::{Collective, CollectiveKind, CollectiveLane, Gemm, OutputWidth};
use rsb_device::{Buffer, Device, Kernel, Operation, Options, Stream, convert, reference};
use rsb_model::{Dtype, Reason};

use crate::accuracy::Accuracy;
use crate::benchmark::Failure;
use crate::collective::{Differences, allocate_each, fill, longest, tolerance, values};

/// Dimensions of a step on one device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepShape {
    pub(crate) dtype: Dtype,
    /// Rows and columns of the weights of each layer.
    pub(crate) width: u64,
    /// Rows of its part of the batch.
    pub(crate) rows: u64,
}

impl StepShape {
    pub(crate) const LAYERS: u64 = 4;

    fn weights(&self) -> u64 {
        self.width.saturating_mul(self.width)
    }

    /// Returns the bytes of all weights, which equal those of the gradients.
    pub(crate) fn model_bytes(&self) -> u64 {
        self.dtype.bytes(self.weights().saturating_mul(Self::LAYERS))
    }

    /// Returns the bytes of all buffers: weights, gradients and their sums; activations and their
    /// gradients.
    pub(crate) fn footprint_bytes(&self) -> u64 {
        let of_rows = self.dtype.bytes(self.rows.saturating_mul(self.width));
        self.model_bytes()
            .saturating_mul(3)
            .saturating_add(of_rows.saturating_mul(2 * (Self::LAYERS + 1)))
    }

    /// Returns the number of operations: one product forward and two backward per layer, one fewer
    /// for the first layer, whose input needs no gradient.
    pub(crate) fn flops(&self) -> f64 {
        (3 * Self::LAYERS - 1) as f64 * 2.0 * self.rows as f64 * self.weights() as f64
    }

    fn product(&self, [m, n, k]: [u64; 3], [transpose_a, transpose_b]: [bool; 2]) -> Gemm {
        // Compensates the growth of products of random numbers, so that values keep their
        // magnitude.
        let alpha = (3.0 / k as f64).sqrt();
        let stored = OutputWidth::AsInputs;
        Gemm { transpose_a, transpose_b, alpha, stored, ..Gemm::new(self.dtype, m, n, k) }
    }

    /// Returns the products for the forward pass, the gradient of the weights and the gradient of
    /// the input.
    fn products(&self) -> [Gemm; 3] {
        let (rows, width) = (self.rows, self.width);
        let forward = self.product([rows, width, width], [false, false]);
        let of_weights = self.product([width, width, rows], [true, false]);
        [forward, of_weights, self.product([rows, width, width], [false, true])]
    }
}

/// Time at which gradients are all-reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GradientSync {
    /// After the whole backward pass.
    Afterwards,
    /// The gradients of each layer during the backward pass of the earlier layers.
    Overlapped,
    /// Never, to measure the step without communication.
    Never,
}

/// Buffers and kernels of one device.
struct Replica<'d> {
    device: &'d dyn Device,
    /// Inputs of each layer and the output of the last one, and the gradients of all of them.
    activations: Vec<Buffer>,
    gradients: Vec<Buffer>,
    weights: Vec<Buffer>,
    of_weights: Vec<Buffer>,
    sums: Vec<Buffer>,
    forward: Vec<Box<dyn Kernel + 'd>>,
    /// For each layer, the gradient of its weights, then of its input.
    backward: Vec<Vec<Box<dyn Kernel + 'd>>>,
}

impl<'d> Replica<'d> {
    fn new(device: &'d dyn Device, rank: u64, shape: &StepShape) -> Result<Self, Failure> {
        let layers = StepShape::LAYERS;
        let (of_rows, of_weights) = (shape.rows * shape.width, shape.weights());
        let (row_bytes, weight_bytes) = (shape.dtype.bytes(of_rows), shape.dtype.bytes(of_weights));
        let mut replica = Self {
            device,
            activations: allocate_each(device, layers + 1, row_bytes)?,
            gradients: allocate_each(device, layers + 1, row_bytes)?,
            weights: allocate_each(device, layers, weight_bytes)?,
            of_weights: allocate_each(device, layers, weight_bytes)?,
            sums: allocate_each(device, layers, weight_bytes)?,
            forward: Vec::new(),
            backward: Vec::new(),
        };
        // All devices have the same weights, and different parts of the batch.
        for (layer, buffer) in replica.weights.iter().enumerate() {
            fill(device, buffer, 0, shape.dtype, &values(0, layer + 2), of_weights)?;
        }
        for (which, buffer) in
            [replica.activations.first(), replica.gradients.last()].into_iter().enumerate()
        {
            let Some(buffer) = buffer else { continue };
            fill(device, buffer, 0, shape.dtype, &values(rank, which), of_rows)?;
        }
        for layer in 0..layers as usize {
            let mut kernels = Vec::new();
            for (gemm, buffers) in replica.bound(layer, shape) {
                kernels.push(device.prepare(
                    &Operation::Gemm(gemm),
                    &Options::default(),
                    &buffers,
                )?);
            }
            let mut kernels = kernels.into_iter();
            replica.forward.extend(kernels.next());
            replica.backward.push(kernels.collect());
        }
        Ok(replica)
    }

    /// Returns the products of a layer with their buffers. The first layer's input needs no
    /// gradient.
    fn bound(&self, layer: usize, shape: &StepShape) -> Vec<(Gemm, [Buffer; 3])> {
        let [forward, of_weights, of_input] = shape.products();
        let (x, g, w, dw) = (&self.activations, &self.gradients, &self.weights, &self.of_weights);
        let mut products = Vec::new();
        products.extend(bind(forward, x.get(layer), w.get(layer), x.get(layer + 1)));
        products.extend(bind(of_weights, x.get(layer), g.get(layer + 1), dw.get(layer)));
        if layer > 0 {
            products.extend(bind(of_input, g.get(layer + 1), w.get(layer), g.get(layer)));
        }
        products
    }

    /// Reads the numbers of a buffer.
    fn read(&self, dtype: Dtype, buffer: &Buffer) -> Result<Vec<f64>, Failure> {
        let mut bytes = vec![0; buffer.bytes() as usize];
        self.device.read(buffer, 0, &mut bytes)?;
        Ok(convert::decode(dtype, &bytes))
    }
}

/// Returns a product with its inputs and its output, or `None` if a buffer is missing.
fn bind(
    gemm: Gemm,
    a: Option<&Buffer>,
    b: Option<&Buffer>,
    c: Option<&Buffer>,
) -> Option<(Gemm, [Buffer; 3])> {
    Some((gemm, [a?.clone(), b?.clone(), c?.clone()]))
}

/// A prepared step on all devices.
pub(crate) struct DataParallel<'d> {
    shape: StepShape,
    replicas: Vec<Replica<'d>>,
    streams: Vec<Box<dyn Stream + 'd>>,
    /// All-reduce of each layer's gradients; empty on one device.
    sums: Vec<Box<dyn Kernel + 'd>>,
    summed: GradientSync,
    /// max|x − ref| / max|ref| of the products and of the sums.
    pub(crate) accuracy: Accuracy,
}

impl<'d> DataParallel<'d> {
    /// Allocates and fills the buffers on each device, runs a step and verifies some elements of
    /// every product and all elements of every sum.
    pub(crate) fn prepare(
        devices: &[&'d dyn Device],
        shape: StepShape,
        summed: GradientSync,
    ) -> Result<Self, Failure> {
        let mut step = Self {
            shape,
            replicas: Vec::new(),
            streams: Vec::new(),
            sums: Vec::new(),
            summed,
            accuracy: Accuracy::default(),
        };
        for (rank, &device) in (0..).zip(devices) {
            step.replicas.push(Replica::new(device, rank, &shape)?);
            step.streams.push(device.stream()?);
        }
        if let (Some(first), true) = (devices.first(), summed != GradientSync::Never) {
            let bytes = shape.dtype.bytes(shape.weights());
            let lane = if summed == GradientSync::Overlapped {
                CollectiveLane::Beside
            } else {
                CollectiveLane::InLine
            };
            let kind = CollectiveKind::AllReduce;
            let call = Collective {
                lane,
                ..Collective::of_bytes(kind, shape.dtype, bytes, devices.len() as u64)
            };
            for layer in 0..StepShape::LAYERS as usize {
                let mut pairs: Vec<(Buffer, Buffer)> = Vec::with_capacity(step.replicas.len());
                for replica in &step.replicas {
                    let own = replica.of_weights.get(layer);
                    if let (Some(own), Some(sum)) = (own, replica.sums.get(layer)) {
                        pairs.push((own.clone(), sum.clone()));
                    }
                }
                step.sums.push(first.prepare_collective(&call, &pairs)?);
            }
        }
        step.sample(1)?;
        step.accuracy = step.verify()?;
        Ok(step)
    }

    /// Returns the nanoseconds of one step with and without communication on the same buffers, each
    /// the best of `turns` alternating runs.
    pub(crate) fn beside(&mut self, turns: u32) -> Result<[f64; 2], Failure> {
        let (summed, mut best) = (self.summed, [f64::INFINITY; 2]);
        for _ in 0..turns {
            for (best, summed) in best.iter_mut().zip([summed, GradientSync::Never]) {
                self.summed = summed;
                *best = best.min(self.sample(1)?);
            }
        }
        self.summed = summed;
        Ok(best)
    }

    /// Runs exactly `iters` steps and returns the time of the slowest device.
    pub(crate) fn sample(&mut self, iters: u64) -> Result<f64, Failure> {
        let (replicas, sums, summed) = (&mut self.replicas, &mut self.sums, self.summed);
        longest(&mut self.streams, |_| (0..iters).try_for_each(|_| iterate(replicas, sums, summed)))
    }

    /// Returns the providers of the products and of the all-reduce.
    pub(crate) fn providers(&self) -> [Option<String>; 2] {
        let product = self.replicas.first().and_then(|replica| replica.forward.first());
        [product, self.sums.first()].map(|kernel| kernel.map(|kernel| kernel.provider()))
    }

    fn verify(&self) -> Result<Accuracy, Failure> {
        let (dtype, mut worst) = (self.shape.dtype, Accuracy::default());
        for replica in &self.replicas {
            for layer in 0..StepShape::LAYERS as usize {
                for (gemm, [a, b, c]) in replica.bound(layer, &self.shape) {
                    let [a, b, c] = [
                        replica.read(dtype, &a)?,
                        replica.read(dtype, &b)?,
                        replica.read(dtype, &c)?,
                    ];
                    worst = worst.worst(product_accuracy(&gemm, [&a, &b, &c])?);
                }
            }
        }
        if self.summed == GradientSync::Never {
            return Ok(worst);
        }
        for layer in 0..StepShape::LAYERS as usize {
            let mut right = vec![0.0; self.shape.weights() as usize];
            for replica in &self.replicas {
                let Some(buffer) = replica.of_weights.get(layer) else { continue };
                let own = replica.read(dtype, buffer)?;
                right.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            }
            let ends: Vec<(&dyn Device, &Buffer, u64)> = self
                .replicas
                .iter()
                .filter_map(|one| Some((one.device, one.sums.get(layer)?, 0)))
                .collect();
            let mut differences = Differences::default();
            differences.compare(&ends, dtype, self.shape.weights(), 0, |start, to| {
                to.iter_mut()
                    .zip(right.iter().skip(start as usize))
                    .for_each(|(to, right)| *to = *right);
            })?;
            let limit = tolerance(dtype, self.replicas.len());
            worst = worst.worst(differences.accuracy("the sum of gradients", limit)?);
        }
        Ok(worst)
    }
}

/// Runs one step. Each layer is launched on all devices before the next, so that no device waits
/// long for the host.
fn iterate(
    replicas: &mut [Replica<'_>],
    sums: &mut [Box<dyn Kernel + '_>],
    summed: GradientSync,
) -> Result<(), Failure> {
    for layer in 0..StepShape::LAYERS as usize {
        for replica in &mut *replicas {
            replica.forward.get_mut(layer).map_or(Ok(()), |kernel| kernel.launch())?;
        }
    }
    for layer in (0..StepShape::LAYERS as usize).rev() {
        for replica in &mut *replicas {
            let kernels = replica.backward.get_mut(layer).into_iter().flatten();
            kernels.take(1).try_for_each(|kernel| kernel.launch())?;
        }
        if let (GradientSync::Overlapped, Some(sum)) = (summed, sums.get_mut(layer)) {
            sum.launch()?;
        }
        for replica in &mut *replicas {
            let kernels = replica.backward.get_mut(layer).into_iter().flatten();
            kernels.skip(1).try_for_each(|kernel| kernel.launch())?;
        }
    }
    match summed {
        GradientSync::Afterwards => sums.iter_mut().rev().try_for_each(|sum| sum.launch())?,
        // All sums share a stream, so waiting for the last one suffices.
        GradientSync::Overlapped => sums.first_mut().map_or(Ok(()), |sum| sum.join())?,
        GradientSync::Never => {}
    }
    Ok(())
}

/// Returns the error of some elements of a product: the first, the last, and others in between at
/// irregular distances.
fn product_accuracy(gemm: &Gemm, [a, b, c]: [&[f64]; 3]) -> Result<Accuracy, Failure> {
    const LOOKED_AT: usize = 61;
    let (m, n, k) = (gemm.m as usize, gemm.n as usize, gemm.k as usize);
    let (mut difference, mut scale) = (0.0_f64, 0.0_f64);
    for look in 0..LOOKED_AT {
        let index = look * (m * n - 1) / (LOOKED_AT - 1);
        let (row, column) = (index / n, index % n);
        let mut sum = 0.0;
        for step in 0..k {
            let left = if gemm.transpose_a { step * m + row } else { row * k + step };
            let right = if gemm.transpose_b { column * k + step } else { step * n + column };
            sum += value_at(a, left) * value_at(b, right);
        }
        let right = gemm.alpha * sum;
        let found = (value_at(c, index) - right).abs();
        difference = difference.max(if found.is_nan() { f64::INFINITY } else { found });
        scale = scale.max(right.abs());
    }
    let error = if difference == 0.0 { 0.0 } else { difference / scale };
    let limit = reference::tolerance(&Operation::Gemm(*gemm), None);
    if error <= limit {
        return Ok(Accuracy { error, limit });
    }
    Err(Failure::Failed(Reason::new(
        "wrong result of a product of the training step",
        format!(
            "{m} by {n} from {k}: the error is {error:.1e} of the largest checked value, above the \
             limit of {limit:.1e}"
        ),
        "suspect the library, the driver or the hardware: measure gemm at this size",
    )))
}

fn value_at(values: &[f64], index: usize) -> f64 {
    values.get(index).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::scripted::{Fault, Script, ScriptedDevice};

    const SHAPE: StepShape = StepShape { dtype: Dtype::F32, width: 24, rows: 10 };

    #[test]
    fn a_step_without_communication_is_right_and_a_wrong_product_is_not() {
        assert!(error_without_communication(Script::default()).is_ok_and(|error| error < 1e-5));
        let wrong = Script::with_fault(Fault::WrongResult { launch: 5 });
        let failed = error_without_communication(wrong).unwrap_err();
        assert!(failed.reason().what.contains("product of the training step"), "{failed}");
    }

    fn error_without_communication(script: Script) -> Result<f64, Failure> {
        let device = ScriptedDevice::new(script);
        let step = DataParallel::prepare(&[&device], SHAPE, GradientSync::Never)?;
        Ok(step.accuracy.error)
    }

    #[test]
    fn a_step_counts_three_products_a_layer_but_for_one() {
        assert!((SHAPE.flops() - 11.0 * 2.0 * 10.0 * 576.0).abs() < 1e-9);
        assert_eq!(SHAPE.model_bytes(), 4 * 576 * 4);
        assert_eq!(SHAPE.footprint_bytes(), 4 * (3 * 4 * 576 + 2 * 5 * 240));
    }
}
