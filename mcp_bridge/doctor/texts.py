"""What is said about steps that went well, in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..text.language import Language

TEXTS: Mapping[str, tuple[str, str]] = {
    # name of the step: (English, Chinese), as people are shown it
    "step.config": ("config", "配置"),
    "step.variables": ("variables", "变量"),
    "step.program": ("program", "程序"),
    "step.start": ("start", "启动"),
    "step.address": ("address", "地址"),
    "step.connect": ("connect", "连接"),
    "step.handshake": ("handshake", "握手"),
    "step.tools": ("tools", "工具"),
    "step.names": ("names", "名称"),
    "step.schemas": ("schemas", "参数"),
    "step.ping": ("ping", "往返"),
    # what the steps found
    "disabled": ("switched off (enabled = false), not checked", "已停用（enabled = false），不检查"),
    "config": ("the entry is readable", "配置项可以读取"),
    "variables.none": ("none needed", "不需要变量"),
    "variables.set": ("set: {names}", "已设置：{names}"),
    "variables.default": ("by default: {names}", "用默认值：{names}"),
    "variables.empty": (
        "{names} is set to nothing; give it a value if this server needs one",
        "{names} 的值为空；如果这个服务器需要它，请给它一个值",
    ),
    "program": ("{program}", "{program}"),
    "program.others": (
        "{program}, the first of several; also {others}",
        "{program}（多个同名程序中的第一个，另有 {others}）",
    ),
    "start": ("it runs", "已启动"),
    "address": ("{url}", "{url}"),
    "address.proxy": ("{url} through the proxy {proxy}", "{url}，经过代理 {proxy}"),
    "connect": ("it answers", "有应答"),
    "handshake": (
        "{server}, protocol {protocol}, after {seconds} s (mcp {sdk})",
        "{server}，协议 {protocol}，用时 {seconds} 秒（mcp {sdk}）",
    ),
    "handshake.noise": (
        "it prints other things than messages on stdout, harmless as long as it works: {line}",
        "它在 stdout 上输出了协议之外的内容，只要能用就无妨：{line}",
    ),
    "unnamed": ("a server without a name", "没有名字的服务器"),
    "tools": ("{count} after {seconds} s", "{count} 个，用时 {seconds} 秒"),
    "names": ("{names}", "{names}"),
    "names.idle": (
        "no tool has that name: {rules}; correct it, or a dangerous tool goes unguarded",
        "没有工具叫这个名字：{rules}；请改正，否则危险的工具可能没有限制",
    ),
    "names.crowded": (
        "not offered, there are more than max_tools = {most}: {names}; choose with tools = {{ allow = [...] }}",
        "超出 max_tools = {most}，未提供：{names}；请用 tools = {{ allow = [...] }} 挑选",
    ),
    "names.withheld": (
        "withheld because they changed (pin = true): {names}; read them, then: mcp-bridge accept {server}",
        "有变化而被扣下（pin = true）：{names}；看过之后运行 mcp-bridge accept {server}",
    ),
    "schemas": ("{shown}", "{shown}"),
    "schemas.simplified": ("{shown}; simplified for the model: {names}", "{shown}；为模型简化过：{names}"),
    "schemas.left_out": (
        "left out, no model accepts their parameters: {names}; tell the server's author",
        "参数格式没有模型能接受，已略过：{names}；请告诉服务器作者",
    ),
    "ping": ("{milliseconds} ms", "{milliseconds} 毫秒"),
    "ping.silent": ("no answer within {seconds} s", "{seconds} 秒内没有应答"),
    "ping.silent.hint": (
        "calls can work all the same; try one: mcp-bridge call {name}",
        "调用仍可能正常；可以试一次：mcp-bridge call {name}",
    ),
    "notice": ("{message}", "注意：{message}"),
    "said": ("{message}; it said: {line}", "{message}；它的输出：{line}"),
    "more": ("{some} and {count} more", "{some} 等，还有 {count} 个"),
    # what the host would say of the file
    "file.bom": (
        "{file} begins with a BOM, which MaiBot refuses: save it as UTF-8 without BOM",
        "{file} 带有 BOM，MaiBot 会拒绝读取：请另存为不带 BOM 的 UTF-8",
    ),
    "file.utf16": (
        "{file} is UTF-16, which MaiBot refuses: save it as UTF-8 without BOM",
        "{file} 是 UTF-16 编码，MaiBot 会拒绝读取：请另存为不带 BOM 的 UTF-8",
    ),
    "file.toml": (
        "MaiBot reads {file} as TOML 1.0 and would refuse it: {message}; keep {{ ... }} on one line, "
        "without a comma before }}",
        "MaiBot 按 TOML 1.0 读取 {file}，会拒绝它：{message}；{{ ... }} 要写在一行里，}} 前不要有逗号",
    ),
    "no_sdk": (
        "the package mcp (>= 1.25, < 3) cannot be used in this Python ({python}), it has {found}: {error}; "
        "use the Python that runs the bot, or pip install 'mcp>=1.25,<3'",
        "这个 Python（{python}）里没有可用的 mcp 包（需要 >= 1.25, < 3，现有：{found}）：{error}；"
        "请用运行机器人的 Python，或运行 pip install 'mcp>=1.25,<3'",
    ),
    "nothing": ("none", "没有"),
    # what else is printed
    "checking": (
        "checking {count} servers, each for {seconds} s at the most",
        "正在检查 {count} 个服务器，每个最多 {seconds} 秒",
    ),
    "ok": ("ok", "正常"),
    "failed": ("FAILED", "失败"),
    "but_the_file": (
        "the servers are well ({count}), but MaiBot would refuse this file: see the first line",
        "服务器正常（共 {count} 个），但麦麦读不了这个文件：见第一行",
    ),
    "all_well": ("all is well; servers checked: {count}", "一切正常：共 {count} 个服务器"),
    "some_fail": ("{failing} of {count} servers fail", "{count} 个服务器中有 {failing} 个失败"),
    "no_servers": (
        "no servers are configured: remove the # before an example in config.toml",
        "没有配置任何服务器：请去掉 config.toml 里某个示例前的 #",
    ),
    "fix": ("fix: {text}", "办法：{text}"),
    "note": ("note: {text}", "提示：{text}"),
}
SHOWN_NAMES = 8


class Words:
    """The texts of one language."""

    def __init__(self, language: Language) -> None:
        self.language = language

    def __call__(self, key: str, **values: object) -> str:
        return self.pick(*TEXTS[key]).format(**values)

    def pick(self, english: str, chinese: str) -> str:
        """Return the one that is in this language."""
        return chinese if self.language == "zh" else english

    def together(self, texts: Iterable[str]) -> str:
        """Return texts on one line, without the empty ones."""
        return self.pick("; ", "；").join(filter(None, texts))

    def some(self, names: Iterable[str]) -> str:
        """Return names in a row, not too many of them."""
        names = list(names)
        row = ", ".join(names[:SHOWN_NAMES])
        return self("more", some=row, count=len(names) - SHOWN_NAMES) if len(names) > SHOWN_NAMES else row
