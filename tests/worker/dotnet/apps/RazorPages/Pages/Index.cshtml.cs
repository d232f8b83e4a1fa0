// SPDX-License-Identifier: Apache-2.0
using Microsoft.AspNetCore.Mvc;
using Microsoft.AspNetCore.Mvc.RazorPages;

namespace RazorPages.Pages;

public sealed class IndexModel : PageModel
{
    [TempData]
    public string? Message { get; set; }

    public int Visits { get; private set; }

    public void OnGet()
    {
        Visits = (HttpContext.Session.GetInt32("visits") ?? 0) + 1;
        HttpContext.Session.SetInt32("visits", Visits);
    }

    public IActionResult OnPost(string? text)
    {
        Message = $"posted {text}";
        return RedirectToPage();
    }
}
