"""A directory may have any name, or is refused before anything starts."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from pacelc.clusters import DATABASES, ClusterError, ClusterSpec
from pacelc.clusters.protocol import Software
from pacelc.runner.lab import LocalLab
from pacelc.study import Study


@pytest.mark.parametrize("name", ["100%", "100%41", "a b", "#1", "what?", "ä[1]{2}"])
def test_cassandras_files_are_named_as_uris(name: str) -> None:
    directory = Path("/data", name)
    [plan] = DATABASES["cassandra"].plan(
        ClusterSpec("cassandra", nodes=1), Software(("java",), {"cassandra": "5"}), directory
    )
    uris = [one.partition("=")[2] for one in plan.argv if "=file:" in one]
    named = {Path(url2pathname(urlsplit(uri).path)) for uri in uris}
    assert named == {path for path in plan.files if path.parent.name == "node1-conf"}
    assert not any(urlsplit(uri).query or urlsplit(uri).fragment for uri in uris)


@pytest.mark.parametrize("name", ["100%", "a b", "a:b", "[1]", "{1}", "a|b", "a\\b"])
def test_hbase_is_refused_a_directory_that_it_cant_read(name: str) -> None:
    study = Study.parse("name: s\nsettings: {database: hbase, nodes: 1, replication: 1}\n")
    lab = LocalLab(workdir=Path("/data", name), force_memory=True)
    with pytest.raises(ClusterError, match="HBase's data can't be in /data") as refused:
        lab.check(study.schedule()[0])
    assert "--workdir" in str(refused.value.hint)
    for fine in ("a-b_c.d", "ä#1,2", "~a+b=c@d"):
        DATABASES["hbase"].plan(
            ClusterSpec("hbase", nodes=1), Software(("java", ""), {"hbase": "2"}), Path("/d", fine)
        )
