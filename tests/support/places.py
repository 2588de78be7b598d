"""Where the project, its tests and the servers of the tests are."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
SERVERS = TESTS / "servers"
ODD_SERVER = SERVERS / "odd_server.py"
CALCULATOR = ROOT / "examples" / "calculator_server.py"
