# The contract in proto/ becomes one library, keiko_proto; the wire room alone links it.
#
# Includes read "keiko/v1/jobs.pb.h". Generated code is held to no warning of ours.
include_guard(GLOBAL)

file(GLOB_RECURSE KEIKO_PROTOS CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/proto
  ${CMAKE_SOURCE_DIR}/proto/*.proto)
if(NOT KEIKO_PROTOS)
  return()
endif()

find_program(KEIKO_PROTOC protoc REQUIRED)
find_program(KEIKO_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
set(KEIKO_GEN ${CMAKE_BINARY_DIR}/gen)
file(MAKE_DIRECTORY ${KEIKO_GEN})
set(proto_sources "")
foreach(proto IN LISTS KEIKO_PROTOS)
  string(REGEX REPLACE "\\.proto$" "" stem ${proto})
  set(made ${KEIKO_GEN}/${stem}.pb.cc ${KEIKO_GEN}/${stem}.pb.h)
  set(plugin "")
  file(STRINGS ${CMAKE_SOURCE_DIR}/proto/${proto} services REGEX "^service ")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/proto/${proto})
  if(services)
    list(APPEND made ${KEIKO_GEN}/${stem}.grpc.pb.cc ${KEIKO_GEN}/${stem}.grpc.pb.h)
    set(plugin --grpc_out=${KEIKO_GEN} --plugin=protoc-gen-grpc=${KEIKO_GRPC_PLUGIN})
  endif()
  add_custom_command(OUTPUT ${made}
    COMMAND ${KEIKO_PROTOC} -I${CMAKE_SOURCE_DIR}/proto --cpp_out=${KEIKO_GEN} ${plugin}
            ${CMAKE_SOURCE_DIR}/proto/${proto}
    DEPENDS ${CMAKE_SOURCE_DIR}/proto/${proto} COMMENT "proto ${proto}" VERBATIM)
  list(APPEND proto_sources ${made})
endforeach()

add_library(keiko_proto STATIC ${proto_sources})
target_compile_options(keiko_proto PRIVATE -w)
target_include_directories(keiko_proto SYSTEM PUBLIC ${KEIKO_GEN})
target_link_libraries(keiko_proto PUBLIC keiko_external_grpc)

# The server answers /openapi.yaml with this file.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/server/http/openapi.cc PROPERTIES
  COMPILE_DEFINITIONS "KEIKO_OPENAPI_PATH=\"${CMAKE_SOURCE_DIR}/docs/openapi.yaml\""
  OBJECT_DEPENDS ${CMAKE_SOURCE_DIR}/docs/openapi.yaml)
