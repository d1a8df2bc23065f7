"""Pages of the reference that are made from the code.

They are the command line, a study's fields, and the options of clusters.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

from pacelc.clusters import DATABASES
from pacelc.clusters.spec import COMMON_OPTIONS
from pacelc.databases import FACTS
from pacelc.study.schema import study_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

EXPLAINED: Final[Mapping[str, str]] = {
    "factors": "study.md#factors",
    "exclude": "study.md#exclusions-and-overrides",
    "overrides": "study.md#exclusions-and-overrides",
    "order": "study.md#what-is-compared-and-in-what-order",
    "sharding": "mongodb.md",
    "shards": "mongodb.md",
    "regions": "regions.md",
    "clients": "regions.md#users-in-several-regions",
    "links": "regions.md#links",
    "cores": "sizes.md",
    "memory": "sizes.md",
    "no_idle_states": "idle-states.md",
    "cluster_options": "cluster-options.md",
    "external": "external.md",
    "arrivals": "study.md#when-operations-are-due",
    "consistency": "levels.md",
    "session": "sessions.md",
    "observe": "observed.md",
    "workload": "ycsb.md#built-in-workloads",
    "warm_up_ceiling": "study.md#when-a-warm-up-is-over",
    "distribution": "study.md#distributions",
    "faults": "faults.md",
}
"""Field → the page that says more of it."""

PAGE: Final = """\
# Every field of a study

[Studies](study.md) says how they work together. `pacelc schema` prints them as a JSON Schema, for editors.

{fields}

## Settings

Durations are `10s`, `5m`, `1.5h`, `250ms`, or a number of seconds. Amounts of memory are `2GiB`, `512MiB`, `1.5GB`, or
a number of bytes.

{settings}

## Settings of the workload

Each may be written in `workload`, or beside it, with or without `workload.` before its name.

{workload}
"""  # noqa: E501 - as long as the pages' lines


OPTIONS_PAGE: Final = """\
# Options of clusters

`cluster_options` of a [study](study-fields.md#settings), and `pacelc up --option KEY=VALUE`, configure the servers that pacelc
starts. Each database has its own; an option that it doesn't have is refused. Memory and cores of nodes are settings of a study
([sizes](sizes.md)), and so are regions ([regions](regions.md)).

```yaml title="logged.yaml"
name: logged
factors:
  log:
    none: {{cluster_options: {{appendonly: false}}}}
    each-second: {{cluster_options: {{appendonly: true}}}}
    each-write: {{cluster_options: {{appendonly: true, appendfsync: always}}}}
settings:
  database: redis
  workload: {{records: 1000, mix: 50/50}}
```

```sh
pacelc run logged.yaml --set cluster_options.port=16400 --dry-run
```

Each run records the options in force, and the source and version of its servers. A study whose clusters get other addresses
(`first_host`, ports) is still the same study; with any other option it is another one.
{databases}
"""  # noqa: E501 - as long as the pages' lines


def cluster_options() -> str:
    """Return the page of every database's options."""
    sections = ["", "| database | option | meaning |", "|---|---|---|"]
    for name, database in DATABASES.items():
        options = {**COMMON_OPTIONS, **database.options}
        sections += [
            f"| {FACTS[name].display_name} | `{option}` | {meaning} |"
            for option, meaning in options.items()
        ]
    return OPTIONS_PAGE.format(databases="\n".join(sections))


def command_line() -> str:
    """Return the page of every command and option, as Typer writes it."""
    typer = ("-m", "typer", "pacelc.cli.app", "utils", "docs")
    page = subprocess.run(
        [sys.executable, *typer, "--name", "pacelc", "--title", "Command line"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    # Usage isn't a command that one could run.
    page = page.replace("```console\n$ ", "```text\n")
    # A backspace is how a help text says that lines are to stay apart: they are examples.
    page = re.sub(r"\n\x08\n(.+?\n)\n", r"\n```sh\n\1```\n\n", page, flags=re.DOTALL)
    return page.rstrip() + "\n"


def study_fields() -> str:
    """Return the page of every field of a study and every setting of its scenarios."""
    schema = json.loads(study_schema())
    workload = schema["$defs"]["Workload"]["properties"]
    settings = {
        name: field
        for name, field in schema["properties"]["settings"]["properties"].items()
        if name not in workload and "." not in name
    }
    return PAGE.format(
        fields=table(schema["properties"]), settings=table(settings), workload=table(workload)
    )


def table(fields: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table of fields."""
    lines = ["| field | meaning | values | default |", "|---|---|---|---|"]
    for name, field in fields.items():
        meaning = " ".join(field["description"].split())
        same = next(one for one in fields if fields[one]["description"] == field["description"])
        if same != name:
            meaning = f"Another name of `{same}`."
        if name in EXPLAINED:
            meaning += f" [More]({EXPLAINED[name]})"
        values = list(dict.fromkeys(kinds(field)))
        # A duration or an amount may be a bare number too, as the text above says.
        if {"duration", "memory"} & set(values):
            values = [one for one in values if "number" not in one]
        lines.append(f"| `{name}` | {meaning} | {', '.join(values)} | {default(field)} |")
    return "\n".join(lines)


def kinds(field: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a field may be: words of its own, or kinds of value."""
    if "anyOf" in field:
        for one in field["anyOf"]:
            yield from kinds(one)
    elif "enum" in field:
        yield from (f"`{value}`" for value in field["enum"])
    elif re.search("ms|KMGT", field.get("pattern", "")):
        yield "duration" if "ms" in field["pattern"] else "memory"
    elif "$ref" in field:
        yield "mapping"
    elif field.get("type") not in (None, "null"):
        yield {
            "array": "list",
            "boolean": "`true`, `false`",
            "integer": "whole number",
            "object": "mapping",
            "string": "text",
        }.get(field["type"], field["type"])


def default(field: Mapping[str, Any]) -> str:
    """Return a field's default as one would write it."""
    value = field.get("default")
    if value in (None, ""):
        return "none"
    if "duration" in kinds(field):
        return f"`{value:g}s`"
    return f"`{json.dumps(value)}`".replace('"', "")
