#include "daemon/sandbox/system_calls.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <system_error>
#include <utility>

namespace lockstep::daemon::sandbox {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool looks_for_leaks = true;  // at the end, from a process that traces this one
#else
constexpr bool looks_for_leaks = false;
#endif

// The last number that this list has looked at (Linux 5.10, faccessat2).
constexpr unsigned newest_known = 439;

constexpr unsigned number_at = offsetof(seccomp_data, nr);
constexpr unsigned architecture_at = offsetof(seccomp_data, arch);
// x86-64 stores the low half first.
constexpr unsigned low(int argument) { return offsetof(seccomp_data, args) + 8 * argument; }
constexpr unsigned high(int argument) { return low(argument) + 4; }

class Filter {
 public:
  Filter() {
    load(architecture_at);
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_K | BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0));
    give(SECCOMP_RET_KILL_PROCESS);
    load(number_at);
  }

  void allow(std::initializer_list<int> calls) {
    for (const int call : calls) {
      begin(call, 1);
      give(SECCOMP_RET_ALLOW);
    }
  }
  // Where the argument, an int for the kernel, is one of `values`, or where it is none of them.
  void allow_where(int call, int argument, std::initializer_list<unsigned> values, bool none_of = false) {
    begin(call, 2 + 2 * static_cast<int>(values.size()));
    load(low(argument));
    for (const unsigned value : values) {
      unless_equal(value, 1);
      give(none_of ? refused : SECCOMP_RET_ALLOW);
    }
    give(none_of ? SECCOMP_RET_ALLOW : refused);
  }
  // Where the argument has none of `bits`, or where it has one of them.
  void allow_bits(int call, int argument, unsigned bits, bool wanted) {
    begin(call, 4);
    load(low(argument));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_K | BPF_JSET, bits, 0, 1));
    give(wanted ? SECCOMP_RET_ALLOW : refused);
    give(wanted ? refused : SECCOMP_RET_ALLOW);
  }
  // Where the argument lacks one of `bits`.
  void allow_not_all(int call, int argument, unsigned bits) {
    begin(call, 5);
    load(low(argument));
    code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits));
    unless_equal(bits, 1);
    give(refused);
    give(SECCOMP_RET_ALLOW);
  }
  void allow_where_null(int call, int argument) {
    begin(call, 6);
    load(low(argument));
    unless_equal(0, 3);
    load(high(argument));
    unless_equal(0, 1);
    give(SECCOMP_RET_ALLOW);
    give(refused);
  }
  // As if the kernel did not have it.
  void deny_existence(int call) {
    unless_equal(static_cast<unsigned>(call), 1);
    give(unknown);
  }

  CallFilter finish() {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_K | BPF_JGT, newest_known, 0, 1));
    give(unknown);
    give(refused);
    return {std::move(code_), calls_};
  }

 private:
  static constexpr unsigned refused = SECCOMP_RET_ERRNO | EPERM;
  static constexpr unsigned unknown = SECCOMP_RET_ERRNO | ENOSYS;

  void load(unsigned offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }
  void give(unsigned answer) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, answer)); }
  void unless_equal(unsigned value, int skip) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_K | BPF_JEQ, value, 0, static_cast<uint8_t>(skip)));
  }
  // What follows, `size` instructions that end with an answer, is about this call. The number stays loaded
  // for the others.
  void begin(int call, int size) {
    unless_equal(static_cast<unsigned>(call), size);
    ++calls_;
  }

  std::vector<sock_filter> code_;
  int calls_ = 0;
};

void add_files(Filter& filter) {
  filter.allow(
      {SYS_read,       SYS_write,     SYS_readv,      SYS_writev,      SYS_pread64,        SYS_pwrite64,
       SYS_preadv,     SYS_pwritev,   SYS_preadv2,    SYS_pwritev2,    SYS_lseek,          SYS_open,
       SYS_openat,     SYS_close,     SYS_stat,       SYS_fstat,       SYS_lstat,          SYS_newfstatat,
       SYS_statx,      SYS_statfs,    SYS_fstatfs,    SYS_access,      SYS_faccessat,      SYS_faccessat2,
       SYS_getdents64, SYS_readlink,  SYS_readlinkat, SYS_getcwd,      SYS_unlink,         SYS_unlinkat,
       SYS_rmdir,      SYS_rename,    SYS_renameat,   SYS_renameat2,   SYS_fsync,          SYS_fdatasync,
       SYS_ftruncate,  SYS_fallocate, SYS_fadvise64,  SYS_flock,       SYS_utimensat,      SYS_dup,
       SYS_dup2,       SYS_dup3,      SYS_pipe2,      SYS_close_range, SYS_sync_file_range});
  // Not F_SETOWN and F_SETSIG, which signal.
  filter.allow_where(SYS_fcntl, 1,
                     {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK,
                      F_SETLKW, F_ADD_SEALS, F_GET_SEALS});
}

void add_streams(Filter& filter) {
  filter.allow({SYS_accept, SYS_accept4, SYS_recvfrom, SYS_recvmsg, SYS_sendto, SYS_sendmsg, SYS_shutdown,
                SYS_getsockname, SYS_getpeername, SYS_getsockopt, SYS_setsockopt});
  filter.allow_where(SYS_socket, 0, {AF_UNIX});  // what tells the service manager
  filter.allow({SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl,
                SYS_epoll_wait, SYS_epoll_pwait, SYS_eventfd2, SYS_timerfd_create, SYS_timerfd_settime,
                SYS_timerfd_gettime});
}

void add_threads_and_time(Filter& filter) {
  filter.allow({SYS_futex,
                SYS_set_robust_list,
                SYS_get_robust_list,
                SYS_rseq,
                SYS_set_tid_address,
                SYS_sched_yield,
                SYS_sched_getaffinity,
                SYS_getcpu,
                SYS_gettid,
                SYS_getpid,
                SYS_getppid,
                SYS_arch_prctl,
                SYS_exit,
                SYS_exit_group,
                SYS_restart_syscall,
                SYS_rt_sigaction,
                SYS_rt_sigprocmask,
                SYS_rt_sigreturn,
                SYS_rt_sigpending,
                SYS_rt_sigtimedwait,
                SYS_sigaltstack,
                SYS_clock_gettime,
                SYS_clock_getres,
                SYS_clock_nanosleep,
                SYS_nanosleep,
                SYS_gettimeofday,
                SYS_time,
                SYS_getuid,
                SYS_geteuid,
                SYS_getgid,
                SYS_getegid,
                SYS_getresuid,
                SYS_getresgid,
                SYS_getrusage,
                SYS_getrlimit,
                SYS_sysinfo,
                SYS_uname,
                SYS_getrandom,
                SYS_times,
                SYS_umask});
  filter.allow_where_null(SYS_prlimit64, 2);
  // abort() and pthread_kill() of this process.
  filter.allow_where(SYS_tgkill, 0, {static_cast<unsigned>(getpid())});
  // A filter cannot look into the structure of clone3(): libraries then take clone(), threads of which only.
  filter.deny_existence(SYS_clone3);
  if (looks_for_leaks) {
    filter.allow({SYS_clone, SYS_ptrace, SYS_wait4, SYS_prctl, SYS_getdents});
  } else {
    filter.allow_bits(SYS_clone, 0, CLONE_THREAD, true);
    filter.allow_where(SYS_prctl, 0, {PR_SET_NAME, PR_GET_NAME, PR_SET_VMA, PR_CAPBSET_READ});
  }
}

void add_memory(Filter& filter, bool gpu) {
  filter.allow({SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise, SYS_mincore, SYS_msync, SYS_mlock, SYS_mlock2,
                SYS_munlock, SYS_membarrier});
  if (gpu) {
    filter.allow({SYS_mmap, SYS_mprotect, SYS_pkey_mprotect});
  } else {
    filter.allow_not_all(SYS_mmap, 2, PROT_WRITE | PROT_EXEC);
    filter.allow_bits(SYS_mprotect, 2, PROT_EXEC, false);
    filter.allow_bits(SYS_pkey_mprotect, 2, PROT_EXEC, false);
  }
}

// What the runtimes of GPUs call besides: commands to the driver, threads and memory near a device.
void add_gpu(Filter& filter) {
  filter.allow({SYS_sched_setaffinity, SYS_sched_getparam, SYS_sched_getscheduler, SYS_sched_get_priority_max,
                SYS_sched_get_priority_min, SYS_getpriority, SYS_mbind, SYS_get_mempolicy, SYS_set_mempolicy,
                SYS_memfd_create, SYS_kcmp, SYS_fchmod});
  filter.allow_where(SYS_ioctl, 1, {TIOCSTI, TIOCLINUX}, true);  // not what types at a terminal
}

}  // namespace

CallFilter call_filter(bool gpu) {
  Filter filter;
  add_streams(filter);
  add_files(filter);
  add_threads_and_time(filter);
  add_memory(filter, gpu);
  if (gpu) {
    add_gpu(filter);
  } else {
    filter.allow_where(SYS_ioctl, 1, {FIONBIO, FIONREAD, TCGETS});
  }
  return filter.finish();
}

void confine_system_calls(const CallFilter& filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.code.size()),
                           const_cast<sock_filter*>(filter.code.data())};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
    throw std::system_error(errno, std::generic_category(), "the filter cannot be taken on");
}

}  // namespace lockstep::daemon::sandbox
