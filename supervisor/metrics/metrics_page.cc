// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/metrics_page.h"

#include <utility>

#include "prometheus/text_serializer.h"

namespace cohost::supervisor {

MetricsPage::MetricsPage(HostCollectable::SnapshotSource source, std::string version)
    : source_(std::move(source)), collectable_([this] { return rendered_; }, std::move(version)) {}

std::shared_ptr<const std::string> MetricsPage::Render() {
  std::shared_ptr<const HostSnapshot> snapshot = source_();
  if (page_ == nullptr || snapshot != rendered_) {
    rendered_ = std::move(snapshot);
    page_ = std::make_shared<const std::string>(
        prometheus::TextSerializer().Serialize(collectable_.Collect()));
  }
  return page_;
}

}  // namespace cohost::supervisor
