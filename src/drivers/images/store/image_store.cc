#include "drivers/images/store/image_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

#include "drivers/images/store/image_file.h"

namespace keiko::images {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kKeepUnused{7 * 24};
constexpr const char* kLockEnding = ".lock";

bool is_layout(const std::string& path) {
  return access((path + "/oci-layout").c_str(), F_OK) == 0;
}

bool is_folder(const std::string& path) {
  struct stat found{};
  return stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

void remove_tree(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

bool take(const Fd& lock, int how) {
  int told = 0;
  while ((told = flock(lock.get(), how)) != 0 && errno == EINTR) continue;
  return told == 0;
}

/// Its time of change is when it was last used.
Result<Fd> open_lock(const std::string& base) {
  Fd lock(open((base + kLockEnding).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return errno_error("cannot open " + base + kLockEnding, errno);
  futimens(lock.get(), nullptr);
  return lock;
}

void remove_unused(const std::string& store, const std::string& kept) {
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(store, failed)) {
    const std::string path = entry.path();
    if (!path.ends_with(kLockEnding) || path == kept + kLockEnding) continue;
    const auto used = fs::last_write_time(entry.path(), failed);
    if (failed || fs::file_time_type::clock::now() - used < kKeepUnused) continue;
    const std::string base = path.substr(0, path.size() - std::string(kLockEnding).size());
    const Fd lock(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!lock || !take(lock, LOCK_EX | LOCK_NB)) continue;
    // The lock's file stays: another may wait for it at this very moment.
    remove_tree(base);
    remove_tree(base + ".part");
  }
}

Done unpack(const ImageFile& image, const std::string& base) {
  const std::string part = base + ".part";
  remove_tree(part);
  std::error_code failed;
  fs::create_directories(part + "/rootfs", failed);
  if (failed) return errno_error("cannot make " + part, failed.value());
  const auto lay_all = [&]() -> Done {
    const Fd root(open((part + "/rootfs").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) return errno_error("cannot open " + part, errno);
    fchmod(root.get(), 0755);
    for (const LayerPart& layer : image.text().layers) TRY(image.lay(layer, root.get()));
    return done();
  };
  Done laid = lay_all();
  if (laid.ok() && rename(part.c_str(), base.c_str()) != 0) {
    laid = errno_error("cannot rename " + part, errno);
  }
  if (!laid.ok()) remove_tree(part);
  return laid;
}

Result<PreparedImage> prepare_file(const std::string& path, const std::string& store) {
  const ImageFile image = TRY(ImageFile::open(path));
  std::error_code failed;
  fs::create_directories(store, failed);
  if (failed) return errno_error("cannot make " + store, failed.value());
  const std::string base = store + "/" + image.text().key;
  PreparedImage prepared{base + "/rootfs", image.text().env, TRY(open_lock(base))};
  while (true) {
    if (!take(prepared.lock, LOCK_SH)) return errno_error("cannot lock " + base, errno);
    if (is_folder(prepared.rootfs)) return prepared;
    if (!take(prepared.lock, LOCK_EX)) return errno_error("cannot lock " + base, errno);
    if (is_folder(prepared.rootfs)) continue;
    TRY(unpack(image, base));
    remove_unused(store, base);
  }
}

}  // namespace

Result<PreparedImage> prepare_image(const std::string& path, const std::string& store) {
  if (is_folder(path) && !is_layout(path)) return PreparedImage{path, {}, Fd()};
  Result<PreparedImage> prepared = prepare_file(path, store);
  if (prepared.ok()) return prepared;
  const Error& why = prepared.error();
  const bool full = why.code == Code::kResourceExhausted;
  const std::string text = "image " + path + ": " + why.message;
  return full ? resource_exhausted(text) : failed_precondition(text);
}

}  // namespace keiko::images
