"""Files of other programs, as their manuals describe them, and the servers that they mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECRET = "s3cr3t-0123456789"
ENVIRON = {"GITHUB_TOKEN": "tok-from-environ", "INPUT_PERPLEXITY_KEY": "tok-answered"}


@dataclass(frozen=True)
class ForeignFile:
    path: str
    text: str
    servers: dict[str, dict[str, Any]]
    """What is expected of each server; `{workspace}` stands for the folder of the project, and so on."""
    off: frozenset[str] = field(default=frozenset())


CLAUDE_DESKTOP = ForeignFile(
    "claude_desktop_config.json",
    r"""
    {
      "globalShortcut": "",
      "mcpServers": {
        "filesystem": {
          "command": "C:\\Program Files\\nodejs\\npx.cmd",
          "args": ["-y", "@modelcontextprotocol/server-filesystem", "C:\\Users\\me\\new", "D:\\it's\\here"]
        },
        "brave search": {
          "command": "uvx",
          "args": ["brave"],
          "env": { "BRAVE_API_KEY": "s3cr3t-0123456789", "PORT": 8080, "DEBUG": true }
        }
      }
    }
    """,
    {
        "filesystem": {
            "transport": "stdio",
            "command": r"C:\Program Files\nodejs\npx.cmd",
            "args": ("-y", "@modelcontextprotocol/server-filesystem", r"C:\Users\me\new", r"D:\it's\here"),
        },
        "brave search": {
            "command": "uvx",
            "env": {"BRAVE_API_KEY": SECRET, "PORT": "8080", "DEBUG": "true"},
        },
    },
)

CURSOR = ForeignFile(
    "project/.cursor/mcp.json",
    """
    // shared by the team
    {
      "mcpServers": {
        "docs": { "url": "https://docs.example.com/mcp", "headers": { "X-Key": "Bearer ${env:GITHUB_TOKEN}" } },
        /* "old": { "command": "npx" }, */
        "local": {
          "type": "stdio",
          "command": "python",
          "args": ["${workspaceFolder}/tools/server.py", "--home", "${userHome}", "http://x//y"],
          "env": { "TOKEN": "${env:GITHUB_TOKEN}" }, // a comment with a "quote"
        },
      },
    }
    """,
    {
        "docs": {
            "transport": "auto",
            "url": "https://docs.example.com/mcp",
            "headers": {"X-Key": "Bearer tok-from-environ"},
        },
        "local": {
            "command": "python",
            "args": ("{workspace}/tools/server.py", "--home", "{home}", "http://x//y"),
            "cwd": "{workspace}",
            "env": {"TOKEN": "tok-from-environ"},
        },
    },
)

VS_CODE = ForeignFile(
    "project/.vscode/mcp.json",
    """
    {
      "inputs": [
        { "type": "promptString", "id": "perplexity-key", "description": "Perplexity API key", "password": true },
        { "type": "pickString", "id": "mode", "options": ["fast", "slow"], "default": "fast" },
      ],
      "servers": {
        "github": { "type": "http", "url": "https://api.example.com/mcp/" },
        "legacy": { "type": "sse", "url": "http://localhost:3000/sse" },
        "perplexity": {
          "type": "stdio",
          "command": "npx",
          "args": ["-y", "server-perplexity-ask", "--mode=${input:mode}"],
          "env": { "PERPLEXITY_API_KEY": "${input:perplexity-key}", "REMOVED": null },
          "dev": { "watch": "src/**" }
        }
      }
    }
    """,
    {
        # VS Code tries HTTP and then SSE for "http"
        "github": {"transport": "auto", "url": "https://api.example.com/mcp/"},
        "legacy": {"transport": "sse"},
        "perplexity": {
            "args": ("-y", "server-perplexity-ask", "--mode=fast"),
            "env": {"PERPLEXITY_API_KEY": "tok-answered"},
            "cwd": "{workspace}",
        },
    },
)

CHERRY_STUDIO = ForeignFile(
    "cherry.json",
    """
    {
      "mcpServers": {
        "V1StGXR8_Z5jdHi6B-myT": {
          "name": "抓取",
          "type": "stdio",
          "description": "fetches pages",
          "isActive": true,
          "baseUrl": "",
          "command": "uvx",
          "args": ["mcp-server-fetch"],
          "env": {},
          "registryUrl": "https://mirror.example.com/simple",
          "tags": ["web"],
          "disabledTools": ["fetch[raw]"]
        },
        "Uakgb_J5m9g-0JDMbcJqL": {
          "name": "amap",
          "type": "streamableHttp",
          "isActive": true,
          "baseUrl": "https://mcp.example.com/mcp?key=s3cr3t-0123456789",
          "command": "",
          "headers": { "Authorization": "Bearer s3cr3t-0123456789" }
        },
        "plain": { "name": "plain", "type": "sse", "isActive": false, "baseUrl": "http://localhost:3000/sse" }
      }
    }
    """,
    {
        "抓取": {
            "command": "uvx",
            "args": ("mcp-server-fetch",),
            "env": {"UV_DEFAULT_INDEX": "https://mirror.example.com/simple"},
        },
        "amap": {
            "transport": "http",
            "url": f"https://mcp.example.com/mcp?key={SECRET}",
            "headers": {"Authorization": f"Bearer {SECRET}"},
        },
    },
    off=frozenset({"plain"}),
)

ASTRBOT = ForeignFile(
    "mcp_server.json",
    """
    {
      "mcpServers": {
        "weather": {
          "transport": "streamable_http",
          "url": "http://127.0.0.1:8000/mcp",
          "headers": { "X-Token": "s3cr3t-0123456789" },
          "active": true
        },
        "news": { "transport": "sse", "url": "http://127.0.0.1:8001/sse", "active": false },
        "files": { "command": "node", "args": ["D:/mcp/index.js"], "active": true }
      }
    }
    """,
    {
        "weather": {
            "transport": "http",
            "url": "http://127.0.0.1:8000/mcp",
            "headers": {"X-Token": SECRET},
        },
        "files": {"command": "node", "args": ("D:/mcp/index.js",)},
    },
    off=frozenset({"news"}),
)

CLINE = ForeignFile(
    "cline_mcp_settings.json",
    """
    {
      "mcpServers": {
        "local": {
          "command": "node", "args": ["server.js"], "cwd": "servers", "transportType": "stdio",
          "disabled": false, "autoApprove": ["read"], "alwaysAllow": []
        },
        "remote": { "type": "streamableHttp", "url": "https://example.com/mcp", "disabled": false },
        "off": { "command": "node", "disabled": true }
      }
    }
    """,
    {
        "local": {"command": "node", "cwd": "{folder}{sep}servers", "transport": "stdio"},
        "remote": {"transport": "http"},
    },
    off=frozenset({"off"}),
)

WINDSURF = ForeignFile(
    "mcp_config.json",
    """
    {
      "mcpServers": {
        "remote": {
          "serverUrl": "https://example.com/mcp",
          "headers": { "Authorization": "Bearer ${env:GITHUB_TOKEN}" },
          "disabledTools": ["delete_all"]
        }
      }
    }
    """,
    {
        "remote": {
            "transport": "auto",
            "url": "https://example.com/mcp",
            "headers": {"Authorization": "Bearer tok-from-environ"},
        },
    },
)

FOREIGN_FILES = {
    "Claude Desktop": CLAUDE_DESKTOP,
    "Cursor": CURSOR,
    "VS Code": VS_CODE,
    "Cherry Studio": CHERRY_STUDIO,
    "AstrBot": ASTRBOT,
    "Cline": CLINE,
    "Windsurf": WINDSURF,
}


def put(folder: Path, foreign: ForeignFile) -> Path:
    file = folder / foreign.path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(foreign.text, encoding="utf-8")
    return file
