"""What goes between a server and the SDK's session: bytes, messages, and the filter."""
