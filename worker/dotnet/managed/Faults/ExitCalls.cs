// SPDX-License-Identifier: Apache-2.0

using System;
using System.Reflection;
using System.Reflection.Metadata;

namespace Cohost.Worker;

/// <summary>Finds references to Environment.Exit in what an application has loaded.</summary>
internal static class ExitCalls
{
    internal static bool In(Service service)
    {
        if (service.Main is not { } main) return false;
        foreach (Assembly assembly in main.Context.Assemblies)
        {
            if (In(assembly)) return true;
        }
        return false;
    }

    internal static unsafe bool In(Assembly assembly)
    {
        if (!assembly.TryGetRawMetadata(out byte* blob, out int length)) return false;
        var reader = new MetadataReader(blob, length);
        foreach (MemberReferenceHandle handle in reader.MemberReferences)
        {
            MemberReference member = reader.GetMemberReference(handle);
            if (member.Parent.Kind != HandleKind.TypeReference) continue;
            TypeReference type = reader.GetTypeReference((TypeReferenceHandle)member.Parent);
            if (reader.StringComparer.Equals(member.Name, nameof(Environment.Exit)) &&
                reader.StringComparer.Equals(type.Name, nameof(Environment)) &&
                reader.StringComparer.Equals(type.Namespace, nameof(System)))
            {
                return true;
            }
        }
        return false;
    }
}
