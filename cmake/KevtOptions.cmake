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

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# The compiler's garbage collector otherwise runs all the time: 7 % of a build.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-expand=200> $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1000000>)
endif()

set(KEVT_WARNINGS -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local> -Wno-missing-field-initializers)

add_library(kevt_flags INTERFACE)
set_target_properties(kevt_flags PROPERTIES KEVT_LAYER -1)
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
