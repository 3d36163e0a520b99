"""Models of the catalogue: built with random weights or loaded from a directory, with seeded inputs."""
from __future__ import annotations

import difflib
import math
import os
from typing import Any

from .core import Skip, package

SEED = 20_231
# Length of a speech input in seconds, and its sampling rate in Hz, as Whisper expects.
SPEECH_SECONDS, SPEECH_RATE = 30, 16_000
# Number of passages in the index that is searched for a question.
PASSAGES = 64
# Number of positions of the text that conditions a diffusion model.
CAPTION = 77


def class_of(definition: dict[str, Any]) -> Any:
    """Returns the class that a definition names.

    Raises:
        Skip: if the library is missing or does not have the class.
    """
    library = package(definition.get("library", "transformers"))
    found = getattr(library, definition["class"], None)
    if found is None:
        raise _no_class(definition["class"], library)
    return found


def _no_class(name: str, library: Any) -> Skip:
    """Returns the reason for a missing class; most often its name is misspelled."""
    near = difflib.get_close_matches(name, _classes(library), n=1, cutoff=0.6)
    likely = f"did you mean `{near[0]}`? Correct" if near else "correct"
    cure = f"{likely} `class` in the catalogue, name the `library` that has it, or install another version of {library.__name__}"
    return Skip(f"class {name}", f"{library.__name__} {library.__version__} has no class of this name", cure)


def _classes(library: Any) -> list[str]:
    """Returns the names of the public model classes of a library."""
    kinds = ("Model", "Transformer", "Adapter", "Autoencoder", "Head")
    public = [name for name in dir(library) if name[:1].isupper() and not name.endswith(("Config", "Output"))]
    return [name for name in public if "For" in name or any(kind in name for kind in kinds)]


def build(definition: dict[str, Any]) -> Any:
    """Builds the model with random weights on PyTorch's default device."""
    kind, config = class_of(definition), definition["config"]
    if definition.get("library") == "diffusers":
        return kind(**config)
    _check_keys(kind.config_class, config)
    return kind(kind.config_class(**config))


def _check_keys(kind: Any, config: dict[str, Any]) -> None:
    """Checks that a configuration has no unknown keys, which would be stored without any effect.

    Raises:
        Skip: if a key is unknown.
    """
    try:
        usual = kind()
    except (TypeError, ValueError):
        return  # This configuration cannot be created without its parts.
    # Attention reads `head_dim` of every configuration, even of those that do not declare it.
    known = {*usual.to_dict(), *usual.attribute_map, "head_dim"}
    for name in config:
        if name not in known and not hasattr(usual, name):
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
            cure = f"did you mean `{near[0]}`? " if near else ""
            raise Skip(f"config of {kind.__name__}", f"it has no key `{name}`", f"{cure}Correct `config` in the catalogue")


def described(definition: dict[str, Any]) -> tuple[Any, Any]:
    """Returns the class and the configuration of a model directory, without loading weights.

    Raises:
        Skip: if the directory cannot be read.
    """
    directory = definition["path"]
    os.environ["HF_HUB_OFFLINE"] = "1"  # Missing files are reported instead of downloaded.
    try:
        if definition.get("library") == "diffusers":
            kind = getattr(package("diffusers"), definition["class"])
            return kind, kind.load_config(directory, local_files_only=True)
        transformers = package("transformers")
        config = transformers.AutoConfig.from_pretrained(directory, local_files_only=True)
        return getattr(transformers, (config.architectures or ["AutoModel"])[0]), config
    except (OSError, ValueError, AttributeError) as error:
        raise _unreadable(definition, error) from error


def _unreadable(definition: dict[str, Any], error: Exception) -> Skip:
    why = f"{definition.get('library', 'transformers')} cannot load it: {str(error).splitlines()[0]}"
    return Skip(f"model {definition['path']}", why, "name a directory with config.json and safetensors")


def load(definition: dict[str, Any], torch: Any) -> Any:
    """Loads the model of a directory with a configuration and weights, in f32.

    Raises:
        Skip: if it cannot be loaded.
    """
    kind, _ = described(definition)
    dtype = "torch_dtype" if definition.get("library") == "diffusers" else "dtype"
    try:
        return kind.from_pretrained(definition["path"], local_files_only=True, **{dtype: torch.float32})
    except (OSError, ValueError, AttributeError) as error:
        raise _unreadable(definition, error) from error


def count(model: Any) -> int:
    """Returns the number of weights; shared weights count once."""
    return sum(weight.numel() for weight in model.parameters())


def counted(torch: Any, definition: dict[str, Any]) -> int:
    """Returns the number of weights of a model and its parts, without allocating them.

    The model of a directory is also counted from its configuration, because weights that are missing in
    its files are created on loading.
    """
    recorded = definition.get("parameters", 0)
    if "path" in definition:
        return max(recorded, _in_directory(torch, definition))
    if recorded:
        return recorded
    with torch.device("meta"):
        return sum(count(build(one)) for one in (definition, *definition.get("parts", {}).values()))


def _in_directory(torch: Any, definition: dict[str, Any]) -> int:
    kind, config = described(definition)
    make = kind.from_config if definition.get("library") == "diffusers" else getattr(kind, "_from_config", None) or kind.from_config
    with torch.device("meta"):
        return count(make(config))


class Subject:
    """A model with its parts, and the inputs of one pass."""

    def __init__(self, torch: Any, definition: dict[str, Any], batch: int, length: int) -> None:
        self.torch, self.definition, self.batch, self.length = torch, definition, batch, length
        self.family = definition["family"]
        torch.manual_seed(SEED)
        self.model = (load(definition, torch) if "path" in definition else build(definition)).eval()
        self.parts = {name: build(part).eval() for name, part in definition.get("parts", {}).items()}
        self.config = self.model.config
        self.inputs: dict[str, Any] = {}
        # Keyword arguments of the pass that are not plain tensors.
        self.said: dict[str, Any] = {}
        self._fill()

    def _fill(self) -> None:
        """Creates the inputs of a pass: those of the catalogue entry, or the default ones of the family."""
        with self.torch.no_grad():
            if self.definition.get("inputs"):
                _as_described(self)
            else:
                _INPUTS[self.family](self)

    def parameters(self) -> int:
        """Returns the number of weights of the model and its parts."""
        return sum(count(one) for one in (self.model, *self.parts.values()))

    def calibration(self, count: int) -> list[tuple[Any, ...]]:
        """Returns `count` other sets of inputs of the same kind, to calibrate quantizers; they are not used for verification."""
        kept, found = (self.inputs, self.said), list[tuple[Any, ...]]()
        for seed in range(SEED + 1, SEED + 1 + count):
            self.torch.manual_seed(seed)
            self.inputs, self.said = {}, {}
            self._fill()
            found.append(tuple(self.inputs.values()))
        self.inputs, self.said = kept
        return found

    def tokens(self, *sizes: int, below: int | None = None) -> Any:
        """Returns random tokens. The first five ids are excluded because they are often special tokens."""
        return self.torch.randint(5, below or self.text_config().vocab_size, sizes)

    def noise(self, *sizes: int) -> Any:
        """Returns normally distributed numbers, like a normalized image, spectrum or latent."""
        return self.torch.randn(*sizes)

    def text_config(self) -> Any:
        """Returns the configuration of the model's text part."""
        for name in ("text_config", "generator"):
            if getattr(self.config, name, None) is not None:
                return getattr(self.config, name)
        return self.config

    def image(self) -> Any:
        """Returns random pixels of the size that the model expects."""
        vision = self.config
        for name in ("vision_config", "image_config"):
            vision = getattr(vision, name, None) or vision
        size = vision.image_size  # Some configurations contain height and width.
        return self.noise(self.batch, 3, *([size, size] if isinstance(size, int) else size))

    def first_words(self) -> Any:
        """Returns the start token of the decoder for each sequence of the batch."""
        return self.torch.full((self.batch, 1), getattr(self.text_config(), "decoder_start_token_id", None) or 0)


def _as_described(subject: Subject) -> None:
    """Creates the inputs that a user-defined catalogue entry lists by name, kind and shape."""
    known: dict[Any, Any] = {"batch": subject.batch, "length": subject.length}
    for name, one in subject.definition["inputs"].items():
        sizes: list[Any] = [known.get(size, size) for size in one["shape"]]
        if one["kind"] == "tokens":
            subject.inputs[name] = subject.tokens(*sizes, below=one.get("below"))
        elif one["kind"] == "ones":
            subject.inputs[name] = subject.torch.ones(*sizes, dtype=subject.torch.long)
        else:
            subject.inputs[name] = subject.noise(*sizes)
    if getattr(subject.config, "use_cache", False):
        subject.config.use_cache = False  # A single pass needs no cache.


def _of_text(subject: Subject) -> None:
    subject.inputs["input_ids"] = subject.tokens(subject.batch, subject.length)


def _of_causal_text(subject: Subject) -> None:
    if subject.config.is_encoder_decoder:
        return _of_two_texts(subject)
    _of_text(subject)
    subject.said["use_cache"] = False


def _of_two_texts(subject: Subject) -> None:
    """Creates inputs with which the encoder reads the whole text and the decoder only the first token."""
    _of_text(subject)
    subject.inputs["decoder_input_ids"] = subject.first_words()
    subject.said["use_cache"] = False


def _of_images(subject: Subject) -> None:
    subject.inputs["pixel_values"] = subject.image()


def _of_images_and_text(subject: Subject) -> None:
    subject.inputs["input_ids"] = subject.tokens(subject.batch, subject.length)
    # Models of images and text find the end of a text by its largest token id.
    subject.inputs["input_ids"][:, -1] = subject.text_config().vocab_size - 1
    _of_images(subject)


def _of_speech(subject: Subject) -> None:
    if hasattr(subject.config, "num_mel_bins"):
        subject.inputs["input_features"] = subject.noise(subject.batch, subject.config.num_mel_bins, 100 * SPEECH_SECONDS)
        subject.inputs["decoder_input_ids"] = subject.first_words()
        subject.said["use_cache"] = False
    else:
        subject.inputs["input_values"] = subject.noise(subject.batch, SPEECH_SECONDS * SPEECH_RATE)


def _of_images_in_text(subject: Subject) -> None:
    mark = getattr(subject.config, "image_token_id", None)
    if mark is None:  # Images and text are encoded separately and combined later.
        return _of_images_and_text(subject)
    taken = subject.definition["shape"]["image_tokens"]
    words = subject.tokens(subject.batch, subject.length, below=min(mark, subject.text_config().vocab_size))
    words[:, :taken] = mark
    subject.inputs["input_ids"] = words
    _of_images(subject)
    subject.said["use_cache"] = False


def _of_diffusion(subject: Subject) -> None:
    config, batch = subject.config, subject.batch
    side = config.sample_size
    subject.inputs["sample"] = subject.noise(batch, config.in_channels, side, side)
    subject.inputs["timestep"] = subject.torch.tensor(500)
    caption = subject.torch.randint(5, 1000, (batch, CAPTION))
    texts = [part(caption) for name, part in subject.parts.items() if name.startswith("text_encoder")]
    width = getattr(config, "cross_attention_dim", None)
    if texts:
        subject.inputs["encoder_hidden_states"] = subject.torch.cat([text.last_hidden_state for text in texts], -1)
    elif width is not None:  # A directory that contains only the UNet: random numbers replace the encoded text.
        width = width if isinstance(width, int) else width[0]
        subject.inputs["encoder_hidden_states"] = subject.noise(batch, CAPTION, width)
    if getattr(config, "addition_embed_type", None) == "text_time":
        sizes = subject.torch.full((batch, 6), 8.0 * side)
        pooled = config.projection_class_embeddings_input_dim - 6 * config.addition_time_embed_dim
        text = texts[0].text_embeds if texts else subject.noise(batch, pooled)
        subject.said["added_cond_kwargs"] = {"text_embeds": text, "time_ids": sizes}


def _of_questions(subject: Subject) -> None:
    """Creates questions, and an index of passages from which the model retrieves the best matches."""
    subject.inputs["input_ids"] = subject.tokens(subject.batch, subject.length, below=subject.config.question_encoder.vocab_size)
    width = subject.config.question_encoder.hidden_size
    index = subject.noise(PASSAGES, width) / math.sqrt(width)
    subject.inputs["passages"] = subject.tokens(PASSAGES, subject.length)
    subject.inputs["index"] = index
    subject.inputs["decoder_input_ids"] = subject.first_words()


_INPUTS = {
    "encoder-only": _of_text,
    "decoder-only": _of_causal_text,
    "encoder-decoder": _of_two_texts,
    "vision": _of_images,
    "vision-encoder-text-decoder": _of_images_and_text,
    "speech": _of_speech,
    "multimodal": _of_images_in_text,
    "diffusion": _of_diffusion,
    "mixture-of-experts": _of_causal_text,
    "state-space": _of_causal_text,
    "rag": _of_questions,
}


def forward_module(subject: Subject) -> Any:
    """Returns a module that takes the input tensors in order and returns the main output tensor."""
    from torch import nn

    names, said = list(subject.inputs), subject.said

    class Forward(nn.Module):
        """One pass through the model."""

        def __init__(self) -> None:
            super().__init__()
            self.model = subject.model

        def forward(self, *tensors: Any) -> Any:
            given = dict(zip(names, tensors))
            if subject.family == "rag":
                given = retrieved(self.model, subject.config.n_docs, **given)
            return foremost(self.model(**given, **said))

    return Forward().eval()


def retrieved(model: Any, n_docs: int, input_ids: Any, passages: Any, index: Any, decoder_input_ids: Any) -> dict[str, Any]:
    """Retrieves the best passages for the questions, and returns the arguments of the generator."""
    question = model.question_encoder(input_ids)[0]
    scores, which = (question.float() @ index.float().t()).topk(n_docs)
    context = passages[which].flatten(0, 1)
    return {
        "context_input_ids": context,
        "context_attention_mask": (context > 0).long(),
        "doc_scores": scores.to(question.dtype),
        "decoder_input_ids": decoder_input_ids,
        "use_cache": False,
    }


def foremost(output: Any) -> Any:
    """Returns the main tensor of a model's output."""
    for name in ("logits", "logits_per_image", "sample", "last_hidden_state"):
        if getattr(output, name, None) is not None:
            return getattr(output, name)
    return output.multimodal_output.last_hidden_state
