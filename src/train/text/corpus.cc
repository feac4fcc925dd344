#include "train/text/corpus.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.h"
#include "base/prng.h"

namespace keiko::train {

Result<std::string> read_text(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno_error("open " + path, errno);
  std::string text;
  struct stat info {};
  if (fstat(fd, &info) == 0 && info.st_size > 0) text.reserve(static_cast<size_t>(info.st_size));
  char block[1 << 16];
  while (true) {
    const ssize_t n = read(fd, block, sizeof(block));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const Error error = errno_error("read " + path, errno);
      close(fd);
      return error;
    }
    if (n == 0) break;
    text.append(block, static_cast<size_t>(n));
  }
  close(fd);
  return text;
}

int64_t sample_offset(uint64_t seed, int64_t step, int64_t index, int64_t span) {
  CHECK(span > 0);
  const uint64_t mixed = splitmix64(
      splitmix64(splitmix64(seed) + static_cast<uint64_t>(step)) + static_cast<uint64_t>(index));
  // The upper half of a 128-bit product maps 64 bits onto the span evenly.
  __extension__ using Wide = unsigned __int128;
  return static_cast<int64_t>((Wide{mixed} * static_cast<uint64_t>(span)) >> 64);
}

Result<Corpus> Corpus::from_text(std::string_view text, TokenizerKind kind, int64_t context) {
  Corpus corpus(kind == TokenizerKind::kByte ? Tokenizer::bytes() : Tokenizer::characters(text));
  corpus.digest_ = digest_of(text);
  corpus.tokens_ = TRY(corpus.tokenizer_.encode(text));
  corpus.split_ = corpus.tokens_.size() * 9 / 10;
  const auto needed = static_cast<size_t>(context) + 1;
  const size_t held_out = corpus.tokens_.size() - corpus.split_;
  if (corpus.split_ < needed || held_out < needed) {
    return invalid_argument("the text has " + std::to_string(corpus.tokens_.size()) +
                            " tokens; its last tenth must hold more than one context of " +
                            std::to_string(context) + " tokens: take a longer text, or a smaller "
                            "--context");
  }
  return corpus;
}

}  // namespace keiko::train
