# kevt_library(name LAYER n [SOURCES …] [HEADERS …] [TESTS …] [DEPS …] [LINK …] [TEST_DEPS …] [PRECOMPILED target|OFF])
#
# One library of kevtrace. LAYER is its height in docs/architecture.md; DEPS are other kevtrace
# libraries and must be strictly lower, or configuring stops. LINK names libraries from outside
# (seen by this target alone). TESTS become one program `<name>_test`, run by ctest.
# Headers are checked to compile alone. PRECOMPILED: whose precompiled headers the sources are compiled with, if their flags
# are not those of the others.

function(kevt_check_layer name layer)
  foreach(dep IN LISTS ARGN)
    if(NOT TARGET ${dep})
      message(FATAL_ERROR "${name}: `${dep}` does not exist yet; a library uses only what CMakeLists.txt names before it")
    endif()
    get_target_property(dep_layer ${dep} KEVT_LAYER)
    if(NOT dep_layer LESS layer)
      message(FATAL_ERROR "${name} (layer ${layer}) uses ${dep} (layer ${dep_layer}): only lower layers may be used")
    endif()
  endforeach()
endfunction()

function(kevt_library name)
  cmake_parse_arguments(ARG "" "LAYER;PRECOMPILED" "SOURCES;HEADERS;TESTS;DEPS;LINK;TEST_DEPS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS OR NOT DEFINED ARG_LAYER)
    message(FATAL_ERROR "kevt_library(${name}): bad arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()

  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    kevt_own_sources(${name} PRECOMPILED ${ARG_PRECOMPILED})
    target_link_libraries(${name} PRIVATE ${ARG_LINK})
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARG_LINK})
  endif()
  set_target_properties(${name} PROPERTIES KEVT_LAYER ${ARG_LAYER})
  kevt_check_layer(${name} ${ARG_LAYER} ${ARG_DEPS})
  target_include_directories(${name} ${scope} ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} ${scope} ${ARG_DEPS} kevt_flags)
  if(ARG_HEADERS)
    target_sources(${name} ${scope} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
    set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()

  if(ARG_TESTS AND BUILD_TESTING)
    add_executable(${name}_test ${ARG_TESTS})
    kevt_own_sources(${name}_test TEST)
    target_link_libraries(${name}_test PRIVATE ${name} ${ARG_TEST_DEPS} ${ARG_LINK} GTest::gmock_main)
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300)
  endif()
endfunction()
