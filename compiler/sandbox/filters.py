"""Allow lists of system calls, as programs for the kernel's filter (seccomp).

Calls that are not on the list fail with EPERM, as if the user had no right; a call of another
machine (32-bit calls on a 64-bit kernel) kills the process. `clone3` fails with ENOSYS, because its
flags lie in memory where no filter sees them: libc then calls `clone`, whose flags are checked.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping, Sequence

from compiler.sandbox.kernel import MACHINE

_NUMBERS = {
    name: (int(x86), int(arm))
    for name, x86, arm in (
        entry.split(":")
        for entry in """
access:21:-1  arch_prctl:158:-1  brk:12:214  capget:125:90  chdir:80:49  chmod:90:-1
clock_getres:229:114  clock_gettime:228:113  clock_nanosleep:230:115  clone:56:220
clone3:435:435  close:3:57  close_range:436:436  copy_file_range:326:285  dup:32:23  dup2:33:-1
dup3:292:24  epoll_create1:291:20  epoll_ctl:233:21  epoll_pwait:281:22  epoll_wait:232:-1
eventfd2:290:19  execve:59:221  exit:60:93  exit_group:231:94  faccessat:269:48
faccessat2:439:439  fadvise64:221:223  fallocate:285:47  fchdir:81:50  fchmod:91:52
fchmodat:268:53  fcntl:72:25  fdatasync:75:83  flock:73:32  fork:57:-1  fstat:5:80
fstatfs:138:44  fsync:74:82  ftruncate:77:46  futex:202:98  getcpu:309:168  getcwd:79:17
getdents64:217:61  getegid:108:177  geteuid:107:175  getgid:104:176  getgroups:115:158
getitimer:36:102  getpgid:121:155  getpgrp:111:-1  getpid:39:172  getppid:110:173
getpriority:140:141  getrandom:318:278  getrlimit:97:163  getrusage:98:165  getsid:124:156
getsockopt:55:209  gettid:186:178  gettimeofday:96:169  getuid:102:174  ioctl:16:29  kill:62:129
landlock_add_rule:445:445  landlock_create_ruleset:444:444  landlock_restrict_self:446:446
link:86:-1  linkat:265:37  lseek:8:62  lstat:6:-1  madvise:28:233  membarrier:324:283
memfd_create:319:279  mincore:27:232  mkdir:83:-1  mkdirat:258:34  mmap:9:222  mprotect:10:226
mremap:25:216  msync:26:227  munmap:11:215  nanosleep:35:101  newfstatat:262:79  open:2:-1
openat:257:56  pipe:22:-1  pipe2:293:59  poll:7:-1  ppoll:271:73  prctl:157:167  pread64:17:67
preadv2:327:286  prlimit64:302:261  pselect6:270:72  pwrite64:18:68  pwritev2:328:287  read:0:63
readlink:89:-1  readlinkat:267:78  readv:19:65  recvfrom:45:207  recvmsg:47:212  rename:82:-1
renameat:264:38  renameat2:316:276  restart_syscall:219:128  rmdir:84:-1  rseq:334:293
rt_sigaction:13:134  rt_sigprocmask:14:135  rt_sigreturn:15:139  rt_sigsuspend:130:133
rt_sigtimedwait:128:137  sched_get_priority_max:146:125  sched_get_priority_min:147:126
sched_getaffinity:204:123  sched_getparam:143:121  sched_getscheduler:145:120
sched_setaffinity:203:122  sched_yield:24:124  seccomp:317:277  select:23:-1  sendfile:40:71
sendmsg:46:211  sendto:44:206  set_robust_list:273:99  set_tid_address:218:96  setitimer:38:103
setpgid:109:154  setsid:112:157  shutdown:48:210  sigaltstack:131:132  socketpair:53:199
stat:4:-1  statfs:137:43  statx:332:291  symlink:88:-1  symlinkat:266:36  sysinfo:99:179
tgkill:234:131  time:201:-1  times:100:153  truncate:76:45  umask:95:166  uname:63:160
unlink:87:-1  unlinkat:263:35  utimensat:280:88  vfork:58:-1  wait4:61:260  waitid:247:95
write:1:64  writev:20:66  getsockname:51:204
preadv:295:69  pwritev:296:70  close_range:436:436
pidfd_open:434:434  socket:41:198  bind:49:200  listen:50:201  get_mempolicy:239:236
""".split()
    )
}
"""A call's number on x86_64 and on aarch64; -1 where it does not exist."""

Condition = tuple[int, str, tuple[int, ...]]
"""A condition on an argument: it `is` one of these, or it `lacks` or `has` all of these bits."""

_PROT_EXEC = 4
_THREAD = 0x00010000 | 0x00000100 | 0x00000800  # CLONE_THREAD, CLONE_VM, CLONE_SIGHAND
_NAMESPACES = 0x7E020080  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, NEWTIME
_CHANGES_FILES = 0o1 | 0o2 | 0o100 | 0o1000 | 0o2000 | 0o20000000  # O_WRONLY to O_TMPFILE
_DUPLICATE, _GET_FD, _SET_FD, _GET_FL = 1030, 1, 2, 3  # F_DUPFD_CLOEXEC and others
_TERMINAL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # what libc asks of any file
_AF_UNIX = 1

_COMPUTE = tuple(
    """
    read write readv writev pread64 pwrite64 lseek close fstat ftruncate munmap mremap madvise brk
    futex sched_yield sched_getaffinity clock_gettime clock_getres clock_nanosleep nanosleep
    gettimeofday getrandom getpid gettid rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack
    set_robust_list rseq exit exit_group restart_syscall getrusage
    """.split()
)
"""Calls for memory, threads, time, and open files."""

_FILES = tuple(
    """
    mmap mprotect fcntl open openat stat lstat newfstatat statx getdents64 readlink readlinkat
    access faccessat faccessat2 unlink unlinkat rename renameat renameat2 mkdir mkdirat rmdir chmod
    fchmod fchmodat umask chdir fchdir getcwd utimensat truncate fsync fdatasync fallocate flock
    link linkat symlink symlinkat dup dup2 dup3 pipe pipe2 poll ppoll select pselect6 epoll_create1
    epoll_ctl epoll_wait epoll_pwait eventfd2 uname sysinfo times time getuid geteuid getgid
    getegid getppid getpgid getpgrp getsid getgroups arch_prctl set_tid_address prctl memfd_create
    statfs fstatfs setitimer getitimer copy_file_range sendfile sendmsg recvmsg sendto recvfrom
    shutdown getsockname getsockopt pidfd_open fadvise64 mincore membarrier getpriority getrlimit
    msync preadv pwritev preadv2 pwritev2 close_range getcpu sched_getparam sched_getscheduler
    sched_get_priority_max sched_get_priority_min sched_setaffinity rt_sigtimedwait rt_sigsuspend
    capget seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self
    """.split()
)
"""Calls that Python and its libraries need too; walls and Landlock decide which files."""

_DRIVER = ("ioctl", "bind", "listen", "get_mempolicy")
"""Calls without which NVIDIA's driver (580) does not start, beside a local socket."""

_PROCESSES = ("execve", "fork", "vfork", "wait4", "waitid", "kill", "setsid", "setpgid", "tgkill")


def worker(starts_programs: bool, devices: bool) -> bytes:
    """Make the filter for a process that runs our own Python code on untrusted input.

    With `starts_programs` it may start others (which inherit the filter); else only threads. With
    `devices` it may control any device whose file it can open, and listen on a name that only this
    machine knows.
    """
    calls = (*_COMPUTE, *_FILES, *(_PROCESSES if starts_programs else ()))
    conditions: dict[str, Sequence[Condition]] = {
        "clone": [(0, "lacks", (_NAMESPACES,)) if starts_programs else (0, "has", (_THREAD,))],
        "prlimit64": [(0, "is", (0,))],
        "socketpair": [(0, "is", (_AF_UNIX,))],
    }
    if devices:
        calls = (*calls, *_DRIVER)
        conditions["socket"] = [(0, "is", (_AF_UNIX,))]
    else:
        conditions["ioctl"] = [(1, "is", _TERMINAL)]
    return _assembled(calls, conditions)


def program(pid: int, loading: bool) -> bytes:
    """Make the filter for the process `pid` of a compiled program: own threads and memory.

    While it is `loading`, files may be opened for reading and mapped as code; afterwards not.
    """
    code: Sequence[Condition] = () if loading else ((2, "lacks", (_PROT_EXEC,)),)
    conditions: dict[str, Sequence[Condition]] = {
        "mmap": code,
        "mprotect": code,
        "clone": [(0, "has", (_THREAD,))],
        "tgkill": [(0, "is", (pid,))],
        "prlimit64": [(0, "is", (0,)), (2, "is", (0,))],
        "fcntl": [(1, "is", (_DUPLICATE, _GET_FD, _SET_FD, _GET_FL))],
    }
    calls = _COMPUTE
    if loading:
        conditions["openat"] = [(2, "lacks", (_CHANGES_FILES,))]
        # The second filter is still to come.
        calls = (*_COMPUTE, "newfstatat", "seccomp")
    return _assembled(calls, conditions)


# --- the kernel's little machine ---------------------------------------------------------------

_LOAD, _AND, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_AT_NUMBER, _AT_MACHINE, _AT_ARGUMENTS = 0, 4, 16
_MACHINES = (0xC000003E, 0xC00000B7)
_OTHER_NUMBERS = 0x40000000
"""The first number of the x32 calls of x86_64."""

Instruction = tuple[int, int, int, int]


def _assembled(calls: Sequence[str], conditions: Mapping[str, Sequence[Condition]]) -> bytes:
    if MACHINE < 0:
        raise OSError("there is no table of system calls for this machine")
    made: list[Instruction] = [
        (_LOAD, 0, 0, _AT_MACHINE),
        (_JUMP_EQUAL, 1, 0, _MACHINES[MACHINE]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _AT_NUMBER),
        (_JUMP_AT_LEAST, 0, 1, _OTHER_NUMBERS),
        (_RETURN, 0, 0, _KILL),
    ]
    for call in calls:
        made += _case(call, [(_RETURN, 0, 0, _ALLOW)])
    for call, wanted in conditions.items():
        made += _case(call, [*(step for one in wanted for step in _test(one)), _allow()])
    made += _case("clone3", [_error(errno.ENOSYS)])
    made.append(_error(errno.EPERM))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in made)


def _case(call: str, body: list[Instruction]) -> list[Instruction]:
    number = _NUMBERS[call][MACHINE]
    return [] if number < 0 else [(_JUMP_EQUAL, 0, len(body), number), *body]


def _allow() -> Instruction:
    return (_RETURN, 0, 0, _ALLOW)


def _error(number: int) -> Instruction:
    return (_RETURN, 0, 0, _ERROR | number)


def _test(condition: Condition) -> list[Instruction]:
    """Continue if the condition holds, else refuse. Arguments here fit 32 bits, or are pointers."""
    argument, kind, wanted = condition
    low = _AT_ARGUMENTS + 8 * argument
    made: list[Instruction] = [(_LOAD, 0, 0, low)]
    if kind == "is":
        for k, value in enumerate(wanted):
            made.append((_JUMP_EQUAL, len(wanted) - k, 0, value))
        made.append(_error(errno.EPERM))
        if wanted == (0,):
            made += [(_LOAD, 0, 0, low + 4), (_JUMP_EQUAL, 1, 0, 0), _error(errno.EPERM)]
        return made
    (bits,) = wanted
    made.append((_AND, 0, 0, bits))
    made.append((_JUMP_EQUAL, 1, 0, bits if kind == "has" else 0))
    made.append(_error(errno.EPERM))
    return made
