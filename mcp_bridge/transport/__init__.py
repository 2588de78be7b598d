"""One open channel to a server: stdio owns the process, http guards the SDK, the filter repairs messages.

Re-exports nothing: some modules below import the SDK, which the start of a bot must not.
"""
