"""How a server is started is worked out once, and again when that may have changed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from mcp_bridge import Bridge, ServerUnavailable, load_config
from mcp_bridge.config.server_config import ServerConfig
from mcp_bridge.transport import route
from mcp_bridge.transport.stdio.launch import Launch, plan_launch
from tests.support.entries import Write, odd
from tests.support.places import ODD_SERVER

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("no_children_left")]
posix = pytest.mark.skipif(os.name == "nt", reason="the server is a shell script")
WORKING = f'exec "{sys.executable}" "{ODD_SERVER}" normal'


def write_program(file: Path, line: str) -> None:
    file.write_text(f"#!/bin/sh\n{line}\n")
    file.chmod(0o755)


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Launch]:
    """Return what has been worked out so far."""
    made: list[Launch] = []
    plan = plan_launch

    def noted(config: ServerConfig) -> Launch:
        made.append(plan(config))
        return made[-1]

    monkeypatch.setattr(route, "plan_launch", noted)
    return made


async def test_calls_start_the_server_as_it_was_started_before(write_config: Write, plans: list[Launch]) -> None:
    async with Bridge(load_config(write_config(odd("s", "normal", more="warm = 0")))) as bridge:
        for _ in range(3):
            assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
    assert len(plans) == 1


@posix
async def test_a_program_that_has_moved_is_found_by_the_very_next_call(
    write_config: Write, tmp_path: Path, plans: list[Launch]
) -> None:
    places = [tmp_path / "old" / "server", tmp_path / "new" / "server"]
    for place in places:
        place.parent.mkdir()
    write_program(places[0], WORKING)
    path = os.pathsep.join(str(place.parent) for place in places)
    file = write_config(f'[mcp.servers.s]\ncommand = "server"\nwarm = 0\nenv = {{ PATH = "{path}" }}\n')
    async with Bridge(load_config(file)) as bridge:
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
        places[0].rename(places[1])  # as an update of node under nvm does
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
    assert [plan.program for plan in plans] == list(map(str, places))


@posix
async def test_after_a_failed_start_it_is_worked_out_anew(
    write_config: Write, tmp_path: Path, plans: list[Launch]
) -> None:
    program = tmp_path / "server"
    write_program(program, WORKING)
    async with Bridge(load_config(write_config(f'[mcp.servers.s]\ncommand = "{program}"\nwarm = 0\n'))) as bridge:
        write_program(program, "echo 'no such module' >&2; exit 3")
        with pytest.raises(ServerUnavailable, match="no such module"):
            await bridge.call("mcp_s_echo", {"text": "x"})
        write_program(program, WORKING)
        assert (await bridge.call("mcp_s_echo", {"text": "x"})).text == "x"
        assert len(plans) > 1
