# How every file is compiled: warnings, sanitizers, and the fast compiler cache and linker where
# they are installed.
include_guard(GLOBAL)

option(WERROR "Warnings are errors (on in CI)" OFF)
set(SANITIZE "" CACHE STRING "address,undefined or thread; empty for none")

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
  -Wno-missing-field-initializers)
if(WERROR)
  add_compile_options(-Werror)
endif()
if(SANITIZE)
  # -O1 -g1: reports name functions and lines, and the simulator's seeds stay affordable.
  # gcc sees unset values where only its own instrumentation is, so that warning is off.
  add_compile_options(-fsanitize=${SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    -O1 -g1 -Wno-maybe-uninitialized)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=${SANITIZE})
endif()
# A test that takes longer hangs. Sanitizers slow a program down 2 to 15 times.
set(KEIKO_TEST_SECONDS 300)
if(SANITIZE)
  set(KEIKO_TEST_SECONDS 1200)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug" OR SANITIZE)
  add_compile_definitions(KEIKO_DCHECK)
endif()

find_program(KEIKO_CCACHE ccache)
if(KEIKO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The two sloppinesses are what ccache asks for before it caches a precompiled header's users.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros ${KEIKO_CCACHE})
endif()
find_program(KEIKO_MOLD mold)
if(KEIKO_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
