"""Advice on `initialize` and on the tools."""

from __future__ import annotations

from collections.abc import Mapping

from ...text.language import Text
from .advice import Advice

PROTOCOL: Mapping[str, Advice] = {
    # --- initialize ---
    "timeout": Advice(
        cause=Text(en="{message}", zh="握手没有应答（{message}）"),
        fix=Text(
            en="it is not an MCP server, lacks an argument (some need stdio), or starts slowly: run the same command "
            "in a terminal, or raise connect_timeout",
            zh="它不是 MCP 服务器、少了参数（有的需要 stdio），或启动太慢：请在终端里运行同样的命令，"
            "或调大 connect_timeout",
        ),
    ),
    "timeout.remote": Advice(
        cause=Text(en="{message}", zh="握手没有应答（{message}）"),
        fix=Text(
            en="check that the url is the MCP endpoint (/mcp, /sse) and the server is not busy; remove transport if "
            "it is set; or raise connect_timeout",
            zh="请确认 url 是 MCP 端点（/mcp、/sse），服务器不忙；如果设置了 transport 请删掉；或调大 connect_timeout",
        ),
    ),
    "download": Advice(
        cause=Text(
            en="the first download by {launcher} may still be running: {message}",
            zh="启动器 {launcher} 可能还在做首次下载（{message}）",
        ),
        fix=Text(
            en="wait and run this again, or run the same command once in a terminal; on a slow network raise "
            "first_start_timeout or set a mirror (npm_config_registry, UV_DEFAULT_INDEX)",
            zh="请稍等再运行一次，或在终端里先运行一遍同样的命令；网络慢请调大 first_start_timeout，"
            "或设置镜像源（npm_config_registry、UV_DEFAULT_INDEX）",
        ),
    ),
    "noise": Advice(
        cause=Text(
            en="it writes non-protocol output to stdout: {message}",
            zh="它在 stdout 上输出了协议之外的内容，没有应答握手（{message}）",
        ),
        fix=Text(
            en="stdout must carry messages only: is it an MCP server on stdio? Often an argument is missing (stdio, "
            "--transport stdio); its log belongs on stderr",
            zh="stdout 只能用来传消息：它是 stdio 方式的 MCP 服务器吗？常见原因是少了参数（stdio、--transport stdio）；"
            "日志应写到 stderr",
        ),
    ),
    "version": Advice(
        cause=Text(en="{message}", zh="没有双方都支持的协议版本（{message}）"),
        fix=Text(
            en="update the server; if it is newer than mcp-bridge, update mcp-bridge",
            zh="请升级服务器；如果它比 mcp-bridge 更新，请升级 mcp-bridge",
        ),
    ),
    "initialize": Advice(
        cause=Text(en="{message}", zh="服务器拒绝握手（{message}）"),
        fix=Text(
            en="do what its error text asks for; check args and env against the server's documentation",
            zh="请按它的提示处理；并对照服务器的文档检查 args 和 env",
        ),
    ),
    "initialize.remote": Advice(
        cause=Text(en="{message}", zh="那个地址没有按 MCP 应答（{message}）"),
        fix=Text(
            en="check that the url is the MCP endpoint (often /mcp or /sse) and not a web or sign-in page",
            zh="请确认 url 是 MCP 端点（通常是 /mcp 或 /sse），而不是网页或登录页",
        ),
    ),
    "other": Advice(
        cause=Text(en="{message}", zh="出了意料之外的问题（{message}）"),
        fix=Text(
            en="run this again with -v and report the output",
            zh="请加 -v 再运行一次，并反馈输出的内容",
        ),
    ),
    # --- the tools ---
    "list_timeout": Advice(
        cause=Text(en="{message}", zh="请求工具列表没有应答（{message}）"),
        fix=Text(
            en="the server hangs or is slow: raise connect_timeout, restart it, read its log",
            zh="服务器卡住或太慢：请调大 connect_timeout，重启它，看它的日志",
        ),
    ),
    "list_error": Advice(
        cause=Text(
            en="it answers tools/list with an error: {message}",
            zh="请求工具列表时服务器报错（{message}）",
        ),
        fix=Text(
            en="the server cannot list its tools: do what its error text asks for, or update it",
            zh="服务器列不出工具：请按它的提示处理，或升级它",
        ),
    ),
    "exit_later": Advice(
        cause=Text(en="{message}", zh="程序在握手之后退出了（{message}）"),
        fix=Text(
            en="read its last output; run the same command in a terminal",
            zh="请看它最后的输出；在终端里运行同样的命令",
        ),
    ),
    "no_tools": Advice(
        cause=Text(en="it has no tools", zh="它没有任何工具"),
        fix=Text(
            en="there is nothing to offer to the bot: does it need a key, a login or an argument to enable its tools?",
            zh="没有可以给机器人用的东西：是不是少了密钥、登录，或打开工具的参数？",
        ),
    ),
    "no_tools.announced": Advice(
        cause=Text(
            en="it announces no tools (only resources or prompts)",
            zh="它声明自己没有工具（只有资源或提示词）",
        ),
        fix=Text(
            en="a bot cannot use this server: remove it or set enabled = false",
            zh="机器人用不了它：请删掉它，或设 enabled = false",
        ),
    ),
    "no_tools.unusable": Advice(
        cause=Text(en="none of its tools can be used: {message}", zh="它的工具没有一个能用（{message}）"),
        fix=Text(
            en="report this to the server's author, or update the server",
            zh="请反馈给服务器作者，或升级服务器",
        ),
    ),
    "none_allowed": Advice(
        cause=Text(
            en="none of its {count} tools is offered: {names}",
            zh="它的 {count} 个工具一个也没有提供：{names}",
        ),
        fix=Text(
            en="correct allow and deny of the key tools: they match the names shown here, and deny wins",
            zh="请改正 tools 里的 allow 和 deny：它们匹配这里显示的名称，deny 优先",
        ),
    ),
    "withheld": Advice(
        cause=Text(
            en="all its tools are withheld because they changed (pin = true)",
            zh="它的工具都有变化，暂不提供（pin = true）",
        ),
        fix=Text(
            en="read what changed in the log, then run: mcp-bridge accept {server}",
            zh="请看日志里的变化，然后运行 mcp-bridge accept {server}",
        ),
    ),
    "crowded": Advice(
        cause=Text(
            en="no room for its tools: max_tools = {most}",
            zh="没有位置放它的工具：max_tools = {most}",
        ),
        fix=Text(
            en="offer fewer tools of the servers before it (tools), move it up in the file, or raise max_tools",
            zh="请减少前面服务器的工具（tools），把它在文件里往前移，或调大 max_tools",
        ),
    ),
    "schemas": Advice(
        cause=Text(
            en="no model accepts the parameters of its tools: {names}",
            zh="没有模型能接受它的工具参数：{names}",
        ),
        fix=Text(
            en="report this to the server's author, or update the server",
            zh="请反馈给服务器作者，或升级服务器",
        ),
    ),
}
