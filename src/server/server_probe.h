// ServerProbe: the server's metrics. Counted by the shell, or read from the state when scraped.
#pragma once

#include "base/metric.h"
#include "core/cluster/cluster_brain.h"

namespace keiko::server {

class ServerProbe {
 public:
  ServerProbe();

  /// Sets the gauges that follow from the state: jobs and nodes by status, devices, queue depth.
  void read(const cluster::ClusterBrain& brain, Time now, size_t inbox_size);

  /// RETURNS: everything in Prometheus' text format.
  std::string text() const { return registry_.text(); }

 private:
  MetricRegistry registry_;

 public:
  Counter& submits;          ///< jobs accepted
  Counter& commands;         ///< commands stepped
  Counter& refused_commands; ///< commands turned away: queue or disk full
  Counter& reports;          ///< agent messages stepped
  Counter& records;          ///< journal records appended
  Counter& append_failures;
  Counter& snapshots;
  Counter& cut_readers;      ///< streams ended since their client did not read
  Counter& history_rows;     ///< spans of metrics written
  Counter& history_dropped;  ///< spans that found the queue full
  Counter& history_failures; ///< writes of the history that failed; they are tried again
  Gauge& history_writable;   ///< 1, or 0 while none is kept or its disk takes nothing
  Gauge& history_bytes;      ///< what the history takes
  Gauge& journal_writable;   ///< 1, or 0 while the disk is full
  Gauge& agents;             ///< open agent streams
  Histogram& append_seconds;
  Histogram& pass_seconds;   ///< Wake steps: deadlines and the scheduler
  Histogram& batch_events;
};

}  // namespace keiko::server
