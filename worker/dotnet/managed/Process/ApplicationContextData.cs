// SPDX-License-Identifier: Apache-2.0

using System;
using System.IO;
using System.Text.Json;

namespace Cohost.Worker;

/// <summary>
/// AppContext.BaseDirectory and the switches of each application, also when it asks for them at a
/// request: a base directory of its own, the switches of its runtimeconfig.json, and those that it
/// sets itself.
/// </summary>
internal sealed class ApplicationContextData : IProcessPart
{
    private const string BaseDirectory = "APP_CONTEXT_BASE_DIRECTORY";
    private const string DepsFiles = "APP_CONTEXT_DEPS_FILES";

    private readonly bool _isPartitioned;

    internal ApplicationContextData()
    {
        string own = AppContext.BaseDirectory;
        _isPartitioned = FrameworkInternals.PartitionAppContext(
            new PartitionedKeys(key => key is BaseDirectory or DepsFiles, () => CurrentService.Row),
            new PartitionedKeys(_ => true, () => CurrentService.Row));
        if (_isPartitioned) AppContext.SetData(BaseDirectory, own);
    }

    public void Open(Service service)
    {
        if (!_isPartitioned) return;
        string application = service.Spec.Application;
        CurrentService.Set(service.Tag);
        try
        {
            AppContext.SetData(BaseDirectory, service.Spec.Folder.TrimEnd('/') + "/");
            AppContext.SetData(DepsFiles, Path.ChangeExtension(application, ".deps.json"));
            SetSwitches(Path.ChangeExtension(application, ".runtimeconfig.json"));
        }
        finally
        {
            CurrentService.Set(null);
        }
    }

    public void Close(Service service)
    {
    }

    // Those that are true or false; the others are the runtime's own, read once for all.
    private static void SetSwitches(string path)
    {
        if (!File.Exists(path)) return;
        using FileStream file = File.OpenRead(path);
        using JsonDocument document = JsonDocument.Parse(
            file, new JsonDocumentOptions { CommentHandling = JsonCommentHandling.Skip });
        if (!document.RootElement.TryGetProperty("runtimeOptions", out JsonElement options)) return;
        if (!options.TryGetProperty("configProperties", out JsonElement properties)) return;
        foreach (JsonProperty property in properties.EnumerateObject())
        {
            if (property.Value.ValueKind is JsonValueKind.True or JsonValueKind.False)
                AppContext.SetSwitch(property.Name, property.Value.GetBoolean());
        }
    }
}
