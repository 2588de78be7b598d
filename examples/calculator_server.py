"""A small MCP server to try things with: five tools, made with the official SDK.

Run by an MCP client over stdio: `python calculator_server.py`.
"""

from importlib.metadata import version

if int(version("mcp").split(".")[0]) >= 2:
    from mcp.server import MCPServer as Server
    from mcp.server.mcpserver.exceptions import ToolError
else:
    from mcp.server.fastmcp import FastMCP as Server
    from mcp.server.fastmcp.exceptions import ToolError

server = Server("calculator")


@server.tool()
def add(a: float, b: float) -> float:
    """Add two numbers. 两数相加。"""
    return a + b


@server.tool()
def subtract(a: float, b: float) -> float:
    """Subtract b from a. 两数相减。"""
    return a - b


@server.tool()
def multiply(a: float, b: float) -> float:
    """Multiply two numbers. 两数相乘。"""
    return a * b


@server.tool()
def divide(a: float, b: float) -> float:
    """Divide a by b. 两数相除。"""
    if b == 0:
        raise ToolError("cannot divide by zero")
    return a / b


@server.tool()
def greet(name: str) -> str:
    """Greet somebody by name. 向某人问好。"""
    return f"Hello, {name}!"


if __name__ == "__main__":
    server.run()
