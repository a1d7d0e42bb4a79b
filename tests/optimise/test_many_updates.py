"""Long chains of updates of one array make graphs with few edges, so that fusing them is quick."""

from __future__ import annotations

from compiler.driver.pipeline import Compilation
from compiler.ir.sharing import classes
from compiler.optimise.fuse.graph import Graph


def chain(length: int) -> str:
    """`length` times two updates, each with an array that is made from the one before."""
    lines = ["entry main [n][m] (xss: *[n][m]i32) (xs: [m]i32): [n][m]i32 ="]
    for k in range(length):
        lines += [
            f"  let r{k} = scan (+) {k} xss[{k % 7}]",
            f"  let xss = xss with [{k % 5}] = r{k}",
            f"  let s{k} = map (\\j -> xss[{k % 3}, j] + {k} * xs[j]) (iota m)",
            f"  let xss = xss with [{k % 6}] = s{k}",
        ]
    return "\n".join([*lines, "  in xss"])


def edges(length: int) -> int:
    prog = Compilation(chain(length)).result("simplified").prog
    body = prog.funs[0].body
    return sum(len(node.after) for node in Graph(body.stms, body.results, classes(prog)).nodes)


def test_an_update_waits_for_the_readers_since_the_last_one() -> None:
    """Those before wait for the last one themselves."""
    few, many = edges(5), edges(20)
    assert many < 6 * few


def test_what_lies_between_is_found() -> None:
    prog = Compilation(chain(3)).result("simplified").prog
    body = prog.funs[0].body
    graph = Graph(body.stms, body.results, classes(prog))
    first, *_, last = [node for node in graph.nodes if node.stm.pat]
    found = graph.path(first, last)
    assert found is not None
    assert found in last.before
    assert graph.path(last, first) is None


def test_readers_come_in_the_order_of_the_text() -> None:
    """Remarks are in their order, which must be the same in every run."""
    lines = ["entry main [n] (xs: [n]i32) =", "  let ys = scan (+) 0 xs"]
    lines += [f"  let z{k} = scan (\\a b -> a + b + {k}) 0 ys" for k in range(40)]
    source = "\n".join([*lines, "  in (" + ", ".join(f"z{k}" for k in range(40)) + ")"])
    prog = Compilation(source).result("simplified").prog
    body = prog.funs[0].body
    graph = Graph(body.stms, body.results, classes(prog))
    places = [user.at for user in graph.users(body.stms[0].pat[0].name, graph.nodes[0])]
    assert len(places) == 40
    assert places == sorted(places)
