"""Models of eleven families in any runtime: one pass, requests under load, or token generation."""
from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Callable, cast

from . import model_ready, model_runtimes
from .core import (
    Case,
    Failure,
    Skip,
    Work,
    milliseconds,
    package,
    room,
    token_times,
    torch_device,
    torch_dtype,
    within,
)
from .memory import heap_unused_percent, peak_of_pass
from .model_build import SEED, SPEECH_SECONDS, Subject, counted, forward_module, retrieved
from .model_load import Load
from .serving import arrivals

# Errors accumulate over many layers.
TOLERANCES = {"f64": 1e-10, "f32": 1e-4, "f16": 3e-2, "bf16": 1e-1, "i8": 2e-1}


def check(case: Case) -> None:
    """Checks that the packages of the runtime are installed, and that PyTorch can use the device.

    Raises:
        Skip: if a package is missing, or PyTorch cannot use the device.
    """
    torch_device(case)
    package("transformers")
    model_runtimes.of(case).check(case)


def version() -> str:
    """Returns the version of the package that contains the models."""
    return package("transformers").__version__


def _definition(case: Case) -> dict[str, Any]:
    try:
        return json.loads(case.text("definition"))
    except (KeyError, ValueError) as error:
        what = f"model {case.params.get('model')}"
        raise Skip(what, "the case has no valid definition", "plan it with `rusty-stack-bench models`") from error


def _subject(case: Case, torch: Any) -> Subject:
    definition, dtype = _definition(case), case.text("dtype")
    if dtype not in TOLERANCES:
        raise Skip(f"type {dtype}", "models can only be verified in f32, f16, bf16 and i8", "choose one of these")
    # The weights in f32, and for f32 also in double precision, for the reference.
    room(f"model {case.text('model')}", counted(torch, definition) * (12.0 if dtype == "f32" else 6.0))
    return Subject(torch, definition, case.count("batch_size"), case.count("sequence_length"))


def _as_type(torch: Any, module: Any, tensors: Any, dtype: Any) -> tuple[Any, ...]:
    """Converts the weights and tensors to `dtype`.

    Buffers stay unchanged, because the angles of rotary embeddings would lose too much precision in 16 bits.
    """
    for weight in module.parameters():
        weight.data = weight.data.to(dtype)
    return tuple(one.to(dtype) if one.is_floating_point() else one for one in tensors)


def _in_type(torch: Any, value: Any, dtype: Any, device: Any = "cpu") -> Any:
    """Converts the tensors in a nested structure to `dtype` on `device`."""
    if isinstance(value, dict):
        values = cast("dict[str, Any]", value)
        return {name: _in_type(torch, value, dtype, device) for name, value in values.items()}
    if not torch.is_tensor(value):
        return value
    return value.to(device, dtype) if value.is_floating_point() else value.to(device)


def _reference(torch: Any, subject: Subject, module: Any, tensors: Any, dtype: str) -> Any:
    """Returns the result on the CPU: in double precision for f32, else in f32."""
    wanted = torch.float64 if dtype in ("f32", "f64") else torch.float32
    experts = getattr(subject.config, "_experts_implementation", None)
    if experts is not None:  # The joint product of all experts is not implemented in double precision.
        subject.config._experts_implementation = "eager"
    plain, subject.said = subject.said, _in_type(torch, subject.said, wanted)
    with torch.no_grad():
        result = module(*_as_type(torch, module, tensors, wanted))
    if experts is not None:
        subject.config._experts_implementation = experts
    subject.said = plain
    return result.detach().double()


@dataclass
class Verified:
    """A model whose pass was verified."""

    subject: Subject
    # Number of weights, counted before a runtime replaces PyTorch's layers.
    parameters: int
    ready: model_ready.Ready
    tensors: tuple[Any, ...]
    # The result of a pass, and its relative error.
    found: Any
    error: float


def _verified(case: Case) -> Verified:
    """Prepares the model in the runtime and type of the case, and verifies it on the CPU in higher precision.

    Raises:
        Skip: if the runtime does not support the model, or there is not enough memory.
        Failure: if the result is wrong.
    """
    torch, device = torch_device(case)
    # Runtimes that quantize start from f32 weights.
    dtype = torch.float32 if case.text("dtype") == "i8" else torch_dtype(case, torch)
    subject = _subject(case, torch)
    module, tensors = forward_module(subject), tuple(subject.inputs.values())
    wanted = _reference(torch, subject, module, tensors, case.text("dtype"))
    tensors = tuple(one.to(device) for one in _as_type(torch, module, tensors, dtype))
    subject.said = _in_type(torch, subject.said, dtype, device)
    parameters = subject.parameters()
    ready = model_runtimes.of(case).prepare(case, torch, (module.to(device), subject), tensors)
    found = ready.result().detach().double().cpu()
    if ready.write is not None:  # Runtimes that generate text return only the last position.
        wanted = wanted[:, -found.shape[1] :]
    error = within(case, (found - wanted).abs().max().item(), wanted.abs().max().item(), TOLERANCES[case.text("dtype")])
    return Verified(subject, parameters, ready, tensors, found, error)


def forward(case: Case) -> Work:
    """Prepares one pass through the model."""
    made = _verified(case)
    subject, ready = made.subject, made.ready
    shares = _expert_balance(subject, made.tensors) if model_runtimes.of(case).name == "pytorch" else {}
    _, device = torch_device(case)

    def fields(time_ns: float) -> dict[str, Any]:
        return _common(case, made, ready.run) | shares | {
            "forward_time_ms": milliseconds(time_ns) if ready.passes == 1 else None,
            "output_shape": "x".join(str(size) for size in made.found.shape),
            "device_metrics": ready.metrics(),
            **_rates(subject, time_ns / ready.passes),
            **({"num_requests": ready.passes} if ready.passes > 1 else {}),
        }

    def of_simulated(_: float) -> dict[str, Any]:
        """Returns the fields for an emulated device, whose times are meaningless."""
        return _common(case, made) | {"device_metrics": ready.metrics()}

    gpu = None if case.on_cpu else device
    return Work(ready.run, of_simulated if ready.device_type == "simulated" else fields, None, gpu, ready.device_type)


def _rates(subject: Subject, time_ns: float) -> dict[str, Any]:
    """Returns the rates specific to the model's family, in addition to samples per second."""
    batch, each = subject.batch, 1e9 / time_ns
    rates = {"throughput_samples_per_second": batch * each}
    if subject.family == "speech":
        return rates | {"real_time_factor": time_ns / 1e9 / (SPEECH_SECONDS * batch)}
    if subject.family == "diffusion":
        return rates | {"steps_per_second": each}
    if subject.family in ("vision", "vision-encoder-text-decoder"):
        return rates | {"images_per_second": batch * each}
    return rates | {"tokens_per_second": batch * subject.length * each}


def _expert_balance(subject: Subject, tensors: Any) -> dict[str, Any]:
    """Returns how evenly tokens are distributed over experts: the entropy of their shares, in percent of its maximum."""
    if subject.family != "mixture-of-experts" or not hasattr(subject.config, "num_experts_per_tok"):
        return {}
    torch, words = subject.torch, dict(zip(subject.inputs, tensors))["input_ids"]
    with torch.no_grad():
        routed = subject.model(words, output_router_logits=True, use_cache=False).router_logits
    of_token = subject.config.num_experts_per_tok
    shares = [one.float().topk(of_token, -1).indices.flatten().bincount(minlength=one.shape[-1]) for one in routed]
    shares = [one / one.sum() for one in shares]
    even = [-(one[one > 0] * one[one > 0].log()).sum() / torch.tensor(float(len(one))).log() for one in shares]
    return {"expert_balance_percent": 100.0 * sum(even).item() / len(even)}


def load(case: Case) -> Work:
    """Prepares requests that arrive at random times, one pass each."""
    made = _verified(case)
    subject, ready, count, lanes = made.subject, made.ready, case.count("num_requests"), case.count("concurrency")
    assert ready.lanes is not None, f"{case.params.get('runtime')} does not support concurrent requests"
    served = Load(ready.lanes(lanes), arrivals(count, case.number("request_rate"), SEED))

    def fields(time_ns: float) -> dict[str, Any]:
        rate = count * 1e9 / time_ns
        return _common(case, made, ready.run, lanes) | served.fields() | {
            "request_rate": case.number("request_rate"),
            "num_requests": count,
            "concurrency": lanes,
            "requests_per_second": rate,
            "throughput_samples_per_second": subject.batch * rate,
            "device_metrics": ready.metrics(),
        }

    return Work(served.run, fields, None, None if case.on_cpu else torch_device(case)[1], ready.device_type)


def generate(case: Case) -> Work:
    """Prepares greedy token generation."""
    torch, device = torch_device(case)
    made = _verified(case)
    subject, count = made.subject, case.count("output_length")
    write = made.ready.write or _writer(torch, subject, dict(zip(subject.inputs, made.tensors)))
    _check_words(torch, case, write, made.found, count)
    if made.ready.write is not None:
        _check_later_words(torch, case, made, count)
    gpu = None if case.on_cpu else device

    def fields(time_ns: float) -> dict[str, Any]:
        first = Work(lambda: write(1), lambda _: {}, None, gpu)
        return _common(case, made, work.run) | {
            "output_length": count,
            "total_time_ms": milliseconds(time_ns),
            **token_times(first, work, count, time_ns, rounds=3),
            "tokens_per_second": subject.batch * count * 1e9 / time_ns,
            "throughput_samples_per_second": subject.batch * 1e9 / time_ns,
        }

    work = Work(lambda: write(count), fields, None, gpu)
    return work


def _writer(torch: Any, subject: Subject, given: dict[str, Any]) -> Callable[[int], Any]:
    """Returns a function that generates a number of tokens with PyTorch."""
    model = subject.model
    texts = {name: value for name, value in given.items() if name != "decoder_input_ids"}
    start = int(given["decoder_input_ids"][0, 0]) if "decoder_input_ids" in given else 0
    # The generation settings of a local model are ignored.
    config = package("transformers").GenerationConfig

    def write(count: int) -> Any:
        settings = config(
            max_new_tokens=count, min_new_tokens=count, do_sample=False, num_beams=1, pad_token_id=0, bos_token_id=0,
            decoder_start_token_id=start, eos_token_id=None, use_cache=True,
        )
        with torch.no_grad():
            if subject.family != "rag":
                mask = {"attention_mask": torch.ones_like(texts["input_ids"])} if "input_ids" in texts else {}
                return model.generate(**mask | texts, generation_config=settings)
            read = retrieved(model, subject.config.n_docs, **given)
            del read["use_cache"], read["decoder_input_ids"]
            return model.generate(**read, n_docs=subject.config.n_docs, generation_config=settings)

    return write


def _check_words(torch: Any, case: Case, write: Callable[[int], Any], logits: Any, count: int) -> None:
    """Checks that the first token is the most likely one in the verified pass, allowing for ties within the tolerance.

    Also checks the number of tokens, and that a second generation returns the same ones.
    """
    made = write(count)
    if not torch.equal(made, write(count)):
        raise Failure(f"tokens of {case.text('model')}", "a second generation returns other tokens", "report it to transformers")
    first = made[:, -count].cpu()
    last = logits[:, -1] if logits.shape[0] == first.shape[0] else None
    if last is None:  # With several passages per question, logits are combined when tokens are chosen.
        return
    behind = last.max(-1).values - last.gather(-1, first[:, None])[:, 0]
    if (behind > TOLERANCES[case.text("dtype")] * last.abs().max()).any():
        why = "its first token is not the most likely one of a single pass"
        raise Failure(f"tokens of {case.text('model')}", why, "report it to transformers")


def _check_later_words(torch: Any, case: Case, made: Verified, count: int) -> None:
    """Checks the tokens and the cache of a runtime against one pass of PyTorch over the whole text.

    Each token must be the most likely one after the preceding text, allowing for ties within the tolerance,
    and the last logits must equal those of the pass.
    """
    write, last_logits = made.ready.write, made.ready.logits
    assert write is not None and last_logits is not None, "the runtime writes tokens"
    subject, text = made.subject, write(count)
    words = "decoder_input_ids" if "decoder_input_ids" in subject.inputs else "input_ids"
    with torch.no_grad(), model_ready.experts_as_products(subject):
        given = subject.inputs | {words: text[:, :-1]}
        logits = subject.model(**given, use_cache=False).logits[:, -count:].float()
    largest, allowed = logits.abs().max().item(), TOLERANCES[case.text("dtype")]
    behind = logits.max(-1).values - logits.gather(-1, text[:, -count:, None])[..., 0]
    wrong = (behind > allowed * largest).any(0).nonzero()
    if len(wrong):
        provider = case.params.get("runtime")
        why = f"token {int(wrong[0]) + 1} of {count} is not the most likely one after those before it"
        cure = f"choose another precision, or report it to {provider}"
        raise Failure(f"tokens of {case.text('model')} with {provider}", why, cure)
    within(case, (last_logits()[:, -1].float() - logits[:, -1]).abs().max().item(), largest, allowed)


def _common(case: Case, made: Verified, run: Callable[[], Any] | None = None, lanes: int = 1) -> dict[str, Any]:
    """Returns the fields of every workload; with `run`, also the memory of `lanes` concurrent calls if it can be determined."""
    subject, definition = made.subject, made.subject.definition
    weights = sum(
        weight.numel() * weight.element_size() for one in (subject.model, *subject.parts.values()) for weight in one.parameters()
    )
    common: dict[str, Any] = {
        "model": case.text("model"),
        "model_class": type(subject.model).__name__,
        "architecture_type": subject.family,
        "parameter_count": made.parameters,
        "dtype": case.text("dtype"),
        "batch_size": subject.batch,
        "sequence_length": subject.length,
        "provider": case.params.get("runtime", "pytorch"),
        "model_size_gb": weights / 1e9,
        "accuracy_error": made.error,
        "init": "random weights" if "path" not in definition else "weights of the directory",
    }
    if case.on_cpu:
        common["threads"] = subject.torch.get_num_threads()
        common |= heap_unused_percent()
    common |= made.ready.fields
    if run is not None and case.on_cpu and model_runtimes.of(case).name == "pytorch":
        # Peak allocations, because the growth of the process would include libraries
        # and the models of the verification.
        activations = lanes * (peak_of_pass(subject.torch, None, run) or 0.0) / 1e6
        common |= {"activations_memory_mb": activations, "memory_used_mb": common["model_size_gb"] * 1e3 + activations}
    return common


WORKLOADS = {"forward": forward, "load": load, "generate": generate}
