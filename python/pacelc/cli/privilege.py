"""What an ordinary user's command does before it makes an emulated network.

Map
---
may_make_networks   begin anew as root of a user namespace, where that is needed
"""

from __future__ import annotations

import sys

__all__ = ["may_make_networks"]

is_whole_process = False
"""Whether this process is the command and nothing else; set by the entry point."""


def may_make_networks() -> None:
    """Begin the command anew in a user namespace, if this user can have networks in no other way.

    Called before it has done anything. Where the kernel allows nothing, nothing happens: the
    cluster is refused, with the reason, later. So it is where the command line is called by another
    program, which is not ours to replace.
    """
    from pacelc.clusters.network.namespaces import as_root, capability  # noqa: PLC0415 - see callers

    if is_whole_process and capability().how == "user namespace":
        as_root([sys.executable, *sys.orig_argv[1:]])
