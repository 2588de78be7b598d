"""What the bot itself writes in a chat and on the page, mostly to its owner."""

from __future__ import annotations

from collections.abc import Mapping

from ...text.language import Language, Text, Texts

CATALOGUE: Mapping[str, Text] = {
    # the command /mcp
    "help": Text(
        en="/mcp: status\n/mcp tools [server]: tools\n/mcp reload: check all servers again\n"
        "/mcp on|off <server>: switch on or off\n/mcp call <tool> [JSON]: try a tool\n"
        "/mcp yes|no <number>: allow or refuse a call",
        zh="/mcp 查看状态\n/mcp tools [服务器] 查看工具\n/mcp reload 重新读取所有服务器\n"
        "/mcp on|off <服务器> 打开或关闭\n/mcp call <工具> [JSON 参数] 试用工具\n/mcp yes|no <编号> 同意或拒绝一次调用",
    ),
    "status": Text(
        en="MCP servers: {servers}, tools: {tools}",
        zh="MCP 服务器 {servers} 个，工具 {tools} 个",
    ),
    "status.none": Text(
        en="No MCP server is configured yet: edit config.toml",
        zh="还没有配置 MCP 服务器：请编辑 config.toml",
    ),
    "server": Text(
        en="{mark} {name}: {state}, {tools} tools",
        zh="{mark} {name}：{state}，{tools} 个工具",
    ),
    "server.calls": Text(
        en=", {calls} calls, {failures} failed, median {ms} ms",
        zh="，调用 {calls} 次，失败 {failures} 次，中位用时 {ms} 毫秒",
    ),
    "server.reason": Text(
        en="reason: {reason}",
        zh="原因：{reason}",
    ),
    "server.off": Text(
        en="switched off with /mcp off; switch it on with /mcp on {name}",
        zh="已用 /mcp off 关闭，/mcp on {name} 打开",
    ),
    "state.starting": Text(en="starting", zh="启动中"),
    "state.ready": Text(en="ready", zh="就绪"),
    "state.retrying": Text(en="retrying", zh="重试中"),
    "state.failed": Text(en="failed", zh="失败"),
    "state.disabled": Text(en="disabled", zh="停用"),
    "tool": Text(
        en="{name} ({calls} calls, {failures} failed, {ms} ms)",
        zh="{name}（调用 {calls} 次，失败 {failures} 次，{ms} 毫秒）",
    ),
    "tools.none": Text(en="no tools", zh="没有工具"),
    "more": Text(en="… {count} more", zh="……另有 {count} 个"),
    "reloading": Text(
        en="Checking all servers again…",
        zh="正在重新读取所有服务器……",
    ),
    "reloaded": Text(
        en="Done: {tools} tools",
        zh="已重新读取：{tools} 个工具",
    ),
    "on": Text(
        en="{name} is switched on and ready in a few seconds",
        zh="{name} 已打开，几秒后可用",
    ),
    "off": Text(
        en="{name} is switched off",
        zh="{name} 已关闭",
    ),
    "no_server": Text(
        en="there is no server named {name}; servers: {names}",
        zh="没有叫 {name} 的服务器；现有：{names}",
    ),
    "off_in_file": Text(
        en="{name} has enabled = false in config.toml: switch it on there",
        zh="{name} 在 config.toml 里写了 enabled = false，请在那里打开",
    ),
    "not_running": Text(
        en="the plugin is not running",
        zh="插件没有运行",
    ),
    "call.usage": Text(
        en="usage: /mcp call {example}",
        zh="用法：/mcp call {example}",
    ),
    "call.done": Text(
        en="{name} ({ms} ms):\n{text}",
        zh="{name}（{ms} 毫秒）：\n{text}",
    ),
    "call.failed": Text(
        en="{name} failed: {text}",
        zh="{name} 失败：{text}",
    ),
    # consent to a call
    "ask": Text(
        en="The model wants to call tool {tool} of MCP server {server}:\n{arguments}\n"
        "Owner: answer /mcp yes {number} or /mcp no {number} within {seconds} s.",
        zh="模型想调用 MCP 服务器 {server} 的工具 {tool}：\n{arguments}\n"
        "请主人在 {seconds} 秒内回复 /mcp yes {number} 同意，或 /mcp no {number} 拒绝。",
    ),
    "answered.yes": Text(
        en="Call {number} is allowed",
        zh="已同意第 {number} 号调用",
    ),
    "answered.no": Text(
        en="Call {number} is refused",
        zh="已拒绝第 {number} 号调用",
    ),
    "no_question": Text(
        en="No call {number} is waiting for an answer",
        zh="没有等待回答的第 {number} 号调用",
    ),
    "no_questions": Text(
        en="No call is waiting for an answer",
        zh="没有等待回答的调用",
    ),
    # added to a result, for the model
    "media.sent": Text(
        en="[{count} images or audio clips were sent directly to the chat]",
        zh="[{count} 个图片或音频已直接发到聊天里]",
    ),
    # the page in the web UI
    "page.added": Text(
        en="{name} was written to config.toml and takes effect in a few seconds",
        zh="已把 {name} 写入 config.toml，几秒后生效",
    ),
    "page.taken": Text(
        en="there is already a server named {name}",
        zh="已经有叫 {name} 的服务器",
    ),
    "page.name": Text(
        en="enter a name for the server",
        zh="请填写服务器名",
    ),
    "page.target": Text(
        en="fill in either the command or the address",
        zh="命令和地址请填写其中一个",
    ),
    "page.tomlkit": Text(
        en="writing config.toml needs the package tomlkit: pip install tomlkit",
        zh="写入 config.toml 需要 tomlkit：pip install tomlkit",
    ),
    "page.running": Text(
        en="{name} is still running; its result will appear under recent calls",
        zh="{name} 还没有返回，结果会出现在“最近调用”里",
    ),
}


class OwnerTexts(Texts):
    """The texts in the owner's language."""

    def __init__(self, language: Language) -> None:
        super().__init__(CATALOGUE, language)
