"""What the bridge costs, beside the plain SDK and beside a client written by hand.

`python -m benchmarks` (or `make bench`) runs everything on this machine, interleaved, and
writes RESULTS.md. Nothing here is imported by the library.
"""
