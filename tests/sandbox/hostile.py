"""C programs of ours with hostile C in them: what they try, and what came of it.

Every attempt is the body of a function that answers 0 where it got what it wanted, else `errno`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from compiler.base.text import plain
from tests.codegen.helpers import compiled

HEAD = """\
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
static long ss_tried(long result) { return result < 0 ? errno : 0; }
#define EACH(attempt) do { \\
    int all[] = {1, 2, 3, SERVER, ZYGOTE}; \\
    for (int k = 0; k < 5; k++) { \\
        int other = all[k]; \\
        if (other != getpid() && !ss_tried(attempt)) return 0; \\
    } \\
    return EPERM; \\
} while (0)
#define FILES(attempt) do { \\
    struct stat s; \\
    for (int file = 0; file < 64; file++) \\
        if (!syscall(SYS_fstat, file, &s) && S_ISREG(s.st_mode) && !ss_tried(attempt)) return 0; \\
    return EPERM; \\
} while (0)
"""

ATTEMPTS = {
    "network": "return ss_tried(socket(AF_INET, SOCK_STREAM, 0));",
    "network of another family": "return ss_tried(socket(AF_INET6, SOCK_DGRAM, 0));",
    "a raw socket": "return ss_tried(socket(AF_INET, SOCK_RAW, 1));",
    "netlink": "return ss_tried(socket(AF_NETLINK, SOCK_RAW, 0));",
    "a socket of the machine": "return ss_tried(socket(AF_UNIX, SOCK_STREAM, 0));",
    "a pair of sockets": "int fds[2]; return ss_tried(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));",
    "a file of the system": 'return ss_tried(open("/etc/passwd", O_RDONLY));',
    "a file of Python": 'return ss_tried(open("PYTHON", O_RDONLY));',
    "a file of the compiler": 'return ss_tried(open("COMPILER", O_RDONLY));',
    "a secret": 'return ss_tried(open("SECRET", O_RDONLY));',
    "a secret by a call of old": 'return ss_tried(syscall(SYS_open, "SECRET", O_RDONLY));',
    "a secret by openat2": (
        'long how[3] = {0}; return ss_tried(syscall(437, AT_FDCWD, "SECRET", how, sizeof how));'
    ),
    "where a secret is": 'struct stat s; return ss_tried(stat("SECRET", &s));',
    "a new file": 'return ss_tried(open("FOLDER/new", O_WRONLY | O_CREAT, 0600));',
    "a new folder": 'return ss_tried(mkdir("FOLDER/new", 0700));',
    "the end of a file": 'return ss_tried(unlink("SECRET"));',
    "its environment": 'return ss_tried(open("/proc/self/environ", O_RDONLY));',
    "the memory of its parent": (
        'char name[40]; EACH((sprintf(name, "/proc/%d/mem", other), open(name, O_RDONLY)));'
    ),
    "the memory of its parent by a call": (
        "long word; struct iovec here = {&word, 8}, there = {&word, 8};"
        " EACH(process_vm_readv(other, &here, 1, &there, 1, 0));"
    ),
    "to trace its parent": "EACH(ptrace(PTRACE_ATTACH, other, 0, 0));",
    "to be traced": "return ss_tried(ptrace(PTRACE_TRACEME, 0, 0, 0));",
    "to signal its parent": "EACH(kill(other, 0));",
    "to signal everybody": "return ss_tried(kill(-1, 0));",
    "to signal its group": "return ss_tried(kill(0, 0));",
    "to signal a thread of another": "EACH(syscall(SYS_tgkill, other, other, 0));",
    "to signal by number": "EACH(syscall(SYS_tkill, other, 0));",
    "to queue a signal": (
        "siginfo_t info = {.si_code = SI_QUEUE};"
        " EACH(syscall(SYS_rt_sigqueueinfo, other, 0, &info));"
    ),
    "a handle of its parent": "EACH(syscall(434, other, 0));",
    "to fork": "long child = syscall(SYS_fork); if (!child) _exit(0); return ss_tried(child);",
    "to fork as libc does": "int child = fork(); if (!child) _exit(0); return ss_tried(child);",
    "to clone": (
        "long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);"
        " if (!child) _exit(0); return ss_tried(child);"
    ),
    "to clone a process that shares memory": (
        "long child = syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);"
        " if (!child) _exit(0); return ss_tried(child);"
    ),
    "to clone by the new call": (
        "long long how[11] = {0}; how[4] = SIGCHLD;"
        " long child = syscall(435, how, sizeof how); if (!child) _exit(0);"
        " return ss_tried(child);"
    ),
    "another program": 'char *none[] = {0}; return ss_tried(execve("/bin/true", none, none));',
    "its library as a program": (
        'char *none[] = {0}; return ss_tried(syscall(SYS_execveat, 3, "", none, none, 0x1000));'
    ),
    "a shell": 'return system("true") ? EPERM : 0;',
    "namespaces": "return ss_tried(unshare(CLONE_NEWUSER));",
    "to mount": 'return ss_tried(syscall(SYS_mount, "none", "/", "tmpfs", 0, 0));',
    "a new session": "return ss_tried(setsid());",
    "to be root": "return ss_tried(setuid(0));",
    "to live on without its parent": "return ss_tried(prctl(PR_SET_PDEATHSIG, 0));",
    "to be dumped": "return ss_tried(prctl(PR_SET_DUMPABLE, 1));",
    "more of a limit": (
        "struct rlimit much = {RLIM_INFINITY, RLIM_INFINITY};"
        " return ss_tried(setrlimit(RLIMIT_AS, &much));"
    ),
    "less of a limit for another": (
        "struct rlimit none = {0, 0}; EACH(syscall(SYS_prlimit64, other, RLIMIT_NOFILE, &none, 0));"
    ),
    "asynchronous calls": "char p[200] = {0}; return ss_tried(syscall(425, 8, p));",
    "a program in the kernel": "char p[200] = {0}; return ss_tried(syscall(SYS_bpf, 5, p, 120));",
    "events of the kernel": (
        "char p[200] = {0}; return ss_tried(syscall(SYS_perf_event_open, p, 0, -1, -1, 0));"
    ),
    "faults of its own": "return ss_tried(syscall(SYS_userfaultfd, 0));",
    "keys": 'return ss_tried(syscall(SYS_add_key, "user", "k", "v", 1, -2));',
    "a file in memory": 'return ss_tried(syscall(SYS_memfd_create, "m", 0));',
    "memory of the system": ("return ss_tried(syscall(SYS_shmget, 0, 4096, 0600 | 01000));"),
    "new code": (
        "void *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,"
        " MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); return p == MAP_FAILED ? errno : 0;"
    ),
    "to make data code": (
        "static char page[8192] __attribute__((aligned(4096)));"
        " return ss_tried(mprotect(page, 4096, PROT_READ | PROT_EXEC));"
    ),
    "all address space": (
        "void *p = mmap(0, 1L << 42, PROT_READ | PROT_WRITE,"
        " MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); return p == MAP_FAILED ? errno : 0;"
    ),
    "a large file of results": "FILES(ftruncate(file, 1L << 50));",
    "writing far into the results": 'FILES(pwrite(file, "x", 1, 1L << 50));',
}

LATER = ("new code", "to make data code")
"""What a library may do while it is loaded."""

ANSWER = """\
    static const char said[] = SAID;
    long long length = LENGTH;
    for (int fd = 0; fd < 64; fd++) {
        struct stat s;
        if (!syscall(SYS_fstat, fd, &s) && S_ISSOCK(s.st_mode)) {
            if (write(fd, &length, 8) != 8 || write(fd, said, sizeof said - 1) < 0) return 1;
            AFTER;
        }
    }
"""
"""Answers in place of the process that loaded the library."""


def open_to_all(folder: Path) -> None:
    """Nothing but a wall keeps others out of a test's folder, or of one that it is in."""
    top = Path(tempfile.gettempdir())
    for one in (folder, *folder.parents):
        if one == top or not one.is_relative_to(top):
            return
        one.chmod(0o755)


def program(body: str, head: str = "", **names: object) -> str:
    """The text of `main (x: i64): i64`, of which the result is that of a C function of `x`."""
    text = plain(compiled("def main (x: i64): i64 = x + 1").result("c").text)
    before, found, after = text.partition("int entry_main")
    assert found
    after = after.replace("out[0] =", "out[0] = ss_hostile(in[0]); if (0) out[0] =", 1)
    beginning = HEAD
    hostile = f"{head}\nstatic long ss_hostile(long ss_x) {{\n{body}\n}}\n"
    for name, value in names.items():
        beginning = beginning.replace(name, str(value))
        hostile = hostile.replace(name, str(value))
    return f"{beginning}{before}{hostile}{found}{after}"


def choices(attempts: dict[str, str]) -> str:
    """A C function that makes the attempt of that number."""
    functions = "".join(
        f"static long ss_try_{k}(void) {{ {body} }}\n" for k, body in enumerate(attempts.values())
    )
    cases = "".join(f"    case {k}: return ss_try_{k}();\n" for k in range(len(attempts)))
    return f"{functions}static long ss_try(long k) {{ switch (k) {{\n{cases}    }} return 0; }}\n"
