"""Advice on the connection to a remote server."""

from __future__ import annotations

from collections.abc import Mapping

from ...text.language import Text
from .advice import Advice

REMOTE: Mapping[str, Advice] = {
    # --- its HTTP status ---
    "unauthorized": Advice(
        cause=Text(en="{message}", zh="服务器不认这个令牌（{message}）"),
        fix=Text(
            en='set bearer = "${{TOKEN}}" or headers, or renew the token; OAuth logins are not supported',
            zh='请设置 bearer = "${{TOKEN}}" 或 headers，或换一个新令牌；不支持 OAuth 登录',
        ),
    ),
    "forbidden": Advice(
        cause=Text(en="{message}", zh="服务器拒绝访问（{message}）"),
        fix=Text(
            en="the token is wrong or lacks the permission: check bearer, headers and the rights of the account",
            zh="令牌不对或权限不足：请检查 bearer、headers 和账号的权限",
        ),
    ),
    "not_found": Advice(
        cause=Text(en="{message}", zh="url 的路径不对（{message}）"),
        fix=Text(
            en="check the path of the url: it often ends in /mcp or /sse",
            zh="请检查 url 的路径：通常以 /mcp 或 /sse 结尾",
        ),
    ),
    "not_found.sse": Advice(
        cause=Text(en="{message}", zh="url 的路径不对（{message}）"),
        fix=Text(
            en='check the path of the url (often /sse); behind a gateway with a path prefix set sse_prefix = "/prefix"',
            zh='请检查 url 的路径（通常是 /sse）；网关带路径前缀时请设置 sse_prefix = "/前缀"',
        ),
    ),
    "transport": Advice(
        cause=Text(en="{message}", zh="传输方式不对（{message}）"),
        fix=Text(
            en="wrong transport: remove the key transport, then both are tried; or check the path of the url "
            "(/mcp, /sse)",
            zh="传输方式不对：请删掉 transport，两种都会尝试；或检查 url 的路径（/mcp、/sse）",
        ),
    ),
    "too_many": Advice(
        cause=Text(en="{message}", zh="请求太频繁（{message}）"),
        fix=Text(
            en="wait a minute and run this again; if it persists, lower warm and max_sessions",
            zh="请等一分钟再运行；如果一直这样，请调小 warm 和 max_sessions",
        ),
    ),
    "server_error": Advice(
        cause=Text(en="{message}", zh="服务器内部出错（{message}）"),
        fix=Text(
            en="the fault is on the server's side: read its log; behind a gateway the server itself may be down",
            zh="问题在服务器一侧：请看它的日志；如果前面有网关，可能是后面的服务器没有运行",
        ),
    ),
    "status": Advice(
        cause=Text(en="{message}", zh="服务器拒绝了请求（{message}）"),
        fix=Text(
            en="check url, headers and transport against the server's documentation",
            zh="请对照服务器的文档检查 url、headers 和 transport",
        ),
    ),
    # --- the way there ---
    "refused": Advice(
        cause=Text(en="{message}", zh="连接被拒绝，那里没有程序在监听（{message}）"),
        fix=Text(
            en="start the server, check host and port of the url; from inside a container use the service's name "
            "or host.docker.internal instead of 127.0.0.1",
            zh="请启动服务器，检查 url 的主机和端口；在容器里请用服务名或 host.docker.internal 代替 127.0.0.1",
        ),
    ),
    "host": Advice(
        cause=Text(en="{message}", zh="找不到这个主机名（{message}）"),
        fix=Text(
            en="check the spelling of the host in url, and the network (DNS)",
            zh="请检查 url 里的主机名拼写，以及网络（DNS）",
        ),
    ),
    "proxy": Advice(
        cause=Text(en="{message}", zh="代理有问题（{message}）"),
        fix=Text(
            en="check HTTP_PROXY and HTTPS_PROXY; to reach this server without the proxy add {host} to NO_PROXY",
            zh="请检查 HTTP_PROXY 和 HTTPS_PROXY；要绕过代理，请把 {host} 加到 NO_PROXY",
        ),
    ),
    "certificate": Advice(
        cause=Text(en="{message}", zh="不信任服务器的证书（{message}）"),
        fix=Text(
            en="set ca_file to the certificate authority that signed it (a PEM file); check the host name and the "
            "clock",
            zh="请把 ca_file 设为签发它的证书机构（PEM 文件）；并检查主机名和系统时间",
        ),
    ),
    "tls": Advice(
        cause=Text(en="{message}", zh="那个地址不支持 TLS（{message}）"),
        fix=Text(
            en="if the server uses plain http, write http:// in url; otherwise check the port",
            zh="如果服务器只支持 http，请在 url 里写 http://；否则请检查端口",
        ),
    ),
    "ca_file": Advice(
        cause=Text(en="{message}", zh="ca_file 不能用（{message}）"),
        fix=Text(
            en="ca_file must be the path of a readable PEM file",
            zh="ca_file 必须是一个可读的 PEM 文件的路径",
        ),
    ),
    "redirect": Advice(
        cause=Text(en="{message}", zh="服务器把请求转到了别处（{message}）"),
        fix=Text(
            en="if that address is right, put it into url: tokens are not sent to other addresses",
            zh="如果那个地址是对的，请写进 url：令牌不会发给别的地址",
        ),
    ),
    "connection": Advice(
        cause=Text(en="{message}", zh="连接失败（{message}）"),
        fix=Text(
            en="check that the server runs, and check url, port and network",
            zh="请确认服务器在运行，并检查 url、端口和网络",
        ),
    ),
}
