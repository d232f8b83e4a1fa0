// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Extensions.Logging;

namespace Cohost.Worker;

/// <summary>
/// The shim's side of boundary.h: the same structs in the same order, the functions that the worker
/// calls, and the ones it offers. Texts are UTF-8 and are copied during a call. The worker's
/// threads run these functions; every one of them catches all, because no exception may cross.
/// </summary>
internal static unsafe class Boundary
{
    internal const uint Version = 2;
    internal const int NoService = -1;

    private const string Category = "Cohost.Worker";

    // Set once by Initialize, before anything else runs.
    private static HostTable s_host;
    private static ServiceTable? s_services;

    /// <summary>The worker's first call. 0, or 1 after an event that says why not.</summary>
    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    internal static int Initialize(HostTable* host, ManagedTable* managed)
    {
        WorkerLink? worker = null;
        try
        {
            if (host->Version != Version || host->Size != sizeof(HostTable)) return 1;
            if (managed->Size != sizeof(ManagedTable)) return 1;
            s_host = *host;
            worker = new WorkerLink();
            s_services = Shim.Create(worker);
            *managed = new ManagedTable
            {
                Version = Version,
                Size = (uint)sizeof(ManagedTable),
                Load = &Load,
                Serve = &Serve,
                Drain = &Drain,
                Stop = &Stop,
                Health = &Health,
                Gauges = &Gauges,
                Trim = &Trim,
            };
            return 0;
        }
        catch (Exception e)
        {
            worker?.Log(NoService, LogLevel.Critical, Category, e.ToString());
            return 1;
        }
    }

    /// <summary>Marks the calling thread as one that works for <paramref name="row"/> since that
    /// moment. Nothing before the worker has called.</summary>
    internal static void SetService(int row, long sinceNanoseconds)
    {
        if (s_host.SetService != null) s_host.SetService(row, (ulong)sinceNanoseconds);
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static void Load(LoadRequest* request)
    {
        int row = NoService;
        try
        {
            row = request->Row;
            if (request->Size != sizeof(LoadRequest))
                throw new InvalidOperationException($"a load request has {request->Size} bytes");
            s_services!.Load(Copy(*request));
        }
        catch (Exception e)
        {
            WorkerLink.ReportStarted(row, e.ToString());
        }
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static void Serve(int row, uint endpoint, int socket, Channel channel) =>
        Guard(row, () => s_services!.Serve(row, endpoint, socket, channel));

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static void Drain(int row, long graceMilliseconds, long limitMilliseconds) =>
        Guard(row, () => s_services!.Find(row)?.Drain(
            Milliseconds(graceMilliseconds), Milliseconds(limitMilliseconds)));

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static void Stop(int row, long limitMilliseconds) =>
        Guard(row, () => s_services!.Stop(row, Milliseconds(limitMilliseconds)));

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int Health(int row, long limitMilliseconds, byte* reason, int size)
    {
        try
        {
            string? fault = s_services!.Health(row, Milliseconds(limitMilliseconds));
            CopyText(fault ?? "", reason, size);
            return fault is null ? 1 : 0;
        }
        catch (Exception e)
        {
            CopyText(e.Message, reason, size);
            return 0;
        }
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static void Gauges(int row, ServiceGauges* gauges)
    {
        *gauges = default;
        Guard(row, () => *gauges = s_services!.Find(row)?.Gauges() ?? default);
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static long Trim()
    {
        long heap = 0;
        Guard(NoService, () => heap = ServiceTable.Trim());
        return heap;
    }

    private static void Guard(int row, Action action)
    {
        try
        {
            action();
        }
        catch (Exception e)
        {
            WorkerLink.WriteLog(row, LogLevel.Error, Category, e.ToString());
        }
    }

    private static ServiceSpec Copy(in LoadRequest request)
    {
        var endpoints = new List<ServiceEndpoint>();
        for (uint i = 0; i < request.EndpointsCount; i++)
        {
            endpoints.Add(new ServiceEndpoint(
                Text(request.Endpoints[i].Address), Text(request.Endpoints[i].Name)));
        }
        return new ServiceSpec
        {
            Row = request.Row,
            Name = Text(request.Name),
            Application = Text(request.Application),
            DataFolder = Text(request.DataFolder),
            DataProtectionName = Text(request.DataProtectionName),
            Settings = Pairs(request.Settings, request.SettingsCount),
            Environment = Pairs(request.Environment, request.EnvironmentCount),
            Arguments = Texts(request.Arguments, request.ArgumentsCount),
            SharedLibraries = Texts(request.SharedLibraries, request.SharedLibrariesCount),
            Endpoints = endpoints,
            Concurrency = (int)Math.Min(request.Concurrency, int.MaxValue),
            Queue = (int)Math.Min(request.Queue, int.MaxValue),
            RequestTimeout = TimeSpan.FromTicks(request.RequestTimeoutNs / 100),
            SegmentRow = (nint)request.SegmentRow,
        };
    }

    private static List<KeyValuePair<string, string?>> Pairs(Pair* pairs, uint count)
    {
        var list = new List<KeyValuePair<string, string?>>();
        for (uint i = 0; i < count; i++) list.Add(new(Text(pairs[i].Key), Text(pairs[i].Value)));
        return list;
    }

    private static List<string> Texts(byte** texts, uint count)
    {
        var list = new List<string>();
        for (uint i = 0; i < count; i++) list.Add(Text(texts[i]));
        return list;
    }

    private static string Text(byte* utf8) => Marshal.PtrToStringUTF8((nint)utf8) ?? "";

    private static TimeSpan Milliseconds(long value) =>
        TimeSpan.FromMilliseconds(Math.Clamp(value, 0, int.MaxValue));

    private static void CopyText(string text, byte* to, int size)
    {
        if (to == null || size <= 0) return;
        var space = new Span<byte>(to, size - 1);
        Encoding.UTF8.GetEncoder().Convert(text, space, flush: true, out _, out int used, out _);
        to[used] = 0;
    }

#pragma warning disable CS0649 // Assigned by the worker.
    internal struct HostTable
    {
        public uint Version;
        public uint Size;
        public delegate* unmanaged[Cdecl, SuppressGCTransition]<int, ulong, void> SetService;
        public delegate* unmanaged[Cdecl]<int, byte*, void> SetFolder;
        public delegate* unmanaged[Cdecl]<int, int, byte*, byte*, void> Log;
        public delegate* unmanaged[Cdecl]<int, int, byte*, void> Started;
        public delegate* unmanaged[Cdecl]<int, void> Progress;
        public delegate* unmanaged[Cdecl]<int, Channel, void> ConnectionEnded;
        public delegate* unmanaged[Cdecl]<int, uint, void> Drained;
        public delegate* unmanaged[Cdecl]<int, void> Stopped;
        public delegate* unmanaged[Cdecl]<int, Notice, byte*, void> Notice;
    }

    internal struct ManagedTable
    {
        public uint Version;
        public uint Size;
        public delegate* unmanaged[Cdecl]<LoadRequest*, void> Load;
        public delegate* unmanaged[Cdecl]<int, uint, int, Channel, void> Serve;
        public delegate* unmanaged[Cdecl]<int, long, long, void> Drain;
        public delegate* unmanaged[Cdecl]<int, long, void> Stop;
        public delegate* unmanaged[Cdecl]<int, long, byte*, int, int> Health;
        public delegate* unmanaged[Cdecl]<int, ServiceGauges*, void> Gauges;
        public delegate* unmanaged[Cdecl]<long> Trim;
    }

    internal struct Pair
    {
        public byte* Key;
        public byte* Value;
    }

    internal struct Endpoint
    {
        public byte* Address;
        public byte* Name;
    }

    internal struct LoadRequest
    {
        public uint Size;
        public int Row;
        public byte* Name;
        public byte* Application;
        public byte* DataFolder;
        public byte* DataProtectionName;
        public Pair* Settings;
        public Pair* Environment;
        public byte** Arguments;
        public Endpoint* Endpoints;
        public uint SettingsCount;
        public uint EnvironmentCount;
        public uint ArgumentsCount;
        public uint EndpointsCount;
        public byte** SharedLibraries;
        public uint SharedLibrariesCount;
        public uint Concurrency;
        public uint Queue;
        public long RequestTimeoutNs;
        public void* SegmentRow;
    }

    internal struct ServiceGauges
    {
        public uint InFlight;
        public uint Queued;
        public ulong OldestRequestNs;
        public ulong OldestQueuedNs;
        public ulong AllocatedBytes;
    }
#pragma warning restore CS0649

    /// <summary>The worker's functions with managed arguments.</summary>
    private sealed class WorkerLink : IWorker
    {
        public void SetFolder(int row, string folder)
        {
            fixed (byte* text = Utf8(folder)) s_host.SetFolder(row, text);
        }

        public void Log(int row, LogLevel level, string category, string text) =>
            WriteLog(row, level, category, text);

        public void Started(int row, string? failure) => ReportStarted(row, failure);

        public void Progress(int row) => s_host.Progress(row);

        public void ConnectionEnded(int row, Channel channel) =>
            s_host.ConnectionEnded(row, channel);

        public void Drained(int row, uint cancelled) => s_host.Drained(row, cancelled);

        public void Stopped(int row) => s_host.Stopped(row);

        public void Notify(int row, Notice notice, string text)
        {
            fixed (byte* utf8 = Utf8(text)) s_host.Notice(row, notice, utf8);
        }

        internal static void WriteLog(int row, LogLevel level, string category, string text)
        {
            fixed (byte* name = Utf8(category), utf8 = Utf8(text))
                s_host.Log(row, (int)level, name, utf8);
        }

        internal static void ReportStarted(int row, string? failure)
        {
            fixed (byte* reason = Utf8(failure ?? ""))
                s_host.Started(row, failure is null ? 1 : 0, reason);
        }

        // NUL-terminated. A NUL inside of the text would end it early, so it is replaced.
        private static byte[] Utf8(string text)
        {
            byte[] bytes = new byte[Encoding.UTF8.GetByteCount(text) + 1];
            Encoding.UTF8.GetBytes(text, bytes);
            bytes.AsSpan(0, bytes.Length - 1).Replace((byte)0, (byte)' ');
            return bytes;
        }
    }
}
