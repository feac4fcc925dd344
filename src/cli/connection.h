// Connection: which server a verb talks to, and the jobs and nodes that people name.
//
// The address is the first of: --server, KEIKO_SERVER, "grpc" in <state>/server.json as `keiko up`
// and `keiko server` write it, localhost:7070 unless a state directory was named. That is --state,
// KEIKO_STATE, $XDG_DATA_HOME/keiko or ~/.local/share/keiko.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "wire/client.h"

namespace keiko::cli {

using Variable = std::function<std::string(const std::string& name)>;
using Dial = std::function<std::shared_ptr<Client>(const std::string& address)>;

/// What was asked for on the command line; empty if it was not.
struct ServerChoice {
  std::string server;
  std::string state;
};

inline constexpr const char* kDefaultServer = "localhost:7070";

/// RETURNS: the state directory of this user, without a slash at its end.
std::string state_directory(const std::string& asked, const Variable& variable);

/// RETURNS: "host:port". kInvalidArgument for an address without a port, kFailedPrecondition for a
/// server.json that is there and cannot be read, kUnavailable for a named state directory without.
Result<std::string> server_address(const ServerChoice& choice, const Variable& variable);

class Connection {
 public:
  Connection(const ServerChoice& choice, Variable variable, Dial dial);

  /// RETURNS: the client, made at the first call. Nothing is dialled before its first call.
  Result<Client*> client();

  /// Whether there was a first call of client().
  bool is_used() const { return client_ != nullptr; }

  /// RETURNS: whom client() dials.
  Result<std::string> address() const { return server_address(choice_, variable_); }

  /// RETURNS: the id ("j12") of the job that `text` names: an id, a number, or the name of one job
  /// that has not ended, or else of exactly one that has. kNotFound; kInvalidArgument if several
  /// fit.
  Result<std::string> job_id(const std::string& text);

 private:
  const ServerChoice& choice_;
  const Variable variable_;
  const Dial dial_;
  std::shared_ptr<Client> client_;
};

}  // namespace keiko::cli
