"""Whom servers run as: where pacelc is root, an ordinary user.

Whoever reaches a server may have it write files, or run what they like, as the user that it runs
as. So root's servers run as another user: `nobody`, or the one that ``$PACELC_SERVER_USER`` names.
It must have an entry in the system's list of users, since Hadoop asks for one; none is made.

An ordinary user's servers run as that user. So do those of root of a user namespace of one user
(`pacelc.clusters.network.namespaces.as_root`): to the outside that is an ordinary user, and there
is nobody else to become.

Map
---
server_user     the user; None where servers run as pacelc does
ServerUser      what is made its own, what it can reach
"""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pacelc.clusters.errors import ClusterError
from pacelc.clusters.network.namespaces import in_namespace_of_one_user

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["VARIABLE", "ServerUser", "server_user"]

VARIABLE: Final = "PACELC_SERVER_USER"
_USUAL: Final = "nobody"


@dataclass(frozen=True)
class ServerUser:
    """An ordinary user, with no group but its own."""

    name: str
    uid: int
    gid: int

    def own(self, path: Path) -> None:
        """Make it the owner of a file or a directory.

        Raises
        ------
        ClusterError
            The file system knows no such owner.
        """
        try:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)
        except OSError as error:
            raise ClusterError(
                f"root's servers run as {self.name}, who can't be given {path}: {error.strerror}",
                hint="name a directory on a disk of this machine's",
            ) from error

    def require(self, *paths: Path) -> None:
        """Refuse what it can't reach and read.

        Raises
        ------
        ClusterError
            It says which directory or file is closed to it.
        """
        for path in paths:
            if (door := self._shut(path)) is not None:
                raise ClusterError(
                    f"root's servers run as {self.name}, who can't reach {path}: {door} is closed "
                    "to others",
                    hint=f"use a place outside it, or name another user in {VARIABLE}",
                )

    def _shut(self, path: Path) -> Path | None:
        """Return the first place on the way to a path, and behind its links, that is shut to it."""
        for way in (path.absolute(), path.resolve()):
            for place in (*reversed(way.parents), way):
                if place.exists() and not self._may_use(place.stat()):
                    return place
        return None

    def _may_use(self, found: os.stat_result) -> bool:
        """Whether it may pass a directory; of a file, read or run it."""
        bits = 0o1 if stat.S_ISDIR(found.st_mode) else 0o5
        if found.st_uid == self.uid:
            bits <<= 6
        elif found.st_gid == self.gid:
            bits <<= 3
        return bool(found.st_mode & bits)


def server_user() -> ServerUser | None:
    """Return whom servers run as; None where that is who pacelc runs as.

    Raises
    ------
    ClusterError
        There is no such user here, or it is root.
    """
    if os.geteuid() != 0 or in_namespace_of_one_user():
        return None
    name = os.environ.get(VARIABLE) or _USUAL
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise _unfit(name, "there is no such user") from None
    if entry.pw_uid == 0:
        raise _unfit(name, "that is root")
    if not (_is_mapped(entry.pw_uid, "uid_map") and _is_mapped(entry.pw_gid, "gid_map")):
        raise _unfit(name, "this user namespace has no such user")
    return ServerUser(name, entry.pw_uid, entry.pw_gid)


def _unfit(name: str, why: str) -> ClusterError:
    return ClusterError(
        f"root's servers can't run as {name!r}: {why}",
        hint=f"name an ordinary user in {VARIABLE}, or run pacelc as one",
    )


def _is_mapped(number: int, table: str) -> bool:
    """Whether a user or group of that number is there in this user namespace."""
    lines = Path("/proc/self", table).read_text(encoding="ascii").splitlines()
    return any(_holds(map(int, line.split()), number) for line in lines)


def _holds(line: Iterable[int], number: int) -> bool:
    first, _outside, count = line
    return first <= number < first + count
