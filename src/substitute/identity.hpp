// Which locks the user has picked (--only, --not): by the file that they are in, or were initialised or first used from, and the
// place in it, as a recording names them.
//
// HOLDFAST_RUN_ONLY and HOLDFAST_RUN_NOT have a line for each: "first last file", addresses from where the file is mapped to, in
// hexadecimal, both included. Which file an address is in is asked of glibc (_dl_find_object, since 2.35), which
// takes no lock for that.
#pragma once

namespace holdfast::substitute {

// Reads the environment. At most 64 places and 8 KiB of each; what is beyond is dropped.
void read_selection();

// Whether a lock is to be replaced. `pc`: the caller's that initialises it, or else uses it first.
bool is_selected(const void* lock, const void* pc);

} // namespace holdfast::substitute
