#include "verb_drivers.h"

#include <cstdio>

#include "registry.h"

namespace keiko::apps {

cli::Verb drivers_verb() {
  cli::Verb verb;
  verb.name = "drivers";
  verb.group = "Other";
  verb.summary = "List the drivers of this build";
  verb.asks_server = false;
  verb.add_options = [](cli::OptionSet&) -> cli::VerbRun {
    return [](cli::Invocation&) -> Result<int> {
      std::printf("%-12s %-10s %-8s %s\n", "PORT", "DRIVER", "DEFAULT", "WHAT");
      for (const DriverRow& row : drivers()) {
        std::printf("%-12s %-10s %-8s %s\n", row.port.c_str(), row.name.c_str(),
                    row.fallback ? "yes" : "", row.summary.c_str());
      }
      return 0;
    };
  };
  return verb;
}

}  // namespace keiko::apps
