"""JMT's ``.jsimg`` files: networks written for JMT's JSIMgraph, and read from it.

The subset that means the same in both is mapped; of anything else the first line of the error names
all that stands in the way, and nothing is written or read in part.

==================================  =============================================================
here                                in JMT
==================================  =============================================================
closed class, open class            the same; a class that others become has no customers
delay; queue with servers           Delay; Queue with Server (first come, first served; random
                                    order; priority without interruption), or PSServer
                                    (egalitarian)
router                              Router (and, when read, Logger, which delays nobody)
fork, join after k                  Fork with one task a link; Join, Standard or Quorum
pool                                finite capacity region, without drops
exponential, deterministic,         the same; a mean of 0 is JMT's zero service time
Erlang, lognormal
hyperexponential                    HyperExp with balanced means
routing by chance, round robin,     Probabilities (and, when read, Random), Round Robin, Join the
shortest queue                      Shortest Queue
change of class on a route          a ClassSwitch node ``NODE/CLASS`` on the way; when read, other
                                    ClassSwitch nodes become routers that change classes
==================================  =============================================================

JMT can't say: load-dependent rates (its own are of another form), caches, histograms, pools with
limited waiting, siblings that change their class, are fewer than the branches, or end early.
Of JMT's files the measures, results, colours, places on the screen, seeds and initial places of
customers are left out: none changes the steady state.

Map
---
write       network → text
read        text → network
normal      a network in the form that reading gives, for comparing
xml         XML without doctypes and entities

Start here: :func:`jsimg_text`, :func:`read_jsimg`, :func:`parse_jsimg`.
"""

from pacelc.jsimg.normal import normal
from pacelc.jsimg.read import JsimgError, parse_jsimg, read_jsimg
from pacelc.jsimg.write import jsimg_text, unmapped

__all__ = ["JsimgError", "jsimg_text", "normal", "parse_jsimg", "read_jsimg", "unmapped"]
