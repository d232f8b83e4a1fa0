"""The .NET SDK of this machine, as @dotnet_sdk//:defs.bzl.

Cohost builds without one: what is written in C# is then left out (publish.bzl), and the tests that need it are skipped and
counted as skipped. The first of DOTNET_ROOT, `dotnet` in PATH, /usr/share/dotnet, /usr/lib/dotnet that holds an SDK which
can build for _FRAMEWORK, and the framework itself, is taken. COHOST_DOTNET=none (--repo_env) builds as if there were none.
Looked for whenever a Bazel server starts.
"""

# Major version of what our projects are built for.
_FRAMEWORK = 10

# What NuGet and the SDK read of a user's environment. Everything else of it stays out of the build.
_PASSED = [
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "NUGET_CERT_REVOCATION_MODE",
    "NUGET_PACKAGES",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "http_proxy",
    "https_proxy",
    "no_proxy",
]

_DEFS = '''"""Written by third_party/dotnet/sdk.bzl."""

# Folder of `dotnet`; empty: there is no SDK on this machine.
ROOT = {root}

# Of the newest SDK there. It is part of every action's key: another SDK builds everything written in C# again.
VERSION = {version}

# For `dotnet`.
ENVIRONMENT = {environment}
'''

def _candidates(context):
    found = []
    root = context.os.environ.get("DOTNET_ROOT")
    if root:
        found.append(context.path(root))
    program = context.which("dotnet")
    if program:
        found.append(program.realpath.dirname)
    return found + [context.path("/usr/share/dotnet"), context.path("/usr/lib/dotnet")]

def _numbers(version):
    return [int(part) if part.isdigit() else 0 for part in version.split("-")[0].split(".")]

def _has_framework(root):
    folder = root.get_child("shared").get_child("Microsoft.AspNetCore.App")
    return folder.exists and [entry for entry in folder.readdir() if _numbers(entry.basename)[0] == _FRAMEWORK]

def _newest(root):
    folder = root.get_child("sdk")
    if not folder.exists or not root.get_child("dotnet").exists or not _has_framework(root):
        return ""
    versions = [entry.basename for entry in folder.readdir() if entry.get_child("dotnet.dll").exists]
    able = [version for version in versions if _numbers(version)[0] >= _FRAMEWORK]
    return sorted(able, key = _numbers)[-1] if able else ""

def _dotnet_sdk_impl(context):
    root, version = "", ""
    if context.os.environ.get("COHOST_DOTNET") != "none":
        for candidate in _candidates(context):
            version = _newest(candidate)
            if version:
                root = str(candidate)
                break
    environment = {name: context.os.environ[name] for name in _PASSED if name in context.os.environ}
    context.file("BUILD", "")
    context.file("defs.bzl", _DEFS.format(
        root = repr(root),
        version = repr(version),
        environment = repr(environment),
    ))

dotnet_sdk = repository_rule(
    implementation = _dotnet_sdk_impl,
    configure = True,
    environ = _PASSED + [
        "COHOST_DOTNET",
        "DOTNET_ROOT",
        "PATH",
    ],
    local = True,
)
