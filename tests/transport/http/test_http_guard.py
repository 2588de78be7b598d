"""The headers that a guard adds to requests, and what it makes of statuses of 400 and above."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mcp_bridge import Bridge, Call, Proceed, ToolResult, load_config
from mcp_bridge._sdk import httpx
from mcp_bridge.transport.http.failure import failure_in
from mcp_bridge.transport.http.guard import HttpGuard
from mcp_bridge.transport.http.injection import EventInjection
from mcp_bridge.transport.http.sse_guard import SseGuard
from mcp_bridge.transport.http.streamable_guard import StreamableHttpGuard
from tests.servers.http_raw import raw_server
from tests.support.entries import Write
from tests.support.remote import at

URL = "http://127.0.0.1/mcp"
VERSION = "mcp-protocol-version"


class Network(httpx.AsyncBaseTransport):  # type: ignore[misc]
    """Keeps each request, and answers it with the same response."""

    def __init__(self, status: int = 202, body: object = None) -> None:
        self.requests: list[Any] = []
        self._status = status
        self._body = body

    async def handle_async_request(self, request: Any) -> Any:
        self.requests.append(request)
        return httpx.Response(self._status, json=self._body)


def streamable(network: Network) -> HttpGuard:
    return StreamableHttpGuard(network, URL, limit=1000)


def sse(network: Network) -> HttpGuard:
    return SseGuard(network, URL, injection=EventInjection(URL, ""), limit=1000)


def post(request_id: object, **headers: str) -> Any:
    body = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call"}
    return httpx.Request("POST", URL, json=body, headers={name.replace("_", "-"): headers[name] for name in headers})


@pytest.mark.parametrize("make", [streamable, sse])
async def test_every_request_names_the_agreed_protocol_version_from_then_on(make: Any) -> None:
    network = Network()
    guard = make(network)
    await guard.handle_async_request(post(1))
    guard.protocol_version = "2025-06-18"
    for method in ("POST", "GET", "DELETE"):
        await guard.handle_async_request(httpx.Request(method, URL))
    assert [one.headers.get(VERSION) for one in network.requests] == [None, *["2025-06-18"] * 3]


async def test_a_protocol_version_that_the_sdk_has_set_stays() -> None:
    network = Network()
    guard = streamable(network)
    guard.protocol_version = "2025-06-18"
    await guard.handle_async_request(post(1, MCP_Protocol_Version="2025-11-25"))
    assert network.requests[0].headers.get_list(VERSION) == ["2025-11-25"]


@pytest.mark.parametrize("make", [streamable, sse])
@pytest.mark.parametrize("request_id", [7, "7"])
async def test_extra_headers_go_out_once_and_only_with_the_request_of_that_id(make: Any, request_id: object) -> None:
    network = Network()
    guard = make(network)
    guard.extra_headers["7"] = {"X-MCP-Bridge-User": "qq%3A42", "Mcp-Name": "add"}
    for request in (post(8), httpx.Request("POST", URL, json={"jsonrpc": "2.0", "id": 7, "result": {}})):
        await guard.handle_async_request(request)
    await guard.handle_async_request(post(request_id))
    await guard.handle_async_request(post(request_id))
    sent = [(one.headers.get("x-mcp-bridge-user"), one.headers.get("mcp-name")) for one in network.requests]
    assert sent == [(None, None), (None, None), ("qq%3A42", "add"), (None, None)]
    assert guard.extra_headers == {}


async def test_extra_headers_replace_none_that_carry_the_request_or_the_login() -> None:
    network = Network()
    guard = streamable(network)
    kept = {"Authorization": "Bearer a", "Mcp-Session-Id": "s", "X-Trace": "1"}
    request = post(7, **{name.replace("-", "_"): value for name, value in kept.items()})
    before = dict(request.headers)
    guard.extra_headers["7"] = {**dict.fromkeys([*before, *kept], "other"), "accept": "*/*", "user-agent": "x"}
    await guard.handle_async_request(request)
    headers = network.requests[0].headers
    for name in ("authorization", "host", "content-length", "content-type", "mcp-session-id"):
        assert headers.get_list(name) == [before[name]]
    assert headers.get_list("x-trace") == ["other"]


async def test_a_request_that_is_never_sent_leaves_no_headers_behind() -> None:
    class Down(Network):
        async def handle_async_request(self, request: Any) -> Any:
            raise httpx.ConnectError("down")

    guard = streamable(Down())
    guard.extra_headers["7"] = {"X-MCP-Bridge-User": "qq%3A42"}
    await guard.handle_async_request(post(7))
    assert guard.extra_headers == {}


def error(request_id: object, text: str) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": -32000, "message": text}}


@pytest.mark.parametrize(
    ("status", "body", "in_session", "expected"),
    [
        (404, error(7, "no such order"), True, "answer"),
        (404, error(7, "Session not found"), True, "expired"),
        (404, error(None, "no such order"), True, "expired"),
        (404, error(7, "Session not found"), False, "answer"),
        (404, None, False, "failure"),
        (400, error(None, "bad"), True, "doubtful"),
        (400, error(7, "unknown session"), True, "answer"),
        (400, error(None, "bad"), False, "answer"),
        (500, error(None, "session expired"), True, "doubtful"),
        (500, error(None, "no such table"), True, "answer"),
        (503, error(7, "no such table"), True, "failure"),
        (410, None, True, "doubtful"),
    ],
)
async def test_what_a_refusal_means_for_the_request_and_its_session(
    status: int, body: object, in_session: bool, expected: str
) -> None:
    guard = streamable(Network(status, body))
    response = await guard.handle_async_request(post(7, **({"Mcp_Session_Id": "s"} if in_session else {})))
    message = json.loads(await response.aread())
    assert (response.status_code, message["id"]) == (200, 7)
    failure = failure_in(message["error"].get("data"))
    if failure is None:
        found = "answer"
    elif failure.expired:
        found = "expired"
    else:
        found = "doubtful" if failure.doubtful else "failure"
    assert found == expected


@pytest.mark.parametrize("old", [False, True])
async def test_headers_that_middleware_adds_go_with_that_call_only(write_config: Write, old: bool) -> None:
    async def name_caller(call: Call, proceed: Proceed) -> ToolResult:
        return await proceed(replace(call, headers={"X-Caller": call.chat or ""}) if call.chat else call)

    with raw_server(old=old) as server:
        file = write_config(at(server.url, warm=0, transport="sse" if old else "http"))
        async with Bridge(load_config(file), middleware=[name_caller]) as bridge:
            assert not (await bridge.call("mcp_s_echo", {"text": "x"}, chat="qq:group:1")).is_error
            assert not (await bridge.call("mcp_s_echo", {"text": "x"})).is_error
    sent = [(rpc, headers.get("x-caller")) for _, _, rpc, headers in server.asked if rpc]
    assert [caller for rpc, caller in sent if rpc == "tools/call"] == ["qq:group:1", None]
    assert {caller for rpc, caller in sent if rpc != "tools/call"} == {None}
