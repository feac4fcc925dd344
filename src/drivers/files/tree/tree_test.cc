// A tree comes out as it went in, and no stream, however wrong, touches anything outside of where
// it was sent to.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "drivers/files/tree/pack.h"
#include "drivers/files/tree/record.h"
#include "drivers/files/tree/unpack.h"
#include "posix/fd.h"

namespace keiko::tree {
namespace {

namespace fs = std::filesystem;

struct Wire {
  Fd read_end, write_end;
};

Wire make_wire() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

class TreeTest : public testing::Test {
 protected:
  TreeTest() {
    signal(SIGPIPE, SIG_IGN);
    std::string pattern = (fs::temp_directory_path() / "keiko-tree-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~TreeTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(path(name)) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  Result<int64_t> copy(const std::string& from, const std::string& to, bool recursive = true) {
    Wire wire = make_wire();
    Result<int64_t> packed = 0;
    std::thread packer([&] {
      packed = pack({path(from), recursive, {}, {}}, wire.write_end.get());
      const Fd closed = std::move(wire.write_end);
    });
    Result<int64_t> unpacked = unpack({path(to), {}, {}}, wire.read_end.get());
    { const Fd closed = std::move(wire.read_end); }
    packer.join();
    // Who could not go on has the reason; the other side was only left.
    const bool left = packed.ok() || packed.error().code == Code::kUnavailable;
    return left ? unpacked : packed;
  }

  /// What comes of a stream of these records, which end as a broken connection does.
  Result<int64_t> feed(const std::vector<std::pair<Kind, std::string>>& records) {
    Wire wire = make_wire();
    for (const auto& [kind, bytes] : records) {
      EXPECT_TRUE(write_record(wire.write_end.get(), kind, bytes).ok());
    }
    { const Fd closed = std::move(wire.write_end); }
    fs::create_directories(path("inner/to"));
    return unpack({path("inner/to"), {}, {}}, wire.read_end.get());
  }
  static std::string named(const std::string& name, const std::string& target = {}) {
    Entry entry;
    entry.name = name;
    entry.mode = 0644;
    entry.target = target;
    return encode(entry);
  }
  /// RETURNS: how many files, links and folders there are in all.
  size_t count() const {
    return static_cast<size_t>(std::distance(fs::recursive_directory_iterator(folder_),
                                             fs::recursive_directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(TreeTest, a_tree_keeps_content_bits_times_and_links) {
  write("from/a/deep/file", std::string(300'000, 'x') + "end");
  write("from/run.sh", "#!/bin/sh\n");
  fs::create_directories(path("from/empty"));
  fs::create_symlink("../nowhere", path("from/a/link"));
  chmod(path("from/run.sh").c_str(), 0751);
  chmod(path("from/a").c_str(), 0500);
  const timespec times[2] = {{1'000'000'000, 5}, {1'234'567'890, 123'456'789}};
  utimensat(AT_FDCWD, path("from/run.sh").c_str(), times, 0);
  utimensat(AT_FDCWD, path("from/empty").c_str(), times, 0);
  ASSERT_EQ(MUST(copy("from", "to")), 0);
  chmod(path("from/a").c_str(), 0700);
  EXPECT_EQ(read("to/a/deep/file"), std::string(300'000, 'x') + "end");
  EXPECT_EQ(fs::read_symlink(path("to/a/link")), "../nowhere");
  struct stat seen{};
  ASSERT_EQ(stat(path("to/a").c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 07777, 0500u);
  chmod(path("to/a").c_str(), 0700);
  for (const std::string name : {"to/run.sh", "to/empty"}) {
    ASSERT_EQ(stat(path(name).c_str(), &seen), 0);
    EXPECT_EQ(seen.st_mtim.tv_sec, 1'234'567'890) << name;
    EXPECT_EQ(seen.st_mtim.tv_nsec, 123'456'789) << name;
  }
  ASSERT_EQ(stat(path("to/run.sh").c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 07777, 0751u);
}

TEST_F(TreeTest, into_a_folder_that_is_there_it_goes_under_its_own_name) {
  write("from/x", "new");
  write("to/from/x", "old");
  write("to/from/kept", "kept");
  ASSERT_TRUE(copy("from", "to").ok());
  EXPECT_EQ(read("to/from/x"), "new");
  EXPECT_EQ(read("to/from/kept"), "kept");
  ASSERT_TRUE(copy("from/x", "to/", false).ok());
  EXPECT_EQ(read("to/x"), "new");
  ASSERT_TRUE(copy("from/.", "to").ok());
  EXPECT_EQ(read("to/x"), "new");
  EXPECT_FALSE(fs::exists(path("to/from/from")));
}

TEST_F(TreeTest, set_uid_does_not_travel) {
  write("from/x", "x");
  chmod(path("from/x").c_str(), 04755);
  ASSERT_TRUE(copy("from", "to").ok());
  struct stat seen{};
  ASSERT_EQ(stat(path("to/x").c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 07777, 0755u);
}

TEST_F(TreeTest, a_link_at_the_destination_is_replaced_and_never_followed) {
  write("outside", "untouched");
  write("from/x", "new");
  write("from/y/z", "new");
  fs::create_directories(path("to/from"));
  fs::create_directories(path("elsewhere"));
  fs::create_symlink(path("outside"), path("to/from/x"));
  ASSERT_TRUE(copy("from", "to").ok());
  EXPECT_EQ(read("outside"), "untouched");
  EXPECT_EQ(read("to/from/x"), "new");
  fs::remove_all(path("to/from/y"));
  fs::create_symlink(path("elsewhere"), path("to/from/y"));
  const Result<int64_t> copied = copy("from", "to");
  ASSERT_FALSE(copied.ok());
  EXPECT_TRUE(fs::is_empty(path("elsewhere")));
}

TEST_F(TreeTest, names_that_lead_out_are_refused) {
  const std::vector<std::string> names = {"..",  "../x", "/etc/x",
                                          "a/b", "",     std::string("a\0b", 3)};
  for (const std::string& name : names) {
    const Result<int64_t> top = feed({{Kind::kBegin, named(name.empty() ? "/" : name)},
                                      {Kind::kFile, named("-")}, {Kind::kDone, ""}});
    EXPECT_FALSE(top.ok()) << name;
    const Result<int64_t> inner =
        feed({{Kind::kBegin, named("tree")}, {Kind::kFolder, named("-")},
              {Kind::kFile, named(name)}, {Kind::kData, "gotcha"}, {Kind::kDone, ""}});
    ASSERT_FALSE(inner.ok()) << name;
    EXPECT_EQ(inner.error().code, Code::kDataLoss) << inner.error().text();
  }
  EXPECT_EQ(count(), 3u);  // inner, inner/to, inner/to/tree
}

TEST_F(TreeTest, a_link_that_the_stream_made_leads_nothing_out) {
  fs::create_directories(path("elsewhere"));
  const Result<int64_t> copied =
      feed({{Kind::kBegin, named("tree")}, {Kind::kFolder, named("-")},
            {Kind::kLink, named("way", path("elsewhere"))}, {Kind::kFolder, named("way")},
            {Kind::kFile, named("x")}, {Kind::kData, "gotcha"}, {Kind::kDone, ""}});
  ASSERT_FALSE(copied.ok());
  EXPECT_NE(copied.error().message.find("symbolic link"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(path("elsewhere")));
}

TEST_F(TreeTest, leaving_more_folders_than_were_entered_is_refused) {
  EXPECT_FALSE(feed({{Kind::kBegin, named("tree")}, {Kind::kFolder, named("-")},
                     {Kind::kLeave, ""}, {Kind::kLeave, ""}, {Kind::kFile, named("x")}})
                   .ok());
  EXPECT_FALSE(feed({{Kind::kBegin, named("two")}, {Kind::kFolder, named("-")},
                     {Kind::kLeave, ""}, {Kind::kFile, named("x")}})
                   .ok());
  EXPECT_FALSE(feed({{Kind::kData, "bytes of nothing"}}).ok());
  EXPECT_FALSE(feed({{Kind::kFolder, named("before the beginning")}}).ok());
  EXPECT_FALSE(feed({{Kind::kBegin, named("three")}, {Kind::kEnd, named("")}}).ok());
  EXPECT_FALSE(fs::exists(path("inner/x")));
  EXPECT_FALSE(fs::exists(path("inner/to/x")));
}

TEST_F(TreeTest, a_copy_that_breaks_leaves_the_old_file_and_nothing_of_the_new) {
  write("inner/to/x", "old");
  const Result<int64_t> copied = feed({{Kind::kBegin, named("x")}, {Kind::kFile, named("-")},
                                       {Kind::kData, "half of the new"}});
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code, Code::kUnavailable);
  EXPECT_EQ(read("inner/to/x"), "old");
  EXPECT_EQ(count(), 3u);
}

TEST_F(TreeTest, what_is_no_file_is_left_out_and_told) {
  write("from/x", "x");
  ASSERT_EQ(mkfifo(path("from/pipe").c_str(), 0600), 0);
  EXPECT_EQ(MUST(copy("from", "to")), 1);
  EXPECT_EQ(read("to/x"), "x");
  EXPECT_FALSE(fs::exists(path("to/pipe")));
}

// As root it would leave a machine without its /dev/null.
TEST_F(TreeTest, what_programs_talk_through_is_not_replaced) {
  write("from/x", "x");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  ASSERT_EQ(symlink("x", path("from/link").c_str()), 0);
  for (const char* const name : {"from/x", "from/link"}) {
    const Result<int64_t> copied = copy(name, "pipe");
    ASSERT_FALSE(copied.ok()) << name;
    EXPECT_EQ(copied.error().code, Code::kFailedPrecondition);
    EXPECT_NE(copied.error().message.find("pipe"), std::string::npos) << copied.error().message;
    EXPECT_TRUE(fs::is_fifo(path("pipe")));
  }
}

TEST_F(TreeTest, what_cannot_be_written_is_named_with_its_folder) {
  write("from/deep/name", "x");
  write("to/from/deep", "a file in the folder's place");
  const Result<int64_t> copied = copy("from", "to");
  ASSERT_FALSE(copied.ok());
  EXPECT_NE(copied.error().message.find(path("to/from/deep")), std::string::npos)
      << copied.error().message;
}

TEST_F(TreeTest, a_folder_wants_to_be_asked_for_and_what_is_missing_is_named) {
  write("from/x", "x");
  const Result<int64_t> folder = copy("from", "to", false);
  ASSERT_FALSE(folder.ok());
  EXPECT_NE(folder.error().message.find("-r"), std::string::npos);
  const Result<int64_t> missing = copy("nothing", "to");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_NE(missing.error().message.find("nothing"), std::string::npos);
  const Result<int64_t> nowhere = copy("from/x", "no/such/place");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().code, Code::kNotFound);
  EXPECT_NE(nowhere.error().message.find(path("no/such")), std::string::npos);
  EXPECT_FALSE(fs::exists(path("no")));
}

}  // namespace
}  // namespace keiko::tree
