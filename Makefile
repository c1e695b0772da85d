# Every target is one or two lines: the work is in `xtask/` (Rust) and `scripts/setup.sh` (before there is Rust).
# What a target takes besides goes in ARGS: make demo ARGS="--seed 7"

CARGO_HOME ?= $(HOME)/.cargo
CARGO_TARGET_DIR ?= target
# rustup may have come a moment ago, and Debian keeps nft, ip and tc where ordinary users do not look.
export PATH := $(CARGO_HOME)/bin:$(PATH):/usr/sbin:/sbin

.DEFAULT_GOAL := help
.PHONY: help demo test lint acceptance package page bench same-bytes setup clean

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

demo: ## build the program and show a whole community on this computer
	@sh scripts/setup.sh demo
	cargo build --profile demo --package guestright
	@$(CARGO_TARGET_DIR)/demo/guestright demo $(ARGS)

test: ## install what the tests need, then run all of them
	@sh scripts/setup.sh test
	@cargo xtask test $(ARGS)

lint: ## formatting, clippy, rustdoc, layers, tidiness, dependencies, wasm32
	@sh scripts/setup.sh all
	@cargo xtask lint

acceptance: ## the program beside other people's, in virtual machines with kernels of Debian's
	@sh scripts/setup.sh acceptance
	@cargo xtask acceptance $(ARGS)

package: ## packages for Debian; ARGS: rpm, or test with --program PATH
	@sh scripts/setup.sh package
	@cargo xtask package $(or $(ARGS),deb)

page: ## build the household's page with Node and npm: what is built next has it in it; ARGS=all: look at it in a browser too
	@sh scripts/setup.sh page
	@cargo xtask page $(or $(filter-out all,$(ARGS)),$(if $(ARGS),,build))

bench: ## measure what the budgets are about
	@sh scripts/setup.sh bench
	@cargo xtask bench $(ARGS)

same-bytes: ## run papers A to D quickly on one thread, on eight and in shards, and compare the bytes; ARGS: other plans
	@nice -n 15 cargo build --release -p guestright-lab
	@nice -n 15 sh scripts/same_bytes.sh target/release/guestright-lab $(ARGS)

setup: ## install what the program needs and this computer lacks; GROUP=all: what developers need
	@sh scripts/setup.sh $(or $(GROUP),program)

clean: ## remove everything that was built
	cargo clean
