"""The dispatcher: every request gets its own response, and none is left waiting at the end."""

from __future__ import annotations

import asyncio

import pytest

from mcp_bridge.errors import RpcError
from mcp_bridge.sessions.dispatcher import Dispatcher
from mcp_bridge.transport.framing import UnreadableAnswer
from tests.support.scripted_channel import Manual, dispatcher
from tests.support.waiting import until


async def test_responses_out_of_order_reach_their_requests() -> None:
    channel = Manual()
    async with dispatcher(channel) as sending:
        first, second = sending.begin("tools/call", {"name": "a"}), sending.begin("tools/list", {})
        await until(lambda: len(channel.sent) == 2)
        channel.say({"id": second.id, "result": {"n": 2}})
        assert await second.result == {"n": 2}
        assert sending.busy
        channel.say({"id": first.id, "error": {"code": 1, "message": "m"}})
        with pytest.raises(RpcError):
            await first.result
        assert not sending.busy


async def test_a_call_has_its_own_id_as_progress_token_and_other_requests_have_none() -> None:
    channel = Manual()
    async with dispatcher(channel) as sending:
        sending.begin("tools/call", {"name": "a"})
        sending.begin("tools/list", {})
        await until(lambda: len(channel.sent) == 2)
    call, listing = channel.sent
    assert call["params"] == {"name": "a", "_meta": {"progressToken": call["id"]}}
    assert "params" not in listing
    assert call["id"] > 0  # some servers take 0 for none


async def test_at_the_end_of_the_channel_every_open_request_fails_and_later_ones_at_once() -> None:
    channel = Manual()
    async with dispatcher(channel) as sending:
        requests = [sending.begin("tools/call", {}) for _ in range(3)]
        await until(lambda: len(channel.sent) == 3)
        channel.end()
        await asyncio.wait({request.result for request in requests})
        requests.append(sending.begin("ping", {}))
        assert all(isinstance(request.result.exception(), ConnectionError) for request in requests)
    assert len(channel.sent) == 3


async def test_leaving_it_fails_what_is_open_though_the_channel_goes_on() -> None:
    channel = Manual()
    async with dispatcher(channel) as sending:
        request = sending.begin("tools/call", {})
        await until(lambda: bool(channel.sent))
    assert isinstance(request.result.exception(), ConnectionError)
    assert not sending.ended


async def test_a_server_that_does_not_read_holds_up_neither_the_caller_nor_the_end() -> None:
    channel = Manual()
    channel.blocked.clear()
    async with dispatcher(channel) as sending:
        request = sending.begin("tools/call", {})
        await asyncio.sleep(0)
        sending.abandon(request)
        sending.cancel(request, "timeout")
        await asyncio.wait_for(sending.cancellations_sent(), 10)
    assert channel.sent == []


async def test_an_abandoned_request_costs_the_next_one_nothing() -> None:
    """SDK 1.x ended its session when a request was cancelled just as its response arrived."""
    channel = Manual()
    async with dispatcher(channel) as sending:
        gone = sending.begin("tools/call", {})
        await until(lambda: bool(channel.sent))
        channel.say({"id": gone.id, "result": {"n": 1}})
        sending.abandon(gone)
        request = sending.begin("tools/call", {})
        await until(lambda: len(channel.sent) == 2)
        channel.say({"id": request.id, "result": {"n": 2}})
        assert await request.result == {"n": 2}
        assert gone.result.cancelled()


@pytest.mark.parametrize("better", [True, False])
async def test_an_unreadable_response_fails_its_request_unless_a_readable_one_follows(better: bool) -> None:
    channel = Manual()
    async with dispatcher(channel) as sending:
        request = sending.begin("tools/call", {})
        await until(lambda: bool(channel.sent))
        channel.say(UnreadableAnswer(request.id, "torn"))
        if better:
            channel.say({"id": request.id, "result": {"n": 1}})
            assert await request.result == {"n": 1}
        else:
            with pytest.raises(RpcError, match="torn"):
                await asyncio.wait_for(request.result, 20)


async def test_it_can_be_left_without_a_request() -> None:
    async with dispatcher(Manual()) as sending:
        assert isinstance(sending, Dispatcher)
        assert not sending.busy


async def test_a_request_whose_caller_has_gone_at_once_is_not_sent() -> None:
    channel = Manual()
    async with dispatcher(channel) as sending:
        gone = sending.begin("tools/call", {"name": "a"})
        sending.cancel(gone, "cancelled by the caller")
        sending.abandon(gone)
        sending.begin("tools/list", {})
        await until(lambda: bool(channel.sent))
    assert [message["method"] for message in channel.sent] == ["tools/list"]
