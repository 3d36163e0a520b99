//! What each backend counts of a model beside times: the schema of `device_metrics`. The workloads
//! in Python write it.

use schemars::JsonSchema;

/// What a backend counted in one pass of a model.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(tag = "backend", rename_all = "lowercase", deny_unknown_fields)]
pub enum DeviceMetrics {
    /// PyTorch on a CPU.
    Cpu {
        /// Threads of one operation.
        num_threads: u32,
        /// The instruction set that PyTorch's kernels were chosen for, such as `AVX512`.
        instruction_set: String,
        /// Whether oneDNN is built in.
        has_onednn: bool,
        /// Operations of a pass.
        layer_count: u32,
        /// The longest of them, by their profiler.
        layers: Vec<LayerTime>,
    },
    /// PyTorch on a GPU of AMD.
    Rocm(GpuModelMetrics),
    /// PyTorch on a GPU of NVIDIA.
    Cuda(GpuModelMetrics),
    /// PyTorch on a GPU of Apple.
    Mps {
        /// Memory of tensors in MB.
        allocated_mb: f64,
        /// Memory that the driver holds for the process in MB.
        reserved_mb: f64,
        /// The part of `reserved_mb` that no tensor uses, in percent.
        fragmentation_percent: f64,
        /// Memory that the system advises not to exceed in MB.
        recommended_max_mb: f64,
        /// Time of a pass by the GPU's events in ms; none where they contradict the clock.
        event_time_ms: Option<f64>,
        /// Mean clock of the GPU in MHz while passes ran, as what follows by macOS's
        /// `powermetrics`.
        gpu_clock_mhz: Option<f64>,
        /// Share of time that the GPU was busy in percent.
        gpu_utilization_percent: Option<f64>,
        /// Mean power of the GPU in W.
        gpu_power_w: Option<f64>,
        /// Why `powermetrics` told nothing, and the cure.
        counters_note: Option<String>,
    },
    /// `OpenVINO`.
    #[schemars(rename = "openvino")]
    OpenVino {
        /// Where it ran.
        execution_devices: String,
        /// What it was tuned for: `latency`, `throughput`.
        performance_hint: String,
        /// Passes that it works on at a time.
        num_streams: u32,
        /// Threads of all streams.
        num_threads: u32,
        /// Requests that keep it busy.
        num_requests: u32,
        /// Layers that work in whole numbers.
        whole_number_layers: u32,
        /// Layers that ran in a pass.
        layer_count: u32,
        /// The longest of them.
        layers: Vec<LayerTime>,
    },
    /// ONNX Runtime.
    #[schemars(rename = "onnxruntime")]
    OnnxRuntime {
        /// What ran every node.
        execution_provider: String,
        /// Threads of one operation.
        num_threads: u32,
        /// Nodes of a pass.
        layer_count: u32,
        /// The longest of them, by its profiler.
        layers: Vec<LayerTime>,
    },
    /// Qualcomm's QNN, on the HTP that its package emulates.
    Qnn {
        /// Always so here: cycles follow the host's clock and are no speed.
        is_emulated: bool,
        /// Nodes of the graph, every one of them QNN's.
        nodes: u32,
        /// Whether the compiled graph was there from an earlier case.
        is_cached: bool,
        /// Size of the compiled graph.
        context_bytes: u64,
        /// Which HTP is emulated, such as `v75`.
        htp_arch: String,
        /// Cycles of a pass, as the profile says.
        cycles: Option<u64>,
        /// The nodes with most cycles.
        layers: Vec<LayerTime>,
    },
}

/// What PyTorch tells of a GPU.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
pub struct GpuModelMetrics {
    /// Time of all kernels of a pass in µs, by CUPTI or ROCm's profiler.
    pub kernel_time_us: f64,
    /// Memory of tensors in MB.
    pub allocated_mb: f64,
    /// The most of it.
    pub allocated_peak_mb: f64,
    /// Memory that the allocator holds of the GPU in MB.
    pub reserved_mb: f64,
    /// The part of `reserved_mb` that no tensor uses, in percent.
    pub fragmentation_percent: f64,
    /// How often the allocator gave back what it held, to try again.
    pub allocation_retries: u64,
    /// Kernels of a pass.
    pub layer_count: u32,
    /// The longest of them.
    pub layers: Vec<LayerTime>,
    /// Mean power in W while the case was sampled, as all that follows by the driver's sensors.
    pub gpu_power_w: Option<f64>,
    /// The hottest in °C.
    pub gpu_temperature_c: Option<f64>,
    /// Mean clock of the compute units in MHz.
    pub gpu_clock_mhz: Option<f64>,
    /// Mean clock of the memory in MHz.
    pub gpu_memory_clock_mhz: Option<f64>,
    /// The most memory of the GPU that was in use by all, in MB.
    pub gpu_memory_used_mb: Option<f64>,
    /// Memory of the GPU in MB.
    pub gpu_memory_total_mb: Option<f64>,
    /// Mean share of time that the GPU was busy in percent.
    pub gpu_utilization_percent: Option<f64>,
    /// Whether anything held the GPU back.
    pub throttled: Option<bool>,
    /// What did.
    pub throttle_reasons: Option<Vec<String>>,
}

/// A layer, operation or kernel, and what it takes of a pass.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
pub struct LayerTime {
    /// Its name.
    pub name: String,
    /// What it does, where that is told apart from its name.
    pub kind: Option<String>,
    /// The code that ran.
    pub kernel: Option<String>,
    /// How often it ran.
    pub count: Option<u32>,
    /// Time in µs.
    pub time_us: Option<f64>,
    /// Cycles of an emulator.
    pub cycles: Option<u64>,
}
