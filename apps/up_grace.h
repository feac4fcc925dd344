// How long the programs of a pool may take to stop.
#pragma once

#include <chrono>
#include <string>

#include "base/time.h"

namespace keiko::up {

/// RETURNS: the longest time that a job which runs gives its workers between SIGTERM and SIGKILL,
/// as the server at `grpc` says; what jobs get that say nothing of it if it does not answer.
Duration longest_grace(const std::string& grpc);

/// RETURNS: what an agent gets to stop together with its workers: that, and some time for itself.
std::chrono::seconds agent_patience(const std::string& grpc);

}  // namespace keiko::up
