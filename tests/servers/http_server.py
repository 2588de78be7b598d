"""Start one MCP server over HTTP on 127.0.0.1: `http_server.py MODE [port=0] [key=value ...]`.

Prints `PORT n` when it listens. Streamable HTTP is at /mcp, the old SSE transport at /sse and /messages. The
mode is any of `odd_server.py list` that is not about pipes or processes; HTTP oddities come with
`http=NAME[,NAME...]` (`http_server.py list`). Other options:

    answer=auto|json|sse   how a POST is answered (auto: a stream if more is sent)
    get=stream|405         what GET /mcp does           delete=200|405  what DELETE /mcp does
    endpoint=relative|absolute|full|other_host          what the SSE `endpoint` event says
    mount=/gw              all paths live below this prefix; endpoint=absolute does not know it
    on=METHOD times=N      limit an oddity to one JSON-RPC method, to the first N such requests (0: all)
    forgotten=NAME         how an unknown session is refused: http_oddities.FORGOTTEN (404)
    delay=S keepalive=S    for `slow` and for the comments on idle streams
    auth=TOKEN             401 unless the request carries `Authorization: Bearer TOKEN`

A test steers it while it runs: POST /_odd/restart forgets all sessions, POST /_odd/set?http=500&times=1
changes options, GET /_odd/sessions counts sessions.
"""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from catalogue import create
from http_handler import HttpServer
from http_oddities import ODDITIES
from wire import Log, complain, parse_options


def main() -> None:
    words = sys.argv[1:] or ["list"]
    if words[0] == "list":
        print("\n".join(f"{name:20} {(action.__doc__ or '').strip()}" for name, action in ODDITIES.items()))
        return
    options = parse_options(words[1:])
    log = Log(options.get("log") or os.environ.get("ODD_LOG"))
    unknown = [name for name in options.get("http", "").split(",") if name and name not in ODDITIES]
    probe = create(words[0], options, HttpServer.no_channel(), log)
    if unknown or probe.stdio_only:
        complain(f"unknown oddity: {unknown}" if unknown else f"mode {words[0]} needs a pipe")
        sys.exit(2)
    server = HttpServer(int(options.get("port", 0)), words[0], options, log)
    log("start", argv=sys.argv, port=server.server_port)
    print(f"PORT {server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        log.leave(0)


if __name__ == "__main__":
    main()
