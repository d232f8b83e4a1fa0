// SPDX-License-Identifier: Apache-2.0
using System.ComponentModel.DataAnnotations;

namespace Tasks.Data;

public sealed class TaskItem
{
    public int Id { get; set; }

    [Required, StringLength(200)]
    public required string Title { get; set; }

    public bool Done { get; set; }
}
