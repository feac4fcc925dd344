#include "base/result.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace keiko {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kCancelled: return "cancelled";
    case Code::kUnknown: return "unknown";
    case Code::kInvalidArgument: return "invalid_argument";
    case Code::kDeadlineExceeded: return "deadline_exceeded";
    case Code::kNotFound: return "not_found";
    case Code::kAlreadyExists: return "already_exists";
    case Code::kPermissionDenied: return "permission_denied";
    case Code::kResourceExhausted: return "resource_exhausted";
    case Code::kFailedPrecondition: return "failed_precondition";
    case Code::kAborted: return "aborted";
    case Code::kOutOfRange: return "out_of_range";
    case Code::kUnimplemented: return "unimplemented";
    case Code::kInternal: return "internal";
    case Code::kUnavailable: return "unavailable";
    case Code::kDataLoss: return "data_loss";
    case Code::kUnauthenticated: return "unauthenticated";
  }
  return "unknown";
}

std::string Error::text() const {
  std::string out(code_name(code));
  out += ": ";
  out += message;
  if (!where.empty()) {
    out += " (";
    out += where;
    out += ")";
  }
  return out;
}

Error errno_error(std::string_view what, int error_number) {
  Code code = Code::kUnknown;
  switch (error_number) {
    case ENOENT: code = Code::kNotFound; break;
    case EEXIST: code = Code::kAlreadyExists; break;
    case EACCES:
    case EPERM:
    case EROFS: code = Code::kPermissionDenied; break;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENOMEM: code = Code::kResourceExhausted; break;
    case EADDRINUSE: code = Code::kAlreadyExists; break;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE: code = Code::kUnavailable; break;
    case ETIMEDOUT: code = Code::kDeadlineExceeded; break;
    case ENOTDIR:
    case EISDIR: code = Code::kFailedPrecondition; break;
    case EIO: code = Code::kDataLoss; break;
    default: break;
  }
  const bool full = error_number == ENOSPC || error_number == EDQUOT;
  return {code,
          std::string(what) + ": " + std::strerror(error_number) +
              (full ? "; make room there" : ""),
          {}};
}

void check_failed(const char* file, int line, const char* text) {
  std::fprintf(stderr, "CHECK failed at %s:%d: %s\n", file, line, text);
  std::fflush(stderr);
  std::abort();
}

}  // namespace keiko
