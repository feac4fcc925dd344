#include "model/logs/log_name.h"

#include "base/text.h"

namespace keiko {

std::string to_text(LogStream stream) { return stream == LogStream::kErr ? "err" : "out"; }

Result<LogStream> parse_log_stream(std::string_view text) {
  if (text == "out") return LogStream::kOut;
  if (text == "err") return LogStream::kErr;
  return invalid_argument("stream: " + quote_text(text) + " is not one of out, err", "stream");
}

std::string to_text(const LogName& name) {
  return to_text(name.worker) + "." + to_text(name.stream);
}

JobId job_of_log_folder(std::string_view name) {
  JobId job;
  const bool read = name.starts_with('j') && parse_digits(name.substr(1), job.number);
  return read ? job : JobId{};
}

std::string log_path(const LogName& name) {
  return to_text(name.worker.job) + "/" + std::to_string(name.worker.attempt) + "/" +
         std::to_string(name.worker.rank) + "." + to_text(name.stream);
}

}  // namespace keiko
