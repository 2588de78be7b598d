"""`python -m mcp_bridge`, which also works in the plugin folder itself."""

import sys

from .cli import main

sys.exit(main())
