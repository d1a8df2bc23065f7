"""Make a lock file anew, when a server's version changes: trusts what Maven brings this once.

``python -m pacelc.clusters.software.locks cassandra org.apache.cassandra:cassandra-all:5.0.8``
resolves the run-time dependencies and writes ``cassandra.lock`` beside this file. Native libraries
for other systems than Linux are left out.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

OTHER_SYSTEMS = re.compile(r"osx|windows|riscv|macos|kqueue")


def resolve(coordinates: list[str]) -> list[Path]:
    """Return the run-time class path of the given ``group:artifact:version``."""
    dependencies = ""
    for group, artifact, version in (line.split(":") for line in coordinates):
        dependencies += (
            f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
            f"<version>{version}</version></dependency>"
        )
    with tempfile.TemporaryDirectory() as directory:
        pom, listing = Path(directory, "pom.xml"), Path(directory, "classpath")
        pom.write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>pacelc</groupId><artifactId>lock</artifactId>"
            f"<version>1</version><packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>",
            encoding="utf-8",
        )
        subprocess.run(
            [
                *(
                    "mvn",
                    "--batch-mode",
                    "--quiet",
                    "--file",
                    str(pom),
                    "dependency:build-classpath",
                ),
                f"-Dmdep.outputFile={listing}",
            ],
            check=True,
        )
        return [Path(path) for path in listing.read_text(encoding="utf-8").split(os.pathsep)]


def lock_line(jar: Path) -> str:
    """Return a jar's line, told by its place: ``repository/group/parts/artifact/version/file``."""
    repository = next(parent for parent in jar.parents if parent.name == "repository")
    *group, artifact, version, filename = jar.relative_to(repository).parts
    classifier = (
        filename.removeprefix(f"{artifact}-{version}").removesuffix(".jar").removeprefix("-")
    )
    coordinates = ":".join(
        [".".join(group), artifact, version, *([classifier] if classifier else [])]
    )
    return f"{coordinates} {hashlib.sha256(jar.read_bytes()).hexdigest()}"


def main() -> None:
    """Write the lock file."""
    name, *coordinates = sys.argv[1:]
    lines = [
        (
            f"# {' '.join(coordinates)}: the class path; made by "
            "`python -m pacelc.clusters.software.locks`"
        )
    ]
    lines += [lock_line(jar) for jar in resolve(coordinates) if not OTHER_SYSTEMS.search(jar.name)]
    Path(__file__).with_name(f"{name}.lock").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
