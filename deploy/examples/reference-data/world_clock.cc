// SPDX-License-Identifier: Apache-2.0
//
// What time it is in the places of one area of tzdata (`area`: Europe, America, ...). The image
// holds tzdata's TZif files (RFC 8536), which are searched where they lie: version 2's 64-bit
// table, and its last entry for later times.
#include <time.h>

#include <array>

#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

constexpr size_t kMostResults = 20;
constexpr size_t kHeader = 44;

struct LocalTime {
  int32_t offset = 0;  // seconds east of Greenwich
  bool daylight = false;
  std::string_view abbreviation;
};

// A big-endian number of a TZif file; 0 outside of it.
int64_t Number(std::string_view file, size_t at, size_t size) {
  if (at > file.size() || size > file.size() - at) return 0;
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(file[at + i]);
  const auto bits = static_cast<unsigned>(64 - 8 * size);
  return static_cast<int64_t>(value << bits) >> bits;
}

struct Counts {
  explicit Counts(std::string_view file, size_t at)
      : leaps(Read(file, at + 28)),
        times(Read(file, at + 32)),
        types(Read(file, at + 36)),
        letters(Read(file, at + 40)),
        universal(Read(file, at + 20)),
        standard(Read(file, at + 24)) {}
  static size_t Read(std::string_view file, size_t at) {
    return static_cast<uint32_t>(Number(file, at, 4)) & 0xffffff;  // no real file has more
  }
  size_t BlockSize(size_t time_size) const {
    return times * (time_size + 1) + types * 6 + letters + leaps * (time_size + 4) + standard +
           universal;
  }
  size_t leaps, times, types, letters, universal, standard;
};

std::optional<LocalTime> TimeIn(std::string_view file, int64_t now) {
  if (file.size() < kHeader || file.substr(0, 4) != "TZif" || file[4] < '2') return std::nullopt;
  const size_t second = kHeader + Counts(file, 0).BlockSize(4);
  if (second > file.size() || file.substr(second, 4) != "TZif") return std::nullopt;
  const Counts counts(file, second);
  const size_t times = second + kHeader;
  if (counts.BlockSize(8) > file.size() - times || counts.types == 0) return std::nullopt;
  size_t low = 0;
  for (size_t high = counts.times; low < high;) {
    const size_t middle = low + (high - low) / 2;
    if (Number(file, times + middle * 8, 8) <= now) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const size_t indexes = times + counts.times * 8;
  const size_t type = low == 0 ? 0 : static_cast<unsigned char>(file[indexes + low - 1]);
  if (type >= counts.types) return std::nullopt;
  const size_t entry = indexes + counts.times + type * 6;
  const size_t letters = indexes + counts.times + counts.types * 6;
  const auto name = static_cast<unsigned char>(file[entry + 5]);
  if (name >= counts.letters) return std::nullopt;
  const std::string_view abbreviation = file.substr(letters + name, counts.letters - name);
  return LocalTime{static_cast<int32_t>(Number(file, entry, 4)), file[entry + 4] != 0,
                   abbreviation.substr(0, abbreviation.find('\0'))};
}

class WorldClock final : public ReferenceService {
 public:
  explicit WorldClock(cohost::Context context)
      : ReferenceService(context),
        image_(context.image("time")),
        area_(context.setting("area", "")) {
    if (image_.WithPrefix("zone/" + area_ + "/").size() == 0) {
      throw std::runtime_error("the image has no area '" + area_ + "'");
    }
    SetExamples({{"/" + std::string(context.setting("example", "")), "the time there"},
                 {"/?q=b", "places that begin with these letters"}});
  }

 protected:
  bool WantsRoot(const cohost::Request& request) const override {
    return request.query("q").has_value();
  }

  void Answer(cohost::Request request, const std::string& path) override {
    if (path.empty()) return Search(std::move(request));
    const std::string zone = area_ + "/" + path;
    const auto file = image_.Find("zone/" + zone);
    if (!file) return NotFound(std::move(request), "there is no zone " + zone);
    const time_t now = time(nullptr);
    const auto local = TimeIn(*file, now);
    if (!local) return NotFound(std::move(request), "the data of " + zone + " are damaged");
    request.Json(Describe(zone, *local, now));
  }

 private:
  static std::string Describe(const std::string& zone, const LocalTime& local, time_t now) {
    const time_t shifted = now + local.offset;
    tm parts{};
    gmtime_r(&shifted, &parts);
    std::array<char, 32> text{};
    const size_t size = strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    return "{\"zone\":" + cohost::JsonString(zone) + ",\"time\":\"" +
           std::string(text.data(), size) +
           "\",\"offset_seconds\":" + std::to_string(local.offset) +
           ",\"abbreviation\":" + cohost::JsonString(local.abbreviation) +
           ",\"daylight_saving\":" + (local.daylight ? "true" : "false") + "}";
  }

  void Search(cohost::Request request) const {
    const auto range =
        image_.WithPrefix("place/" + LowerAscii(area_) + "/" + LowerAscii(*request.query("q")));
    JsonList found;
    for (uint64_t i = range.begin; i < range.end && found.size() < kMostResults; ++i) {
      if (const auto place = image_.At(i)) found.AddString(place->value);
    }
    request.Json(found.Take());
  }

  const cohost::DataImage image_;
  const std::string area_;
};

}  // namespace
}  // namespace reference

COHOST_MODULE(reference::WorldClock, COHOST_INLINE)
