"""What any bot can offer its owner: the `/mcp` command, consent, switches. Knows no bot."""
