"""All checks under the names ``check_MODULE_NAME``, for a single launch."""

from tests.distributed.programs import agreement, collectives, functional, messages, nccl, objects
from tests.support.ranks import at_least, checks

for _module in (agreement, collectives, functional, messages, nccl, objects):
    for _name in checks(_module, 9):
        _check = vars(_module)[_name]
        if _module in (agreement, messages):
            _check = at_least(max(2, getattr(_check, "fewest", 2)))(_check)
        globals()[f"check_{_module.__name__.rpartition('.')[2]}_{_name.removeprefix('check_')}"] = _check
