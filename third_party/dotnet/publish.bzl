"""Projects in C#, published as folders. See publish.sh for what a build is made of."""

load("@dotnet_sdk//:defs.bzl", "ENVIRONMENT", "ROOT", "VERSION")

def _dotnet_publish_impl(context):
    folder = context.actions.declare_directory(context.label.name)
    if not ROOT:
        context.actions.run_shell(
            outputs = [folder],
            command = "echo 'no .NET SDK on this machine' >\"$1/absent\"",
            arguments = [folder.path],
            mnemonic = "DotnetAbsent",
        )
        return [DefaultInfo(files = depset([folder]), runfiles = context.runfiles([folder]))]
    arguments = context.actions.args()
    arguments.add(context.file.project)
    arguments.add(folder.path)
    arguments.add("ready_to_run" if context.attr.ready_to_run else "il")
    arguments.add_all(context.files.srcs)
    context.actions.run(
        outputs = [folder],
        inputs = context.files.srcs + [context.file.project],
        executable = context.executable._publish,
        arguments = [arguments],
        env = dict(
            ENVIRONMENT,
            COHOST_DOTNET_ROOT = ROOT,
            COHOST_DOTNET_VERSION = VERSION,
            PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        ),
        # Packages come over the network, once, into the user's own NuGet folder.
        execution_requirements = {
            "no-remote-exec": "1",
            "no-sandbox": "1",
            "requires-network": "1",
        },
        mnemonic = "DotnetPublish",
        progress_message = "Publishing %s" % context.label,
    )
    return [DefaultInfo(files = depset([folder]), runfiles = context.runfiles([folder]))]

dotnet_publish = rule(
    doc = """A folder NAME with what `dotnet publish` makes of a project, or, of a solution, a folder for each of its
projects. On a machine without an SDK: a folder with the file `absent` alone.""",
    implementation = _dotnet_publish_impl,
    attrs = {
        "project": attr.label(
            doc = """.csproj or .slnx. The projects of a solution set PublishDir from PublishRoot, and the runtime that they
are precompiled for from PublishRuntime, where these are set (Directory.Build.props).""",
            mandatory = True,
            allow_single_file = [".csproj", ".slnx"],
        ),
        "srcs": attr.label_list(
            doc = "Everything that the build reads; files keep their place relative to the project.",
            allow_files = True,
        ),
        "ready_to_run": attr.bool(doc = "Precompiled for this machine's architecture."),
        "_publish": attr.label(
            default = "//third_party/dotnet:publish.sh",
            allow_single_file = True,
            cfg = "exec",
            executable = True,
        ),
    },
)
