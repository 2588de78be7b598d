"""Ways in for programs: toolset, manager and registry, agentscope clients."""
