# Options, and the flags every kevtrace target is compiled with.
option(KEVT_WITH_GUI "the graphical program, which needs Qt" ON)
option(KEVT_FUZZ "build the libFuzzer targets (needs clang)" OFF)
option(KEVT_COVERAGE "instrument for gcov" OFF)
set(KEVT_SANITIZE "" CACHE STRING "value for -fsanitize=, e.g. address,undefined")

# Sources of one target are compiled a few at a time, in one translation unit: most of what a compiler does for a file of
# ours is reading the standard library. `./kev check` compiles sources one by one, so that none lives by another's includes.
option(KEVT_UNITY "compile sources in batches" ON)
set(CMAKE_UNITY_BUILD ${KEVT_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 24)

# What those batches still read, once for all of them: see kevt_own_sources. Other compilers than the one that builds the
# project, and what they check, read the headers.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(precompiled ON)
endif()
option(KEVT_PRECOMPILED "compile the headers of the standard library once" ${precompiled})

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  if(KEVT_PRECOMPILED)  # ccache keeps nothing that includes a precompiled header unless told that macros of time are not used
    list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros)
  endif()
endif()

# The compiler's garbage collector otherwise runs all the time: 7 % of a build.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-expand=200> $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1000000>)
endif()

set(KEVT_WARNINGS -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local> -Wno-missing-field-initializers)

add_library(kevt_flags INTERFACE)
set_target_properties(kevt_flags PROPERTIES KEVT_LAYER -1)
target_compile_definitions(kevt_flags INTERFACE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)  # of fmt's headers
# Debug information is three quarters of a linked program, and a build links over sixty of them.
target_link_options(kevt_flags INTERFACE -Wl,--compress-debug-sections=zlib)
if(KEVT_SANITIZE)
  target_compile_options(kevt_flags INTERFACE -fsanitize=${KEVT_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(kevt_flags INTERFACE -fsanitize=${KEVT_SANITIZE})
endif()
if(KEVT_COVERAGE)
  target_compile_options(kevt_flags INTERFACE --coverage)
  target_link_options(kevt_flags INTERFACE --coverage)
endif()

# The headers that most sources include.
set(KEVT_HEADERS <algorithm> <array> <charconv> <cstring> <expected> <filesystem> <fstream> <functional> <map> <memory>
  <optional> <set> <span> <sstream> <string> <string_view> <unordered_map> <utility> <vector> <fmt/format.h>)
if(KEVT_PRECOMPILED)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/headers/nothing.cpp CONTENT "")
  add_library(kevt_headers OBJECT ${CMAKE_BINARY_DIR}/headers/nothing.cpp)
  target_link_libraries(kevt_headers PRIVATE kevt_flags)
  target_precompile_headers(kevt_headers PRIVATE ${KEVT_HEADERS})
endif()
if(KEVT_PRECOMPILED AND BUILD_TESTING)
  add_library(kevt_test_headers OBJECT ${CMAKE_BINARY_DIR}/headers/nothing.cpp)
  target_link_libraries(kevt_test_headers PRIVATE kevt_flags GTest::gmock)
  target_precompile_headers(kevt_test_headers PRIVATE ${KEVT_HEADERS} <gtest/gtest.h> <gmock/gmock.h>)
endif()

# kevt_own_sources(TARGET [TEST] [PRECOMPILED target|OFF]): its sources are compiled with our warnings, and with the
# precompiled headers of its kind, or of that target, or without. TEST: a program of GoogleTest.
function(kevt_own_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "TEST" "PRECOMPILED" "")
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:${KEVT_WARNINGS}>)
  set(headers kevt_headers)
  if(DEFINED ARG_PRECOMPILED)
    set(headers ${ARG_PRECOMPILED})
  elseif(ARG_TEST)
    set(headers kevt_test_headers)
  endif()
  if(KEVT_PRECOMPILED AND headers)
    target_precompile_headers(${target} REUSE_FROM ${headers})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fPIC>)  # as the headers are; programs would be -fPIE
  endif()
endfunction()
