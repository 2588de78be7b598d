"""What the doctor writes, except for the advice on failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..text.language import Language, Text, Texts

CATALOGUE: Mapping[str, Text] = {
    # names of the steps, as people see them
    "step.config": Text(en="config", zh="配置"),
    "step.variables": Text(en="variables", zh="变量"),
    "step.program": Text(en="program", zh="程序"),
    "step.start": Text(en="start", zh="启动"),
    "step.address": Text(en="address", zh="地址"),
    "step.connect": Text(en="connect", zh="连接"),
    "step.handshake": Text(en="handshake", zh="握手"),
    "step.tools": Text(en="tools", zh="工具"),
    "step.names": Text(en="names", zh="名称"),
    "step.schemas": Text(en="schemas", zh="参数"),
    "step.ping": Text(en="ping", zh="往返"),
    # what the steps found
    "disabled": Text(
        en="switched off (enabled = false), not checked",
        zh="已停用（enabled = false），不检查",
    ),
    "config": Text(
        en="the entry is valid",
        zh="配置项有效",
    ),
    "variables.none": Text(en="none needed", zh="不需要变量"),
    "variables.set": Text(en="set: {names}", zh="已设置：{names}"),
    "variables.default": Text(en="default used: {names}", zh="用默认值：{names}"),
    "variables.empty": Text(
        en="{names} is set but empty; give it a value if this server needs one",
        zh="{names} 的值为空；如果这个服务器需要它，请给它一个值",
    ),
    "program": Text(en="{program}", zh="{program}"),
    "program.others": Text(
        en="{program}, the first of several; also {others}",
        zh="{program}（多个同名程序中的第一个，另有 {others}）",
    ),
    "program.container": Text(
        en="this is a container: install the program inside it, or run the server elsewhere and use url",
        zh="这里是容器：请把程序装进容器里，或让服务器在别处运行并改用 url",
    ),
    "start": Text(en="it runs", zh="已启动"),
    "address": Text(en="{url}", zh="{url}"),
    "address.proxy": Text(
        en="{url} through the proxy {proxy}",
        zh="{url}，经过代理 {proxy}",
    ),
    "connect": Text(en="it answers", zh="有应答"),
    "handshake": Text(
        en="{server}, protocol {protocol}, after {seconds} s (mcp {sdk})",
        zh="{server}，协议 {protocol}，用时 {seconds} 秒（mcp {sdk}）",
    ),
    "handshake.noise": Text(
        en="it writes non-protocol output to stdout, harmless as long as it works: {line}",
        zh="它在 stdout 上输出了协议之外的内容，只要能用就不用管：{line}",
    ),
    "unnamed": Text(en="a server without a name", zh="没有名字的服务器"),
    "tools": Text(
        en="{count} after {seconds} s",
        zh="{count} 个，用时 {seconds} 秒",
    ),
    "names": Text(en="{names}", zh="{names}"),
    "names.unmatched": Text(
        en="no tool has that name: {rules}; correct it, or a dangerous tool stays unrestricted",
        zh="没有工具叫这个名字：{rules}；请改正，否则危险的工具可能不受限制",
    ),
    "names.crowded": Text(
        en="not offered because there are more than max_tools = {most}: {names}; "
        "choose which with tools = {{ allow = [...] }}",
        zh="超出 max_tools = {most}，未提供：{names}；请用 tools = {{ allow = [...] }} 挑选",
    ),
    "names.withheld": Text(
        en="withheld because they changed (pin = true): {names}; review them, then run: mcp-bridge accept {server}",
        zh="有变化，暂不提供（pin = true）：{names}；看过之后运行 mcp-bridge accept {server}",
    ),
    "schemas": Text(en="{shown}", zh="{shown}"),
    "schemas.simplified": Text(
        en="{shown}; simplified for the model: {names}",
        zh="{shown}；为模型简化过：{names}",
    ),
    "schemas.left_out": Text(
        en="left out because no model accepts their parameters: {names}; report this to the server's author",
        zh="参数格式没有模型能接受，已略过：{names}；请反馈给服务器作者",
    ),
    "ping": Text(en="{milliseconds} ms", zh="{milliseconds} 毫秒"),
    "ping.silent": Text(
        en="no answer within {seconds} s",
        zh="{seconds} 秒内没有应答",
    ),
    "ping.silent.hint": Text(
        en="calls may still work; try one: mcp-bridge call {name}",
        zh="调用仍可能正常；可以试一次：mcp-bridge call {name}",
    ),
    # parts of other texts
    "notice": Text(en="{message}", zh="注意：{message}"),
    "with_output": Text(
        en="{message}; its output: {line}",
        zh="{message}；它的输出：{line}",
    ),
    "more": Text(
        en="{some} and {count} more",
        zh="{some} 等，还有 {count} 个",
    ),
    "separator": Text(en="; ", zh="；"),
    "nothing": Text(en="none", zh="没有"),
    # what keeps MaiBot from reading the file
    "file.bom": Text(
        en="MaiBot rejects {file}, which begins with a BOM: save it as UTF-8 without BOM",
        zh="{file} 带有 BOM，MaiBot 会拒绝读取：请另存为不带 BOM 的 UTF-8",
    ),
    "file.utf16": Text(
        en="MaiBot rejects {file}, which is UTF-16: save it as UTF-8 without BOM",
        zh="{file} 是 UTF-16 编码，MaiBot 会拒绝读取：请另存为不带 BOM 的 UTF-8",
    ),
    "file.toml": Text(
        en="MaiBot reads {file} as TOML 1.0 and rejects it: {message}; keep {{ ... }} on one line, "
        "without a comma before }}",
        zh="MaiBot 按 TOML 1.0 读取 {file}，会拒绝它：{message}；{{ ... }} 要写在一行里，}} 前不要有逗号",
    ),
    "no_sdk": Text(
        en="this Python ({python}) cannot use the package mcp (needed: >= 1.25, < 3; found: {found}): {error}; "
        "use the Python that runs the bot, or run: pip install 'mcp>=1.25,<3'",
        zh="这个 Python（{python}）里没有可用的 mcp 包（需要 >= 1.25, < 3，现有：{found}）：{error}；"
        "请用运行机器人的 Python，或运行 pip install 'mcp>=1.25,<3'",
    ),
    # the command line around the steps
    "checking": Text(
        en="checking {count} servers, at most {seconds} s each",
        zh="正在检查 {count} 个服务器，每个最多 {seconds} 秒",
    ),
    "ok": Text(en="ok", zh="正常"),
    "failed": Text(en="FAILED", zh="失败"),
    "file_rejected": Text(
        en="the servers work ({count}), but MaiBot rejects this file: see the first line",
        zh="服务器正常（共 {count} 个），但麦麦读不了这个文件：见第一行",
    ),
    "all_ok": Text(
        en="all is well; servers checked: {count}",
        zh="一切正常：共 {count} 个服务器",
    ),
    "some_failed": Text(
        en="{failing} of {count} servers failed",
        zh="{count} 个服务器中有 {failing} 个失败",
    ),
    "no_servers": Text(
        en="no servers are configured: remove the # before an example in config.toml",
        zh="没有配置任何服务器：请去掉 config.toml 里某个示例前的 #",
    ),
    "fix": Text(en="fix: {text}", zh="办法：{text}"),
    "note": Text(en="note: {text}", zh="提示：{text}"),
}
SHOWN_NAMES = 8


class DoctorTexts(Texts):
    """The doctor's texts in one language."""

    def __init__(self, language: Language) -> None:
        super().__init__(CATALOGUE, language)

    def joined(self, texts: Iterable[str]) -> str:
        """Return texts on one line, without the empty ones."""
        return self("separator").join(filter(None, texts))

    def some(self, names: Iterable[str]) -> str:
        """Return the first `SHOWN_NAMES` names in a row, and how many more there are."""
        names = list(names)
        row = ", ".join(names[:SHOWN_NAMES])
        return self("more", some=row, count=len(names) - SHOWN_NAMES) if len(names) > SHOWN_NAMES else row
