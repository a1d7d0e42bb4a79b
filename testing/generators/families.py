"""Families of programs of any length: updates, parts, functions, loops, branches."""

from __future__ import annotations

from collections.abc import Callable

DEEPEST = 60
MOST_DIMENSIONS = 31


def constant_slices(count: int) -> str:
    """Updates of slices at distinct constant indices."""
    lines = [
        f"  let a = a with [{8 * k}:{8 * k + 8}] = map (\\x -> x * {k + 2} + s) xs"
        for k in range(count)
    ]
    return _entry("(a: *[]i64) (xs: [8]i64) (s: i64): []i64", lines, "a")


def constant_rows(count: int) -> str:
    """Updates of rows at distinct constant indices, each computed before it is put."""
    lines = []
    for k in range(count):
        lines += [f"  let r{k} = map (\\x -> x + {k + 1}) xs", f"  let a = a with [{k}] = r{k}"]
    return _entry("[n][m] (a: *[n][m]i64) (xs: [m]i64): [n][m]i64", lines, "a")


def symbolic_slices(count: int) -> str:
    """Updates of slices at distinct multiples of a size."""
    lines = [
        f"  let a = a with [{k}*n:{k}*n + n] = map (\\x -> x * {k + 2} + s) xs"
        for k in range(count)
    ]
    return _entry("[n] (a: *[]i64) (xs: [n]i64) (s: i64): []i64", lines, "a")


def scalar_updates(count: int) -> str:
    """Updates of single elements, with a row between them that is put at the end."""
    lines = ["  let r = map (\\x -> x * 2) xs"]
    lines += [f"  let a = a with [{k}, 0] = a[{k}, 0] + {k}" for k in range(1, count)]
    lines += ["  let a = a with [0] = r"]
    return _entry("[n][m] (a: *[n][m]i64) (xs: [m]i64): [n][m]i64", lines, "a")


def read_rows(count: int) -> str:
    """Rows that are each computed from the row before."""
    lines = [f"  let a = a with [{k + 1}] = map (\\x -> x + {k}) a[{k}]" for k in range(count)]
    return _entry("[n][m] (a: *[n][m]i64): [n][m]i64", lines, "a")


def unknown_rows(count: int) -> str:
    """Rows at indices that are arguments: nothing is known of them."""
    params = " ".join(f"(i{k}: i64)" for k in range(count))
    lines = [f"  let a = a with [i{k}] = map (\\x -> x + {k}) a[0]" for k in range(count)]
    return _entry(f"[n][m] (a: *[n][m]i64) {params}: [n][m]i64", lines, "a")


def computed_first(count: int) -> str:
    """Arrays that are all computed first, then put into one array."""
    lines = [f"  let r{k} = map (\\x -> x * {k + 2}) xs" for k in range(count)]
    lines += [f"  let a = a with [{k}] = r{k}" for k in range(count)]
    return _entry("[n][m] (a: *[n][m]i64) (xs: [m]i64): [n][m]i64", lines, "a")


def computed_first_slices(count: int) -> str:
    """Arrays that are all computed first, then put into slices at multiples of a size."""
    lines = [f"  let r{k} = scan (+) 0 (map (\\x -> x * {k + 2}) xs)" for k in range(count)]
    lines += [f"  let a = a with [{k}*m:{k}*m + m] = r{k}" for k in range(count)]
    return _entry("[m] (a: *[]i64) (xs: [m]i64): []i64", lines, "a")


def parts(count: int) -> str:
    """A concatenation of parts of one size."""
    lines = [f"  let r{k} = map (\\x -> x * {k + 2}) xs" for k in range(count)]
    return _entry("[m] (xs: [m]i64): []i64", lines, " ++ ".join(f"r{k}" for k in range(count)))


def parts_of_any_size(count: int) -> str:
    """A concatenation of parts of sizes that have nothing to do with each other."""
    params = " ".join(f"[m{k}]" for k in range(count))
    arrays = " ".join(f"(x{k}: [m{k}]i64)" for k in range(count))
    lines = [f"  let r{k} = map (\\x -> x * {k + 2}) x{k}" for k in range(count)]
    whole = " ++ ".join(f"r{k}" for k in range(count))
    return _entry(f"{params} {arrays}: []i64", lines, whole)


def literal(count: int) -> str:
    """An array literal of arrays."""
    lines = [f"  let r{k} = map (\\x -> x * {k + 2}) xs" for k in range(count)]
    whole = ", ".join(f"r{k}" for k in range(count))
    return _entry("[m] (xs: [m]i64): [][m]i64", lines, f"[{whole}]")


def functions(count: int) -> str:
    """Functions, each of which updates a row."""
    text = [
        f"def f{k} [n][m] (a: *[n][m]i64) (xs: [m]i64): *[n][m]i64 =\n"
        f"  let r = map (\\x -> x + {k}) xs\n  in a with [{k}] = r\n"
        for k in range(count)
    ]
    lines = [f"  let a = f{k} a xs" for k in range(count)]
    return "\n".join(text) + _entry("[n][m] (a: *[n][m]i64) (xs: [m]i64): [n][m]i64", lines, "a")


def functions_not_inlined(count: int) -> str:
    """Functions that are not inlined, each of which updates a row."""
    text = [
        f"#[noinline]\ndef f{k} [n][m] (a: *[n][m]i64) (xs: [m]i64): *[n][m]i64 =\n"
        f"  let r = map (\\x -> x + {k}) xs\n  in a with [{k}] = r\n"
        for k in range(count)
    ]
    lines = [f"  let a = f{k} a xs" for k in range(count)]
    return "\n".join(text) + _entry("[n][m] (a: *[n][m]i64) (xs: [m]i64): [n][m]i64", lines, "a")


def loops(count: int) -> str:
    """Loops one after the other, each of which fills a row."""
    lines = [
        f"  let a = loop a for i < n do a with [i] = map (\\x -> x * i + {k}) xs"
        for k in range(count)
    ]
    return _entry("[n][m] (a: *[n][m]i64) (xs: [m]i64): [n][m]i64", lines, "a")


def nested_loops(count: int) -> str:
    """Loops inside of loops, at most 8 deep, then the next nest."""
    lines = []
    left = count
    while left > 0:
        depth = min(left, 8)
        head = "".join(f"loop a for i{k} < n do " for k in range(depth))
        lines.append(f"  let a = {head}a with [i{depth - 1}] = map (\\x -> x + i0) xs")
        left -= depth
    return _entry("[n][m] (a: *[n][m]i64) (xs: [m]i64): [n][m]i64", lines, "a")


def arms(count: int) -> str:
    """Arms of one chain of conditions, each of which makes a row."""
    lines = ["  let r ="]
    lines += [f"    if c == {k} then map (\\x -> x + {k}) xs else" for k in range(count)]
    lines += ["    xs", "  let a = a with [0] = r"]
    return _entry("[n][m] (c: i64) (a: *[n][m]i64) (xs: [m]i64): [n][m]i64", lines, "a")


def branches(count: int) -> str:
    """Conditions one after the other, each of which makes a row."""
    lines = [
        f"  let a = a with [{k}] = if c == {k} then map (\\x -> x + {k}) xs else copy xs"
        for k in range(count)
    ]
    return _entry("[n][m] (c: i64) (a: *[n][m]i64) (xs: [m]i64): [n][m]i64", lines, "a")


def asserted(count: int) -> str:
    """Conditions that are asserted one after the other, with an update after each."""
    lines = []
    for k in range(count):
        lines += [
            f"  let i{k} = assert (s != {k}) {k}",
            f"  let a = a with [i{k}] = map (\\x -> x + s) xs",
        ]
    return _entry("[n][m] (a: *[n][m]i64) (xs: [m]i64) (s: i64): [n][m]i64", lines, "a")


def in_kernel(count: int) -> str:
    """The row of one point, put together of parts."""
    row = " ++ ".join(f"map (\\y -> y * x + {k}) xs" for k in range(count))
    return _entry("[n][m] (xs: [m]i64) (ys: [n]i64)", [], f"map (\\x -> {row}) ys")


def maps(count: int) -> str:
    """Maps that each take the place of the one before."""
    lines = [
        f"  let a = scan (+) 0 a\n  let a = map2 (\\x y -> x * {k + 2} + y) a xs"
        for k in range(count)
    ]
    return _entry("[n] (a: *[n]i64) (xs: [n]i64): [n]i64", lines, "a")


def map_chain(count: int) -> str:
    """Maps that each take the result of the one before: all become one."""
    lines = [f"  let x{k + 1} = map (\\x -> x * {k + 2} + {k}) x{k}" for k in range(count)]
    return _entry("[n] (x0: [n]i64): [n]i64", lines, f"x{count}")


def statements(count: int) -> str:
    """Reads of one array, each put to use at once."""
    lines = [f"  let x{k + 1} = x{k} * {k % 7 + 2} + xs[{k}]" for k in range(count)]
    return _entry("[n] (xs: [n]i64) (x0: i64): i64", lines, f"x{count}")


def small_functions(count: int) -> str:
    """Functions on numbers, each called once."""
    text = [f"def f{k} (x: i64) = x * {k} + 1\n" for k in range(count)]
    lines = [f"  let x{k + 1} = f{k} x{k}" for k in range(count)]
    return "".join(text) + "\n" + _entry("(x0: i64): i64", lines, f"x{count}")


def depth(count: int) -> str:
    """Conditions inside of conditions, at most 60 deep, then the next nest."""
    lines = []
    for first in range(0, count, DEEPEST):
        last = min(count, first + DEEPEST)
        heads = [f"if x{k} > {k} then let x{k + 1} = x{k} * 3 in " for k in range(first, last)]
        tails = "".join(f" else x{k}" for k in reversed(range(first, last)))
        lines.append(f"  let x{last} = {''.join(heads)}x{last}{tails}")
    return _entry("(x0: i64): i64", lines, f"x{count}")


def scalars(count: int) -> str:
    """Scalars, each of which is made of the ones before."""
    lines = [f"  let x{k + 1} = if x{k} > {k} then x{k} * 3 else x{k} + {k}" for k in range(count)]
    return _entry("(x0: i64): i64", lines, f"x{count}")


def parameters(count: int) -> str:
    """Parameters of a function and of the entry point that calls it."""
    heads = " ".join(f"(p{k}: i64)" for k in range(count))
    names = " ".join(f"p{k}" for k in range(count))
    body = f"def f {heads}: i64 = {' + '.join(f'p{k}' for k in range(count))}\n\n"
    return body + _entry(f"{heads}: i64", [], f"f {names}")


def array_parameters(count: int) -> str:
    """Arrays that are handed to an entry point, and from there to a function."""
    heads = " ".join(f"(x{k}: [n]i64)" for k in range(count))
    names = " ".join(f"x{k}" for k in range(count))
    total = " + ".join(f"x{k}[i]" for k in range(count))
    body = f"def f [n] {heads} (i: i64): i64 = {total}\n\n"
    return body + _entry(f"[n] {heads}: [n]i64", [], f"tabulate n (f {names})")


def named_sizes(count: int) -> str:
    """Arrays of a size of its own each, of which one element is read."""
    sizes = " ".join(f"[m{k}]" for k in range(count))
    heads = " ".join(f"(x{k}: [m{k}]i64)" for k in range(count))
    total = " + ".join(f"(if m{k} > {k} then x{k}[{k}] else 0)" for k in range(count))
    return _entry(f"{sizes} {heads}: i64", [], total)


def record_fields(count: int) -> str:
    """A record of many fields, in arrays, made and taken apart in a map."""
    kind = ", ".join(f"f{k}: i64" for k in range(count))
    made = ", ".join(f"f{k} = x + {k}" for k in range(count))
    total = " + ".join(f"r.f{k}" for k in range(count))
    return (
        f"type r = {{{kind}}}\n\ndef make (x: i64): r = {{{made}}}\n\n"
        f"def add (r: r): i64 = {total}\n\n"
        + _entry("[n] (xs: [n]i64): [n]i64", [], "map add (map make xs)")
    )


def record_updates(count: int) -> str:
    """A record of many fields, of which each is given another value."""
    kind = ", ".join(f"f{k} = x" for k in range(count))
    lines = [f"  let r = {{{kind}}}"]
    lines += [f"  let r = r with f{k} = r.f{k} + {k}" for k in range(count)]
    total = " + ".join(f"r.f{k}" for k in range(count))
    return _entry("(x: i64): i64", lines, total)


def constructors(count: int) -> str:
    """A sum type of many constructors, and a match of all."""
    kind = " | ".join(f"#c{k} i64" for k in range(count))
    cases = "\n".join(f"  case #c{k} y -> y + {k}" for k in range(count))
    picks = " else ".join(f"if x == {k} then #c{k} x" for k in range(count - 1))
    made = f"{picks} else #c{count - 1} x" if count > 1 else "#c0 x"
    return (
        f"type s = {kind}\n\ndef take (s: s): i64 =\n  match s\n{cases}\n\n"
        f"def make (x: i64): s = {made}\n\n"
        + _entry("[n] (xs: [n]i64): [n]i64", [], "map (\\x -> take (make x)) xs")
    )


def entries(count: int) -> str:
    """Entry points that call one function each."""
    return "\n".join(
        f"entry e{k} [n] (xs: [n]i64): [n]i64 = map (\\x -> x * {k + 2}) xs" for k in range(count)
    )


def rank_maps(count: int) -> str:
    """An array of that many dimensions, at most 31, all of one size, and a map in each."""
    rank = min(count, MOST_DIMENSIONS)
    fun = "map (" * (rank - 1) + "(+ 1)" + ")" * (rank - 1)
    return _entry(f"[n] (a: {'[n]' * rank}i64)", [], f"map ({fun}) a")


def rank_scans(count: int) -> str:
    """The same with a scan of the rows inside."""
    rank = min(count, MOST_DIMENSIONS)
    fun = "map (" * (rank - 1) + "scan (+) 0" + ")" * (rank - 1)
    return _entry(f"[n] (a: {'[n]' * rank}i64)", [], f"({fun}) a")


def rank_sums(count: int) -> str:
    """Sums of sums, of an array of that many dimensions, at most 31."""
    fun = "i64.sum"
    for k in range(1, min(count, MOST_DIMENSIONS)):
        fun = f"(\\x{k} -> i64.sum (map {fun} x{k}))"
    return _entry(f"[n] (a: {'[n]' * min(count, MOST_DIMENSIONS)}i64)", [], f"{fun} a")


def rank_slices(count: int) -> str:
    """An array of that many dimensions, at most 31, of which a part is put beside itself."""
    rank = min(count, MOST_DIMENSIONS)
    there, here = ", ".join(["1:"] * rank), ", ".join([":n-1"] * rank)
    return _entry(f"[n] (a: *{'[n]' * rank}i64)", [], f"a with [{there}] = copy a[{here}]")


def deep_maps(count: int) -> str:
    """Maps within maps, at most 8 deep, then the next nest."""
    lines = []
    deepest = min(count, 8)
    sizes = "".join(f"[n{k}]" for k in range(deepest))
    for first in range(0, count, 8):
        heads = "".join(f"map (\\x{k} -> " for k in range(deepest - 1))
        tails = "".join(f") x{k}" for k in reversed(range(deepest - 2)))
        inner = f"map (\\x -> x + {first}) x{deepest - 2}" if deepest > 1 else "0"
        text = f"{heads}{inner}{tails}) a" if deepest > 1 else f"map (\\x -> x + {first}) a"
        lines.append(f"  let a = {text}")
    names = " ".join(f"[n{k}]" for k in range(deepest))
    return _entry(f"{names} (a: {sizes}i64): {sizes}i64", lines, "a")


def multiplied_sizes(count: int) -> str:
    """Calls that give arrays whose sizes are the sum and the product of those of the arguments."""
    head = "def two [n] [m] (s: [n]u8) (t: [m]u8) = (s ++ t, flatten (replicate n t))\n\n"
    return head + _entry(
        "[n] [m] (s: [n]u8) (t: [m]u8): ([]u8, []u8)",
        ["  let (s, t) = two s t"] * count,
        "(s, t)",
    )


def squared_sizes(k: int) -> str:
    """A helper whose result's size is a product of sums of those before, nested `k` deep."""
    return (
        "def h [n] (m: i64) (a: [n]i32): [n * (m + n)]i32 =\n"
        "  scan (+) 0 (flatten (map (\\x -> replicate (m + n) x) a))\n\n"
        "entry main [n] (m: i64) (a: [n]i32) = " + "h m (" * k + "a" + ")" * k + "\n"
    )


def multiplied_sizes_in_place(count: int) -> str:
    """The same without a function."""
    lines = ["  let (s, t) = (s ++ t, flatten (replicate (length s) t))"] * count
    return _entry("[n] [m] (s: [n]u8) (t: [m]u8): ([]u8, []u8)", lines, "(s, t)")


def factors(count: int) -> str:
    """A size that is a product of sums."""
    params = " ".join(f"(a{k}: i64)" for k in range(count))
    product = " * ".join(f"(a{k} + 1)" for k in range(count))
    return _entry(params, [], f"map2 (+) (iota ({product})) (iota ({product}))")


def filters(count: int) -> str:
    """Filters of one array."""
    lines = [f"  let a{k} = filter (\\x -> x % {k + 2} == 0) xs" for k in range(count)]
    sums = " + ".join(f"length a{k}" for k in range(count))
    return _entry("(xs: []i64): i64", lines, sums)


def filter_chain(count: int) -> str:
    """Filters, each of what the one before keeps."""
    lines = [f"  let a{k + 1} = filter (\\x -> x % {k + 2} != 0) a{k}" for k in range(count)]
    return _entry("(a0: []i64): []i64", lines, f"a{count}")


_SPAN = """def first_not 'a [n] (p: a -> bool) (xs: [n]a) : i64 =
  loop i = 0 while i < length xs && p xs[i] do i + 1
def small (c: u8) = c < 10
def span p xs = let i = first_not p xs in (take i xs, drop i xs)

"""


def called_sizes(count: int) -> str:
    """Calls of a helper without annotations, whose result's size calls a function of the array."""
    lines = ["  let (_, s) = span small s"] * count
    return _SPAN + _entry("(s: []u8)", lines, "length s")


def called_sizes_nested(count: int) -> str:
    """Such calls inside of each other."""
    calls = "drop_small (" * count + "s" + ")" * count
    helper = "def drop_small xs = drop (first_not small xs) xs\n\n"
    return _SPAN + helper + _entry("(s: []u8)", [], f"length ({calls})")


def doubled_sizes(count: int) -> str:
    """Arrays, each of which is the one before twice."""
    return _entry("(s: []u8)", ["  let s = s ++ s"] * count, "length s")


def squared_numbers(count: int) -> str:
    """Numbers that are squared one after the other, the last of which is a size."""
    return _entry("(k: i64)", ["  let k = k * k + 1"] * count, "length (iota k)")


FAMILIES: tuple[Callable[[int], str], ...] = (
    constant_slices,
    constant_rows,
    symbolic_slices,
    scalar_updates,
    read_rows,
    unknown_rows,
    computed_first,
    computed_first_slices,
    parts,
    parts_of_any_size,
    literal,
    functions,
    functions_not_inlined,
    loops,
    nested_loops,
    arms,
    branches,
    asserted,
    in_kernel,
    maps,
    map_chain,
    filters,
    filter_chain,
    called_sizes,
    called_sizes_nested,
    doubled_sizes,
    squared_numbers,
    multiplied_sizes,
    multiplied_sizes_in_place,
    squared_sizes,
    factors,
    scalars,
    statements,
    small_functions,
    depth,
    parameters,
    array_parameters,
    named_sizes,
    record_fields,
    record_updates,
    constructors,
    entries,
    deep_maps,
    rank_maps,
    rank_scans,
    rank_sums,
    rank_slices,
)


def _entry(head: str, lines: list[str], result: str) -> str:
    body = "\n".join(lines)
    if not lines:
        return f"entry main {head} =\n  {result}\n"
    return f"entry main {head} =\n{body}\n  in {result}\n"
