"""One module or package per bot: the only code that knows a host. No host imports another."""
