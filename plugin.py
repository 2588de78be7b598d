"""What a bot loads. Chooses the adapter for the host, nothing else."""

if __name__.startswith("_maibot_plugin_"):  # MaiBot >= 1.0 imports plugins under this name
    from .mcp_bridge.hosts.maibot import create_plugin as create_plugin
