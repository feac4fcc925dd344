// CheckpointStore: the checkpoints of one run in one folder, newest first, the last few kept.
//
// A checkpoint of step 120 is the section file step-0000000120.ckpt. What cannot be read is passed
// over for the next older one, with a warning that says why. A run that begins before the newest
// file (at the one that the server committed, or afresh) sets the later ones aside, under the name
// step-0000000120.ckpt.superseded, until it has a checkpoint of that step itself. One writer
// (rank 0) per folder, from one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "train/checkpoint/section_file.h"

namespace keiko::train {

struct StoredCheckpoint {
  int64_t step = 0;
  std::string path;
  Sections sections;
};

class CheckpointStore {
 public:
  /// Makes the folder where it is missing and removes files left in the making. `keep` >= 1.
  static Result<CheckpointStore> open(const std::string& folder, int64_t keep);

  /// An existing folder, to read from; nothing in it is touched.
  static CheckpointStore at(const std::string& folder) { return {folder, 1}; }

  /// Writes the checkpoint of `step` durably, then removes all but the newest `keep` and what was
  /// set aside of this step or an earlier one. RETURNS: its path.
  Result<std::string> save(int64_t step, const std::vector<SectionView>& sections) const;

  /// RETURNS: the newest whole checkpoint, nothing if the folder has none, or kDataLoss if it has
  /// only damaged ones: a run that lost all its state must not start over in silence.
  Result<std::optional<StoredCheckpoint>> load_newest() const;

  /// RETURNS: the checkpoint in the file `committed`; if that is missing or damaged, the newest
  /// whole one, after a warning; kDataLoss if there is none at all: somebody counts on one.
  Result<StoredCheckpoint> load_committed(const std::string& committed) const;

  /// Sets aside every file of a step after `step`: it is of a future that the run now writes anew.
  Done set_aside_after(int64_t step) const;

  /// RETURNS: the steps that have a file, newest first.
  std::vector<int64_t> steps() const;
  std::string path_of(int64_t step) const;

 private:
  CheckpointStore(std::string folder, int64_t keep) : folder_(std::move(folder)), keep_(keep) {}

  std::string folder_;
  int64_t keep_;
};

}  // namespace keiko::train
