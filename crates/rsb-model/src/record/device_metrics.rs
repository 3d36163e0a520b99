//! Metrics other than times that each backend reports for a model: the schema of `device_metrics`,
//! which the Python workloads write.

use schemars::JsonSchema;

/// Metrics that a backend reports for one pass of a model.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(tag = "backend", rename_all = "lowercase", deny_unknown_fields)]
pub enum DeviceMetrics {
    /// PyTorch on a CPU.
    Cpu {
        /// Threads per operation.
        num_threads: u32,
        /// Instruction set that PyTorch's kernels use, such as `AVX512`.
        instruction_set: String,
        /// Whether PyTorch was built with oneDNN.
        has_onednn: bool,
        /// Operations in one pass.
        layer_count: u32,
        /// Longest operations, as reported by the profiler.
        layers: Vec<LayerTime>,
    },
    /// PyTorch on an AMD GPU.
    Rocm(GpuModelMetrics),
    /// PyTorch on an NVIDIA GPU.
    Cuda(GpuModelMetrics),
    /// PyTorch on an Apple GPU.
    Mps {
        /// Memory of tensors, in MB.
        allocated_mb: f64,
        /// Memory that the driver holds for the process, in MB.
        reserved_mb: f64,
        /// Share of `reserved_mb` that no tensor uses, in percent.
        fragmentation_percent: f64,
        /// Recommended upper limit of memory use, as reported by the system, in MB.
        recommended_max_mb: f64,
        /// Time of one pass measured with GPU events, in ms. Null if it contradicts the host clock.
        event_time_ms: Option<f64>,
        /// Mean GPU clock during the passes, in MHz. This and the following fields come from
        /// macOS's `powermetrics`.
        gpu_clock_mhz: Option<f64>,
        /// Share of time that the GPU was busy, in percent.
        gpu_utilization_percent: Option<f64>,
        /// Mean power of the GPU, in W.
        gpu_power_w: Option<f64>,
        /// Reason why `powermetrics` reported nothing, and what to do about it.
        counters_note: Option<String>,
    },
    /// `OpenVINO`.
    #[schemars(rename = "openvino")]
    OpenVino {
        /// Devices that executed the model.
        execution_devices: String,
        /// Performance hint: `latency` or `throughput`.
        performance_hint: String,
        /// Number of passes executed in parallel.
        num_streams: u32,
        /// Threads of all streams together.
        num_threads: u32,
        /// Number of requests that keep the runtime busy.
        num_requests: u32,
        /// Layers that compute with integers.
        whole_number_layers: u32,
        /// Layers executed in one pass.
        layer_count: u32,
        /// Longest layers.
        layers: Vec<LayerTime>,
    },
    /// ONNX Runtime.
    #[schemars(rename = "onnxruntime")]
    OnnxRuntime {
        /// Execution provider that ran all nodes.
        execution_provider: String,
        /// Threads per operation.
        num_threads: u32,
        /// Nodes in one pass.
        layer_count: u32,
        /// Longest nodes, as reported by the profiler.
        layers: Vec<LayerTime>,
    },
    /// Qualcomm QNN, on the HTP that its package emulates.
    Qnn {
        /// Always true. Cycles of the emulator follow the host's clock and do not show the speed of
        /// hardware.
        is_emulated: bool,
        /// Nodes of the graph, all executed by QNN.
        nodes: u32,
        /// Whether the compiled graph was cached by an earlier case.
        is_cached: bool,
        /// Size of the compiled graph in bytes.
        context_bytes: u64,
        /// Emulated HTP architecture, such as `v75`.
        htp_arch: String,
        /// Cycles of one pass, as reported by the profile.
        cycles: Option<u64>,
        /// Nodes with the most cycles.
        layers: Vec<LayerTime>,
    },
}

/// Metrics that PyTorch and the GPU's sensors report.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
pub struct GpuModelMetrics {
    /// Time of all kernels of one pass in µs, measured with CUPTI or ROCm's profiler.
    pub kernel_time_us: f64,
    /// Memory of tensors, in MB.
    pub allocated_mb: f64,
    /// Peak memory of tensors, in MB.
    pub allocated_peak_mb: f64,
    /// GPU memory held by the allocator, in MB.
    pub reserved_mb: f64,
    /// Share of `reserved_mb` that no tensor uses, in percent.
    pub fragmentation_percent: f64,
    /// Number of times that the allocator released cached memory and tried again.
    pub allocation_retries: u64,
    /// Kernels in one pass.
    pub layer_count: u32,
    /// Longest kernels.
    pub layers: Vec<LayerTime>,
    /// Mean power during sampling, in W. This and the following fields come from the driver's
    /// sensors.
    pub gpu_power_w: Option<f64>,
    /// Highest temperature, in °C.
    pub gpu_temperature_c: Option<f64>,
    /// Mean clock of the compute units, in MHz.
    pub gpu_clock_mhz: Option<f64>,
    /// Mean clock of the memory, in MHz.
    pub gpu_memory_clock_mhz: Option<f64>,
    /// Peak GPU memory in use by all processes, in MB.
    pub gpu_memory_used_mb: Option<f64>,
    /// Total memory of the GPU, in MB.
    pub gpu_memory_total_mb: Option<f64>,
    /// Mean share of time that the GPU was busy, in percent.
    pub gpu_utilization_percent: Option<f64>,
    /// Whether the GPU was throttled.
    pub throttled: Option<bool>,
    /// Reasons for throttling.
    pub throttle_reasons: Option<Vec<String>>,
}

/// Layer, operation or kernel, and its share of one pass.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
pub struct LayerTime {
    /// Name.
    pub name: String,
    /// Operator type, if reported separately from the name.
    pub kind: Option<String>,
    /// Kernel that implements the operation.
    pub kernel: Option<String>,
    /// Number of executions.
    pub count: Option<u32>,
    /// Time in µs.
    pub time_us: Option<f64>,
    /// Cycles, if the operation ran on an emulator.
    pub cycles: Option<u64>,
}
