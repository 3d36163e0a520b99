"""Networks of PyTorch that several components train, export or run: a decoder of text. Needs PyTorch to be imported."""

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    """Attention whose heads are counted in what its own weights give: cut by heads, each part does its share."""

    def __init__(self, width: int, head: int, causal: bool) -> None:
        super().__init__()
        self.head, self.causal = head, causal
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """From (batch, positions, width) to the same."""
        q, k, v = (part(x).unflatten(-1, (-1, self.head)).transpose(1, 2) for part in (self.query, self.key, self.value))
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(seen.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention and two layers of four times the width, each after a norm and beside what came in."""

    def __init__(self, width: int, head: int, causal: bool) -> None:
        super().__init__()
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, head, causal)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """From (batch, positions, width) to the same."""
        x = x + self.attention(self.first_norm(x))
        return x + self.down(functional.gelu(self.up(self.second_norm(x))))


class Decoder(nn.Module):
    """A decoder of GPT-2's form without biases: tokens in, logits out."""

    def __init__(self, words: int, width: int, head: int, layers: int, positions: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Block(width, head, causal=True) for _ in range(layers))
        self.norm, self.logits = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """From (batch, positions) to (batch, positions, words)."""
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.logits(self.norm(x))


class Encoder(nn.Module):
    """An encoder of BERT's size and its norms before what they are for: tokens in, what stands for them out."""

    def __init__(self, words: int, width: int, head: int, layers: int, positions: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(positions, width)
        self.blocks = nn.Sequential(*(Block(width, head, causal=False) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """From (batch, positions) to (batch, positions, width)."""
        return self.norm(self.blocks(self.words(tokens) + self.places.weight[: tokens.shape[1]]))


class Step(nn.Module):
    """A decoder's next token, with keys and values of those before it."""

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(self, tokens: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """From (batch, 1) and twice (layers, batch, heads, positions, head) to logits and the new keys and values."""
        decoder, kept = self.decoder, list[tuple[torch.Tensor, torch.Tensor]]()
        x = decoder.words(tokens) + decoder.places.weight[keys.shape[3]]
        for block, old_keys, old_values in zip(decoder.blocks, keys, values):
            attention, normed = block.attention, block.first_norm(x)
            parts = (attention.query, attention.key, attention.value)
            q, k, v = (part(normed).unflatten(-1, (-1, attention.head)).transpose(1, 2) for part in parts)
            seen = functional.scaled_dot_product_attention(q, torch.cat((old_keys, k), 2), torch.cat((old_values, v), 2))
            x = x + attention.out(seen.transpose(1, 2).flatten(2))
            x = x + block.down(functional.gelu(block.up(block.second_norm(x))))
            kept.append((k, v))
        return decoder.logits(decoder.norm(x)), *(torch.stack(part) for part in zip(*kept))


class Residual(nn.Module):
    """Two convolutions beside what came in, or beside a part of it where they make it smaller."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first, self.first_norm = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.second, self.second_norm = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        is_same = before == after and stride == 1
        smaller = (nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
        self.beside = nn.Identity() if is_same else nn.Sequential(*smaller)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """From (batch, channels, height, width)."""
        inner = functional.relu(self.first_norm(self.first(x)))
        return functional.relu(self.second_norm(self.second(inner)) + self.beside(x))


class Convolutional(nn.Module):
    """A net of ResNet's form: each block after the first has twice the channels and a quarter of the points."""

    def __init__(self, channels: int, blocks: int, classes: int) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, channels, 7, 2, 3, bias=False), nn.BatchNorm2d(channels)
        counts = [channels << max(place, 0) for place in range(-1, blocks)]
        self.blocks = nn.Sequential(*(Residual(one, other, 1 + (one != other)) for one, other in zip(counts, counts[1:])))
        self.classes = nn.Linear(counts[-1], classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """From (batch, 3, height, width) to (batch, classes)."""
        x = functional.max_pool2d(functional.relu(self.norm(self.stem(x))), 3, 2, 1)
        return self.classes(self.blocks(x).mean((2, 3)))
