// Tar archives for tests, written byte by byte, so that wrong ones can be written as well.
#pragma once

#include <string>

namespace keiko::images {

struct TarLine {
  std::string name;
  std::string text = {};     ///< a file's bytes
  char flag = '0';
  std::string target = {};   ///< of a link
  int mode = 0644;
};

class TestTar {
 public:
  TestTar& add(const TarLine& line);
  TestTar& file(const std::string& name, const std::string& text, int mode = 0644) {
    return add({name, text, '0', {}, mode});
  }
  TestTar& folder(const std::string& name) { return add({name, {}, '5', {}, 0755}); }
  TestTar& link(const std::string& name, const std::string& target, char flag = '2') {
    return add({name, {}, flag, target, 0777});
  }
  /// RETURNS: the archive with its end.
  std::string bytes() const { return bytes_ + std::string(1024, '\0'); }

 private:
  std::string bytes_;
};

/// What gzip makes of it.
std::string gzip(const std::string& bytes);

void write_file(const std::string& path, const std::string& bytes);
std::string text_of_file(const std::string& path);

}  // namespace keiko::images
