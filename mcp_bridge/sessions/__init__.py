"""MCP sessions: `initialize`, requests with limits, cancellation; which session a call gets. Re-exports nothing."""
