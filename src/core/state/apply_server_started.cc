#include "core/state/derived.h"

namespace keiko {

Done apply_body(State& state, Time /*at*/, const ServerStarted& event) {
  if (event.term <= state.term) {
    return misfit(event.kName, "term " + std::to_string(event.term) + " is not above " +
                                   std::to_string(state.term));
  }
  state.term = event.term;
  return done();
}

}  // namespace keiko
