#include "drivers/images/store/image_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keiko::images {
namespace {

using testing::HasSubstr;

const std::string kOne(64, '1');
const std::string kTwo(64, '2');

std::string entry(const std::string& digits, const std::string& machine,
                  const std::string& type = "application/vnd.oci.image.manifest.v1+json") {
  return R"({"mediaType":")" + type + R"(","digest":"sha256:)" + digits +
         R"(","platform":{"os":"linux","architecture":")" + machine + R"("}})";
}

TEST(ChooseManifest, takes_the_only_one_or_the_one_for_this_machine) {
  bool nested = true;
  EXPECT_EQ(*choose_manifest(R"({"manifests":[)" + entry(kOne, "vax") + "]}", nested), kOne);
  EXPECT_FALSE(nested);
  const std::string two = entry(kOne, "vax") + "," + entry(kTwo, machine_word());
  EXPECT_EQ(*choose_manifest(R"({"manifests":[)" + two + "]}", nested), kTwo);
  const std::string index = entry(kOne, "", "application/vnd.oci.image.index.v1+json");
  EXPECT_EQ(*choose_manifest(R"({"manifests":[)" + index + "]}", nested), kOne);
  EXPECT_TRUE(nested);
}

TEST(ChooseManifest, refuses_what_names_no_image_for_this_machine) {
  bool nested = false;
  const std::string foreign = entry(kOne, "vax") + "," + entry(kTwo, "pdp11");
  const auto none = choose_manifest(R"({"manifests":[)" + foreign + "]}", nested);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr(machine_word()));
  for (const char* const text : {"", "{", "[]", "null", R"({"manifests":{}})",
                                 R"({"manifests":[{"digest":"md5:12"}]})",
                                 R"({"manifests":[{"digest":"sha256:../../etc/passwd"}]})"}) {
    EXPECT_FALSE(choose_manifest(text, nested).ok()) << text;
  }
}

TEST(ReadManifest, refuses_digests_that_are_none) {
  EXPECT_FALSE(read_manifest(R"({"config":{"digest":"sha256:12"},"layers":[]})").ok());
  EXPECT_FALSE(read_manifest(R"({"config":{"digest":"sha256:)" + kOne + R"("}})").ok());
  const auto manifest = read_manifest(R"({"config":{"digest":"sha256:)" + kOne +
                                      R"("},"layers":[{"digest":"sha256:)" + kTwo + R"("}]})");
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest->config, kOne);
  EXPECT_EQ(manifest->layers, std::vector<std::string>{kTwo});
}

TEST(ReadConfig, keeps_what_is_a_variable) {
  const auto config = read_config(R"({"config":{"Env":["A=1","B=","=x","noequals",7]}})");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->env, (std::map<std::string, std::string>{{"A", "1"}, {"B", ""}}));
}

}  // namespace
}  // namespace keiko::images
