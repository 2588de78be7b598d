"""The long run: hours of random calls and random trouble, and a check of every single answer.

`python -m soak` (or `make soak SOAK=8h`). It stands beside `benchmarks/` and not in `tests/`: it is a
program with options, progress and an exit status of its own, runs as long as somebody likes, and a
seed repeats its choices though not its timing. pytest would add nothing but a time limit.
Nothing here is imported by the library.
"""
