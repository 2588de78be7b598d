"""Untrusted text and JSON values: cleaned, masked, reduced to plain types. Knows nothing of MCP."""
