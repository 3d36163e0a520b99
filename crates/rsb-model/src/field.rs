//! Fields of a result: one table with the name, unit, role and direction of every field.
//!
//! Fields that are not in the table cannot be emitted: [`Fields::set`] rejects them in debug
//! builds, and a test checks every workload. The glossary is generated from the same table.

use serde_json::Value as Json;

use crate::unit::{Better, Unit};

/// Role of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldRole {
    /// Identifies the measured point: shapes, sizes, types.
    Parameter,
    /// Measured value that can be compared, with the direction in which it improves.
    Metric(Better),
    /// Measured or derived value without a better or worse direction.
    Fact,
}

/// One row of the table of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Name in documents.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// Role of the field.
    pub role: FieldRole,
    /// Description, one sentence.
    pub about: &'static str,
}

impl Field {
    /// Returns the row called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        FIELDS.iter().find(|field| field.name == name)
    }

    /// Returns the direction in which the field improves; `None` if it is not a metric.
    pub fn better(&self) -> Option<Better> {
        match self.role {
            FieldRole::Metric(better) => Some(better),
            FieldRole::Parameter | FieldRole::Fact => None,
        }
    }
}

/// Named values of one result, in the order in which they were set.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Fields(serde_json::Map<String, Json>);

impl Fields {
    /// Returns an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the field `name`, which must be in [`FIELDS`]. A number that is not finite is stored as
    /// null (unknown), not as zero.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Json>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets the field `name`, as [`Fields::with`], in place.
    pub fn set(&mut self, name: &'static str, value: impl Into<Json>) {
        debug_assert!(Field::find(name).is_some(), "`{name}` is not in the table of fields");
        self.0.insert(name.to_owned(), value.into());
    }

    /// Adds or replaces every field of `other`.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Removes the fields whose value is null.
    #[must_use]
    pub fn without_nulls(mut self) -> Self {
        self.0.retain(|_, value| !value.is_null());
        self
    }

    /// Returns the value called `name`.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0.get(name)
    }

    /// Returns the number called `name`.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Json::as_f64)
    }

    /// Returns the text called `name`.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Json::as_str)
    }

    /// Returns all names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns every metric with its row of the table and its number.
    pub fn metrics(&self) -> impl Iterator<Item = (&'static Field, f64)> {
        self.0.iter().filter_map(|(name, value)| {
            let field = Field::find(name)?;
            field.better()?;
            Some((field, value.as_f64()?))
        })
    }
}

/// Describes every row of the table. Other names are allowed, because runs of other versions
/// contain them.
impl schemars::JsonSchema for Fields {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Fields".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut properties = serde_json::Map::new();
        for field in FIELDS {
            let unit = if field.unit == Unit::One {
                String::new()
            } else {
                format!(", in {}", field.unit.symbol())
            };
            let mut property = serde_json::Map::new();
            property.insert("description".to_owned(), format!("{}{unit}", field.about).into());
            // A field without a unit can be text, a list or a Boolean.
            if field.unit != Unit::One || field.better().is_some() {
                property.insert("type".to_owned(), serde_json::json!(["number", "null"]));
            }
            if field.name == "snapshots" {
                property.extend(crate::gpu_sample::snapshots_schema());
            }
            properties.insert(field.name.to_owned(), Json::Object(property));
        }
        schemars::json_schema!({
            "description": "Named values of one result, in the order in which they were set.",
            "type": "object",
            "properties": properties,
            "additionalProperties": true
        })
    }
}

use Better::{Higher, Lower};
use FieldRole::{Fact, Metric, Parameter};

macro_rules! fields {
    ($($name:ident $unit:ident $role:expr, $about:literal;)*) => {
        /// All fields that a result can contain.
        pub const FIELDS: &[Field] = &[$(Field { name: stringify!($name), unit: Unit::$unit, role: $role, about: $about },)*];
    };
}

fields! {
    // Parameters: the measured point and its settings.
    operation One Parameter, "operation: copy, triad, relu, sum …";
    dtype One Parameter, "type of an element: f64 f32 tf32 f16 bf16 fp8 bf8 i8 fp6 fp4 i4";
    size_bytes Bytes Parameter, "bytes in one buffer";
    m One Parameter, "shape of a matrix product: m × k times k × n";
    n One Parameter, "shape of a matrix product: m × k times k × n";
    k One Parameter, "shape of a matrix product: m × k times k × n";
    batch_size One Parameter, "items processed together";
    transpose One Parameter, "for each operand of a matrix product, n as stored or t transposed: \
                              nn, tn, nt, tt";
    alpha One Parameter, "factor in alpha·A·B + beta·C";
    beta One Parameter, "factor in alpha·A·B + beta·C";
    epilogue One Parameter, "operation on a product before it is stored: none, bias, gelu (of \
                             the sum with a bias)";
    provider One Parameter, "library that computed the result";
    threads One Parameter, "CPU threads used";
    cache One Parameter, "hot: inputs were accessed just before; cold: caches were flushed \
                          before every iteration";
    numa One Parameter, "near: memory of the threads' own NUMA node; far: of the most distant node";
    stores One Parameter, "temporal: through the caches; non-temporal: bypassing the caches";
    rotating_buffers One Parameter, "sets of buffers used in turn";
    output_dtype One Fact, "type of an element of the result";
    ld_a One Parameter, "elements from one stored row of A, B or C to the next, if requested";
    ld_b One Parameter, "elements from one stored row of A, B or C to the next, if requested";
    ld_c One Parameter, "elements from one stored row of A, B or C to the next, if requested";
    stride_a One Parameter, "elements from one matrix of a batch to the next, if requested";
    stride_b One Parameter, "elements from one matrix of a batch to the next, if requested";
    stride_c One Parameter, "elements from one matrix of a batch to the next, if requested";
    strides_a One Fact, "elements between matrices, rows and columns of op(A), op(B) or C";
    strides_b One Fact, "elements between matrices, rows and columns of op(A), op(B) or C";
    strides_c One Fact, "elements between matrices, rows and columns of op(A), op(B) or C";
    algorithm_index One Fact, "index of the library's algorithm; 0 is its first choice";
    algorithms_tried One Fact, "algorithms of the library that were timed to choose one; 1: its \
                                first choice was used";
    accumulation One Parameter, "fp8 products: full, regularly promoted to f32; fast, only in the \
                                 matrix unit";
    init One Parameter, "input: uniformly random in [-1, 1), from a fixed seed, unless stated \
                         otherwise";
    input_shape One Parameter, "sizes, outermost first";
    output_shape One Parameter, "sizes, outermost first";
    weight_shape One Parameter, "sizes, outermost first";
    weight_dtype One Parameter, "type of the weights if it differs from dtype: i8, i4";
    group_size One Parameter, "number of weights in a row that share one scale";
    stride One Parameter, "step between output points of a convolution or strided access";
    padding One Parameter, "zeros assumed around the input of a convolution";
    dilation One Parameter, "step between the taps of a convolution";
    groups One Parameter, "independent groups of channels of a convolution";
    sequence_length One Parameter, "positions in a sequence";
    num_heads One Parameter, "attention heads";
    head_dim One Parameter, "elements per attention head";
    num_kv_heads One Parameter, "heads of keys and values, each shared by several query heads";
    vocabulary_size One Parameter, "tokens in the model's vocabulary";
    prompt_length One Parameter, "tokens in a prompt";
    output_length One Parameter, "tokens generated";
    num_prompts One Parameter, "prompts sent";
    num_requests One Parameter, "requests sent";
    max_tokens One Parameter, "maximum tokens generated for a request";
    num_gpus One Parameter, "GPUs used";
    communication_backend One Parameter, "communication between GPUs: rccl, nccl, ring (this \
                                          program's own copies)";
    algorithm One Parameter, "algorithm of a collective: ring, tree, auto (the library's choice)";
    overlap One Parameter, "whether gradients are summed during the backward pass: on, off";
    launcher One Parameter, "threads that call the collectives library: one-thread for all GPUs, \
                             or threads, one for each";
    placement One Parameter, "whether a result overwrites its input: in-place, out-of-place";
    grid_size One Parameter, "blocks in a launch";
    block_size One Parameter, "threads in a block";
    host_memory One Parameter, "host memory in a transfer: pinned, pageable (the default of \
                                allocations)";
    memory_tier One Parameter, "memory or link: device, host, host-to-device, device-to-host, \
                                bidirectional";
    kernels One Parameter, "kernels launched in one iteration";
    source_file One Parameter, "file of kernel sources";
    optimization One Parameter, "optimization level of the compiler: O0 to O3";
    engine One Parameter, "unit that computes the result: matrix, vector";
    sparsity One Parameter, "dense, or 2:4: two of four elements of A are zero, skipped by the \
                             unit, but counted";
    scaling One Parameter, "strong: fixed total size, shared by all GPUs; weak: fixed size for \
                            each GPU";
    peer One Parameter, "GPU at the other end";
    attention One Parameter, "staged: products, mask and softmax write every score; fused: one \
                              kernel writes none";
    launch_mode One Parameter, "launches of a pass: stream, one call for each kernel; graph, one \
                                call for all";
    mlp One Parameter, "hidden layer of a block: gelu, swiglu (gated)";
    profiler One Parameter, "profiler that counted: none, rocprofv3, ncu";
    norm One Parameter, "normalization before each half of a block: layer, rms";
    positions One Parameter, "position encoding in a block: none, rotary";
    num_layers One Parameter, "consecutive blocks of a model";
    load One Parameter, "load of the GPU while it is measured: idle, memory, compute";
    model_size_gb Gigabytes Parameter, "size of the model's weights";
    model One Parameter, "name of the model in the catalogue";
    model_class One Parameter, "class of the model in its package";
    model_name One Parameter, "name of the model in its configuration, or of its directory";
    network One Parameter, "type of an exported network: mlp, encoder, convolutional, decoder-step";
    architecture_type One Parameter, "family for `models` (encoder-only), else the name in the \
                                      configuration (llama, gpt2), or mlp for linear layers only";
    parameter_count One Parameter, "weights of the model, each counted once";
    workload One Parameter, "measured workload of a framework: matmul, attention …";
    causal One Parameter, "whether a position attends only to earlier ones";
    compilation One Parameter, "cold: compiled from scratch in each iteration; warm: compiled \
                                before, and run or loaded";
    zero_stage One Parameter, "state that ZeRO partitions across ranks: 0 none, 1 optimizer, 2 \
                               also gradients, 3 also weights";
    num_ranks One Parameter, "cooperating processes";
    use_cache One Parameter, "whether keys and values of earlier positions are kept";
    prefix_cache One Parameter, "reuse of keys and values of a repeated prefix: off, on";
    shared_prefix One Parameter, "tokens at the start of all prompts";
    graph_optimization One Parameter, "level of graph optimization: disabled, basic, extended, all";
    optimization_level One Parameter, "the runtime's own name of graph_optimization: ORT_ENABLE_ALL";
    request_rate One Parameter, "requests sent per second at random times; 0: all at once";
    concurrency One Parameter, "requests processed at the same time";
    performance_hint One Parameter, "goal of a runtime: latency, throughput";
    ttft_limit_ms Milliseconds Parameter, "longest ttft_ms or tpot_ms of a good response";
    tpot_limit_ms Milliseconds Parameter, "longest ttft_ms or tpot_ms of a good response";
    execution One Parameter, "eager (operation by operation), compiled, or graph (captured on a \
                              GPU)";
    optimizer One Parameter, "library whose optimizer updates the weights: torch, deepspeed";
    num_stages One Parameter, "stages of a software pipeline";
    num_warps One Parameter, "warps or waves of a block";
    // Time.
    time_ms Milliseconds Metric(Lower), "time of one iteration";
    time_us Microseconds Metric(Lower), "time of one iteration";
    latency_us Microseconds Metric(Lower), "time until a result is available";
    host_latency_us Microseconds Fact, "host time from the launch call until the wait for the \
                                        kernel's end returns";
    launch_time_us Microseconds Fact, "host time to submit the launches of one iteration; the \
                                       longest of several GPUs";
    latency_ns Nanoseconds Metric(Lower), "time of one dependent access";
    time_per_step_ms Milliseconds Metric(Lower), "time of one step of training";
    forward_time_ms Milliseconds Metric(Lower), "time of one pass through the model";
    latency_p50_ms Milliseconds Metric(Lower), "percentile of the latency";
    latency_p99_ms Milliseconds Metric(Lower), "percentile of the latency";
    p50_latency_ms Milliseconds Metric(Lower), "percentile of a request's latency, under vLLM's \
                                                name";
    p99_latency_ms Milliseconds Metric(Lower), "percentile of a request's latency, under vLLM's \
                                                name";
    execution_time_ms Milliseconds Metric(Lower), "time of one run of a graph";
    inference_time_ms Milliseconds Metric(Lower), "time of one inference";
    time_p50_ms Milliseconds Metric(Lower), "percentile of the sample times; compared if the \
                                             policy requests it";
    time_p90_ms Milliseconds Metric(Lower), "percentile of the sample times; compared if the \
                                             policy requests it";
    time_p99_ms Milliseconds Metric(Lower), "percentile of the sample times; compared if the \
                                             policy requests it";
    total_latency_ms Milliseconds Metric(Lower), "latency of the whole request";
    ttft_ms Milliseconds Metric(Lower), "time to the first token";
    tpot_ms Milliseconds Metric(Lower), "time for each token after the first";
    itl_ms Milliseconds Metric(Lower), "time between two tokens";
    latency_p90_ms Milliseconds Metric(Lower), "percentile of the latency";
    queue_time_ms Milliseconds Metric(Lower), "mean time from a request's arrival to its start";
    ttft_p90_ms Milliseconds Metric(Lower), "percentile of ttft_ms, tpot_ms or itl_ms";
    ttft_p99_ms Milliseconds Metric(Lower), "percentile of ttft_ms, tpot_ms or itl_ms";
    tpot_p90_ms Milliseconds Metric(Lower), "percentile of ttft_ms, tpot_ms or itl_ms";
    tpot_p99_ms Milliseconds Metric(Lower), "percentile of ttft_ms, tpot_ms or itl_ms";
    itl_p90_ms Milliseconds Metric(Lower), "percentile of ttft_ms, tpot_ms or itl_ms";
    itl_p99_ms Milliseconds Metric(Lower), "percentile of ttft_ms, tpot_ms or itl_ms";
    compile_time_ms Milliseconds Metric(Lower), "time to compile";
    compilation_time_ms Milliseconds Metric(Lower),
        "time to compile a graph into a program, median of several";
    backward_time_ms Milliseconds Metric(Lower), "time to compute the gradients";
    optimizer_step_time_ms Milliseconds Metric(Lower), "time to update the weights once";
    optimization_time_ms Milliseconds Metric(Lower), "time to optimize a graph";
    total_time_ms Milliseconds Metric(Lower), "total time of all requested work";
    time_total_seconds Seconds Metric(Lower), "total time of all requested work";
    alternative_time_ms Milliseconds Fact, "time of the fastest alternative, measured together \
                                            with the case";
    communication_overhead_ms Milliseconds Metric(Lower),
        "time of an iteration spent on communication between ranks, with waiting";
    // Rate.
    bandwidth_gb_s GigabytesPerSecond Metric(Higher), "bytes read and written, over time";
    memory_bandwidth_gb_s GigabytesPerSecond Metric(Higher),
        "bytes of all operands, each read or written once, over time";
    throughput_gb_s GigabytesPerSecond Metric(Higher), "bytes of input and output processed, over \
                                                        time";
    tflops Teraflops Metric(Higher), "operations over time";
    gflops Gigaflops Metric(Higher), "operations over time";
    tokens_per_second PerSecond Metric(Higher), "tokens over time";
    requests_per_second PerSecond Metric(Higher), "requests over time";
    goodput_requests_per_second PerSecond Metric(Higher), "requests answered within the limits, \
                                                           over time";
    throughput_samples_per_second PerSecond Metric(Higher), "samples over time";
    images_per_second PerSecond Metric(Higher), "images over time";
    steps_per_second PerSecond Metric(Higher), "steps of denoising over time, each of a whole \
                                                batch";
    real_time_factor One Metric(Lower), "processing time divided by the length of the audio";
    expert_balance_percent Percent Fact, "how evenly tokens reach experts: entropy of the shares \
                                          over its maximum";
    // Relative to a limit or a reference.
    utilization_percent Percent Metric(Higher), "share of the device's peak that was reached; of \
                                                 memory or of a server, share that was in use";
    roofline_percent Percent Metric(Higher), "share of the maximum rate of this device at this \
                                              arithmetic intensity";
    arithmetic_intensity FlopsPerByte Fact, "operations for each byte moved";
    peak_gflops Gigaflops Fact, "peak arithmetic rate: of the data sheet, on a CPU as measured \
                                 (f32 for f16 and bf16)";
    peak_bandwidth_gb_s GigabytesPerSecond Fact, "maximum bandwidth of the hardware";
    peak_tflops Teraflops Fact, "maximum rate of a GPU: compute units × operations of a unit per \
                                 clock × peak_clock_mhz";
    peak_clock_mhz Megahertz Fact, "clock used for the GPU's peaks: the highest of driver, data \
                                    sheet and (RDNA) pp_dpm_sclk";
    peak_clock_source One Fact, "source of peak_clock_mhz: driver, data sheet or pp_dpm_sclk";
    numa_distance One Fact, "distance from the threads' NUMA node to the memory's, by the \
                             firmware; 10: the same node";
    lies_in One Fact, "memory that holds the data, judged by size: L1, L2, L3, memory, or memory \
                       with a part in a cache";
    timed_by One Fact, "host, if the host's clock timed the device, because the driver has no \
                        clock or one that disagrees";
    memory_roof_gb_s GigabytesPerSecond Fact, "maximum rate of reading memory: the hardware's \
                                               peak, or on a CPU that of an array, measured \
                                               together with the case";
    peak_note One Fact, "why the peak is missing, halved or disputed, or that the result exceeds \
                         it";
    gemm_tflops Teraflops Fact, "rate of a large matrix product of the same type, measured \
                                 together with the case";
    link_gb_s GigabytesPerSecond Fact, "maximum rate of the link between host and GPU in one \
                                        direction, after line encoding";
    link_percent Percent Metric(Higher), "share of link_gb_s, of both directions if both are used";
    occupancy_percent Percent Metric(Higher), "resident waves over the maximum";
    speedup One Metric(Higher), "how many times faster than the reference";
    speedup_over One Fact, "data type of the reference";
    efficiency One Metric(Higher), "speedup over resources";
    comparison_to_pytorch One Metric(Higher), "how many times faster than the same operation in \
                                               PyTorch";
    comparison_to_compiled One Metric(Higher), "how many times faster than the same operation with \
                                                torch.compile";
    speedup_over_alternative One Metric(Higher), "how many times faster than the fastest \
                                                  alternative";
    alternative One Fact, "fastest alternative for the same operation here";
    communication_overhead_percent Percent Metric(Lower), "share of the time spent on \
                                                           communication between ranks";
    original_nodes One Fact, "nodes of a graph as provided";
    optimized_nodes One Fact, "nodes of a graph as executed";
    optimized_graph_nodes One Fact, "nodes as executed, after every requested level";
    prefix_cache_hit_percent Percent Fact, "share of prompt tokens whose keys and values were in \
                                            the cache";
    total_tokens One Fact, "tokens generated in one iteration";
    cache_hit_percent Percent Metric(Higher), "share of reads that hit the first-level data \
                                               cache, from hardware counters";
    cache_references One Fact, "counted reads of the first-level data cache";
    // Memory.
    memory_used_mb Megabytes Metric(Lower), "memory in use during the work";
    gpu_memory_peak_mb Megabytes Metric(Lower), "maximum device memory in use";
    memory_footprint_mb Megabytes Metric(Lower), "memory that a network needs: weights and \
                                                  activations";
    memory_savings_mb Megabytes Metric(Higher), "memory saved compared with the graph as provided";
    standard_memory_mb Megabytes Fact, "most that the standard implementation allocates in one \
                                        pass";
    flash_memory_mb Megabytes Metric(Lower), "most that flash attention allocates in one pass";
    model_memory_mb Megabytes Fact, "memory of the weights, at the memory peak of a step";
    gradients_memory_mb Megabytes Fact, "memory of the gradients, at the memory peak of a step";
    optimizer_memory_mb Megabytes Fact, "memory of the optimizer's state, at the memory peak of a step";
    activations_memory_mb Megabytes Fact, "activations that the backward pass still needs, at \
                                           the memory peak of a step; for inference, the most \
                                           that a pass allocates: activations, keys and values";
    other_memory_mb Megabytes Fact, "everything else, at the memory peak of a step: inputs, \
                                     temporary memory";
    memory_timeline One Fact, "memory in use during one step: MB of each kind over the time in ms";
    memory_allocated_mb Megabytes Metric(Lower), "memory that a framework has allocated";
    savings_percent Percent Metric(Higher), "share of the standard implementation's memory that \
                                             is saved";
    memory_saved_gb Gigabytes Metric(Higher), "memory saved by partitioning across ranks";
    memory_read_gb Gigabytes Fact, "bytes of the inputs";
    memory_write_gb Gigabytes Fact, "bytes of the output";
    memory_utilization_percent Percent Fact, "memory of a case on one GPU, over what a benchmark \
                                              may use there";
    memory_average_mb Megabytes Metric(Lower), "mean memory in use";
    memory_fragmentation_percent Percent Metric(Lower),
        "memory reserved from the system but not in use, over memory reserved";
    allocation_overhead_percent Percent Metric(Lower),
        "time to allocate and free, over the time to allocate, write every page and free";
    memory_leaked_bytes Bytes Metric(Lower), "heap bytes allocated during the timed iterations \
                                              and not freed after them";
    native_memory_leaked_bytes Bytes Metric(Lower),
        "bytes of malloc outside Rust's heap \
                                                     (libraries, drivers), not freed after the \
                                                     timed iterations";
    device_memory_leaked_bytes Bytes Metric(Lower),
        "decrease of the device's free memory over the timed iterations";
    allocations_per_iteration One Metric(Lower), "heap allocations in one iteration";
    allocated_bytes_per_iteration Bytes Metric(Lower),
        "bytes of heap allocations in one \
                                                        iteration (`--metric allocations`)";
    peak_heap_bytes Bytes Metric(Lower), "growth of the heap at the peak of one iteration \
                                          (`--metric peak-memory`)";
    // Work.
    instructions One Metric(Lower), "CPU instructions of one iteration, counted once, not timed \
                                     (`--metric instructions`)";
    estimated_cycles One Metric(Lower), "cycles estimated from instructions and simulated cache \
                                         misses (`--metric estimated-cycles`)";
    code_size_bytes Bytes Metric(Lower), "machine code of an executable, its section `.text` \
                                          (`--metric code-size`)";
    instructions_source One Fact, "perf (the CPU's counters), callgrind or cachegrind \
                                   (Valgrind's emulated CPU, without AVX-512)";
    // Accuracy and spread.
    failed_runs_percent Percent Metric(Lower), "share of the runs of a command with a nonzero \
                                                exit code";
    failed_requests One Metric(Lower), "requests that were not answered";
    accuracy_error One Metric(Lower), "max|x − ref| / max|ref| against a reference in higher \
                                       precision";
    accuracy_limit One Fact, "largest accuracy_error that passes verification";
    sums_in One Fact, "type in which the provider sums products, if narrower than f32";
    reference_accuracy_error One Fact, "accuracy_error of the reference that speedup compares with";
    input_error One Fact, "rounding error of the inputs, before computing: max|rounded − exact| \
                           / max|exact|";
    gradient_norm One Fact, "norm of the gradient of all weights";
    std_dev Milliseconds Fact, "standard deviation of the time of an iteration";
    cv One Fact, "coefficient of variation: std_dev over the mean";
    num_runs One Fact, "samples taken";
    warmup_runs One Fact, "iterations before sampling";
    // GPU.
    gfx_target One Fact, "instruction set of the GPU: gfx1100, sm_90";
    compute_units One Fact, "compute units or streaming multiprocessors of the GPU";
    component_version One Fact, "version of the framework that ran";
    device_metrics One Fact, "further metrics of the backend, in its own schema (docs/models.md)";
    quantized_layers One Fact, "layers whose weights are integers";
    node_profile One Fact, "slowest operations of a graph, with their time in one run";
    kernel_used One Fact, "kernel that computed the result, as observed";
    spills One Fact, "registers of a thread spilled to memory";
    shared_mem_bytes Bytes Fact, "shared memory of a block";
    measured_occupancy_percent Percent Fact, "resident waves over the maximum, counted by \
                                              rocprofv3 or ncu";
    wave_efficiency_percent Percent Fact, "share of active threads in a wave, counted by \
                                           rocprofv3 or ncu";
    memory_busy_percent Percent Fact, "share of time in which the memory unit was active, \
                                       counted by rocprofv3 or ncu";
    recommended_block_size One Fact, "threads of the block with most resident waves; the largest \
                                      of equals";
    recommended_speedup One Fact, "time with this block size over that with the recommended one, \
                                   measured together";
    sm_efficiency_percent Percent Fact, "share of cycles in which the GPU was active \
                                         (GRBM_GUI_ACTIVE over GRBM_COUNT); null if not counted";
    warp_efficiency_percent Percent Fact, "share of active threads in a wave; null if not counted";
    global_memory_efficiency_percent Percent Fact,
        "bytes requested over bytes moved; null if not counted";
    counters_note One Fact, "source of a profiler's values, and why others are null";
    registers One Fact, "vector registers of a thread";
    shared_bytes Bytes Fact, "shared memory of a block";
    code_object_bytes Bytes Fact, "size of the compiled code";
    available One Fact, "whether the GPU has a matrix unit; null if its architecture is unknown";
    architecture One Fact, "instruction set of the GPU, without features: gfx942, sm_90";
    matrix_size One Fact, "tiles m x n x k of the matrix instructions for f16";
    wmma_version One Fact, "generation of the WMMA unit; null without one";
    peak_tflops_fp16 Teraflops Fact, "matrix unit's maximum rate by the table of architectures \
                                      at peak_clock_mhz";
    peak_tflops_bf16 Teraflops Fact, "matrix unit's maximum rate by the table of architectures \
                                      at peak_clock_mhz";
    peak_tflops_tf32 Teraflops Fact, "matrix unit's maximum rate by the table of architectures \
                                      at peak_clock_mhz";
    matrix_unit One Fact, "kind and generation of the matrix unit: MFMA 3, WMMA 1, none";
    tile_sizes One Fact, "tiles m x n x k of the matrix instructions for the type";
    supported_dtypes One Fact, "types that the GPU has instructions for";
    pci_address One Fact, "PCI address of the GPU that ran the case, by its runtime";
    numa_node One Fact, "NUMA node of the GPU, on whose CPUs the case ran";
    gpu_max_clock_mhz Megahertz Fact, "highest clock of the compute units in the driver's list";
    // State.
    gpu_temperature_c Celsius Fact, "temperature of the GPU";
    gpu_power_w Watts Fact, "power drawn by the GPU";
    cpu_power_w Watts Fact, "power of CPUs and their memory, from RAPL, with other work on the \
                             machine";
    gpu_memory_used_mb Megabytes Fact, "memory of the GPU in use by all processes";
    gpu_memory_total_mb Megabytes Fact, "memory of the GPU";
    gpu_utilization_percent Percent Fact, "share of time that the GPU was busy";
    gpu_clock_mhz Megahertz Fact, "clock of the GPU's compute units";
    gpu_memory_clock_mhz Megahertz Fact, "clock of the GPU's memory";
    gpu_throttled One Fact, "whether the GPU was throttled";
    throttle_reasons One Fact, "reasons why the GPU was throttled";
    duration_seconds Seconds Parameter, "time for which a GPU's sensors are sampled";
    sample_interval_ms Milliseconds Parameter, "time between two readings of the sensors";
    sensor_reading_us Microseconds Fact, "time of one reading of all sensors";
    snapshots One Fact, "time series of the sensors: a timestamp and values for each";
    sensor_readings One Fact, "readings of the GPU's sensors";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (index, field) in FIELDS.iter().enumerate() {
            assert!(
                FIELDS[index + 1..].iter().all(|other| other.name != field.name),
                "{}",
                field.name
            );
        }
    }

    #[test]
    fn a_name_that_ends_in_a_unit_has_that_unit() {
        for field in FIELDS {
            let expected = [
                ("_ms", Unit::Milliseconds),
                ("_us", Unit::Microseconds),
                ("_ns", Unit::Nanoseconds),
                ("_gb_s", Unit::GigabytesPerSecond),
                ("_mb", Unit::Megabytes),
                ("_mhz", Unit::Megahertz),
                ("_percent", Unit::Percent),
                ("_bytes", Unit::Bytes),
                ("gflops", Unit::Gigaflops),
                ("tflops", Unit::Teraflops),
            ];
            for (suffix, unit) in expected {
                if field.name.ends_with(suffix) {
                    assert_eq!(field.unit, unit, "{}", field.name);
                }
            }
        }
    }

    #[test]
    fn what_is_not_finite_is_unknown() {
        assert_eq!(Fields::new().with("time_ms", f64::NAN).get("time_ms"), Some(&Json::Null));
    }
}
