"""A transformer of the package `transformers`, with random weights or of a local directory: a prompt, or tokens after it."""

from __future__ import annotations

from typing import Any

from .core import (
    Case,
    Failure,
    Skip,
    Work,
    local_model,
    milliseconds,
    model_fields,
    package,
    token_times,
    torch_device,
    torch_dtype,
    within,
)

SEED = 20_231
VOCABULARY = 1000
# Length of a head: at the default width there are four.
HEAD = 64
# Errors of many layers add up.
TOLERANCES = {"f64": 1e-10, "f32": 1e-4, "f16": 3e-2, "bf16": 1e-1}


def _models(case: Case, torch: Any) -> tuple[Any, Any]:
    """The model in double precision and the same in f32."""
    transformers, directory = package("transformers"), local_model(case)
    if directory is None:
        width = case.count("width")
        if width % HEAD:
            raise Skip(f"a transformer {width} wide", f"heads have {HEAD} each", f"choose a multiple of {HEAD}")
        sizes = {"hidden_size": width, "intermediate_size": 2 * width}
        heads = {"num_attention_heads": width // HEAD, "num_key_value_heads": width // HEAD}
        config = transformers.LlamaConfig(
            vocab_size=VOCABULARY, num_hidden_layers=case.count("num_layers"), max_position_embeddings=4096, **sizes, **heads
        )
        exact = transformers.LlamaForCausalLM(config).eval().double()
        model = transformers.LlamaForCausalLM(config).eval()
        model.load_state_dict(exact.state_dict())
        return exact, model
    load = transformers.AutoModelForCausalLM.from_pretrained
    try:
        model = load(directory, local_files_only=True, dtype=torch.float32).eval()
        return load(directory, local_files_only=True, dtype=torch.float64).eval(), model
    except (OSError, ValueError) as error:
        why = f"transformers cannot load it: {str(error).splitlines()[0]}"
        raise Skip(f"model {directory}", why, "name a directory with config.json and safetensors of a causal model") from error


def _model(case: Case) -> tuple[Any, Any, Any, Any, float]:
    torch, device = torch_device(case)
    package("transformers")
    torch.manual_seed(SEED)
    exact, model = _models(case, torch)
    vocabulary = model.config.vocab_size
    most = getattr(model.config, "max_position_embeddings", None)
    wanted = case.count("prompt_length") + case.count("output_length")
    if most is not None and wanted > most:
        raise Skip("transformer", f"{wanted} positions are more than the model's {most}", "choose shorter ones")
    model = model.to(device, torch_dtype(case, torch))
    tokens = torch.randint(0, vocabulary, (case.count("batch_size"), case.count("prompt_length")))
    tokens = tokens.to(device)
    with torch.no_grad():
        # The first of a batch: a large model in double precision takes its time, on a GPU too.
        wanted = exact.to(device)(tokens[:1], use_cache=False).logits
        found = model(tokens, use_cache=False).logits[:1].double()
    difference, largest = (found - wanted).abs().max().item(), wanted.abs().max().item()
    del exact
    error = within(case, difference, largest, TOLERANCES[case.text("dtype")])
    return torch, device, model, tokens, error


def prefill(case: Case) -> Work:
    """One pass over the prompt; its work and fields."""
    torch, device, model, tokens, error = _model(case)

    def run() -> Any:
        with torch.no_grad():
            return model(tokens, use_cache=False).logits

    def fields(time_ns: float) -> dict[str, Any]:
        return _common(case, error, model) | {
            "use_cache": False,
            "forward_time_ms": milliseconds(time_ns),
            "total_time_ms": milliseconds(time_ns),
            "output_shape": "x".join(str(size) for size in (*tokens.shape, model.config.vocab_size)),
            "tokens_per_second": tokens.numel() * 1e9 / time_ns,
        }

    return Work(run, fields, None, None if case.on_cpu else device)


def decode(case: Case) -> Work:
    """Tokens one after another, each the likeliest; with and without the cache they must be the same."""
    torch, device, model, tokens, error = _model(case)
    count, use_cache = case.count("output_length"), case.text("use_cache") == "yes"

    def generate(count: int, cached: bool) -> Any:
        mask = torch.ones_like(tokens)
        return model.generate(
            tokens, attention_mask=mask, max_new_tokens=count, min_new_tokens=count, do_sample=False, use_cache=cached, pad_token_id=0
        )

    made = generate(count, use_cache)
    if made.shape[1] != tokens.shape[1] + count:
        raise Failure("transformer", f"it made {made.shape[1] - tokens.shape[1]} tokens, not {count}", "report it to transformers")
    # In 16 bits two tokens may be equally likely.
    if case.text("dtype") in ("f32", "f64") and not torch.equal(made, generate(count, not use_cache)):
        raise Failure("transformer", "with the cache it makes other tokens than without", "report it to transformers")
    gpu = None if case.on_cpu else device

    def fields(time_ns: float) -> dict[str, Any]:
        first = Work(lambda: generate(1, use_cache), lambda _: {}, None, gpu)
        times = token_times(first, work, count, time_ns)
        return _common(case, error, model) | {
            "use_cache": use_cache,
            "output_length": count,
            "output_shape": f"{made.shape[0]}x{made.shape[1]}",
            "forward_time_ms": times["ttft_ms"],
            "total_time_ms": milliseconds(time_ns),
            **times,
            "tokens_per_second": made.shape[0] * count * 1e9 / time_ns,
        }

    work = Work(lambda: generate(count, use_cache), fields, None, gpu)
    return work


def _common(case: Case, error: float, model: Any) -> dict[str, Any]:
    return {
        "provider": f"transformers {package('transformers').__version__}",
        "dtype": case.text("dtype"),
        "batch_size": case.count("batch_size"),
        "prompt_length": case.count("prompt_length"),
        "num_layers": model.config.num_hidden_layers,
        **model_fields(model.config.model_type, model),
        "input_shape": f"{case.text('batch_size')}x{case.text('prompt_length')}",
        "accuracy_error": error,
    }
