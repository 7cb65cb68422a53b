// An address space as its threads contend for it: one read-write semaphore (the kernel's mmap_sem), taken for
// writing by what changes the map (mprotect, as a heap grows) and for reading by page faults.
//
// A fault takes a page into use: zeroes it and maps it. Some faults also change a page that other CPUs may
// have in their TLBs (a page read before it is first written was the zero page), and wait for all of them to
// forget it, with the semaphore held.
#pragma once

#include <cstdint>

#include "workload/named_locks.hpp"
#include "workload/program.hpp"

namespace holdfast {

struct address_space_costs {
    nanoseconds syscall{};               // entering and leaving mprotect
    nanoseconds mprotect{};              // with the semaphore held for writing
    nanoseconds trap{};                  // entering and leaving a fault
    nanoseconds fault{};                 // with the semaphore held for reading
    std::uint32_t shootdown_percent = 0; // of faults: other CPUs must flush their TLBs
};

// An object of W::make.
template <class W>
class address_space {
    using frame = typename W::platform::frame;

public:
    address_space(const address_space_costs& costs, const named<rw_lock>& semaphore)
        : costs_(costs), mmap_sem_(semaphore.make()) {}

    // Lets a heap grow: one mprotect call. `work` is done with the map locked, besides what it costs by the
    // model.
    template <class Work>
    void mprotect(Work work) {
        const frame system_call{"sys_mprotect"};
        W::compute(costs_.syscall, cpu_mode::system);
        mmap_sem_.lock();
        work();
        W::compute(costs_.mprotect, cpu_mode::system);
        mmap_sem_.unlock();
    }

    // Touches a page for the first time. `work` as in mprotect.
    template <class Work>
    void fault(Work work) {
        const frame page_fault{"page_fault"};
        W::compute(costs_.trap, cpu_mode::system);
        mmap_sem_.lock_shared();
        work();
        W::compute(costs_.fault, cpu_mode::system);
        if (W::random().below(100) < costs_.shootdown_percent) {
            const frame flush{"flush_tlb_page"};
            W::shootdown();
        }
        mmap_sem_.unlock_shared();
    }

private:
    address_space_costs costs_;
    rw_lock& mmap_sem_;
};

} // namespace holdfast
