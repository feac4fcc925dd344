// Words that nobody guesses and nobody makes twice.
#pragma once

#include <string>

namespace keiko {

/// RETURNS: 32 hexadecimal digits from the kernel's generator.
std::string random_token();

}  // namespace keiko
