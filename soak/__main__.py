"""`python -m soak`: exit status 0 if no fault was found, 1 if one was, 2 for wrong usage."""

from __future__ import annotations

import asyncio
import json
import sys

from .memory import settle_allocator
from .options import parse
from .run import run


def main(words: list[str]) -> int:
    """Run, print the report, and return the exit status."""
    options = parse(words)
    settle_allocator()
    print(f"soak: {options.seconds:g} s, seed {options.seed}, {options.chats} chats", flush=True)
    report = asyncio.run(run(options))
    print(report.table())
    if options.json is not None:
        options.json.write_text(json.dumps(report.document(), indent=2, ensure_ascii=False) + "\n", "utf-8")
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
