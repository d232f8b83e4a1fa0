// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace cohost::worker {

// Bytes between a socket and a parser, contiguous. Small requests fit into the object itself, so
// that an idle connection, which must have room to read into, costs no more than that.
class ReadBuffer {
 public:
  ReadBuffer() = default;
  ReadBuffer(const ReadBuffer&) = delete;
  ReadBuffer& operator=(const ReadBuffer&) = delete;

  std::string_view view() const { return {data() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }

  // Room of at least 1 byte behind what is there, and of about `wish` bytes when memory has to be
  // taken. Moves what is there: views end.
  std::span<char> Prepare(size_t wish) {
    if (empty()) begin_ = end_ = 0;
    if (end_ == capacity()) Move(begin_ > 0 ? capacity() : std::max(2 * capacity(), wish));
    return {data() + end_, capacity() - end_};
  }
  void Commit(size_t count) { end_ += count; }
  void Consume(size_t count) { begin_ += count; }

  // Gives memory back, when nothing is there.
  void Release() {
    if (!empty() || heap_ == nullptr) return;
    heap_.reset();
    heap_size_ = begin_ = end_ = 0;
  }

 private:
  const char* data() const { return heap_ ? heap_.get() : inline_.data(); }
  char* data() { return heap_ ? heap_.get() : inline_.data(); }
  size_t capacity() const { return heap_ ? heap_size_ : inline_.size(); }

  void Move(size_t size) {
    const size_t count = end_ - begin_;
    if (size == capacity()) {
      std::memmove(data(), data() + begin_, count);
    } else {
      auto larger = std::make_unique_for_overwrite<char[]>(size);
      std::memcpy(larger.get(), data() + begin_, count);
      heap_ = std::move(larger);
      heap_size_ = size;
    }
    begin_ = 0;
    end_ = count;
  }

  std::array<char, 512> inline_;
  std::unique_ptr<char[]> heap_;
  size_t heap_size_ = 0;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace cohost::worker
