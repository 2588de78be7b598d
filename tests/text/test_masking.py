"""Masking: the spellings, cuts and characters in between by which a secret came out all the same."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge import Bridge, BridgeError, load_config
from mcp_bridge.text.cleaning import clean_label, clean_text
from mcp_bridge.text.redaction import MIN_SECRET, Redactor, header_secrets, url_secrets
from tests.servers.http_raw import Asked, raw_server
from tests.support.entries import Write
from tests.support.output import command_line, written
from tests.support.remote import at
from tests.support.waiting import until

KEY = "sk-Ab12cd34ef56gh78ij90"


async def test_the_key_that_an_old_server_repeats_in_its_endpoint_is_in_no_log(
    write_config: Write, caplog: pytest.LogCaptureFixture
) -> None:
    """Reported: the key that an old server repeats in its endpoint was logged for each call."""
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
    logged = [one.getMessage() for one in caplog.records]
    assert any(f"{server.origin}/messages" in one for one in logged)
    assert KEY not in "\n".join(logged)


def told(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(one.getMessage() for one in caplog.records if one.name.startswith("mcp_bridge"))


def is_told(text: str, key: str = KEY) -> bool:
    """Tell whether a key, or the most of it, can be read out of a text by somebody who sees no hidden characters."""
    seen = clean_label(text)
    return any(key[start : start + len(key) // 2] in seen for start in range(len(key) // 2 + 1))


Odd = Callable[[Asked], object]
AROUND = {
    "NUL in an error": lambda asked: asked.reply(200, asked.error(f"bad {KEY[:9]}\0{KEY[9:]}")),
    "ANSI in an error": lambda asked: asked.reply(200, asked.error(f"bad {KEY[:9]}\x1b[0m{KEY[9:]}")),
    "ZWSP in an error": lambda asked: asked.reply(200, asked.error(f"bad {KEY[:9]}\u200b{KEY[9:]}")),
    "NUL in a failure": lambda asked: asked.reply(200, asked.result(f"bad {KEY[:9]}\0{KEY[9:]}", isError=True)),
    "ANSI in a failure": lambda asked: asked.reply(200, asked.result(f"{KEY[:9]}\x1b[1m{KEY[9:]}", isError=True)),
    "ZWSP in a failure": lambda asked: asked.reply(200, asked.result(f"{KEY[:9]}\u200b{KEY[9:]}", isError=True)),
    "a status with text": lambda asked: asked.reply(500, f"{'x' * 180} {KEY}".encode(), "text/plain"),
    "a status with JSON": lambda asked: asked.reply(403, {"error": {"message": f"{'x' * 180} {KEY}"}}),
    "a redirect": lambda asked: asked.reply(307, Location=f"http://other.invalid/{'x' * 165}{KEY}"),
    "a type": lambda asked: asked.reply(200, b"x", f"text/{KEY}"),
    "a log message": lambda asked: (
        asked.stream(event("notifications/message", level="error", data=f"{'x' * 480} {KEY}"))
        and asked.send(f"data: {json.dumps(asked.result('done'))}\n\n")
        and asked.close()
    ),
    "progress": lambda asked: (
        asked.stream(event("notifications/progress", progressToken=1, progress=1, message=f"{'x' * 480} {KEY}"))
        and asked.send(f"data: {json.dumps(asked.result('done'))}\n\n")
        and asked.close()
    ),
}


def event(method: str, **params: object) -> str:
    return f"data: {json.dumps({'jsonrpc': '2.0', 'method': method, 'params': params})}\n\n"


@pytest.mark.parametrize("way", AROUND)
async def test_a_key_with_a_hidden_character_or_a_cut_in_it_is_masked(
    write_config: Write, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    """Reported: a key with a hidden character or a cut in it was told."""
    caplog.set_level(0)
    with raw_server(lambda asked: asked.tool == "odd" and AROUND[way](asked)) as server:
        async with Bridge(load_config(write_config(at(server.url, bearer=KEY, call_timeout=20)))) as bridge:
            try:
                said = (await bridge.call("mcp_s_odd")).text
            except BridgeError as error:
                said = error.message
            said += repr(bridge.status()) + repr(bridge.call_stats.recent())
    assert not is_told(said)
    assert not is_told(told(caplog))


@pytest.mark.process
@pytest.mark.parametrize(
    ("size", "rest"),
    [(180, 10), (470, 10), (480, 10), (490, 10), (980, 10), (8180, 10), (65520, 10), (9, 8170), (9, 8175), (9, 8180)],
)
async def test_a_key_across_a_cut_of_a_line_on_stderr_is_masked(
    write_config: Write, caplog: pytest.LogCaptureFixture, size: int, rest: int
) -> None:
    """Reported: a key across a cut of a line on stderr was told."""
    caplog.set_level(0)
    program = f"import os, sys; sys.exit('x' * {size} + ' ' + os.environ['API_KEY'] + ' ' + 'y' * {rest})"
    entry = f'command = "{{python}}"\nargs = ["-c", "{program}"]\nenv = {{ API_KEY = "{KEY}" }}\n'
    async with Bridge(load_config(write_config(f"[mcp.servers.s]\n{entry}"))) as bridge:
        said = repr(bridge.status())
    assert "exit status 1: " in said
    assert not is_told(said)
    assert not is_told(told(caplog))


@pytest.mark.process
@pytest.mark.parametrize("size", [160, 180, 190, 198])
async def test_a_key_across_a_cut_of_noise_on_stdout_is_masked(
    write_config: Write, caplog: pytest.LogCaptureFixture, size: int
) -> None:
    """Reported: a key across a cut of noise on stdout was told."""
    caplog.set_level(0)
    program = f"import os; print('x' * {size} + ' ' + os.environ['API_KEY'] + ' yyy')"
    entry = f'command = "{{python}}"\nargs = ["-c", "{program}"]\nenv = {{ API_KEY = "{KEY}" }}\n'
    async with Bridge(load_config(write_config(f"[mcp.servers.s]\n{entry}"))) as bridge:
        said = repr(bridge.status())
    assert "xxx" in said
    assert not is_told(said)
    assert not is_told(told(caplog))


@pytest.mark.process
async def test_a_key_in_the_structured_content_of_a_failure_is_printed_masked(write_config: Write) -> None:
    """Reported: a key was printed as structured content of a failure."""
    more = {"isError": True, "structuredContent": {"k": [f"a {KEY}"], KEY: 1}}
    with raw_server(lambda asked: asked.tool == "odd" and asked.reply(200, asked.result("no", **more))) as server:
        file = write_config(at(server.url, bearer=KEY))
        async with Bridge(load_config(file)) as bridge:
            assert KEY in str((await bridge.call("mcp_s_odd")).structured)  # a program gets what the server sent
        printed = await asyncio.to_thread(command_line, "call", "mcp_s_odd", "--json", "--config", str(file))
    assert '"k": [' in printed
    assert "a ***" in printed
    assert KEY not in printed


async def test_a_key_with_a_hidden_character_in_a_tool_list_is_not_stored(write_config: Write, data_dir: Path) -> None:
    """Reported: a key with a hidden character in a tool list was stored."""

    def listed(asked: Asked) -> object:
        schema = {"type": "object", "properties": {"a": {"type": "string", "default": f"{KEY[:9]}\0{KEY[9:]}"}}}
        tools = [{"name": "odd", "description": f"Uses {KEY[:9]}\u200b{KEY[9:]}.", "inputSchema": schema}]
        return asked.rpc == "tools/list" and asked.reply(200, asked.own(result={"tools": tools}))

    with raw_server(listed) as server:
        async with Bridge(load_config(write_config(at(server.url, bearer=KEY)))) as bridge:
            (tool,) = bridge.tools()
            assert "Uses ***." in tool.description
            await until(lambda: any(data_dir.glob("catalogue/*.json")))
    stored = written(data_dir)
    assert "Uses ***." in stored
    assert KEY[9:] not in stored


SPELT = "ab/cd+EF12==x y!z9"


@pytest.mark.parametrize(
    "spelling",
    [
        quote(SPELT, safe=""),
        quote(SPELT),
        quote_plus(SPELT),
        quote(SPELT, safe="!'()*"),
        re.sub("%..", lambda found: found.group().lower(), quote(SPELT)),
        re.sub("%..", lambda found: found.group().lower(), quote_plus(SPELT)),
        quote(SPELT, safe=";/?:@&=+$,#!'()*"),
    ],
)
def test_a_key_in_another_percent_encoding_is_masked(spelling: str) -> None:
    """Reported: a key in another percent encoding was told."""
    assert Redactor(header_secrets(SPELT))(f"GET /?k={spelling}&b=2") == "GET /?k=***&b=2"


def test_logins_cookies_and_queries_with_plus_signs_are_masked() -> None:
    basic = base64.b64encode(b"admin:pa55-word").decode()
    for secrets, text, shown in (
        (header_secrets(f"Basic {basic}"), "admin:pa55-word, pa55-word, admin", "***, ***, admin"),
        (header_secrets(f"basic {basic}"), f"{basic}, pa55-word", "***, ***"),
        (header_secrets("Basic no-base64!"), "no-base64!", "***"),
        (
            header_secrets("sid=a1b2c3d4; theme=midnight; n=12345678"),
            "a1b2c3d4 midnight 12345678",
            "*** midnight 12345678",
        ),
        (header_secrets('sid="a1b2c3d4e5"'), "sid is a1b2c3d4e5", "sid is ***"),
        (url_secrets("http://h/?key=a+bc+d%2B1"), "a bc d+1; a+bc+d%2B1", "***; ***"),
    ):
        assert Redactor(secrets)(text) == shown


def test_words_and_short_values_are_not_masked() -> None:
    secrets = (
        header_secrets("Bearer abc") | header_secrets("a=true; lang=zh-CN; q=5") | url_secrets("http://h/?v=1&q=ab")
    )
    assert Redactor(secrets)("Bearer of news, true, zh-CN, 5, ab …") == "Bearer of news, true, zh-CN, 5, ab …"
    assert Redactor([KEY])("Bearer…") == "Bearer…"


def test_every_character_that_is_cleaned_away_is_looked_through() -> None:
    hidden = [
        one for one in map(chr, range(sys.maxunicode + 1)) if not clean_text(one) or clean_label(f"a{one}b") == "ab"
    ]
    redact = Redactor([KEY])
    for one in sorted({*hidden} - {"\x1b", "\x9b"}):  # these take with them what follows
        assert redact(f"{KEY[:9]}{one}{KEY[9:]}") == "***", hex(ord(one))
    assert len(hidden) > 4000


@given(st.text("ab…\0\n", max_size=8), st.integers(1, len(KEY) - 1), st.booleans())
def test_a_marked_cut_through_a_key_leaves_no_piece_long_enough_to_use(beside: str, size: int, hidden: bool) -> None:
    for part, shape in ((KEY[:size], "{}{}… {}"), (KEY[size:], "{}\n…{} {}")):
        text = part[:3] + "\x1b[0m" + part[3:] if hidden else part
        seen = clean_text(Redactor([KEY])(shape.format(beside, text, beside)))
        assert (part in seen) == (len(part) < MIN_SECRET)


def test_masking_costs_next_to_nothing_on_a_line_of_a_log() -> None:
    redact = Redactor(f"{KEY}{number}/+=" for number in range(50))
    lines = ["request 12 handled for qq:123 " * 8, "处理请求……完成，用时 12 毫秒…… " * 8, "\x1b[1mred\x1b[0m " * 20]
    began = time.monotonic()
    for _ in range(200):
        for line in lines:
            assert redact(line) == line
    assert time.monotonic() - began < 5  # 0.05 s here
