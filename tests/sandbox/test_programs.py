"""A compiled program that was taken over reaches nothing, and harms nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_, TimeoutError_
from compiler.base.text import plain
from compiler.runtime import runner
from compiler.sandbox import kernel, walls
from compiler.sandbox.policies import PROGRAM
from tests.codegen.helpers import compiled, needs_cc
from tests.sandbox import hostile


def _has_layers() -> bool:
    state = walls.state()
    return bool(state.layers.get("landlock") and state.layers.get("seccomp"))


pytestmark = [
    needs_cc,
    pytest.mark.skipif(not _has_layers(), reason="this kernel has no Landlock or no seccomp"),
]

MIB = 1 << 20


@pytest.fixture(params=["the best wall", "no outer wall"])
def wall(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Once with whatever this machine has, once with what a process puts on itself alone."""
    if request.param == "no outer wall":
        if walls.state().wall == walls.Wall():
            pytest.skip("this machine has no other wall")
        runner.close_runners()
        monkeypatch.setattr(walls, "walls", lambda: [walls.Wall()])
        monkeypatch.setattr(runner._Runner, "wall", None)
        yield
        runner.close_runners()
    else:
        yield


def run(text: str, x: int = 0, deadline_s: float = 20.0, memory_bytes: int | None = None) -> int:
    """The result of a text that `hostile.program` made."""
    found = runner.run_c(
        text,
        "main",
        [np.int64(x)],
        deadline_s,
        settings=runner.Settings(memory_bytes=memory_bytes, flags=("-O0",)),
    )
    return int(found.values[0])


def zygote() -> int:
    """The process that runs are forked from, as seen from here."""
    run(hostile.program("return 7;"))
    return next(iter(runner._RUNNERS.values())).process.pid


def names(folder: Path) -> dict[str, object]:
    """What the attempts aim at."""
    secret = folder / "secret"
    secret.write_text("a secret")
    secret.chmod(0o644)
    hostile.open_to_all(folder)
    return {
        "SECRET": secret,
        "FOLDER": folder,
        "PYTHON": os.__file__,
        "COMPILER": walls.__file__,
        "SERVER": os.getpid(),
        "ZYGOTE": zygote(),
    }


@pytest.mark.usefixtures("wall")
@pytest.mark.parametrize("when", ["while it runs", "while it is loaded"])
def test_every_attempt_is_refused(when: str, tmp_path: Path) -> None:
    attempts = dict(hostile.ATTEMPTS)
    head = hostile.choices(attempts)
    body = "return ss_try(ss_x);"
    if when == "while it is loaded":
        head += (
            f"static long ss_found[{len(attempts)}];\n"
            "__attribute__((constructor)) static void ss_early(void) {\n"
            f"    for (int k = 0; k < {len(attempts)}; k++) ss_found[k] = ss_try(k);\n}}\n"
        )
        body = "return ss_found[ss_x];"
    text = hostile.program(body, head, **names(tmp_path))
    got = [name for k, name in enumerate(attempts) if not run(text, k)]
    allowed = hostile.LATER if when == "while it is loaded" else ()
    if when == "while it is loaded" and "bwrap" not in str(runner._Runner.wall):
        allowed = (*allowed, "where a secret is")
    assert sorted(got) == sorted(allowed)


def test_the_attempts_succeed_without_walls(tmp_path: Path) -> None:
    aims = names(tmp_path)
    wanted = ("network", "a secret", "a new file", "to signal its parent", "to clone", "new code")
    attempts = {name: hostile.ATTEMPTS[name] for name in wanted}
    text = hostile.program("return ss_try(ss_x);", hostile.choices(attempts), **aims)
    main = (
        "#include <stdio.h>\nint main(void) {"
        f" int got = 0; for (int k = 0; k < {len(wanted)}; k++) got += !ss_try(k);"
        ' printf("%d", got); }'
    )
    source, target = tmp_path / "free.c", tmp_path / "free"
    source.write_text(text + main)
    subprocess.run(["cc", "-fopenmp", "-DSS_VECTOR=", source, "-o", target, "-lm"], check=True)
    done = subprocess.run([target], capture_output=True, text=True, check=True)
    assert done.stdout == str(len(wanted))


@pytest.mark.usefixtures("wall")
def test_threads_work_and_are_bounded() -> None:
    source = "def main (n: i64) = map (\\i -> f64.sin (f64.i64 i)) (iota n) |> f64.sum"
    text = plain(compiled(source).result("c").text)
    n = 1 << 20
    found = runner.run_c(text, "main", [np.int64(n)], settings=runner.Settings(cores=4))
    np.testing.assert_allclose(found.values[0], np.sin(np.arange(n)).sum(), rtol=1e-9)
    wait = """
    static struct timespec ss_long = {100, 0};
    static int ss_wait(void *none) { for (;;) nanosleep(&ss_long, 0); }
    """
    bomb = """
    static char stacks[4096][16384] __attribute__((aligned(64)));
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
    long k = 0;
    while (k < 4096 && clone(ss_wait, stacks[k] + 16384, flags, 0) >= 0) k++;
    return k;
    """
    made = run(hostile.program(bomb, wait))
    if os.geteuid() or (runner._Runner.wall or walls.Wall()).user:  # nothing bounds root
        assert made < 200 + walls.ROOM_FOR_OTHERS
    assert run(hostile.program("return 7;")) == 7


@pytest.mark.usefixtures("wall")
def test_the_first_run_has_the_limits_of_all_later_ones() -> None:
    """What runs are forked from has only been started then, and its wall is still tried."""
    text = hostile.program(
        """
        int of[] = {RLIMIT_AS, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CORE, RLIMIT_NPROC};
        struct rlimit found;
        return getrlimit(of[ss_x], &found) ? -1 : (long)found.rlim_max;
        """
    )
    first = []
    for number in range(5):
        runner.close_runners()
        first.append(run(text, number, memory_bytes=64 * MIB))
    later = [run(text, number, memory_bytes=64 * MIB) for number in range(5)]
    (started,) = runner._RUNNERS.values()
    assert first[:4] == later[:4] == [64 * MIB + walls.ADDRESS_SPACE, 64 * MIB, PROGRAM.files, 0]
    assert later[4] == started.processes
    assert abs(first[4] - later[4]) < walls.ROOM_FOR_OTHERS  # others start threads meanwhile


@pytest.mark.usefixtures("wall")
def test_a_run_sees_nothing_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same library, and memory that the first run has filled with a secret."""
    monkeypatch.setattr(runner, "SHORT_RUNS", 0)
    text = hostile.program(
        """
        static long runs;
        long *area = malloc(1 << 20);
        long seen = 0;
        for (int k = 0; k < 1 << 17; k++) seen |= area[k] == 0x5EC4E7;
        for (int k = 0; k < 1 << 17; k++) area[k] = 0x5EC4E7;
        free(area);
        return ++runs + 100 * seen;
        """
    )
    assert [run(text) for _ in range(3)] == [1, 1, 1]


@pytest.mark.usefixtures("wall")
def test_a_run_holds_only_its_own_files() -> None:
    """The socket to the runner, the library, the results; inputs would be a fourth."""
    text = hostile.program(
        "long n = 0; for (int fd = 0; fd < 1024; fd++) n += fcntl(fd, F_GETFL) >= 0; return n;"
    )
    found = run(text)
    assert 3 <= found <= 5  # standard output and standard error lead nowhere


@pytest.mark.usefixtures("wall")
def test_memory_is_bounded() -> None:
    text = hostile.program(
        """
        long got = 0;
        while (got < 64) {
            char *p = mmap(0, 1L << 30, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (p == MAP_FAILED) break;
            got++;
        }
        return got;
        """
    )
    assert run(text, memory_bytes=1 << 30) <= 3


def test_results_are_bounded() -> None:
    text = plain(compiled("def main (n: i64): []i64 = iota n").result("c").text)
    with pytest.raises(RuntimeError_) as caught:
        runner.run_c(
            text, "main", [np.int64(10**9)], settings=runner.Settings(memory_bytes=1 << 30)
        )
    assert "memory" in caught.value.message
    # A program that lies about its memory meets the limit of what it can hand over.
    lying = text.replace("ss_bytes_limit = INT64_MAX", "ss_bytes_limit_ = INT64_MAX", 1)
    lying = lying.replace("int64_t ss_bytes_now", "int64_t ss_bytes_limit; int64_t ss_bytes_now", 1)
    lying = lying.replace("(ss_bytes_limit - ss_bytes_now)", "(ss_bytes_limit_ - ss_bytes_now)")
    with pytest.raises(RuntimeError_) as caught:
        runner.run_c(
            lying, "main", [np.int64(20 * MIB)], settings=runner.Settings(memory_bytes=64 * MIB)
        )
    assert "more than the limit" in caught.value.message


@pytest.mark.usefixtures("wall")
def test_processor_time_is_bounded_even_if_signals_are_ignored() -> None:
    text = hostile.program("for (int s = 1; s < 65; s++) signal(s, SIG_IGN); for (;;);")
    began = time.monotonic()
    with pytest.raises(TimeoutError_):
        run(text, deadline_s=0.5)
    assert time.monotonic() - began < 15
    assert run(hostile.program("return 7;")) == 7


def test_a_timeout_does_not_cost_the_process_that_runs_are_forked_from() -> None:
    before = zygote()
    with pytest.raises(TimeoutError_):
        run(hostile.program("for (;;);"), deadline_s=0.3)
    assert zygote() == before


@pytest.mark.usefixtures("wall")
@pytest.mark.skipif(kernel.MACHINE != 0, reason="calls of x86_64's cousins")
@pytest.mark.parametrize(
    "call",
    [
        'long r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(20)); return r;',  # getpid, 32 bits
        "return syscall(0x40000000 | 39);",  # getpid, x32
    ],
)
def test_a_call_of_another_machine_ends_the_run(call: str) -> None:
    with pytest.raises(RuntimeError_) as caught:
        run(hostile.program(call))
    assert "SIGSYS" in caught.value.message


ANSWERS = {
    "nothing, and ends": ("0", '""', "_exit(0)"),
    "nothing, and lives": ("0", '""', "for (;;)"),
    "a length without end": ("1LL << 60", '"x"', "for (;;)"),
    "a negative length": ("-1", '"x"', "for (;;)"),
    "half of an answer": ("100", '"{"', "_exit(0)"),
    "no JSON": ("3", '"}}}"', "_exit(0)"),
    "deep JSON": ("sizeof said - 1", '"' + "[" * 100_000 + '"', "_exit(0)"),
    "a list": ("2", '"[]"', "_exit(0)"),
    "no fields": ("2", '"{}"', "_exit(0)"),
    "fields of other types": (
        "sizeof said - 1",
        r'"{\"slots\": [\"x\"], \"times\": [1.0], \"peak\": 1, \"allocs\": 1,'
        r' \"bytes_allocated\": 1, \"profile\": [], \"copies\": [0, 0, 0, 0, 0, 0, 0, 0]}"',
        "_exit(0)",
    ),
    "no times": (
        "sizeof said - 1",
        r'"{\"slots\": [1], \"times\": [], \"peak\": 1, \"allocs\": 1,'
        r' \"bytes_allocated\": 1, \"profile\": [], \"copies\": [0, 0, 0, 0, 0, 0, 0, 0]}"',
        "_exit(0)",
    ),
    "times that are no numbers": (
        "sizeof said - 1",
        r'"{\"slots\": [1], \"times\": [NaN], \"peak\": 1, \"allocs\": 1,'
        r' \"bytes_allocated\": 1, \"profile\": [], \"copies\": [0, 0, 0, 0, 0, 0, 0, 0]}"',
        "_exit(0)",
    ),
    "too many results": (
        "sizeof said - 1",
        r'"{\"slots\": [1, 2], \"times\": [1.0], \"peak\": 1, \"allocs\": 1,'
        r' \"bytes_allocated\": 1, \"profile\": [], \"copies\": [0, 0, 0, 0, 0, 0, 0, 0]}"',
        "_exit(0)",
    ),
    "fewer kinds of copies": (
        "sizeof said - 1",
        r'"{\"slots\": [1], \"times\": [1.0], \"peak\": 1, \"allocs\": 1,'
        r' \"bytes_allocated\": 1, \"profile\": [], \"copies\": [1, 1]}"',
        "_exit(0)",
    ),
    "less than no copies": (
        "sizeof said - 1",
        r'"{\"slots\": [1], \"times\": [1.0], \"peak\": 1, \"allocs\": 1,'
        r' \"bytes_allocated\": 1, \"profile\": [], \"copies\": [-1, 0, 0, 0, 0, 0, 0, 0]}"',
        "_exit(0)",
    ),
    "a check that does not exist": (
        "sizeof said - 1",
        r'"{\"site\": 123456, \"values\": []}"',
        "_exit(0)",
    ),
    "a check before the first": (
        "sizeof said - 1",
        r'"{\"site\": -1, \"values\": []}"',
        "_exit(0)",
    ),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_a_false_answer_is_an_error_of_the_program(what: str) -> None:
    length, said, after = ANSWERS[what]
    body = hostile.ANSWER.replace("LENGTH", length).replace("SAID", said).replace("AFTER", after)
    with pytest.raises(RuntimeError_) as caught:
        run(hostile.program(f"{body}\nreturn 0;"), deadline_s=1.0)
    assert caught.value.kind in ("runtime", "timeout")
    assert run(hostile.program("return 7;")) == 7


@pytest.mark.parametrize("value", [10**30, -(10**30), 1 << 63])
def test_a_number_beyond_64_bits_is_no_result(value: int) -> None:
    said = (
        f'"{{\\"slots\\": [{value}], \\"times\\": [1.0], \\"peak\\": 1, \\"allocs\\": 1,'
        ' \\"bytes_allocated\\": 1, \\"profile\\": [],'
        ' \\"copies\\": [0, 0, 0, 0, 0, 0, 0, 0]}"'
    )
    body = hostile.ANSWER.replace("LENGTH", "sizeof said - 1").replace("SAID", said)
    with pytest.raises(RuntimeError_) as caught:
        run(hostile.program(body.replace("AFTER", "_exit(0)") + "return 0;"))
    assert "overwrote" in caught.value.message


def test_an_empty_result_with_a_large_side_is_an_error_with_words() -> None:
    source = "entry main (n: i64): [][]i32 = replicate n (replicate 0 0i32)"
    text = plain(compiled(source).result("c").text)
    assert runner.run_c(text, "main", [np.int64(1 << 40)]).values[0].shape == (1 << 40, 0)
    with pytest.raises(RuntimeError_) as caught:
        runner.run_c(text, "main", [np.int64(1 << 62)])
    assert "4611686018427387904" in caught.value.message


@pytest.mark.parametrize(
    "slots", ["[-8]", "[1]", "[1000000]", "[9223372036854775807]", f"[{10**30}]"]
)
def test_false_places_of_results_are_not_read(slots: str) -> None:
    text = plain(compiled("def main (n: i64): []i64 = iota n").result("c").text)
    said = (
        f'"{{\\"slots\\": {slots}, \\"times\\": [1.0], \\"peak\\": 1, \\"allocs\\": 1,'
        ' \\"bytes_allocated\\": 1, \\"profile\\": [],'
        ' \\"copies\\": [0, 0, 0, 0, 0, 0, 0, 0]}"'
    )
    body = hostile.ANSWER.replace("LENGTH", "sizeof said - 1").replace("SAID", said)
    body = body.replace("AFTER", "_exit(0)")
    text = text.replace(
        "int entry_main", f"static int ss_lie(void) {{ {body} return 0; }}\nint entry_main"
    )
    text = hostile.HEAD + text.replace("    out[0] =", "    ss_lie(); out[0] =")
    with pytest.raises(RuntimeError_):
        runner.run_c(text, "main", [np.int64(4)], 5.0, settings=runner.Settings(flags=("-O0",)))


@pytest.mark.usefixtures("wall")
def test_a_run_is_killed_with_who_asked_for_it(tmp_path: Path) -> None:
    text = tmp_path / "endless.c"
    text.write_text(hostile.program("for (;;);"))
    script = (
        "import sys, threading, time, numpy as np\n"
        "from compiler.sandbox import walls\n"
        "from compiler.runtime import runner\n"
        f"if {walls.walls() == [walls.Wall()]}: walls.walls = lambda: [walls.Wall()]\n"
        f"code = open({str(text)!r}).read()\n"
        "how = runner.Settings(flags=('-O0',))\n"
        "def go(): runner.run_c(code, 'main', [np.int64(0)], 100.0, how)\n"
        "thread = threading.Thread(target=go, daemon=True)\n"
        "thread.start()\n"
        "while not any(r.ready for r in runner._RUNNERS.values()):\n"
        "    assert thread.is_alive(), 'it says why above'\n"
        "    time.sleep(0.01)\n"
        "print(next(iter(runner._RUNNERS.values())).process.pid, flush=True)\n"
        "time.sleep(100)\n"
    )
    root = Path(walls.__file__).parents[2]
    asking = subprocess.Popen(
        [sys.executable, "-c", script], cwd=root, stdout=subprocess.PIPE, text=True
    )
    assert asking.stdout is not None
    first = int(asking.stdout.readline())
    until = time.monotonic() + 20
    while len(tree := _tree(first)) < 2 + ("bwrap" in _command(first)) and time.monotonic() < until:
        time.sleep(0.05)
    started = {pid: _started(pid) for pid in tree}
    asking.send_signal(signal.SIGKILL)
    asking.wait()
    asking.stdout.close()
    while time.monotonic() < until and any(_started(p) == t for p, t in started.items() if t):
        time.sleep(0.05)
    assert len(started) >= 2
    assert not [pid for pid, when in started.items() if when and _started(pid) == when]


def _tree(pid: int) -> list[int]:
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        for path in Path(f"/proc/{found[-1]}/task").glob("*/children"):
            todo += [int(child) for child in path.read_text().split()]
    return found


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When a living process was started; "" for one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def test_a_machine_of_which_nothing_is_known_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MACHINE", -1)
    with pytest.raises(OSError, match="no table"):
        kernel.landlock([])
