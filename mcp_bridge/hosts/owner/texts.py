"""What the bot itself says in a chat, to its owner above all, in Chinese and English."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Language = Literal["zh", "en"]

TEXTS: Mapping[str, tuple[str, str]] = {
    "help": (
        "/mcp 状态\n/mcp tools [服务器] 工具\n/mcp reload 重新读取所有服务器\n/mcp on|off <服务器> 打开或关闭\n"
        "/mcp call <工具> [JSON 参数] 试用工具\n/mcp yes|no <编号> 同意或拒绝一次调用",
        "/mcp: status\n/mcp tools [server]: tools\n/mcp reload: look at all servers again\n"
        "/mcp on|off <server>: switch on or off\n/mcp call <tool> [JSON]: try a tool\n"
        "/mcp yes|no <number>: allow or refuse a call",
    ),
    "status": ("MCP 服务器 {servers} 个，工具 {tools} 个", "MCP servers: {servers}, tools: {tools}"),
    "status.none": ("还没有配置 MCP 服务器：请编辑 config.toml", "No MCP server is configured yet: edit config.toml"),
    "server": ("{mark} {name}：{state}，{tools} 个工具", "{mark} {name}: {state}, {tools} tools"),
    "server.calls": (
        "，调用 {calls} 次，失败 {failures} 次，中位用时 {ms} 毫秒",
        ", {calls} calls, {failures} failed, median {ms} ms",
    ),
    "server.reason": ("原因：{reason}", "reason: {reason}"),
    "server.off": (
        "已用 /mcp off 关闭，/mcp on {name} 打开",
        "switched off with /mcp off; /mcp on {name} brings it back",
    ),
    "state.starting": ("启动中", "starting"),
    "state.ready": ("就绪", "ready"),
    "state.retrying": ("重试中", "retrying"),
    "state.failed": ("失败", "failed"),
    "state.disabled": ("停用", "disabled"),
    "tool": (
        "{name}（调用 {calls} 次，失败 {failures} 次，{ms} 毫秒）",
        "{name} ({calls} calls, {failures} failed, {ms} ms)",
    ),
    "tools.none": ("没有工具", "no tools"),
    "more": ("……另有 {count} 个", "… {count} more"),
    "reloading": ("正在重新读取所有服务器……", "Looking at all servers again…"),
    "reloaded": ("已重新读取：{tools} 个工具", "Done: {tools} tools"),
    "on": ("{name} 已打开，几秒后可用", "{name} is switched on and takes a few seconds"),
    "off": ("{name} 已关闭", "{name} is switched off"),
    "no_server": ("没有叫 {name} 的服务器；现有：{names}", "There is no server {name}; there are: {names}"),
    "off_in_file": (
        "{name} 在 config.toml 里写了 enabled = false，请在那里打开",
        "{name} has enabled = false in config.toml: switch it on there",
    ),
    "not_running": ("插件没有运行", "the plugin is not running"),
    "call.usage": ("用法：/mcp call {example}", "usage: /mcp call {example}"),
    "call.done": ("{name}（{ms} 毫秒）：\n{text}", "{name} ({ms} ms):\n{text}"),
    "call.failed": ("{name} 失败：{text}", "{name} failed: {text}"),
    "ask": (
        "模型想调用 MCP 服务器 {server} 的工具 {tool}：\n{arguments}\n"
        "请主人在 {seconds} 秒内回复 /mcp yes {number} 同意，或 /mcp no {number} 拒绝。",
        "The model wants to call tool {tool} of MCP server {server}:\n{arguments}\n"
        "Owner: answer /mcp yes {number} or /mcp no {number} within {seconds} s.",
    ),
    "answered.yes": ("已同意第 {number} 号调用", "Call {number} is allowed"),
    "answered.no": ("已拒绝第 {number} 号调用", "Call {number} is refused"),
    "no_question": ("没有等待回答的第 {number} 号调用", "No call {number} is waiting for an answer"),
    "no_questions": ("没有等待回答的调用", "No call is waiting for an answer"),
    "media.sent": ("[{count} 个图片或音频已直接发到聊天里]", "[{count} pictures or sounds were sent into the chat]"),
    "page.added": (
        "已把 {name} 写入 config.toml，几秒后生效",
        "{name} was written into config.toml and takes effect in a few seconds",
    ),
    "page.taken": ("已经有叫 {name} 的服务器", "there is a server {name} already"),
    "page.name": ("请填写服务器名", "give the server a name"),
    "page.target": ("命令和地址请填写其中一个", "fill in either the command or the address"),
    "page.tomlkit": (
        "写入 config.toml 需要 tomlkit：pip install tomlkit",
        "writing config.toml needs the package tomlkit: pip install tomlkit",
    ),
    "page.running": (
        "{name} 还没有返回，结果会出现在“最近调用”里",
        "{name} is still running; its end will be among the recent calls",
    ),
    "refreshed": ("{name} 已重新读取", "{name} was looked at again"),
}


class Words:
    """The texts in one language: `words("on", name="files")`."""

    def __init__(self, language: Language) -> None:
        self._index = 0 if language == "zh" else 1

    def __call__(self, key: str, **values: object) -> str:
        text = TEXTS[key][self._index]
        return text.format(**values) if values else text
