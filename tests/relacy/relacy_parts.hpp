// The parts of relacy that its explorer stands on. Included by relacy_explorer.cpp and by nothing else.
//
// We take the search (a tree of choices with a bound on preemptions) and the memory model (vector clocks and
// the last three values of each atomic). We leave relacy's context, which would replace operator new and
// delete for the whole program, keep 64 KiB stacks without guard and leave through longjmp: its include guard
// is taken here, and the class `idle_context` answers what the abstract one asks for. So programs that link
// the explorer keep their allocator, and relacy is neither changed nor copied.
#pragma once

#define RL_CONTEXT_HPP
// relacy's headers do not stand alone: this order is theirs.
#include <relacy/base.hpp>
#include <relacy/thread_local_ctx.hpp>

#include <relacy/context_base.hpp>
#include <relacy/context_base_impl.hpp>
#include <relacy/thread.hpp>

#include <relacy/atomic.hpp>
#include <relacy/context_bound_scheduler.hpp>
#include <relacy/var.hpp>

namespace holdfast::model {

// The services of relacy's context that nothing here uses: its own mutexes, memory, thread-locals and
// parking.
class idle_context : public rl::context {
public:
    using rl::context::context;

private:
    int thread_local_alloc(void (*)(intptr_t)) override { return 0; }
    void thread_local_free(int) override {}
    void thread_local_set(int, intptr_t) override {}
    intptr_t thread_local_get(int) override { return 0; }
    size_t get_addr_hash(const void*) override { return 0; }
    rl::atomic_data* atomic_ctor(void*) override { return nullptr; }
    void atomic_dtor(rl::atomic_data*) override {}
    rl::var_data* var_ctor() override { return nullptr; }
    void var_dtor(rl::var_data*) override {}
    rl::generic_mutex_data* mutex_ctor(bool, bool, bool, bool) override { return nullptr; }
    void mutex_dtor(rl::generic_mutex_data*) override {}
    rl::condvar_data* condvar_ctor(bool) override { return nullptr; }
    void condvar_dtor(rl::condvar_data*) override {}
    rl::sema_data* sema_ctor(bool, unsigned, unsigned) override { return nullptr; }
    void sema_dtor(rl::sema_data*) override {}
    rl::event_data* event_ctor(bool, bool) override { return nullptr; }
    void event_dtor(rl::event_data*) override {}
    void rl_global_fence() override {}
    void sched() override {}
    void yield(unsigned, rl::debug_info_param) override {}
    void fail_test(const char*, rl::test_result_e, rl::debug_info_param) override {}
    void rl_until(const char*, rl::debug_info_param) override {}
    void* alloc(size_t, bool, rl::debug_info_param) override { return nullptr; }
    void free(void*, bool, rl::debug_info_param) override {}
    void* alloc(size_t) override { return nullptr; }
    void free(void*) override {}
    size_t prev_alloc_size() override { return 0; }
    void set_debug_info(rl::debug_info_param) override {}
    void fiber_proc_impl(int) override {}
    rl::unpark_reason park_current_thread(bool, bool, bool, rl::debug_info_param) override {
        return rl::unpark_reason_normal;
    }
    void unpark_thread(rl::thread_id_t, bool, rl::debug_info_param) override {}
    void switch_back(rl::debug_info_param) override {}
    void atomic_thread_fence_acquire() override {}
    void atomic_thread_fence_release() override {}
    void atomic_thread_fence_acq_rel() override {}
    void atomic_thread_fence_seq_cst() override {}
    rl::win_waitable_object* create_thread(void* (*)(void*), void*) override { return nullptr; }
    rl::unpark_reason wfmo_park(void**, rl::win_waitable_object**, size_t, bool, bool,
                                rl::debug_info_param) override {
        return rl::unpark_reason_normal;
    }
};

} // namespace holdfast::model
