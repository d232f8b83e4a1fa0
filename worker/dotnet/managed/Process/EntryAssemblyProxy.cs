// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Reflection;

namespace Cohost.Worker;

/// <summary>An assembly that is another one for each caller. Thread-safe.</summary>
internal sealed class EntryAssemblyProxy(Func<Assembly> current) : Assembly
{
    public override string? FullName => current().FullName;

    public override string Location => current().Location;

    public override string ImageRuntimeVersion => current().ImageRuntimeVersion;

    public override MethodInfo? EntryPoint => current().EntryPoint;

    public override bool IsDynamic => current().IsDynamic;

    public override bool ReflectionOnly => false;

    public override Module ManifestModule => current().ManifestModule;

    public override IEnumerable<Module> Modules => current().Modules;

    public override IEnumerable<TypeInfo> DefinedTypes => current().DefinedTypes;

    public override IEnumerable<Type> ExportedTypes => current().ExportedTypes;

    public override IEnumerable<CustomAttributeData> CustomAttributes => current().CustomAttributes;

    public override AssemblyName GetName() => current().GetName();

    public override AssemblyName GetName(bool copiedName) => current().GetName(copiedName);

    public override Type[] GetTypes() => current().GetTypes();

    public override Type[] GetExportedTypes() => current().GetExportedTypes();

    public override Type[] GetForwardedTypes() => current().GetForwardedTypes();

    public override Type? GetType(string name) => current().GetType(name);

    public override Type? GetType(string name, bool throwOnError) =>
        current().GetType(name, throwOnError);

    public override Type? GetType(string name, bool throwOnError, bool ignoreCase) =>
        current().GetType(name, throwOnError, ignoreCase);

    public override object[] GetCustomAttributes(bool inherit) =>
        current().GetCustomAttributes(inherit);

    public override object[] GetCustomAttributes(Type attributeType, bool inherit) =>
        current().GetCustomAttributes(attributeType, inherit);

    public override IList<CustomAttributeData> GetCustomAttributesData() =>
        current().GetCustomAttributesData();

    public override bool IsDefined(Type attributeType, bool inherit) =>
        current().IsDefined(attributeType, inherit);

    public override Module? GetModule(string name) => current().GetModule(name);

    public override Module[] GetModules(bool getResourceModules) =>
        current().GetModules(getResourceModules);

    public override Stream? GetManifestResourceStream(string name) =>
        current().GetManifestResourceStream(name);

    public override Stream? GetManifestResourceStream(Type type, string name) =>
        current().GetManifestResourceStream(type, name);

    public override string[] GetManifestResourceNames() => current().GetManifestResourceNames();

    public override ManifestResourceInfo? GetManifestResourceInfo(string resourceName) =>
        current().GetManifestResourceInfo(resourceName);

    public override AssemblyName[] GetReferencedAssemblies() => current().GetReferencedAssemblies();

    public override Assembly GetSatelliteAssembly(CultureInfo culture) =>
        current().GetSatelliteAssembly(culture);

    public override string ToString() => current().ToString();

    public override bool Equals(object? o) => ReferenceEquals(this, o) || current().Equals(o);

    public override int GetHashCode() => current().GetHashCode();
}
