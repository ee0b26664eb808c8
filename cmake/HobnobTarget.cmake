# hobnob_library(NAME [SOURCES ...] [HEADERS ...] [DEPS ...] [PRIVATE_DEPS ...]): one library per directory.
# DEPS are the only way to reach another directory's symbols; PRIVATE_DEPS are third-party and stay out of headers.
include_guard()
include(GNUInstallDirs)

add_library(hobnob_build_flags INTERFACE)
target_compile_features(hobnob_build_flags INTERFACE cxx_std_20)
# -ffp-contract=off: a fused multiply-add would change bytes that all peers must agree on. Designated initializers
# leave fields to their defaults on purpose. GCC 12 sees overlaps and uninitialized parts in std::string at -O3 that
# are not there (its bug 105651).
target_compile_options(hobnob_build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off;-Wall;-Wextra;-Wno-missing-field-initializers;-Wno-restrict;-Wno-maybe-uninitialized;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wold-style-cast;-Wimplicit-fallthrough;-Wundef>)

function(hobnob_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(hobnob_${name} STATIC ${ARG_SOURCES})
  add_library(hobnob::${name} ALIAS hobnob_${name})
  set_target_properties(hobnob_${name} PROPERTIES EXPORT_NAME ${name})
  target_sources(hobnob_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
  target_link_libraries(hobnob_${name}
    PUBLIC ${ARG_DEPS}
    PRIVATE $<BUILD_INTERFACE:hobnob_build_flags> ${ARG_PRIVATE_DEPS})
  target_compile_features(hobnob_${name} PUBLIC cxx_std_20)
  set_target_properties(hobnob_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()
