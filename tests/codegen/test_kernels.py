"""The kernel IR: what the verifier refuses, and what the targets' limits are for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.base.context import Ctx
from compiler.base.errors import CompilerBug, Limitation
from compiler.codegen.imp.nodes import (
    Alloc,
    Assert,
    Assign,
    Declare,
    Define,
    Formal,
    If,
    ImpFun,
    ImpProg,
    Load,
    Stms,
    Store,
    While,
)
from compiler.codegen.imp.parts import statements
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.folds import FIRST
from compiler.codegen.kernels.lower import lower
from compiler.codegen.kernels.verify import WARP_NUMBER, verify
from compiler.codegen.kernels.walk import shared_bytes
from compiler.driver.targets import target_named
from compiler.ir.nodes import ONE, SE, ZERO, Bin, Lit, Mem, Scalar, Var
from tests.codegen.helpers import compiled

CUDA = target_named("cuda")
THREAD, BLOCK = Var(k.THREAD, "i64"), Var(k.BLOCK, "i64")
WAIT = k.Barrier()


FLAGS = Alloc("f_4", ONE, "i32", "shared")
NO, SEEN = Lit(0, "i32"), Var("x_5", "i32")
TICKET = k.Ticket("x_4", "f_4", ZERO)
AWAITED = (k.Await("x_5", "f_4", THREAD),)


SHUFFLED = Declare("x_9", Scalar("i64"), ONE)


def shuffle(value: SE, by: SE = Lit(1, "i32")) -> k.Shuffle:  # noqa: B008
    """`x_9` becomes a value of the lane before."""
    return k.Shuffle("x_9", "i64", value, by)


def launching(*body: k.Stm) -> ImpProg:
    """A program that launches one kernel, over a block `xs_1` and a number `n_2`."""
    params = (k.Param("n_2", "i64", False), k.Param("xs_1", "i64", True))
    kernel = k.Kernel("work_3", params, body)
    formals = (Formal("n_2", Scalar("i64")), Formal("xs_1", Mem("i64")))
    launch = k.Launch(kernel, "blocks", Var("n_2", "i64"))
    return ImpProg((ImpFun("main", formals, (), (launch,), (), (), ()),))


def own(se: SE) -> Stms:
    """One thread does something where `se` holds, between barriers."""
    return (WAIT, If(se, (Store("xs_1", "i64", BLOCK, ONE),), ()), WAIT)


def wait_if(name: str) -> If:
    """A barrier where a number is positive."""
    return If(Bin(">", "i64", Var(name, "i64"), ZERO), (WAIT,), ())


@pytest.mark.parametrize(
    "body",
    [
        own(FIRST),
        (If(Bin("<", "i64", BLOCK, Var("n_2", "i64")), own(FIRST), ()),),
        (k.Stride("%i", "i64", ZERO, Var("n_2", "i64"), "+", ONE, own(FIRST)),),
        # What one thread has written and all read is the same for all.
        (*own(FIRST), Load("x_4", "i64", "xs_1", BLOCK), wait_if("x_4")),
        # A failed check leaves the point, and no more.
        (k.Scope((Assert(FIRST, ("no",)),), point=True), WAIT),
        (Assert(Bin("<", "i64", BLOCK, ONE), ("all go",)), WAIT),
        # Lanes of a warp come to a shuffle without other warps, and go where one of them says.
        (
            Define("w_4", "i32", WARP_NUMBER),
            SHUFFLED,
            If(
                Bin("==", "i32", Var("w_4", "i32"), NO),
                (
                    k.Shuffle("x_9", "i64", THREAD, NO),
                    If(Bin("<", "i64", Var("x_9", "i64"), ONE), (shuffle(ONE),), ()),
                ),
                (),
            ),
        ),
        # A variable that has differed, and does not any more.
        (
            Declare("c_4", Scalar("bool"), FIRST),
            Assign("c_4", Bin("<", "i64", BLOCK, ONE)),
            If(Var("c_4", "bool"), (WAIT,), ()),
        ),
    ],
)  # fmt: skip
def test_barriers_that_all_threads_come_to(body: Stms) -> None:
    verify(launching(*body), CUDA)


APART = "not all threads of a block come to this barrier"
LEFT = "some threads have left before this barrier"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ((If(FIRST, (WAIT,), ()),), APART),
        ((If(Bin("<", "i64", BLOCK, ONE), (), (If(FIRST, (), (WAIT,)),)),), APART),
        ((k.Stride("%i", "i64", THREAD, Var("n_2", "i64"), "+", ONE, (WAIT,)),), APART),
        # The second time round, the variable differs.
        (
            (
                Declare("go_4", Scalar("bool"), Lit(True, "bool")),
                While("go_4", (WAIT, Assign("go_4", FIRST))),
            ),
            APART,
        ),
        # Each thread reads a cell of its own, and what it has stored for itself.
        ((Load("x_4", "i64", "xs_1", THREAD), wait_if("x_4")), APART),
        (
            (
                Alloc("own_4", ONE, "i64", "private"),
                Store("own_4", "i64", ZERO, THREAD),
                Load("x_5", "i64", "own_4", ZERO),
                wait_if("x_5"),
            ),
            APART,
        ),
        ((k.Exit(FIRST), WAIT), LEFT),
        ((Assert(FIRST, ("some go",)), WAIT), LEFT),
        ((k.Scope((Assert(FIRST, ("some go",)),)), WAIT), LEFT),
        ((Define("y_4", "i64", Var("m_9", "i64")),), "m_9"),
        ((Store("xs_1", "i32", ZERO, Lit(1, "i32")),), "holds i64"),
        ((k.Atomic("*", "i64", "xs_1", ZERO, ONE),), "no atomic operation"),
        ((k.Exchange("x_4", "i64", "xs_1", ZERO, (WAIT,)),), "at once"),
        ((k.Exchange("x_4", "i64", "xs_1", ZERO, (Store("xs_1", "i64", ONE, ONE),)),), "at once"),
        (
            (
                Alloc("s_4", Lit(6144, "i64"), "i64", "shared"),
                Alloc("t_5", Lit(256, "i64"), "i8", "shared"),
            ),
            "49408 bytes",
        ),
        ((Alloc("s_4", ONE, "i64", "shared"), Alloc("s_4", ONE, "i64", "shared")), "own scope"),
        ((SHUFFLED, If(FIRST, (shuffle(ONE),), ())), "come to this shuffle"),
        ((SHUFFLED, k.Exit(FIRST), shuffle(ONE)), "some threads have left before this shuffle"),
        ((shuffle(ONE),), "`x_9` is no variable here"),
        ((SHUFFLED, shuffle(Lit(1, "i32"))), "what is shuffled"),
        ((SHUFFLED, shuffle(ONE, ONE)), "the number of a lane"),
        # What comes from another lane differs.
        ((SHUFFLED, shuffle(ONE), wait_if("x_9")), APART),
        ((SHUFFLED, k.Locked("xs_1", ZERO, (shuffle(ONE),))), "xs_1"),
        ((k.Exchange("x_4", "i64", "xs_1", ZERO, (SHUFFLED, shuffle(ONE))),), "at once"),
        ((FLAGS, If(FIRST, (TICKET,), ())), "not all threads of a block come to this ticket"),
        ((FLAGS, *AWAITED, wait_if("n_2"), If(Bin("==", "i32", SEEN, NO), (WAIT,), ())), APART),
        ((FLAGS, k.Publish("f_4", ZERO, ONE)), "a flag"),
        ((k.Publish("xs_1", ZERO, NO),), "holds i64"),
        ((FLAGS, k.Exchange("x_4", "i64", "xs_1", ZERO, AWAITED)), "at once"),
        # Of a warp, not all lanes.
        ((SHUFFLED, If(Bin("<", "i64", THREAD, ONE), (shuffle(ONE),), ())), "of a warp come to"),
    ],
)  # fmt: skip
def test_what_is_refused(body: Stms, says: str) -> None:
    with pytest.raises(CompilerBug) as caught:
        verify(launching(*body), CUDA)
    assert says in caught.value.message


def test_a_launch_gives_what_the_kernel_takes() -> None:
    prog = launching(WAIT)
    (fun,) = prog.funs
    with pytest.raises(CompilerBug, match="no such value of the host"):
        verify(ImpProg((replace(fun, params=fun.params[:1]),)), CUDA)


def product_of(count: int) -> str:
    """A reduction of tuples with so many components."""
    names = [f"x{i}" for i in range(count)], [f"y{i}" for i in range(count)]
    left, right = (", ".join(one) for one in names)
    joined = ", ".join(f"{a} * {b}" for a, b in zip(*names, strict=True))
    ones = ", ".join(["1"] * count)
    rows = ", ".join(f"x + {i}" for i in range(count))
    return f"""
entry main (xs: []f64) =
  let ({left}) = reduce (\\({left}) ({right}) -> ({joined})) ({ones}) (map (\\x -> ({rows})) xs)
  in {" + ".join(names[0])}
"""


def shared(source: str) -> int:
    """The most shared memory of its kernels."""
    prog = compiled(source, "cuda").result("imp").prog
    lowered = lower(prog, Ctx(target=CUDA))
    kernels = [s.kernel for s in statements(lowered.funs[0].body) if isinstance(s, k.Launch)]
    return max(map(shared_bytes, kernels))


def test_a_block_of_threads_has_a_cell_for_each_warp_and_component() -> None:
    assert shared(product_of(1)) == 8 * 32
    assert shared(product_of(25)) == 25 * 8 * 32


def test_tiles_are_as_large_as_fits() -> None:
    """An odd number of elements for each thread, up to 23; one where there is no room for more."""
    for prim, count, items in (("i32", 1, 23), ("f64", 1, 11), ("i8", 1, 23), ("f64", 3, 3)):
        names = ", ".join(f"x{i}" for i in range(count)), ", ".join(f"y{i}" for i in range(count))
        joined = ", ".join(f"x{i} + y{i}" for i in range(count))
        given, zeros = ", ".join(["x"] * count), ", ".join(["0"] * count)
        source = (
            f"entry main (xs: []{prim}) ="
            f" scan (\\({names[0]}) ({names[1]}) -> ({joined})) ({zeros})"
            f" (map (\\x -> ({given})) xs)"
        )
        size = {"i32": 4, "f64": 8, "i8": 1}[prim]
        assert shared(source) == size * count * (32 + 256 * items), prim


def test_operators_of_any_width_are_compiled() -> None:
    with pytest.raises(Limitation) as caught:
        compiled(product_of(200), "cuda").result("cuda")
    assert "51200 bytes of shared memory" in caught.value.message
    assert caught.value.hint
