// SPDX-License-Identifier: Apache-2.0
using Microsoft.AspNetCore.Mvc;

namespace GenericHost;

[ApiController]
[Route("sums")]
public sealed class SumsController : ControllerBase
{
    [HttpGet("{left}/{right}")]
    public ActionResult<int> Sum(int left, int right) => left + right;
}
