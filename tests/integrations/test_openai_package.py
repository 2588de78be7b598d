"""The real `openai` package against a scripted server: what it streams, and what it is sent back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge import Bridge, load_config
from mcp_bridge.hosts.openai import StreamedMessage, collect, converse
from tests.support.entries import odd
from tests.support.raw_model import Turn, raw_model, saying

openai = pytest.importorskip("openai")
CALLS = [
    {
        "index": n,
        "id": f"c{n}",
        "type": "function",
        "function": {"name": "mcp_a_echo", "arguments": f'{{"text":"{n}"}}'},
    }
    for n in range(3)
]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_turn_with_three_calls_is_led_with_the_real_package(
    write_config: Callable[[str], Path], stream: bool
) -> None:
    asks = Turn([{"role": "assistant", "tool_calls": CALLS}], {"role": "assistant", "tool_calls": CALLS})
    with raw_model(asks, saying("done")) as model:
        async with (
            openai.AsyncOpenAI(base_url=model.base_url, api_key="k") as client,
            Bridge(load_config(write_config(odd("a", "normal")))) as bridge,
        ):

            async def ask(request: dict[str, Any]) -> StreamedMessage:
                if stream:
                    return await collect(await client.chat.completions.create(model="m", stream=True, **request))
                completion = await client.chat.completions.create(model="m", **request)
                message = StreamedMessage()
                message.add(completion.choices[0].message)
                return message

            assert await converse(bridge, ask, [{"role": "user", "content": "go"}]) == "done"
        answers = [one["content"] for one in model.requests[1]["messages"] if one["role"] == "tool"]
    assert answers == ["0", "1", "2"]
