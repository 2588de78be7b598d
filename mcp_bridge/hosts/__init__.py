"""One module per bot: the only code that knows a host. No host imports another."""
