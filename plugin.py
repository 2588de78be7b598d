"""What a bot loads. Chooses the adapter for the host, nothing else."""

if __name__.startswith("_maibot_plugin_"):  # MaiBot >= 1.0 imports plugins under this name
    from .mcp_bridge.hosts.maibot import create_plugin as create_plugin
elif __package__:  # MaiBot 0.10 to 0.12: `plugins.<folder>`
    from src.plugin_system import register_plugin

    from .mcp_bridge.hosts.maibot_legacy import LegacyMcpBridgePlugin

    @register_plugin  # finds this folder by the module that a class is defined in
    class McpBridgePlugin(LegacyMcpBridgePlugin):
        """Every tool of every configured MCP server as a tool of the bot."""
