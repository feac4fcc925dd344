// What keiko-train does from its arguments and environment to its exit code. apps/ hands in how
// ranks are connected; everything else of the program is here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "ports/collective.h"

namespace keiko::train {

/// Who this rank is, as torchrun's environment and the agent say.
struct RankEnvironment {
  int rank = 0;
  int world = 1;
  std::string master_addr = "127.0.0.1";
  int master_port = 0;
  std::string job;             ///< KEIKO_JOB_ID
  int attempt = 1;             ///< KEIKO_ATTEMPT
  std::string socket_path;     ///< KEIKO_SOCKET
  std::string checkpoint_dir;  ///< KEIKO_CHECKPOINT_DIR
  std::string resume_from;     ///< KEIKO_RESUME_FROM: what the server committed last
};

/// Reads the variables. RETURNS: kInvalidArgument naming the variable that makes no sense.
Result<RankEnvironment> read_environment(const std::map<std::string, std::string>& variables);

using CollectiveOpener = std::function<Result<std::unique_ptr<Collective>>(const RankEnvironment&)>;

/// Runs the program. RETURNS: its exit code; what went wrong is on standard error.
int run_command(const std::vector<std::string>& arguments,
                const std::map<std::string, std::string>& variables,
                const CollectiveOpener& open_collective);

inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitPeerLost = 75;  // EX_TEMPFAIL: another attempt may do
inline constexpr int kExitSignal = 128;   // plus the signal's number

}  // namespace keiko::train
