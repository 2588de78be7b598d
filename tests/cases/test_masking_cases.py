"""Masking: the spellings, cuts and characters in between by which a secret came out all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_bridge import Bridge, load_config

from ..servers.http_raw import raw_server
from .remote import at

Write = Callable[..., Path]
KEY = "sk-Ab12cd34ef56gh78ij90"


async def test_the_key_that_an_old_server_repeats_in_its_endpoint_was_logged_for_each_call(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    with raw_server(old=True) as server:
        login = server.origin.replace("//", f"//user:{KEY}@")
        for endpoint in (f"/messages?session_id=1&key={KEY}", f"{login}/messages?key={KEY}"):
            server.endpoint = endpoint
            entry = at(f"{server.url}?key={KEY}", transport="sse", call_timeout=10)
            async with Bridge(load_config(write_config(entry))) as bridge:
                assert (await bridge.call("mcp_s_echo")).text == "hello"
            posted = {path for method, path, _, _ in server.asked if method == "POST"}
            assert posted == {endpoint.removeprefix(login)}  # it is sent all the same
            server.asked.clear()
    told = [one.getMessage() for one in caplog.records]
    assert any(f"{server.origin}/messages" in one for one in told)
    assert KEY not in "\n".join(told)
