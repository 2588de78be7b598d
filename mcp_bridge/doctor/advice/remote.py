"""What can be wrong on the way to a remote server."""

from __future__ import annotations

from collections.abc import Mapping

from .advice import Advice, case

REMOTE: Mapping[str, Advice] = {
    # --- the way to a remote server ---
    "unauthorized": case(
        "服务器不认这个令牌（401）",
        'set bearer = "${{TOKEN}}" or headers, or renew the token; OAuth logins are not supported',
        '请设置 bearer = "${{TOKEN}}" 或 headers，或换一个新令牌；不支持 OAuth 登录',
    ),
    "forbidden": case(
        "服务器拒绝访问（403）",
        "the token lacks the right, or is the wrong one: check bearer and headers, and what the account may do",
        "令牌不对或权限不足：请检查 bearer、headers 和账号的权限",
    ),
    "not_found": case(
        "url 的路径不对（404）",
        "check the path of the url: it often ends in /mcp or /sse",
        "请检查 url 的路径：通常以 /mcp 或 /sse 结尾",
    ),
    "not_found.sse": case(
        "url 的路径不对（404）",
        'check the path of the url (often /sse); behind a gateway with a path prefix set sse_prefix = "/prefix"',
        '请检查 url 的路径（通常是 /sse）；网关带路径前缀时请设置 sse_prefix = "/前缀"',
    ),
    "transport": case(
        "传输方式不对",
        "wrong transport: remove the key transport, then both are tried; or check the path of the url (/mcp, /sse)",
        "传输方式不对：请删掉 transport，两种都会尝试；或检查 url 的路径（/mcp、/sse）",
    ),
    "too_many": case(
        "请求太频繁（429）",
        "wait a minute and run this again; lower warm and max_sessions if it stays",
        "请等一分钟再运行；如果一直这样，请调小 warm 和 max_sessions",
    ),
    "server_error": case(
        "服务器内部出错（{status}）",
        "the fault is on the server's side: read its log; behind a gateway the server itself may be down",
        "问题在服务器一侧：请看它的日志；如果前面有网关，可能是后面的服务器没有运行",
    ),
    "status": case(
        "服务器拒绝了请求（{status}）",
        "check url, headers and transport against the server's own page",
        "请对照服务器自己的说明检查 url、headers 和 transport",
    ),
    "refused": case(
        "连接被拒绝，那里没有程序在监听",
        "start the server, check host and port of the url; from inside a container use the service's name "
        "or host.docker.internal instead of 127.0.0.1",
        "请启动服务器，检查 url 的主机和端口；在容器里请用服务名或 host.docker.internal 代替 127.0.0.1",
    ),
    "host": case(
        "找不到这个主机名",
        "check the spelling of the host in url, and the network (DNS)",
        "请检查 url 里的主机名拼写，以及网络（DNS）",
    ),
    "proxy": case(
        "代理有问题",
        "check HTTP_PROXY and HTTPS_PROXY; to reach this server without the proxy add {host} to NO_PROXY",
        "请检查 HTTP_PROXY 和 HTTPS_PROXY；要绕过代理，请把 {host} 加到 NO_PROXY",
    ),
    "certificate": case(
        "不信任服务器的证书",
        "set ca_file to the certificate authority that signed it (a PEM file); check the host name and the clock",
        "请把 ca_file 设为签发它的证书机构（PEM 文件）；并检查主机名和系统时间",
    ),
    "tls": case(
        "那个地址不支持 TLS",
        "if the server speaks plain http, write http:// in url; otherwise check the port",
        "如果服务器只支持 http，请在 url 里写 http://；否则请检查端口",
    ),
    "ca_file": case(
        "ca_file 不能用",
        "ca_file must be the path of a readable PEM file",
        "ca_file 必须是一个可读的 PEM 文件的路径",
    ),
    "redirect": case(
        "服务器把请求转到了别处",
        "if that place is right put it into url: tokens are not sent on to other places",
        "如果那个地址是对的，请写进 url：令牌不会发给别的地址",
    ),
    "connection": case(
        "连接失败",
        "check that the server runs, and url, port and network",
        "请确认服务器在运行，并检查 url、端口和网络",
    ),
}
