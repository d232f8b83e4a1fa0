// SPDX-License-Identifier: Apache-2.0
//
// One word a day, the same for everybody: /today, or any day as /2026-01-31.
#include <time.h>

#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

class WordOfTheDay final : public ReferenceService {
 public:
  explicit WordOfTheDay(cohost::Context context)
      : ReferenceService(context), words_(context.image("words")) {
    if (words_.empty()) throw std::runtime_error("the image of words is empty");
    SetExamples({{"/today", "the word of today (UTC)"}, {"/2026-01-31", "of another day"}});
  }

 protected:
  void Answer(cohost::Request request, const std::string& path) override {
    const std::string day = path == "today" ? Today() : path;
    if (!IsDay(day)) return NotFound(std::move(request), "no day: /today or /YYYY-MM-DD");
    const auto word = words_.At(Hash(day) % words_.size());
    if (!word) return NotFound(std::move(request), "the image of words is damaged");
    request.Json("{\"day\":" + cohost::JsonString(day) +
                 ",\"word\":" + cohost::JsonString(word->key) + "}");
  }

 private:
  static std::string Today() {
    const time_t now = time(nullptr);
    tm parts{};
    gmtime_r(&now, &parts);
    char text[16];
    return {text, strftime(text, sizeof(text), "%Y-%m-%d", &parts)};
  }
  static bool IsDay(std::string_view text) {
    constexpr std::string_view kShape = "dddd-dd-dd";
    if (text.size() != kShape.size()) return false;
    for (size_t i = 0; i < text.size(); ++i) {
      const bool digit = text[i] >= '0' && text[i] <= '9';
      if (kShape[i] == 'd' ? !digit : text[i] != '-') return false;
    }
    return true;
  }
  // FNV-1a: the same word on every host and after every update of this module.
  static uint64_t Hash(std::string_view text) {
    uint64_t hash = 14695981039346656037u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return hash;
  }

  const cohost::DataImage words_;
};

}  // namespace
}  // namespace reference

COHOST_MODULE(reference::WordOfTheDay, COHOST_INLINE)
