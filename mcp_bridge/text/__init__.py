"""Untrusted text and JSON values: cleaned, masked, made plain. Knows no MCP."""
