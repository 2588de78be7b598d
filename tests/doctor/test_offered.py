"""Servers that answer: every step passes, and what of their tools is offered is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcp_bridge import load_config
from mcp_bridge.doctor.examination import Examination
from mcp_bridge.doctor.offered_tools import OfferSteps
from mcp_bridge.doctor.texts import DoctorTexts
from mcp_bridge.store.approvals import Approvals
from mcp_bridge.text.redaction import Redactor
from mcp_bridge.tools.tool import Listing, RemoteTool
from mcp_bridge.transport.route import SharedResources
from mcp_bridge.transport.stdio.guardian import Guardian
from tests.support.entries import Write, odd
from tests.support.examining import entry, examine, failing_step
from tests.support.remote import at, remote

pytestmark = pytest.mark.usefixtures("no_children_left")
HEALTHY = ["config", "variables", "program", "start", "handshake", "tools", "names", "schemas", "ping"]


@pytest.mark.process
async def test_a_healthy_server_passes_every_step_in_both_languages(write_config: Write, data_dir: Path) -> None:
    entries = '[mcp.servers.calculator]\ncommand = "${PYTHON}"\nargs = ["{calculator}"]\n'
    (found,) = await examine(write_config(entries), "en", data_dir)
    details = {step.step: step.detail for step in found.steps}
    assert found.ok
    assert [(step.step, step.hint) for step in found.steps] == [(name, "") for name in HEALTHY]
    assert details["program"].startswith(sys.executable)
    assert "protocol 20" in details["handshake"]
    assert details["tools"].startswith("5 after ")
    assert "mcp_calculator_add, " in details["names"]
    assert details["schemas"].startswith("add(a, b), ")
    assert details["ping"].endswith(" ms")
    (found,) = await examine(write_config(entries), "zh", data_dir)
    assert found.ok
    assert {step.step: step.detail for step in found.steps}["tools"].startswith("5 个")


@pytest.mark.process
async def test_a_healthy_remote_server_passes_every_step(write_config: Write, tmp_path: Path, data_dir: Path) -> None:
    with remote(tmp_path) as server:
        (found,) = await examine(write_config(at(server.origin + "/mcp")), "en", data_dir)
    assert found.ok
    steps = [step.step for step in found.steps]
    assert steps == ["config", "variables", "address", "connect", *HEALTHY[4:]]


async def test_what_is_only_odd_is_a_hint_and_no_failure(
    write_config: Write, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMPTY_X", "")
    text = odd("s", "stdout_banner", more='env = { A = "${EMPTY_X}", B = "${NOT_SET_X:-b}" }\ncoment = 1')
    (found,) = await examine(write_config(text), "en", data_dir)
    steps = {step.step: step for step in found.steps}
    assert found.ok
    assert "unknown key 'coment'" in steps["config"].hint
    assert steps["variables"].detail == "set: EMPTY_X; default used: NOT_SET_X"
    assert "EMPTY_X is set but empty" in steps["variables"].hint
    assert "non-protocol output to stdout" in steps["handshake"].hint


async def test_names_are_told_over_all_servers_and_their_limits(write_config: Write, data_dir: Path) -> None:
    text = "[mcp]\nmax_tools = 3\n" + odd("a.b", "normal").replace("a.b", '"a.b"') + odd("a_b", "normal")
    first, second = await examine(write_config(text), "en", data_dir)
    names = {one.name: next(step for step in one.steps if step.step == "names") for one in (first, second)}
    assert names["a.b"].detail.count("mcp_a_b_echo_") == 1  # told apart by a hash, as in the bot
    assert "not offered because there are more than max_tools = 3: mcp_a_b_" in names["a_b"].hint
    third = (await examine(write_config(text.replace("= 3", "= 2")), "zh", data_dir))[1].steps[-1]
    assert (third.ok, "没有位置放它的工具" in third.detail, "调大 max_tools" in third.hint) == (False, True, True)


async def test_a_pinned_server_whose_tools_changed_is_told_and_nothing_is_stored(
    write_config: Write, data_dir: Path
) -> None:
    file = write_config(odd("s", "normal", more="pin = true"))
    config = load_config(file).servers[0]
    assert (await examine(file, "en", data_dir))[0].ok
    assert not list((data_dir / "approvals").glob("*.json"))  # looking is no accepting
    Approvals(data_dir).accept(config, Listing())
    step = await failing_step(file, "en", data_dir)
    assert (step.step, "mcp-bridge accept s" in step.hint) == ("names", True)
    assert "暂不提供" in (await failing_step(file, "zh", data_dir)).detail


async def test_a_schema_that_no_model_accepts_is_told(data_dir: Path, write_config: Write) -> None:
    config = load_config(write_config(entry(command="x")))
    shared = SharedResources(Guardian(), Redactor(), 2**20)
    texts = DoctorTexts("en")
    examination = Examination(config.servers[0], shared, texts, "")
    examination.listing = Listing((RemoteTool("s", "bad", "", False), RemoteTool("s", "good", "", {})))
    OfferSteps(config, [examination], data_dir, texts).add_to(examination)
    assert "left out because no model accepts their parameters: mcp_s_bad" in examination.diagnosis().steps[-1].hint
    examination = Examination(config.servers[0], shared, texts, "")
    examination.listing = Listing((RemoteTool("s", "bad", "", False),))
    OfferSteps(config, [examination], data_dir, texts).add_to(examination)
    assert not examination.ok
