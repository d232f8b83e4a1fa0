// SPDX-License-Identifier: Apache-2.0
namespace Chat;

public sealed record Message(string From, string Text);
