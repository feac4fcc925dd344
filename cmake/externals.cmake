# Outside libraries by the short names that FLOORS uses. Each is looked up once; a room that names
# one gets the target keiko::external::<name>.
include_guard(GLOBAL)
find_package(Threads REQUIRED)

macro(keiko_external name)
  add_library(keiko_external_${name} INTERFACE)
  target_link_libraries(keiko_external_${name} INTERFACE ${ARGN})
endmacro()

find_package(Protobuf REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(GRPCPP REQUIRED IMPORTED_TARGET grpc++)
keiko_external(grpc PkgConfig::GRPCPP protobuf::libprotobuf)

pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
keiko_external(hwloc PkgConfig::HWLOC)

find_package(SQLite3 REQUIRED)
keiko_external(sqlite3 SQLite::SQLite3)

# Boost 1.81's Beast and Asio are header-only. Asio is compiled once, in server/asio.cc.
keiko_external(beast Threads::Threads)
target_compile_definitions(keiko_external_beast INTERFACE
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED)

find_package(ZLIB REQUIRED)
keiko_external(zlib ZLIB::ZLIB)

find_package(nlohmann_json REQUIRED)
keiko_external(json nlohmann_json::nlohmann_json)
find_package(CLI11 REQUIRED)
keiko_external(cli11 CLI11::CLI11)
find_package(yaml-cpp REQUIRED)
keiko_external(yaml yaml-cpp)
find_package(fmt REQUIRED)
keiko_external(fmt fmt::fmt)
find_package(spdlog REQUIRED)
keiko_external(spdlog spdlog::spdlog)

find_library(KEIKO_GLOO_LIBRARY gloo)
if(KEIKO_GLOO_LIBRARY)
  keiko_external(gloo ${KEIKO_GLOO_LIBRARY} Threads::Threads)
endif()

# torch's own CMake config drags in far more than we use; the Debian package needs two include
# folders and three libraries. Torch_DIR points at another build.
option(WITH_TORCH "Build keiko-train and the train room" ON)
if(WITH_TORCH)
  if(Torch_DIR)
    find_package(Torch REQUIRED)
    keiko_external(torch ${TORCH_LIBRARIES})
  else()
    find_library(KEIKO_TORCH_LIBRARY torch_cpu)
    find_library(KEIKO_C10_LIBRARY c10)
    find_path(KEIKO_TORCH_INCLUDE torch/csrc/api/include/torch/torch.h)
    if(KEIKO_TORCH_LIBRARY AND KEIKO_C10_LIBRARY AND KEIKO_TORCH_INCLUDE)
      keiko_external(torch ${KEIKO_TORCH_LIBRARY} ${KEIKO_C10_LIBRARY} Threads::Threads)
      target_include_directories(keiko_external_torch SYSTEM INTERFACE
        ${KEIKO_TORCH_INCLUDE}/torch/csrc/api/include)
    endif()
  endif()
  if(NOT TARGET keiko_external_torch OR NOT TARGET keiko_external_gloo)
    message(WARNING "libtorch-dev or libgloo-dev not found: keiko-train is NOT built. "
                    "Run ./dev setup, or pass -DWITH_TORCH=OFF to silence this.")
  endif()
endif()
