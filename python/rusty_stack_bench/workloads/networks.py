"""PyTorch networks that several components train, export or run. Imports PyTorch."""

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    """Attention that derives its number of heads from its weights, so that each part of a split layer is valid."""

    def __init__(self, width: int, head: int, causal: bool) -> None:
        super().__init__()
        self.head, self.causal = head, causal
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Maps (batch, positions, width) to the same shape."""
        q, k, v = (part(x).unflatten(-1, (-1, self.head)).transpose(1, 2) for part in (self.query, self.key, self.value))
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(seen.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Pre-norm transformer block: attention, and two linear layers with four times the width."""

    def __init__(self, width: int, head: int, causal: bool) -> None:
        super().__init__()
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, head, causal)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Maps (batch, positions, width) to the same shape."""
        x = x + self.attention(self.first_norm(x))
        return x + self.down(functional.gelu(self.up(self.second_norm(x))))


class Decoder(nn.Module):
    """A decoder like GPT-2 without biases, from tokens to logits."""

    def __init__(self, words: int, width: int, head: int, layers: int, positions: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Block(width, head, causal=True) for _ in range(layers))
        self.norm, self.logits = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Maps (batch, positions) to (batch, positions, words)."""
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.logits(self.norm(x))


class Encoder(nn.Module):
    """A pre-norm encoder of BERT's form, from tokens to embeddings."""

    def __init__(self, words: int, width: int, head: int, layers: int, positions: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(positions, width)
        self.blocks = nn.Sequential(*(Block(width, head, causal=False) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Maps (batch, positions) to (batch, positions, width)."""
        return self.norm(self.blocks(self.words(tokens) + self.places.weight[: tokens.shape[1]]))


class Step(nn.Module):
    """The decoder's step for the next token, given the keys and values of earlier tokens."""

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(self, tokens: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Maps tokens (batch, 1), and keys and values (layers, batch, heads, positions, head), to logits.

        Also returns the new keys and values.
        """
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
    """Residual block of two convolutions; the shortcut is a projection if the size changes."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first, self.first_norm = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.second, self.second_norm = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        is_same = before == after and stride == 1
        smaller = (nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
        self.beside = nn.Identity() if is_same else nn.Sequential(*smaller)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Maps (batch, before, height, width) to (batch, after, height / stride, width / stride)."""
        inner = functional.relu(self.first_norm(self.first(x)))
        return functional.relu(self.second_norm(self.second(inner)) + self.beside(x))


class Convolutional(nn.Module):
    """A network like ResNet: each block after the first doubles the channels and halves height and width."""

    def __init__(self, channels: int, blocks: int, classes: int) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, channels, 7, 2, 3, bias=False), nn.BatchNorm2d(channels)
        counts = [channels << max(place, 0) for place in range(-1, blocks)]
        self.blocks = nn.Sequential(*(Residual(one, other, 1 + (one != other)) for one, other in zip(counts, counts[1:])))
        self.classes = nn.Linear(counts[-1], classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Maps (batch, 3, height, width) to (batch, classes)."""
        x = functional.max_pool2d(functional.relu(self.norm(self.stem(x))), 3, 2, 1)
        return self.classes(self.blocks(x).mean((2, 3)))
