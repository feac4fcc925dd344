# Two proofs of the floor plan, built by `./dev check --headers` and in CI, never by default.
#
# check_headers: every header compiles alone, with only what FLOORS lets its room see.
# link_alone:    every room links with only what FLOORS lets it use, all of its objects pulled in,
#                so that an undeclared dependency is an undefined symbol.
include_guard(GLOBAL)
add_custom_target(check_headers)
add_custom_target(link_alone)

# Takes out of HEADERS those that reach torch: each would cost 30 s. Their .cc includes them first,
# which shows nearly the same.
function(keiko_without_torch out)
  set(heavy "<torch/")
  set(light ${ARGN})
  set(changed TRUE)
  while(changed)
    set(changed FALSE)
    foreach(header IN LISTS light)
      file(STRINGS ${CMAKE_SOURCE_DIR}/src/${header} reaching REGEX "^#include (${heavy})")
      if(reaching)
        list(REMOVE_ITEM light ${header})
        string(APPEND heavy "|\"${header}\"")
        set(changed TRUE)
      endif()
    endforeach()
  endwhile()
  set(${out} ${light} PARENT_SCOPE)
endfunction()

function(keiko_prove_alone room externals has_sources)
  string(REPLACE "/" "_" name ${room})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/src
    ${CMAKE_SOURCE_DIR}/src/${room}/*.h)
  set(sources "")
  if("torch" IN_LIST externals)
    keiko_without_torch(headers ${headers})
  endif()
  foreach(header IN LISTS headers)
    set(source ${CMAKE_BINARY_DIR}/alone/${header}.cc)
    # Twice, so that a missing guard shows as well.
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
    list(APPEND sources ${source})
  endforeach()
  if(sources)
    add_library(headers_${name} OBJECT EXCLUDE_FROM_ALL ${sources})
    # -O0 -g0: nobody runs these objects. -Wno-unused-function: a test header may offer functions.
    target_compile_options(headers_${name} PRIVATE -O0 -g0 -Wno-unused-function)
    target_link_libraries(headers_${name} PRIVATE keiko_${name})
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
