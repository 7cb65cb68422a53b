#include "cli/interruption.hpp"

namespace holdfast::cli {

namespace {

volatile std::sig_atomic_t came = 0;

} // namespace

until_interrupted::until_interrupted() {
    struct sigaction action {};
    action.sa_handler = [](int) { came = 1; };
    sigaction(SIGINT, &action, &before_);
}

until_interrupted::~until_interrupted() {
    sigaction(SIGINT, &before_, nullptr);
}

bool interrupted() {
    return came != 0;
}

} // namespace holdfast::cli
