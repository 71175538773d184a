"""The system calls that a container of the sandbox may make: our own list, not the engine's.

An engine's list grows and shrinks with its version; this one is part of the profile's digest. It
leaves out what engines of some versions let through and hostile code is glad of: io_uring, other
processes' limits (`prlimit` on PID 1 would end it), and everything that needs a capability.
"""

from __future__ import annotations

import json

FILES = """
access chdir chmod chown chown32 close close_range copy_file_range creat dup dup2 dup3 faccessat
faccessat2 fadvise64 fadvise64_64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchown32
fchownat fcntl fcntl64 fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr fstat fstat64
fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 futimesat getcwd getdents getdents64
getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch ioctl lchown lchown32
lgetxattr link linkat listxattr llistxattr _llseek lremovexattr lseek lsetxattr lstat lstat64 mkdir
mkdirat mknod mknodat newfstatat open openat openat2 pread64 preadv preadv2 pwrite64 pwritev
pwritev2 read readahead readlink readlinkat readv removexattr rename renameat renameat2 rmdir
sendfile sendfile64 setxattr splice stat stat64 statfs statfs64 statx symlink symlinkat sync
sync_file_range sync_file_range2 syncfs tee truncate truncate64 umask unlink unlinkat utime
utimensat utimensat_time64 utimes vmsplice write writev arm_fadvise64_64 arm_sync_file_range
"""
MEMORY = """
brk madvise membarrier memfd_create mincore mlock mlock2 mlockall mmap mmap2 mprotect mremap msync
munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect remap_file_pages
"""
PROCESSES = """
capget capset execve execveat exit exit_group fork getegid getegid32 geteuid geteuid32 getgid
getgid32 getgroups getgroups32 getpgid getpgrp getpid getppid getpriority getresgid getresgid32
getresuid getresuid32 getrlimit getrusage getsid gettid getuid getuid32 ioprio_get ioprio_set kill
pause pidfd_open pidfd_send_signal prctl process_vm_readv process_vm_writev ptrace
restart_syscall rseq sched_getaffinity sched_getattr sched_get_priority_max sched_get_priority_min
sched_getparam sched_getscheduler sched_rr_get_interval sched_rr_get_interval_time64
sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp setfsgid
setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 setpgid setpriority setregid
setregid32 setresgid setresgid32 setresuid setresuid32 setreuid setreuid32 setrlimit setsid setuid
setuid32 tgkill tkill ugetrlimit vfork wait4 waitid waitpid landlock_add_rule
landlock_create_ruleset landlock_restrict_self arch_prctl modify_ldt set_thread_area
get_thread_area set_tid_address get_robust_list set_robust_list breakpoint cacheflush set_tls
riscv_flush_icache riscv_hwprobe swapcontext s390_runtime_instr
"""
SIGNALS = """
rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend
rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo sigaltstack signalfd signalfd4 sigprocmask
sigreturn
"""
TIME = """
alarm clock_getres clock_getres_time64 clock_gettime clock_gettime64 clock_nanosleep
clock_nanosleep_time64 getitimer gettimeofday nanosleep setitimer time timer_create timer_delete
timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64 timerfd_create
timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64 times
"""
WAITING = """
epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait
epoll_wait_old eventfd eventfd2 futex futex_time64 futex_waitv futex_wait futex_wake futex_requeue
_newselect pipe pipe2 poll ppoll ppoll_time64 pselect6 pselect6_time64 select io_cancel io_destroy
io_getevents io_pgetevents io_pgetevents_time64 io_setup io_submit
"""
TALKING = """
accept accept4 bind connect getpeername getsockname getsockopt ipc listen mq_getsetattr mq_notify
mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 mq_unlink msgctl
msgget msgrcv msgsnd recv recvfrom recvmmsg recvmmsg_time64 recvmsg semctl semget semop semtimedop
semtimedop_time64 send sendmmsg sendmsg sendto setsockopt shmat shmctl shmdt shmget shutdown
socketcall socketpair
"""
ASKING = "getcpu getrandom sysinfo uname"

ALLOWED = sorted(
    set(" ".join((FILES, MEMORY, PROCESSES, SIGNALS, TIME, WAITING, TALKING, ASKING)).split())
)
NEW_NAMESPACES = 0x7E020000  # the CLONE_NEW… flags that `clone` takes
AF_VSOCK = 40  # a way to a hypervisor that no network namespace stands before
PERSONALITIES = (0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)  # Linux, 32 bits, an old name, asking
ENOSYS = 38  # for which the C libraries fall back to `clone`, whose flags can be looked at
ARCHES = {
    "SCMP_ARCH_X86_64": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"],
    "SCMP_ARCH_AARCH64": ["SCMP_ARCH_ARM"],
    "SCMP_ARCH_RISCV64": [],
}


def _allow(name: str, index: int, value: int, how: str) -> dict[str, object]:
    argument = {"index": index, "value": value, "op": f"SCMP_CMP_{how}"}
    return {"names": [name], "action": "SCMP_ACT_ALLOW", "args": [argument]}


def _made() -> str:
    calls: list[dict[str, object]] = [
        {"names": ALLOWED, "action": "SCMP_ACT_ALLOW"},
        _allow("prlimit64", 0, 0, "EQ"),  # one's own limits only
        _allow("socket", 0, AF_VSOCK, "NE"),
        _allow("clone", 0, NEW_NAMESPACES, "MASKED_EQ"),
        *(_allow("personality", 0, value, "EQ") for value in PERSONALITIES),
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": ENOSYS},
    ]
    arches = [{"architecture": own, "subArchitectures": sub} for own, sub in ARCHES.items()]
    told = {"defaultAction": "SCMP_ACT_ERRNO", "archMap": arches, "syscalls": calls}
    return json.dumps(told, separators=(",", ":"))


OPTION = f"seccomp={_made()}"  # a word of the engine's `SecurityOpt`
