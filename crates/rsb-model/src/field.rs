//! The fields of a result: one table of every name, its unit, its role and its direction.
//!
//! A field that is not in the table cannot be emitted: [`Fields::set`] refuses it in debug builds
//! and a test walks every workload. The glossary is generated from the same table.

use serde_json::Value as Json;

use crate::unit::{Better, Unit};

/// What a field is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldRole {
    /// Says which point was measured: shapes, sizes, types.
    Parameter,
    /// A measured figure that can be compared, and the way it improves.
    Metric(Better),
    /// A measured or derived figure that has no better or worse.
    Fact,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The name in documents.
    pub name: &'static str,
    /// What the value counts.
    pub unit: Unit,
    /// What it is for.
    pub role: FieldRole,
    /// One sentence for people.
    pub about: &'static str,
}

impl Field {
    /// The row called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        FIELDS.iter().find(|field| field.name == name)
    }

    /// The direction, for a metric.
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
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `name`, which must be in [`FIELDS`]. A figure that is not finite is recorded as null:
    /// unknown, not zero.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Json>) -> Self {
        self.set(name, value);
        self
    }

    /// As [`Fields::with`], in place.
    pub fn set(&mut self, name: &'static str, value: impl Into<Json>) {
        debug_assert!(Field::find(name).is_some(), "`{name}` is not in the table of fields");
        self.0.insert(name.to_owned(), value.into());
    }

    /// Takes over every field of `other`.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Without what is null.
    #[must_use]
    pub fn without_nulls(mut self) -> Self {
        self.0.retain(|_, value| !value.is_null());
        self
    }

    /// The value called `name`.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0.get(name)
    }

    /// The number called `name`.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Json::as_f64)
    }

    /// The text called `name`.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Json::as_str)
    }

    /// Every name and value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every metric with its number and row.
    pub fn metrics(&self) -> impl Iterator<Item = (&'static Field, f64)> {
        self.0.iter().filter_map(|(name, value)| {
            let field = Field::find(name)?;
            field.better()?;
            Some((field, value.as_f64()?))
        })
    }
}

/// Every row of the table; other names may stand there, too, as runs of other versions have them.
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
            // What counts nothing may be a word, a list or whether something is so.
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
        /// Every field that a result may carry.
        pub const FIELDS: &[Field] = &[$(Field { name: stringify!($name), unit: Unit::$unit, role: $role, about: $about },)*];
    };
}

fields! {
    // Where and what.
    operation One Parameter, "what was done: copy, triad, relu, sum …";
    dtype One Parameter, "type of an element: f64 f32 tf32 f16 bf16 fp8 bf8 i8 fp6 fp4 i4";
    size_bytes Bytes Parameter, "bytes in one buffer";
    m One Parameter, "rows of the result of a matrix product";
    n One Parameter, "columns of the result of a matrix product";
    k One Parameter, "length of the sum in a matrix product";
    batch_size One Parameter, "items handled together";
    transpose One Parameter, "for each operand of a matrix product, n as stored or t transposed: \
                              nn, tn, nt, tt";
    alpha One Parameter, "factor of the product in alpha·A·B + beta·C";
    beta One Parameter, "factor of C in alpha·A·B + beta·C";
    epilogue One Parameter, "what is done with each element of a product before it is stored: \
                             none, bias, gelu (of the sum with a bias)";
    provider One Parameter, "the library that did the work";
    threads One Parameter, "CPU threads used";
    cache One Parameter, "hot: inputs were touched just before; cold: caches were flushed before \
                          every iteration";
    numa One Parameter, "which memory of a CPU: near, of the NUMA node that its threads run on; \
                         far, of the farthest other";
    stores One Parameter, "temporal: through the caches; non-temporal: around them";
    rotating_buffers One Parameter, "sets of buffers that take turns from one iteration to the \
                                     next";
    output_dtype One Fact, "type of an element of the result";
    strides_a One Fact, "elements from one matrix, row and column of op(A) to the next";
    strides_b One Fact, "elements from one matrix, row and column of op(B) to the next";
    strides_c One Fact, "elements from one matrix, row and column of C to the next";
    algorithm_index One Fact, "place of the algorithm among those that the library offers, from 0, \
                               its own first choice";
    algorithms_tried One Fact, "algorithms of the library that were timed before; 1 where its \
                                first choice was taken as it is";
    accumulation One Parameter, "how sums of fp8 are made: full, promoted to f32 from time to \
                                 time; fast, by the matrix unit alone";
    init One Parameter, "kind of input: random uniform in [-1, 1), from a fixed seed, unless said \
                         otherwise";
    input_shape One Parameter, "sizes of the input, outermost first";
    output_shape One Parameter, "sizes of the output, outermost first";
    weight_shape One Parameter, "sizes of the weights, outermost first";
    weight_dtype One Parameter, "type of the weights of products where it is another than dtype: \
                                 i8, i4";
    group_size One Parameter, "weights of a row that have one scale";
    stride One Parameter, "step between output points of a convolution or strided access";
    padding One Parameter, "zeros assumed around the input of a convolution";
    dilation One Parameter, "step between the taps of a convolution";
    groups One Parameter, "independent groups of channels of a convolution";
    sequence_length One Parameter, "positions in a sequence";
    num_heads One Parameter, "attention heads";
    head_dim One Parameter, "length of one attention head";
    num_kv_heads One Parameter, "heads of keys and values, each of which serves several of queries";
    vocabulary_size One Parameter, "words that a model knows";
    prompt_length One Parameter, "tokens in a prompt";
    output_length One Parameter, "tokens generated";
    num_prompts One Parameter, "prompts sent";
    num_requests One Parameter, "requests sent";
    max_tokens One Parameter, "most tokens generated for a request";
    num_gpus One Parameter, "GPUs used";
    communication_backend One Parameter, "who sends between GPUs: rccl, nccl, or ring, our own \
                                          copies";
    algorithm One Parameter, "way of a collective: ring, tree, or auto, the library's own choice";
    overlap One Parameter, "whether gradients are summed beside the backward pass: on, off";
    launcher One Parameter, "who calls a library of collectives: one-thread for all GPUs, or \
                             threads, one for each";
    placement One Parameter, "whether a result goes where its input was: in-place, out-of-place";
    grid_size One Parameter, "blocks in a launch";
    block_size One Parameter, "threads in a block";
    host_memory One Parameter, "memory of the host in a transfer: pinned in place, or pageable as \
                                any program has it";
    memory_tier One Parameter, "which memory, or the link between two: device, host, \
                                host-to-device, device-to-host, or both ways at once, \
                                bidirectional";
    kernels One Parameter, "kernels started in one iteration";
    source_file One Parameter, "file of kernel sources";
    optimization One Parameter, "level of optimization that the compiler is asked for: O0 to O3";
    engine One Parameter, "part of a compute unit that does the work: matrix, vector";
    sparsity One Parameter, "dense, or 2:4: of four elements of A the unit leaves out two that are \
                             zero, and they are counted";
    scaling One Parameter, "strong: one task shared by all GPUs; weak: as much for each GPU as for \
                            one";
    peer One Parameter, "the GPU at the other end";
    attention One Parameter, "staged: products, mask and softmax write every score; fused: one \
                              kernel writes none";
    launch_mode One Parameter, "how the kernels of a pass are started: stream, by a call each; \
                                graph, by one call for all";
    mlp One Parameter, "hidden layer of a block: gelu, or swiglu, a gated one";
    profiler One Parameter, "who counted while the kernels ran: none, rocprofv3, ncu";
    norm One Parameter, "of rows before each half of a block: layer, rms";
    positions One Parameter, "how a block knows where a token stands: none, rotary";
    num_layers One Parameter, "blocks of a model, one after another";
    load One Parameter, "what the GPU does meanwhile: idle, memory, compute";
    model_size_gb Gigabytes Parameter, "size of the model's weights";
    model One Parameter, "the model, as the catalogue calls it";
    model_class One Parameter, "class of the model in its package";
    model_name One Parameter, "the model, as its configuration or its directory calls it";
    network One Parameter, "form of an exported network: mlp, encoder, convolutional, decoder-step";
    architecture_type One Parameter, "kind of the model: its family for `models` (encoder-only), \
                                      else as its configuration calls it: llama, gpt2, mlp for \
                                      linear layers alone";
    parameter_count One Parameter, "weights of the model, each counted once";
    workload One Parameter, "what is measured of a framework: matmul, attention …";
    causal One Parameter, "whether a position of an attention sees only those before it";
    compilation One Parameter, "cold: compiled from nothing in each iteration; warm: what was \
                                compiled before, run or loaded";
    zero_stage One Parameter, "what ZeRO shares among ranks: 0 nothing, 1 optimizer, 2 gradients \
                               too, 3 weights too";
    num_ranks One Parameter, "processes that work together";
    use_cache One Parameter, "whether keys and values of earlier positions are kept";
    prefix_cache One Parameter, "whether keys and values of a beginning that was seen before are \
                                 taken again: off, on";
    shared_prefix One Parameter, "tokens with which all prompts begin";
    graph_optimization One Parameter, "how far a graph is optimized before it runs: disabled, \
                                       basic, extended, all";
    optimization_level One Parameter, "the runtime's own name of how far a graph is optimized: \
                                       ORT_ENABLE_ALL";
    request_rate One Parameter, "requests sent in a second at random times; 0 for all at once";
    concurrency One Parameter, "requests worked on at the same time";
    performance_hint One Parameter, "what a runtime is tuned for: latency, throughput";
    ttft_limit_ms Milliseconds Parameter, "longest time to the first token of a good answer";
    tpot_limit_ms Milliseconds Parameter, "longest time for each token after the first of a good \
                                           answer";
    execution One Parameter, "how a model runs: operation by operation (eager), compiled, or as a \
                              captured graph of a GPU (graph)";
    optimizer One Parameter, "whose optimizer changes the weights: torch, deepspeed";
    num_stages One Parameter, "stages of a software pipeline";
    num_warps One Parameter, "warps or waves of a block";
    // Time.
    time_ms Milliseconds Metric(Lower), "time of one iteration";
    time_us Microseconds Metric(Lower), "time of one iteration";
    latency_us Microseconds Metric(Lower), "time until a result is there";
    host_latency_us Microseconds Fact, "time by the host's clock from the call that launches a \
                                        kernel until the wait for its end returns";
    launch_time_us Microseconds Fact, "time by the host's clock in which the launches of one \
                                       iteration were handed over; of several GPUs, the longest";
    latency_ns Nanoseconds Metric(Lower), "time of one dependent access";
    time_per_step_ms Milliseconds Metric(Lower), "time of one step of training";
    forward_time_ms Milliseconds Metric(Lower), "time of one pass through the model";
    latency_p50_ms Milliseconds Metric(Lower), "median latency";
    latency_p99_ms Milliseconds Metric(Lower), "latency that 99 in 100 stay below";
    p50_latency_ms Milliseconds Metric(Lower), "median latency of a request, as vLLM's users call \
                                                it";
    p99_latency_ms Milliseconds Metric(Lower), "latency of a request that 99 in 100 stay below, as \
                                                vLLM's users call it";
    execution_time_ms Milliseconds Metric(Lower), "time of one run of a graph";
    inference_time_ms Milliseconds Metric(Lower), "time of one inference";
    time_p50_ms Milliseconds Metric(Lower), "median of the samples' times, compared where the \
                                             policy asks for it";
    time_p90_ms Milliseconds Metric(Lower), "time that 90 in 100 samples stay below, compared \
                                             where the policy asks for it";
    time_p99_ms Milliseconds Metric(Lower), "time that 99 in 100 samples stay below, compared \
                                             where the policy asks for it";
    total_latency_ms Milliseconds Metric(Lower), "latency of the whole request";
    ttft_ms Milliseconds Metric(Lower), "time to the first token";
    tpot_ms Milliseconds Metric(Lower), "time for each token after the first";
    itl_ms Milliseconds Metric(Lower), "time between two tokens";
    latency_p90_ms Milliseconds Metric(Lower), "latency that 90 in 100 stay below";
    queue_time_ms Milliseconds Metric(Lower), "mean time from a request's arrival to its beginning";
    ttft_p90_ms Milliseconds Metric(Lower), "time to the first token that 90 in 100 requests stay \
                                             below";
    ttft_p99_ms Milliseconds Metric(Lower), "time to the first token that 99 in 100 requests stay \
                                             below";
    tpot_p90_ms Milliseconds Metric(Lower), "time for each token after the first that 90 in 100 \
                                             requests stay below";
    tpot_p99_ms Milliseconds Metric(Lower), "time for each token after the first that 99 in 100 \
                                             requests stay below";
    itl_p90_ms Milliseconds Metric(Lower), "time between two tokens that 90 in 100 stay below";
    itl_p99_ms Milliseconds Metric(Lower), "time between two tokens that 99 in 100 stay below";
    compile_time_ms Milliseconds Metric(Lower), "time to compile";
    compilation_time_ms Milliseconds Metric(Lower), "time to make a program of a graph, the median \
                                                     of some";
    backward_time_ms Milliseconds Metric(Lower), "time to compute the gradients";
    optimizer_step_time_ms Milliseconds Metric(Lower), "time to change the weights once";
    optimization_time_ms Milliseconds Metric(Lower), "time to optimize a graph";
    total_time_ms Milliseconds Metric(Lower), "time of everything that was asked for";
    time_total_seconds Seconds Metric(Lower), "time of everything that was asked for";
    alternative_time_ms Milliseconds Fact, "time of the fastest other way, measured beside the \
                                            case";
    communication_overhead_ms Milliseconds Metric(Lower), "time of an iteration in what ranks say \
                                                           to each other, with waiting";
    // Rate.
    bandwidth_gb_s GigabytesPerSecond Metric(Higher), "bytes read and written, over time";
    memory_bandwidth_gb_s GigabytesPerSecond Metric(Higher), "bytes of all operands, each read or written once, over time";
    throughput_gb_s GigabytesPerSecond Metric(Higher), "bytes of input and output handled, over \
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
    real_time_factor One Metric(Lower), "time over the length of the sound that was heard in it";
    expert_balance_percent Percent Fact, "how evenly tokens are shared among experts: entropy of \
                                          the shares over the most that it can be";
    // Against a limit.
    utilization_percent Percent Metric(Higher), "share of the device's peak that was used; of \
                                                 memory or of a server, share that was busy";
    roofline_percent Percent Metric(Higher), "share of the highest rate that this device can have \
                                              at this arithmetic intensity";
    arithmetic_intensity FlopsPerByte Fact, "operations for each byte moved";
    peak_gflops Gigaflops Fact, "peak arithmetic rate: of the data sheet, on a CPU as measured \
                                 (f32 for f16 and bf16)";
    peak_bandwidth_gb_s GigabytesPerSecond Fact, "highest bandwidth that the hardware can have";
    peak_tflops Teraflops Fact, "highest rate of a GPU: compute units × operations of a unit in a \
                                 clock × peak_clock_mhz";
    peak_clock_mhz Megahertz Fact, "clock of the GPU's peaks: the highest of the driver's, the \
                                    data sheet's and (RDNA) that of pp_dpm_sclk";
    peak_clock_source One Fact, "source of peak_clock_mhz: driver, data sheet or pp_dpm_sclk";
    numa_distance One Fact, "from the threads' NUMA node to the memory's as the firmware tells it: \
                             10 is the node itself";
    lies_in One Fact, "which memory holds the data, by its size: a cache (L1, L2, L3), memory, or \
                       memory with a part in a cache";
    timed_by One Fact, "host, if the host's clock timed the device after a wait at each mark, \
                        because the driver has no clock or one that disagrees with the host's";
    memory_roof_gb_s GigabytesPerSecond Fact, "highest rate at which memory can be read: the \
                                               hardware's peak, or on a CPU a read of an array \
                                               beside the case";
    peak_note One Fact, "what to know about the peak: why it is missing, halved or disputed, or \
                         that the result exceeds it";
    gemm_tflops Teraflops Fact, "rate of a large matrix product of the same type, measured beside \
                                 the case";
    link_gb_s GigabytesPerSecond Fact, "what the link between host and GPU can carry one way, \
                                        after the encoding of the line";
    link_percent Percent Metric(Higher), "share of what the link between host and GPU can carry, \
                                          both ways where both are used";
    occupancy_percent Percent Metric(Higher), "resident waves over the most that could be";
    speedup One Metric(Higher), "how many times faster than the reference";
    speedup_over One Fact, "data type of the reference";
    efficiency One Metric(Higher), "speed-up over resources";
    comparison_to_pytorch One Metric(Higher), "how many times faster than the same in PyTorch";
    comparison_to_compiled One Metric(Higher), "how many times faster than what torch.compile \
                                                makes of the same";
    speedup_over_alternative One Metric(Higher), "how many times faster than the fastest other way";
    alternative One Fact, "the fastest other way to do the same here";
    communication_overhead_percent Percent Metric(Lower), "share of the time that goes to what \
                                                           ranks say to each other";
    original_nodes One Fact, "nodes of a graph as it was given";
    optimized_nodes One Fact, "nodes of a graph as it runs";
    optimized_graph_nodes One Fact, "nodes of a graph as it runs, after every level that was asked \
                                     for";
    prefix_cache_hit_percent Percent Fact, "tokens of prompts whose keys and values were in the \
                                            cache, over all of them";
    total_tokens One Fact, "tokens generated in one iteration";
    cache_hit_percent Percent Metric(Higher), "reads of the first-level data cache that hit, by \
                                               hardware counters";
    cache_references One Fact, "reads of the first-level data cache counted";
    // Memory.
    memory_used_mb Megabytes Metric(Lower), "memory held during the work";
    gpu_memory_peak_mb Megabytes Metric(Lower), "most device memory held";
    memory_footprint_mb Megabytes Metric(Lower), "memory that a network needs to run: weights, and \
                                                  what is worked on";
    memory_savings_mb Megabytes Metric(Higher), "memory that is not needed, against the graph as \
                                                 it was given";
    standard_memory_mb Megabytes Fact, "most memory that the standard way allocates in one pass";
    flash_memory_mb Megabytes Metric(Lower), "most memory that flash attention allocates in one \
                                              pass";
    model_memory_mb Megabytes Fact, "weights, at the moment of a step at which it holds most";
    gradients_memory_mb Megabytes Fact, "gradients, at that moment";
    optimizer_memory_mb Megabytes Fact, "state of the optimizer, at that moment";
    activations_memory_mb Megabytes Fact, "what the backward pass still needs, at that moment";
    other_memory_mb Megabytes Fact, "all else, at that moment: inputs, what is worked on";
    memory_timeline One Fact, "what one step holds over its time in ms, in MB by what it is";
    memory_allocated_mb Megabytes Metric(Lower), "memory that a framework has handed out";
    savings_percent Percent Metric(Higher), "memory that is not needed, over what the standard way \
                                             needs";
    memory_saved_gb Gigabytes Metric(Higher), "memory that is not needed where it is shared among \
                                               ranks";
    memory_read_gb Gigabytes Fact, "bytes of the inputs";
    memory_write_gb Gigabytes Fact, "bytes of the output";
    memory_utilization_percent Percent Fact, "what a case holds on one GPU, over what a benchmark \
                                              may take there";
    memory_average_mb Megabytes Metric(Lower), "mean memory held";
    memory_fragmentation_percent Percent Metric(Lower), "memory held from the system but not in \
                                                         use, over memory held";
    allocation_overhead_percent Percent Metric(Lower), "time to allocate and free, over the time \
                                                        to allocate, write every page and free";
    memory_leaked_bytes Bytes Metric(Lower), "bytes allocated during the timed iterations and not \
                                              freed after them";
    native_memory_leaked_bytes Bytes Metric(Lower), "the same by malloc beside Rust's heap: \
                                                     libraries, drivers";
    device_memory_leaked_bytes Bytes Metric(Lower), "bytes that became less free on the device \
                                                     over the timed iterations";
    allocations_per_iteration One Metric(Lower), "heap allocations in one iteration";
    // Work.
    instructions One Metric(Lower), "instructions that the CPU executes in one iteration, counted \
                                     once and not timed (`--metric instructions`)";
    instructions_source One Fact, "what counted the instructions: perf (the counters of the CPU), \
                                   callgrind (Valgrind's CPU, which has no AVX-512)";
    // Truth and spread.
    failed_runs_percent Percent Metric(Lower), "share of the runs of a command that ended with \
                                                another exit code than zero";
    failed_requests One Metric(Lower), "requests that were not answered";
    accuracy_error One Metric(Lower), "max|x − ref| / max|ref| against a reference in higher \
                                       precision";
    accuracy_limit One Fact, "largest accuracy_error that passes verification";
    sums_in One Fact, "type in which the provider sums products before their sums are added in \
                       f32, if it is narrower than f32";
    reference_accuracy_error One Fact, "accuracy_error of the reference of speedup";
    input_error One Fact, "what the type loses of the inputs before anything is computed: \
                           max|rounded − exact| / max|exact|";
    gradient_norm One Fact, "length of the gradient of all weights";
    std_dev Milliseconds Fact, "standard deviation of the time of an iteration";
    cv One Fact, "coefficient of variation: standard deviation of the time of an iteration over \
                  its mean";
    num_runs One Fact, "samples taken";
    warmup_runs One Fact, "iterations done before sampling";
    // The GPU.
    gfx_target One Fact, "instruction set of the GPU: gfx1100, sm_90";
    compute_units One Fact, "compute units or streaming multiprocessors of the GPU";
    component_version One Fact, "version of the framework that ran";
    device_metrics One Fact, "what the backend counted beside times, by its own schema \
                              (docs/models.md)";
    quantized_layers One Fact, "layers whose weights are whole numbers";
    node_profile One Fact, "operations of a graph that take longest, with their time in one run";
    kernel_used One Fact, "kernel that was seen doing the work";
    spills One Fact, "registers of a thread kept in memory for want of room";
    shared_mem_bytes Bytes Fact, "shared memory of a block";
    measured_occupancy_percent Percent Fact, "resident waves over the most that could be, as \
                                              rocprofv3 or ncu counted them";
    wave_efficiency_percent Percent Fact, "threads of a wave that worked, as rocprofv3 or ncu \
                                           counted them";
    memory_busy_percent Percent Fact, "share of the time in which the memory unit worked, as \
                                       rocprofv3 or ncu counted it";
    recommended_block_size One Fact, "threads of the block with which most waves are resident; of \
                                      equals the largest";
    recommended_speedup One Fact, "time with this size of block over that with the recommended \
                                   one, measured beside each other";
    sm_efficiency_percent Percent Fact, "share of the cycles of a kernel in which the GPU had work \
                                         (GRBM_GUI_ACTIVE over GRBM_COUNT); null where nothing \
                                         counted it";
    warp_efficiency_percent Percent Fact, "threads of a wave that worked; null where nothing \
                                           counted them";
    global_memory_efficiency_percent Percent Fact, "bytes asked for over bytes moved; null where \
                                                    nothing counted them";
    counters_note One Fact, "who counted the shares of a profiler, and why others are null";
    registers One Fact, "vector registers of a thread";
    shared_bytes Bytes Fact, "shared memory of a block";
    code_object_bytes Bytes Fact, "size of what the compiler made";
    available One Fact, "whether the GPU has a matrix unit, where its architecture is known";
    architecture One Fact, "instruction set of the GPU, without features: gfx942, sm_90";
    matrix_size One Fact, "tiles m x n x k of the matrix instructions for f16";
    wmma_version One Fact, "generation of the WMMA unit; null where the GPU has none";
    peak_tflops_fp16 Teraflops Fact, "highest rate of the matrix unit in f16 by the table of \
                                      architectures at peak_clock_mhz";
    peak_tflops_bf16 Teraflops Fact, "the same in bf16";
    peak_tflops_tf32 Teraflops Fact, "the same in tf32";
    matrix_unit One Fact, "kind and generation of the GPU's matrix unit: MFMA 3, WMMA 1, none";
    tile_sizes One Fact, "tiles m x n x k of the matrix instructions for the type";
    supported_dtypes One Fact, "data types that the GPU's engine has instructions for";
    pci_address One Fact, "address on the bus of the GPU that did the work, as its runtime reports \
                           it";
    numa_node One Fact, "NUMA node of the GPU, on whose CPUs the process of the case ran";
    gpu_max_clock_mhz Megahertz Fact, "highest clock of the GPU's compute units that the driver \
                                       lists";
    // State.
    gpu_temperature_c Celsius Fact, "temperature of the GPU";
    gpu_power_w Watts Fact, "power drawn by the GPU";
    cpu_power_w Watts Fact, "power drawn by CPUs and their memory, by RAPL: of all that runs on \
                             the machine";
    gpu_memory_used_mb Megabytes Fact, "memory of the GPU in use by all";
    gpu_memory_total_mb Megabytes Fact, "memory of the GPU";
    gpu_utilization_percent Percent Fact, "share of time that the GPU was busy";
    gpu_clock_mhz Megahertz Fact, "clock of the GPU's compute units";
    gpu_memory_clock_mhz Megahertz Fact, "clock of the GPU's memory";
    gpu_throttled One Fact, "whether anything held the GPU back";
    throttle_reasons One Fact, "what held the GPU back";
    duration_seconds Seconds Parameter, "how long a GPU's sensors are watched";
    sample_interval_ms Milliseconds Parameter, "time between two readings of the sensors";
    sensor_reading_us Microseconds Fact, "time of one reading of all sensors";
    snapshots One Fact, "the course of the sensors: a timestamp and what was read, for each";
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
