// What agent and shim tell each other through a worker's folder. Each record is a file of its own:
//
//   lock     locked from before the shim is started until it is gone; holds its pid and start time
//   launch   agent to shim: what to run                      (before the shim is started)
//   running  shim to agent: the program runs                 (after its exec succeeded)
//   end      shim to agent, or agent for a dead shim: how it ended; nothing of it runs any more
//   shim.log what the shim itself had to say, empty as a rule
//
// Both sides may be of different versions after an upgrade: tags keep their meaning for ever.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/fields.h"
#include "model/mount.h"
#include "model/worker.h"

namespace keiko::process {

struct LaunchRecord {
  WorkerKey key;
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::string workdir;
  std::string out;           ///< absolute paths of the two logs
  std::string err;
  Bytes log_limit;           ///< per stream; 0: none
  int64_t cpu_milli = 0;
  bool cpu_ceiling = false;
  Bytes memory;
  std::vector<int32_t> cpus;
  int32_t master_port = 0;
  std::string cgroup_root;   ///< empty: no cgroups
  std::string cgroup_name;
  std::string lease;         ///< the lease file (lease.h); empty: none
  int64_t pids = 0;          ///< threads at most; 0: no limit
  std::vector<std::string> device_rules;  ///< "c 195:3 rw"; empty: it may open any
  std::string image;         ///< folder or archive of its root file system; empty: the machine's
  std::vector<Mount> mounts;
  std::vector<std::string> device_files;  ///< nodes, or folders of them, for an image's /dev
  std::string image_init;    ///< first process in an image (apps/keiko_init)
  std::string image_store;   ///< where archives are unpacked
  std::vector<std::string> device_names;  ///< "nvidia.com/gpu=GPU-1a2b", for an image

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "key", s.key);
    v(2, "argv", s.argv);
    v(3, "env", s.env);
    v(4, "workdir", s.workdir);
    v(5, "out", s.out);
    v(6, "err", s.err);
    v(7, "log_limit", s.log_limit);
    v(8, "cpu_milli", s.cpu_milli);
    v(9, "cpu_ceiling", s.cpu_ceiling);
    v(10, "memory", s.memory);
    v(11, "cpus", s.cpus);
    v(12, "master_port", s.master_port);
    v(13, "cgroup_root", s.cgroup_root);
    v(14, "cgroup_name", s.cgroup_name);
    v(15, "lease", s.lease);
    v(16, "pids", s.pids);
    v(17, "device_rules", s.device_rules);
    v(18, "image", s.image);
    v(19, "mounts", s.mounts);
    v(20, "device_files", s.device_files);
    v(21, "image_init", s.image_init);
    v(22, "image_store", s.image_store);
    v(23, "device_names", s.device_names);
  }
};

/// A process for all time: its pid, when it started (ticks since boot), and which boot that was.
struct ProcessIdentity {
  int64_t pid = 0;
  int64_t start_ticks = 0;
  std::string boot_id;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "pid", s.pid);
    v(2, "start_ticks", s.start_ticks);
    v(3, "boot_id", s.boot_id);
  }
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

struct RunningRecord {
  ProcessIdentity shim;
  ProcessIdentity program;            ///< also the leader of the worker's first session
  std::vector<std::string> cgroups;   ///< folders of the worker's groups, tracking one first
  std::vector<std::string> notes;     ///< limits that could not be held as asked
  std::map<std::string, std::string> image_env;  ///< what its image adds to its environment

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "shim", s.shim);
    v(2, "program", s.program);
    v(3, "cgroups", s.cgroups);
    v(4, "notes", s.notes);
    v(5, "image_env", s.image_env);
  }
};

/// The end, and what was already known of the run, for an agent that saw neither.
struct EndRecord {
  WorkerEnd end;
  int64_t program_pid = 0;
  std::vector<std::string> notes;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "end", s.end);
    v(2, "program_pid", s.program_pid);
    v(3, "notes", s.notes);
  }
};

}  // namespace keiko::process
