"""The long run: hours of random calls and random faults, with every result checked.

`python -m soak` (or `make soak SOAK=8h`). It is not one of the `tests/`: it is a program with
options, progress and an exit status of its own, and runs for as long as you like. A seed repeats its
choices but not its timing. pytest would add nothing but a time limit.
Nothing here is imported by the library.
"""
