# A table of contents: what each target does is in tools/.
.PHONY: all demo check bench soak format tidy clean help

all: ## build the program: build/release/holdfast
	@tools/setup --build-only
	@tools/build release program

demo: ## build the program and replay one published case
	@tools/demo

check: ## everything a change must pass: format, lint, sanitizers, tests, installation
	@tools/check

bench: ## build and run the benches (BENCH_ARGS goes to each)
	@tools/bench

soak: ## the long tests
	@tools/soak

format: ## rewrite the sources with clang-format
	@tools/format

tidy: ## clang-tidy over what changed since it last passed
	@tools/setup
	@tools/tidy

clean: ## remove build/
	@rm -rf build

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10
