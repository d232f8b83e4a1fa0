/* SPDX-License-Identifier: Apache-2.0
 *
 * A module in plain C (C99): the request functions of the interface, one target each. */
#include <stdio.h>
#include <stdlib.h>

#include "worker/sdk/cohost.h"

static const cohost_host* host;

typedef struct instance {
  cohost_service* service;
  cohost_request held;            // atomic access: requests and health come on different threads
  cohost_status last;             /* what the last interesting call came to */
  cohost_cancel_reason cancelled; /* of the last cancelled request */
  cohost_status after_cancel;     /* of an answer to it */
} instance;

static int has_target(const cohost_request_info* info, const char* target) {
  return info->target.size == strlen(target) &&
         memcmp(info->target.data, target, info->target.size) == 0;
}

static cohost_status answer(cohost_request request, const char* text) {
  return host->respond(request, 200, NULL, 0, cohost_text(text));
}

static void answer_number(cohost_request request, long number) {
  char text[32];
  snprintf(text, sizeof(text), "%ld", number);
  answer(request, text);
}

/* method, target, peer, the values of all x-many headers, traceparent, content length. */
static void answer_info(cohost_request request, const cohost_request_info* info) {
  char text[1024];
  size_t i;
  int used =
      snprintf(text, sizeof(text), "%.*s %.*s %.*s", (int)info->method.size, info->method.data,
               (int)info->target.size, info->target.data, (int)info->peer.size, info->peer.data);
  for (i = 0; i < info->header_count; ++i) {
    if (!cohost_same_name(info->headers[i].name, cohost_text("X-MANY"))) continue;
    used += snprintf(text + used, sizeof(text) - (size_t)used, " %.*s",
                     (int)info->headers[i].value.size, info->headers[i].value.data);
  }
  snprintf(text + used, sizeof(text) - (size_t)used, " [%.*s] %llu", (int)info->traceparent.size,
           info->traceparent.data, (unsigned long long)info->content_length);
  answer(request, text);
}

typedef struct late {
  cohost_request request;
} late;

static void answer_late(void* data) {
  late* work = (late*)data;
  answer(work->request, "from another thread");
  free(work);
}

/* One body that is sent back while it arrives; lives until finish or the request's end. */
typedef struct echo {
  char part[1000];
  size_t size; /* read and not written yet */
} echo;

static void go_on(void* data, cohost_request request) {
  echo* state = (echo*)data;
  for (;;) {
    cohost_status status;
    if (state->size > 0) {
      status = host->write_body(request, cohost_bytes(state->part, state->size));
      if (status == COHOST_WOULD_BLOCK) {
        host->on_writable(request, go_on, state);
        return;
      }
      if (status != COHOST_OK) break;
      state->size = 0;
    }
    status = host->read_body(request, state->part, sizeof(state->part), &state->size);
    if (status == COHOST_WOULD_BLOCK) {
      host->on_readable(request, go_on, state);
      return;
    }
    if (status != COHOST_OK) break;
  }
  {
    const cohost_header* trailers = NULL;
    size_t count = 0;
    host->trailers(request, &trailers, &count);
    host->finish(request, trailers, count);
  }
  free(state);
}

static void start_echo(cohost_request request) {
  const cohost_header header = {cohost_text("X-Echo"), cohost_text("yes")};
  echo* state = (echo*)calloc(1, sizeof(echo));
  host->set_request_data(request, state);
  host->send_head(request, 200, &header, 1, COHOST_UNKNOWN_LENGTH);
  go_on(state, request);
}

static void misuse(instance* self, cohost_request request) {
  const cohost_header bad = {cohost_text("Content-Length"), cohost_text("1")};
  char text[64];
  const cohost_status header = host->respond(request, 200, &bad, 1, cohost_text("x"));
  const cohost_status status = host->respond(request, 99, NULL, 0, cohost_text("x"));
  const cohost_status early = host->write_body(request, cohost_text("x"));
  snprintf(text, sizeof(text), "%d %d %d", header, status, early);
  answer(request, text);
  self->last = answer(request, "again");
}

static cohost_status create(cohost_service* service, void** out) {
  instance* self = (instance*)calloc(1, sizeof(instance));
  self->service = service;
  *out = self;
  return COHOST_OK;
}

static void start(void* data) {
  host->start_done(((instance*)data)->service, COHOST_OK, cohost_text(""));
}

static void request(void* data, cohost_request request) {
  instance* self = (instance*)data;
  cohost_request_info info;
  info.size = sizeof(info);
  if (host->request_info(request, &info) != COHOST_OK) return;
  if (has_target(&info, "/async")) {
    late* work = (late*)malloc(sizeof(late));
    work->request = request;
    if (host->spawn_thread(self->service, cohost_text("late"), answer_late, work, NULL) !=
        COHOST_OK) {
      free(work);
      host->abort(request);
    }
  } else if (has_target(&info, "/hold")) {
    __atomic_store_n(&self->held, request, __ATOMIC_RELEASE);
  } else if (has_target(&info, "/release")) {
    answer_number(request, answer(__atomic_load_n(&self->held, __ATOMIC_ACQUIRE), "released"));
  } else if (has_target(&info, "/echo")) {
    start_echo(request);
  } else if (has_target(&info, "/misuse")) {
    misuse(self, request);
  } else if (has_target(&info, "/last")) {
    answer_number(request, self->last);
  } else if (has_target(&info, "/cancelled")) {
    answer_number(request, (long)self->cancelled * 100 + self->after_cancel);
  } else if (has_target(&info, "/abort")) {
    host->abort(request);
  } else if (has_target(&info, "/wait")) {
    answer_number(request, host->wait_readable(request));
  } else {
    answer_info(request, &info);
  }
}

static void cancel(void* data, cohost_request request, cohost_cancel_reason reason) {
  instance* self = (instance*)data;
  self->cancelled = reason;
  self->after_cancel = answer(request, "too late");
}

static void destroy(void* data) { free(data); }

static cohost_status health(void* data, char* reason, size_t capacity, size_t* size) {
  instance* self = (instance*)data;
  (void)capacity;
  if (__atomic_load_n(&self->held, __ATOMIC_ACQUIRE) == 0) return COHOST_OK;
  memcpy(reason, "holding", 7);
  *size = 7;
  return COHOST_FAILED;
}

#ifndef FLAGS
#define FLAGS 0
#endif

COHOST_EXPORT cohost_status cohost_module_v1(const cohost_host* table,
                                             const cohost_module** module) {
  static cohost_module self;
  if (table->major != COHOST_ABI_MAJOR || !COHOST_HAS(table, call_cancel)) {
    return COHOST_NOT_SUPPORTED;
  }
  host = table;
  self.major = COHOST_ABI_MAJOR;
  self.size = sizeof(self);
  self.flags = FLAGS;
  self.name = cohost_text("plain_c");
  self.create = create;
  self.start = start;
  self.request = request;
  self.cancel = cancel;
  self.destroy = destroy;
  self.health = health;
  *module = &self;
  return COHOST_OK;
}
