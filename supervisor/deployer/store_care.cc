// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/store_care.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/modules/signing/derived_record.h"
#include "supervisor/modules/signing/signature_store.h"

namespace cohost::supervisor {

namespace {

absl::Status ForgetRecords(const ModuleStore& store, const StoreCollection& collection) {
  const SignatureStore signatures(store.folder());
  const DerivedRecords derived(store.folder());
  for (const StoredFile& file : collection.removed) {
    const bool is_there =
        std::any_of(std::begin(kStoredKinds), std::end(kStoredKinds),
                    [&](StoredKind kind) { return store.Find(file.hash, kind).ok(); });
    if (is_there) continue;
    COHOST_RETURN_IF_ERROR(signatures.Forget(file.hash));
    COHOST_RETURN_IF_ERROR(derived.Forget(file.hash));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StoreOutcome> CareForStore(ModuleStore& store, const std::set<std::string>& keep,
                                          const std::vector<NeededFile>& needed, bool check,
                                          bool collect) {
  StoreOutcome outcome;
  if (check) {
    COHOST_ASSIGN_OR_RETURN(outcome.check, store.Check());
    for (const NeededFile& file : needed) {
      if (store.Find(file.hash, file.kind).ok()) continue;
      outcome.missing.push_back(absl::StrCat("service '", file.service, "' needs ",
                                             AsAbsl(StoredKindName(file.kind)), " ", file.hash,
                                             ", copied from ", file.source));
    }
  }
  if (collect) {
    COHOST_ASSIGN_OR_RETURN(outcome.collection, store.Collect(keep, kLeastUnusedAge));
    COHOST_RETURN_IF_ERROR(ForgetRecords(store, outcome.collection));
  }
  COHOST_RETURN_IF_ERROR(store.SaveIndex());
  return outcome;
}

}  // namespace cohost::supervisor
