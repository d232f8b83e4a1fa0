# shellcheck shell=bash
# How Clang reads our sources: the flags of .bazelrc that matter to it, and the generated protos of the last build.
# shellcheck disable=SC2034
CLANG_FLAGS=(
  -std=c++20 -I. -Ibazel-bin -Wall -Wextra
  -DBOOST_ASIO_SEPARATE_COMPILATION -DBOOST_ASIO_NO_DEPRECATED -DBOOST_BEAST_SEPARATE_COMPILATION)
