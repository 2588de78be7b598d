"""What one run is asked to do."""

from __future__ import annotations

import argparse
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

DEFAULT_TIME = "10m"
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class Options:
    """`seconds` of calls, about `cores` processors busy, all choices made from `seed`."""

    seconds: float
    seed: int
    cores: float
    chats: int
    json: Path | None


def duration(text: str) -> float:
    """Return the seconds that `90`, `60s`, `10m` or `8h` mean. Raises `ValueError`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if not found or not float(found[1]):
        raise ValueError(f"'{text}' is not a duration: write 60s, 10m or 8h")
    return float(found[1]) * _UNITS[found[2]]


def parse(words: list[str]) -> Options:
    """Read the command line; a wrong one ends the program with status 2."""
    parser = argparse.ArgumentParser(
        prog="python -m soak", description="Call tools at random while servers are killed, and check each answer."
    )
    parser.add_argument("--time", default=DEFAULT_TIME, help=f"60s, 10m, 8h (default {DEFAULT_TIME})")
    parser.add_argument("--seed", type=int, help="repeat the choices of an earlier run (default: a new one)")
    parser.add_argument("--cores", type=float, default=0.9, help="processors to keep busy, about (default 0.9)")
    parser.add_argument("--chats", type=int, default=32, help="chats that call at the same time (default 32)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcome there as JSON")
    asked = parser.parse_args(words)
    try:
        seconds = duration(asked.time)
    except ValueError as error:
        parser.error(str(error))
    if asked.chats < 1 or asked.cores <= 0:
        parser.error("--chats and --cores must be more than 0")
    seed = secrets.randbelow(2**32) if asked.seed is None else asked.seed
    return Options(seconds, seed, asked.cores, asked.chats, asked.json)
