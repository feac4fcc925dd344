// The command line around the verbs: help, completion, addresses, exit codes.
#include "cli/verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cli/exit_code.h"
#include "cli/help.h"
#include "cli/repository.h"
#include "cli/verbs/tests/verbs_fixture.h"

namespace keiko::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Version, is_known_without_a_server) {
  FakeWorld world;
  EXPECT_EQ(world.run({"version"}), 0);
  EXPECT_THAT(world.out(), StartsWith("keiko 0.1.0\nserver 1.2.3, term 4"));
  world.server.reachable = unavailable("cannot reach a Keiko server");
  EXPECT_EQ(world.run({"version"}), 0);
  EXPECT_EQ(world.out(), "keiko 0.1.0\n");
  EXPECT_EQ(world.run({"--version"}), 0);
  EXPECT_EQ(world.out(), "keiko 0.1.0\n");
}

TEST(ServerAddress, is_the_flag_the_variable_the_file_or_the_usual_port) {
  const TemporaryFile state("server.json",
                            R"({"pid": 1, "grpc": "127.0.0.1:4444", "http": "x:1"})");
  FakeWorld world;
  world.run({"jobs"});
  EXPECT_EQ(world.dialled, "localhost:7070");
  world.variables["KEIKO_STATE"] = state.directory();
  world.run({"jobs"});
  EXPECT_EQ(world.dialled, "127.0.0.1:4444");
  world.variables["KEIKO_SERVER"] = "other:1";
  world.run({"jobs"});
  EXPECT_EQ(world.dialled, "other:1");
  world.run({"jobs", "--state", state.directory()});
  EXPECT_EQ(world.dialled, "127.0.0.1:4444");
  world.run({"--server", "third:2", "jobs"});
  EXPECT_EQ(world.dialled, "third:2");
  EXPECT_EQ(world.run({"jobs", "--server", "noport"}), kExitUsage);
  EXPECT_THAT(world.err(), HasSubstr("write HOST:PORT"));
  const TemporaryFile broken("server.json", "{half");
  EXPECT_EQ(world.run({"jobs", "--state", broken.directory()}), kExitRefused);
  EXPECT_THAT(world.err(), HasSubstr("server.json does not name a server"));
  EXPECT_EQ(world.run({"jobs", "--state", state.directory() + "/none"}), kExitUnavailable);
  EXPECT_THAT(world.err(), HasSubstr("/none/server.json is not there: no server runs on this"));
}

TEST(ExitCodes, of_a_server_that_is_not_there) {
  FakeWorld world;
  world.server.reachable = unavailable("cannot reach a Keiko server at localhost:7070");
  for (const char* verb : {"jobs", "nodes", "devices", "events"}) {
    EXPECT_EQ(world.run({verb}), kExitUnavailable) << verb;
    EXPECT_EQ(world.err(),
              "keiko " + std::string(verb) + ": cannot reach a Keiko server at localhost:7070\n");
  }
  EXPECT_EQ(world.run({"run", "--", "a"}), kExitUnavailable);
}

TEST(CommandLine, unknown_verbs_and_options_name_the_nearest) {
  FakeWorld world;
  EXPECT_EQ(world.run({"jbos"}), kExitUsage);
  EXPECT_THAT(world.err(), HasSubstr("unknown verb 'jbos'; did you mean 'jobs'?"));
  EXPECT_EQ(world.run({"jobs", "--outptu", "json"}), kExitUsage);
  EXPECT_THAT(world.err(), HasSubstr("did you mean '--output'?\nTry 'keiko jobs --help'"));
  EXPECT_EQ(world.run({"jobs", "-o", "jsno"}), kExitUsage);
  EXPECT_THAT(world.err(), HasSubstr("did you mean 'json'?"));
  EXPECT_EQ(world.run({"job"}), kExitUsage);
  EXPECT_EQ(world.run({"job", "a", "b"}), kExitUsage);
  EXPECT_EQ(world.run({"--nonsense"}), kExitUsage);
  EXPECT_EQ(world.dialled, "");
}

TEST(CommandLine, help_is_grouped_and_has_examples) {
  FakeWorld world;
  EXPECT_EQ(world.run({}), 0);
  const std::string all = world.out();
  EXPECT_THAT(all, HasSubstr("Jobs:\n  submit "));
  EXPECT_EQ(world.run({"help"}), 0);
  EXPECT_EQ(world.out(), all);
  for (const Verb& verb : client_verbs()) {
    EXPECT_EQ(world.run({verb.name, "--help"}), 0);
    EXPECT_THAT(world.out(), HasSubstr("usage: keiko " + verb.name));
    EXPECT_THAT(world.out(), HasSubstr(verb.summary));
    if (verb.asks_server) {
      EXPECT_THAT(world.out(), HasSubstr("--server HOST:PORT"));
    }
    const std::string by_help = world.out();
    EXPECT_EQ(world.run({"help", verb.name}), 0);
    EXPECT_EQ(world.out(), by_help);
  }
  EXPECT_EQ(world.dialled, "");
}

TEST(CommandLine, takes_verbs_from_outside) {
  Verb server;
  server.name = "server";
  server.group = "Daemons";
  server.summary = "Run the server";
  server.asks_server = false;
  server.add_options = [](OptionSet& options) -> VerbRun {
    auto port = std::make_shared<int64_t>(7070);
    options.integer("--port", "N", *port, "where to listen");
    return [port](Invocation&) -> Result<int> { return static_cast<int>(*port % 256); };
  };
  FakeWorld world;
  EXPECT_EQ(world.run({"server", "--port", "42"}, {server}), 42);
  EXPECT_EQ(world.run({"help"}, {server}), 0);
  EXPECT_THAT(world.out(), HasSubstr("Daemons:\n  server        Run the server\n"));
}

TEST(Completion, scripts_are_sound_and_know_every_verb_and_option) {
  FakeWorld world;
  for (const std::string shell : {"bash", "zsh"}) {
    ASSERT_EQ(world.run({"completion", shell}), 0);
    for (const Verb& verb : client_verbs())
      EXPECT_THAT(world.out(), HasSubstr("    " + verb.name + ")"));
    EXPECT_THAT(world.out(), HasSubstr("--device-memory"));
    if (std::system(("command -v " + shell + " >/dev/null").c_str()) != 0) continue;
    const TemporaryFile script("script", world.out());
    EXPECT_EQ(std::system((shell + " -n " + script.path("script")).c_str()), 0) << shell;
  }
}

TEST(Completion, completes_in_a_real_bash) {
  FakeWorld world;
  ASSERT_EQ(world.run({"completion", "bash"}), 0);
  const TemporaryFile script("script", world.out() + R"(
keiko() { [ "$1" = jobs ] && echo j1 j12; }
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _keiko; echo "${COMPREPLY[*]}"; }
try keiko sub
try keiko job j1
try keiko jobs -o js
try keiko run --device-k
)");
  const std::string out = script.path("out");
  ASSERT_EQ(std::system(("bash " + script.path("script") + " >" + out).c_str()), 0);
  std::ifstream in(out);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(text, "submit\nj1 j12\njson\n--device-kind\n");
}

TEST(Reference, is_the_one_in_the_documents) {
  const std::string wanted = cli_reference(client_verbs());
  EXPECT_EQ(generated_part("docs/cli.md", "verbs", wanted), wanted)
      << "docs/cli.md is stale; run: KEIKO_UPDATE=1 test_cli --gtest_filter=Reference.*";
}

}  // namespace
}  // namespace keiko::cli
