// SPDX-License-Identifier: Apache-2.0
using Microsoft.AspNetCore.Mvc;
using Microsoft.AspNetCore.Mvc.RazorPages;

namespace Polls.Pages;

public sealed class IndexModel(Ballot ballot) : PageModel
{
    public Ballot Ballot => ballot;

    [TempData]
    public string? Thanks { get; set; }

    public IActionResult OnPost(string answer)
    {
        if (!ballot.Vote(answer))
        {
            return BadRequest();
        }

        Thanks = $"Your vote for {answer} is counted.";
        return RedirectToPage();
    }
}
