#include <algorithm>

#include "core/state/derived.h"

namespace keiko {

Done apply(State& state, const StateEvent& event) {
  // Time goes forward only: an event from before the last one takes the last one's time, so that a
  // journal written over a clock that was set back replays to the same state.
  const Time at = std::max(event.at, state.now);
  TRY(std::visit([&](const auto& body) { return apply_body(state, at, body); }, event.body));
  state.now = at;
  return done();
}

}  // namespace keiko
