/* SPDX-License-Identifier: Apache-2.0
 *
 * The public C headers by themselves, as C99 and pedantically. */
#include "base/format/data_image.h"
#include "worker/sdk/cohost.h"

/* Sizes that no later version may change: the tables only grow at their ends. */
typedef char first_members_stay[offsetof(cohost_host, get_extension) == 8 ? 1 : -1];
typedef char module_members_stay[offsetof(cohost_module, create) == 56 ? 1 : -1];
typedef char info_stays[sizeof(cohost_request_info) == 8 + 3 * 16 + 16 + 3 * 8 + 2 * 16 ? 1 : -1];

int use_header(first_members_stay* a, module_members_stay* b, info_stays* c);
int use_header(first_members_stay* a, module_members_stay* b, info_stays* c) {
  return (*a)[0] + (*b)[0] + (*c)[0];
}
