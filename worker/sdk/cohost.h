/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface between a Cohost worker and a native module (a shared object). Valid C99 and
 * C++17. cohost.hpp is a C++ face of it, README.md a short introduction.
 *
 * Shape. A module exports one function, cohost_module_v1. It gets the host's table of functions and
 * gives back its own. Both tables begin with a major version and their size in bytes. Within a
 * major version a table only grows at its end: a reader looks at no member beyond the size that the
 * other side stated (COHOST_HAS), and the host treats missing module functions as null. Later
 * features that do not fit a table come through get_extension("name/1"), in both directions.
 *
 * Values. Enumerations are uint32_t or int32_t: ignore values that you do not know. Structures that
 * the host fills begin with `size`, set by the caller to sizeof: the host writes no more than that.
 * Strings are pointer and length, need not end in NUL, and are UTF-8 where they are text. Times are
 * nanoseconds of CLOCK_MONOTONIC, durations are nanoseconds.
 *
 * Memory. Nothing allocated on one side is freed on the other. What the host gives stays valid as
 * long as stated there; what the module gives is copied before the call returns, unless stated.
 *
 * Errors. No exception and no longjmp crosses the border in either direction. The host checks every
 * argument that it can check: a misuse gives COHOST_INVALID, and nothing was done.
 *
 * Threads. Host functions may be called from any thread, also from threads that the host does not
 * know, unless stated. Each callback says where it runs; three places occur:
 * - I/O thread: one in a worker, shared by all its services. A callback here must not block (no
 *   lock that is held for long, no file, no wait): every request would wait.
 * - service code: where `request` runs. The I/O thread for a module with COHOST_INLINE; else a
 *   thread of the worker's handler pool, several callbacks at once; with COHOST_SERIAL a pool
 *   thread, one callback of the service at a time.
 * - life cycle: a thread of its own for the service, one callback at a time. It may block.
 *
 * The module must not call exit or setlocale, change signal handlers, the working folder, the umask
 * or the environment, or wait for children that it did not start: the process belongs to all
 * services. It may fork only to exec at once.
 *
 * Life of a service (one per deployment entry; a module may be used by several, so keep state in
 * the instance, not in statics):
 * - create -> start .. start_done -> request*
 * - -> drain .. drain_done -> stop .. stop_done -> destroy
 *
 * The module's code stays mapped until the worker ends; it is never unloaded and its static
 * destructors do not run.
 */
#ifndef COHOST_H_
#define COHOST_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COHOST_ABI_MAJOR 1u

/* Marks what a module built with -fvisibility=hidden exports. */
#define COHOST_EXPORT __attribute__((visibility("default")))

/* Whether `table` (a pointer to a table or structure with a `size`) reaches to the end of `member`.
 */
#define COHOST_HAS(table, member) \
  ((size_t)(table)->size >= (size_t)((const char*)(&(table)->member + 1) - (const char*)(table)))

/* ---- Values ---------------------------------------------------------------------------------- */

typedef struct cohost_string {
  const char* data;
  size_t size;
} cohost_string;

typedef struct cohost_header {
  cohost_string name;
  cohost_string value;
} cohost_header;

/* What a function came to. */
typedef int32_t cohost_status;
enum {
  COHOST_OK = 0,
  /* Nothing was done for now; on_readable or on_writable says when to try again. */
  COHOST_WOULD_BLOCK = 1,
  /* The body, or the enumeration, is complete. */
  COHOST_END = 2,
  /* The handle names nothing any more: answered, timed out, client gone, service destroyed. Nothing
   * was done and nothing will be. */
  COHOST_GONE = 3,
  /* The arguments are wrong or the call is not allowed now; nothing was done. */
  COHOST_INVALID = 4,
  /* A limit of the service or the host would be exceeded; nothing was done. */
  COHOST_LIMIT = 5,
  COHOST_NOT_FOUND = 6,
  /* It is known, but not able to do this now; trying again may help. */
  COHOST_UNAVAILABLE = 7,
  COHOST_TIMEOUT = 8,
  /* This host does not do this. */
  COHOST_NOT_SUPPORTED = 9,
  /* Any other failure; also what a module says in start_done or `health`. */
  COHOST_FAILED = 10,
  COHOST_CANCELLED = 11
};

/* A request: unique in this worker's life, never 0. After the module has ended it (respond, finish,
 * abort) every function answers COHOST_GONE for it. */
typedef uint64_t cohost_request;
typedef uint64_t cohost_timer;  /* never 0 */
typedef uint64_t cohost_thread; /* never 0 */
typedef uint64_t cohost_call;   /* never 0 */
typedef uint32_t cohost_metric;

/* One service as the host sees it. Given to `create`; valid for host functions as long as the
 * worker lives (after `destroy` they answer COHOST_GONE or the stated empty value). */
typedef struct cohost_service cohost_service;

/* Why a request ended before its answer was complete. */
typedef uint32_t cohost_cancel_reason;
enum {
  COHOST_CANCEL_CLIENT_GONE = 1,     /* the connection was closed or broken */
  COHOST_CANCEL_REQUEST_TIMEOUT = 2, /* limits.request_timeout: the host has answered 504 */
  COHOST_CANCEL_DRAINING = 3,        /* the worker's drain time is over */
  COHOST_CANCEL_REMOVED = 4,         /* the service is being removed */
  COHOST_CANCEL_PROTOCOL = 5         /* the rest of the request was malformed or too large */
};

typedef uint32_t cohost_log_level;
enum { COHOST_LOG_DEBUG = 0, COHOST_LOG_INFO = 1, COHOST_LOG_WARNING = 2, COHOST_LOG_ERROR = 3 };

typedef uint32_t cohost_metric_kind;
enum {
  COHOST_COUNTER = 1, /* only rises */
  COHOST_GAUGE = 2
};

/* Bits of cohost_module.flags; unknown ones are ignored. */
typedef uint32_t cohost_module_flags;
enum {
  /* Service code never blocks and needs well under a millisecond: it runs on the I/O thread. */
  COHOST_INLINE = 1u << 0,
  /* One callback of service code at a time per service. Not together with COHOST_INLINE. */
  COHOST_SERIAL = 1u << 1,
  /* Service code waits for long (database, files, other hosts). A hint: such a service runs on the
   * pool as one without flags does, and the host may keep it apart from others. */
  COHOST_BLOCKING = 1u << 2,
  /* The module keeps state in statics: a second service of it in the same worker is refused. */
  COHOST_ONE_SERVICE_PER_WORKER = 1u << 3,
  /* Two workers may not run the service at the same time, not even for a moment: it is replaced by
   * stop and start, and requests wait in between. The deployment says `overlap: false` too, since
   * the service is placed before its module is loaded. */
  COHOST_NO_OVERLAP = 1u << 4
};

/* Why a timer's or task's callback is called. */
typedef uint32_t cohost_event;
enum {
  COHOST_EVENT_RUN = 1,
  /* The service is being destroyed and it will not be run: only release what `data` holds. */
  COHOST_EVENT_CANCELLED = 2
};

/* Bits of timer_add. */
enum {
  /* The callback never blocks: it runs on the timer thread, at once, whatever the module's flags.
   */
  COHOST_TIMER_INLINE = 1u << 0
};

#define COHOST_UNKNOWN_LENGTH UINT64_MAX

/* What request_info fills. The views stay valid until the module ends the request (respond, finish,
 * abort), even when the client has gone before. */
typedef struct cohost_request_info {
  size_t size;
  cohost_string method;
  cohost_string target;         /* as it came, not decoded: "/a%20b?c=d", or "*" for OPTIONS */
  cohost_string peer;           /* "127.0.0.1:45678", "[::1]:45678" or "unix" */
  const cohost_header* headers; /* in the order of arrival, repeated ones repeated */
  size_t header_count;
  uint64_t content_length; /* 0: no body; COHOST_UNKNOWN_LENGTH: chunked */
  int64_t start;           /* when the head was complete */
  int64_t deadline;        /* when the host answers 504 and cancels; INT64_MAX: never */
  cohost_string
      traceparent; /* W3C trace context of the client, checked; empty when there is none */
  cohost_string tracestate;
} cohost_request_info;

/* What service_info fills. The views stay valid as long as the worker lives. */
typedef struct cohost_service_info {
  size_t size;
  cohost_string name;        /* as in the deployment */
  cohost_string data_folder; /* where the service may write; empty: nowhere */
  uint32_t generation;       /* of this worker in its slot, rising with each replacement */
  uint32_t setting_count;
} cohost_service_info;

/* Service code (see the top); for on_readable and on_writable. */
typedef void (*cohost_request_callback)(void* data, cohost_request request);
typedef void (*cohost_event_callback)(void* data, cohost_event event);

/* A request to another service of this deployment. */
typedef struct cohost_call_request {
  size_t size;
  cohost_string service; /* its name in the deployment */
  cohost_string method;  /* empty: GET */
  cohost_string target;
  const cohost_header* headers;
  size_t header_count;
  cohost_string body;
  /* The request that this call is made for, or 0: the call ends no later than that request's
   * deadline, and carries its traceparent and tracestate. */
  cohost_request parent;
  int64_t deadline;         /* 0: the parent's, or 30 s from now without a parent */
  uint64_t max_answer_size; /* of the body; 0: 1 MiB */
} cohost_call_request;

/* The answer to a call. Views are valid during the callback only. */
typedef struct cohost_call_answer {
  size_t size;
  uint32_t http_status; /* 0 when there is no answer */
  const cohost_header* headers;
  size_t header_count;
  cohost_string body;
} cohost_call_answer;

/* Service code, once per call that answered COHOST_OK. `status`: COHOST_OK with an answer of any
 * HTTP status; COHOST_TIMEOUT; COHOST_LIMIT, the answer was longer than max_answer_size;
 * COHOST_CANCELLED, by call_cancel or because this service is being destroyed;
 * COHOST_UNAVAILABLE, the other service ended the request without an answer. */
typedef void (*cohost_call_callback)(void* data, cohost_call call, cohost_status status,
                                     const cohost_call_answer* answer);

/* ---- What the host offers -------------------------------------------------------------------- */

typedef struct cohost_host {
  uint32_t major; /* COHOST_ABI_MAJOR */
  uint32_t size;

  /* A table of a later feature, or null when this host does not have it. `name` ends in NUL and
   * carries its version: "websocket/1". What it points to lives as long as the worker. */
  const void* (*get_extension)(const char* name);

  /* -- The service -- */

  cohost_status (*service_info)(cohost_service* service, cohost_service_info* info);
  /* The deployment's settings are flattened: "db:password", "list:0", "list:1"; values as written.
   * COHOST_NOT_FOUND leaves `*value` alone. The view is valid until `destroy` has returned. */
  cohost_status (*setting)(cohost_service* service, cohost_string key, cohost_string* value);
  /* By position, in the order of keys; COHOST_END behind the last. */
  cohost_status (*setting_at)(cohost_service* service, uint32_t index, cohost_string* key,
                              cohost_string* value);
  /* A read-only data image of the deployment by its name. Mapped once per worker and shared by all
   * workers; valid as long as the worker lives. The content is the file's: data_image.h reads it.
   */
  cohost_status (*data_image)(cohost_service* service, cohost_string name, const void** base,
                              size_t* size);
  /* One line of the worker's log, with the service's name. The whole
   * line is cut at 4,096 bytes. */
  void (*log)(cohost_service* service, cohost_log_level level, cohost_string message);

  /* -- Life cycle -- */

  /* Puts off health.start_timeout: "still working". Only between the calls of `create` and
   * start_done. */
  void (*start_progress)(cohost_service* service, cohost_string message);
  /* Exactly once, from `start` or later. Other than COHOST_OK: the service has failed and `message`
   * is shown to the operator; then `destroy` follows without `stop`. */
  void (*start_done)(cohost_service* service, cohost_status status, cohost_string message);
  void (*drain_done)(cohost_service* service);
  void (*stop_done)(cohost_service* service);

  /* -- Requests -- */

  cohost_status (*request_info)(cohost_request request, cohost_request_info* info);
  /* A pointer of the module's own with a request; null at first. */
  cohost_status (*set_request_data)(cohost_request request, void* data);
  void* (*request_data)(cohost_request request);

  /* Copies what has arrived of the request body, up to `size` bytes (1 or more). COHOST_OK sets
   * `*read` to 1 or more; COHOST_WOULD_BLOCK: nothing is there yet; COHOST_END: the body is
   * complete. Not reading holds the client back. */
  cohost_status (*read_body)(cohost_request request, void* buffer, size_t size, size_t* read);
  /* Trailers of a chunked request body, once read_body said COHOST_END. Valid as request_info's. */
  cohost_status (*trailers)(cohost_request request, const cohost_header** trailers, size_t* count);
  /* `callback` is called once, when read_body would not block. It is not called for a request that
   * ended before: `cancel` is. One at a time per request: a second one replaces the first. */
  cohost_status (*on_readable)(cohost_request request, cohost_request_callback callback,
                               void* data);
  /* Waits until read_body would not block: COHOST_OK; COHOST_GONE when the request ended. Not on
   * the I/O thread or the timer thread (COHOST_INVALID). */
  cohost_status (*wait_readable)(cohost_request request);

  /* The whole answer at once, and the end of the request. `status` is 200 to 599. Content-Length,
   * Date and Connection are the host's; `headers` may not name them or Transfer-Encoding,
   * Keep-Alive, Upgrade, Trailer. For HEAD the host leaves the body out. COHOST_OK: it is handed
   * over; COHOST_GONE: nobody waits for it any more; both end the request. COHOST_INVALID: the
   * status or a header is not allowed, or a head was sent; the request is still open. */
  cohost_status (*respond)(cohost_request request, uint32_t status, const cohost_header* headers,
                           size_t header_count, cohost_string body);
  /* The answer in parts: send_head, write_body as often as needed, finish. With
   * COHOST_UNKNOWN_LENGTH it is chunked; with a length exactly so many bytes must follow. */
  cohost_status (*send_head)(cohost_request request, uint32_t status, const cohost_header* headers,
                             size_t header_count, uint64_t content_length);
  /* Takes all of `part` or none: COHOST_WOULD_BLOCK while 64 KiB or more wait for the client. */
  cohost_status (*write_body)(cohost_request request, cohost_string part);
  cohost_status (*on_writable)(cohost_request request, cohost_request_callback callback,
                               void* data);
  cohost_status (*wait_writable)(cohost_request request);
  /* Ends the request. Trailers only after a chunked head; they are left out where the client cannot
   * take them. COHOST_INVALID: bytes are missing; the request is still open. */
  cohost_status (*finish)(cohost_request request, const cohost_header* trailers, size_t count);
  /* Ends the request without a complete answer: 500 when no head was sent, else the connection is
   * cut. Also the way to let go of a cancelled request. */
  cohost_status (*abort)(cohost_request request);

  /* -- Threads, tasks, timers -- */

  /* Says that this thread now works for `service`, so that what it does (a crash, a hang) is put
   * down to it. Service code and threads of spawn_thread need it only to work for another service;
   * threads that the module makes by other means always. Gives what thread_leave wants back. Nests.
   */
  uint64_t (*thread_enter)(cohost_service* service);
  void (*thread_leave)(uint64_t entered);
  /* A thread of the service, entered, with at most 15 bytes of name. At most 256 at a time
   * (COHOST_LIMIT). It must have ended before stop_done. `entry` may block. `*thread` may be null.
   */
  cohost_status (*spawn_thread)(cohost_service* service, cohost_string name,
                                void (*entry)(void* data), void* data, cohost_thread* thread);
  /* Waits until the thread has ended. COHOST_GONE: it has ended before. Not from service code of a
   * COHOST_INLINE module, not from the thread itself (COHOST_INVALID). */
  cohost_status (*join_thread)(cohost_service* service, cohost_thread thread);
  /* Runs `callback` once as service code (for COHOST_INLINE modules: on the pool; this is how they
   * get work off the I/O thread). Called exactly once for every COHOST_OK, with
   * COHOST_EVENT_CANCELLED when the service is destroyed first. At most 65,536 wait per service
   * (COHOST_LIMIT). */
  cohost_status (*post)(cohost_service* service, cohost_event_callback callback, void* data);
  /* Runs `callback` after `delay`, and with `period` not 0 again every `period` after that; a
   * period that was missed whole is left out, not made up. Resolution 1 ms; never early; `period`
   * at least 1 ms. As service code, except that COHOST_INLINE modules' run on the timer thread, as
   * do those with COHOST_TIMER_INLINE; a thread that all services share: do not block it. Timers of
   * a service that are due in the same millisecond run one after the other; one does not run again
   * while it runs. Ends with one COHOST_EVENT_CANCELLED when the service is destroyed while it is
   * armed. At most 1,048,576 per worker (COHOST_LIMIT). */
  cohost_status (*timer_add)(cohost_service* service, int64_t delay, int64_t period, uint32_t flags,
                             cohost_event_callback callback, void* data, cohost_timer* timer);
  /* COHOST_OK: it is not running and will not. COHOST_WOULD_BLOCK: it is running now, and will not
   * again. COHOST_GONE: it has run, or was cancelled. No COHOST_EVENT_CANCELLED follows. */
  cohost_status (*timer_cancel)(cohost_service* service, cohost_timer timer);

  /* -- Memory -- */

  /* Memory counted for the service, against limits.memory; null when the limit or the machine has
   * no more, or `alignment` is not a power of two up to 4096 (0: 16). Plain malloc is allowed too,
   * and is not attributed. */
  void* (*alloc)(cohost_service* service, size_t size, size_t alignment);
  /* Null is ignored. Any thread, also after `destroy`. */
  void (*free)(cohost_service* service, void* memory);

  /* -- Metrics -- */

  /* Finds or makes a metric, at most 16 a service: COHOST_LIMIT beyond, counted. `name` is
   * [a-z_][a-z0-9_]*, at most 64 characters, shown as cohost_module_<name>. COHOST_INVALID when it
   * is there with the other kind. */
  cohost_status (*metric)(cohost_service* service, cohost_string name, cohost_metric_kind kind,
                          cohost_metric* metric);
  /* Cheap: one atomic addition. A negative or NaN amount for a counter is ignored (COHOST_INVALID).
   */
  cohost_status (*metric_add)(cohost_service* service, cohost_metric metric, double amount);
  /* Gauges only. */
  cohost_status (*metric_set)(cohost_service* service, cohost_metric metric, double value);

  /* -- Calls to other services -- */

  /* Sends a request to another service, asynchronously, under that service's own limits. COHOST_OK:
   * `callback` will be called once. COHOST_NOT_SUPPORTED: no such service is in this worker, and
   * this version of the host does not call services in other workers; use their address instead.
   * COHOST_GONE: `parent` has ended. `*call` may be null. */
  cohost_status (*call)(cohost_service* service, const cohost_call_request* request,
                        cohost_call_callback callback, void* data, cohost_call* call);
  /* The callback still comes, with COHOST_CANCELLED unless the answer was on its way. */
  cohost_status (*call_cancel)(cohost_service* service, cohost_call call);
} cohost_host;

/* ---- What the module gives ------------------------------------------------------------------- */

/* Lives as long as the process: a static. `instance` is what `create` set. Required: create,
 * request, destroy. A null start, drain or stop counts as done at once, a null health as healthy.
 */
typedef struct cohost_module {
  uint32_t major; /* COHOST_ABI_MAJOR */
  uint32_t size;  /* sizeof(cohost_module) */

  cohost_module_flags flags;
  uint32_t reserved;     /* 0 */
  cohost_string name;    /* for people: "catalog" */
  cohost_string version; /* for people: a version or build id */

  /* A table of a later feature, or null. `name` ends in NUL. Any thread. May be null. */
  const void* (*get_extension)(const char* name);

  /* Life cycle. Makes an instance for `service`; other than COHOST_OK: the service has failed (log
   * why), and `destroy` is not called. May call everything but start_done; no requests come yet. */
  cohost_status (*create)(cohost_service* service, void** instance);
  /* Life cycle. Gets ready and calls start_done, before it returns or later. */
  void (*start)(void* instance);
  /* Service code: one call per request. Ends the request (respond, finish, abort) before it returns
   * or later, from any thread. Requests come only between start_done and the last one's end after
   * `drain`. */
  void (*request)(void* instance, cohost_request request);
  /* I/O thread. The request was cancelled: answers get COHOST_GONE from now on. It may come while
   * `request` or another call runs for it, and by a hair before `request`. The module must still
   * end the request: abort it here, or let the work that is under way get its COHOST_GONE. May be
   * null, when the module does the latter anyway. */
  void (*cancel)(void* instance, cohost_request request, cohost_cancel_reason reason);
  /* Life cycle. No new requests will come: finish own work, then call drain_done. Requests in
   * flight go on meanwhile. */
  void (*drain)(void* instance);
  /* Life cycle, after drain_done or the drain limit; no request is open for the host any more. Ends
   * the module's threads, then calls stop_done. Timers and tasks still run until then. After the
   * stop limit the worker ends without waiting. */
  void (*stop)(void* instance);
  /* Life cycle, last of all: no callback of the instance is running or will be. */
  void (*destroy)(void* instance);
  /* A thread of the host's, every few seconds, beside requests, never beside itself, from
   * start_done to `stop`. Says whether the service can do its work: COHOST_OK, or anything else
   * with up to `capacity` bytes of reason written to `reason` and their number to `*reason_size`.
   * Must not block. */
  cohost_status (*health)(void* instance, char* reason, size_t capacity, size_t* reason_size);
} cohost_module;

/* What every module exports, COHOST_EXPORT, under exactly this name. Called once per worker and
 * file, on a life-cycle thread, before any create. Checks host->major and COHOST_HAS for what it
 * needs, keeps `host` (it lives as long as the worker), sets `*module`, answers COHOST_OK. Anything
 * else, with
 * `*module` as it was: the module does not fit this host, and its services fail. */
typedef cohost_status (*cohost_module_entry)(const cohost_host* host, const cohost_module** module);
COHOST_EXPORT cohost_status cohost_module_v1(const cohost_host* host, const cohost_module** module);

/* ---- Helpers --------------------------------------------------------------------------------- */

static inline cohost_string cohost_bytes(const void* data, size_t size) {
  cohost_string string;
  string.data = (const char*)data;
  string.size = size;
  return string;
}

/* Of a NUL-terminated string. */
static inline cohost_string cohost_text(const char* text) {
  return cohost_bytes(text, strlen(text));
}

/* Whether two header names are the same: ASCII case does not count. */
static inline int cohost_same_name(cohost_string a, cohost_string b) {
  size_t i;
  if (a.size != b.size) return 0;
  for (i = 0; i < a.size; ++i) {
    unsigned char x = (unsigned char)a.data[i];
    unsigned char y = (unsigned char)b.data[i];
    if (x >= 'A' && x <= 'Z') x = (unsigned char)(x | 0x20);
    if (y >= 'A' && y <= 'Z') y = (unsigned char)(y | 0x20);
    if (x != y) return 0;
  }
  return 1;
}

/* The first header of that name, or null. */
static inline const cohost_header* cohost_find_header(const cohost_header* headers, size_t count,
                                                      const char* name) {
  size_t i;
  for (i = 0; i < count; ++i) {
    if (cohost_same_name(headers[i].name, cohost_text(name))) return &headers[i];
  }
  return NULL;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* COHOST_H_ */
