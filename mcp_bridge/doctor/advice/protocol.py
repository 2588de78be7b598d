"""What can be wrong with the handshake and the tools."""

from __future__ import annotations

from collections.abc import Mapping

from .advice import Advice, case

PROTOCOL: Mapping[str, Advice] = {
    # --- the handshake ---
    "timeout": case(
        "握手没有应答",
        "it is no MCP server, lacks an argument (some need stdio), or starts slowly: run the same command in a "
        "terminal, or raise connect_timeout",
        "它不是 MCP 服务器、少了参数（有的需要 stdio），或启动太慢：请在终端里运行同样的命令，或调大 connect_timeout",
    ),
    "timeout.remote": case(
        "握手没有应答",
        "check that the url is the MCP endpoint (/mcp, /sse) and the server is not busy; remove transport if it is "
        "set; or raise connect_timeout",
        "请确认 url 是 MCP 端点（/mcp、/sse），服务器不忙；如果设置了 transport 请删掉；或调大 connect_timeout",
    ),
    "download": case(
        "启动器 {launcher} 可能还在做首次下载",
        "wait and run this again, or run the same command once in a terminal; on a slow network raise "
        "first_start_timeout or set a mirror (npm_config_registry, UV_DEFAULT_INDEX)",
        "请稍等再运行一次，或在终端里先运行一遍同样的命令；网络慢请调大 first_start_timeout，"
        "或设置镜像源（npm_config_registry、UV_DEFAULT_INDEX）",
        en="the first download by {launcher} may still be running: {message}",
    ),
    "noise": case(
        "它在 stdout 上输出了协议之外的内容，没有应答握手",
        "stdout must carry messages only: is it an MCP server on stdio? Often an argument is missing (stdio, "
        "--transport stdio); its log belongs on stderr",
        "stdout 只能用来传消息：它是 stdio 方式的 MCP 服务器吗？常见原因是少了参数（stdio、--transport stdio）；"
        "日志应写到 stderr",
        en="it prints other things than messages on stdout: {message}",
    ),
    "version": case(
        "没有双方都支持的协议版本",
        "update the server; if it is newer than mcp-bridge, update mcp-bridge",
        "请升级服务器；如果它比 mcp-bridge 更新，请升级 mcp-bridge",
    ),
    "initialize": case(
        "服务器拒绝握手",
        "do what its text asks for; check args and env against the server's own page",
        "请按它的提示处理；并对照服务器自己的说明检查 args 和 env",
    ),
    "initialize.remote": case(
        "那个地址没有按 MCP 应答",
        "check that the url is the MCP endpoint (often /mcp or /sse) and no web or sign-in page",
        "请确认 url 是 MCP 端点（通常是 /mcp 或 /sse），而不是网页或登录页",
    ),
    "other": case(
        "出了意料之外的问题",
        "run this again with -v and report what it shows",
        "请加 -v 再运行一次，并反馈输出的内容",
    ),
    # --- the tools ---
    "list_timeout": case(
        "要工具列表没有应答",
        "the server hangs or is slow: raise connect_timeout, restart it, read its log",
        "服务器卡住或太慢：请调大 connect_timeout，重启它，看它的日志",
    ),
    "list_error": case(
        "服务器对工具列表报错",
        "the server cannot list its tools: do what its text asks for, or update it",
        "服务器列不出工具：请按它的提示处理，或升级它",
        en="it answers tools/list with an error: {message}",
    ),
    "exit_later": case(
        "程序在握手之后退出了",
        "read its last words; run the same command in a terminal",
        "请看它最后的输出；在终端里运行同样的命令",
    ),
    "no_tools": Advice(
        ("it has no tools", "它没有任何工具"),
        (
            "nothing to offer to the bot: is a key, a login or an argument missing that gives it tools?",
            "没有可以给机器人用的东西：是不是少了密钥、登录，或打开工具的参数？",
        ),
    ),
    "no_tools.announced": Advice(
        ("it announces no tools (only resources or prompts)", "它声明自己没有工具（只有资源或提示词）"),
        (
            "this server is not for bots: remove it or set enabled = false",
            "它不适合机器人：请删掉它，或设 enabled = false",
        ),
    ),
    "no_tools.unusable": Advice(
        ("none of its tools can be used: {message}", "它的工具没有一个能用（{message}）"),
        ("tell the server's author, or update the server", "请告诉服务器作者，或升级服务器"),
    ),
    "none_allowed": Advice(
        ("none of its {count} tools is offered: {names}", "它的 {count} 个工具一个也没有提供：{names}"),
        (
            "correct allow and deny of the key tools: they match the names shown here, and a denial wins",
            "请改正 tools 里的 allow 和 deny：它们匹配这里显示的名称，deny 优先",
        ),
    ),
    "withheld": Advice(
        ("all its tools are withheld because they changed (pin = true)", "它的工具都有变化，全部被扣下（pin = true）"),
        (
            "read what changed in the log, then: mcp-bridge accept {server}",
            "请看日志里的变化，然后运行 mcp-bridge accept {server}",
        ),
    ),
    "crowded": Advice(
        ("no room for its tools: max_tools = {most}", "没有位置放它的工具：max_tools = {most}"),
        (
            "offer fewer tools of the servers before it (tools), move it up in the file, or raise max_tools",
            "请减少前面服务器的工具（tools），把它在文件里往前移，或调大 max_tools",
        ),
    ),
    "schemas": Advice(
        ("no model accepts the parameters of its tools: {names}", "没有模型能接受它的工具参数：{names}"),
        ("tell the server's author, or update the server", "请告诉服务器作者，或升级服务器"),
    ),
}
