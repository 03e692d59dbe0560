"""A seeded corpus of Markdown files for benchmarks: same seed, same bytes."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

FILES = 40_000
MEGABYTES = 55
WORDS = 220_000

_ONSETS = [
    *"bcdfghjklmnprstvw",
    *("br", "cr", "dr", "fl", "gr", "pl", "pr", "sc", "sh", "sl", "st"),
]
_VOWELS = [*"aeiou", "ai", "ea", "ee", "ie", "oa", "ou"]
_CODAS = ["", "", "", "n", "r", "s", "t", "l", "m", "ck", "nd", "st", "ng"]
_ENDINGS = ["", "", "", "s", "ed", "ing", "er", "ly", "ation", "ness", "ible", "al"]


def words(count: int, rng: random.Random) -> list[str]:
    """`count` distinct words, in the order of their frequency."""
    found: dict[str, None] = {}
    while len(found) < count:
        stem = "".join(
            rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS)
            for _ in range(rng.choice((1, 2, 2, 3)))
        )
        found.setdefault(stem + rng.choice(_ENDINGS))
    return list(found)


def write_corpus(
    folder: Path, *, files: int = FILES, megabytes: float = MEGABYTES, seed: int = 7
) -> list[str]:
    """Write the corpus below `folder`, and give its words in the order of their frequency."""
    rng = random.Random(seed)
    vocabulary = words(WORDS, rng)
    weights = list(itertools.accumulate(1.0 / (rank + 2.7) for rank in range(len(vocabulary))))
    size = int(megabytes * 1e6 / files)
    for number in range(files):
        place = folder / f"part-{number // 1000:03d}" / f"{number % 1000 // 100}"
        if number % 100 == 0:
            place.mkdir(parents=True, exist_ok=True)
        length = max(200, int(rng.gauss(size, size / 3)))
        text = rng.choices(vocabulary, cum_weights=weights, k=length // 11)
        (place / f"page-{number:05d}.md").write_text(_page(text, rng), encoding="utf-8")
    return vocabulary


def _page(text: list[str], rng: random.Random) -> str:
    parts = [f"# {' '.join(text[:3]).title()}\n"]
    at = 3
    while at < len(text):
        if rng.random() < 0.15:
            parts.append(f"## {' '.join(text[at : at + 2])}\n")
            at += 2
        sentences = []
        for _ in range(rng.randint(2, 6)):
            length = rng.randint(6, 18)
            if at < len(text):
                sentences.append(" ".join(text[at : at + length]).capitalize() + ".")
            at += length
        parts.append(" ".join(sentences) + "\n")
    return "\n".join(parts)
