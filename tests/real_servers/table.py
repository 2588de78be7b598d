"""The public servers: where each comes from, how it is started, how many tools it has, what is checked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from . import npm_checks as npm
from . import pypi_checks as pypi
from .scene import Scene

CHROMIUM = "chromium"
MCP_1 = ("mcp<2",)
"""For servers that ask for any SDK and work with the first major only."""


@dataclass(frozen=True)
class RealServer:
    """A server in the version that is checked. `tools` counts what it offers to a client of ours."""

    name: str
    source: Literal["npm", "pypi"]
    package: str
    version: str
    program: str
    tools: int
    checks: tuple[Callable[[Scene], Awaitable[None]], ...]
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""
    """A program that is not installed here; `{needs}` in the arguments stands for its path."""
    beside: tuple[str, ...] = ()
    """What else is installed with it."""


SERVERS = (
    RealServer(
        "everything",
        "npm",
        "@modelcontextprotocol/server-everything",
        "2026.8.31",
        "mcp-server-everything",
        13,
        (
            npm.everything_answers,
            npm.everything_reports_progress,
            npm.everything_asks,
            npm.everything_over_http,
            npm.everything_over_sse,
        ),
        args=("stdio",),
    ),
    RealServer(
        "filesystem",
        "npm",
        "@modelcontextprotocol/server-filesystem",
        "2026.8.31",
        "mcp-server-filesystem",
        14,
        (npm.filesystem_reads_and_writes, npm.filesystem_keeps_to_the_roots),
        args=("{work}",),
    ),
    RealServer(
        "memory",
        "npm",
        "@modelcontextprotocol/server-memory",
        "2026.8.31",
        "mcp-server-memory",
        9,
        (npm.memory_outlives_its_sessions,),
        env={"MEMORY_FILE_PATH": "{work}/memory.jsonl"},
    ),
    RealServer(
        "sequential-thinking",
        "npm",
        "@modelcontextprotocol/server-sequential-thinking",
        "2026.8.31",
        "mcp-server-sequential-thinking",
        1,
        (npm.thinking_remembers_as_configured,),
    ),
    RealServer(
        "hello-world",
        "npm",
        "mcp-hello-world",
        "1.1.2",
        "mcp-hello-world",
        3,
        (npm.hello_world_is_heard_through_its_noise,),
    ),
    RealServer(
        "playwright",
        "npm",
        "@playwright/mcp",
        "0.0.83",
        "playwright-mcp",
        25,
        (
            npm.playwright_keeps_its_page,
            npm.playwright_has_a_browser_for_each_chat,
            npm.playwright_leaves_no_browser_after_a_fresh_call,
        ),
        args=("--headless", "--isolated", "--no-sandbox", "--executable-path", "{needs}"),
        needs=CHROMIUM,
    ),
    RealServer("time", "pypi", "mcp-server-time", "2026.10.19", "mcp-server-time", 2, (pypi.time_knows_zones,)),
    RealServer(
        "git",
        "pypi",
        "mcp-server-git",
        "2026.10.19",
        "mcp-server-git",
        12,
        (pypi.git_works_in_a_repository,),
        needs="git",
    ),
    RealServer(
        "sqlite",
        "pypi",
        "mcp-server-sqlite",
        "2025.4.25",
        "mcp-server-sqlite",
        6,
        (pypi.sqlite_keeps_a_table,),
        args=("--db-path", "{work}/tea.sqlite"),
        beside=MCP_1,
    ),
    RealServer(
        "fetch",
        "pypi",
        "mcp-server-fetch",
        "2026.10.24",
        "mcp-server-fetch",
        1,
        (pypi.fetch_reads_a_page,),
        args=("--allow-private-ips", "--ignore-robots-txt"),
    ),
    RealServer(
        "calculator",
        "pypi",
        "mcp-server-calculator",
        "0.2.1",
        "mcp-server-calculator",
        1,
        (pypi.calculator_calculates,),
    ),
    RealServer(
        "duckdb",
        "pypi",
        "mcp-server-duckdb",
        "1.1.0",
        "mcp-server-duckdb",
        1,
        (pypi.duckdb_keeps_a_table,),
        args=("--db-path", "{work}/tea.duckdb"),
        beside=MCP_1,
    ),
    RealServer(
        "markitdown",
        "pypi",
        "markitdown-mcp",
        "0.0.1a8",
        "markitdown-mcp",
        1,
        (pypi.markitdown_converts, pypi.markitdown_over_http),
    ),
    RealServer("pandoc", "pypi", "mcp-pandoc", "0.11.1", "mcp-pandoc", 1, (pypi.pandoc_converts,), needs="pandoc"),
    RealServer(
        "shell",
        "pypi",
        "mcp-shell-server",
        "1.1.14",
        "mcp-shell-server",
        1,
        (pypi.shell_runs_what_is_allowed,),
        # Its description lists what is allowed in the order of a set: another one at each start, without this.
        env={"ALLOW_COMMANDS": "wc,echo", "PYTHONHASHSEED": "0"},
    ),
    RealServer(
        "12306",
        "pypi",
        "mcp-server-12306",
        "0.5.0.post20260930",
        "mcp-server-12306",
        7,
        (pypi.trains_are_described_in_chinese,),
    ),
    RealServer(
        "excel",
        "pypi",
        "excel-mcp-server",
        "2.2.2",
        "excel-mcp-server",
        46,
        (pypi.excel_fills_a_sheet,),
        args=("stdio",),
    ),
)
