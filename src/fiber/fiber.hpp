// A fiber: a function with a stack of its own that can be left in the middle and continued. Simulated threads are fibers, and
// so are those that the model explores.
//
// The switch itself is Boost.Context's (fcontext); this file adds what the sanitizers must be told. A fiber goes
// back to whoever entered it. A fiber that has not ended may be dropped: its frames are then
// never unwound, which is wanted when its program is stuck, as their destructors would go on with the program.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HOLDFAST_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOLDFAST_FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define HOLDFAST_FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOLDFAST_FIBER_TSAN 1
#endif
#endif

#ifdef HOLDFAST_FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef HOLDFAST_FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace holdfast {

// Memory that has been a stack is ordinary memory again. Frames that were never unwound have left their marks with
// AddressSanitizer, which would take accesses of its next user for accesses to them.
inline void forget_frames([[maybe_unused]] void* bottom, [[maybe_unused]] std::size_t size) {
#ifdef HOLDFAST_FIBER_ASAN
    __asan_unpoison_memory_region(bottom, size);
#endif
}

class fiber {
public:
    using entry = void (*)(void* argument);

    fiber() = default;
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;
    ~fiber() {
#ifdef HOLDFAST_FIBER_TSAN
        if (tsan_self_ != nullptr)
            __tsan_destroy_fiber(tsan_self_);
#endif
    }

    // Makes a fiber that will call run(argument) on the stack [bottom, bottom + size) when first entered. `run` must end
    // with leave_for_ever().
    void make(void* bottom, std::size_t size, entry run, void* argument) {
        bottom_ = bottom;
        size_ = size;
        run_ = run;
        argument_ = argument;
        inside_ =
            boost::context::detail::make_fcontext(static_cast<char*>(bottom) + size, size, &fiber::start);
#ifdef HOLDFAST_FIBER_TSAN
        tsan_self_ = __tsan_create_fiber(0);
#endif
    }

    // From outside: runs the fiber until it leaves.
    void enter() {
#ifdef HOLDFAST_FIBER_ASAN
        void* fake = nullptr;
        __sanitizer_start_switch_fiber(&fake, bottom_, size_);
#endif
#ifdef HOLDFAST_FIBER_TSAN
        tsan_outside_ = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(tsan_self_, 0);
#endif
        inside_ = boost::context::detail::jump_fcontext(inside_, this).fctx;
#ifdef HOLDFAST_FIBER_ASAN
        __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
    }

    // From inside: goes back to whoever entered; returns when entered again.
    void leave() {
        switch_out(false);
    }

    // From inside, at its end.
    [[noreturn]] void leave_for_ever() {
        switch_out(true);
        __builtin_unreachable();
    }

private:
    static void start(boost::context::detail::transfer_t from) {
        auto* self = static_cast<fiber*>(from.data);
        self->outside_ = from.fctx;
        self->arrived(nullptr);
        self->run_(self->argument_);
    }

    void switch_out([[maybe_unused]] bool last) {
        void* fake = nullptr;
#ifdef HOLDFAST_FIBER_ASAN
        __sanitizer_start_switch_fiber(last ? nullptr : &fake, outside_bottom_, outside_size_);
#endif
#ifdef HOLDFAST_FIBER_TSAN
        __tsan_switch_to_fiber(tsan_outside_, 0);
#endif
        outside_ = boost::context::detail::jump_fcontext(outside_, nullptr).fctx;
        arrived(fake);
    }

    void arrived([[maybe_unused]] void* fake) {
#ifdef HOLDFAST_FIBER_ASAN
        __sanitizer_finish_switch_fiber(fake, &outside_bottom_, &outside_size_);
#endif
    }

    boost::context::detail::fcontext_t inside_ = nullptr;
    boost::context::detail::fcontext_t outside_ = nullptr;
    void* bottom_ = nullptr;
    std::size_t size_ = 0;
    entry run_ = nullptr;
    void* argument_ = nullptr;
#ifdef HOLDFAST_FIBER_ASAN
    const void* outside_bottom_ = nullptr;
    std::size_t outside_size_ = 0;
#endif
#ifdef HOLDFAST_FIBER_TSAN
    void* tsan_self_ = nullptr;
    void* tsan_outside_ = nullptr;
#endif
};

} // namespace holdfast
