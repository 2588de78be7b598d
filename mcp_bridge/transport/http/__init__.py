"""Remote servers: the SDK's HTTP transports behind a guard. Re-exports nothing: most modules import the SDK."""
