// The rows of the catalogue by what they are about; catalogue.cc puts them together.
#pragma once

#include <span>

#include "telemetry/catalogue.h"

namespace keiko::telemetry {

std::span<const MetricRow> device_rows();
std::span<const MetricRow> node_rows();    ///< the machine itself, its disks
std::span<const MetricRow> worker_rows();
std::span<const MetricRow> network_rows(); ///< NICs and RDMA ports

}  // namespace keiko::telemetry
