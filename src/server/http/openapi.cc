// The assembler puts the file's bytes between two symbols; CMake says where the file is.
#include "server/http/openapi.h"

asm(".section .rodata\n"
    ".global keiko_openapi_begin\n"
    ".global keiko_openapi_end\n"
    "keiko_openapi_begin:\n"
    ".incbin \"" KEIKO_OPENAPI_PATH "\"\n"
    "keiko_openapi_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" const char keiko_openapi_begin[];
extern "C" const char keiko_openapi_end[];

namespace keiko::server {

std::string openapi_yaml() { return {keiko_openapi_begin, keiko_openapi_end}; }

}  // namespace keiko::server
