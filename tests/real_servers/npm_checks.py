"""What is checked of the servers from npm: each function opens its server and raises if an answer is wrong."""

from __future__ import annotations

import asyncio
from typing import Any

from .scene import Opened, Scene, equal, until, within

PNG = b"\x89PNG"


async def everything_answers(scene: Scene) -> None:
    async with scene.open() as server:
        await _the_usual(server)
        result = await server.answer("get-resource-links", count=2)
        within("[link to demo://resource/dynamic/text/2;", result.text)
        result = await server.answer("get-resource-reference", resourceType="Text", resourceId=1)
        within("[resource demo://resource/dynamic/text/1]", result.text)
        within("requires task augmentation", await server.failure("simulate-research-query", topic="tea"))


async def everything_reports_progress(scene: Scene) -> None:
    """Four times the idle limit in all: the call lives on progress."""
    async with scene.open(call_timeout=4) as server:
        result = await server.answer("trigger-long-running-operation", duration=16, steps=16)
        within("Duration: 16 seconds, Steps: 16", result.text)


async def everything_asks(scene: Scene) -> None:
    """What it asks is announced to it only where it is answered: then it has tools for it."""
    async with scene.open() as server:
        hidden = {"trigger-elicitation-request", "trigger-sampling-request", "get-roots-list"}
        equal(hidden & set(server.tools), set())
    root = scene.work.as_uri()
    async with scene.open(elicitation="defaults", roots=[root]) as server:
        await server.appears("trigger-elicitation-request")
        await server.appears("get-roots-list")
        within('"integer": 42', (await server.answer("trigger-elicitation-request")).text)
        within(root, (await server.answer("get-roots-list")).text)


async def everything_over_http(scene: Scene) -> None:
    async with scene.serving("streamableHttp", port_variable="PORT") as address:
        for options in ({"transport": "http"}, {"transport": "http", "session": "shared"}, {}):
            async with scene.open(url=f"{address}/mcp", **options) as server:
                await _the_usual(server)


async def everything_over_sse(scene: Scene) -> None:
    async with scene.serving("sse", port_variable="PORT") as address:
        for options in ({"transport": "sse"}, {"transport": "sse", "session": "shared"}, {}):
            async with scene.open(url=f"{address}/sse", **options) as server:
                await _the_usual(server)


async def _the_usual(server: Opened) -> None:
    equal((await server.answer("echo", message="麦麦 🎉")).text, "Echo: 麦麦 🎉")
    sums = await asyncio.gather(*(server.answer("get-sum", a=n, b=3) for n in range(5)))
    equal([one.text for one in sums], [f"The sum of {n} and 3 is {n + 3}." for n in range(5)])
    (image,) = (await server.answer("get-tiny-image")).media
    equal((image.mime_type, image.data[:4]), ("image/png", PNG))
    weather = {"temperature": 33, "conditions": "Cloudy", "humidity": 82}
    equal((await server.answer("get-structured-content", location="New York")).structured, weather)


async def filesystem_reads_and_writes(scene: Scene) -> None:
    file = str(scene.work / "a.txt")
    async with scene.open() as server:
        await server.answer("write_file", path=file, content="一\ntwo")
        equal((await server.answer("read_text_file", path=file)).text, "一\ntwo")
        within("Access denied", await server.failure("read_text_file", path=str(scene.work.parent / "b.txt")))


async def filesystem_keeps_to_the_roots(scene: Scene) -> None:
    """Also in the first call of a session, without a spare: it asks for them only after the handshake."""
    inner = scene.work / "inner"
    inner.mkdir()
    (inner / "a.txt").write_text("inside")
    for options in ({"warm": 0}, {"session": "shared"}):
        async with scene.open(roots=[inner.as_uri()], **options) as server:
            outside = str(scene.work / "outside.txt")
            within("Access denied", await server.failure("write_file", path=outside, content="x"))
            equal((await server.answer("read_text_file", path=str(inner / "a.txt"))).text, "inside")


async def memory_outlives_its_sessions(scene: Scene) -> None:
    mai = {"name": "Mai", "entityType": "bot", "observations": ["爱喝茶"]}
    async with scene.open() as server:
        await server.answer("create_entities", entities=[mai])
        for _ in range(2):
            equal((await server.answer("open_nodes", names=["Mai"])).structured["entities"], [mai])
    async with scene.open() as server:
        equal((await server.answer("search_nodes", query="茶")).structured["entities"], [mai])


async def thinking_remembers_as_configured(scene: Scene) -> None:
    async def lengths(chats: tuple[str, ...], **options: Any) -> list[int]:
        async with scene.open(**options) as server:
            thought = {"thought": "hm", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 3}
            results = [await server.answer("sequentialthinking", chat, **thought) for chat in chats]
            return [one.structured["thoughtHistoryLength"] for one in results]

    chats = ("qq:group:1", "qq:group:1", "qq:group:2", "qq:group:1")
    equal(await lengths(chats, session="fresh"), [1, 1, 1, 1])
    equal(await lengths(chats, session="shared"), [1, 2, 3, 4])
    equal(await lengths(chats, session="chat"), [1, 2, 1, 3])


async def hello_world_is_heard_through_its_noise(scene: Scene) -> None:
    for options in ({}, {"session": "shared"}):
        async with scene.open(**options) as server:
            results = await asyncio.gather(*(server.answer("add", a=n, b=1) for n in range(5)))
            equal([one.text for one in results], [f"The sum is: {n + 1}" for n in range(5)])
            equal((await server.answer("echo", message="嗨")).text, "You said: 嗨")


async def playwright_keeps_its_page(scene: Scene) -> None:
    with scene.page() as url:
        async with scene.open(session="shared") as server:
            within("Page Title: Prices", (await server.answer("browser_navigate", url=url)).text)
            within("It costs 42 yuan.", (await server.answer("browser_snapshot")).text)
            (picture,) = (await server.answer("browser_take_screenshot")).media
            equal((picture.mime_type, picture.data[:4]), ("image/png", PNG))
            within("chrom", " ".join(scene.processes()))  # it is seen here, so that it would be missed below


async def playwright_has_a_browser_for_each_chat(scene: Scene) -> None:
    async def title(server: Opened, chat: str) -> str:
        return (await server.answer("browser_evaluate", chat, function="() => document.title")).text.splitlines()[1]

    with scene.page() as url:
        async with scene.open(session="chat") as server:
            await server.answer("browser_navigate", "qq:group:1", url=url)
            equal([await title(server, f"qq:group:{n}") for n in (1, 2, 1)], ['"Prices"', '""', '"Prices"'])


async def playwright_leaves_no_browser_after_a_fresh_call(scene: Scene) -> None:
    with scene.page() as url:
        async with scene.open(warm=0) as server:
            within("Page Title: Prices", (await server.answer("browser_navigate", url=url)).text)
            await until(lambda: not scene.processes(), "left behind: {}", about=scene.processes)
