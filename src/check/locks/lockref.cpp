// lockref, explored: the count with and without its lock, on each lock algorithm that it can carry, and the
// life of an object that it guards.
#include "check/locks.hpp"

#include <holdfast/lockref.hpp>

#include "model/checking.hpp"

namespace holdfast::model {
namespace {

constexpr lockref_policy one_try = {.retry_limit = 1};
constexpr lockref_policy no_try = {.retry_limit = 0};
constexpr lockref_policy always_locks = {.compare_exchange = false};

// Every thread takes a reference and gives it back, thread 0 in a section of the lock, where the count stands
// still.
template <lockref_policy Policy, template <class, class, unsigned> class Algorithm, unsigned Threads>
struct counting {
    static constexpr unsigned threads = Threads;
    lockref<platform, Policy, Algorithm> ref{1};

    void thread(unsigned me) {
        if (me == 0) {
            ref.lock();
            const std::int32_t count = ref.count();
            check(ref.count() == count, "the count changed under the lock");
            ref.unlock();
        } else {
            ref.get();
            check(ref.put(), "no reference to give back");
        }
    }
    void end() {
        check(ref.count() == 1, "a reference was lost");
        check(ref.try_lock(), "left locked");
        ref.unlock();
    }
};

// How a visitor asks for a reference.
enum class visit { none, unless_zero, unless_dead };

// An object with `Owners` references, each thread's own; and with a visitor, who knows of the object but has
// none. Whoever gives back the last reference takes the object apart, and must then be the only one left to
// use it.
template <lockref_policy Policy, template <class, class, unsigned> class Algorithm, unsigned Owners,
          visit Visit>
struct life {
    static constexpr unsigned threads = Owners + (Visit == visit::none ? 0 : 1);
    lockref<platform, Policy, Algorithm> ref{Owners};
    platform::var<int> object{0};
    platform::var<int> notes[threads]; // what each thread did with the object

    void thread(unsigned me) {
        if (me == Owners && !(Visit == visit::unless_zero ? ref.get_not_zero() : ref.get_not_dead()))
            return;
        notes[me].set(object.get() + 1);
        if (ref.put_or_lock())
            return;
        check(ref.count() == 1, "locked for another reference than the last");
        ref.mark_dead();
        object.set(-1);
        for (auto& note : notes)
            note.set(0);
        ref.unlock();
    }
    void end() {
        check(ref.count() == ref.dead, "the object outlived its references");
        check(!ref.get_not_dead() && !ref.get_not_zero(), "a reference to a dead object");
    }
};

// The same, where the last reference takes the lockref itself away. Nobody may touch it after giving back its
// own.
template <lockref_policy Policy, template <class, class, unsigned> class Algorithm>
struct destruction {
    static constexpr unsigned threads = 2;
    using counter = lockref<platform, Policy, Algorithm>;
    union {
        counter ref;
    };

    destruction() { new (&ref) counter(threads); }
    ~destruction() {}

    void thread(unsigned) {
        if (ref.put_or_lock())
            return;
        ref.unlock();
        ref.~counter();
    }
};

// An unused object, as in a cache: a user may come, and a reaper takes it away if there is none.
template <lockref_policy Policy, template <class, class, unsigned> class Algorithm>
struct reaping {
    static constexpr unsigned threads = 2;
    lockref<platform, Policy, Algorithm> ref{0};
    platform::var<int> object{0};

    void thread(unsigned me) {
        if (me == 0) {
            ref.lock();
            const bool unused = ref.count() == 0;
            if (unused) {
                ref.mark_dead();
                object.set(-1);
            }
            ref.unlock();
        } else if (ref.get_not_dead()) {
            check(object.get() == 0, "a reference to a dead object");
            ref.put();
        }
    }
};

// One gives back the last reference, the other wants one or the lock; who got the lock finds none, and keeps
// it so.
template <lockref_policy Policy, template <class, class, unsigned> class Algorithm>
struct get_or_lock {
    static constexpr unsigned threads = 2;
    lockref<platform, Policy, Algorithm> ref{1};
    platform::var<int> object{0};
    std::int32_t got = 0;

    void thread(unsigned me) {
        if (me == 0) {
            object.set(1);
            check(ref.put(), "no reference to give back");
            check(!ref.put() || got != 0, "a reference from nowhere");
        } else if (ref.get_or_lock()) {
            got = 1;
        } else {
            check(ref.count() == 0, "locked in spite of a reference");
            check(object.get() == 1, "the giver's work is not seen");
            ref.unlock();
        }
    }
    void end() {
        check(ref.try_lock(), "left locked");
        ref.unlock();
    }
};

template <lockref_policy Policy, template <class, class, unsigned> class Algorithm>
void add(suite& test, const std::string& with) {
    test.add<destruction<Policy, Algorithm>>("destroyed by its last user" + with);
    test.add<counting<Policy, Algorithm, 2>>("count" + with);
    test.add<get_or_lock<Policy, Algorithm>>("get or lock" + with);
    test.add<reaping<Policy, Algorithm>>("reaper and user" + with);
    test.add<life<Policy, Algorithm, 2, visit::none>>("life" + with);
    test.add<life<Policy, Algorithm, 1, visit::unless_zero>>("life, a visitor" + with);
    test.add<life<Policy, Algorithm, 1, visit::unless_dead>>("life, a bold visitor" + with);
}

// The same with three threads.
template <lockref_policy Policy, template <class, class, unsigned> class Algorithm>
void add_large(suite& test, const std::string& with, const limits& bounds) {
    test.add<counting<Policy, Algorithm, 3>>("count" + with, bounds);
    test.add<life<Policy, Algorithm, 2, visit::unless_zero>>("life, a visitor" + with, bounds);
}

template <unsigned Threads>
using wide = counting<lockref_policy{}, qspin_word, Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite lockref_suite() {
    using namespace holdfast;
    using namespace holdfast::model;
    suite test("holdfast::lockref", "holdfast/lockref.hpp");
    const limits large{.preemptions = 2, .old_values = 2, .allowed = {.weak_failure = 1}};
    add<lockref_policy{}, tas_word>(test, ", tas");
    add<lockref_policy{}, ticket_word>(test, ", ticket");
    add<one_try, ticket_word>(test, ", ticket, one try");
    add<lockref_policy{}, qspin_word>(test, "");
    add<one_try, qspin_word>(test, ", one try");
    add<no_try, qspin_word>(test, ", no try");
    add<always_locks, qspin_word>(test, ", always locks");
    add_large<one_try, ticket_word>(test, ", ticket, one try", large);
    add_large<one_try, qspin_word>(test, ", one try", large);
    test.widen<wide>("count");
    return test;
}

} // namespace holdfast::check
