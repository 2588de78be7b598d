"""A server as a process: how it is started, talked to and ended, with all that it starts."""
