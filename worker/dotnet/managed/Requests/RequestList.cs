// SPDX-License-Identifier: Apache-2.0

using System.Collections.Generic;

namespace Cohost.Worker;

/// <summary>
/// Requests in the order in which they came, linked through themselves; each is in one list at a
/// time. Guarded by the lock of <see cref="Admission"/>.
/// </summary>
internal sealed class RequestList
{
    internal ServiceRequest? First { get; private set; }

    internal int Count { get; private set; }

    private ServiceRequest? Last { get; set; }

    internal void Append(ServiceRequest request)
    {
        request.List = this;
        request.Previous = Last;
        request.Next = null;
        if (Last is null) First = request;
        else Last.Next = request;
        Last = request;
        Count++;
    }

    internal void Remove(ServiceRequest request)
    {
        if (request.Previous is null) First = request.Next;
        else request.Previous.Next = request.Next;
        if (request.Next is null) Last = request.Previous;
        else request.Next.Previous = request.Previous;
        request.List = null;
        request.Previous = request.Next = null;
        Count--;
    }

    internal IEnumerable<ServiceRequest> All()
    {
        for (ServiceRequest? request = First; request is not null; request = request.Next)
            yield return request;
    }
}
