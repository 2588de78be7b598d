"""`python -m mcp_bridge`, which also works in the plugin folder itself."""

import sys

from .cli.main import main

sys.exit(main())
