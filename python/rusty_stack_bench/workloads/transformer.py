"""A model of the package `transformers`, with random weights or from a directory: prefill and decode."""

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
# Width of a head. A model of the default width has four heads.
HEAD = 64
# Errors accumulate over many layers.
TOLERANCES = {"f64": 1e-10, "f32": 1e-4, "f16": 3e-2, "bf16": 1e-1}


def _models(case: Case, torch: Any) -> tuple[Any, Any]:
    """Returns the model in double precision and in f32."""
    transformers, directory = package("transformers"), local_model(case)
    if directory is None:
        width = case.count("width")
        if width % HEAD:
            raise Skip(f"transformer of width {width}", f"heads have {HEAD} elements", f"choose a multiple of {HEAD}")
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
        cure = "choose a shorter prompt_length or output_length"
        raise Skip("transformer", f"{wanted} positions exceed the model's limit of {most}", cure)
    model = model.to(device, torch_dtype(case, torch))
    tokens = torch.randint(0, vocabulary, (case.count("batch_size"), case.count("prompt_length")))
    tokens = tokens.to(device)
    with torch.no_grad():
        # Only the first sequence of the batch: a large model in double precision is slow, even on a GPU.
        wanted = exact.to(device)(tokens[:1], use_cache=False).logits
        found = model(tokens, use_cache=False).logits[:1].double()
    difference, largest = (found - wanted).abs().max().item(), wanted.abs().max().item()
    del exact
    error = within(case, difference, largest, TOLERANCES[case.text("dtype")])
    return torch, device, model, tokens, error


def prefill(case: Case) -> Work:
    """Prepares one pass over the prompt."""
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
    """Prepares greedy generation. In f32 and f64 the tokens with and without the cache must be equal."""
    torch, device, model, tokens, error = _model(case)
    count, use_cache = case.count("output_length"), case.text("use_cache") == "yes"

    def generate(count: int, cached: bool) -> Any:
        mask = torch.ones_like(tokens)
        return model.generate(
            tokens, attention_mask=mask, max_new_tokens=count, min_new_tokens=count, do_sample=False, use_cache=cached, pad_token_id=0
        )

    made = generate(count, use_cache)
    if made.shape[1] != tokens.shape[1] + count:
        why = f"it generated {made.shape[1] - tokens.shape[1]} tokens, not {count}"
        raise Failure("transformer", why, "report it to transformers")
    # In 16 bits two tokens may be equally likely, so the tokens may differ.
    if case.text("dtype") in ("f32", "f64") and not torch.equal(made, generate(count, not use_cache)):
        raise Failure("transformer", "it generates other tokens with the cache than without", "report it to transformers")
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
