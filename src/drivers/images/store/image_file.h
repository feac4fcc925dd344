// An image as a file or folder, and what it says of itself: its layers, its environment, and the
// digest that names it. Reads OCI layouts, OCI archives, what `docker save` writes, and tar
// archives of a root file system. What has a digest is held against it. For one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "drivers/images/store/byte_source.h"
#include "posix/fd.h"

namespace keiko::images {

/// One layer: where its bytes lie, and by which digest they are known.
struct LayerPart {
  std::string name;            ///< within the image; empty: the file itself is the layer
  std::string packed_digest;   ///< sha256 of its bytes as they lie there; empty: not known
  std::string digest;          ///< ... unpacked; empty: not known
};

struct ImageText {
  std::string key;             ///< names its content: 64 hexadecimal digits
  std::vector<LayerPart> layers;
  std::map<std::string, std::string> env;
};

class ImageFile {
 public:
  /// RETURNS: kFailedPrecondition if there is no image at `path`; the message does not name it.
  static Result<ImageFile> open(const std::string& path);

  const ImageText& text() const { return text_; }

  /// Lays one of its layers over the folder `root`.
  Done lay(const LayerPart& layer, int root) const;

 private:
  struct Part {
    Fd own;         ///< of a layout's file; none: the archive's
    int fd = -1;
    int64_t offset = 0;
    int64_t size = 0;
  };
  struct Range {
    int64_t offset = 0;
    int64_t size = 0;
  };

  Done index_archive();
  Result<Part> find(const std::string& name) const;
  bool has(const std::string& name) const;
  Result<std::string> read_text(const std::string& name) const;
  Result<std::string> read_blob(const std::string& digest) const;
  Done read_layout();
  Done read_docker();
  Done take_config(const std::string& json);

  std::string folder_;                   ///< of a layout; empty: an archive
  Fd file_;
  std::map<std::string, Range> parts_;   ///< of an archive, by name
  ImageText text_;
};

}  // namespace keiko::images
