"""What the rules of ``shrink.py`` and ``inputs.py`` do not find out about an architecture.

``create`` are arguments of the configuration's constructor, ``set`` changes of the small configuration.
"""

from __future__ import annotations

from typing import Any

OVERRIDES: dict[str, dict[str, Any]] = {"whisper": {"set": {"max_source_positions": 50, "max_target_positions": 64}}}
