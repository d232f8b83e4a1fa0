// SPDX-License-Identifier: Apache-2.0
// A module that takes static thread-local storage.
int cohost_module_v1(void);
static __thread int state[50] __attribute__((tls_model("initial-exec")));
int cohost_module_v1(void) { return ++state[0]; }
