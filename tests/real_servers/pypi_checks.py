"""What is checked of the servers from PyPI: each function opens its server and raises if an answer is wrong."""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path

from .scene import Scene, equal, within

MARKDOWN = "# Tea\n\nIt costs **42** yuan."
SHANGHAI = timezone(timedelta(hours=8))


async def time_knows_zones(scene: Scene) -> None:
    async with scene.open() as server:
        now = datetime.fromisoformat(
            (await server.answer("get_current_time", timezone="Asia/Shanghai")).structured["datetime"]
        )
        equal(now.utcoffset(), timedelta(hours=8))
        equal(abs(now - datetime.now(SHANGHAI)) < timedelta(minutes=5), True)
        zones = {"source_timezone": "Asia/Shanghai", "target_timezone": "Asia/Tokyo"}
        result = await server.answer("convert_time", time="16:30", **zones)
        within("T17:30:00+09:00", result.structured["target"]["datetime"])
        within("Mars/Base", await server.failure("get_current_time", timezone="Mars/Base"))


async def git_works_in_a_repository(scene: Scene) -> None:
    repository = _new_repository(scene.work / "repository")
    where = {"repo_path": str(repository)}
    async with scene.open() as server:
        within("Untracked files", (await server.answer("git_status", **where)).text)
        await server.answer("git_add", files=["tea.txt"], **where)
        await server.answer("git_commit", message="加茶", **where)
        within("加茶", (await server.answer("git_log", **where)).text)
        within("nothing to commit", (await server.answer("git_status", **where)).text)
        await server.failure("git_status", repo_path=str(scene.work / "nowhere"))


async def sqlite_keeps_a_table(scene: Scene) -> None:
    async with scene.open() as server:
        await server.answer("create_table", query="CREATE TABLE tea (name TEXT, yuan INTEGER)")
        within(
            "'affected_rows': 1", (await server.answer("write_query", query="INSERT INTO tea VALUES ('龙井', 42)")).text
        )
        rows = (await server.answer("read_query", query="SELECT * FROM tea")).text
        equal(rows, "[{'name': '龙井', 'yuan': 42}]")


async def fetch_reads_a_page(scene: Scene) -> None:
    with scene.page() as url:
        async with scene.open() as server:
            within("It costs **42** yuan.", (await server.answer("fetch", url=url)).text)
            within("404", await server.failure("fetch", url=f"{url}.gone"))


async def calculator_calculates(scene: Scene) -> None:
    async with scene.open() as server:
        result = await server.answer("calculate", expression="6 * 7")
        equal((result.text, result.structured), ("42", {"result": "42"}))
        within("division by zero", await server.failure("calculate", expression="1/0"))


async def duckdb_keeps_a_table(scene: Scene) -> None:
    async with scene.open(warm=0) as server:  # one process at a time may have the file
        equal((await server.answer("query", query="SELECT 6 * 7 AS a")).text, "[(42,)]")
        await server.answer("query", query="CREATE TABLE tea AS SELECT '龙井' AS name")
    async with scene.open(session="shared") as server:
        equal((await server.answer("query", query="SELECT name FROM tea")).text, "[('龙井',)]")


async def markitdown_converts(scene: Scene) -> None:
    with scene.page() as url:
        async with scene.open() as server:
            equal((await server.answer("convert_to_markdown", uri=url)).text, MARKDOWN)
            file = (scene.work / "page.html").as_uri()
            equal((await server.answer("convert_to_markdown", uri=file)).text, MARKDOWN)


async def markitdown_over_http(scene: Scene) -> None:
    """It redirects `/mcp` to `/mcp/`."""
    with scene.page() as url:
        async with scene.serving("--http", "--host", "127.0.0.1", "--port", "{port}") as address:
            for path, options in (("/mcp", {}), ("/mcp", {"transport": "http"}), ("/sse", {"transport": "sse"})):
                async with scene.open(url=address + path, **options) as server:
                    equal((await server.answer("convert_to_markdown", uri=url)).text, MARKDOWN)


async def pandoc_converts(scene: Scene) -> None:
    async with scene.open() as server:
        formats = {"input_format": "markdown", "output_format": "html"}
        result = await server.answer("convert-contents", contents="# 茶\n\n*42*", **formats)
        within("<p><em>42</em></p>", result.text)


async def shell_runs_what_is_allowed(scene: Scene) -> None:
    where = {"directory": str(scene.work)}
    async with scene.open() as server:
        equal((await server.answer("shell_execute", command=["echo", "茶"], **where)).text, "茶")
        equal((await server.answer("shell_execute", command=["wc", "-c"], stdin="abcd", **where)).text, "4")
        within("not allowed: rm", await server.failure("shell_execute", command=["rm", "x"], **where))


async def trains_are_described_in_chinese(scene: Scene) -> None:
    async with scene.open() as server:
        within("余票", server.tools["query-tickets"].description)
        within("出发车站名称", server.tools["query-tickets"].input_schema["properties"]["from_station"]["description"])
        today = datetime.now(SHANGHAI).date()
        result = await server.answer("get-current-time")
        equal(any(str(today - timedelta(days=n)) in result.text for n in (0, -1, 1)), True)


async def excel_fills_a_sheet(scene: Scene) -> None:
    book = {"path": str(scene.work / "茶.xlsx")}
    rows = [["tea", "yuan"], ["龙井", 42]]
    async with scene.open() as server:
        await server.answer("create_workbook", **book)
        await server.answer("write_range", sheet="Sheet1", at="A1", rows=rows, **book)
        equal((await server.answer("read_range", sheet="Sheet1", **book)).structured["values"], rows)
        await server.failure("read_range", sheet="None", **book)


def _new_repository(folder: Path) -> Path:
    folder.mkdir()
    for words in (("init", "-q"), ("config", "user.name", "Mai"), ("config", "user.email", "mai@example.org")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    (folder / "tea.txt").write_text("42\n")
    return folder
