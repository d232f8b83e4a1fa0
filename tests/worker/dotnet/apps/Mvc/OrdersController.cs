// SPDX-License-Identifier: Apache-2.0
using Microsoft.AspNetCore.Mvc;

namespace Mvc;

[ApiController]
[Route("api/orders")]
public sealed class OrdersController : ControllerBase
{
    [HttpPost]
    public ActionResult<Order> Add(Order order) => order;

    [HttpGet]
    public IEnumerable<Order> All() => [new Order { Name = "pens", Count = 3 }];
}
