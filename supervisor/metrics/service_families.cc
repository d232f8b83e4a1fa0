// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/service_families.h"

#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/format/segment.h"

namespace cohost::supervisor {
namespace {

using prometheus::MetricFamily;

constexpr std::array<std::string_view, 6> kCodeClasses = {"none", "1xx", "2xx",
                                                          "3xx",  "4xx", "5xx"};

const char* RuntimeName(Runtime runtime) {
  switch (runtime) {
    case Runtime::kNative:
      return "native";
    case Runtime::kDotnet:
      return "dotnet";
  }
  return "unknown";
}

Labels ServiceLabels(const ServiceView& service) { return {MakeLabel("service", service.name)}; }

template <typename Value>
void AddPerService(const HostSnapshot& snapshot, Families& families, const MetricName& name,
                   Value value) {
  MetricFamily family = MakeFamily(name);
  family.metric.reserve(snapshot.services.size());
  for (const ServiceView& service : snapshot.services) {
    AddValue(family, ServiceLabels(service), static_cast<double>(value(service)));
  }
  families.push_back(std::move(family));
}

void AddInfo(const HostSnapshot& snapshot, Families& families) {
  MetricFamily family = MakeFamily(kServiceInfo);
  for (const ServiceView& service : snapshot.services) {
    Labels labels = ServiceLabels(service);
    labels.push_back(MakeLabel("group", service.group));
    labels.push_back(MakeLabel("runtime", RuntimeName(service.runtime)));
    labels.push_back(MakeLabel("revision", absl::StrCat(service.revision)));
    AddValue(family, std::move(labels), 1);
  }
  families.push_back(std::move(family));
}

void AddRequests(const HostSnapshot& snapshot, Families& families) {
  MetricFamily family = MakeFamily(kServiceRequests);
  family.metric.reserve(snapshot.services.size() * kCodeClasses.size());
  for (const ServiceView& service : snapshot.services) {
    for (size_t i = 0; i < kCodeClasses.size(); ++i) {
      Labels labels = ServiceLabels(service);
      labels.push_back(MakeLabel("code_class", kCodeClasses[i]));
      AddValue(family, std::move(labels), static_cast<double>(service.totals.answered[i]));
    }
  }
  families.push_back(std::move(family));
}

void AddDurations(const HostSnapshot& snapshot, Families& families) {
  MetricFamily family = MakeFamily(kServiceDuration);
  family.metric.reserve(snapshot.services.size());
  for (const ServiceView& service : snapshot.services) {
    prometheus::ClientMetric& metric = family.metric.emplace_back();
    metric.label = ServiceLabels(service);
    // Cumulative, and the count is the last bucket by construction: a reader takes a page whose
    // count and buckets differ for broken.
    uint64_t count = 0;
    metric.histogram.bucket.reserve(kLatencyBuckets);
    for (size_t i = 0; i < kLatencyBuckets; ++i) {
      count += service.totals.latency[i];
      prometheus::ClientMetric::Bucket& bucket = metric.histogram.bucket.emplace_back();
      bucket.cumulative_count = count;
      bucket.upper_bound = i < kLatencyBounds.size() ? kLatencyBounds[i] : HUGE_VAL;
    }
    metric.histogram.sample_count = count;
    metric.histogram.sample_sum = static_cast<double>(service.totals.latency_sum_ns) * 1e-9;
  }
  families.push_back(std::move(family));
}

uint64_t Hits(const ServiceView& service, LimitHit hit) {
  return service.totals.limit_hits[static_cast<size_t>(hit)];
}

}  // namespace

void AddServiceFamilies(const HostSnapshot& snapshot, Families& families) {
  AddInfo(snapshot, families);
  AddPerService(snapshot, families, kServiceReady,
                [](const ServiceView& s) { return s.status == ServiceStatus::kReady ? 1 : 0; });
  AddRequests(snapshot, families);
  AddDurations(snapshot, families);
  AddPerService(snapshot, families, kServiceInFlight,
                [](const ServiceView& s) { return s.in_flight; });
  AddPerService(snapshot, families, kServiceQueued, [](const ServiceView& s) { return s.queued; });
  AddPerService(snapshot, families, kServiceQueueFull,
                [](const ServiceView& s) { return Hits(s, LimitHit::kQueueFull); });
  AddPerService(snapshot, families, kServiceTimeouts,
                [](const ServiceView& s) { return Hits(s, LimitHit::kRequestTimeout); });
  AddPerService(snapshot, families, kServiceRefused, [](const ServiceView& s) {
    return Hits(s, LimitHit::kHeaderTooLarge) + Hits(s, LimitHit::kBodyTooLarge) +
           Hits(s, LimitHit::kClientTimeout) + Hits(s, LimitHit::kMalformed);
  });
  AddPerService(snapshot, families, kServiceOldestRequest, [](const ServiceView& s) {
    return absl::ToDoubleSeconds(s.oldest_request_age.value_or(absl::ZeroDuration()));
  });
  AddPerService(snapshot, families, kServiceAllocated,
                [](const ServiceView& s) { return s.allocated_bytes; });
}

void AddModuleFamilies(const HostSnapshot& snapshot, Families& families) {
  std::map<std::string, MetricFamily> by_name;
  std::set<std::pair<std::string, std::string>> seen;  // family and service
  uint64_t conflicts = 0;
  uint64_t dropped = 0;
  for (const ServiceView& service : snapshot.services) {
    dropped += service.metrics_dropped;
    for (const ModuleMetricView& metric : service.metrics) {
      const MetricKind kind = metric.is_counter ? MetricKind::kCounter : MetricKind::kGauge;
      const auto name = ModuleMetricName(metric.name, kind);
      if (!name) {
        ++conflicts;
        continue;
      }
      const MetricFamily wanted = MakeFamily({*name, kind, kModuleMetricHelp});
      MetricFamily& family = by_name.try_emplace(*name, wanted).first->second;
      // A page with one series twice, or one name of two types, is refused whole by its reader.
      if (family.type != wanted.type || !seen.emplace(*name, service.name).second) {
        ++conflicts;
        continue;
      }
      AddValue(family, ServiceLabels(service), metric.value);
    }
  }
  for (auto& [name, family] : by_name) families.push_back(std::move(family));
  AddSingle(families, kModuleMetricsDropped, static_cast<double>(dropped));
  AddSingle(families, kModuleMetricConflicts, static_cast<double>(conflicts));
}

}  // namespace cohost::supervisor
