/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules whose table differs from what this build knows, one by -DODD_... each. */
#include <stddef.h>

#include "worker/sdk/cohost.h"

static const cohost_host* host;

static cohost_status create(cohost_service* service, void** out) {
  *out = service;
  return COHOST_OK;
}
static void request(void* service, cohost_request request) {
  (void)service;
  host->respond(request, 200, NULL, 0, cohost_text("served"));
}
static void destroy(void* service) { (void)service; }

/* Of a header that is older than `health`: the table ends before it, and what lies behind it is not
 * null. */
typedef struct old_table {
  char table[offsetof(cohost_module, health)];
  void* not_a_member;
} old_table;

/* Of a header that is newer than this build: more members at the end. */
typedef struct new_table {
  cohost_module table;
  void (*from_the_future[4])(void);
} new_table;

static union {
  cohost_module table;
  old_table old;
  new_table future;
} self;

#ifdef ODD_TLS
/* Initial-exec: needs a place in the process's static thread-local storage. */
static __thread volatile char area[ODD_TLS] __attribute__((tls_model("initial-exec")));
#endif

#ifdef ODD_NAME
#define ENTRY cohost_module_v9
cohost_status ENTRY(const cohost_host* table, const cohost_module** module);
#else
#define ENTRY cohost_module_v1
#endif

COHOST_EXPORT cohost_status ENTRY(const cohost_host* table, const cohost_module** module) {
  host = table;
  self.table.major = COHOST_ABI_MAJOR;
  self.table.size = sizeof(cohost_module);
  self.table.create = create;
  self.table.request = request;
  self.table.destroy = destroy;
#if defined(ODD_OLD)
  self.table.size = offsetof(cohost_module, health);
  self.old.not_a_member = (void*)1;
#elif defined(ODD_NEW)
  self.table.size = sizeof(new_table);
  self.future.from_the_future[0] = (void (*)(void))1;
#elif defined(ODD_MAJOR)
  self.table.major = COHOST_ABI_MAJOR + 1;
#elif defined(ODD_SIZE)
  self.table.size = 16;
#elif defined(ODD_MISSING)
  self.table.request = NULL;
#elif defined(ODD_FLAGS)
  self.table.flags = COHOST_INLINE | COHOST_SERIAL;
#elif defined(ODD_SINGLE)
  self.table.flags = COHOST_ONE_SERVICE_PER_WORKER | 1u << 30;
#elif defined(ODD_REFUSES)
  return COHOST_NOT_SUPPORTED;
#elif defined(ODD_TLS)
  area[0] = 1;
#elif defined(ODD_NULL)
  return COHOST_OK;
#endif
  *module = &self.table;
  return COHOST_OK;
}

#ifdef ODD_UNDEFINED
extern int nobody_defines_this(void);
COHOST_EXPORT int uses_it(void);
int uses_it(void) { return nobody_defines_this(); }
#endif
