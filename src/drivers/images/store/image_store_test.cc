#include "drivers/images/store/image_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "drivers/images/store/image_json.h"
#include "drivers/images/store/sha256.h"
#include "drivers/images/store/test_tar.h"

namespace keiko::images {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ImageStore : public testing::Test {
 protected:
  ImageStore() {
    std::string path = (fs::temp_directory_path() / "keiko-store-XXXXXX").string();
    folder_ = mkdtemp(path.data());
  }
  ~ImageStore() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  Result<PreparedImage> prepare(const std::string& name) {
    return prepare_image(path(name), path("store"));
  }
  /// RETURNS: the refusal of a tar archive, after a look that nothing of it is left.
  std::string refusal(const std::string& bytes) {
    write_file(path("bad.tar"), bytes);
    const auto prepared = prepare("bad.tar");
    EXPECT_FALSE(prepared.ok());
    expect_nothing_left();
    return prepared.ok() ? "" : prepared.error().message;
  }
  void expect_nothing_left() const {
    if (!fs::exists(path("store"))) return;
    for (const auto& entry : fs::directory_iterator(path("store"))) {
      EXPECT_EQ(entry.path().extension(), ".lock") << entry.path();
    }
  }

  std::string folder_;
};

/// An OCI layout as a set of files, of which a test may change one.
struct TestLayout {
  explicit TestLayout(const std::vector<std::string>& layer_tars, bool pack = true,
                      const std::string& machine = machine_word()) {
    std::string layer_list;
    std::string diff_list;
    for (const std::string& tar : layer_tars) {
      const std::string blob = pack ? gzip(tar) : tar;
      files["blobs/sha256/" + sha256_of(blob)] = blob;
      layers.push_back("blobs/sha256/" + sha256_of(blob));
      if (!layer_list.empty()) layer_list += ",", diff_list += ",";
      layer_list += R"({"mediaType":"x","digest":"sha256:)" + sha256_of(blob) + R"("})";
      diff_list += R"("sha256:)" + sha256_of(tar) + R"(")";
    }
    const std::string config = R"({"architecture":")" + machine +
                               R"(","os":"linux","config":{"Env":["PATH=/opt/bin:/bin","TONE=a=b",)"
                               R"("broken"]},"rootfs":{"type":"layers","diff_ids":[)" +
                               diff_list + "]}}";
    const std::string manifest = R"({"schemaVersion":2,"config":{"digest":"sha256:)" +
                                 sha256_of(config) + R"("},"layers":[)" + layer_list + "]}";
    files["blobs/sha256/" + sha256_of(config)] = config;
    files["blobs/sha256/" + sha256_of(manifest)] = manifest;
    files["oci-layout"] = R"({"imageLayoutVersion":"1.0.0"})";
    files["index.json"] =
        R"({"schemaVersion":2,"manifests":[{"digest":"sha256:)" + sha256_of(manifest) + R"("}]})";
  }
  void write(const std::string& folder) const {
    for (const auto& [name, text] : files) write_file(folder + "/" + name, text);
  }
  std::string archive() const {
    TestTar tar;
    for (const auto& [name, text] : files) tar.file(name, text);
    return tar.bytes();
  }

  std::map<std::string, std::string> files;
  std::vector<std::string> layers;
};

TestTar base_layer() {
  TestTar tar;
  tar.folder("bin").file("bin/tool", "#!tool", 0755).file("etc/a", "a").file("etc/b", "b");
  tar.link("lib", "usr/lib").folder("usr").folder("usr/lib").file("old/one", "1");
  return tar;
}

TestTar upper_layer() {
  TestTar tar;
  tar.file("etc/.wh.a", "").file("lib/new.so", "so").file("old/.wh..wh..opq", "");
  tar.file("old/two", "2").link("bin/again", "bin/tool", '1').file("etc/b", "changed");
  return tar;
}

void expect_both_layers(const std::string& root) {
  EXPECT_EQ(text_of_file(root + "/bin/tool"), "#!tool");
  EXPECT_EQ(fs::status(root + "/bin/tool").permissions(), fs::perms(0755));
  EXPECT_FALSE(fs::exists(root + "/etc/a"));
  EXPECT_EQ(text_of_file(root + "/etc/b"), "changed");
  EXPECT_EQ(text_of_file(root + "/usr/lib/new.so"), "so");
  EXPECT_FALSE(fs::exists(root + "/old/one"));
  EXPECT_EQ(text_of_file(root + "/old/two"), "2");
  EXPECT_EQ(fs::hard_link_count(root + "/bin/again"), 2U);
  struct stat found{};
  ASSERT_EQ(stat((root + "/bin/tool").c_str(), &found), 0);
  EXPECT_EQ(found.st_mtim.tv_sec, 1'000'000'000);
}

TEST_F(ImageStore, a_folder_is_its_own_root_and_is_never_written_to) {
  write_file(path("root/bin/tool"), "x");
  const auto prepared = prepare("root");
  ASSERT_TRUE(prepared.ok()) << prepared.error().text();
  EXPECT_EQ(prepared->rootfs, path("root"));
  EXPECT_TRUE(prepared->env.empty());
  EXPECT_FALSE(fs::exists(path("store")));
}

TEST_F(ImageStore, a_layout_and_its_archive_are_the_same_image) {
  const TestLayout layout({base_layer().bytes(), upper_layer().bytes()});
  layout.write(path("layout"));
  write_file(path("image.tar"), layout.archive());
  const auto from_folder = prepare("layout");
  ASSERT_TRUE(from_folder.ok()) << from_folder.error().text();
  expect_both_layers(from_folder->rootfs);
  EXPECT_EQ(from_folder->env, (std::map<std::string, std::string>{{"PATH", "/opt/bin:/bin"},
                                                                  {"TONE", "a=b"}}));
  const auto from_archive = prepare("image.tar");
  ASSERT_TRUE(from_archive.ok()) << from_archive.error().text();
  EXPECT_EQ(from_archive->rootfs, from_folder->rootfs);
  EXPECT_EQ(from_archive->env, from_folder->env);
}

TEST_F(ImageStore, layers_need_not_be_packed) {
  write_file(path("image.tar"), TestLayout({base_layer().bytes(), upper_layer().bytes()}, false)
                                    .archive());
  const auto prepared = prepare("image.tar");
  ASSERT_TRUE(prepared.ok()) << prepared.error().text();
  expect_both_layers(prepared->rootfs);
}

std::string docker_save(const std::string& layer_in_archive, const std::string& layer_in_config) {
  const std::string config = R"({"config":{"Env":["A=1"]},"rootfs":{"diff_ids":["sha256:)" +
                             sha256_of(layer_in_config) + R"("]}})";
  TestTar tar;
  tar.file("c.json", config).file("l/layer.tar", layer_in_archive);
  tar.file("manifest.json", R"([{"Config":"c.json","RepoTags":["t:1"],"Layers":["l/layer.tar"]}])");
  return tar.bytes();
}

TEST_F(ImageStore, what_docker_save_writes_is_read) {
  write_file(path("saved.tar"), docker_save(base_layer().bytes(), base_layer().bytes()));
  const auto prepared = prepare("saved.tar");
  ASSERT_TRUE(prepared.ok()) << prepared.error().text();
  EXPECT_EQ(text_of_file(prepared->rootfs + "/old/one"), "1");
  EXPECT_EQ(prepared->env.at("A"), "1");
}

TEST_F(ImageStore, a_layer_that_is_not_what_the_config_names_is_refused) {
  // Else whoever may name an image could put files of his own under the name of another.
  EXPECT_THAT(refusal(docker_save(base_layer().file("more", "").bytes(), base_layer().bytes())),
              HasSubstr("is damaged: its digest is"));
}

TEST_F(ImageStore, a_tar_of_a_root_file_system_is_read_packed_or_not) {
  std::string deep = "deep";
  for (int i = 0; i < 20; ++i) deep += "/folder" + std::to_string(i);
  TestTar tar = base_layer();
  tar.file(deep + "/file", "far").folder("./").add({"dev/null", {}, '3'}).add({"pipe", {}, '6'});
  write_file(path("root.tar"), tar.bytes());
  write_file(path("root.tar.gz"), gzip(tar.bytes()));
  for (const char* const name : {"root.tar", "root.tar.gz"}) {
    const auto prepared = prepare(name);
    ASSERT_TRUE(prepared.ok()) << prepared.error().text();
    EXPECT_EQ(text_of_file(prepared->rootfs + "/" + deep + "/file"), "far");
    EXPECT_FALSE(fs::exists(prepared->rootfs + "/dev/null"));
    EXPECT_TRUE(fs::is_fifo(prepared->rootfs + "/pipe"));
  }
}

TEST_F(ImageStore, an_archive_is_unpacked_once_and_anew_when_its_file_changes) {
  write_file(path("root.tar"), TestTar().file("a", "1").bytes());
  const std::string first = prepare("root.tar")->rootfs;
  write_file(first + "/mark", "");
  EXPECT_TRUE(fs::exists(prepare("root.tar")->rootfs + "/mark"));
  fs::remove(path("root.tar"));
  write_file(path("root.tar"), TestTar().file("a", "22").bytes());
  const auto second = prepare("root.tar");
  EXPECT_NE(second->rootfs, first);
  EXPECT_EQ(text_of_file(second->rootfs + "/a"), "22");
}

TEST_F(ImageStore, what_a_crash_left_half_unpacked_is_made_anew) {
  write_file(path("root.tar"), TestTar().file("a", "1").bytes());
  const std::string base = fs::path(prepare("root.tar")->rootfs).parent_path();
  fs::rename(base, base + ".part");
  write_file(base + ".part/rootfs/half", "");
  const auto prepared = prepare("root.tar");
  ASSERT_TRUE(prepared.ok());
  EXPECT_FALSE(fs::exists(prepared->rootfs + "/half"));
  EXPECT_FALSE(fs::exists(base + ".part"));
}

void age(const std::string& lock) {
  const timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, lock.c_str(), times, 0), 0);
}

TEST_F(ImageStore, unused_images_go_and_used_ones_stay) {
  for (const char* const name : {"used", "unused", "new"}) {
    write_file(path(std::string(name) + ".tar"), TestTar().file("a", name).bytes());
  }
  const auto used = prepare("used.tar");
  const std::string unused = prepare("unused.tar")->rootfs;
  for (const std::string& rootfs : {used->rootfs, unused}) {
    age(fs::path(rootfs).parent_path().string() + ".lock");
  }
  ASSERT_TRUE(prepare("new.tar").ok());
  EXPECT_TRUE(fs::exists(used->rootfs));
  EXPECT_FALSE(fs::exists(unused));
}

// ---- archives that mean harm, or are broken ----

TEST_F(ImageStore, no_name_leads_out_of_the_image) {
  write_file(path("outside/precious"), "mine");
  EXPECT_THAT(refusal(TestTar().file("../outside/precious", "theirs").bytes()),
              HasSubstr("leads out of the image"));
  EXPECT_THAT(refusal(TestTar().file("a/../../outside/precious", "theirs").bytes()),
              HasSubstr("leads out of the image"));
  EXPECT_THAT(refusal(TestTar().link("x", "../../../outside/precious", '1').bytes()),
              HasSubstr("leads out of the image"));
  EXPECT_EQ(text_of_file(path("outside/precious")), "mine");
}

TEST_F(ImageStore, links_lead_only_within_the_image) {
  write_file(path("outside/precious"), "mine");
  TestTar tar;
  tar.link("way", path("outside")).file("way/precious", "theirs").file("way/.wh.precious", "");
  tar.link("up", "../../../../../../../.." + path("outside")).file("up/.wh..wh..opq", "");
  tar.link("file", path("outside/precious")).file("file", "theirs");
  write_file(path("root.tar"), tar.bytes());
  const auto prepared = prepare("root.tar");
  // It may be refused or laid down within; what lies outside is never touched.
  EXPECT_EQ(text_of_file(path("outside/precious")), "mine");
  if (!prepared.ok()) return expect_nothing_left();
  EXPECT_EQ(text_of_file(prepared->rootfs + "/file"), "theirs");
}

TEST_F(ImageStore, an_absolute_link_is_kept_as_it_is) {
  write_file(path("root.tar"), TestTar().link("etc/alternatives/awk", "/usr/bin/mawk").bytes());
  const auto prepared = prepare("root.tar");
  ASSERT_TRUE(prepared.ok()) << prepared.error().text();
  EXPECT_EQ(fs::read_symlink(prepared->rootfs + "/etc/alternatives/awk"), "/usr/bin/mawk");
}

TEST_F(ImageStore, set_uid_bits_do_not_come_along) {
  write_file(path("root.tar"), TestTar().file("su", "x", 06755).bytes());
  const auto prepared = prepare("root.tar");
  EXPECT_EQ(fs::status(prepared->rootfs + "/su").permissions(), fs::perms(0755));
}

TEST_F(ImageStore, an_archive_that_is_cut_short_is_told_and_leaves_nothing) {
  const std::string whole = base_layer().file("big", std::string(100'000, 'x')).bytes();
  // Wherever it is cut: in a header, in a file, or just before the end.
  for (const size_t size : {size_t{0}, size_t{100}, size_t{512}, whole.size() / 2,
                            whole.size() - 1024}) {
    EXPECT_THAT(refusal(whole.substr(0, size)), HasSubstr("cut short")) << size;
  }
  const std::string packed = gzip(whole);
  EXPECT_THAT(refusal(packed.substr(0, packed.size() / 2)), HasSubstr("cut short"));
}

TEST_F(ImageStore, a_damaged_part_of_a_layout_is_named) {
  TestLayout layout({base_layer().bytes()}, false);
  layout.files[layout.layers[0]][700] ^= 1;
  layout.write(path("layout"));
  const auto prepared = prepare("layout");
  ASSERT_FALSE(prepared.ok());
  EXPECT_THAT(prepared.error().message, HasSubstr("image " + path("layout") + ": "));
  expect_nothing_left();
  layout.files.erase(layout.layers[0]);
  write_file(path("image.tar"), layout.archive());
  const auto missing = prepare("image.tar");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("its part " + layout.layers[0] + " is missing"));
}

TEST_F(ImageStore, what_is_no_image_is_told_in_words) {
  EXPECT_THAT(refusal("hello, this is a text of some length"), HasSubstr("no whole tar archive"));
  EXPECT_THAT(refusal(std::string(2048, 'x')), HasSubstr("no whole tar archive"));
  EXPECT_THAT(refusal("\x28\xb5\x2f\xfd and more"), HasSubstr("gzip"));
  const auto missing = prepare("nowhere.tar");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(missing.error().message,
              HasSubstr("image " + path("nowhere.tar") + ": No such file"));
  write_file(path("other.tar"), TestLayout({base_layer().bytes()}, true, "vax").archive());
  const auto other = prepare("other.tar");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("is for vax machines"));
}

}  // namespace
}  // namespace keiko::images
