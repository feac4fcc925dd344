// RecordedMachine: a machine's sys, proc and dev out of a manifest in tests/machines, unpacked into
// a folder of its own that lives as long as the object. A test moves a driver's root there and may
// then break single files. For tests of every room.
//
// A manifest is text, one entry a line: path, a tab, content. Content may hold \n and \t; a newline
// at its end is implied, as the kernel writes it. "-> target" makes a link, "/" an empty folder.
// Lines that begin with # are comments.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/check.h"

namespace keiko {

class RecordedMachine {
 public:
  /// REQUIRES: tests/machines/`name`.txt is there and whole; another manifest is a bug of the test.
  explicit RecordedMachine(const std::string& name) : RecordedMachine() {
    const auto repository = std::filesystem::path(__FILE__).parent_path() / "../../..";
    std::ifstream manifest(repository / "tests/machines" / (name + ".txt"));
    CHECK(manifest.good());
    std::string line;
    while (std::getline(manifest, line)) {
      if (line.empty() || line.front() == '#') continue;
      const size_t tab = line.find('\t');
      CHECK(tab != std::string::npos);
      add(line.substr(0, tab), line.substr(tab + 1));
    }
  }

  /// An empty machine.
  RecordedMachine() {
    const char* const above = std::getenv("TMPDIR");
    root_ = std::string(above != nullptr ? above : "/tmp") + "/keiko-machine-XXXXXX";
    CHECK(mkdtemp(root_.data()) != nullptr);
  }
  ~RecordedMachine() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  RecordedMachine(const RecordedMachine&) = delete;
  RecordedMachine& operator=(const RecordedMachine&) = delete;

  const std::string& root() const { return root_; }

  /// Adds an entry as a manifest's line would, in place of what was there.
  void add(const std::string& path, const std::string& content) {
    namespace fs = std::filesystem;
    const fs::path full = root_ + "/" + path;
    if (content == "/") {
      fs::create_directories(full);
      return;
    }
    fs::create_directories(full.parent_path());
    std::error_code ignored;
    fs::remove(full, ignored);
    if (content.compare(0, 3, "-> ") == 0) fs::create_symlink(content.substr(3), full);
    else write(path, unescaped(content) + "\n");
  }

  /// Writes exactly these bytes: a value that is torn, empty or nonsense.
  void write(const std::string& path, const std::string& bytes) {
    std::ofstream(root_ + "/" + path, std::ios::trunc) << bytes;
  }

  std::string read(const std::string& path) const {
    std::ifstream file(root_ + "/" + path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Takes a file, or a folder with all in it, away.
  void remove(const std::string& path) { std::filesystem::remove_all(root_ + "/" + path); }

  /// RETURNS: the paths of all plain files, sorted.
  std::vector<std::string> files() const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      if (entry.is_symlink() || !entry.is_regular_file()) continue;
      paths.push_back(entry.path().string().substr(root_.size() + 1));
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

 private:
  static std::string unescaped(const std::string& content) {
    std::string text;
    for (size_t i = 0; i < content.size(); ++i) {
      if (content[i] == '\\' && i + 1 < content.size()) {
        const char code = content[++i];
        text += code == 'n' ? '\n' : code == 't' ? '\t' : code;
      } else {
        text += content[i];
      }
    }
    return text;
  }

  std::string root_;
};

}  // namespace keiko
