# Two proofs of the floor plan, built by `./dev check --headers` and in CI, never by default.
#
# check_headers: every header compiles alone, with only what FLOORS lets its room see.
# link_alone:    every room links with only what FLOORS lets it use, all of its objects pulled in,
#                so that an undeclared dependency is an undefined symbol.
include_guard(GLOBAL)
add_custom_target(check_headers)
add_custom_target(link_alone)

function(keiko_prove_alone room externals has_sources)
  string(REPLACE "/" "_" name ${room})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/src
    ${CMAKE_SOURCE_DIR}/src/${room}/*.h)
  set(sources "")
  foreach(header IN LISTS headers)
    set(source ${CMAKE_BINARY_DIR}/alone/${header}.cc)
    # Twice, so that a missing guard shows as well.
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
    list(APPEND sources ${source})
  endforeach()
  if(sources)
    add_library(headers_${name} OBJECT EXCLUDE_FROM_ALL ${sources})
    target_link_libraries(headers_${name} PRIVATE keiko_${name})
    # A test header may offer functions that this file does not call.
    target_compile_options(headers_${name} PRIVATE -Wno-unused-function)
    if("torch" IN_LIST externals AND has_sources)
      # Without the precompiled header each of these costs 30 s; the price is that a header which
      # forgets to include torch passes here.
      target_precompile_headers(headers_${name} REUSE_FROM keiko_${name})
      target_compile_options(headers_${name} PRIVATE -fpch-preprocess)
    else()
      target_compile_options(headers_${name} PRIVATE -O0 -g0)  # nobody runs these objects
    endif()
    if(headers MATCHES "(_conformance|_fixture|_harness)\\.h|test_[a-z_]*\\.h")
      target_link_libraries(headers_${name} PRIVATE GTest::gtest GTest::gmock)
    endif()
    add_dependencies(check_headers headers_${name})
  endif()
  if(has_sources)
    set(main ${CMAKE_BINARY_DIR}/alone/${name}_main.cc)
    file(CONFIGURE OUTPUT ${main} CONTENT "int main() { return 0; }\n")
    add_executable(link_alone_${name} EXCLUDE_FROM_ALL ${main})
    target_link_libraries(link_alone_${name} PRIVATE
      "$<LINK_LIBRARY:WHOLE_ARCHIVE,keiko_${name}>")
    # Objects are what is proved, so the linker may not leave any out, nor pass an unknown symbol.
    target_link_options(link_alone_${name} PRIVATE -Wl,--no-gc-sections -Wl,--no-undefined)
    set_target_properties(link_alone_${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/alone)
    add_dependencies(link_alone link_alone_${name})
  endif()
endfunction()
