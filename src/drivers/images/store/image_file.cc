#include "drivers/images/store/image_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "drivers/images/store/image_json.h"
#include "drivers/images/store/layer.h"
#include "drivers/images/store/tar_reader.h"

namespace keiko::images {
namespace {

constexpr int64_t kLargestText = 16 * 1024 * 1024;
constexpr const char* kLayoutMark = "oci-layout";
constexpr const char* kDockerManifest = "manifest.json";

std::string blob_name(const std::string& digest) { return "blobs/sha256/" + digest; }

/// "./index.json" is "index.json".
std::string plain(std::string name) {
  while (name.starts_with("./")) name.erase(0, 2);
  return name;
}

std::string first_bytes(int fd, int64_t offset) {
  char head[8] = {};
  const ssize_t got = pread(fd, head, sizeof head, offset);
  return got > 0 ? std::string(head, static_cast<size_t>(got)) : std::string();
}

}  // namespace

Result<ImageFile> ImageFile::open(const std::string& path) {
  ImageFile image;
  struct stat found{};
  if (stat(path.c_str(), &found) != 0) {
    return failed_precondition(std::string(std::strerror(errno)) + "; it must be on this node");
  }
  if (S_ISDIR(found.st_mode)) {
    image.folder_ = path;
    TRY(image.read_layout());
    return image;
  }
  image.file_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!image.file_ || !S_ISREG(found.st_mode)) {
    return failed_precondition("it cannot be read as a file or folder");
  }
  const std::string head = first_bytes(image.file_.get(), 0);
  if (!is_packed(head)) TRY(image.index_archive());
  if (image.has(kLayoutMark)) {
    TRY(image.read_layout());
  } else if (image.has(kDockerManifest)) {
    TRY(image.read_docker());
  } else {
    // A root file system. The file's identity stands for its content, as nothing else names it.
    image.text_.layers = {LayerPart{}};
    image.text_.key = sha256_of(
        join({path, std::to_string(found.st_dev), std::to_string(found.st_ino),
              std::to_string(found.st_size), std::to_string(found.st_mtim.tv_sec),
              std::to_string(found.st_mtim.tv_nsec), std::to_string(found.st_ctim.tv_nsec)},
             "\n"));
  }
  return image;
}

Done ImageFile::index_archive() {
  struct stat found{};
  if (fstat(file_.get(), &found) != 0) return errno_error("cannot look at it", errno);
  FileRange range(file_.get(), 0, found.st_size);
  TarReader reader(range);
  while (const std::optional<TarEntry> entry = TRY(reader.next())) {
    if (entry->kind != TarKind::kFile) continue;
    parts_[plain(entry->name)] = {entry->data_at, entry->size};
  }
  return done();
}

Result<ImageFile::Part> ImageFile::find(const std::string& name) const {
  Part part;
  if (!folder_.empty()) {
    part.own = Fd(::open((folder_ + "/" + name).c_str(), O_RDONLY | O_CLOEXEC));
    struct stat found{};
    if (!part.own || fstat(part.own.get(), &found) != 0 || !S_ISREG(found.st_mode)) {
      return failed_precondition("its part " + name + " is missing");
    }
    part.fd = part.own.get();
    part.size = found.st_size;
    return part;
  }
  const auto range = parts_.find(name);
  if (range == parts_.end()) return failed_precondition("its part " + name + " is missing");
  part.fd = file_.get();
  part.offset = range->second.offset;
  part.size = range->second.size;
  return part;
}

bool ImageFile::has(const std::string& name) const { return find(name).ok(); }

Result<std::string> ImageFile::read_text(const std::string& name) const {
  const Part part = TRY(find(name));
  if (part.size > kLargestText) return failed_precondition("its part " + name + " is too large");
  std::string text(static_cast<size_t>(part.size), '\0');
  FileRange range(part.fd, part.offset, part.size);
  for (size_t have = 0; have < text.size();) {
    have += TRY(range.read(text.data() + have, text.size() - have));
  }
  return text;
}

Result<std::string> ImageFile::read_blob(const std::string& digest) const {
  std::string text = TRY(read_text(blob_name(digest)));
  if (sha256_of(text) == digest) return text;
  return data_loss("the part sha256:" + digest + " is damaged");
}

Done ImageFile::take_config(const std::string& json) {
  ImageConfig config = TRY(read_config(json));
  text_.env = std::move(config.env);
  if (config.diff_ids.size() != text_.layers.size()) {
    return failed_precondition("its config tells of " + std::to_string(config.diff_ids.size()) +
                               " layers and its manifest of " +
                               std::to_string(text_.layers.size()));
  }
  for (size_t i = 0; i < text_.layers.size(); ++i) text_.layers[i].digest = config.diff_ids[i];
  return done();
}

Done ImageFile::read_layout() {
  bool nested = false;
  const std::string index = TRY(read_text("index.json"));
  std::string digest = TRY(choose_manifest(index, nested));
  if (nested) {
    const std::string inner = TRY(read_blob(digest));
    digest = TRY(choose_manifest(inner, nested));
  }
  if (nested) return failed_precondition("its index names an index that names an index");
  const std::string json = TRY(read_blob(digest));
  const Manifest manifest = TRY(read_manifest(json));
  text_.key = digest;
  for (const std::string& layer : manifest.layers) {
    text_.layers.push_back({blob_name(layer), layer, {}});
  }
  const std::string config = TRY(read_blob(manifest.config));
  return take_config(config);
}

Done ImageFile::read_docker() {
  const std::string json = TRY(read_text(kDockerManifest));
  const Manifest manifest = TRY(read_docker_manifest(json));
  for (const std::string& layer : manifest.layers) text_.layers.push_back({layer, {}, {}});
  const std::string config = TRY(read_text(manifest.config));
  text_.key = sha256_of(config);  // which names all of its layers by their digests
  return take_config(config);
}

Done ImageFile::lay(const LayerPart& layer, int root) const {
  Part part;
  if (layer.name.empty()) {
    struct stat found{};
    if (fstat(file_.get(), &found) != 0) return errno_error("cannot look at it", errno);
    part.fd = file_.get();
    part.size = found.st_size;
  } else {
    part = TRY(find(layer.name));
  }
  auto raw = std::make_unique<HashedSource>(
      std::make_unique<FileRange>(part.fd, part.offset, part.size));
  HashedSource* const packed = raw.get();
  const std::string head = first_bytes(part.fd, part.offset);
  HashedSource whole(TRY(unpacked(std::move(raw), head)));
  TarReader reader(whole);
  TRY(Layer(root).lay(reader));
  if (!layer.digest.empty()) TRY(whole.check(layer.digest));
  if (!layer.packed_digest.empty()) TRY(packed->check(layer.packed_digest));
  return done();
}

}  // namespace keiko::images
