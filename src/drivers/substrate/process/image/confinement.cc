#include "drivers/substrate/process/image/confinement.h"

#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace keiko::process {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr uint32_t kForeignCalls = 0x40000000;  // x32: the same calls by other numbers
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr uint32_t kForeignCalls = 0;
#else
#error "name this machine's AUDIT_ARCH_ here"
#endif

std::vector<sock_filter> assemble_filter() {
  const auto load = [](size_t offset) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
  };
  const auto jump = [](int how, uint32_t value, uint8_t yes, uint8_t no) {
    return sock_filter BPF_JUMP(static_cast<uint16_t>(BPF_JMP | how | BPF_K), value, yes, no);
  };
  const auto answer = [](uint32_t action) { return sock_filter BPF_STMT(BPF_RET | BPF_K, action); };
  constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
  std::vector<sock_filter> filter = {load(offsetof(seccomp_data, arch)),
                                     jump(BPF_JEQ, kArchitecture, 1, 0), answer(kRefuse),
                                     load(offsetof(seccomp_data, nr))};
  if (kForeignCalls != 0) {
    filter.push_back(jump(BPF_JGE, kForeignCalls, 0, 1));
    filter.push_back(answer(kRefuse));
  }
  for (const DeniedCall& call : denied_calls()) {
    filter.push_back(jump(BPF_JEQ, static_cast<uint32_t>(call.number), 0, 1));
    filter.push_back(answer(kRefuse));
  }
  filter.push_back(answer(SECCOMP_RET_ALLOW));
  return filter;
}

bool drop_capabilities() {
  for (int capability = 0; capability <= CAP_LAST_CAP; ++capability) {
    // Newer kernels have more, older ones fewer; those that are not there need not go.
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EINVAL) return false;
  }
  for (int capability = CAP_LAST_CAP + 1; capability < 64; ++capability) {
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

}  // namespace

const std::vector<DeniedCall>& denied_calls() {
  static const std::vector<DeniedCall> calls = {
      {"add_key", SYS_add_key},
      {"bpf", SYS_bpf},
      {"delete_module", SYS_delete_module},
      {"finit_module", SYS_finit_module},
      {"fsconfig", SYS_fsconfig},
      {"fsmount", SYS_fsmount},
      {"fsopen", SYS_fsopen},
      {"init_module", SYS_init_module},
      {"kexec_file_load", SYS_kexec_file_load},
      {"kexec_load", SYS_kexec_load},
      {"keyctl", SYS_keyctl},
      {"mount", SYS_mount},
      {"mount_setattr", SYS_mount_setattr},
      {"move_mount", SYS_move_mount},
      {"open_by_handle_at", SYS_open_by_handle_at},
      {"open_tree", SYS_open_tree},
      {"perf_event_open", SYS_perf_event_open},
      {"pivot_root", SYS_pivot_root},
      {"request_key", SYS_request_key},
      {"setns", SYS_setns},
      {"swapoff", SYS_swapoff},
      {"swapon", SYS_swapon},
      {"umount2", SYS_umount2},
      {"userfaultfd", SYS_userfaultfd},
  };
  return calls;
}

Done confine_self() {
  if (setgroups(0, nullptr) != 0 || setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0) {
    return errno_error("cannot become the image's root user", errno);
  }
  if (!drop_capabilities()) return errno_error("cannot give up capabilities", errno);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return errno_error("cannot give up new privileges", errno);
  }
  std::vector<sock_filter> filter = assemble_filter();
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
    return errno_error("cannot hold system calls back", errno);
  }
  return done();
}

}  // namespace keiko::process
