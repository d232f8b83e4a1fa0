// SPDX-License-Identifier: Apache-2.0
//
// How much of an image becomes a process's memory: a page fault maps the 64 KiB around it.
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "base/format/data_image.h"
#include "base/format/data_image_builder.h"
#include "gtest/gtest.h"

namespace cohost {
namespace {

constexpr size_t kWindow = 64 * 1024;

// Counts the windows of an image that somebody reads, by its own page faults: whatever the kernel's
// window is, the figure is the same. One at a time, since a signal handler has no object.
class CountedImage {
 public:
  explicit CountedImage(const std::string& file)
      : length_((file.size() + kWindow - 1) / kWindow * kWindow) {
    void* mapping = ::mmap(nullptr, length_, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return;
    std::memcpy(mapping, file.data(), file.size());
    base_ = static_cast<char*>(mapping);
    image_ = DataImage::Open({base_, file.size()}).value_or(DataImage());
    current_ = this;
    struct sigaction action = {};
    action.sa_sigaction = OnFault;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &action, &before_);
  }
  ~CountedImage() {
    ::sigaction(SIGSEGV, &before_, nullptr);
    current_ = nullptr;
    ::munmap(base_, length_);
  }
  CountedImage(const CountedImage&) = delete;
  CountedImage& operator=(const CountedImage&) = delete;

  uint64_t records() const { return image_.size(); }

  // Windows that `read`, called with the image, touches when none is there before.
  template <typename Read>
  size_t WindowsOf(const Read& read) {
    EXPECT_EQ(::mprotect(base_, length_, PROT_NONE), 0);
    windows_ = 0;
    read(image_);
    return windows_;
  }

 private:
  static void OnFault(int, siginfo_t* info, void*) {
    const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
    const auto base = reinterpret_cast<uintptr_t>(current_->base_);
    const size_t window = (at - base) / kWindow * kWindow;
    if (at < base || at - base >= current_->length_ ||
        ::mprotect(current_->base_ + window, kWindow, PROT_READ) != 0) {
      ::signal(SIGSEGV, SIG_DFL);  // a fault of something else ends the test as it should
      return;
    }
    ++current_->windows_;
  }

  static inline CountedImage* current_ = nullptr;

  const size_t length_;
  char* base_ = nullptr;
  DataImage image_;
  struct sigaction before_ = {};
  std::atomic<size_t> windows_ = 0;
};

// The multiplication is a permutation of 32 bits: keys are unique and fall anywhere.
std::string Key(uint32_t i) { return std::to_string(i * 2654435761u); }

std::string File(uint32_t records) {
  DataImageBuilder builder("many");
  for (uint32_t i = 0; i < records; ++i) builder.Add(Key(i), std::to_string(i));
  return *builder.Build();
}

TEST(DataImageLocality, ASearchTouchesFourWindowsAtMost) {
  constexpr uint32_t kRecords = 500'000;
  constexpr int kLookUps = 500;
  CountedImage image(File(kRecords));
  ASSERT_EQ(image.records(), kRecords);
  std::mt19937 random(3);
  size_t all = 0;
  for (int i = 0; i < kLookUps; ++i) {
    const uint32_t number = random() % kRecords;
    const std::string key = Key(number);
    std::string value;
    const size_t present = image.WindowsOf(
        [&](const DataImage& words) { value = words.Find(key).value_or("absent"); });
    EXPECT_EQ(value, std::to_string(number));
    bool found = true;
    const size_t absent =
        image.WindowsOf([&](const DataImage& words) { found = words.Find(key + "!").has_value(); });
    EXPECT_FALSE(found);
    uint64_t size = 0;
    const size_t prefix =
        image.WindowsOf([&](const DataImage& words) { size = words.WithPrefix(key).size(); });
    EXPECT_GE(size, 1u);
    EXPECT_LE(std::max({present, absent, prefix}), 4u) << key;
    EXPECT_GE(std::min({present, absent, prefix}), 1u) << key;
    all += present;
  }
  EXPECT_LT(all, kLookUps * 5 / 2);
}

TEST(DataImageLocality, ARecordByNumberTouchesThreeWindowsAtMost) {
  CountedImage image(File(300'000));
  for (uint64_t number = 0; number < image.records(); number += 997) {
    size_t length = 0;
    const size_t windows = image.WindowsOf([&](const DataImage& words) {
      const auto record = words.At(number);
      length = std::string(record->key).size() + std::string(record->value).size();
    });
    EXPECT_GT(length, 1u);
    EXPECT_LE(windows, 3u) << number;
  }
}

}  // namespace
}  // namespace cohost
