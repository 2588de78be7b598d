"""The command line, `mcp-bridge`."""

from .main import main as main
