// Temporary file, fsync, rename.
#include "server/address_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "posix/fd.h"

namespace keiko::server {
namespace {

std::string file_of(const std::string& state_dir) { return state_dir + "/server.json"; }

std::string pid_field() { return "\"pid\":" + std::to_string(getpid()) + ","; }

Done write_durably(int fd, std::string_view bytes, const std::string& path) {
  if (!write_all(fd, bytes)) return errno_error("write " + path, errno);
  return fsync(fd) == 0 ? done() : Done(errno_error("fsync " + path, errno));
}

}  // namespace

Done write_address_file(const std::string& state_dir, const ServerAddresses& addresses) {
  const std::string path = file_of(state_dir);
  const std::string temporary = path + "." + std::to_string(getpid());
  Fd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) return errno_error("open " + temporary, errno);
  const Done written = write_durably(fd.get(),
                                     "{" + pid_field() + "\"grpc\":" +
                                         quote_text(addresses.grpc) + ",\"http\":" +
                                         quote_text(addresses.http) + "}\n",
                                     temporary);
  fd.reset();
  if (!written.ok()) {
    unlink(temporary.c_str());
    return written;
  }
  if (rename(temporary.c_str(), path.c_str()) != 0)
    return errno_error("rename " + temporary, errno);
  return done();
}

void remove_address_file(const std::string& state_dir) {
  std::ifstream file(file_of(state_dir));
  std::stringstream text;
  text << file.rdbuf();
  if (text.str().find(pid_field()) != std::string::npos) unlink(file_of(state_dir).c_str());
}

}  // namespace keiko::server
