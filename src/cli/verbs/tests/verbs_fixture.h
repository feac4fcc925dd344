// What the tests of verbs share: jobs and pieces of logs that a server tells of, files for a while.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cli/fake_client.h"

namespace keiko::cli {

inline v1::Job job_of(const std::string& id, const std::string& name, const std::string& status) {
  v1::Job job;
  job.set_id(id);
  job.mutable_spec()->set_name(name);
  job.mutable_spec()->set_user("ada");
  job.set_status(status);
  job.set_attempt(1);
  return job;
}

inline v1::LogPiece piece_of(int rank, const std::string& stream, int64_t offset,
                      const std::string& text) {
  v1::LogPiece piece;
  piece.set_attempt(1);
  piece.set_rank(rank);
  piece.set_stream(stream);
  piece.set_offset(offset);
  piece.set_data(text);
  return piece;
}

class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text) {
    std::string pattern = (std::filesystem::temp_directory_path() / "keiko_cli_XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    std::ofstream(path(name)) << text;
  }
  ~TemporaryFile() { std::filesystem::remove_all(directory_); }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

}  // namespace keiko::cli
