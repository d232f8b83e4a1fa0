// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohost::supervisor {

// The published key of RFC 8032, section 7.1, test 1, as OpenSSL writes it, and its id.
inline constexpr char kRfcPrivateKey[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr char kRfcPublicKey[] =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr char kRfcKeyId[] =
    "21fe31dfa154a261626bf854046fd2271b7bed4b6abe45aa58877ef47f9721b9";

// Of "abc", by that key: made by `openssl pkeyutl -sign -rawin` of the message that
// signature_text.h specifies.
inline constexpr char kAbcHash[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
inline constexpr char kAbcSignature[] =
    "dDkf1W+G/nDZRHn2sKttqVfaGV6DeHRRy4NISXV0MHL3RkrjN9EBTp5C4khNaf+NohC5iwJHOjGLNY4XvtspAQ==";

// Keys that are not Ed25519, and one with a passphrase.
inline constexpr char kX25519PublicKey[] =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VuAyEAXWxgZJwdIhMreV0Kao7YMcL0r3OmDVq5iOd2Lm6s+QE=\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr char kEcPublicKey[] =
    "-----BEGIN PUBLIC KEY-----\n"
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQtCVo869UdTI68JxDXfo7SEfqwqS\n"
    "rMBuAQpWBBUdoTixCVDBk5CAus4L3zWM6EiVYK8fQBx04PVcH/5r6cZ1yw==\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr char kEncryptedPrivateKey[] =
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
    "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgeEp3RNt2zYQICCAAw\n"
    "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEELWnn/gnoPUKZTyFeECP5b8EQAKp\n"
    "hunLb03fGLZaCLdGU1IebApmGvjxn/VWjL6x485xBNAOtyc/vJ9CqqHgpdTGC2lj\n"
    "dCjsN0QC1+6xSk9M1s0=\n"
    "-----END ENCRYPTED PRIVATE KEY-----\n";

}  // namespace cohost::supervisor
