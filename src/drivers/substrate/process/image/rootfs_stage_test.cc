// Places in an image, where every step may be a trap. Root is not needed: nothing is mounted.
#include "drivers/substrate/process/image/rootfs_stage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace keiko::process {
namespace {

namespace fs = std::filesystem;

class PlaceInImage : public testing::Test {
 protected:
  PlaceInImage() {
    std::string path = (fs::temp_directory_path() / "keiko-place-XXXXXX").string();
    folder_ = mkdtemp(path.data());
    fs::create_directories(folder_ + "/image/etc");
    fs::create_directories(folder_ + "/outside");
    root_ = Fd(open((folder_ + "/image").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~PlaceInImage() override { fs::remove_all(folder_); }
  std::string in_image(const std::string& path) const { return folder_ + "/image" + path; }

  std::string folder_;
  Fd root_;
};

TEST_F(PlaceInImage, is_made_with_its_parents) {
  EXPECT_TRUE(make_place_in_root(root_, "/a/b/folder", true).ok());
  EXPECT_TRUE(fs::is_directory(in_image("/a/b/folder")));
  EXPECT_TRUE(make_place_in_root(root_, "/a/file", false).ok());
  EXPECT_TRUE(fs::is_regular_file(in_image("/a/file")));
  EXPECT_TRUE(make_place_in_root(root_, "/a/b/folder", true).ok());
}

TEST_F(PlaceInImage, is_never_outside_of_it) {
  fs::create_symlink(folder_ + "/outside", in_image("/way"));
  fs::create_symlink("../outside", in_image("/up"));
  for (const char* const path : {"/way/x", "/up/x", "/../outside/y"}) {
    const auto made = make_place_in_root(root_, path, true);
    EXPECT_TRUE(fs::is_empty(folder_ + "/outside")) << path;
  }
}

TEST_F(PlaceInImage, is_refused_where_something_else_is) {
  std::ofstream(in_image("/etc/file")) << "x";
  const auto folder = make_place_in_root(root_, "/etc/file", true);
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().message, "in the image, /etc/file is no folder");
  const auto file = make_place_in_root(root_, "/etc", false);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().message, "in the image, /etc is a folder");
}

TEST(LibraryLink, is_the_name_that_programs_use) {
  EXPECT_EQ(library_link("/usr/lib/libcuda.so.550.54.14"), "/usr/lib/libcuda.so.1");
  for (const char* const none : {"/usr/lib/libcuda.so", "/usr/bin/nvidia-smi", "/a.so.1/file"}) {
    EXPECT_EQ(library_link(none), "") << none;
  }
}

}  // namespace
}  // namespace keiko::process
