# Options, and the flags every kevtrace target is compiled with.
option(KEVT_FUZZ "build the libFuzzer targets (needs clang)" OFF)
option(KEVT_COVERAGE "instrument for gcov" OFF)
set(KEVT_SANITIZE "" CACHE STRING "value for -fsanitize=, e.g. address,undefined")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

set(KEVT_WARNINGS -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local> -Wno-missing-field-initializers)

add_library(kevt_flags INTERFACE)
set_target_properties(kevt_flags PROPERTIES KEVT_LAYER -1)
if(KEVT_SANITIZE)
  target_compile_options(kevt_flags INTERFACE -fsanitize=${KEVT_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(kevt_flags INTERFACE -fsanitize=${KEVT_SANITIZE})
endif()
if(KEVT_COVERAGE)
  target_compile_options(kevt_flags INTERFACE --coverage)
  target_link_options(kevt_flags INTERFACE --coverage)
endif()
