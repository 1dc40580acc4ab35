"""A CMake file for exported C: the static library, and its self-test for CTest."""

from __future__ import annotations

_TEXT = """\
# {title}
cmake_minimum_required(VERSION 3.10)
project({prefix} C)

add_library({prefix} STATIC {prefix}.c)
target_include_directories({prefix} PUBLIC "${{CMAKE_CURRENT_SOURCE_DIR}}")
set_target_properties({prefix} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set_target_properties({prefix} PROPERTIES COMPILE_OPTIONS "-O2")
endif()
if(NOT MSVC)
  target_link_libraries({prefix} PUBLIC m)
endif()

if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  enable_testing()
  add_executable({prefix}_selftest {prefix}_selftest.c)
  set_target_properties({prefix}_selftest PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
  target_link_libraries({prefix}_selftest PRIVATE {prefix})
  add_test(NAME {prefix}_selftest COMMAND {prefix}_selftest)
endif()
"""


def cmake(prefix: str, title: str) -> str:
    """The text of CMakeLists.txt for the files of `c_source` with this prefix."""
    return _TEXT.format(prefix=prefix, title=title)


__all__ = ["cmake"]
