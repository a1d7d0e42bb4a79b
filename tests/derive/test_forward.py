"""Forward mode gives what numbers give that know their derivatives, at every stage and in C."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.errors import Limitation
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.runtime import runner
from compiler.semantics import interp, value
from compiler.testing.compare import same
from testing.compiling import compiled

SOURCE = Path(__file__).with_name("forward.fut").read_text("utf-8")
F = np.float64
XS, YS = np.array([3, 1, 2], F), np.array([0.5, -2, 3], F)
IS = np.array([2, 0, 2], np.int64)
INPUTS: dict[str, tuple[Any, ...]] = {
    "arithmetic": (F(2.5), F(1.5)),
    "bits": (np.float32(1.5),),
    "numbers": (F(2.5), np.int64(7)),
    "branches": (F(1.5),),
    "sums": (F(1.5),),
    "loops": (F(1.5), np.int64(3)),
    "maps": (XS, F(2)),
    "folds": (XS, YS),
    "histograms": (IS, XS),
    "scatters": (IS, XS, np.array([1, 2, 3, 4], F)),
    "views": (XS, np.arange(6, dtype=F).reshape(2, 3)),
    "accumulators": (IS, XS),
    "nested": (F(0.5), F(1.5)),
    "many": (XS,),
    "empty": (np.int64(0),),
    "extremes": (F(0),),
    "half": (np.float16(1.5),),
}


@pytest.fixture(scope="module")
def work() -> Compilation:
    return compiled(SOURCE, Options(verify=True))


@pytest.mark.parametrize("entry", INPUTS)
def test_it_means_what_numbers_mean_that_know_their_tangents(work: Compilation, entry: str) -> None:
    args = INPUTS[entry]
    expected = value.run(work.result("soa").prog, entry, args)
    for stage in ("soa", "ad", "fused", "merged"):
        assert same(interp.run(work.result(stage).prog, entry, args), expected), stage


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
def test_c_gives_the_same(work: Compilation) -> None:
    text = plain(work.result("c").prog)
    for entry, args in INPUTS.items():
        expected = value.run(work.result("soa").prog, entry, args)
        assert same(runner.run_c(text, entry, args).values, expected), entry


SLOPES = {
    "sqrt cbrt exp exp2 exp10 log log2 log10 log1p sin cos tan sinh cosh tanh asinh erf erfc rsqrt "
    "recip sinpi cospi": 0.7,
    "asin acos atan atanh asinpi acospi atanpi tanpi": 0.3,
    "acosh floor ceil trunc round abs sgn": 1.6,
}
OF_TWO = "atan2 atan2pi hypot copysign max min nextafter"


def source_of_functions() -> str:
    lines = [
        f"entry {name} (x: f64): (f64, f64) = jvp2 (\\x -> f64.{name} x) x 1"
        for names in SLOPES
        for name in names.split()
    ]
    lines += [
        f"entry {name} (x: f64) (y: f64): (f64, f64) =\n"
        f"  jvp2 (\\(x, y) -> f64.{name} x y) (x, y) (0.5, -2)"
        for name in OF_TWO.split()
    ]
    lines += [
        f"entry {name} (x: f64) (y: f64): (f64, f64) =\n"
        f"  jvp2 (\\(x, y) -> f64.{name} x y (x * y)) (x, y) (0.5, -2)"
        for name in ("fma", "mad", "lerp")
    ]
    lines.append("entry ldexp x: (f64, f64) = jvp2 (\\x -> f64.ldexp x 3) x 1")
    return "\n".join(lines)


def test_each_function_has_the_slope_that_differences_show() -> None:
    work = compiled(source_of_functions())
    meaning, made = (work.result(stage).prog for stage in ("soa", "simplified"))

    def check(name: str, at: tuple[float, ...], along: tuple[float, ...]) -> None:
        step = 1e-6

        def there(side: float) -> Any:
            args = [F(x + side * step * d) for x, d in zip(at, along, strict=True)]
            return interp.run(made, name, args)

        slope = there(0)[1]
        assert slope == value.run(meaning, name, [F(x) for x in at])[1], name
        assert slope == pytest.approx((there(1)[0] - there(-1)[0]) / (2 * step), rel=1e-6), name

    for names, x in SLOPES.items():
        for name in names.split():
            check(name, (x,), (1,))
    for name in (*OF_TWO.split(), "fma", "mad", "lerp"):
        check(name, (0.7, 1.3), (0.5, -2))
    check("ldexp", (0.7,), (1,))


@pytest.mark.parametrize(
    ("body", "because"),
    [
        ("jvp f64.gamma x 1", "The derivative of `gamma` is not a function of the language."),
        ("jvp (\\x -> 2 * f64.lgamma (x * x)) x 1", "The derivative of `lgamma`"),
    ],
)
def test_what_cannot_be_derived_is_refused_at_its_place(body: str, because: str) -> None:
    with pytest.raises(Limitation, match=because) as refused:
        Compilation(f"entry main (x: f64) = {body}").result("ad")
    assert refused.value.hint
    assert refused.value.span is not None
    assert refused.value.span.line == 1


def test_a_program_without_derivatives_stays_as_it_is() -> None:
    work = compiled("entry main (x: f64) = x * x")
    assert work.is_unchanged("ad")


def test_what_is_derived_is_told_at_its_place() -> None:
    work = compiled("entry main (x: f64) = 1 + jvp (\\y -> y * y) x 1")
    work.result("ad")
    (told,) = [remark for remark in work.remarks() if remark.rule == "ad/forward"]
    assert told.at[0].col == 27
