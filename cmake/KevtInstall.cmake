# `cmake --install` and `cpack`: what lies where on a machine that has kevtrace. Paths are relative to the prefix, and the
# program finds its parts from where it lies itself, so that any prefix works and a folder may be moved.
#
#   bin/kevtrace  lib/kevtrace/…              component core       package kevtrace
#   lib/kevtrace/libkevt-llvm.so              component compiler   package kevtrace-compiler: LLVM
#   lib/kevtrace/libkevt-fleet.so             component fleet      package kevtrace-fleet: libcurl, libcrypto
#   bin/kevtrace-gui  share/applications/…    component gui        package kevtrace-gui
#   lib/libkevtrace.so.0                      component library    package libkevtrace0
#   include/kevtrace.h  lib/pkgconfig/…       component libdev     package libkevtrace-dev
#   lib/python3/dist-packages/kevtrace/       component python     package python3-kevtrace
#   src/kevtrace-VERSION/                     component dkms       package kevtrace-dkms
#   share/doc/kevtrace/                       component doc        package kevtrace-doc
include(GNUInstallDirs)
set(parts lib/kevtrace)  # of one machine's kind, and nobody links them
set(packaging ${PROJECT_SOURCE_DIR}/cmake/packaging)

install(TARGETS kevtrace RUNTIME COMPONENT core)
install(TARGETS kevtrace-traceevent RUNTIME DESTINATION ${parts} COMPONENT core)
install(TARGETS kevtrace_exec LIBRARY DESTINATION ${parts} COMPONENT core)
install(TARGETS kevt_llvm LIBRARY DESTINATION ${parts} COMPONENT compiler)
install(TARGETS kevt_fleet_parts LIBRARY DESTINATION ${parts} COMPONENT fleet)

install(DIRECTORY ${packaging}/systemd/ DESTINATION lib/systemd/system COMPONENT fleet)

# Manual pages and completions are the program's own words.
configure_file(${packaging}/install_words.cmake.in ${CMAKE_BINARY_DIR}/install_words.cmake.in @ONLY)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/$<CONFIG>/install_words.cmake INPUT ${CMAKE_BINARY_DIR}/install_words.cmake.in)
install(SCRIPT ${CMAKE_BINARY_DIR}/$<CONFIG>/install_words.cmake COMPONENT core)

if(TARGET kevtrace-gui)
  install(TARGETS kevtrace-gui RUNTIME COMPONENT gui)
  configure_file(${packaging}/install_gui_words.cmake.in ${CMAKE_BINARY_DIR}/install_gui_words.cmake.in @ONLY)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/$<CONFIG>/install_gui_words.cmake INPUT ${CMAKE_BINARY_DIR}/install_gui_words.cmake.in)
  install(SCRIPT ${CMAKE_BINARY_DIR}/$<CONFIG>/install_gui_words.cmake COMPONENT gui)
  install(FILES ${packaging}/kevtrace-gui.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications COMPONENT gui)
  install(FILES ${packaging}/kevtrace-gui.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps COMPONENT gui)
  install(FILES ${packaging}/kevtrace.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/mime/packages COMPONENT gui)
  install(FILES ${packaging}/kevtrace-gui.metainfo.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/metainfo COMPONENT gui)
endif()

install(TARGETS kevtrace_library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT libdev)
install(FILES library/kevtrace.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libdev)
file(RELATIVE_PATH KEVT_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(library/kevtrace.pc.in ${CMAKE_BINARY_DIR}/kevtrace.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/kevtrace.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libdev)
install(DIRECTORY library/python/kevtrace DESTINATION lib/python3/dist-packages COMPONENT python FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)

set(module_sources src/kevtrace-${PROJECT_VERSION})
configure_file(${packaging}/dkms.conf.in ${CMAKE_BINARY_DIR}/dkms.conf @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/dkms.conf DESTINATION ${module_sources} COMPONENT dkms)
install(DIRECTORY runtime-kmod DESTINATION ${module_sources} COMPONENT dkms FILES_MATCHING PATTERN "*.[ch]" PATTERN Kbuild)
install(DIRECTORY common/abi DESTINATION ${module_sources}/common COMPONENT dkms FILES_MATCHING PATTERN "*.h")

install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT doc)
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT doc PATTERN __pycache__ EXCLUDE PATTERN .ipynb_checkpoints EXCLUDE)

# What Debian wants of each package.
set(CPACK_PACKAGE_CONTACT "kevtrace <kevtrace@example.org>" CACHE STRING "who makes the packages")
set(KEVT_DATE_RFC "Wed, 25 Nov 2026 00:00:00 +0000")  # of KEVT_DATE
configure_file(${packaging}/changelog.in ${CMAKE_BINARY_DIR}/changelog @ONLY)
execute_process(COMMAND gzip -9nkf ${CMAKE_BINARY_DIR}/changelog COMMAND_ERROR_IS_FATAL ANY)
set(package_of_core kevtrace)
set(package_of_library libkevtrace0)
set(package_of_libdev libkevtrace-dev)
set(package_of_python python3-kevtrace)
foreach(component IN ITEMS core compiler fleet gui library libdev python dkms doc)
  set(package kevtrace-${component})
  if(package_of_${component})
    set(package ${package_of_${component}})
  endif()
  install(FILES ${packaging}/copyright ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
    COMPONENT ${component})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL core compiler fleet library libdev python dkms doc)
if(TARGET kevtrace-gui)
  list(APPEND CPACK_COMPONENTS_ALL gui)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(CPACK_DEBIAN_CORE_PACKAGE_NAME kevtrace)
set(CPACK_DEBIAN_CORE_PACKAGE_RECOMMENDS "kevtrace-compiler, libtraceevent1-plugin")
set(CPACK_COMPONENT_CORE_DESCRIPTION "kernel's event language, compiled, for any process
Traces programs and the kernel with definitions as kprobe_events has them. With
 kevtrace-compiler definitions are compiled here; without, compiled scripts run.")
set(CPACK_DEBIAN_COMPILER_PACKAGE_NAME kevtrace-compiler)
set(CPACK_DEBIAN_COMPILER_PACKAGE_DEPENDS "kevtrace (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_COMPILER_DESCRIPTION "what kevtrace compiles definitions with
The part of kevtrace that needs LLVM.")
set(CPACK_DEBIAN_FLEET_PACKAGE_NAME kevtrace-fleet)
set(CPACK_DEBIAN_FLEET_PACKAGE_DEPENDS "kevtrace (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_FLEET_DESCRIPTION "kevtrace's recordings in a database
The part of kevtrace that needs libcurl and libcrypto: sends recordings to a
 ClickHouse server, reads them from there, and signs and obeys orders.")
set(CPACK_DEBIAN_GUI_PACKAGE_NAME kevtrace-gui)
set(CPACK_DEBIAN_GUI_PACKAGE_DEPENDS "kevtrace (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_GUI_DESCRIPTION "kevtrace's window: definitions, live timelines and recordings
Authors probes, shows what they hit as it happens, and opens recordings.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libkevtrace0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
# Which package programs need that are linked with it; CPack writes this for all packages or none.
file(WRITE ${CMAKE_BINARY_DIR}/packaging/shlibs "libkevtrace 0 libkevtrace0 (>= ${PROJECT_VERSION})\n")
file(WRITE ${CMAKE_BINARY_DIR}/packaging/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${CMAKE_BINARY_DIR}/packaging/shlibs;${CMAKE_BINARY_DIR}/packaging/triggers")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "kevtrace (>= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "kevtrace for other programs
Checks definitions, traces programs and reads recordings, from C.")
set(CPACK_DEBIAN_LIBDEV_PACKAGE_NAME libkevtrace-dev)
set(CPACK_DEBIAN_LIBDEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBDEV_PACKAGE_DEPENDS "libkevtrace0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_LIBDEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_COMPONENT_LIBDEV_DESCRIPTION "kevtrace for other programs: header and pkg-config file
What a program is compiled with that uses libkevtrace.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-kevtrace)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, libkevtrace0 (>= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "kevtrace for Python programs
Traces programs and reads recordings in Python, by libkevtrace.")
set(CPACK_DEBIAN_DKMS_PACKAGE_NAME kevtrace-dkms)
set(CPACK_DEBIAN_DKMS_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DKMS_PACKAGE_DEPENDS "dkms")
set(CPACK_DEBIAN_DKMS_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DKMS_PACKAGE_CONTROL_EXTRA "${packaging}/postinst;${packaging}/prerm")
set(CPACK_COMPONENT_DKMS_DESCRIPTION "kevtrace's kernel module, as sources
Optional: kevtrace traces the kernel by BPF programs without it.")
set(CPACK_DEBIAN_DOC_PACKAGE_NAME kevtrace-doc)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DOC_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_COMPONENT_DOC_DESCRIPTION "documentation and examples of kevtrace
The language, recordings, histograms, the window, and how it is made.")
include(CPack)
