"""Small programs that never end: one in compiling, one in running."""


def inlined(levels: int) -> str:
    """A program that has 2^levels divisions, once its functions are inlined.

    They may fail, and are called for each element, so that no function stays one.
    """
    calls = "".join(
        f"def f{k} (x: i64): i64 = f{k - 1} (f{k - 1} x)\n" for k in range(1, levels + 1)
    )
    first = "def f0 (x: i64): i64 = 1000 / x\n"
    return f"{first}{calls}entry main (xs: []i64): []i64 = map f{levels} xs\n"


COMPILE = inlined(44)
RUN = """\
entry main (n: i64): i64 =
  let (s, _) = loop (s, i) = (1, 0) while i < n do ((s * 3 + i) % 1000003, (i + 1) % n)
  in s
"""
"""Its input is a positive number."""
