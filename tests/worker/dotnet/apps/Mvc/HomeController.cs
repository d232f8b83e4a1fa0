// SPDX-License-Identifier: Apache-2.0
using Microsoft.AspNetCore.Mvc;

namespace Mvc;

public sealed class HomeController : Controller
{
    public IActionResult Index() => View(new Order { Name = "pens", Count = 3 });

    public IActionResult Details(int id) => Content($"order {id}");

    [HttpPost]
    public IActionResult Order([FromForm] Order order) =>
        ModelState.IsValid ? RedirectToAction(nameof(Details), new { id = order.Count }) : View("Index", order);

    public IActionResult Missing() => View("NoSuchView");
}
