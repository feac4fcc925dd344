// Lays the tar archive of one layer over a folder: files come, and files that the layer says are
// gone go (".wh." names). Whatever the archive says, nothing outside the folder is touched: names
// with ".." are refused, and links on the way lead only within it. For one thread.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "drivers/images/store/tar_reader.h"
#include "posix/fd.h"

namespace keiko::images {

class Layer {
 public:
  /// `root`: a descriptor of the folder, which stays the caller's.
  explicit Layer(int root);

  /// RETURNS: an Error that names the entry which cannot be laid down; kResourceExhausted if the
  /// disk is full. What was laid down before it stays.
  Done lay(TarReader& archive);

 private:
  Done lay_entry(const TarEntry& entry, TarReader& archive);
  Done lay_file(const TarEntry& entry, TarReader& archive);
  Done lay_folder(const TarEntry& entry);
  Done lay_link(const TarEntry& entry);
  Done enter_parent(const std::string& path);
  Done take_away(const std::string& mark);
  Done empty_parent();
  bool remove_entry(const std::string& name);
  void dress(const TarEntry& entry);

  const int root_;
  const bool owns_;             ///< may give files to other users
  Fd parent_;        ///< of the entry
  std::string parent_path_;
  std::string name_;            ///< of the entry in it
  std::set<std::string> laid_;  ///< paths of this layer, which its own marks spare
};

}  // namespace keiko::images
