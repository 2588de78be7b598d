"""What happens around a call: refusals, consent, rates, and what is noted of it."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge import (
    Bridge,
    Call,
    Caller,
    CallTimeout,
    Middleware,
    PermissionDenied,
    Proceed,
    ServerUnavailable,
    ToolResult,
    load_config,
)
from mcp_bridge.calls.call_stats import KEPT_CALLS, CallRecord, CallStats
from mcp_bridge.calls.stages import RateLimiter
from mcp_bridge.config.server_config import Rate, RateLimits, ServerConfig
from mcp_bridge.errors import RateLimited
from mcp_bridge.tools.failure_text import failure_text
from mcp_bridge.tools.tool import RemoteTool, present
from tests.support.entries import Write, odd

GROUP = {"chat": "qq:group:1", "user": "qq:42"}


def _call(limits: RateLimits, chat: str | None, user: str | None) -> Call:
    tool = present("mcp_s_t", RemoteTool("s", "t", "d", {"type": "object"}))
    assert tool is not None
    return Call(tool, ServerConfig("s", rate=limits), {}, Caller(chat, user))


async def _fine(call: Call) -> ToolResult:
    return ToolResult("done")


class TestRates:
    def test_the_fourth_call_within_a_minute_is_refused_and_told_when(self) -> None:
        async def scenario() -> None:
            now = 0.0
            limiter = RateLimiter(lambda: now)
            call = _call(RateLimits(chat=Rate(3, 60)), "qq:group:1", "qq:1")
            for now in (0.0, 10.0, 20.0):  # noqa: B007
                assert (await limiter(call, _fine)).text == "done"
            now = 30.0
            with pytest.raises(RateLimited, match=r"no more than 3 calls within 60 s in one chat; wait 30 s"):
                await limiter(call, _fine)
            other = _call(RateLimits(chat=Rate(3, 60)), "qq:group:2", "qq:1")
            assert (await limiter(other, _fine)).text == "done"
            now = 60.0
            assert (await limiter(call, _fine)).text == "done"

        asyncio.run(scenario())

    @given(st.lists(st.floats(0, 5), max_size=60), st.integers(1, 5), st.floats(0.5, 10))
    def test_nobody_ever_gets_more_calls_through_than_the_owner_allows(
        self, pauses: list[float], most: int, seconds: float
    ) -> None:
        async def scenario() -> None:
            now = 0.0
            limiter, passed = RateLimiter(lambda: now), []
            for pause in pauses:
                now += pause
                try:
                    await limiter(_call(RateLimits(user=Rate(most, seconds)), None, "qq:1"), _fine)
                    passed.append(now)
                except RateLimited:
                    recent = [at for at in passed if at > now - seconds]
                    assert len(recent) == most
            for index, at in enumerate(passed):
                assert sum(at - seconds < one <= at for one in passed[: index + 1]) <= most

        asyncio.run(scenario())

    async def test_the_owners_own_program_is_not_limited(self) -> None:
        limiter = RateLimiter()
        for _ in range(5):
            await limiter(_call(RateLimits(Rate(1, 60), Rate(1, 60)), None, None), _fine)

    async def test_all_whom_the_bot_does_not_know_count_as_one_user_of_their_chat(self, write_config: Write) -> None:
        entry = odd("s", "normal", more='rate = { user = "1/h" }')
        async with Bridge(load_config(write_config(entry))) as bridge:
            for chat in ("qq:group:1", "qq:group:2"):
                await bridge.call("mcp_s_echo", {"text": "a"}, chat=chat, user="")
                with pytest.raises(RateLimited):
                    await bridge.call("mcp_s_echo", {"text": "b"}, chat=chat, user="")

    async def test_the_model_is_told_to_wait(self, write_config: Write) -> None:
        entry = odd("s", "normal", more='rate = { user = "1/h" }')
        async with Bridge(load_config(write_config(entry))) as bridge:
            await bridge.call("mcp_s_echo", {"text": "a"}, **GROUP)
            with pytest.raises(RateLimited) as refusal:
                await bridge.call("mcp_s_echo", {"text": "b"}, **GROUP)
            assert "MCP server 's' takes no more than 1 calls within 3600 s by one user" in failure_text(refusal.value)
            assert "try again after that time" in failure_text(refusal.value)
            assert bridge.status()[0].calls == 1
            assert bridge.call_stats.server("s").denied == 1


class TestOverrides:
    async def test_the_owners_description_limit_and_hiding(self, write_config: Write) -> None:
        more = """
        max_call_time = 2
        [mcp.servers.s.override.echo]
        description = "Says it again."
        [mcp.servers.s.override.pid]
        visibility = "hidden"
        [mcp.servers.s.override.sleep]
        call_timeout = 0.3
        """
        async with Bridge(load_config(write_config(odd("s", "sleep", more=more)))) as bridge:
            tools = {tool.remote_name: tool for tool in bridge.tools()}
            assert tools.keys() == {"echo", "sleep"}
            assert tools["echo"].description == "[MCP:s] Says it again."
            with pytest.raises(CallTimeout, match=r"no answer and no progress for 0\.3 s"):
                await bridge.call("mcp_s_sleep", {"seconds": 60})

    async def test_a_longer_limit_of_one_tool_is_not_cut_by_the_servers_total(self, write_config: Write) -> None:
        more = "call_timeout = 0.2\nmax_call_time = 0.4\n[mcp.servers.s.override.sleep]\ncall_timeout = 30"
        async with Bridge(load_config(write_config(odd("s", "sleep", more=more)))) as bridge:
            assert not (await bridge.call("mcp_s_sleep", {"seconds": 1})).is_error


class TestMiddleware:
    async def test_a_program_of_its_own_sees_repaired_arguments_and_may_change_the_result(
        self, write_config: Write
    ) -> None:
        seen: list[Any] = []

        async def shout(call: Call, proceed: Proceed) -> ToolResult:
            seen.append((call.tool.name, call.arguments, call.chat))
            result = await proceed(call)
            return ToolResult(result.text.upper())

        config = load_config(write_config(odd("s", "normal", more='chats = ["qq:1"]')))
        async with Bridge(config, middleware=[shout]) as bridge:
            assert (await bridge.call("mcp_s_echo", '{"text": "a"}', **GROUP)).text == "A"
            with pytest.raises(PermissionDenied):
                await bridge.call("mcp_s_echo", {"text": "a"}, chat="qq:group:2")
            assert (await bridge.call("mcp_s_echo", "[broken")).is_error
        assert seen == [("mcp_s_echo", {"text": "a"}, "qq:group:1")]

    async def test_it_may_pass_other_arguments_on_or_answer_itself(self, write_config: Write) -> None:
        class Censor:
            async def __call__(self, call: Call, proceed: Proceed, /) -> ToolResult:
                assert isinstance(call.arguments, dict)
                if call.arguments["text"] == "secret":
                    return ToolResult("not answered")
                return await proceed(replace(call, arguments={"text": "other"}))

        stages: list[Middleware] = [Censor()]
        async with Bridge(load_config(write_config(odd("s", "normal"))), middleware=stages) as bridge:
            assert (await bridge.call("mcp_s_echo", {"text": "a"})).text == "other"
            assert (await bridge.call("mcp_s_echo", {"text": "secret"})).text == "not answered"
            assert bridge.status()[0].calls == 2


class TestTrace:
    async def test_each_call_leaves_one_line(self, write_config: Write, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "mcp_bridge.calls")
        config = load_config(write_config(odd("s", "normal", more='users = ["qq:42"]')))
        async with Bridge(config) as bridge:
            await bridge.call("mcp_s_echo", {"text": "hello"}, **GROUP)
            with pytest.raises(PermissionDenied):
                await bridge.call("mcp_s_echo", {"text": "x"}, chat="qq:group:1", user="qq:\n7 x")
        first, second = [record.getMessage() for record in caplog.records if record.name.startswith("mcp_bridge.calls")]
        assert first.startswith("mcp call server=s tool=echo chat=qq:group:1 user=qq:42 ms=")
        assert first.endswith("outcome=ok sent=17 text=5 media=0")
        assert "outcome=denied" in second
        assert 'user="qq: 7 x"' in second
        assert "\n" not in second

    async def test_what_failed_is_told_apart(self, write_config: Write) -> None:
        entries = odd("h", "slow_call", more="call_timeout = 0.3") + odd("d", "crash_call") + odd("c", "slow_call")
        async with Bridge(load_config(write_config(entries))) as bridge:
            with pytest.raises(CallTimeout):
                await bridge.call("mcp_h_slow", {"delay": 60})
            with pytest.raises(ServerUnavailable):
                await bridge.call("mcp_d_crash", {"text": "x"})
            task = asyncio.create_task(bridge.call("mcp_c_slow", {"delay": 60}))
            await asyncio.sleep(0.5)
            task.cancel()
            await asyncio.wait({task})
            await bridge.call("mcp_c_echo", "[broken")
            outcomes = [record.outcome for record in bridge.call_stats.recent()]
            assert outcomes == ["tool_error", "cancelled", "unavailable", "timeout"]
            assert [bridge.call_stats.server(name).failures for name in "hdc"] == [1, 1, 2]

    async def test_a_span_is_recorded_where_opentelemetry_is_installed(self, write_config: Write) -> None:
        sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="needs the package opentelemetry-sdk")
        export = pytest.importorskip("opentelemetry.sdk.trace.export")
        memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
        trace = pytest.importorskip("opentelemetry.trace")
        exporter = memory.InMemorySpanExporter()
        provider = sdk.TracerProvider()
        provider.add_span_processor(export.SimpleSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
        async with Bridge(load_config(write_config(odd("s", "normal", more='users = ["qq:42"]')))) as bridge:
            await bridge.call("mcp_s_echo", {"text": "hello"})
            with pytest.raises(PermissionDenied):
                await bridge.call("mcp_s_echo", {"text": "x"}, user="qq:7")
        good, denied = [span for span in exporter.get_finished_spans() if span.name == "tools/call echo"]
        assert dict(good.attributes) == {
            "mcp.method.name": "tools/call",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "echo",
            "mcp_bridge.bridge.server": "s",
        }
        assert denied.attributes["error.type"] == "denied"
        assert not denied.events


class TestLedger:
    @given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["ok", "timeout", "denied"]), st.floats(0, 9))))
    def test_counts_agree_with_the_calls_however_many_there_were(self, calls: list[tuple[str, Any, float]]) -> None:
        stats = CallStats()
        for server, outcome, seconds in calls:
            stats.add(CallRecord(0.0, server, "t", Caller(), seconds, outcome))
        for server in "ab":
            own = [(outcome, seconds) for name, outcome, seconds in calls if name == server]
            figures = stats.server(server)
            assert figures.calls == sum(outcome != "denied" for outcome, _ in own)
            assert figures.failures == sum(outcome == "timeout" for outcome, _ in own)
            assert figures.denied == sum(outcome == "denied" for outcome, _ in own)
            assert (figures.median_seconds is None) == (not any(outcome == "ok" for outcome, _ in own))
        assert len(stats.recent()) == min(len(calls), KEPT_CALLS)

    def test_calls_are_counted_by_the_hour(self) -> None:
        stats = CallStats()
        for hour in (0, 0, 1, 5, 1000):
            stats.add(CallRecord(hour * 3600 + 10.0, "s", "t", Caller(), 0.0, "ok"))
        hours = stats.per_hour(1000 * 3600 + 20.0, 3)
        assert hours == [(998 * 3600.0, 0), (999 * 3600.0, 0), (1000 * 3600.0, 1)]
        assert stats.per_hour(5 * 3600.0, 6)[0] == (0.0, 0)  # long ago: forgotten

    @given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["ok", "timeout", "denied"]), st.floats(0, 9))))
    def test_counts_survive_a_reload_of_the_host(self, calls: list[tuple[str, Any, float]]) -> None:
        stats = CallStats()
        for server, outcome, seconds in calls:
            stats.add(CallRecord(7200.0, server, "t", Caller("qq:group:1", "qq:1"), seconds, outcome, error="why"))
        text = json.dumps(stats.to_json())
        assert "qq:" not in text
        other = CallStats()
        other.restore(json.loads(text))
        for server in "ab":
            assert other.server(server) == stats.server(server)
            assert other.tool(server, "t") == stats.tool(server, "t")
        assert other.per_hour(7200.0) == stats.per_hour(7200.0)

    @pytest.mark.parametrize("stored", [{}, {"tools": [[1]], "servers": [], "hours": []}, {"tools": 5}])
    def test_counts_that_another_program_stored_change_nothing(self, stored: dict[str, Any]) -> None:
        stats = CallStats()
        stats.add(CallRecord(0.0, "s", "t", Caller(), 1.0, "ok"))
        with pytest.raises((TypeError, ValueError, KeyError)):
            stats.restore(stored)
        assert stats.server("s").calls == 1
