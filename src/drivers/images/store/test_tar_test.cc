// What the tests of this folder share (test_tar.h).
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "drivers/images/store/test_tar.h"

namespace keiko::images {
namespace {

void put_octal(char* field, size_t size, uint64_t value) {
  std::snprintf(field, size, "%0*llo", static_cast<int>(size) - 1,
                static_cast<unsigned long long>(value));
}

}  // namespace

TestTar& TestTar::add(const TarLine& line) {
  if (line.name.size() > 100) {
    const size_t body = line.name.size() + 7;  // " path=" and the newline
    std::string length = std::to_string(body);
    length = std::to_string(body + length.size());
    add({"pax", length + " path=" + line.name + "\n", 'x'});
  }
  char block[512] = {};
  std::memcpy(block, line.name.data(), std::min<size_t>(line.name.size(), 100));
  put_octal(block + 100, 8, static_cast<uint64_t>(line.mode));
  put_octal(block + 108, 8, 0);
  put_octal(block + 116, 8, 0);
  put_octal(block + 124, 12, line.text.size());
  put_octal(block + 136, 12, 1'000'000'000);
  block[156] = line.flag;
  std::memcpy(block + 157, line.target.data(), std::min<size_t>(line.target.size(), 100));
  std::memcpy(block + 257, "ustar\0" "00", 8);
  std::memset(block + 148, ' ', 8);
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  std::snprintf(block + 148, 8, "%06o", sum);
  bytes_.append(block, sizeof block);
  bytes_ += line.text;
  bytes_.append((512 - line.text.size() % 512) % 512, '\0');
  return *this;
}

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

void write_file(const std::string& path, const std::string& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string text_of_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace keiko::images
