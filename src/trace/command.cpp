// Reading and writing a few bytes of the header.
#include "trace/command.hpp"

#include <cerrno>
#include <cstddef>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace holdfast::trace {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

class opened {
public:
    opened(const char* file, int mode) : file_(syscall(SYS_openat, AT_FDCWD, file, mode | O_CLOEXEC)) {}
    ~opened() {
        if (file_ >= 0)
            syscall(SYS_close, file_);
    }
    opened(const opened&) = delete;
    opened& operator=(const opened&) = delete;

    // The header, if it is one of ours.
    [[nodiscard]] int read(header& to) const {
        if (file_ < 0)
            return errno;
        const long got = syscall(SYS_pread64, file_, &to, sizeof to, 0);
        if (got < 0)
            return errno;
        return got == static_cast<long>(sizeof to) && to.magic == magic && to.version == version ? 0
                                                                                                 : EBADMSG;
    }
    template <class T>
    [[nodiscard]] int write(const T& value, std::size_t where) const {
        return syscall(SYS_pwrite64, file_, &value, sizeof value, where) < 0 ? errno : 0;
    }

private:
    long file_;
};

} // namespace

int read_command(const char* file, command& to) {
    header h{};
    const int error = opened(file, O_RDONLY).read(h);
    if (error == 0)
        to = static_cast<command>(h.command.load(relaxed));
    return error;
}

int give_command(const char* file, command what, std::uint64_t now) {
    header h{};
    const opened recording(file, O_RDWR);
    int error = recording.read(h);
    if (error == 0 && h.end_ns.load(relaxed) != 0)
        error = ESRCH;
    if (error == 0)
        error = recording.write(static_cast<std::uint32_t>(what), offsetof(header, command));
    if (error == 0 && what == command::stop)
        error = recording.write(now, offsetof(header, end_ns));
    return error;
}

} // namespace holdfast::trace
