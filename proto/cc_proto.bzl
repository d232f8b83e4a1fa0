"""C++ code of protos by Debian's protoc and gRPC plugin."""

def cc_grpc(name, src, deps = [], grpc = True, visibility = ["//visibility:public"]):
    """A library with the messages of `src` and, when `grpc`, its services."""
    stem = src[:-len(".proto")]
    outs = [stem + ".pb.h", stem + ".pb.cc"]
    command = "protoc --proto_path=. --cpp_out=$(GENDIR)"
    if grpc:
        outs += [stem + ".grpc.pb.h", stem + ".grpc.pb.cc"]
        command += " --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin --grpc_out=$(GENDIR)"
    native.genrule(
        name = name + "_code",
        srcs = [src] + [dep + "_src" for dep in deps],
        outs = outs,
        cmd = command + " $(location " + src + ")",
    )
    native.filegroup(
        name = name + "_src",
        srcs = [src] + [dep + "_src" for dep in deps],
    )
    native.cc_library(
        name = name,
        srcs = [out for out in outs if out.endswith(".cc")],
        hdrs = [out for out in outs if out.endswith(".h")],
        copts = ["-w"],
        visibility = visibility,
        deps = deps + (["//:grpc"] if grpc else ["//:protobuf"]),
    )
