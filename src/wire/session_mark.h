// The initial metadata by which a server accepts an agent's stream: its presence tells a real
// answer from a call that failed on the way.
#pragma once

namespace keiko {

inline constexpr char kSessionMark[] = "keiko-session";

}  // namespace keiko
