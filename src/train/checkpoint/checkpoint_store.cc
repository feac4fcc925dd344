#include "train/checkpoint/checkpoint_store.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/check.h"
#include "base/id.h"
#include "base/log.h"
#include "base/text.h"

namespace keiko::train {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kSuffix = ".ckpt";
constexpr std::string_view kSetAsideSuffix = ".ckpt.superseded";
constexpr size_t kDigits = 10;

/// RETURNS: the step in "step-0000000120.ckpt", where `suffix` is ".ckpt".
std::optional<int64_t> step_of(const std::string& name, std::string_view suffix) {
  if (name.size() < kPrefix.size() + suffix.size()) return std::nullopt;
  if (!name.starts_with(kPrefix) || !name.ends_with(suffix)) return std::nullopt;
  const std::string_view digits =
      std::string_view(name).substr(kPrefix.size(), name.size() - kPrefix.size() - suffix.size());
  uint64_t step = 0;
  if (!parse_digits(digits, step)) return std::nullopt;
  return static_cast<int64_t>(step);
}

/// RETURNS: the steps of the files with that suffix, newest first.
std::vector<int64_t> steps_with(const std::string& folder, std::string_view suffix) {
  std::vector<int64_t> steps;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto step = step_of(entry.path().filename().string(), suffix);
    if (step) steps.push_back(*step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

std::string name_of(int64_t step, std::string_view suffix) {
  std::string digits = std::to_string(step);
  digits.insert(0, kDigits - std::min(kDigits, digits.size()), '0');
  return std::string(kPrefix) + digits + std::string(suffix);
}

}  // namespace

Result<CheckpointStore> CheckpointStore::open(const std::string& folder, int64_t keep) {
  CHECK(keep >= 1);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return errno_error("create the folder " + folder, error.value());
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return errno_error("write checkpoints into " + folder, errno);
  }
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kUnfinishedSuffix)) {
      log_info("unfinished_checkpoint_removed", "path=" + entry.path().string());
      fs::remove(entry.path(), error);
    }
  }
  return CheckpointStore(folder, keep);
}

std::string CheckpointStore::path_of(int64_t step) const {
  return folder_ + "/" + name_of(step, kSuffix);
}

std::vector<int64_t> CheckpointStore::steps() const { return steps_with(folder_, kSuffix); }

Result<std::string> CheckpointStore::save(int64_t step,
                                          const std::vector<SectionView>& sections) const {
  const std::string path = path_of(step);
  TRY(write_section_file(path, sections));
  const std::vector<int64_t> all = steps();
  for (size_t i = static_cast<size_t>(keep_); i < all.size(); ++i) {
    unlink(path_of(all[i]).c_str());
  }
  for (const int64_t aside : steps_with(folder_, kSetAsideSuffix)) {
    if (aside <= step) unlink((folder_ + "/" + name_of(aside, kSetAsideSuffix)).c_str());
  }
  return path;
}

Done CheckpointStore::set_aside_after(int64_t step) const {
  for (const int64_t later : steps()) {
    if (later <= step) break;
    const std::string aside = folder_ + "/" + name_of(later, kSetAsideSuffix);
    if (rename(path_of(later).c_str(), aside.c_str()) != 0) {
      return errno_error("rename " + path_of(later) + " to " + aside, errno);
    }
    log_info("checkpoint_set_aside", "path=" + aside + " run_begins_at_step=" +
                                         std::to_string(step));
  }
  return done();
}

Result<StoredCheckpoint> CheckpointStore::load_committed(const std::string& committed) const {
  Result<Sections> sections = read_section_file(committed);
  if (sections.ok()) return StoredCheckpoint{0, committed, std::move(*sections)};
  // The file of rank 0 is the state of every rank. So whichever whole one is taken, all ranks begin
  // at the same step and go on in the same bits; the newest loses the least work.
  log_warn("committed_checkpoint_unreadable",
           "path=" + committed + " reason=" + quote_text(sections.error().message) +
               " next=" + quote_text("the newest whole one in " + folder_));
  auto newest = TRY(load_newest());
  if (newest) return std::move(*newest);
  return data_loss("the checkpoint to resume from, " + committed + ", cannot be read (" +
                   sections.error().message + "), and " + folder_ +
                   " has no other; put it back, or start the job anew without it");
}

Result<std::optional<StoredCheckpoint>> CheckpointStore::load_newest() const {
  const std::vector<int64_t> all = steps();
  for (const int64_t step : all) {
    Result<Sections> sections = read_section_file(path_of(step));
    if (sections.ok()) {
      return std::optional(StoredCheckpoint{step, path_of(step), std::move(*sections)});
    }
    log_warn("checkpoint_passed_over",
             "step=" + std::to_string(step) + " reason=" + quote_text(sections.error().message) +
                 " next=" + (step == all.back() ? "none" : "the older one"));
  }
  if (all.empty()) return std::optional<StoredCheckpoint>();
  return data_loss("none of the " + std::to_string(all.size()) + " checkpoints in " + folder_ +
                   " can be read; move them away, or pass --fresh, to start over");
}

}  // namespace keiko::train
