// SPDX-License-Identifier: Apache-2.0
using System.ComponentModel.DataAnnotations;

namespace Mvc;

public sealed class Order
{
    [Required]
    public string? Name { get; set; }

    [Range(1, 10)]
    public int Count { get; set; }
}
