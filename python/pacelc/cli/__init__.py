"""The command line: one file a verb.

Standard output is data, and nothing else; progress, logs and errors go to standard error, and read
without colour.

Exit statuses
-------------
0       done
1       done, but some runs failed; the same command tries those again
2       the input can't be used: a study, an option, a file
3       the input is fine, this machine can't do it: no server, no disk, a port in use
70      a bug in pacelc
130     interrupted by Ctrl-C (143: by SIGTERM); finished runs are kept

Map
---
app         the verbs, in the order of ``pacelc --help``
entry       exceptions → ``error: …``, ``hint: …`` and an exit status
output      text on standard output and standard error
table       aligned plain text
progress    a running study on a terminal, or as plain lines
run, saturate, scenarios, report, export, up, studies, levels, schema   the verbs
"""

from pacelc.cli.entry import main

__all__ = ["main"]
