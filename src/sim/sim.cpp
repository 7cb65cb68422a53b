#include "sim/sim.hpp"

#include "sim/engine.hpp"
#include "sim/platform.hpp"

namespace holdfast::sim {

report run(const run_options& options, const std::function<void()>& main) {
    engine e(options);
    // Each CPU's queue nodes, in its own socket's memory. The platform's node() finds them by the CPU's number.
    const auto cpus = static_cast<std::size_t>(options.on->cpus());
    using node = queue_node<platform>;
    for (std::size_t cpu = 0; cpu < cpus; ++cpu) {
        const auto socket = static_cast<std::uint32_t>(options.on->socket_of(static_cast<std::int64_t>(cpu)));
        for (std::uint32_t i = 0; i < platform::node_depth; ++i) {
            void* const at = e.allocate(sizeof(node), alignof(node), true, socket);
            new (at) node;
            if (e.queue_nodes() == nullptr)
                e.queue_nodes() = at;
        }
    }
    return e.run(main);
}

} // namespace holdfast::sim
