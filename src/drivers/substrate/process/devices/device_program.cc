#include "drivers/substrate/process/devices/device_program.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "drivers/substrate/process/files.h"

namespace keiko::process {
namespace {

// Registers: the context, what is asked for, and scratch.
constexpr uint8_t kContext = BPF_REG_1;
constexpr uint8_t kType = BPF_REG_2;
constexpr uint8_t kAccess = BPF_REG_3;
constexpr uint8_t kMajor = BPF_REG_4;
constexpr uint8_t kMinor = BPF_REG_5;
constexpr uint8_t kScratch = BPF_REG_6;

constexpr uint32_t kMostPrograms = 64;  // BPF_CGROUP_MAX_PROGS

bpf_insn instruction(int code, uint8_t to, int64_t value) {
  bpf_insn made{};
  made.code = static_cast<uint8_t>(code);
  made.dst_reg = to & 0xf;
  made.imm = static_cast<int32_t>(value);
  return made;
}
bpf_insn load(uint8_t to, size_t offset) {
  bpf_insn made = instruction(BPF_LDX | BPF_MEM | BPF_W, to, 0);
  made.src_reg = kContext & 0xf;
  made.off = static_cast<int16_t>(offset);
  return made;
}
bpf_insn with(int operation, uint8_t to, int64_t value) {
  return instruction(BPF_ALU | operation | BPF_K, to, value);
}
bpf_insn move(uint8_t to, uint8_t from) {
  bpf_insn made = instruction(BPF_ALU64 | BPF_MOV | BPF_X, to, 0);
  made.src_reg = from & 0xf;
  return made;
}

int access_bits(const DeviceRule& rule) {
  return (rule.make ? BPF_DEVCG_ACC_MKNOD : 0) | (rule.read ? BPF_DEVCG_ACC_READ : 0) |
         (rule.write ? BPF_DEVCG_ACC_WRITE : 0);
}

void append_answer(std::vector<bpf_insn>& program, int answer) {
  program.push_back(instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, answer));
  program.push_back(instruction(BPF_JMP | BPF_EXIT, 0, 0));
}

void append_rule(std::vector<bpf_insn>& program, const DeviceRule& rule) {
  std::vector<bpf_insn> body;
  std::vector<size_t> jumps;  // to the next rule, where this one does not fit
  const auto unless_equal = [&](uint8_t reg, int64_t value) {
    jumps.push_back(body.size());
    body.push_back(instruction(BPF_JMP32 | BPF_JNE | BPF_K, reg, value));
  };
  unless_equal(kType, rule.type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR);
  body.push_back(move(kScratch, kAccess));
  body.push_back(with(BPF_AND, kScratch, ~access_bits(rule)));
  unless_equal(kScratch, 0);
  if (rule.major != kAnyNumber) unless_equal(kMajor, rule.major);
  if (rule.minor != kAnyNumber) unless_equal(kMinor, rule.minor);
  append_answer(body, 1);
  for (const size_t jump : jumps) body[jump].off = static_cast<int16_t>(body.size() - jump - 1);
  program.insert(program.end(), body.begin(), body.end());
}

long bpf(int command, bpf_attr& attributes) {
  return syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

Result<Fd> load_program(const std::vector<DeviceRule>& rules) {
  const std::vector<bpf_insn> program = assemble_device_program(rules);
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  attributes.insns = address_of(program.data());
  attributes.insn_cnt = static_cast<uint32_t>(program.size());
  attributes.license = address_of("");
  std::memcpy(attributes.prog_name, "keiko_devices", sizeof "keiko_devices");
  Fd fd(static_cast<int>(bpf(BPF_PROG_LOAD, attributes)));
  if (fd) return fd;
  return errno_error("cannot load a device program; run the agent as root, or with CAP_BPF and "
                     "CAP_NET_ADMIN", errno);
}

Result<Fd> open_group(const std::string& folder) {
  Fd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) return fd;
  return errno_error("cannot open the group " + folder, errno);
}

Result<std::vector<uint32_t>> attached_programs(const Fd& group, const std::string& folder) {
  std::array<uint32_t, kMostPrograms> ids{};
  bpf_attr attributes{};
  attributes.query.target_fd = static_cast<uint32_t>(group.get());
  attributes.query.attach_type = BPF_CGROUP_DEVICE;
  attributes.query.prog_ids = address_of(ids.data());
  attributes.query.prog_cnt = kMostPrograms;
  if (bpf(BPF_PROG_QUERY, attributes) != 0) {
    return errno_error("cannot ask which device programs " + folder + " has", errno);
  }
  return std::vector<uint32_t>(ids.begin(), ids.begin() + attributes.query.prog_cnt);
}

Fd program_of_id(uint32_t id) {
  bpf_attr attributes{};
  attributes.prog_id = id;
  return Fd(static_cast<int>(bpf(BPF_PROG_GET_FD_BY_ID, attributes)));
}

/// The kernel's digest of a program's instructions; all zero if it cannot be told.
std::array<uint8_t, BPF_TAG_SIZE> tag_of(const Fd& program) {
  bpf_prog_info told{};
  bpf_attr attributes{};
  attributes.info.bpf_fd = static_cast<uint32_t>(program.get());
  attributes.info.info_len = sizeof told;
  attributes.info.info = address_of(&told);
  std::array<uint8_t, BPF_TAG_SIZE> tag{};
  if (bpf(BPF_OBJ_GET_INFO_BY_FD, attributes) == 0) {
    std::memcpy(tag.data(), told.tag, sizeof told.tag);
  }
  return tag;
}

void detach(const Fd& group, const Fd& program) {
  bpf_attr attributes{};
  attributes.target_fd = static_cast<uint32_t>(group.get());
  attributes.attach_bpf_fd = static_cast<uint32_t>(program.get());
  attributes.attach_type = BPF_CGROUP_DEVICE;
  bpf(BPF_PROG_DETACH, attributes);
}

}  // namespace

std::vector<bpf_insn> assemble_device_program(const std::vector<DeviceRule>& rules) {
  std::vector<bpf_insn> program = {
      load(kType, offsetof(bpf_cgroup_dev_ctx, access_type)),
      move(kAccess, kType),
      with(BPF_AND, kType, 0xffff),
      with(BPF_RSH, kAccess, 16),
      load(kMajor, offsetof(bpf_cgroup_dev_ctx, major)),
      load(kMinor, offsetof(bpf_cgroup_dev_ctx, minor)),
  };
  for (const DeviceRule& rule : sorted(rules)) append_rule(program, rule);
  append_answer(program, 0);
  return program;
}

Done attach_device_program(const std::string& folder, const std::vector<DeviceRule>& rules) {
  const Fd program = TRY(load_program(rules));
  const Fd group = TRY(open_group(folder));
  const std::vector<uint32_t> before = TRY(attached_programs(group, folder));
  bpf_attr attributes{};
  attributes.target_fd = static_cast<uint32_t>(group.get());
  attributes.attach_bpf_fd = static_cast<uint32_t>(program.get());
  attributes.attach_type = BPF_CGROUP_DEVICE;
  attributes.attach_flags = BPF_F_ALLOW_MULTI;
  if (bpf(BPF_PROG_ATTACH, attributes) != 0) {
    return errno_error("cannot attach a device program to " + folder, errno);
  }
  // All programs must agree, so others go last: there is no moment without rules.
  for (const uint32_t id : before) {
    if (const Fd other = program_of_id(id)) detach(group, other);
  }
  return done();
}

Result<bool> has_device_program(const std::string& folder, const std::vector<DeviceRule>& rules) {
  const Fd wanted = TRY(load_program(rules));
  const Fd group = TRY(open_group(folder));
  const std::vector<uint32_t> ids = TRY(attached_programs(group, folder));
  if (ids.size() != 1) return false;
  const Fd found = program_of_id(ids[0]);
  return found && tag_of(found) == tag_of(wanted);
}

Done detach_device_programs(const std::string& folder) {
  const Fd group = TRY(open_group(folder));
  for (const uint32_t id : TRY(attached_programs(group, folder))) {
    if (const Fd program = program_of_id(id)) detach(group, program);
  }
  return done();
}

}  // namespace keiko::process
