"""Requests on one session: who gets which answer, and that none is left over."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_bridge import _sdk
from mcp_bridge.errors import RpcError
from mcp_bridge.sessions.in_flight import InFlight

Heard = dict[int, "asyncio.Future[dict[str, Any]]"]
SESSION: Any = None


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    """What the SDK's session has still to hear, by the number of the request."""
    open_requests: Heard = {}

    async def request(session: object, method: str, params: object) -> dict[str, Any]:
        number = len(open_requests) + 1
        open_requests[number] = asyncio.get_running_loop().create_future()
        return await open_requests[number]

    monkeypatch.setattr(_sdk, "request", request)
    return open_requests


async def test_an_answer_is_handed_on_before_the_session_has_taken_it_in(heard: Heard) -> None:
    requests = InFlight()
    first, second = (requests.begin(SESSION, "tools/call", {}) for _ in range(2))
    await asyncio.sleep(0)
    requests.take(second.number, {"result": {"n": 2}})
    assert (await second.answer, first.answer.done(), heard[2].done()) == ({"n": 2}, False, False)
    await requests.close()


async def test_an_error_is_handed_on_with_its_code_and_data() -> None:
    requests = InFlight()
    request = requests.begin(SESSION, "tools/call", {})
    requests.take(request.number, {"error": {"code": -5, "message": "no", "data": [1]}})
    with pytest.raises(RpcError) as caught:
        await request.answer
    assert (caught.value.code, caught.value.message, caught.value.data) == (-5, "no", [1])
    await requests.close()


async def test_what_the_session_says_counts_where_nothing_was_taken(heard: Heard) -> None:
    requests = InFlight()
    good, bad = (requests.begin(SESSION, "ping", {}) for _ in range(2))
    await asyncio.sleep(0)
    heard[good.number].set_result({"n": 1})
    heard[bad.number].set_exception(ConnectionError("gone"))
    assert await good.answer == {"n": 1}
    with pytest.raises(ConnectionError, match="gone"):
        await bad.answer
    await requests.close()


async def test_at_the_end_of_the_session_nobody_waits_any_more(heard: Heard) -> None:
    requests = InFlight()
    request = requests.begin(SESSION, "tools/call", {})
    waiting = asyncio.create_task(asyncio.wait({request.answer}))
    await asyncio.sleep(0)
    await requests.close()
    await waiting
    assert isinstance(request.answer.exception(), ConnectionError)
    assert heard[request.number].cancelled()


async def test_one_that_is_left_ends_by_itself_and_its_answer_reaches_nobody(heard: Heard) -> None:
    requests = InFlight()
    request = requests.begin(SESSION, "tools/call", {})
    await asyncio.sleep(0)
    requests.leave(request)
    requests.take(request.number, {"result": {}})
    assert (len(requests), request.answer.cancelled(), heard[request.number].done()) == (0, True, False)
    heard[request.number].set_result({})
    await requests.settle(1, answered=True)
    await requests.close()


async def test_the_session_takes_in_what_was_handed_on_before_it_ends(heard: Heard) -> None:
    """The SDK logs a traceback of an answer that it cannot give to anybody."""
    requests = InFlight()
    taken, open_one = (requests.begin(SESSION, "tools/call", {}) for _ in range(2))
    await asyncio.sleep(0)
    requests.take(taken.number, {"result": {}})
    asyncio.get_running_loop().call_soon(heard[taken.number].set_result, {})
    await requests.settle(30, answered=True)
    assert not open_one.answer.done()
    requests.cancel()
    assert not heard[taken.number].cancelled()
    await requests.close()
