// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/metrics_page.h"

#include <ostream>
#include <streambuf>
#include <string>
#include <utility>

#include "prometheus/text_serializer.h"

namespace cohost::supervisor {
namespace {

// Appends to a string. The page of a thousand services has megabytes: std::ostringstream copies
// them several times while it grows, and once more at the end.
class StringBuffer final : public std::streambuf {
 public:
  explicit StringBuffer(std::string& out) : out_(out) {}

 protected:
  std::streamsize xsputn(const char* data, std::streamsize count) override {
    out_.append(data, static_cast<size_t>(count));
    return count;
  }
  int_type overflow(int_type next) override {
    if (!traits_type::eq_int_type(next, traits_type::eof())) {
      out_.push_back(traits_type::to_char_type(next));
    }
    return traits_type::not_eof(next);
  }

 private:
  std::string& out_;
};

}  // namespace

MetricsPage::MetricsPage(HostCollectable::SnapshotSource source, std::string version)
    : source_(std::move(source)), collectable_([this] { return rendered_; }, std::move(version)) {}

std::shared_ptr<const std::string> MetricsPage::Render() {
  std::shared_ptr<const HostSnapshot> snapshot = source_();
  if (page_ == nullptr || snapshot != rendered_) {
    rendered_ = std::move(snapshot);
    std::string page;
    if (page_ != nullptr) page.reserve(page_->size() + page_->size() / 8);
    page_.reset();
    StringBuffer buffer(page);
    std::ostream stream(&buffer);
    prometheus::TextSerializer().Serialize(stream, collectable_.Collect());
    page_ = std::make_shared<const std::string>(std::move(page));
  }
  return page_;
}

}  // namespace cohost::supervisor
