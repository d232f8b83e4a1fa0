// SPDX-License-Identifier: Apache-2.0
using Microsoft.AspNetCore.Identity;
using Microsoft.AspNetCore.Identity.EntityFrameworkCore;
using Microsoft.EntityFrameworkCore;

namespace Identity;

internal sealed class Users(DbContextOptions<Users> options) : IdentityDbContext<IdentityUser>(options);
