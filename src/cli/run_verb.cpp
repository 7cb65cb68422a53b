// holdfast run: runs a program with our locks in the place of its own.
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/wait.h>

#include "cli/launch.hpp"
#include "cli/output.hpp"
#include "cli/substitution.hpp"
#include "cli/verbs.hpp"
#include "substitute/locks.hpp"
#include "text/text_table.hpp"

namespace holdfast::cli {

namespace {

struct options {
    std::vector<std::string> command;
    std::string lock;
    std::vector<std::string> only;
    std::vector<std::string> except;
    bool list = false;
};

int list() {
    text_table table({"lock", "mutexes", "read-write locks", "what it is"}, "llll");
    const auto becomes = [](bool ours, bool of_another_kind) {
        return ours ? "replaced" : of_another_kind ? "of that kind" : "stay glibc's";
    };
    for (const substitute::lock_choice& c : substitute::lock_choices())
        table.add({std::string(c.name), becomes(c.mutex != nullptr, c.mutex_kind != 0),
                   becomes(c.rwlock != nullptr, c.rwlock_kind != 0), std::string(c.what)});
    print(table.text(colour_wanted()));
    return 0;
}

int run(const options& o) {
    if (o.list)
        return list();
    if (o.lock.empty())
        throw usage_error("--lock is required; see holdfast run --list");
    if (o.command.empty())
        throw usage_error("CMD is required");
    const std::filesystem::path program = find_program(o.command.front());
    check_program(program);
    const substitution locks(o.lock, o.only, o.except, program);
    sigset_t mask;
    sigprocmask(SIG_BLOCK, nullptr, &mask);
    const pid_t child = start(program, o.command, mask, [&] { locks.prepare(); });
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return tell_end(o.command.front(), status);
}

} // namespace

action add_run(CLI::App& app) {
    const auto o = std::make_shared<options>();
    CLI::App& verb = *app.add_subcommand("run", "run a program with other locks in the place of its own");
    verb.add_option("--lock", o->lock, "what its mutexes and read-write locks become; --list names them");
    verb.add_option("--only", o->only, "replace only this lock, as a report names it; may be repeated")
        ->allow_extra_args(false);
    verb.add_option("--not", o->except, "replace all but this one; may be repeated")->allow_extra_args(false);
    verb.add_flag("--list", o->list, "print the locks");
    verb.add_option("CMD", o->command, "the program and its arguments, after --");
    verb.positionals_at_end();
    verb.footer(
        "A lock for mutexes alone leaves read-write locks as they are. One that is for both is a mutex by "
        "its write "
        "side. Semaphores don't fit into a mutex.\n"
        "LOCK is FILE`VARIABLE, FILE:FUNCTION (which initialises or first uses it), or FILE+0x1234.\n"
        "Exit status: 0; 2 if the program can't be run so; 3 if it failed: its own status is on stderr.\n"
        "Example: holdfast run --lock shared_mutex -- ./program --threads 8\n"
        "         holdfast run --lock ticket --only 'program`pool.lock' -- ./program --threads 8");
    return [o] { return run(*o); };
}

} // namespace holdfast::cli
