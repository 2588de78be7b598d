"""Random traffic through reader, filter and the SDK's session: the right answer still arrives."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge import _sdk
from mcp_bridge.errors import RpcError
from mcp_bridge.transport.channel import session_streams
from mcp_bridge.transport.filter import MessageFilter, alias
from tests.support.scripted_channel import LIMIT, Scripted

GENEROUS = 30.0
NOT_OURS = (None, 0, 1, "0", "1")
"""The first ids of both majors of the SDK, and none."""

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
members = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"])
methods = st.sampled_from(["ping", "roots/list", "notifications/progress", "notifications/message", "tools/list"])
objects = st.dictionaries(members, values | methods, max_size=6)
# An answer under the id that is waited for, well-formed or not, may be taken for the answer.
lines = st.one_of(
    st.binary(max_size=60).map(lambda raw: raw.replace(b"\n", b" ")),
    objects.filter(lambda one: one.get("id") not in NOT_OURS and not isinstance(one.get("id"), bool)).map(
        lambda one: json.dumps(one).encode()
    ),
    st.just(b"x" * (LIMIT + 10)),
)


async def ask(channel: Scripted) -> dict[str, Any] | RpcError:
    made = MessageFilter(roots=("file:///a",), elicitation="defaults")
    async with session_streams(channel, made, lambda: None) as (read, write), _sdk.session(read, write) as session:
        await _sdk.notify(session, "notifications/initialized")  # no call leaves before
        try:
            return await asyncio.wait_for(_sdk.request(session, alias("tools/call", 1), {"name": "x"}), GENEROUS)
        except RpcError as error:
            return error


@given(st.lists(lines, max_size=8))
def test_whatever_a_server_says_first_its_answer_is_heard(said: list[bytes]) -> None:
    """No noise, no odd message and no flood before an answer can lose it, or keep the chat waiting."""
    channel = Scripted(said, {"right": True})
    result = asyncio.run(ask(channel))
    # A line of noise can happen to be an answer without a usable id: then it is heard as one.
    assert result == {"right": True} or any(b"result" in line for line in said)
    replies = [one["id"] for one in channel.sent if "method" not in one]
    assert all(("result" in one) != ("error" in one) for one in channel.sent if "method" not in one)
    assert len(replies) <= sum(line.count(b"method") for line in said)
